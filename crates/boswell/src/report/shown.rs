//! Formats numbers, times and words for all pages. Times are in the zone of the report.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::report::{DayReport, PieceOfWork, Totals};
use transcript::Agent;

use crate::render::text::plural;
use crate::ui::measure;
use render::dollars;

/// Returns the zone of a day, or UTC if this machine does not know it.
pub(super) fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

/// `Tuesday, 31 March 2026`.
pub(super) fn long_date(date: &str) -> String {
    match date.parse::<Date>() {
        Ok(date) => date.strftime("%A, %-d %B %Y").to_string(),
        Err(_) => date.to_owned(),
    }
}

/// `10:02`.
pub(super) fn clock(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M").to_string()
}

pub(super) fn agent(word: &str) -> &str {
    let known = Agent::ALL.into_iter().find(|agent| agent.as_str() == word);
    known.map_or(word, |agent| agent.title())
}

/// Formats a duration, rounded to minutes.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", (seconds + 30) / 60),
        _ => measure::duration(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))),
    }
}

/// Formats the cost; returns `None` if nothing is known about it.
pub(super) fn cost(totals: &Totals) -> Option<String> {
    let told = totals.cost_microusd.map(dollars);
    match (told, totals.unpriced_calls) {
        (Some(told), 0) => Some(told),
        (Some(told), _) => Some(format!("{told} + unpriced")),
        (None, 0) => None,
        (None, _) => Some("unpriced".to_owned()),
    }
}

/// `2 passed, 1 failed`.
pub(super) fn tests(totals: &Totals) -> Option<String> {
    let parts = [
        (totals.tests_passed, "passed"),
        (totals.tests_failed, "failed"),
        (totals.tests_unclear, "unclear"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", measure::count(*count)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns all numbers of a day or a project in one line.
pub(super) fn numbers(totals: &Totals, with_projects: bool) -> String {
    let some = |count: u64, word: &str| (count > 0).then(|| plural(count, word));
    let parts = [
        some(totals.projects, "project").filter(|_| with_projects),
        some(totals.sessions, "session"),
        some(totals.turns, "turn"),
        (totals.active_s > 0).then(|| format!("{} active", span(totals.active_s))),
        cost(totals),
        some(totals.files, "file").map(|files| format!("{files} edited")),
        some(totals.commits, "commit"),
        tests(totals).map(|tests| format!("test runs: {tests}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns the time, agents, duration and cost of a piece of work.
pub(super) fn effort(work: &PieceOfWork, zone: &TimeZone) -> String {
    let agents: Vec<&str> = work.agents.iter().map(|word| agent(word)).collect();
    let time = match (work.started_at, work.ended_at) {
        (Some(start), Some(end)) => {
            let date = |at: Timestamp| at.to_zoned(zone.clone()).date();
            let later = if date(start) == date(end) {
                String::new()
            } else {
                format!(" on {}", date(end))
            };
            Some(format!("{}–{}{later}", clock(start, zone), clock(end, zone)))
        }
        (Some(start), None) => Some(clock(start, zone)),
        _ => None,
    };
    let parts = [
        time,
        Some(agents.join(", ")),
        (work.totals.turns > 1).then(|| plural(work.totals.turns, "turn")),
        (work.totals.active_s > 0).then(|| format!("{} active", span(work.totals.active_s))),
        cost(&work.totals),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns the lists of a piece of work with their headings.
pub(super) fn lists(work: &PieceOfWork) -> [(&'static str, &[memory::report::Statement]); 5] {
    [
        ("Asked", &work.asked),
        ("Done", &work.done),
        ("Result", &work.came),
        ("Left open", &work.open),
        ("Decided", &work.decided),
    ]
}

/// Returns the lists of the whole day with their headings.
pub(super) fn whole(day: &DayReport) -> [(&'static str, &[memory::report::Statement]); 3] {
    [
        ("Interventions", &day.whole.corrected),
        ("What was repeated", &day.whole.repeated),
        ("What worked", &day.whole.worked),
    ]
}
