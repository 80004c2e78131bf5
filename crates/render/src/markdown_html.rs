//! Converts untrusted Markdown to safe HTML: raw tags are escaped, only web and mail links are kept, images are not loaded.

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::escape;
use crate::tools::language_of_fence;

/// Longer texts are shown verbatim: they are rarely Markdown, and parsing them would be slow.
const MARKDOWN_BYTES_MAX: usize = 256 << 10;

/// How a single line break is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineBreaks {
    /// As a line break, for text that people typed.
    Kept,
    /// As a space, following Markdown.
    Folded,
}

/// Appends Markdown as HTML.
pub(crate) fn push(out: &mut String, text: &str, breaks: LineBreaks) {
    if text.len() > MARKDOWN_BYTES_MAX {
        out.push_str("<pre class=\"out\">");
        escape::push_inside(out, text);
        out.push_str("</pre>");
        return;
    }
    let text = escape::show_invisible(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut state = LinkState::default();
    let events = Parser::new_ext(&text, options).flat_map(move |event| sanitize(event, breaks, &mut state));
    html::push_html(out, events);
}

/// The open links and code blocks at a point of the text.
#[derive(Debug, Default)]
struct LinkState {
    in_link: u32,
    in_code: bool,
    /// For each open link, whether an `<a>` was written for it. Unsafe links are dropped.
    written_links: Vec<bool>,
}

/// Replaces one parser event by the events that are safe to write.
fn sanitize<'a>(event: Event<'a>, breaks: LineBreaks, state: &mut LinkState) -> Vec<Event<'a>> {
    match event {
        // The parser would pass HTML through; as a text event it is escaped.
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
        Event::SoftBreak if breaks == LineBreaks::Kept => vec![Event::HardBreak],
        Event::Start(Tag::Link { dest_url, .. }) => {
            state.in_link += 1;
            let is_safe = is_safe(&dest_url);
            state.written_links.push(is_safe);
            is_safe.then(|| open_link(&dest_url)).into_iter().collect()
        }
        // An image becomes a link with its description, because the page must not load anything.
        Event::Start(Tag::Image { dest_url, .. }) => {
            let is_safe = is_safe(&dest_url) && state.in_link == 0;
            state.in_link += 1;
            state.written_links.push(is_safe);
            let mut events: Vec<_> = is_safe.then(|| open_link(&dest_url)).into_iter().collect();
            events.push(Event::Text("🖼 ".into()));
            events
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            state.in_link = state.in_link.saturating_sub(1);
            let is_written = state.written_links.pop().unwrap_or_default();
            is_written.then(|| raw_html("</a>")).into_iter().collect()
        }
        Event::Start(Tag::CodeBlock(kind)) => {
            state.in_code = true;
            let language = match &kind {
                CodeBlockKind::Fenced(info) => language_of_fence(info),
                CodeBlockKind::Indented => "",
            };
            vec![raw_html(&format!("<pre class=\"code\"><code data-l=\"{language}\">"))]
        }
        Event::End(TagEnd::CodeBlock) => {
            state.in_code = false;
            vec![raw_html("</code></pre>\n")]
        }
        // Column alignment would need inline styles, which the content security policy forbids.
        Event::Start(Tag::Table(columns)) => vec![Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))],
        Event::Start(Tag::Heading { level, .. }) => vec![raw_html(&format!("<h{}>", lowered_level(level)))],
        Event::End(TagEnd::Heading(level)) => vec![raw_html(&format!("</h{}>\n", lowered_level(level)))],
        Event::Text(text) if state.in_link == 0 && !state.in_code && text.contains("://") => link_addresses(&text),
        event => vec![event],
    }
}

fn raw_html<'a>(html: &str) -> Event<'a> {
    Event::InlineHtml(CowStr::from(html.to_owned()))
}

/// Returns the heading level two steps down, because the page itself uses the top levels.
fn lowered_level(level: HeadingLevel) -> usize {
    (level as usize + 2).min(6)
}

/// Whether a URL is a web or mail address. Links with any other scheme stay text.
pub(crate) fn is_safe(url: &str) -> bool {
    let is_plain = |url: &str| !url.contains(|c: char| c.is_control() || c.is_whitespace());
    let begins = |scheme: &str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    (begins("https://") || begins("http://") || begins("mailto:")) && is_plain(url)
}

/// Returns the opening tag of a link that sends no referrer.
pub(crate) fn link(url: &str) -> String {
    let url = escape::escape(url);
    format!("<a href=\"{url}\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">")
}

fn open_link<'a>(url: &str) -> Event<'a> {
    raw_html(&link(url))
}

/// Converts plain text to HTML with its web addresses as links.
fn link_addresses<'a>(text: &str) -> Vec<Event<'a>> {
    let mut html = String::with_capacity(text.len() + 80);
    push_linked(&mut html, text);
    vec![raw_html(&html)]
}

/// Appends plain text with its web addresses as links.
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
        // Nothing was consumed, so the next search would find the same address again.
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
        push(&mut out, text, LineBreaks::Folded);
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
        push(&mut kept, "a\nb", LineBreaks::Kept);
        assert_eq!(kept, "<p>a<br />\nb</p>\n");
    }

    #[test]
    fn raw_html_and_unsafe_links_stay_text() {
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
