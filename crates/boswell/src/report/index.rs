//! The index page: all days with a report, and the most important points of each.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use jiff::civil::Date;
use memory::diary;
use memory::report::{Statement, Totals};
use serde::Deserialize;

use super::escape::{escape, words};
use super::{files, page, shown};
use crate::error::CommandError;

/// Maximum number of lines per day.
const LINES_MAX: usize = 3;

/// The fields of a day's report that the index needs.
#[derive(Deserialize)]
struct Entry {
    date: String,
    status: String,
    totals: Totals,
    summary: Vec<Statement>,
}

/// Writes the index page.
pub(super) fn write(reports_root: &Path) -> Result<(), CommandError> {
    let mut days: Vec<(Date, Entry)> = Vec::new();
    let entries = fs::read_dir(reports_root.join(diary::WORK_DIRECTORY))
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries {
        let date = entry.file_name().to_str().and_then(|name| name.parse::<Date>().ok());
        let read = || serde_json::from_slice(&fs::read(entry.path().join("report.json")).ok()?).ok();
        // A file that cannot be parsed was written by another program, so it is not listed.
        if let Some((date, day)) = date.and_then(|date| Some((date, read()?))) {
            days.push((date, day));
        }
    }
    days.sort_by_key(|(date, _)| std::cmp::Reverse(*date));
    files::write(&reports_root.join("index.html"), render(&days).as_bytes())
}

fn render(days: &[(Date, Entry)]) -> String {
    let mut body = "<h1>Diary</h1>".to_owned();
    let month = |date: &Date| date.strftime("%B %Y").to_string();
    for days in days.chunk_by(|a, b| month(&a.0) == month(&b.0)) {
        _ = write!(body, "<section><h2>{}</h2>", month(&days[0].0));
        for (date, day) in days {
            body += &one(date, day);
        }
        body += "</section>";
    }
    page::frame("Diary", "", &body)
}

fn one(date: &Date, day: &Entry) -> String {
    let partial = if day.status == "partial" { " · not over" } else { "" };
    let numbers = match shown::numbers(&day.totals, true) {
        numbers if numbers.is_empty() => "Nothing was asked on this day".to_owned(),
        numbers => numbers,
    };
    let mut html = format!(
        "<div class=\"day\"><a href=\"work/{date}/report.html\" title=\"{}\">{}</a><div><p class=\"faint\">{}{partial}</p>",
        escape(&day.date),
        date.strftime("%a %-d"),
        escape(&numbers)
    );
    if !day.summary.is_empty() {
        html += "<ul>";
        for statement in day.summary.iter().take(LINES_MAX) {
            _ = write!(html, "<li>{}</li>", words(&statement.words));
        }
        html += "</ul>";
    }
    html + "</div></div>"
}
