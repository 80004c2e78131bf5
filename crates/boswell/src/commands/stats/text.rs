//! Statistics on a terminal.

use std::borrow::Cow;

use jiff::SignedDuration;
use memory::stats::{DAYS, HOURS, NameCount, Stats, ToolStats};

use super::first;
use crate::error::CommandError;
use crate::money::cost;
use crate::render::text::plural;
use crate::ui::table::{self, Heading};
use crate::ui::{FAINT, HEADING, Ui, escape, measure};

const DAY_NAMES: [&str; DAYS] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const BAR_COLUMNS: usize = 16;
const NAME_COLUMNS_MAX: usize = 60;
const NAME_COLUMNS_MIN: usize = 20;
/// The width of the two counts before a name, with the gaps around them.
const COUNTS_COLUMNS: usize = 21;
/// Maximum number of weeks shown, the newest ones.
const WEEKS_MAX: usize = 52;
const WEEK_LABEL_COLUMNS: usize = 15;

pub(super) fn show(ui: &mut Ui, stats: &Stats, limit: u64) -> Result<(), CommandError> {
    if stats.sessions + stats.subagents == 0 {
        ui.status("No session matches");
        return Ok(());
    }
    summary(ui, stats)?;
    let tools: Vec<Vec<String>> = first(&stats.tools, limit).iter().map(tool_cells).collect();
    list(
        ui,
        "Tools",
        &[
            ("tool", false),
            ("calls", true),
            ("errors", true),
            ("in all", true),
            ("on average", true),
        ],
        &tools,
    )?;
    counted(
        ui,
        "Files edited most",
        "edits",
        first(&stats.files, limit),
        measure::fit_end,
    )?;
    counted(
        ui,
        "Commands run most",
        "runs",
        first(&stats.commands, limit),
        measure::fit,
    )?;
    counted(
        ui,
        "Errors seen most",
        "times",
        first(&stats.error_kinds, limit),
        measure::fit,
    )?;
    counted(ui, "Projects", "turns", first(&stats.projects, limit), measure::fit_end)?;
    heat(ui, stats)?;
    weeks(ui, stats)?;
    if stats.without_digest > 0 {
        let told = plural(stats.without_digest, "session");
        ui.hint(format_args!(
            "{told} without a digest yet: `boswell sweep` makes it when a session is quiet"
        ));
    }
    Ok(())
}

fn seconds(span: u64) -> String {
    measure::duration(SignedDuration::from_secs(i64::try_from(span).unwrap_or(i64::MAX)))
}

fn summary(ui: &mut Ui, stats: &Stats) -> Result<(), CommandError> {
    let outcomes = &stats.outcomes;
    let count = measure::count;
    let mut rows = vec![
        (
            "sessions",
            format!("{} and {}", count(stats.sessions), plural(stats.subagents, "subagent")),
        ),
        ("turns", count(stats.turns)),
        (
            "time",
            format!("{} active of {}", seconds(stats.active_s), seconds(stats.wall_s)),
        ),
        (
            "outcomes",
            format!(
                "{} success, {} fail, {} abandoned, {} unknown",
                count(outcomes.success),
                count(outcomes.fail),
                count(outcomes.abandoned),
                count(outcomes.unknown)
            ),
        ),
        (
            "tools",
            format!(
                "{}, {}",
                plural(stats.tool_calls, "call"),
                plural(stats.retries, "retry").replace("retrys", "retries")
            ),
        ),
        (
            "errors",
            format!("{}, {} resolved", count(stats.errors), count(stats.errors_resolved)),
        ),
        (
            "tests",
            format!(
                "{} passed, {} failed, {} unclear",
                count(stats.tests.passed),
                count(stats.tests.failed),
                count(stats.tests.unclear)
            ),
        ),
        (
            "interventions",
            format!(
                "{}, {}, {} of course, {}",
                plural(stats.interrupts, "interruption"),
                plural(stats.denials, "denial"),
                plural(stats.steerings, "change"),
                plural(stats.rewinds, "rewind")
            ),
        ),
    ];
    let tokens = count(stats.usage.tokens.total());
    rows.push(("usage", format!("{tokens} tokens, {}", cost(&stats.usage))));
    for (name, value) in rows {
        ui.row(format_args!("{}{value}", ui.paint(HEADING, format!("{name:15}"))))?;
    }
    Ok(())
}

fn tool_cells(tool: &ToolStats) -> Vec<String> {
    let percent = if tool.calls == 0 {
        0.0
    } else {
        tool.errors as f64 / tool.calls as f64 * 100.0
    };
    let errors = match tool.errors {
        0 => String::new(),
        errors => format!("{} ({percent:.0} %)", measure::count(errors)),
    };
    let span = |ms: u64| measure::duration(SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX)));
    let timed = tool.duration_ms > 0 && tool.calls > 0;
    vec![
        measure::fit(&escape(&tool.tool), NAME_COLUMNS_MAX).into_owned(),
        measure::count(tool.calls),
        errors,
        if timed { span(tool.duration_ms) } else { String::new() },
        if timed {
            span(tool.duration_ms / tool.calls)
        } else {
            String::new()
        },
    ]
}

/// Shortens a name to a width, at its start or at its end.
type Fit = for<'t> fn(&'t str, usize) -> Cow<'t, str>;

fn counted(ui: &mut Ui, title: &str, unit: &'static str, list: &[NameCount], fit: Fit) -> Result<(), CommandError> {
    let most = list.iter().map(|counted| counted.count).max().unwrap_or_default() as f64;
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|counted| {
            let bar = ui
                .columns()
                .map(|_| table::bar(counted.count as f64, most, BAR_COLUMNS));
            vec![
                measure::count(counted.count),
                measure::count(counted.sessions),
                fit(&escape(&counted.name), name_columns(ui.columns())).into_owned(),
                bar.unwrap_or_default(),
            ]
        })
        .collect();
    self::list(
        ui,
        title,
        &[(unit, true), ("sessions", true), ("", false), ("", false)],
        &rows,
    )
}

fn list(ui: &mut Ui, title: &str, headings: &[Heading], rows: &[Vec<String>]) -> Result<(), CommandError> {
    if rows.is_empty() {
        return Ok(());
    }
    ui.row("")?;
    ui.row(ui.paint(HEADING, title))?;
    for (at, line) in table::lines(headings, rows).into_iter().enumerate() {
        match at {
            0 => ui.row(ui.paint(FAINT, line))?,
            _ => ui.row(line)?,
        }
    }
    Ok(())
}

/// Prints the hours of work: a row per day of the week, a column per hour.
fn heat(ui: &mut Ui, stats: &Stats) -> Result<(), CommandError> {
    let most = stats.heat.iter().flatten().copied().max().unwrap_or_default();
    if most == 0 {
        return Ok(());
    }
    ui.row("")?;
    ui.row(ui.paint(HEADING, "Calls by hour of the week"))?;
    let hours: String = (0..HOURS).step_by(3).map(|hour| format!("{hour:<6}")).collect();
    ui.row(ui.paint(FAINT, format!("     {}", hours.trim_end())))?;
    for (name, day) in DAY_NAMES.iter().zip(&stats.heat) {
        let cells: String = day.iter().map(|count| shade(*count, most).to_string() + " ").collect();
        ui.row(format_args!("{name}  {}", cells.trim_end()))?;
    }
    Ok(())
}

/// Returns the shade for a count. Any count above zero has a visible shade.
fn shade(count: u64, most: u64) -> char {
    match count {
        0 => SHADES[0],
        count => {
            let part = (count as f64 / most as f64 * (SHADES.len() - 1) as f64).ceil() as usize;
            SHADES[part.clamp(1, SHADES.len() - 1)]
        }
    }
}

fn weeks(ui: &mut Ui, stats: &Stats) -> Result<(), CommandError> {
    let weeks = &stats.weeks[stats.weeks.len().saturating_sub(weeks_max(ui.columns()))..];
    let (Some(first), Some(last)) = (weeks.first(), weeks.last()) else {
        return Ok(());
    };
    if weeks.len() < 2 {
        return Ok(());
    }
    ui.row("")?;
    let title = format!("Weeks, {} to {}", first.monday, last.monday);
    ui.row(ui.paint(HEADING, title))?;
    let rows: [(&str, Vec<u64>); 4] = [
        ("sessions", weeks.iter().map(|week| week.sessions).collect()),
        ("turns", weeks.iter().map(|week| week.turns).collect()),
        ("active time", weeks.iter().map(|week| week.active_s).collect()),
        ("cost", weeks.iter().map(|week| week.usage.money.micros()).collect()),
    ];
    for (name, values) in rows {
        ui.row(format_args!("{name:WEEK_LABEL_COLUMNS$}{}", sparks(&values)))?;
    }
    Ok(())
}

/// Returns how much of a counted name is shown, so that its numbers and its bar fit on the same line.
fn name_columns(columns: Option<usize>) -> usize {
    columns.map_or(NAME_COLUMNS_MAX, |columns| {
        columns
            .saturating_sub(COUNTS_COLUMNS + BAR_COLUMNS)
            .clamp(NAME_COLUMNS_MIN, NAME_COLUMNS_MAX)
    })
}

/// Returns how many weeks are shown. A line that wraps is no chart, so a narrow terminal shows fewer.
fn weeks_max(columns: Option<usize>) -> usize {
    columns.map_or(WEEKS_MAX, |columns| {
        columns.saturating_sub(WEEK_LABEL_COLUMNS).min(WEEKS_MAX)
    })
}

fn sparks(values: &[u64]) -> String {
    let most = values.iter().copied().max().unwrap_or_default().max(1);
    let spark = |value: &u64| match value {
        0 => ' ',
        value => {
            let part = (*value as f64 / most as f64 * SPARKS.len() as f64).ceil() as usize;
            SPARKS[part.clamp(1, SPARKS.len()) - 1]
        }
    };
    let sparks: String = values.iter().map(spark).collect();
    sparks.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leaves_room_for_its_bar() {
        assert_eq!(
            [None, Some(200), Some(80), Some(30)].map(name_columns),
            [60, 60, 43, 20]
        );
    }

    #[test]
    fn a_narrow_terminal_shows_fewer_weeks() {
        assert_eq!([None, Some(200), Some(60)].map(weeks_max), [52, 52, 45]);
    }
}
