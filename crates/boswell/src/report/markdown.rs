//! A day as Markdown. Text from logs is escaped, so that it contains no active Markdown or HTML.

use std::fmt::Write;

use memory::outcome::outcome_name;
use memory::report::{DayReport, SentencePart, Statement};

use super::cited::CitationStyle;
use super::shown;

/// Returns the page of a day.
pub(super) fn day(day: &DayReport, style: CitationStyle<'_>) -> String {
    let zone = shown::zone(&day.timezone);
    let mut page = format!("# {}\n\n", shown::long_date(&day.date));
    let window = &day.report_window_local;
    _ = writeln!(
        page,
        "{} to {} ({}), {}",
        window.start,
        window.end,
        plain(&day.timezone),
        plain(&status(day))
    );
    let numbers = shown::numbers(&day.totals, true);
    if day.projects.is_empty() {
        page += "\nNothing was asked on this day.\n";
        return page;
    }
    _ = writeln!(page, "\n{numbers}");
    if day.totals.sessions_from_digests > 0 {
        let count = day.totals.sessions_from_digests;
        _ = writeln!(
            page,
            "\nThe raw text of {count} of the sessions was evicted; they are reported from their digests."
        );
    }
    list(&mut page, "## In short", &day.summary, style);
    for project in &day.projects {
        _ = writeln!(
            page,
            "\n## {}\n\n{}",
            plain(&project.project),
            shown::numbers(&project.totals, false)
        );
        for work in &project.works {
            let title: String = work.title.words.iter().map(word).collect();
            let mark = if work.from_digest { " · from its digest" } else { "" };
            _ = writeln!(
                page,
                "\n### {title}\n\n**{}**{mark} · {}",
                outcome_name(work.outcome),
                shown::effort(work, &zone)
            );
            for (heading, statements) in shown::lists(work) {
                list(&mut page, &format!("**{heading}**"), statements, style);
            }
        }
        let folded: Vec<Statement> = project.folded.iter().map(|folded| folded.statement.clone()).collect();
        list(&mut page, "### Also", &folded, style);
    }
    if shown::whole(day).iter().any(|(_, statements)| !statements.is_empty()) {
        page += "\n## The day as a whole\n";
    }
    for (heading, statements) in shown::whole(day) {
        list(&mut page, &format!("**{heading}**"), statements, style);
    }
    page
}

/// Returns the status of the day, with the name of the writer if it was an agent.
pub(super) fn status(day: &DayReport) -> String {
    let status = match &day.as_of {
        Some(as_of) => format!("not over: as of {as_of}"),
        None => day.status.clone(),
    };
    match day.written.by.as_str() {
        "default" => status,
        agent => format!("{status}, written by {agent}"),
    }
}

/// Appends a heading and its list, unless the list is empty.
pub(super) fn list(page: &mut String, heading: &str, statements: &[Statement], style: CitationStyle<'_>) {
    if statements.is_empty() {
        return;
    }
    _ = write!(page, "\n{heading}\n\n");
    for statement in statements {
        _ = writeln!(page, "- {}", sentence(statement, style));
    }
}

/// Returns a sentence with its citations.
fn sentence(statement: &Statement, style: CitationStyle<'_>) -> String {
    let mut text: String = statement.words.iter().map(word).collect();
    match style {
        CitationStyle::Workspace => {
            for citation in &statement.citations {
                text.push(' ');
                text += &plain(&citation.text());
            }
        }
        CitationStyle::Short(short) if !statement.citations.is_empty() => {
            let citations: Vec<String> = statement.citations.iter().map(|one| plain(&short.text(one))).collect();
            _ = write!(text, " <small>({})</small>", citations.join(", "));
        }
        CitationStyle::Short(_) => {}
    }
    text
}

fn word(word: &SentencePart) -> String {
    match word {
        SentencePart::Say(text) => plain(text),
        SentencePart::Quote(text) => format!("“{}”", plain(text)),
        SentencePart::Code(text) => code(text),
    }
}

/// Escapes Markdown and HTML in a text that is not at the beginning of a line, so that block markup needs no escape.
pub(super) fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    for (at, c) in chars.iter().copied().enumerate() {
        let near = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric());
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            // An underscore within a word is not markup, and names often contain one.
            '_' if near(at.checked_sub(1)) && near(Some(at + 1)) => escaped.push('_'),
            // Two of them are markup; a single one is often a home directory.
            '~' if chars.get(at + 1) != Some(&'~') => escaped.push('~'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns a name as code, between as many backticks as it needs.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    match text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself() {
        assert_eq!(
            plain("a *b* [c](d) <e> &amp; `f`"),
            r"a \*b\* \[c\](d) &lt;e> &amp;amp; \`f\`"
        );
        assert_eq!(plain("snake_case and _this_"), r"snake_case and \_this\_");
        assert_eq!(plain("no\n# heading, ~~this~ ~/app"), r"no # heading, \~~this~ ~/app");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a"), "`` `a ``");
    }
}
