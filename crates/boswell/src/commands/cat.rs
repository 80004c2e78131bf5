//! `boswell cat`: a kept log, as the agent wrote it.

use memory::kept;
use memory::store::Status;

use crate::context::Context;
use crate::error::{CommandError, Outcome, OutputError};
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::ui::Ui;

/// Print a session's log as the agent wrote it
///
/// The lines come from the memory, byte for byte, but for secrets, which were masked before they
/// were kept. They are printed as they are, so that a program can read them as the agent's own log.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell cat 5e55
  boswell cat last
  boswell cat claude:5e55a0ad > session.jsonl")]
pub(crate) struct CatArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Which part of the session
    #[arg(long, default_value = "log")]
    part: String,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &CatArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let session = resolve(&store, context, &args.session)?;
    if session.status == Status::PromptsOnly {
        let message = format_args!("only prompts are left of this session: `{}`", session.session_uid);
        return Err(CommandError::not_found("prompts-only", message).with_hint("its log was gone before it was swept"));
    }
    if session.status == Status::Evicted {
        let message = format_args!("the text of this session was let go: `{}`", session.session_uid);
        return Err(
            CommandError::not_found("text-gone", message).with_hint("`boswell show` says what is left, and why")
        );
    }
    let mut told = Ok(());
    ui.write(|out| {
        told = kept::cat(&store, &session.session_uid, &args.part, out)
            .map_err(CommandError::from)
            .and_then(|written| written.map_err(|error| CommandError::from(OutputError::from(error))));
        Ok(())
    })?;
    told.map(|()| Outcome::Done)
}
