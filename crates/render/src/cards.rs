//! Renders one step as a card of the page: a prompt, an answer, a folded thought, a tool call that opens.

use std::fmt::Write;

use jiff::tz::TimeZone;
use transcript::{Actor, Kind};

use crate::card_html::CardHtml;
use crate::escape::{self, one_line};
use crate::input::Subagent;
use crate::markdown_html::{self, LineBreaks};
use crate::measure::{clock, duration, plural};
use crate::steps::{Step, StepKind, steps, unplaced_subagents};
use crate::tool_body;
use crate::tools::{ToolFamily, describe_call, tool_family};

/// The description of a call is cut after this many characters; the opened card shows all of it.
const WORDING_CHARS: usize = 220;
/// Edits up to this size are open when the page loads.
const OPEN_BYTES: usize = 3_500;
/// A log that nests subagents deeper than this is not genuine, and the recursion must end.
const NESTED_MAX: usize = 8;

/// The session whose steps are being written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CardContext<'a> {
    pub(crate) zone: &'a TimeZone,
    /// A prefix such as `s2` for the element ids of a subagent's events, because each session numbers its events from 1.
    pub(crate) prefix: &'a str,
    pub(crate) depth: usize,
}

/// Appends one step. `number` is its position in the index of the page, or `None` for a subagent's step.
pub(crate) fn push_card(card: &mut CardHtml, step: &Step<'_>, number: Option<usize>, context: CardContext<'_>) {
    let event = &step.entry.event;
    let kind = step.kind();
    _ = write!(card.html, "<article class=\"i k{}", kind.letter());
    for (is, word) in [
        (step.is_error(), " err"),
        (step.is_human(), " mine"),
        (event.is_sidechain, " side"),
    ] {
        if is {
            card.html.push_str(word);
        }
    }
    _ = write!(card.html, "\" id=\"{}e{}\"", context.prefix, event.seq);
    if let Some(number) = number {
        _ = write!(card.html, " data-n=\"{number}\"");
    }
    card.html.push('>');
    match kind {
        StepKind::Prompt => push_message(card, step, context, "You", LineBreaks::Kept),
        StepKind::Answer => push_message(card, step, context, "", LineBreaks::Folded),
        StepKind::Thought => push_thinking(card, step, context),
        StepKind::Note => push_notice(card, step, context),
        StepKind::Shell | StepKind::Test | StepKind::Edit | StepKind::Tool | StepKind::Agent => {
            push_tool_call(card, step, context)
        }
    }
    card.html.push_str("</article>\n");
}

/// Appends the time of a step as a link to it.
fn push_time(html: &mut String, step: &Step<'_>, context: CardContext<'_>) {
    let event = &step.entry.event;
    let seq = event.seq;
    _ = write!(
        html,
        "<a class=\"at\" href=\"#{}e{seq}\" title=\"event {seq}, line {}\">",
        context.prefix, event.line
    );
    match event.ts {
        Some(at) => html.push_str(&clock(at, context.zone)),
        None => _ = write!(html, "#{seq}"),
    }
    html.push_str("</a>");
}

fn push_message(card: &mut CardHtml, step: &Step<'_>, context: CardContext<'_>, who: &str, breaks: LineBreaks) {
    let who = match step.entry.event.actor {
        Actor::OtherAgent | Actor::Agent if !who.is_empty() => "Another agent",
        _ if step.entry.event.kinds.has(Kind::HumanIntervention) && !who.is_empty() => "You, stepping in",
        _ => who,
    };
    if who.is_empty() {
        push_time(&mut card.html, step, context);
    } else {
        card.html.push_str(&format!("<header><b>{who}</b>"));
        push_time(&mut card.html, step, context);
        card.html.push_str("</header>");
    }
    let text = step.words();
    // Agents write a placeholder such as `[Image #1]` next to an image, and the image alone is enough.
    let is_picture = !step.entry.images.is_empty() && text.starts_with('[') && text.len() < 40;
    if !is_picture {
        card.html.push_str("<div class=\"md\">");
        markdown_html::push(&mut card.html, text, breaks);
        card.html.push_str("</div>");
    }
    for image in &step.entry.images {
        card.image(image);
    }
}

fn push_thinking(card: &mut CardHtml, step: &Step<'_>, context: CardContext<'_>) {
    let text = step.entry.text();
    card.html
        .push_str("<details><summary><span class=\"what\">Thinking</span> <span class=\"w\">");
    escape::push_inside(&mut card.html, &one_line(text, WORDING_CHARS));
    card.html.push_str("</span>");
    push_time(&mut card.html, step, context);
    card.html.push_str("</summary><div class=\"md\">");
    markdown_html::push(&mut card.html, text, LineBreaks::Folded);
    card.html.push_str("</div></details>");
}

/// Appends a message of the harness: one line, which opens if there is more text.
fn push_notice(card: &mut CardHtml, step: &Step<'_>, context: CardContext<'_>) {
    let event = &step.entry.event;
    let text = step.entry.text();
    let line = one_line(&event.summary, WORDING_CHARS);
    let is_whole = text.trim() == &*event.summary || text.trim().is_empty();
    let is_whole = is_whole && !text.contains('\n') && text.chars().count() <= WORDING_CHARS;
    let what = match event.kind() {
        Kind::HumanIntervention => "You",
        Kind::Error => "Error",
        Kind::Retry => "Retry",
        Kind::Completion => "Done",
        Kind::Lifecycle => "Session",
        Kind::Decision => "Decision",
        _ => "Harness",
    };
    let head = |html: &mut String| {
        html.push_str(&format!("<span class=\"what\">{what}</span> <span class=\"w\">"));
        escape::push_inside(html, &line);
        html.push_str("</span>");
        push_time(html, step, context);
    };
    if is_whole {
        card.html.push_str("<div class=\"row\">");
        head(&mut card.html);
        card.html.push_str("</div>");
        return;
    }
    card.html.push_str("<details><summary>");
    head(&mut card.html);
    card.html.push_str("</summary><pre class=\"out\">");
    escape::push_inside(&mut card.html, text);
    card.html.push_str("</pre></details>");
}

fn push_tool_call(card: &mut CardHtml, step: &Step<'_>, context: CardContext<'_>) {
    let event = &step.entry.event;
    let tool = event.tool.as_deref().unwrap_or("result");
    card.html.push_str("<details");
    // ` open` is inserted here afterwards, because it depends on the body.
    let begin = card.html.len();
    card.html.push_str("><summary><span class=\"what\">");
    escape::push_inside(&mut card.html, &one_line(&short_name(tool), 40));
    card.html.push_str("</span> <span class=\"w\">");
    let wording = describe_call(tool, step.entry.text());
    escape::push_inside(
        &mut card.html,
        &one_line(wording.as_deref().unwrap_or(&event.summary), WORDING_CHARS),
    );
    card.html.push_str("</span>");
    push_ending(&mut card.html, step);
    push_time(&mut card.html, step, context);
    card.html.push_str("</summary><div class=\"in\">");
    let inside = card.html.len();
    if event.kinds.has(Kind::ToolCall) {
        tool_body::push_tool_body(card, step);
    } else {
        card.html.push_str("<pre class=\"out\">");
        crate::ansi::push_html(&mut card.html, step.entry.text());
        card.html.push_str("</pre>");
    }
    for image in &step.entry.images {
        card.image(image);
    }
    for subagent in &step.subagents {
        push_subagent(card, subagent, context);
    }
    if is_initially_open(tool_family(tool), step, &card.html[inside..]) {
        card.html.insert_str(begin, " open");
    }
    card.html.push_str("</div></details>");
}

/// Whether the body of a call is visible without opening it, because it is short and important.
fn is_initially_open(family: ToolFamily, step: &Step<'_>, inside: &str) -> bool {
    match family {
        ToolFamily::Plan | ToolFamily::Question => true,
        ToolFamily::Todo if inside.matches("<li").count() > 1 => true,
        _ => step.kind() == StepKind::Edit && inside.len() < OPEN_BYTES && !step.is_error(),
    }
}

/// Returns `server: tool` for a tool of an MCP server, and other names unchanged.
fn short_name(tool: &str) -> String {
    let parts = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.map_or_else(|| tool.to_owned(), |(server, tool)| format!("{server}: {tool}"))
}

/// Appends how long a call took and how it ended.
fn push_ending(html: &mut String, step: &Step<'_>) {
    let mut ends = Vec::new();
    if let Some(ms) = step.duration_ms().filter(|ms| *ms >= 100) {
        ends.push(format!("<span class=\"took\">{}</span>", duration(ms)));
    }
    match step.exit_code() {
        Some(0) if step.kind() == StepKind::Test && !step.is_error() => {
            ends.push("<b class=\"ok\">passed</b>".to_owned())
        }
        Some(code) if code != 0 => ends.push(format!("<b class=\"no\">exit {code}</b>")),
        _ if step.is_error() => ends.push("<b class=\"no\">failed</b>".to_owned()),
        _ => {}
    }
    if step.result.is_none() && step.entry.event.kinds.has(Kind::ToolCall) {
        ends.push("<span class=\"took\">no result</span>".to_owned());
    }
    if !ends.is_empty() {
        html.push_str(&format!("<span class=\"end\">{}</span>", ends.join(" ")));
    }
}

/// Appends a subagent as a card. Its steps are an extra, which is drawn when the card is opened.
pub(crate) fn push_subagent(card: &mut CardHtml, subagent: &Subagent, context: CardContext<'_>) {
    let ends = &subagent.transcript;
    let label = subagent.link.as_ref().and_then(|link| link.label.as_deref());
    let about = ends.head.session.title.as_deref().or(label).unwrap_or("subagent");
    let steps_in = steps(ends);
    let mut inside = CardHtml {
        // One number is reserved for this subagent, whose extra is stored before those of its own steps.
        first_extra: card.first_extra + card.extras.len() + 1,
        ..CardHtml::default()
    };
    if context.depth < NESTED_MAX {
        // The number of the extra that it becomes is unique on the page.
        let prefix = format!("s{}", card.first_extra + card.extras.len());
        let context = CardContext {
            prefix: &prefix,
            depth: context.depth + 1,
            ..context
        };
        for step in steps_in.iter().filter(|step| !is_hidden_by_default(step)) {
            push_card(&mut inside, step, None, context);
        }
        for stray in unplaced_subagents(ends, &steps_in) {
            push_subagent(&mut inside, stray, context);
        }
    }
    let number = card.extra(inside.html);
    card.extras.append(&mut inside.extras);
    let model = ends.head.session.model.as_deref().unwrap_or_default();
    let html = &mut card.html;
    html.push_str(&format!(
        "<details class=\"sub\" data-x=\"{number}\"><summary><span class=\"what\">Subagent</span> <span class=\"w\">"
    ));
    escape::push_inside(html, &one_line(about, WORDING_CHARS));
    html.push_str("</span><span class=\"end\"><span class=\"took\">");
    html.push_str(&plural(steps_in.len() as u64, "step"));
    if !model.is_empty() {
        html.push_str(" · ");
        escape::push_inside(html, model);
    }
    html.push_str("</span></span></summary></details>");
}

/// Whether a step is hidden unless the user asks for it: session state changes, and thinking whose text is not in the log.
pub fn is_hidden_by_default(step: &Step<'_>) -> bool {
    let event = &step.entry.event;
    match step.kind() {
        StepKind::Note => matches!(event.kind(), Kind::Lifecycle | Kind::Completion),
        StepKind::Thought => step.entry.text().trim().is_empty(),
        _ => false,
    }
}
