//! Renders the body of a tool call, input and output, in the form that suits its family of tools.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use crate::card_html::CardHtml;
use crate::diff;
use crate::escape;
use crate::markdown_html::{self, LineBreaks};
use crate::patch::{self, FileChange, FileChangeKind};
use crate::steps::Step;
use crate::tools::{ToolFamily, first_text, language_of_path, parse_input, shell_command, todo_list, tool_family};
use crate::{ansi, measure};

/// Longer texts are cut here; a button draws the rest.
const SHOWN_BYTES: usize = 24 << 10;
/// Longer diffs are cut after this many lines; a button draws the rest.
const SHOWN_LINES: usize = 400;
/// A longer value is shown as a block of its own.
const INLINE_CHARS: usize = 120;

/// Appends the input and the output of a tool call.
pub(crate) fn push_tool_body(card: &mut CardHtml, step: &Step<'_>) {
    let tool = step.entry.event.tool.as_deref().unwrap_or_default();
    let asked = step.entry.text();
    let input = parse_input(asked);
    let family = match tool_family(tool) {
        // An unknown tool, or a shell that was given a patch, can also make an edit.
        ToolFamily::Other | ToolFamily::Shell if file_changes(tool, asked, input.as_ref()).is_some() => {
            ToolFamily::Edit
        }
        family => family,
    };
    match family {
        ToolFamily::Shell => push_shell(card, asked, input.as_ref()),
        ToolFamily::Edit => push_edit(card, tool, asked, input.as_ref()),
        ToolFamily::Todo => push_todo_list(card, asked, input.as_ref()),
        ToolFamily::Plan => push_plan(card, asked, input.as_ref()),
        ToolFamily::Question => push_questions(card, asked, input.as_ref()),
        ToolFamily::Agent => push_agent_task(card, asked, input.as_ref()),
        ToolFamily::Read | ToolFamily::Search | ToolFamily::Web | ToolFamily::Other => {
            push_values(card, asked, input.as_ref())
        }
    }
    let Some(result) = step.result else { return };
    // The output of a successful edit only confirms it.
    let is_plain = matches!(family, ToolFamily::Edit | ToolFamily::Todo) && !step.is_error();
    if !is_plain {
        push_output(card, family, input.as_ref(), result.text(), step.is_error());
    }
    for image in &result.images {
        card.image(image);
    }
}

/// Appends the output of a tool.
fn push_output(card: &mut CardHtml, family: ToolFamily, input: Option<&Value>, text: &str, is_error: bool) {
    let text = text.trim_end_matches('\n');
    if text.trim().is_empty() {
        card.html.push_str("<p class=\"none\">no output</p>");
        return;
    }
    let class = if is_error { "out bad" } else { "out" };
    match family {
        ToolFamily::Agent | ToolFamily::Web | ToolFamily::Plan | ToolFamily::Question if !is_error => {
            card.html.push_str("<div class=\"md res\">");
            markdown_html::push(&mut card.html, text, LineBreaks::Kept);
            card.html.push_str("</div>");
        }
        ToolFamily::Read if !is_error => {
            let path =
                input.and_then(|input| first_text(input, &["file_path", "path", "target_file", "notebook_path"]));
            let (first, body) = strip_line_numbers(text);
            push_numbered_code(card, &body, language_of_path(path.unwrap_or_default()), first);
        }
        _ => match crate::tools::parse_input(text).filter(|_| text.starts_with(['{', '['])) {
            Some(value) => {
                let pretty = serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned());
                push_numbered_code(card, &pretty, "json", None);
            }
            None => push_in_pieces(card, text, |out, piece| {
                out.push_str("<pre class=\"");
                out.push_str(class);
                out.push_str("\">");
                ansi::push_html(out, piece);
                out.push_str("</pre>");
            }),
        },
    }
}

/// Removes the line numbers that `Read` tools put before each line. Returns the first number, if there is one, and the text.
fn strip_line_numbers(text: &str) -> (Option<u64>, Cow<'_, str>) {
    fn split(line: &str) -> Option<(u64, &str)> {
        // Only spaces and digits precede the separator, so the scan of a line without a number stops at once.
        let at = line.bytes().position(|byte| !matches!(byte, b' ' | b'0'..=b'9'))?;
        let rest = line[at..].strip_prefix('→').or_else(|| line[at..].strip_prefix('\t'))?;
        Some((line[..at].trim().parse().ok()?, rest))
    }
    let Some((first, _)) = text.lines().next().and_then(split) else {
        return (None, Cow::Borrowed(text));
    };
    let mut body = String::with_capacity(text.len());
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            body.push('\n');
        }
        body.push_str(split(line).map_or(line, |(_, rest)| rest));
    }
    (Some(first), Cow::Owned(body))
}

/// Appends code with syntax colours, and with line numbers if `first` is known.
fn push_numbered_code(card: &mut CardHtml, text: &str, language: &str, first: Option<u64>) {
    let mut next = first;
    push_in_pieces(card, text, |out, piece| {
        let number = next.map(|number| format!(" data-s=\"{number}\"")).unwrap_or_default();
        next = next.map(|number| number + piece.lines().count() as u64);
        _ = write!(out, "<pre class=\"code\"{number}><code data-l=\"{language}\">");
        escape::push_inside(out, piece);
        out.push_str("</code></pre>");
    });
}

/// Appends a text. The rest of a long one becomes an extra behind a button.
fn push_in_pieces(card: &mut CardHtml, text: &str, mut push: impl FnMut(&mut String, &str)) {
    // A text that is only a little longer is not worth a button.
    if text.len() <= SHOWN_BYTES * 2 {
        return push(&mut card.html, text);
    }
    let border = text.floor_char_boundary(SHOWN_BYTES);
    let at = text[..border]
        .rfind('\n')
        .filter(|at| *at > 0)
        .map_or(border, |at| at + 1);
    push(&mut card.html, &text[..at]);
    let mut rest = String::with_capacity(text.len() - at);
    push(&mut rest, &text[at..]);
    let label = format!("Show the remaining {}", measure::bytes(text.len() - at));
    card.more(&label, rest);
}

fn push_shell(card: &mut CardHtml, asked: &str, input: Option<&Value>) {
    let description = input.and_then(|input| first_text(input, &["description", "justification"]));
    if let Some(description) = description.filter(|description| !description.trim().is_empty()) {
        card.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut card.html, description);
        card.html.push_str("</p>");
    }
    let command = input.and_then(shell_command).unwrap_or_else(|| asked.to_owned());
    let place = input.and_then(|input| first_text(input, &["workdir", "cwd"]));
    if let Some(place) = place {
        card.html.push_str("<p class=\"say\">in <code>");
        escape::push_inside(&mut card.html, place);
        card.html.push_str("</code></p>");
    }
    push_code(card, "code cmd", &command, "sh");
}

fn push_code(card: &mut CardHtml, class: &str, text: &str, language: &str) {
    push_in_pieces(card, text, |out, piece| {
        _ = write!(out, "<pre class=\"{class}\"><code data-l=\"{language}\">");
        escape::push_inside(out, piece);
        out.push_str("</code></pre>");
    });
}

/// Returns the files that a call changes, or `None` if it changes no files or in an unknown format.
pub fn file_changes<'t>(tool: &str, asked: &'t str, input: Option<&'t Value>) -> Option<Vec<FileChange<'t>>> {
    // Depending on its version, Codex passes a patch as plain text, as an argument, or in a shell command.
    let patch = input.and_then(|input| first_text(input, &["input", "patch", "command"]));
    if let Some(files) = patch::parse_patch(patch.unwrap_or(asked)) {
        return Some(files);
    }
    let input = input?;
    let script = input
        .get("command")
        .and_then(Value::as_array)
        .and_then(|words| words.last()?.as_str());
    if let Some(files) = script.and_then(patch::parse_patch) {
        return Some(files);
    }
    let path = first_text(input, &["file_path", "notebook_path", "path", "target_file"]);
    let Some(path) = path else {
        return patch::parse_changes(input);
    };
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let change = |kind, lines| FileChange { path, kind, lines };
    if let Some(edits) = input.get("edits").and_then(Value::as_array) {
        let mut lines = Vec::new();
        for edit in edits {
            let part = |keys: &[&str]| first_text(edit, keys).unwrap_or_default();
            lines.extend(diff::diff_lines(
                part(&["old_string", "old_text"]),
                part(&["new_string", "new_text"]),
            ));
            lines.push(diff::DiffLine::HunkHeader(""));
        }
        lines.pop();
        return Some(vec![change(FileChangeKind::Changed, lines)]);
    }
    if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        let kind = if old.is_empty() {
            FileChangeKind::Added
        } else {
            FileChangeKind::Changed
        };
        return Some(vec![change(kind, diff::diff_lines(old, new))]);
    }
    let is_write = matches!(tool, "Write" | "write" | "write_file" | "create_file" | "NotebookEdit");
    let content = text("content").or(text("contents")).or(text("new_source"));
    let content = content.filter(|_| is_write)?;
    Some(vec![change(FileChangeKind::Added, diff::diff_lines("", content))])
}

/// Returns the changes of a call as the text of a diff.
pub fn diff_text(tool: &str, asked: &str, input: Option<&Value>) -> Option<String> {
    let files = file_changes(tool, asked, input)?;
    let mut text = String::new();
    for file in &files {
        text.push_str(&format!("--- {}\n", file.path));
        for line in &file.lines {
            match line {
                diff::DiffLine::Same(line) => text.push_str(&format!(" {line}\n")),
                diff::DiffLine::Removed(line) => text.push_str(&format!("-{line}\n")),
                diff::DiffLine::Added(line) => text.push_str(&format!("+{line}\n")),
                diff::DiffLine::Unchanged(count) => text.push_str(&format!("@@ {count} unchanged @@\n")),
                diff::DiffLine::HunkHeader(place) => {
                    text.push_str(&format!("{}\n", if place.is_empty() { "@@" } else { place }))
                }
            }
        }
    }
    Some(text)
}

fn push_edit(card: &mut CardHtml, tool: &str, asked: &str, input: Option<&Value>) {
    let Some(files) = file_changes(tool, asked, input) else {
        return push_values(card, asked, input);
    };
    for file in &files {
        let (added, removed) = diff::count_changes(&file.lines);
        card.html.push_str("<div class=\"diff\"><div class=\"fn\"><code>");
        escape::push_inside(&mut card.html, file.path);
        card.html.push_str("</code>");
        match file.kind {
            FileChangeKind::Added => card.html.push_str(" <em>written</em>"),
            FileChangeKind::Deleted => card.html.push_str(" <em>deleted</em>"),
            FileChangeKind::Moved(path) => {
                card.html.push_str(" <em>moved to</em> <code>");
                escape::push_inside(&mut card.html, path);
                card.html.push_str("</code>");
            }
            FileChangeKind::Changed => {}
        }
        if added > 0 {
            card.html.push_str(&format!(" <span class=\"ad\">+{added}</span>"));
        }
        if removed > 0 {
            card.html.push_str(&format!(" <span class=\"de\">−{removed}</span>"));
        }
        card.html.push_str("</div>");
        let shown = file.lines.len().min(SHOWN_LINES);
        let (head, tail) = file.lines.split_at(shown);
        if !head.is_empty() {
            let language = language_of_path(file.path);
            card.html.push_str(&format!("<pre class=\"d\" data-l=\"{language}\">"));
            diff::push_html(&mut card.html, head);
            card.html.push_str("</pre>");
        }
        if !tail.is_empty() {
            let mut rest = "<pre class=\"d\">".to_owned();
            diff::push_html(&mut rest, tail);
            rest.push_str("</pre>");
            card.more(&format!("Show {} more lines", tail.len()), rest);
        }
        card.html.push_str("</div>");
    }
}

/// Appends a to-do list, or a single item of one.
fn push_todo_list(card: &mut CardHtml, asked: &str, input: Option<&Value>) {
    let Some(input) = input else {
        return push_values(card, asked, input);
    };
    let one = std::slice::from_ref(input);
    let list = match todo_list(input) {
        Some(list) => list.as_slice(),
        None if first_text(input, &["subject", "content"]).is_some() => one,
        None => return push_values(card, asked, Some(input)),
    };
    if let Some(description) = first_text(input, &["description"]) {
        card.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut card.html, description);
        card.html.push_str("</p>");
    }
    if let Some(description) = first_text(input, &["explanation"]) {
        card.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut card.html, description);
        card.html.push_str("</p>");
    }
    card.html.push_str("<ul class=\"todo\">");
    for one in list {
        let words = one
            .as_str()
            .or_else(|| first_text(one, &["content", "step", "subject", "text", "title"]));
        let (class, mark, label) = match first_text(one, &["status", "state"]).unwrap_or_default() {
            "completed" | "done" => ("done", "✓", "done"),
            "in_progress" | "active" => ("now", "◐", "in progress"),
            "cancelled" | "canceled" => ("off", "✕", "cancelled"),
            _ => ("", "○", "to do"),
        };
        let html = &mut card.html;
        html.push_str(&format!(
            "<li class=\"{class}\"><span role=\"img\" aria-label=\"{label}\">{mark}</span> "
        ));
        escape::push_inside(html, words.unwrap_or_default());
        html.push_str("</li>");
    }
    card.html.push_str("</ul>");
}

fn push_plan(card: &mut CardHtml, asked: &str, input: Option<&Value>) {
    let plan = input.and_then(|input| first_text(input, &["plan"]));
    let Some(plan) = plan else {
        return push_values(card, asked, input);
    };
    card.html.push_str("<div class=\"md plan\">");
    markdown_html::push(&mut card.html, plan, LineBreaks::Folded);
    card.html.push_str("</div>");
}

fn push_questions(card: &mut CardHtml, asked: &str, input: Option<&Value>) {
    let Some(questions) = input.and_then(|input| input.get("questions")?.as_array()) else {
        return push_values(card, asked, input);
    };
    for question in questions {
        card.html.push_str("<div class=\"ask\"><p>");
        let words = first_text(question, &["question", "prompt", "text"]).unwrap_or_default();
        escape::push_inside(&mut card.html, words);
        card.html.push_str("</p><ul>");
        let options = question.get("options").and_then(Value::as_array);
        for option in options.into_iter().flatten() {
            let label = option
                .as_str()
                .or_else(|| first_text(option, &["label", "title"]))
                .unwrap_or_default();
            card.html.push_str("<li><b>");
            escape::push_inside(&mut card.html, label);
            card.html.push_str("</b>");
            if let Some(description) = first_text(option, &["description"]) {
                card.html.push(' ');
                escape::push_inside(&mut card.html, description);
            }
            card.html.push_str("</li>");
        }
        card.html.push_str("</ul></div>");
    }
}

fn push_agent_task(card: &mut CardHtml, asked: &str, input: Option<&Value>) {
    let prompt = input.and_then(|input| first_text(input, &["prompt", "message", "task", "instructions"]));
    let Some(prompt) = prompt else {
        return push_values(card, asked, input);
    };
    let about = input.and_then(|input| first_text(input, &["description", "name"]));
    if let Some(about) = about {
        card.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut card.html, about);
        card.html.push_str("</p>");
    }
    card.html.push_str("<div class=\"md task\">");
    markdown_html::push(&mut card.html, prompt, LineBreaks::Kept);
    card.html.push_str("</div>");
}

/// Appends any other input as a list of its keys and values.
fn push_values(card: &mut CardHtml, asked: &str, input: Option<&Value>) {
    let Some(Value::Object(map)) = input else {
        if !asked.trim().is_empty() {
            push_code(card, "code", asked, if input.is_some() { "json" } else { "" });
        }
        return;
    };
    if map.is_empty() {
        return;
    }
    card.html.push_str("<dl>");
    for (key, value) in map {
        card.html.push_str("<dt>");
        escape::push_inside(&mut card.html, key);
        card.html.push_str("</dt><dd>");
        let text = value.as_str().map_or_else(
            || serde_json::to_string_pretty(value).unwrap_or_default(),
            str::to_owned,
        );
        let is_short = text.len() <= INLINE_CHARS && !text.contains('\n');
        match value {
            Value::String(_) if is_short => markdown_html::push_linked(&mut card.html, &text),
            _ if is_short => escape::push_inside(&mut card.html, &text),
            Value::String(_) => push_in_pieces(card, &text, |out, piece| {
                out.push_str("<pre class=\"out\">");
                escape::push_inside(out, piece);
                out.push_str("</pre>");
            }),
            _ => push_code(card, "code", &text, "json"),
        }
        card.html.push_str("</dd>");
    }
    card.html.push_str("</dl>");
}
