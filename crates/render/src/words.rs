//! Markdown as harmless HTML: no tag of its own passes, links lead to the web or to mail, pictures are not loaded.

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::escape;
use crate::tools::fenced;

/// Longer texts are shown as they are: nobody wrote them as Markdown, and taking them apart would take long.
const MARKDOWN_BYTES_MAX: usize = 256 << 10;

/// How a single line break is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// As people type them.
    Kept,
    /// As Markdown has it: a space.
    Folded,
}

/// Appends a text as HTML.
pub(crate) fn push(out: &mut String, text: &str, breaks: Breaks) {
    if text.len() > MARKDOWN_BYTES_MAX {
        out.push_str("<pre class=\"out\">");
        escape::push_inside(out, text);
        out.push_str("</pre>");
        return;
    }
    let text = escape::reveal(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut place = Place::default();
    let events = Parser::new_ext(&text, options).flat_map(move |event| tamed(event, breaks, &mut place));
    html::push_html(out, events);
}

/// Where in a text we are.
#[derive(Debug, Default)]
struct Place {
    in_link: u32,
    in_code: bool,
    /// Whether each open link was written as one.
    written: Vec<bool>,
}

/// One event as the events that are written.
fn tamed<'a>(event: Event<'a>, breaks: Breaks, place: &mut Place) -> Vec<Event<'a>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
        Event::SoftBreak if breaks == Breaks::Kept => vec![Event::HardBreak],
        Event::Start(Tag::Link { dest_url, .. }) => {
            place.in_link += 1;
            let is_safe = is_safe(&dest_url);
            place.written.push(is_safe);
            is_safe.then(|| open_link(&dest_url)).into_iter().collect()
        }
        // What a picture shows stays where it is: its name is a link.
        Event::Start(Tag::Image { dest_url, .. }) => {
            let is_safe = is_safe(&dest_url) && place.in_link == 0;
            place.in_link += 1;
            place.written.push(is_safe);
            let mut events: Vec<_> = is_safe.then(|| open_link(&dest_url)).into_iter().collect();
            events.push(Event::Text("🖼 ".into()));
            events
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            place.in_link = place.in_link.saturating_sub(1);
            let is_written = place.written.pop().unwrap_or_default();
            is_written.then(|| raw("</a>")).into_iter().collect()
        }
        Event::Start(Tag::CodeBlock(kind)) => {
            place.in_code = true;
            let language = match &kind {
                CodeBlockKind::Fenced(info) => fenced(info),
                CodeBlockKind::Indented => "",
            };
            vec![raw(&format!("<pre class=\"code\"><code data-l=\"{language}\">"))]
        }
        Event::End(TagEnd::CodeBlock) => {
            place.in_code = false;
            vec![raw("</code></pre>\n")]
        }
        // How a column is aligned would be told by a style, and the page's policy allows none.
        Event::Start(Tag::Table(columns)) => vec![Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))],
        Event::Start(Tag::Heading { level, .. }) => vec![raw(&format!("<h{}>", lower(level)))],
        Event::End(TagEnd::Heading(level)) => vec![raw(&format!("</h{}>\n", lower(level)))],
        Event::Text(text) if place.in_link == 0 && !place.in_code && text.contains("://") => with_links(&text),
        event => vec![event],
    }
}

fn raw<'a>(html: &str) -> Event<'a> {
    Event::InlineHtml(CowStr::from(html.to_owned()))
}

/// A page has headings of its own above.
fn lower(level: HeadingLevel) -> usize {
    (level as usize + 2).min(6)
}

/// Whether a link may be followed. Everything else that a browser knows how to open stays text.
pub(crate) fn is_safe(url: &str) -> bool {
    let is_plain = |url: &str| !url.contains(|c: char| c.is_control() || c.is_whitespace());
    let begins = |scheme: &str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    (begins("https://") || begins("http://") || begins("mailto:")) && is_plain(url)
}

/// The beginning of a link that tells nobody where it was followed from.
pub(crate) fn link(url: &str) -> String {
    let url = escape::escape(url);
    format!("<a href=\"{url}\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">")
}

fn open_link<'a>(url: &str) -> Event<'a> {
    raw(&link(url))
}

/// Addresses in a text become links.
fn with_links<'a>(text: &str) -> Vec<Event<'a>> {
    let mut html = String::with_capacity(text.len() + 80);
    push_linked(&mut html, text);
    vec![raw(&html)]
}

/// Appends plain text in which addresses are links.
pub(crate) fn push_linked(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = find_address(rest) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| c.is_whitespace() || c.is_control() || "<>\"'`{}|\\^".contains(c));
        let address = from[..end.unwrap_or(from.len())].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']']);
        escape::push(out, before);
        if address.len() > "https://".len() && is_safe(address) {
            out.push_str(&link(address));
            escape::push(out, address);
            out.push_str("</a>");
        } else {
            escape::push(out, address);
        }
        rest = &from[address.len()..];
        if address.is_empty() {
            break;
        }
    }
    escape::push(out, rest);
}

fn find_address(text: &str) -> Option<usize> {
    let begins = |scheme: &str| text.find(scheme);
    match (begins("https://"), begins("http://")) {
        (Some(secure), Some(plain)) => Some(secure.min(plain)),
        (found, None) | (None, found) => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        push(&mut out, text, Breaks::Folded);
        out.trim_end().to_owned()
    }

    #[test]
    fn markdown_is_rendered() {
        assert_eq!(html("# A *b*"), "<h3>A <em>b</em></h3>");
        assert_eq!(
            html("```rust\nlet a = \"<b>\";\n```"),
            "<pre class=\"code\"><code data-l=\"rs\">let a = \"&lt;b&gt;\";\n</code></pre>"
        );
        assert_eq!(
            html("see https://x.test/a?b=1&c."),
            "<p>see <a href=\"https://x.test/a?b=1&amp;c\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">\
             https://x.test/a?b=1&amp;c</a>.</p>"
        );
        assert!(!html("| a |\n|:-:|\n| b |").contains("style"));
        let mut kept = String::new();
        push(&mut kept, "a\nb", Breaks::Kept);
        assert_eq!(kept, "<p>a<br />\nb</p>\n");
    }

    #[test]
    fn nothing_of_it_is_markup_of_its_own() {
        let cases = [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            (
                "a <img src=x onerror=a()> b",
                "<p>a &lt;img src=x onerror=a()&gt; b</p>",
            ),
            ("[x](javascript:alert(1))", "<p>x</p>"),
            ("[x](JaVaScRiPt:alert(1))", "<p>x</p>"),
            ("[x](data:text/html,a)", "<p>x</p>"),
            ("<javascript:alert(1)>", "<p>javascript:alert(1)</p>"),
            ("![a\"b](javascript:x)", "<p>🖼 a\"b</p>"),
            (
                "```\"><script>\nx\n```",
                "<pre class=\"code\"><code data-l=\"\">x\n</code></pre>",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(html(text), expected, "{text}");
        }
        assert_eq!(
            html("![a](https://x.test/a.png)"),
            "<p><a href=\"https://x.test/a.png\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">🖼 a</a></p>"
        );
        assert!(!html("[x](https://a.test/\"onmouseover=\"a)").contains("\"onmouseover"));
    }
}
