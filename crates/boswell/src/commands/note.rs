//! `boswell note`: writes a note on a session, or shows it.

use memory::store::AnnotationKind;

use crate::annotation::annotate;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::SESSION_HELP;
use crate::ui::Ui;

/// Write or show a session's note
///
/// A session has one note; a new one replaces it, and an empty one removes it. It stays when the session is evicted,
/// and secrets in it are masked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell note last \"the retry hid the real error\"
  boswell note 5e55                       prints its note
  boswell note 5e55 \"\"                    removes it")]
pub(crate) struct NoteArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// The note; without one, prints the current note
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &NoteArgs) -> Result<Outcome, CommandError> {
    annotate(ui, context, &args.session, AnnotationKind::Note, args.text.as_deref())
}
