//! `boswell diary`: yesterday's page.

use super::prepare::PlaceArgs;
use super::report::{self, Days, Output, WriterArgs};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::ui::Ui;

/// Show yesterday's page
///
/// What you asked your agents, what was done and what came of it, every statement with the lines it stands on. It is `boswell report` for
/// yesterday.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell diary
  boswell diary --open         the page, in your browser")]
pub(crate) struct DiaryArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DiaryArgs) -> Result<Outcome, CommandError> {
    let by = WriterArgs::default();
    report::write(ui, context, &Days::default(), &args.place, &by, &args.output)
}
