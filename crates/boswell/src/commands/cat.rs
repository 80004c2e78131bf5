//! `boswell cat`: prints a session's log as the agent wrote it.

use memory::session_text::SessionTexts;

use crate::context::Context;
use crate::error::{CommandError, Outcome, OutputError};
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::text_source::open_text;
use crate::ui::Ui;

/// Print a session's log as the agent wrote it
///
/// The lines come from the memory, or from the agent's own log if the session was evicted, byte for byte except for masked secrets.
/// They are printed unescaped, so that a program can read them as the agent's log.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell cat 5e55
  boswell cat last
  boswell cat claude:5e55a0ad > session.jsonl")]
pub(crate) struct CatArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// Part of the session
    #[arg(long, default_value = "log")]
    part: String,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &CatArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let session = resolve(&store, context, &args.session)?;
    let masker = context.masker(false)?;
    let texts = SessionTexts {
        store: &store,
        masker: &masker,
        is_ignored: &|log| context.is_ignored(log),
    };
    let text = open_text(ui, &context.zone, &texts, &session.session_uid)?;
    let mut told = Ok(());
    ui.write(|out| {
        told = text
            .cat(&args.part, out)
            .map_err(CommandError::from)
            .and_then(|written| written.map_err(|error| CommandError::from(OutputError::from(error))));
        Ok(())
    })?;
    told.map(|()| Outcome::Done)
}
