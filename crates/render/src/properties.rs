//! Property tests: no text causes a panic, and no text becomes markup.

use jiff::tz::TimeZone;
use proptest::prelude::*;
use transcript::Agent;

use crate::markdown_html::{self, LineBreaks};
use crate::{MarkdownDepth, MarkdownOptions, PageOptions, Transcript, ansi, diff, escape, html, markdown};

/// Generates text from dangerous pieces.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "<",
        ">",
        "\"",
        "'",
        "&",
        "&#60;",
        "<script>",
        "</script>",
        "javascript:",
        "](",
        "[",
        ")",
        "`",
        "```",
        "~~~",
        "\n",
        "\n\n",
        " ",
        "\u{1b}[31m",
        "\u{1b}[",
        "\u{1b}]",
        "\u{7}",
        "\r",
        "\u{202e}",
        "é",
        "日本",
        "#",
        "*",
        "|",
        "-",
        "http://",
        "https://x.test/",
        "<!--",
        "-->",
        "x",
        "1",
        ";",
        "m",
        ":",
        "![",
        "*** Begin Patch\n",
        "*** Update File: ",
        "+",
        "@@",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

/// Whether a tag is one that our Markdown conversion emits.
fn is_ours(tag: &str) -> bool {
    const PLAIN: [&str; 24] = [
        "p",
        "br",
        "em",
        "strong",
        "del",
        "ul",
        "ol",
        "li",
        "blockquote",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "hr",
        "h3",
        "h4",
        "h5",
        "h6",
        "a",
        "pre",
        "input",
    ];
    let name: String = tag
        .trim_start_matches('/')
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let rest = &tag.trim_start_matches('/')[name.len()..];
    let is_plain = matches!(rest, "" | " /");
    let known = match name.as_str() {
        "a" => {
            let href = rest.strip_prefix(" href=\"").and_then(|rest| rest.split_once('"'));
            let safe = |(url, more): (&str, &str)| {
                let schemes = ["http://", "https://", "mailto:", "HTTP://", "Https://"];
                let is_safe = schemes.into_iter().any(|scheme| url.starts_with(scheme));
                is_safe && more == " rel=\"noopener noreferrer nofollow\" target=\"_blank\""
            };
            is_plain || href.is_some_and(safe)
        }
        "pre" => is_plain || matches!(rest, " class=\"code\"" | " class=\"out\""),
        "code" => is_plain || rest.starts_with(" data-l=\"") && rest.matches('"').count() == 2,
        "ol" => is_plain || rest.starts_with(" start=\""),
        "input" => rest.starts_with(" disabled=\"\" type=\"checkbox\""),
        _ => is_plain,
    };
    PLAIN.contains(&name.as_str()) && known
}

fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap_or(rest))
}

proptest! {
    #[test]
    fn no_text_becomes_markup(text in hostile()) {
        let plain = escape::escape(&text);
        let is_odd = plain.contains(['<', '>', '"', '\'', '\u{202e}', '\u{1b}']);
        prop_assert!(!is_odd, "{}", plain);
        let mut out = String::new();
        markdown_html::push(&mut out, &text, LineBreaks::Kept);
        for tag in tags(&out) {
            prop_assert!(is_ours(tag), "{text:?} gives <{tag}>");
        }
        let mut out = String::new();
        ansi::push_html(&mut out, &text);
        for tag in tags(&out) {
            prop_assert!(tag == "/span" || tag.starts_with("span class=\""), "{text:?} gives <{tag}>");
        }
        let is_odd = ansi::plain(&text).contains('\u{1b}');
        prop_assert!(!is_odd);
    }

    #[test]
    fn a_diff_counts_no_more_lines_than_the_texts_have(old in hostile(), new in hostile()) {
        let lines = diff::diff_lines(&old, &new);
        let (added, removed) = diff::count_changes(&lines);
        prop_assert!(added <= new.lines().count() && removed <= old.lines().count());
        let mut out = String::new();
        diff::push_html(&mut out, &lines);
        for tag in tags(&out) {
            let is_ours = ["span", "span class=\"gap\"", "ins", "del", "b"].contains(&tag.trim_start_matches('/'));
            prop_assert!(is_ours, "<{tag}>");
        }
    }

    #[test]
    fn any_log_becomes_a_page_and_a_text(texts in prop::collection::vec(hostile(), 1..6), tool in hostile()) {
        let mut log = String::new();
        for text in &texts {
            let call = serde_json::json!({ "type": "tool_use", "id": text, "name": tool, "input": { "command": text, "file_path": text, "old_string": tool, "new_string": text } });
            let answer = serde_json::json!({ "type": "assistant", "sessionId": "s", "message": { "id": text, "content": [{ "type": "text", "text": text }, call] } });
            let prompt = serde_json::json!({ "type": "user", "sessionId": "s", "message": { "content": text } });
            log += &format!("{prompt}\n{answer}\n{text}\n");
        }
        if let Some(transcript) = Transcript::from_log(Agent::Claude, "s.jsonl", log.as_bytes(), TimeZone::UTC).unwrap() {
            let mut page = Vec::new();
            html(&transcript, &PageOptions::default(), &mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            let own = page.matches("<script>").count();
            prop_assert_eq!(own, 1);
            for max_tokens in [None, Some(100)] {
                let mut text = Vec::new();
                markdown(&transcript, &MarkdownOptions { depth: MarkdownDepth::Full, max_tokens }, &mut text).unwrap();
                let text = String::from_utf8(text).unwrap();
                let is_odd = text.contains(['\u{1b}', '\u{202e}']);
                prop_assert!(!is_odd, "{}", text);
            }
        }
    }
}
