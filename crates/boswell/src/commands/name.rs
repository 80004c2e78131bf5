//! `boswell name`: gives a session a name, or shows it.

use memory::store::AnnotationKind;

use crate::annotation::annotate;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::SESSION_HELP;
use crate::ui::Ui;

/// Give a session your own name, or show it
///
/// The name is shown instead of the agent's title. It stays when the session is evicted; an empty name removes it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell name last \"the parser rewrite\"
  boswell name 5e55                       prints its name
  boswell name 5e55 \"\"                    removes it")]
pub(crate) struct NameArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// The name; without one, prints the current name
    #[arg(value_name = "TITLE", allow_hyphen_values = true)]
    text: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &NameArgs) -> Result<Outcome, CommandError> {
    annotate(ui, context, &args.session, AnnotationKind::Name, args.text.as_deref())
}
