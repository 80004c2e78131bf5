//! Escapes untrusted text. Text from logs reaches a page only through this module.
//!
//! Markup becomes entities. Invisible characters and those that change the text direction become visible, because otherwise one
//! file name could be made to look like another.

use std::borrow::Cow;

/// Escapes text for an element or a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    push(&mut out, text);
    out
}

/// Appends text for an element or a quoted attribute.
pub(crate) fn push(out: &mut String, text: &str) {
    push_escaped(out, text, &ATTRIBUTE_BYTES);
}

/// Appends text for an element only. Quotation marks have no meaning there and are kept, because logs contain many of them.
pub(crate) fn push_inside(out: &mut String, text: &str) {
    push_escaped(out, text, &ELEMENT_BYTES);
}

/// A set of bytes. If a character starts with one of them, it may need to be escaped.
type ByteSet = [bool; 256];
const INVISIBLE_BYTES: ByteSet = byte_set(b"");
const ELEMENT_BYTES: ByteSet = byte_set(b"&<>");
const ATTRIBUTE_BYTES: ByteSet = byte_set(b"&<>\"'");

/// Returns the first bytes of all invisible characters, and `marks`.
const fn byte_set(marks: &[u8]) -> ByteSet {
    let mut byte_set = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        byte_set[byte] = byte != b'\n' as usize && byte != b'\t' as usize;
        byte += 1;
    }
    // The first UTF-8 bytes of all characters that `visible_form` replaces.
    let begin = [0x7f, 0xc2, 0xd8, 0xe2, 0xef];
    let mut at = 0;
    while at < begin.len() {
        byte_set[begin[at]] = true;
        at += 1;
    }
    let mut at = 0;
    while at < marks.len() {
        byte_set[marks[at] as usize] = true;
        at += 1;
    }
    byte_set
}

fn push_escaped(out: &mut String, text: &str, byte_set: &ByteSet) {
    out.reserve(text.len());
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !byte_set[usize::from(byte)] {
            continue;
        }
        // `at` is a character boundary, because the set contains only first bytes of characters.
        let Some(c) = text[at..].chars().next() else { continue };
        let entity: Cow<'_, str> = match c {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            '"' => "&quot;".into(),
            '\'' => "&#39;".into(),
            '\r' => "".into(),
            c => match visible_form(c) {
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

/// Returns the visible form of a character that is invisible or changes the text direction. `None` for all other characters.
fn visible_form(c: char) -> Option<Cow<'static, str>> {
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

/// Returns the text with invisible characters made visible and nothing else escaped, for output that is not HTML.
pub fn show_invisible(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c == '\r' || visible_form(c).is_some();
    let first = text.bytes().position(|byte| INVISIBLE_BYTES[usize::from(byte)]);
    if first.is_none_or(|first| !text[first..].contains(is_odd)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match visible_form(c) {
            _ if c == '\r' => {}
            Some(name) => out.push_str(&name),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Joins text into one line and cuts it after `chars_max` characters.
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
    fn markup_is_escaped_and_invisible_characters_become_visible() {
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
        assert_eq!(show_invisible("a\u{202e}<b>\r\n"), "a⟨U+202E⟩<b>\n");
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(one_line("  fix\n the  login ", 20), "fix the login");
        assert_eq!(one_line("äöü äöü", 4), "äöü…");
    }
}
