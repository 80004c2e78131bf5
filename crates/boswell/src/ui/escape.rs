//! Escapes untrusted text: characters that move the cursor, change the direction of writing or are invisible are shown
//! as `\u{…}`. Plain text is unchanged, in every script.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes text that must stay on one line. Line breaks and tabs become `
/// `, `\r` and `\t`.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    escape_where(text, |_| false, push_for_people)
}

/// Escapes text that may have several lines. Line feeds and tabs are unchanged.
pub(crate) fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| matches!(c, '\n' | '\t'), push_for_people)
}

/// Escapes untrusted text and joins its lines into one.
pub(crate) fn in_one_line(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    escape(&words.join(" ")).into_owned()
}

/// Escapes what JSON text leaves unescaped. The meaning of the JSON is unchanged.
pub(crate) fn escape_json(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| c.is_ascii(), push_for_json)
}

/// Escapes a text. Its neighbours decide about a joiner: between two letters of a script it is part of the word, alone
/// it is a hidden mark.
fn escape_where(text: &str, keeps: fn(char) -> bool, push: fn(&mut String, char)) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::new();
    let mut copied = 0; // bytes of `text` that already stand in `escaped`
    let mut before = None;
    for (at, c) in text.char_indices() {
        let after = text[at + c.len_utf8()..].chars().next();
        let is_shown = keeps(c) || !is_hidden(c) || belongs(before, c, after);
        if !is_shown {
            escaped.push_str(&text[copied..at]);
            push(&mut escaped, c);
            copied = at + c.len_utf8();
        }
        before = Some(c);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    escaped.push_str(&text[copied..]);
    Cow::Owned(escaped)
}

fn push_for_people(escaped: &mut String, c: char) {
    match c {
        '\n' => escaped.push_str("\\n"),
        '\r' => escaped.push_str("\\r"),
        '\t' => escaped.push_str("\\t"),
        _ => write!(escaped, "\\u{{{:x}}}", u32::from(c)).expect("a String takes every write"),
    }
}

fn push_for_json(escaped: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(escaped, "\\u{unit:04x}").expect("a String takes every write");
    }
}

/// Returns whether a joiner or variation selector is part of emoji, Persian, an Indic script or a CJK variant. Next to
/// ASCII, next to other hidden characters, or at an end it is not.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_hidden(c));
    let is_drawn = |c: Option<char>| is_letter(c) || c == Some('\u{fe0f}');
    match c {
        '\u{200c}' | '\u{200d}' => is_drawn(before) && is_letter(after),
        '\u{fe0e}' | '\u{fe0f}' => is_letter(before) || is_keycap(before),
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => is_letter(before),
        _ => false,
    }
}

fn is_keycap(c: Option<char>) -> bool {
    c.is_some_and(|c| matches!(c, '0'..='9' | '#' | '*'))
}

/// Returns whether a character is a control (C0, DEL, C1), a line separator, or one that Unicode declares invisible.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{70f}' | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_every_script_stays_and_is_not_copied() {
        let plain = [
            "",
            "cargo test -p boswell",
            "naïve façade – “quoted”…",
            "日本語 中文 한국어 ไทย",
            "می‌خواهم", // Persian with a zero-width non-joiner
            "क्‍ष",      // Devanagari with a zero-width joiner
            "👩‍👩‍👧 ❤️ 🏳️‍🌈 1️⃣",
            "שלום مرحبا",
            "葛\u{e0100}城", // a CJK variant
            "\u{f121} private use",
            "a backslash \\u{1b} typed by hand",
        ];
        for text in plain {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn what_moves_turns_or_hides_is_shown() {
        let cases = [
            ("\u{1b}[31mred", r"\u{1b}[31mred"),
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("\u{9b}31m", r"\u{9b}31m"),
            (
                "bell\u{7}back\u{8}del\u{7f}nul\0",
                r"bell\u{7}back\u{8}del\u{7f}nul\u{0}",
            ),
            ("one\ntwo\r\n\tthree", r"one\ntwo\r\n\tthree"),
            ("user\u{202e}gpj.exe", r"user\u{202e}gpj.exe"),
            ("a\u{2066}b\u{2069}c", r"a\u{2066}b\u{2069}c"),
            ("pass\u{200b}word", r"pass\u{200b}word"),
            ("joined\u{200d}ascii", r"joined\u{200d}ascii"),
            ("\u{feff}start", r"\u{feff}start"),
            ("soft\u{ad}hyphen", r"soft\u{ad}hyphen"),
            ("line\u{2028}separator", r"line\u{2028}separator"),
            ("tag\u{e0041}", r"tag\u{e0041}"),
            ("blank\u{3164}", r"blank\u{3164}"),
            ("a\u{fe0f}", r"a\u{fe0f}"),
            // Bytes hidden in a row of variation selectors: the first selector may be legitimate, the others are not.
            ("😀\u{e0101}\u{e0102}", "😀\u{e0101}\\u{e0102}"),
        ];
        for (text, shown) in cases {
            assert_eq!(escape(text), shown);
        }
    }

    #[test]
    fn lines_keep_their_breaks_and_tabs_but_not_their_carriage_returns() {
        assert_eq!(escape_lines("a\n\tb\rc\u{1b}"), "a\n\tb\\rc\\u{1b}");
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = serde_json::json!({ "text": "\u{1b}\u{9b}\u{202e}\u{e0041} é 日本\n" });
        let text = value.to_string();
        let escaped = escape_json(&text);
        assert_eq!(escaped, r#"{"text":"\u001b\u009b\u202e\udb40\udc41 é 日本\n"}"#);
        let back: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(back, value);
    }

    #[test]
    fn no_character_that_a_terminal_obeys_gets_through() {
        for c in (0..=0x10ffff_u32).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            assert!(!escape(&text).chars().any(char::is_control), "{c:?}");
        }
    }
}
