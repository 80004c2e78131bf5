//! Several days as one report: the most important points of each, all open points, and links to the pages of the days.

use std::fmt::Write;
use std::path::Path;

use memory::diary::WORK_DIRECTORY;
use memory::report::{DayReport, REPORT_SCHEMA, Statement, Totals};

use super::cited::CitationStyle;
use super::escape::{escape, words};
use super::files::{self, Kept};
use super::{markdown, page, shown};
use crate::answers::page::ReportRange;
use crate::error::CommandError;

/// Maximum number of open points per day.
const OPEN_MAX: usize = 6;

impl<'d> ReportRange<'d> {
    pub(super) fn new(days: impl IntoIterator<Item = &'d DayReport>) -> Self {
        let days: Vec<&DayReport> = days.into_iter().collect();
        let mut totals = Totals::default();
        for day in &days {
            add(&mut totals, &day.totals);
        }
        let mut projects: Vec<&str> = days
            .iter()
            .flat_map(|day| &day.projects)
            .map(|project| project.project_key.as_str())
            .collect();
        projects.sort_unstable();
        projects.dedup();
        totals.projects = projects.len() as u64;
        Self {
            schema: REPORT_SCHEMA,
            since: days.first().map_or("", |day| &day.date),
            until: days.last().map_or("", |day| &day.date),
            timezone: days.first().map_or("", |day| &day.timezone),
            totals,
            days,
        }
    }

    fn title(&self) -> String {
        format!("{} to {}", shown::long_date(self.since), shown::long_date(self.until))
    }
}

/// Adds the totals of a day. A session that spans midnight counts on each day.
fn add(to: &mut Totals, day: &Totals) {
    to.sessions += day.sessions;
    to.sessions_from_digests += day.sessions_from_digests;
    to.turns += day.turns;
    to.subagents += day.subagents;
    to.files += day.files;
    to.commits += day.commits;
    to.active_s += day.active_s;
    to.tokens += day.tokens;
    to.unpriced_calls += day.unpriced_calls;
    to.tests_passed += day.tests_passed;
    to.tests_failed += day.tests_failed;
    to.tests_unclear += day.tests_unclear;
    to.cost_microusd = match (to.cost_microusd, day.cost_microusd) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
}

/// Returns the open points of a day.
fn open(day: &DayReport) -> Vec<Statement> {
    let works = day.projects.iter().flat_map(|project| &project.works);
    works
        .flat_map(|work| work.open.iter().cloned())
        .take(OPEN_MAX)
        .collect()
}

/// Stores the report of several days next to those of single days.
pub(super) fn keep(reports_root: &Path, range: &ReportRange<'_>) -> Result<Kept, CommandError> {
    let name = reports_root
        .join("ranges")
        .join(format!("{}_{}", range.since, range.until));
    files::keep_as(
        &name,
        &markdown(range, |_| CitationStyle::Workspace),
        &page(range),
        &files::json(range)?,
    )
}

/// Returns several days as Markdown, each with its style of citations.
pub(super) fn markdown<'c>(range: &ReportRange<'_>, style: impl Fn(usize) -> CitationStyle<'c>) -> String {
    let mut text = format!("# {}\n\n{}\n", range.title(), shown::numbers(&range.totals, true));
    for (at, day) in range.days.iter().enumerate() {
        _ = writeln!(text, "\n## {}\n", shown::long_date(&day.date));
        match day.projects.is_empty() {
            true => text += "Nothing was asked on this day.\n",
            false => _ = writeln!(text, "{}", shown::numbers(&day.totals, true)),
        }
        markdown::list(&mut text, "**In short**", &day.summary, style(at));
        markdown::list(&mut text, "**Left open**", &open(day), style(at));
    }
    text
}

/// Returns several days as an HTML page.
pub(super) fn page(range: &ReportRange<'_>) -> String {
    let title = range.title();
    let mut body = format!("<h1>{}</h1>{}", escape(&title), page::cards(&range.totals));
    for day in &range.days {
        let page = format!("../{WORK_DIRECTORY}/{}/report.html", escape(&day.date));
        _ = write!(
            body,
            "<section class=\"project\"><h2><a href=\"{page}\">{}</a></h2><p class=\"faint\">{}</p>",
            escape(&shown::long_date(&day.date)),
            match day.projects.is_empty() {
                true => "Nothing was asked on this day".to_owned(),
                false => escape(&shown::numbers(&day.totals, true)),
            }
        );
        for (heading, statements) in [("In short", day.summary.clone()), ("Left open", open(day))] {
            if statements.is_empty() {
                continue;
            }
            _ = write!(body, "<h4>{heading}</h4><ul>");
            for statement in &statements {
                let cited: Vec<String> = statement
                    .citations
                    .iter()
                    .map(|citation| escape(&citation.text()))
                    .collect();
                _ = write!(
                    body,
                    "<li>{} <a class=\"cite\" href=\"{page}\" title=\"{}\">{}</a></li>",
                    words(&statement.words),
                    cited.join(" "),
                    cited.first().map_or("", String::as_str)
                );
            }
            body += "</ul>";
        }
        body += "</section>";
    }
    page::frame(&title, "../index.html", &body)
}
