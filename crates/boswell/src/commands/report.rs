//! `boswell report`: writes the page of a day from its workspace.

use crate::context::Context;
use crate::day_workspace::PlaceArgs;
use crate::error::{CommandError, Outcome};
use crate::report::{Days, Output, WriterArgs, write};
use crate::ui::Ui;

/// Write a report of a day: what was asked, what was done, what the result was
///
/// Every statement cites the lines it is based on. The page is made from the day's workspace, which is prepared if it
/// does not exist, and needs no model and no network. Without `-o` it is printed: laid out on a terminal, as Markdown
/// with `--to md` or in a pipe. In any case `report.md`, `report.html` and `report.json` are written next to the
/// workspace, and an index of all days to the reports root. Sessions whose raw text was evicted are reported from their
/// digests. The default is yesterday. A day without sessions gets no page; the answer names the nearest day that has
/// some. With `--writer` one of your agents writes the words instead: it receives the day's text with secrets masked,
/// and every line it cites is checked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell report                                   yesterday
  boswell report --date 2026-05-12 --open
  boswell report --week --to html -o week.html
  boswell report --since 2026-05-04 --until 2026-05-08
  boswell report --writer codex                    an agent writes it
  boswell report --writer claude --phase evidence  one phase, no page yet
  boswell report --publish 'mail-it --to team@example.com'")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    by: WriterArgs,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ReportArgs) -> Result<Outcome, CommandError> {
    write(ui, context, &args.days, &args.place, &args.by, &args.output)
}
