//! Strangers' text made harmless: the only way by which it reaches a page.
//!
//! What a browser would take for markup becomes entities. What would turn the order of letters round, or stand there
//! unseen, becomes visible: a file name must not look like another one.

use std::borrow::Cow;

/// Text for the inside of an element or of a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    push(&mut out, text);
    out
}

/// The same, appended.
pub(crate) fn push(out: &mut String, text: &str) {
    push_looked_at(out, text, &IN_QUOTES);
}

/// Appends text for the inside of an element alone: quotation marks mean nothing there, and stay. Logs are full of them.
pub(crate) fn push_inside(out: &mut String, text: &str) {
    push_looked_at(out, text, &INSIDE);
}

/// The bytes that begin a character which has to be looked at.
type LookedAt = [bool; 256];
const UNSEEN: LookedAt = looked_at(b"");
const INSIDE: LookedAt = looked_at(b"&<>");
const IN_QUOTES: LookedAt = looked_at(b"&<>\"'");

/// Whatever cannot be seen begins with one of these, and some marks more.
const fn looked_at(marks: &[u8]) -> LookedAt {
    let mut looked_at = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        looked_at[byte] = byte != b'\n' as usize && byte != b'\t' as usize;
        byte += 1;
    }
    let begin = [0x7f, 0xc2, 0xd8, 0xe2, 0xef];
    let mut at = 0;
    while at < begin.len() {
        looked_at[begin[at]] = true;
        at += 1;
    }
    let mut at = 0;
    while at < marks.len() {
        looked_at[marks[at] as usize] = true;
        at += 1;
    }
    looked_at
}

fn push_looked_at(out: &mut String, text: &str, looked_at: &LookedAt) {
    out.reserve(text.len());
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !looked_at[usize::from(byte)] {
            continue;
        }
        let Some(c) = text[at..].chars().next() else { continue };
        let entity: Cow<'_, str> = match c {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            '"' => "&quot;".into(),
            '\'' => "&#39;".into(),
            '\r' => "".into(),
            c => match visible(c) {
                Some(name) => name,
                None => continue,
            },
        };
        out.push_str(&text[done..at]);
        out.push_str(&entity);
        done = at + c.len_utf8();
    }
    out.push_str(&text[done..]);
}

/// What stands for a character that cannot be seen, or that moves others; none for all that can be shown as they are.
fn visible(c: char) -> Option<Cow<'static, str>> {
    match c {
        '\n' | '\t' => None,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).map(|c| c.to_string().into()),
        '\u{7f}' => Some("␡".into()),
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => Some(format!("⟨U+{:04X}⟩", c as u32).into()),
        _ => None,
    }
}

/// Text without unseen characters, for whoever escapes the rest himself: Markdown.
pub fn reveal(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c == '\r' || visible(c).is_some();
    let first = text.bytes().position(|byte| UNSEEN[usize::from(byte)]);
    if first.is_none_or(|first| !text[first..].contains(is_odd)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match visible(c) {
            _ if c == '\r' => {}
            Some(name) => out.push_str(&name),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Text on one line, cut after so many characters.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        for c in word.chars() {
            if chars >= chars_max {
                line.truncate(line.trim_end().len());
                line.push('…');
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text_and_unseen_characters_are_seen() {
        let cases = [
            ("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"),
            ("é → ✓ ·", "é → ✓ ·"),
            ("a\u{0}\u{1b}[1m\u{7f}\r\n\tb", "a␀␛[1m␡\n\tb"),
            ("photo\u{202e}gnp.exe", "photo⟨U+202E⟩gnp.exe"),
            ("\u{feff}x\u{2028}\u{85}\u{61c}", "⟨U+FEFF⟩x⟨U+2028⟩⟨U+0085⟩⟨U+061C⟩"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text), expected);
        }
        let mut inside = String::new();
        push_inside(&mut inside, "a<b>&\"'\u{202e}");
        assert_eq!(inside, "a&lt;b&gt;&amp;\"'⟨U+202E⟩");
        assert_eq!(reveal("a\u{202e}<b>\r\n"), "a⟨U+202E⟩<b>\n");
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(one_line("  fix\n the  login ", 20), "fix the login");
        assert_eq!(one_line("äöü äöü", 4), "äöü…");
    }
}
