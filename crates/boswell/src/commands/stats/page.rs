//! Statistics as one HTML page without network requests or scripts. The numbers are those of `--json`.

use std::fmt::Write;
use std::path::Path;

use jiff::SignedDuration;
use memory::stats::{NameCount, Stats};
use render::escape_html as escape;

use super::charts::{columns, grid, lying};
use super::first;
use crate::context::{Context, write_private_output};
use crate::error::CommandError;
use crate::money::cost;
use crate::render::text::date_time;
use crate::ui::{Ui, measure};
use render::dollars;

const DAY_NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// The number of weeks that fit the width of the page.
const WEEKS_MAX: usize = 26;

pub(super) fn write(
    ui: &mut Ui,
    context: &Context,
    path: &Path,
    stats: &Stats,
    limit: u64,
) -> Result<(), CommandError> {
    let path = context.places.current_dir.join(path);
    let page = page(context, stats, limit);
    // The page is private, because it names projects, files and commands.
    write_private_output(&path, page.as_bytes())
        .map_err(|error| CommandError::user("output", format_args!("cannot write {}: {error}", path.display())))?;
    ui.status(format_args!("Wrote {}", path.display()));
    Ok(())
}

fn page(context: &Context, stats: &Stats, limit: u64) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Boswell: statistics</title>\
         <style>{}{}</style></head><body><main><h1>Session statistics</h1><p class=\"faint\">As of {}</p>",
        render::STYLE_BASE,
        render::STYLE_CARDS,
        escape(&date_time(context.now, &context.zone))
    );
    page += &cards(stats);
    if let Some(share) = outcomes(stats) {
        page += &share;
    }
    if stats.usage.calls > 0 {
        let grid = grid(&stats.heat, &DAY_NAMES);
        _ = write!(
            page,
            "<h2>Calls by hour of the week</h2><div class=\"wide\">{grid}</div>"
        );
    }
    page += &weeks(stats);
    page += &tools(stats, limit);
    page += &counted("Files edited most", "edits", first(&stats.files, limit));
    page += &counted("Commands run most", "runs", first(&stats.commands, limit));
    page += &counted("Errors seen most", "times", first(&stats.error_kinds, limit));
    page += &counted("Projects", "turns", first(&stats.projects, limit));
    if stats.without_digest > 0 {
        let told = measure::count(stats.without_digest);
        _ = write!(
            page,
            "<p class=\"faint\">{told} sessions have no digest yet and are counted only as sessions.</p>"
        );
    }
    page += "</main></body></html>\n";
    page
}

fn seconds(span: u64) -> String {
    measure::duration(SignedDuration::from_secs(i64::try_from(span).unwrap_or(i64::MAX)))
}

fn cards(stats: &Stats) -> String {
    let count = measure::count;
    let cards = [
        (
            "sessions",
            count(stats.sessions),
            format!("{} subagents", count(stats.subagents)),
        ),
        (
            "turns",
            count(stats.turns),
            format!("{} tool calls", count(stats.tool_calls)),
        ),
        (
            "active",
            seconds(stats.active_s),
            format!("of {}", seconds(stats.wall_s)),
        ),
        (
            "cost",
            cost(&stats.usage),
            format!("{} tokens", count(stats.usage.tokens.total())),
        ),
        (
            "tests passed",
            count(stats.tests.passed),
            format!(
                "{} failed, {} unclear",
                count(stats.tests.failed),
                count(stats.tests.unclear)
            ),
        ),
        (
            "errors",
            count(stats.errors),
            format!(
                "{} resolved, {} retries",
                count(stats.errors_resolved),
                count(stats.retries)
            ),
        ),
        (
            "interventions",
            count(stats.interrupts + stats.denials + stats.steerings + stats.rewinds),
            format!(
                "{} interruptions, {} denials, {} changes of course, {} rewinds",
                count(stats.interrupts),
                count(stats.denials),
                count(stats.steerings),
                count(stats.rewinds)
            ),
        ),
    ];
    let mut html = "<section class=\"cards\">".to_owned();
    for (name, value, more) in cards {
        _ = write!(
            html,
            "<div class=\"card\"><b>{}</b><span>{name}</span><small>{}</small></div>",
            escape(&value),
            escape(&more)
        );
    }
    html + "</section>"
}

/// Returns one bar that shows the share of each outcome.
fn outcomes(stats: &Stats) -> Option<String> {
    let outcomes = &stats.outcomes;
    let parts = [
        ("success", outcomes.success),
        ("fail", outcomes.fail),
        ("abandoned", outcomes.abandoned),
        ("unknown", outcomes.unknown),
    ];
    let all: u64 = parts.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return None;
    }
    let mut html = "<h2>Outcomes</h2><div class=\"share\" role=\"img\" aria-label=\"Outcomes\">".to_owned();
    for (name, count) in parts.iter().filter(|(_, count)| *count > 0) {
        let percent = *count as f64 / all as f64 * 100.0;
        _ = write!(
            html,
            "<span class=\"{name}\" style=\"width:{percent:.2}%\" title=\"{count} {name}\"></span>"
        );
    }
    html += "</div><p class=\"legend\">";
    for (name, count) in parts {
        _ = write!(html, "<span><i class=\"{name}\"></i>{count} {name}</span> ");
    }
    Some(html + "</p>")
}

fn weeks(stats: &Stats) -> String {
    let weeks = &stats.weeks[stats.weeks.len().saturating_sub(WEEKS_MAX)..];
    if weeks.len() < 2 {
        return String::new();
    }
    let turns: Vec<_> = weeks
        .iter()
        .map(|week| {
            let told = format!(
                "week of {}: {} turns in {} sessions",
                week.monday, week.turns, week.sessions
            );
            (week.turns as f64, told, week.monday.strftime("%d %b").to_string())
        })
        .collect();
    let money: Vec<_> = weeks
        .iter()
        .map(|week| {
            let micros = week.usage.money.micros();
            let told = format!("week of {}: {}", week.monday, dollars(micros));
            (micros as f64, told, week.monday.strftime("%d %b").to_string())
        })
        .collect();
    format!(
        "<h2>Turns by week</h2><div class=\"wide\">{}</div><h2>Cost by week</h2><div class=\"wide\">{}</div>",
        columns("Turns by week", &turns),
        columns("Cost by week", &money)
    )
}

fn tools(stats: &Stats, limit: u64) -> String {
    let list = first(&stats.tools, limit);
    if list.is_empty() {
        return String::new();
    }
    let most = list.iter().map(|tool| tool.calls).max().unwrap_or_default() as f64;
    let mut html = "<h2>Tools</h2><div class=\"wide\"><table><tr><th>tool<th class=\"n\">calls<th class=\"n\">errors\
                    <th class=\"n\">time in all<th></tr>"
        .to_owned();
    for tool in list {
        let span = measure::duration(SignedDuration::from_millis(
            i64::try_from(tool.duration_ms).unwrap_or(i64::MAX),
        ));
        _ = write!(
            html,
            "<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{span}<td class=\"b\">{}</tr>",
            escape(&tool.tool),
            measure::count(tool.calls),
            measure::count(tool.errors),
            lying(tool.calls as f64, most)
        );
    }
    html + "</table></div>"
}

fn counted(title: &str, unit: &str, list: &[NameCount]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let most = list.iter().map(|counted| counted.count).max().unwrap_or_default() as f64;
    let mut html = format!(
        "<h2>{title}</h2><div class=\"wide\"><table><tr><th class=\"n\">{unit}<th class=\"n\">sessions<th><th></tr>"
    );
    for counted in list {
        _ = write!(
            html,
            "<tr><td class=\"n\">{}<td class=\"n\">{}<td><code>{}</code><td class=\"b\">{}</tr>",
            measure::count(counted.count),
            measure::count(counted.sessions),
            escape(&counted.name),
            lying(counted.count as f64, most)
        );
    }
    html + "</table></div>"
}
