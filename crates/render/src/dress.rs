//! The inside of a tool call: what was asked and what came of it, each family of tools in its own dress.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use crate::cards::Sheet;
use crate::diff;
use crate::escape;
use crate::patch::{self, FileChange, What};
use crate::steps::Step;
use crate::tools::{Family, command, family, input, language, list_of, text_of};
use crate::words::{self, Breaks};
use crate::{ansi, measure};

/// So much of a text is shown at once; the rest is drawn when somebody asks for it.
const SHOWN_BYTES: usize = 24 << 10;
/// So many lines of a difference are shown at once.
const SHOWN_LINES: usize = 400;
/// A value that is longer stands on lines of its own.
const INLINE_CHARS: usize = 120;

/// Appends what a step asked for and what it got.
pub(crate) fn push(sheet: &mut Sheet, step: &Step<'_>) {
    let tool = step.told.event.tool.as_deref().unwrap_or_default();
    let asked = step.told.text();
    let input = input(asked);
    let family = match family(tool) {
        // An edit by a tool nobody knows, or by a shell that was given a patch, is shown as one.
        Family::Other | Family::Shell if changes(tool, asked, input.as_ref()).is_some() => Family::Edit,
        family => family,
    };
    match family {
        Family::Shell => shell(sheet, asked, input.as_ref()),
        Family::Edit => edit(sheet, tool, asked, input.as_ref()),
        Family::Todo => todo(sheet, asked, input.as_ref()),
        Family::Plan => plan(sheet, asked, input.as_ref()),
        Family::Question => question(sheet, asked, input.as_ref()),
        Family::Agent => agent(sheet, asked, input.as_ref()),
        Family::Read | Family::Search | Family::Web | Family::Other => values(sheet, asked, input.as_ref()),
    }
    let Some(result) = step.result else { return };
    // What an edit gives back says only that it was made, unless it was not.
    let is_plain = matches!(family, Family::Edit | Family::Todo) && !step.is_error();
    if !is_plain {
        output(sheet, family, input.as_ref(), result.text(), step.is_error());
    }
    for image in &result.images {
        sheet.image(image);
    }
}

/// What a tool gave back.
fn output(sheet: &mut Sheet, family: Family, input: Option<&Value>, text: &str, is_error: bool) {
    let text = text.trim_end_matches('\n');
    if text.trim().is_empty() {
        sheet.html.push_str("<p class=\"none\">no output</p>");
        return;
    }
    let class = if is_error { "out bad" } else { "out" };
    match family {
        Family::Agent | Family::Web | Family::Plan | Family::Question if !is_error => {
            sheet.html.push_str("<div class=\"md res\">");
            words::push(&mut sheet.html, text, Breaks::Kept);
            sheet.html.push_str("</div>");
        }
        Family::Read if !is_error => {
            let path = input.and_then(|input| text_of(input, &["file_path", "path", "target_file", "notebook_path"]));
            let (first, body) = unnumbered(text);
            code(sheet, &body, language(path.unwrap_or_default()), first);
        }
        _ => match crate::tools::input(text).filter(|_| text.starts_with(['{', '['])) {
            Some(value) => {
                let pretty = serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned());
                code(sheet, &pretty, "json", None);
            }
            None => pieces(sheet, text, |out, piece| {
                out.push_str("<pre class=\"");
                out.push_str(class);
                out.push_str("\">");
                ansi::push_html(out, piece);
                out.push_str("</pre>");
            }),
        },
    }
}

/// Lines that begin with their numbers, without them: the number of the first one, and the text.
fn unnumbered(text: &str) -> (Option<u64>, Cow<'_, str>) {
    fn split(line: &str) -> Option<(u64, &str)> {
        // Only blanks and figures stand before the mark: a line without a number is not looked through.
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

/// Code in its colours, with the numbers of its lines where they are known.
fn code(sheet: &mut Sheet, text: &str, language: &str, first: Option<u64>) {
    let mut next = first;
    pieces(sheet, text, |out, piece| {
        let number = next.map(|number| format!(" data-s=\"{number}\"")).unwrap_or_default();
        next = next.map(|number| number + piece.lines().count() as u64);
        _ = write!(out, "<pre class=\"code\"{number}><code data-l=\"{language}\">");
        escape::push_inside(out, piece);
        out.push_str("</code></pre>");
    });
}

/// Appends a text by pieces: the first one at once, the rest for whoever asks for it.
fn pieces(sheet: &mut Sheet, text: &str, mut push: impl FnMut(&mut String, &str)) {
    if text.len() <= SHOWN_BYTES * 2 {
        return push(&mut sheet.html, text);
    }
    let border = text.floor_char_boundary(SHOWN_BYTES);
    let at = text[..border]
        .rfind('\n')
        .filter(|at| *at > 0)
        .map_or(border, |at| at + 1);
    push(&mut sheet.html, &text[..at]);
    let mut rest = String::with_capacity(text.len() - at);
    push(&mut rest, &text[at..]);
    let label = format!("Show the remaining {}", measure::bytes(text.len() - at));
    sheet.more(&label, rest);
}

fn shell(sheet: &mut Sheet, asked: &str, input: Option<&Value>) {
    let told = input.and_then(|input| text_of(input, &["description", "justification"]));
    if let Some(told) = told.filter(|told| !told.trim().is_empty()) {
        sheet.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut sheet.html, told);
        sheet.html.push_str("</p>");
    }
    let command = input.and_then(command).unwrap_or_else(|| asked.to_owned());
    let place = input.and_then(|input| text_of(input, &["workdir", "cwd"]));
    if let Some(place) = place {
        sheet.html.push_str("<p class=\"say\">in <code>");
        escape::push_inside(&mut sheet.html, place);
        sheet.html.push_str("</code></p>");
    }
    code_class(sheet, "code cmd", &command, "sh");
}

fn code_class(sheet: &mut Sheet, class: &str, text: &str, language: &str) {
    pieces(sheet, text, |out, piece| {
        _ = write!(out, "<pre class=\"{class}\"><code data-l=\"{language}\">");
        escape::push_inside(out, piece);
        out.push_str("</code></pre>");
    });
}

/// The files that a call changes; none where it changes none that we can tell.
pub fn changes<'t>(tool: &str, asked: &'t str, input: Option<&'t Value>) -> Option<Vec<FileChange<'t>>> {
    let patch = input.and_then(|input| text_of(input, &["input", "patch", "command"]));
    if let Some(files) = patch::of_patch(patch.unwrap_or(asked)) {
        return Some(files);
    }
    let input = input?;
    let script = input
        .get("command")
        .and_then(Value::as_array)
        .and_then(|words| words.last()?.as_str());
    if let Some(files) = script.and_then(patch::of_patch) {
        return Some(files);
    }
    let path = text_of(input, &["file_path", "notebook_path", "path", "target_file"]);
    let Some(path) = path else {
        return patch::of_changes(input);
    };
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let change = |what, lines| FileChange { path, what, lines };
    if let Some(edits) = input.get("edits").and_then(Value::as_array) {
        let mut lines = Vec::new();
        for edit in edits {
            let part = |keys: &[&str]| text_of(edit, keys).unwrap_or_default();
            lines.extend(diff::lines(
                part(&["old_string", "old_text"]),
                part(&["new_string", "new_text"]),
            ));
            lines.push(diff::Line::Place(""));
        }
        lines.pop();
        return Some(vec![change(What::Changed, lines)]);
    }
    if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        let what = if old.is_empty() { What::Added } else { What::Changed };
        return Some(vec![change(what, diff::lines(old, new))]);
    }
    let is_write = matches!(tool, "Write" | "write" | "write_file" | "create_file" | "NotebookEdit");
    let content = text("content").or(text("contents")).or(text("new_source"));
    let content = content.filter(|_| is_write)?;
    Some(vec![change(What::Added, diff::lines("", content))])
}

/// What a call changes, as the text of a difference.
pub fn difference(tool: &str, asked: &str, input: Option<&Value>) -> Option<String> {
    let files = changes(tool, asked, input)?;
    let mut text = String::new();
    for file in &files {
        text.push_str(&format!("--- {}\n", file.path));
        for line in &file.lines {
            match line {
                diff::Line::Same(line) => text.push_str(&format!(" {line}\n")),
                diff::Line::Out(line) => text.push_str(&format!("-{line}\n")),
                diff::Line::In(line) => text.push_str(&format!("+{line}\n")),
                diff::Line::Gap(count) => text.push_str(&format!("@@ {count} unchanged @@\n")),
                diff::Line::Place(place) => {
                    text.push_str(&format!("{}\n", if place.is_empty() { "@@" } else { place }))
                }
            }
        }
    }
    Some(text)
}

fn edit(sheet: &mut Sheet, tool: &str, asked: &str, input: Option<&Value>) {
    let Some(files) = changes(tool, asked, input) else {
        return values(sheet, asked, input);
    };
    for file in &files {
        let (added, removed) = diff::counts(&file.lines);
        sheet.html.push_str("<div class=\"diff\"><div class=\"fn\"><code>");
        escape::push_inside(&mut sheet.html, file.path);
        sheet.html.push_str("</code>");
        match file.what {
            What::Added => sheet.html.push_str(" <em>written</em>"),
            What::Deleted => sheet.html.push_str(" <em>deleted</em>"),
            What::Moved(path) => {
                sheet.html.push_str(" <em>moved to</em> <code>");
                escape::push_inside(&mut sheet.html, path);
                sheet.html.push_str("</code>");
            }
            What::Changed => {}
        }
        if added > 0 {
            sheet.html.push_str(&format!(" <span class=\"ad\">+{added}</span>"));
        }
        if removed > 0 {
            sheet.html.push_str(&format!(" <span class=\"de\">−{removed}</span>"));
        }
        sheet.html.push_str("</div>");
        let shown = file.lines.len().min(SHOWN_LINES);
        let (head, tail) = file.lines.split_at(shown);
        if !head.is_empty() {
            let language = language(file.path);
            sheet.html.push_str(&format!("<pre class=\"d\" data-l=\"{language}\">"));
            diff::push_html(&mut sheet.html, head);
            sheet.html.push_str("</pre>");
        }
        if !tail.is_empty() {
            let mut rest = "<pre class=\"d\">".to_owned();
            diff::push_html(&mut rest, tail);
            rest.push_str("</pre>");
            sheet.more(&format!("Show {} more lines", tail.len()), rest);
        }
        sheet.html.push_str("</div>");
    }
}

/// A list of things to do, or one of them.
fn todo(sheet: &mut Sheet, asked: &str, input: Option<&Value>) {
    let Some(input) = input else {
        return values(sheet, asked, input);
    };
    let one = std::slice::from_ref(input);
    let list = match list_of(input) {
        Some(list) => list.as_slice(),
        None if text_of(input, &["subject", "content"]).is_some() => one,
        None => return values(sheet, asked, Some(input)),
    };
    if let Some(told) = text_of(input, &["description"]) {
        sheet.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut sheet.html, told);
        sheet.html.push_str("</p>");
    }
    if let Some(told) = text_of(input, &["explanation"]) {
        sheet.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut sheet.html, told);
        sheet.html.push_str("</p>");
    }
    sheet.html.push_str("<ul class=\"todo\">");
    for one in list {
        let words = one
            .as_str()
            .or_else(|| text_of(one, &["content", "step", "subject", "text", "title"]));
        let (class, mark, told) = match text_of(one, &["status", "state"]).unwrap_or_default() {
            "completed" | "done" => ("done", "✓", "done"),
            "in_progress" | "active" => ("now", "◐", "in progress"),
            "cancelled" | "canceled" => ("off", "✕", "cancelled"),
            _ => ("", "○", "to do"),
        };
        let html = &mut sheet.html;
        html.push_str(&format!(
            "<li class=\"{class}\"><span role=\"img\" aria-label=\"{told}\">{mark}</span> "
        ));
        escape::push_inside(html, words.unwrap_or_default());
        html.push_str("</li>");
    }
    sheet.html.push_str("</ul>");
}

fn plan(sheet: &mut Sheet, asked: &str, input: Option<&Value>) {
    let plan = input.and_then(|input| text_of(input, &["plan"]));
    let Some(plan) = plan else {
        return values(sheet, asked, input);
    };
    sheet.html.push_str("<div class=\"md plan\">");
    words::push(&mut sheet.html, plan, Breaks::Folded);
    sheet.html.push_str("</div>");
}

fn question(sheet: &mut Sheet, asked: &str, input: Option<&Value>) {
    let Some(questions) = input.and_then(|input| input.get("questions")?.as_array()) else {
        return values(sheet, asked, input);
    };
    for question in questions {
        sheet.html.push_str("<div class=\"ask\"><p>");
        let words = text_of(question, &["question", "prompt", "text"]).unwrap_or_default();
        escape::push_inside(&mut sheet.html, words);
        sheet.html.push_str("</p><ul>");
        let options = question.get("options").and_then(Value::as_array);
        for option in options.into_iter().flatten() {
            let label = option
                .as_str()
                .or_else(|| text_of(option, &["label", "title"]))
                .unwrap_or_default();
            sheet.html.push_str("<li><b>");
            escape::push_inside(&mut sheet.html, label);
            sheet.html.push_str("</b>");
            if let Some(told) = text_of(option, &["description"]) {
                sheet.html.push(' ');
                escape::push_inside(&mut sheet.html, told);
            }
            sheet.html.push_str("</li>");
        }
        sheet.html.push_str("</ul></div>");
    }
}

fn agent(sheet: &mut Sheet, asked: &str, input: Option<&Value>) {
    let prompt = input.and_then(|input| text_of(input, &["prompt", "message", "task", "instructions"]));
    let Some(prompt) = prompt else {
        return values(sheet, asked, input);
    };
    let about = input.and_then(|input| text_of(input, &["description", "name"]));
    if let Some(about) = about {
        sheet.html.push_str("<p class=\"say\">");
        escape::push_inside(&mut sheet.html, about);
        sheet.html.push_str("</p>");
    }
    sheet.html.push_str("<div class=\"md task\">");
    words::push(&mut sheet.html, prompt, Breaks::Kept);
    sheet.html.push_str("</div>");
}

/// Any input: its values by their names.
fn values(sheet: &mut Sheet, asked: &str, input: Option<&Value>) {
    let Some(Value::Object(map)) = input else {
        if !asked.trim().is_empty() {
            code_class(sheet, "code", asked, if input.is_some() { "json" } else { "" });
        }
        return;
    };
    if map.is_empty() {
        return;
    }
    sheet.html.push_str("<dl>");
    for (key, value) in map {
        sheet.html.push_str("<dt>");
        escape::push_inside(&mut sheet.html, key);
        sheet.html.push_str("</dt><dd>");
        let text = value.as_str().map_or_else(
            || serde_json::to_string_pretty(value).unwrap_or_default(),
            str::to_owned,
        );
        let is_short = text.len() <= INLINE_CHARS && !text.contains('\n');
        match value {
            Value::String(_) if is_short => words::push_linked(&mut sheet.html, &text),
            _ if is_short => escape::push_inside(&mut sheet.html, &text),
            Value::String(_) => pieces(sheet, &text, |out, piece| {
                out.push_str("<pre class=\"out\">");
                escape::push_inside(out, piece);
                out.push_str("</pre>");
            }),
            _ => code_class(sheet, "code", &text, "json"),
        }
        sheet.html.push_str("</dd>");
    }
    sheet.html.push_str("</dl>");
}
