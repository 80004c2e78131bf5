//! `boswell days`: which days there is something to write about.

use memory::diary::{self, Day};
use memory::store::Store;
use serde_json::{Value, json};

use super::prepare::PlaceArgs;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::ui::{FAINT, Format, STRONG, Ui, escape};

/// List the days that have sessions, newest first
///
/// With the turns and the projects of each day, and whether it has a workspace or a report.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell days
  boswell days --limit 7
  boswell days --json | jq '.days[] | select(.workspace == null)'")]
pub(crate) struct DaysArgs {
    /// At most so many days
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &DaysArgs) -> Result<Outcome, CommandError> {
    let (zone, zone_name) = args.place.zone(context)?;
    let reports_root = args.place.root(ui, context);
    let store = Store::open_existing(&context.places.data_dir)?;
    let days = diary::days(store.as_ref(), &zone, &reports_root, &context.places.home)?;
    let shown = &days[..days.len().min(args.limit)];
    match ui.format {
        Format::Json => ui.json(&json!({
            "schema": "boswell.days/1",
            "timezone": zone_name,
            "total": days.len(),
            "days": shown.iter().map(day_json).collect::<Vec<_>>(),
        }))?,
        Format::Text => {
            for day in shown {
                show(ui, day)?;
            }
            let more = days.len() - shown.len();
            if more > 0 {
                ui.hint(format_args!(
                    "{} more; `--limit` shows them",
                    plural(more as u64, "day")
                ));
            }
        }
    }
    let unwritten = shown.iter().find(|day| !day.has_report && day.turns > 0);
    if let Some(day) = unwritten.filter(|_| ui.format == Format::Text) {
        ui.hint(format_args!("`boswell report --date {}` writes a day's page", day.date));
    }
    if days.is_empty() {
        ui.hint("no session is in the memory yet; `boswell sweep` reads the agents' logs");
        return Ok(Outcome::NothingFound);
    }
    Ok(Outcome::Done)
}

fn show(ui: &mut Ui, day: &Day) -> Result<(), CommandError> {
    let prepared = match (&day.workspace, day.has_report) {
        (_, true) => "report",
        (Some(status), false) if status == "partial" => "workspace (partial)",
        (Some(_), false) => "workspace",
        (None, false) => "-",
    };
    let turns = plural(day.turns as u64, "turn");
    let sessions = plural(day.sessions as u64, "session");
    let projects = escape(&day.projects.join(", ")).into_owned();
    Ok(ui.row(format_args!(
        "{}  {turns:>10}  {sessions:>12}  {}  {}",
        ui.paint(STRONG, day.date),
        ui.paint(FAINT, format_args!("{prepared:<19}")),
        projects,
    ))?)
}

fn day_json(day: &Day) -> Value {
    json!({
        "date": day.date.to_string(),
        "sessions": day.sessions,
        "turns": day.turns,
        "projects": day.projects,
        "workspace": day.workspace,
        "has_report": day.has_report,
    })
}
