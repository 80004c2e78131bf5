//! `boswell diary`: shows the page of a day.

use crate::context::Context;
use crate::day_arg::DayWord;
use crate::day_workspace::PlaceArgs;
use crate::error::{CommandError, Outcome};
use crate::report::{self, Days, Output, WriterArgs};
use crate::ui::Ui;

/// Show the page of a day, by default yesterday's
///
/// What you asked your agents, what they did and what the result was; every statement cites the lines it is based on. It is `boswell report`
/// for one day. On a terminal the page is laid out for reading; piped, it is Markdown. A day without sessions gets no page: the answer names
/// the nearest day that has some. `boswell today` is `boswell diary today`.
#[derive(clap::Args, Debug)]
#[command(visible_alias = "today")]
#[command(after_help = "Examples:
  boswell diary
  boswell diary today
  boswell diary monday         the last Monday before today
  boswell diary -3d            three days ago
  boswell diary --open         the page, in your browser")]
pub(crate) struct DiaryArgs {
    /// The day: `2026-05-12`, `today`, `yesterday`, `monday` or `-3d`
    #[arg(value_name = "DAY", conflicts_with = "date")]
    day: Option<DayWord>,
    /// The same, under the name that other commands use
    #[arg(long, value_name = "DAY")]
    date: Option<DayWord>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DiaryArgs) -> Result<Outcome, CommandError> {
    let day = args.day.or(args.date).unwrap_or(DayWord::YESTERDAY);
    let by = WriterArgs::default();
    report::write(ui, context, &Days::on(day), &args.place, &by, &args.output)
}
