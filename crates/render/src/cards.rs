//! One step as a card of a page: a prompt, an answer, a folded thought, a tool call in one line that opens.

use std::fmt::Write;

use jiff::tz::TimeZone;
use transcript::{Actor, Image, Kind};

use crate::dress;
use crate::escape::{self, one_line};
use crate::measure::{clock, duration, plural};
use crate::steps::{Look, Step, steps, strays};
use crate::tools::{Family, family, wording};
use crate::transcript_in::Subagent;
use crate::words::{self, Breaks};

/// Pictures that a browser draws and that cannot hold a program.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The wording of a call is cut here; the whole of it stands inside.
const WORDING_CHARS: usize = 220;
/// Edits up to this size stand open.
const OPEN_BYTES: usize = 3_500;
/// Subagents of subagents of subagents: a log that nests deeper is made up.
const NESTED_MAX: usize = 8;

/// HTML in the making, and what of it is drawn only when somebody asks for it.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) html: String,
    pub(crate) extras: Vec<String>,
    /// The number of the first extra: they are counted over the whole page.
    pub(crate) first_extra: usize,
}

impl Sheet {
    /// A button, and what it draws.
    pub(crate) fn more(&mut self, label: &str, html: String) {
        let number = self.extra(html);
        self.html
            .push_str(&format!("<button class=\"more\" data-x=\"{number}\">{label}</button>"));
    }

    /// Puts something aside; gives its number.
    fn extra(&mut self, html: String) -> usize {
        self.extras.push(html);
        self.first_extra + self.extras.len() - 1
    }

    /// A picture that stands in the log itself. Everything else that calls itself one is only named.
    pub(crate) fn image(&mut self, image: &Image) {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let known = PICTURES.into_iter().find(|known| *known == image.media_type);
        match known.filter(|_| !image.data.is_empty() && image.data.bytes().all(is_base64)) {
            Some(known) => {
                let html = format!(
                    "<img class=\"pic\" alt=\"picture in the log\" loading=\"lazy\" src=\"data:{known};base64,{}\">",
                    image.data
                );
                self.html.push_str(&html);
            }
            None => {
                self.html.push_str("<p class=\"none\">picture of type ");
                escape::push_inside(&mut self.html, &image.media_type);
                self.html.push_str("</p>");
            }
        }
    }
}

/// Whose events are being written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) zone: &'a TimeZone,
    /// Stands before the ids of a subagent's events, which are numbered for themselves: `s2`.
    pub(crate) prefix: &'a str,
    pub(crate) depth: usize,
}

/// Appends one step. `number` is its place in the index of the page, where it has one.
pub(crate) fn push(sheet: &mut Sheet, step: &Step<'_>, number: Option<usize>, place: Place<'_>) {
    let event = &step.told.event;
    let look = step.look();
    _ = write!(sheet.html, "<article class=\"i k{}", look.letter());
    for (is, word) in [
        (step.is_error(), " err"),
        (step.is_mine(), " mine"),
        (event.is_sidechain, " side"),
    ] {
        if is {
            sheet.html.push_str(word);
        }
    }
    _ = write!(sheet.html, "\" id=\"{}e{}\"", place.prefix, event.seq);
    if let Some(number) = number {
        _ = write!(sheet.html, " data-n=\"{number}\"");
    }
    sheet.html.push('>');
    match look {
        Look::Prompt => said(sheet, step, place, "You", Breaks::Kept),
        Look::Answer => said(sheet, step, place, "", Breaks::Folded),
        Look::Thought => thought(sheet, step, place),
        Look::Note => note(sheet, step, place),
        Look::Shell | Look::Test | Look::Edit | Look::Tool | Look::Agent => tool(sheet, step, place),
    }
    sheet.html.push_str("</article>\n");
}

/// The time of a step, which links to it.
fn time(html: &mut String, step: &Step<'_>, place: Place<'_>) {
    let event = &step.told.event;
    let seq = event.seq;
    _ = write!(
        html,
        "<a class=\"at\" href=\"#{}e{seq}\" title=\"event {seq}, line {}\">",
        place.prefix, event.line
    );
    match event.ts {
        Some(at) => html.push_str(&clock(at, place.zone)),
        None => _ = write!(html, "#{seq}"),
    }
    html.push_str("</a>");
}

fn said(sheet: &mut Sheet, step: &Step<'_>, place: Place<'_>, who: &str, breaks: Breaks) {
    let who = match step.told.event.actor {
        Actor::OtherAgent | Actor::Agent if !who.is_empty() => "Another agent",
        _ if step.told.event.kinds.has(Kind::HumanIntervention) && !who.is_empty() => "You, stepping in",
        _ => who,
    };
    if who.is_empty() {
        time(&mut sheet.html, step, place);
    } else {
        sheet.html.push_str(&format!("<header><b>{who}</b>"));
        time(&mut sheet.html, step, place);
        sheet.html.push_str("</header>");
    }
    let text = step.words();
    let is_picture = !step.told.images.is_empty() && text.starts_with('[') && text.len() < 40;
    if !is_picture {
        sheet.html.push_str("<div class=\"md\">");
        words::push(&mut sheet.html, text, breaks);
        sheet.html.push_str("</div>");
    }
    for image in &step.told.images {
        sheet.image(image);
    }
}

fn thought(sheet: &mut Sheet, step: &Step<'_>, place: Place<'_>) {
    let text = step.told.text();
    sheet
        .html
        .push_str("<details><summary><span class=\"what\">Thinking</span> <span class=\"w\">");
    escape::push_inside(&mut sheet.html, &one_line(text, WORDING_CHARS));
    sheet.html.push_str("</span>");
    time(&mut sheet.html, step, place);
    sheet.html.push_str("</summary><div class=\"md\">");
    words::push(&mut sheet.html, text, Breaks::Folded);
    sheet.html.push_str("</div></details>");
}

/// What the harness said: a line, which opens where there is more.
fn note(sheet: &mut Sheet, step: &Step<'_>, place: Place<'_>) {
    let event = &step.told.event;
    let text = step.told.text();
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
        time(html, step, place);
    };
    if is_whole {
        sheet.html.push_str("<div class=\"row\">");
        head(&mut sheet.html);
        sheet.html.push_str("</div>");
        return;
    }
    sheet.html.push_str("<details><summary>");
    head(&mut sheet.html);
    sheet.html.push_str("</summary><pre class=\"out\">");
    escape::push_inside(&mut sheet.html, text);
    sheet.html.push_str("</pre></details>");
}

fn tool(sheet: &mut Sheet, step: &Step<'_>, place: Place<'_>) {
    let event = &step.told.event;
    let tool = event.tool.as_deref().unwrap_or("result");
    sheet.html.push_str("<details");
    let begin = sheet.html.len();
    sheet.html.push_str("><summary><span class=\"what\">");
    escape::push_inside(&mut sheet.html, &one_line(&short_name(tool), 40));
    sheet.html.push_str("</span> <span class=\"w\">");
    let wording = wording(tool, step.told.text());
    escape::push_inside(
        &mut sheet.html,
        &one_line(wording.as_deref().unwrap_or(&event.summary), WORDING_CHARS),
    );
    sheet.html.push_str("</span>");
    ending(&mut sheet.html, step);
    time(&mut sheet.html, step, place);
    sheet.html.push_str("</summary><div class=\"in\">");
    let inside = sheet.html.len();
    if event.kinds.has(Kind::ToolCall) {
        dress::push(sheet, step);
    } else {
        sheet.html.push_str("<pre class=\"out\">");
        crate::ansi::push_html(&mut sheet.html, step.told.text());
        sheet.html.push_str("</pre>");
    }
    for image in &step.told.images {
        sheet.image(image);
    }
    for subagent in &step.subagents {
        nested(sheet, subagent, place);
    }
    if stands_open(family(tool), step, &sheet.html[inside..]) {
        sheet.html.insert_str(begin, " open");
    }
    sheet.html.push_str("</div></details>");
}

/// Whether what a call did is short and telling enough to be seen at once.
fn stands_open(family: Family, step: &Step<'_>, inside: &str) -> bool {
    match family {
        Family::Plan | Family::Question => true,
        Family::Todo if inside.matches("<li").count() > 1 => true,
        _ => step.look() == Look::Edit && inside.len() < OPEN_BYTES && !step.is_error(),
    }
}

/// `server: tool` for a tool of another server.
fn short_name(tool: &str) -> String {
    let parts = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.map_or_else(|| tool.to_owned(), |(server, tool)| format!("{server}: {tool}"))
}

/// How long a call took, and how it ended.
fn ending(html: &mut String, step: &Step<'_>) {
    let mut told = Vec::new();
    if let Some(ms) = step.duration_ms().filter(|ms| *ms >= 100) {
        told.push(format!("<span class=\"took\">{}</span>", duration(ms)));
    }
    match step.exit_code() {
        Some(0) if step.look() == Look::Test && !step.is_error() => told.push("<b class=\"ok\">passed</b>".to_owned()),
        Some(code) if code != 0 => told.push(format!("<b class=\"no\">exit {code}</b>")),
        _ if step.is_error() => told.push("<b class=\"no\">failed</b>".to_owned()),
        _ => {}
    }
    if step.result.is_none() && step.told.event.kinds.has(Kind::ToolCall) {
        told.push("<span class=\"took\">no result</span>".to_owned());
    }
    if !told.is_empty() {
        html.push_str(&format!("<span class=\"end\">{}</span>", told.join(" ")));
    }
}

/// A subagent's own steps, drawn when its card is opened.
pub(crate) fn nested(sheet: &mut Sheet, subagent: &Subagent, place: Place<'_>) {
    let told = &subagent.transcript;
    let label = subagent.link.as_ref().and_then(|link| link.label.as_deref());
    let about = told.head.session.title.as_deref().or(label).unwrap_or("subagent");
    let steps_in = steps(told);
    let mut inside = Sheet {
        first_extra: sheet.first_extra + sheet.extras.len() + 1,
        ..Sheet::default()
    };
    if place.depth < NESTED_MAX {
        // Its number is unique on the page: that of the extra it becomes.
        let prefix = format!("s{}", sheet.first_extra + sheet.extras.len());
        let place = Place {
            prefix: &prefix,
            depth: place.depth + 1,
            ..place
        };
        for step in steps_in.iter().filter(|step| !is_quiet(step)) {
            push(&mut inside, step, None, place);
        }
        for stray in strays(told, &steps_in) {
            nested(&mut inside, stray, place);
        }
    }
    let number = sheet.extra(inside.html);
    sheet.extras.append(&mut inside.extras);
    let model = told.head.session.model.as_deref().unwrap_or_default();
    let html = &mut sheet.html;
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

/// Changes of a session's state that nobody looks for, and thoughts that the agent keeps to itself.
pub fn is_quiet(step: &Step<'_>) -> bool {
    let event = &step.told.event;
    match step.look() {
        Look::Note => matches!(event.kind(), Kind::Lifecycle | Kind::Completion),
        Look::Thought => step.told.text().trim().is_empty(),
        _ => false,
    }
}
