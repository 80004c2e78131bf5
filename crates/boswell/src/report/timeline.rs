//! The day as a chart: a row per project, a bar per turn, coloured by agent. The length of the day depends on the time
//! zone.

use std::fmt::Write;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::report::{DayReport, TimelineSpan};

use super::escape::{Places, escape};
use super::shown;

const WIDTH: f64 = 960.0;
/// The width of the projects' names.
const LEFT: f64 = 150.0;
const ROW: f64 = 26.0;
const TOP: f64 = 8.0;
/// Minimum width of a bar.
const BAR_MIN: f64 = 3.0;
/// Maximum number of rows of their own; further projects share one row.
const ROWS_MAX: usize = 12;

/// Returns the chart, or `None` for a day without work.
pub(super) fn draw(day: &DayReport, places: &Places) -> Option<String> {
    let zone = shown::zone(&day.timezone);
    let start: Timestamp = day.report_window_utc.start.parse().ok()?;
    let end: Timestamp = day.report_window_utc.end.parse().ok()?;
    if day.spans.is_empty() || end <= start {
        return None;
    }
    let rows = day.projects.len().min(ROWS_MAX);
    let height = TOP + rows as f64 * ROW + 22.0;
    let mut svg = format!(
        "<svg class=\"line\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"The day by project and agent\">"
    );
    let scale = Scale { start, end };
    hours(&mut svg, &scale, &zone, height - 22.0);
    for (row, project) in day.projects.iter().take(rows).enumerate() {
        let y = TOP + row as f64 * ROW;
        let shared = row + 1 == rows && day.projects.len() > rows;
        let name = match shared {
            true => format!("and {} more", day.projects.len() - row),
            false => short(&project.project),
        };
        _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.0}\">{}</text><line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{b:.0}\" y2=\"{b:.0}\"/>",
            y + 17.0,
            escape(&name),
            b = y + ROW
        );
    }
    for span in &day.spans {
        let row = places.project(&span.citation.project_key).min(rows.saturating_sub(1));
        svg += &bar(span, &scale, &zone, TOP + row as f64 * ROW, places);
    }
    Some(svg + "</svg>" + &legend(day))
}

struct Scale {
    start: Timestamp,
    end: Timestamp,
}

impl Scale {
    fn x(&self, at: Timestamp) -> f64 {
        let at = at.clamp(self.start, self.end);
        let seconds = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs() as f64;
        LEFT + (WIDTH - LEFT) * seconds(self.start, at) / seconds(self.start, self.end)
    }
}

/// Draws every third hour in local time.
fn hours(svg: &mut String, scale: &Scale, zone: &TimeZone, bottom: f64) {
    let mut at = scale.start;
    let mut hour = 0;
    while at < scale.end {
        if hour % 3 == 0 {
            let x = scale.x(at);
            _ = write!(
                svg,
                "<line class=\"hour\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.0}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.0}\">{}</text>",
                bottom + 16.0,
                shown::clock(at, zone)
            );
        }
        hour += 1;
        at = at.saturating_add(SignedDuration::from_hours(1)).unwrap_or(scale.end);
    }
}

fn bar(span: &TimelineSpan, scale: &Scale, zone: &TimeZone, y: f64, places: &Places) -> String {
    let (from, to) = (scale.x(span.started_at), scale.x(span.ended_at));
    let width = (to - from).max(BAR_MIN);
    let from = from.min(WIDTH - width);
    let told = format!(
        "{}–{} {} {}",
        shown::clock(span.started_at, zone),
        shown::clock(span.ended_at, zone),
        shown::agent(&span.agent),
        span.citation.text()
    );
    let class = match span.agent.as_str() {
        "claude" | "codex" | "grok" => span.agent.as_str(),
        _ => "other",
    };
    let rect = format!(
        "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"14\" rx=\"2\"><title>{}</title></rect>",
        y + 6.0,
        escape(&told)
    );
    match places.has_turn(&span.citation) {
        true => format!("<a href=\"#{}\">{rect}</a>", places.turn(&span.citation)),
        false => rect,
    }
}

fn short(name: &str) -> String {
    const CHARS: usize = 18;
    match name.chars().count() > CHARS {
        true => name.chars().take(CHARS).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

fn legend(day: &DayReport) -> String {
    let mut agents: Vec<&str> = day.spans.iter().map(|span| span.agent.as_str()).collect();
    agents.sort_unstable();
    agents.dedup();
    let mut html = "<p class=\"legend\">".to_owned();
    for agent in agents {
        let class = if matches!(agent, "claude" | "codex" | "grok") {
            agent
        } else {
            "other"
        };
        _ = write!(
            html,
            "<span><i class=\"{class}\"></i>{}</span> ",
            escape(shown::agent(agent))
        );
    }
    html + "</p>"
}
