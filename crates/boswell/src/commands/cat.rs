//! `boswell cat`: a kept log, as the agent wrote it.

use memory::kept;
use memory::store::Store;

use crate::context::Context;
use crate::error::{CommandError, Outcome, OutputError};
use crate::ui::Ui;

/// Print a session's log as the agent wrote it
///
/// The lines come from the memory, byte for byte, but for secrets, which were masked before they
/// were kept. They are printed as they are, so that a program can read them as the agent's own log.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell cat 5e55
  boswell cat claude:5e55a0ad > session.jsonl")]
pub(crate) struct CatArgs {
    /// A uid, or the beginning of an id
    session: String,
    /// Which part of the session
    #[arg(long, default_value = "log")]
    part: String,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &CatArgs) -> Result<Outcome, CommandError> {
    let Some(store) = Store::open_existing(&context.places.data_dir)? else {
        return Err(no_memory());
    };
    let uid = resolve(&store, &args.session)?;
    let mut told = Ok(());
    ui.write(|out| {
        told = kept::cat(&store, &uid, &args.part, out)
            .map_err(CommandError::from)
            .and_then(|written| written.map_err(|error| CommandError::from(OutputError::from(error))));
        Ok(())
    })?;
    told.map(|()| Outcome::Done)
}

/// The one session that a uid or the beginning of an id names.
pub(crate) fn resolve(store: &Store, session: &str) -> Result<String, CommandError> {
    let mut found = store.reads().uids_with_prefix(session)?;
    if let Some(exact) = found.iter().find(|uid| *uid == session) {
        return Ok(exact.clone());
    }
    // A session's own id begins its subagents' ids, too: the session is meant.
    let main: Vec<String> = found.iter().filter(|uid| !uid.contains('/')).cloned().collect();
    if main.len() == 1 {
        found = main;
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(CommandError::not_found(
            "session-unknown",
            format_args!("no session in the memory begins with: `{session}`"),
        )
        .with_hint("`boswell sweep` reads what is new")),
        several => Err(CommandError::user(
            "session-ambiguous",
            format_args!("several sessions begin with `{session}`: {}", several.join(", ")),
        )
        .with_hint("name more of the id")),
    }
}

/// Nothing was ever kept.
pub(crate) fn no_memory() -> CommandError {
    CommandError::not_found("no-memory", "there is no memory yet").with_hint("`boswell sweep` makes one")
}
