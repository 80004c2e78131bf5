//! A day as one HTML page: no network, only our own script, and all text from logs escaped. The most important points
//! come first, and each citation opens the turn it names.

use std::fmt::Write;

use jiff::tz::TimeZone;
use memory::outcome::outcome_name;
use memory::report::{DayReport, PieceOfWork, ReportProject, Totals, TurnExcerpt};

use super::escape::{Places, escape, words};
use super::hash::policy;
use super::{markdown, shown, timeline};
use crate::render::text::plural;
use crate::ui::measure;

/// Appended to the styles of the statistics page and to those that all pages share.
const LAYOUT: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page of a day.
pub(super) fn day(day: &DayReport) -> String {
    let places = Places::of(day);
    let zone = shown::zone(&day.timezone);
    let title = shown::long_date(&day.date);
    let mut body = format!(
        "<h1>{}</h1><p class=\"faint\">{} to {} ({}), {}</p>",
        escape(&title),
        escape(&day.report_window_local.start),
        escape(&day.report_window_local.end),
        escape(&day.timezone),
        escape(&markdown::status(day))
    );
    if day.projects.is_empty() {
        body += "<section class=\"short\"><p>Nothing was asked on this day.</p></section>";
        return frame(&title, "../../index.html", &body);
    }
    if day.totals.sessions_from_digests > 0 {
        _ = write!(
            body,
            "<p class=\"faint\">The raw text of {} of the sessions was evicted; they are reported from their digests.</p>",
            day.totals.sessions_from_digests
        );
    }
    if !day.summary.is_empty() {
        _ = write!(
            body,
            "<section class=\"short\"><h4>In short</h4>{}</section>",
            places.list(&day.summary)
        );
    }
    body += &cards(&day.totals);
    if let Some(line) = timeline::draw(day, &places) {
        _ = write!(body, "<h2>When</h2><div class=\"wide\">{line}</div>");
    }
    for one in &day.projects {
        body += &project(one, &places, &zone);
    }
    body += &whole(day, &places);
    body += &turns(day, &places, &zone);
    frame(&title, "../../index.html", &body)
}

/// Returns a page with the given body.
pub(super) fn frame(title: &str, index: &str, body: &str) -> String {
    let all_days = match index {
        "" => String::new(),
        index => format!("<a href=\"{}\">All days</a>", escape(index)),
    };
    let style = format!("{}{}{LAYOUT}", render::STYLE_BASE, render::STYLE_CARDS);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\
         <title>{}</title><style>{style}</style></head><body>\
         <div class=\"top\"><div>{all_days}<input type=\"search\" placeholder=\"Search this page\" aria-label=\"Search this page\">\
         <output></output></div></div><main>{body}</main><script>{SCRIPT}</script></body></html>\n",
        policy(&style, SCRIPT),
        escape(title)
    )
}

/// Returns the numbers of a day.
pub(super) fn cards(totals: &Totals) -> String {
    let count = measure::count;
    let some = |number: u64, name: &'static str, more: String| (number > 0).then(|| (count(number), name, more));
    let projects = (totals.projects > 0).then(|| format!("in {}", plural(totals.projects, "project")));
    let cards = [
        some(totals.turns, "turns", plural(totals.sessions, "session")),
        (totals.active_s > 0).then(|| (shown::span(totals.active_s), "active", projects.unwrap_or_default())),
        shown::cost(totals).map(|cost| (cost, "cost", format!("{} tokens", measure::short_count(totals.tokens)))),
        some(totals.files, "files edited", plural(totals.commits, "commit")),
        shown::tests(totals).map(|tests| {
            let others = tests.split_once(" passed, ").map_or("", |(_, others)| others);
            let others = if totals.tests_passed == 0 { &tests } else { others };
            (count(totals.tests_passed), "test runs passed", others.to_owned())
        }),
        some(totals.subagents, "subagents", String::new()),
    ];
    let mut html = "<section class=\"cards\">".to_owned();
    for (value, name, more) in cards.into_iter().flatten() {
        _ = write!(
            html,
            "<div class=\"card\"><b>{}</b><span>{name}</span><small>{}</small></div>",
            escape(&value),
            escape(&more)
        );
    }
    html + "</section>"
}

fn project(project: &ReportProject, places: &Places, zone: &TimeZone) -> String {
    let mut html = format!(
        "<section class=\"project\"><h2>{}</h2><p class=\"faint\">{}</p>",
        escape(&project.project),
        escape(&shown::numbers(&project.totals, false))
    );
    for one in &project.works {
        html += &work(one, places, zone);
    }
    if !project.folded.is_empty() {
        let statements: Vec<_> = project.folded.iter().map(|folded| folded.statement.clone()).collect();
        let turns: usize = project.folded.iter().map(|folded| folded.covers.len()).sum();
        _ = write!(
            html,
            "<details class=\"also\"><summary>Also: {}</summary>{}</details>",
            plural(turns as u64, "smaller turn"),
            places.list(&statements)
        );
    }
    html + "</section>"
}

fn work(work: &PieceOfWork, places: &Places, zone: &TimeZone) -> String {
    let mark = if work.from_digest {
        "<span class=\"badge digest\">from its digest</span>"
    } else {
        ""
    };
    let mut html = format!(
        "<article class=\"work\"><h3>{}</h3><p class=\"faint\"><span class=\"badge {}\">{}</span>{mark}{}</p>",
        words(&work.title.words),
        outcome_name(work.outcome),
        outcome_name(work.outcome),
        escape(&shown::effort(work, zone))
    );
    for (heading, statements) in shown::lists(work) {
        if !statements.is_empty() {
            let class = if heading == "Left open" { "open" } else { "told" };
            _ = write!(
                html,
                "<div class=\"{class}\"><h4>{heading}</h4>{}</div>",
                places.list(statements)
            );
        }
    }
    html + "</article>"
}

fn whole(day: &DayReport, places: &Places) -> String {
    let mut html = String::new();
    for (heading, statements) in shown::whole(day) {
        if !statements.is_empty() {
            _ = write!(html, "<section><h4>{heading}</h4>{}</section>", places.list(statements));
        }
    }
    match html.is_empty() {
        true => html,
        false => format!("<section class=\"project\"><h2>The day as a whole</h2>{html}</section>"),
    }
}

/// Returns the cited turns, folded.
fn turns(day: &DayReport, places: &Places, zone: &TimeZone) -> String {
    let mut html =
        "<section class=\"project\"><h2>Turns</h2><p class=\"faint\">What the citations name, line by line.</p>"
            .to_owned();
    for excerpt in &day.excerpts {
        html += &turn(excerpt, places, zone);
    }
    html + "</section>"
}

fn turn(excerpt: &TurnExcerpt, places: &Places, zone: &TimeZone) -> String {
    let id = places.turn(&excerpt.citation);
    let time = excerpt.started_at.map(|at| shown::clock(at, zone)).unwrap_or_default();
    let mark = if excerpt.from_digest { " · from its digest" } else { "" };
    let mut html = format!(
        "<details class=\"turn\" id=\"{id}\"><summary>{time} {} <span class=\"faint\">{}{mark}</span></summary><table>",
        escape(&excerpt.citation.text()),
        escape(&format!("{} {:.8}", shown::agent(&excerpt.agent), excerpt.session_id))
    );
    let mut last = 0;
    for line in &excerpt.lines {
        // One line can contain several events. Only the first one gets the id, because ids must be unique.
        let own = if line.line == last {
            String::new()
        } else {
            format!(" id=\"{id}-L{}\"", line.line)
        };
        last = line.line;
        _ = write!(
            html,
            "<tr class=\"{}\"{own}><td>{}</td><td>{}</td></tr>",
            line.kind.as_str(),
            line.line,
            escape(&line.text)
        );
    }
    html += "</table>";
    if excerpt.left_out > 0 {
        _ = write!(
            html,
            "<p class=\"faint\">{} not shown</p>",
            plural(excerpt.left_out, "more line")
        );
    }
    html + "</details>"
}
