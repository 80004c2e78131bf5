//! Lays out one item. Pure: takes an item, its texts and the columns; returns lines.

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use transcript::Kind;

use super::document::{Item, ItemKind};
use crate::render::text::{PROSE_COLUMNS_MAX, event_label, event_outcome, message_words};
use crate::ui::markdown::{Ink, markdown_lines};
use crate::ui::prose::{StyledLine, StyledText, parse_ansi, wrap_code};
use crate::ui::{BAD, FAINT, GOOD, HEADING, STRONG, escape, escape_lines, measure};

/// Names of tools are padded to the first width and cut to the second.
const LABEL_COLUMNS: usize = 6;
const LABEL_COLUMNS_MAX: usize = 20;
/// How far the details of a call are indented.
const INDENT: &str = "    ";
/// Maximum number of lines of a result; further lines are only counted.
pub(crate) const DETAIL_LINES_MAX: usize = 400;

const PROMPT_BAR: &str = "┃ ";
const BAR: Style = AnsiColor::Cyan.on_default();

/// The whole texts of an item that are read so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ItemTexts<'t> {
    pub(crate) text: Option<&'t str>,
    pub(crate) result: Option<&'t str>,
}

/// Whether the details of an item are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Closed,
    Open,
}

/// Returns the lines of an item that follows one of the kind `before`.
pub(crate) fn item_lines(
    item: &Item,
    before: Option<ItemKind>,
    texts: ItemTexts<'_>,
    fold: Fold,
    columns: usize,
    ink: Ink,
) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    if before.is_some() && (item.heading.is_some() || item.kind.is_prose() || before.is_some_and(ItemKind::is_prose)) {
        lines.push(StyledLine::default());
    }
    if let Some(heading) = &item.heading {
        lines.extend(heading_lines(&heading.title, &heading.facts, columns));
    }
    let prose = columns.min(PROSE_COLUMNS_MAX);
    match item.kind {
        ItemKind::Prompt => {
            let words = message_words(&item.event, texts.text);
            let bar = measure::width(PROMPT_BAR);
            let said = markdown_lines(words, prose.saturating_sub(bar), columns.saturating_sub(bar), ink);
            lines.extend(said.into_iter().map(|line| line.after(PROMPT_BAR, BAR)));
        }
        ItemKind::Answer => {
            let words = message_words(&item.event, texts.text);
            lines.extend(markdown_lines(words, prose, columns, ink));
        }
        ItemKind::Call | ItemKind::Thought | ItemKind::Note => {
            lines.push(one_line(item, fold, columns));
            if fold == Fold::Open {
                lines.extend(details(item, texts, columns, ink));
            }
        }
    }
    lines
}

fn heading_lines(title: &str, facts: &str, columns: usize) -> Vec<StyledLine> {
    let mut line = StyledLine::new(title, HEADING);
    let room = columns.saturating_sub(line.width() + 2);
    line.push(format!("  {}", measure::fit(facts, room)), FAINT);
    let rest = columns.min(PROSE_COLUMNS_MAX).saturating_sub(line.width() + 1);
    if rest > 2 {
        line.push(format!(" {}", "─".repeat(rest)), FAINT);
    }
    vec![line, StyledLine::default()]
}

/// Returns a call, a thought or a note in one line.
fn one_line(item: &Item, fold: Fold, columns: usize) -> StyledLine {
    let (label, style) = event_label(&item.event);
    let label = escape(label.trim()).into_owned();
    let label = measure::fit(&label, LABEL_COLUMNS_MAX).into_owned();
    let fill = " ".repeat(LABEL_COLUMNS.saturating_sub(measure::width(&label)));
    let outcome = event_outcome(&item.event);
    let words: Vec<&str> = item.event.summary.split_whitespace().collect();
    let words = escape(&words.join(" ")).into_owned();
    let sign = if fold == Fold::Open { "▾ " } else { "▸ " };
    let mut line = StyledLine::new(sign, FAINT);
    line.push(label, style);
    line.push(format!("{fill}  "), Style::new());
    let tail = if outcome.is_empty() {
        0
    } else {
        measure::width(&outcome) + 2
    };
    let room = columns.saturating_sub(line.width() + tail);
    let is_faint = item.kind != ItemKind::Call && !item.event.kinds.has(Kind::Error);
    line.push(
        measure::fit(&words, room).into_owned(),
        if is_faint { FAINT } else { Style::new() },
    );
    if tail > 0 {
        let style = if item.event.success == Some(false) { BAD } else { FAINT };
        line.push(format!("  {outcome}"), style);
    }
    line
}

/// Returns the input and output of a tool, or the whole text of a thought or a note.
fn details(item: &Item, texts: ItemTexts<'_>, columns: usize, ink: Ink) -> Vec<StyledLine> {
    let room = columns.saturating_sub(INDENT.len()).max(1);
    let text = texts.text.unwrap_or(&item.event.summary);
    let mut lines = match item.kind {
        ItemKind::Call => limited(text, |text| input_lines(text, room)),
        _ => limited(text, |text| {
            markdown_lines(text, room.min(PROSE_COLUMNS_MAX), room, ink)
        }),
    };
    if let Some(result) = &item.result {
        let is_error = result.kinds.has(Kind::Error);
        let (word, style) = if is_error { ("error", BAD) } else { ("result", FAINT) };
        lines.push(StyledLine::new(format!("─ {word}"), style));
        let text = texts.result.unwrap_or(&result.summary);
        lines.extend(limited(text, |text| output_lines(text, room)));
    }
    lines.into_iter().map(|line| line.after(INDENT, Style::new())).collect()
}

/// Lays out the first lines of a text, with a line for how many more there are.
fn limited(text: &str, lay_out: impl Fn(&str) -> Vec<StyledLine>) -> Vec<StyledLine> {
    let mut ends = text.match_indices('\n').skip(DETAIL_LINES_MAX - 1).map(|(at, _)| at);
    let Some(end) = ends.next() else { return lay_out(text) };
    let more = text[end..].lines().count().saturating_sub(1);
    let mut lines = lay_out(&text[..end]);
    if more > 0 {
        let more = format!("… {} more lines; `y` copies all", measure::count(more as u64));
        lines.push(StyledLine::new(more, FAINT));
    }
    lines
}

/// Returns the input of a tool by key, with texts unquoted instead of as JSON strings.
fn input_lines(text: &str, columns: usize) -> Vec<StyledLine> {
    let Ok(Value::Object(input)) = serde_json::from_str::<Value>(text) else {
        return code_lines(text, columns, |line| match line.as_bytes().first() {
            Some(b'+') => GOOD,
            Some(b'-') => BAD,
            _ => Style::new(),
        });
    };
    let mut input: Vec<(&String, &Value)> = input.iter().collect();
    input.sort_by_key(|(key, _)| input_rank(key));
    let mut lines = Vec::new();
    for (key, value) in input {
        match (key.as_str(), value) {
            ("command" | "cmd", Value::String(text)) => lines.extend(code_lines(text, columns, |_| STRONG)),
            ("old_string" | "old_str", Value::String(text)) => lines.extend(diff_lines(text, '-', columns)),
            ("new_string" | "new_str" | "content", Value::String(text)) => {
                lines.extend(diff_lines(text, '+', columns));
            }
            (key, Value::String(text)) if text.contains('\n') => {
                lines.push(StyledLine::new(format!("{}:", escape(key)), FAINT));
                lines.extend(code_lines(text, columns, |_| Style::new()));
            }
            (key, value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let parts = [
                    StyledText {
                        text: format!("{}: ", escape(key)),
                        style: FAINT,
                    },
                    StyledText {
                        text: escape(&text).into_owned(),
                        style: Style::new(),
                    },
                ];
                lines.extend(crate::ui::prose::wrap(&parts, columns));
            }
        }
    }
    lines
}

/// Orders the keys of an input: the action, then the path, then the old text before the new text, then the rest.
fn input_rank(key: &str) -> usize {
    const ORDER: [&[&str]; 4] = [
        &["command", "cmd"],
        &["file_path", "path", "notebook_path", "target_file"],
        &["old_string", "old_str"],
        &["new_string", "new_str", "content"],
    ];
    ORDER.iter().position(|keys| keys.contains(&key)).unwrap_or(ORDER.len())
}

fn code_lines(text: &str, columns: usize, style: impl Fn(&str) -> Style) -> Vec<StyledLine> {
    let lines = text.lines();
    lines
        .flat_map(|line| wrap_code(&escape_lines(line), columns, style(line)))
        .collect()
}

fn diff_lines(text: &str, sign: char, columns: usize) -> Vec<StyledLine> {
    let style = if sign == '-' { BAD } else { GOOD };
    let lines = text.lines().map(|line| format!("{sign} {}", escape_lines(line)));
    lines.flat_map(|line| wrap_code(&line, columns, style)).collect()
}

/// Returns the output of a program in its own colours.
fn output_lines(text: &str, columns: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let parsed = parse_ansi(line.trim_end_matches('\r'));
        if let [] | [_] = parsed.parts.as_slice() {
            let style = parsed.parts.first().map(|part| part.style).unwrap_or_default();
            lines.extend(wrap_code(&escape_lines(&parsed.text()), columns, style));
            continue;
        }
        let mut safe = StyledLine::default();
        for part in parsed.parts {
            safe.push(escape(&part.text).into_owned(), part.style);
        }
        lines.extend(if safe.width() > columns {
            crate::ui::prose::wrap(&safe.parts, columns)
        } else {
            vec![safe]
        });
    }
    lines
}
