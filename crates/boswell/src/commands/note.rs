//! `boswell note`: write a note on a session, or show it.

use memory::store::Annotation;

use super::annotate::annotate;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::SESSION_HELP;
use crate::ui::Ui;

/// Write a note on a session, or show it
///
/// One note per session, which a new one replaces; an empty one takes it away. It stays whatever becomes of the session,
/// and secrets in it are masked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell note last \"the retry hid the real error\"
  boswell note 5e55                       what it says
  boswell note 5e55 \"\"                    away with it")]
pub(crate) struct NoteArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// The note; without one the note that is there is shown
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &NoteArgs) -> Result<Outcome, CommandError> {
    annotate(ui, context, &args.session, Annotation::Note, args.text.as_deref())
}
