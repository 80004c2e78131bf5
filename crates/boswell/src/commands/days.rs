//! `boswell days`: lists the days that have sessions.

use memory::diary::{self, DiaryDay};
use memory::store::Store;

use crate::answers::share::{DayRow, DaysAnswer};
use crate::context::Context;
use crate::day_arg::DayWord;
use crate::day_workspace::PlaceArgs;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::ui::{FAINT, Format, STRONG, Ui, escape};

/// List the days that have sessions, newest first
///
/// Shows the turns and projects of each day, and whether it has a workspace or a report.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell days
  boswell days --limit 7
  boswell days --json | jq '.days[] | select(.workspace == null)'")]
pub(crate) struct DaysArgs {
    /// Maximum number of days
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,
    /// Only this day: `2026-05-12`, `today`, `yesterday`, `monday` or `-3d`
    #[arg(long, value_name = "DAY")]
    date: Option<DayWord>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DaysArgs) -> Result<Outcome, CommandError> {
    let (zone, zone_name) = args.place.zone(context)?;
    let reports_root = args.place.root(ui, context);
    let store = Store::open_existing(&context.places.data_dir)?;
    let mut days = diary::list_days(store.as_ref(), &zone, &reports_root, &context.places.home)?;
    let only = args
        .date
        .map(|day| day.date(zone.to_datetime(context.now).date()))
        .transpose()?;
    if let Some(date) = only {
        days.retain(|day| day.date == date);
    }
    let shown = &days[..days.len().min(args.limit)];
    match ui.format {
        Format::Json => ui.answer(&DaysAnswer {
            timezone: &zone_name,
            total: days.len(),
            days: shown.iter().map(day_row).collect(),
        })?,
        Format::Text => {
            for day in shown {
                show(ui, day)?;
            }
            let more = days.len() - shown.len();
            if more > 0 {
                ui.hint(format_args!("{} more; use `--limit`", plural(more as u64, "day")));
            }
        }
    }
    let unwritten = shown.iter().find(|day| !day.has_report && day.turns > 0);
    if let Some(day) = unwritten.filter(|_| ui.format == Format::Text) {
        ui.hint(format_args!("`boswell diary {}` writes the page of a day", day.date));
    }
    if days.is_empty() {
        match only {
            Some(date) => ui.hint(format_args!(
                "no sessions on {date}; `boswell days` lists the days that have some"
            )),
            None => ui.hint("no sessions in the memory yet; `boswell sweep` reads the agents' logs"),
        }
        return Ok(Outcome::NothingFound);
    }
    Ok(Outcome::Done)
}

/// The column where the projects start.
const PROJECTS_INDENT: usize = 10 + 2 + 10 + 2 + 12 + 2 + 9 + 2;

fn show(ui: &mut Ui, day: &DiaryDay) -> Result<(), CommandError> {
    let prepared = match (&day.workspace, day.has_report) {
        (_, true) => "report",
        (Some(status), false) if status == "partial" => "partial",
        (Some(_), false) => "workspace",
        (None, false) => "-",
    };
    let turns = plural(day.turns as u64, "turn");
    let sessions = plural(day.sessions as u64, "session");
    let projects = escape(&day.projects.join(", ")).into_owned();
    let line = format!(
        "{}  {turns:>10}  {sessions:>12}  {}  {}",
        ui.paint(STRONG, day.date),
        ui.paint(FAINT, format_args!("{prepared:<9}")),
        projects,
    );
    Ok(ui.row_wrapped(line, PROJECTS_INDENT)?)
}

fn day_row(day: &DiaryDay) -> DayRow<'_> {
    DayRow {
        date: day.date.to_string(),
        sessions: day.sessions,
        turns: day.turns,
        projects: &day.projects,
        workspace: day.workspace.as_deref(),
        has_report: day.has_report,
    }
}
