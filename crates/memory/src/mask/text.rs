//! Word boundaries in text that may be escaped one level deeper than we decoded.
//!
//! For example, when a tool prints JSON, another tool quotes that output, or a terminal colours it: in `
//! ghp_…` and `\u001b[32mghp_…` the letter right before the token does not belong to it.

/// Returns `true` for a letter, a digit or an underscore.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns `true` if a token may begin at `at`, because the characters before it do not belong to it.
pub(super) fn is_left_border(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    match before {
        [] => true,
        [.., last] if !is_word(*last) => true,
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f' | b'v' | b'0' | b'a' | b'e'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'x', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'm'] => ends_a_colour(before),
        _ => is_behind_unicode_escape(before),
    }
}

/// Returns `true` after an escape such as `\u001b`: six bytes that encode one character.
fn is_behind_unicode_escape(before: &[u8]) -> bool {
    let Some([b'\\', b'u', digits @ ..]) = before.len().checked_sub(6).map(|at| &before[at..]) else {
        return false;
    };
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// Returns `true` after a terminal colour code such as `[32m`.
fn ends_a_colour(before: &[u8]) -> bool {
    let codes = &before[..before.len() - 1];
    let count = codes
        .iter()
        .rev()
        .take(16)
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
        .count();
    codes[..codes.len() - count].ends_with(b"[")
}

/// Returns `true` if the word around `at` is a command-line flag such as `--access-token`.
pub(super) fn is_flag(text: &[u8], at: usize) -> bool {
    let start = name_start(text, at);
    text[start..].starts_with(b"-") && (start == 0 || !is_word(text[start - 1]))
}

/// Returns the start of the name around `at`: letters, digits, `_`, `-`, `.`, at most 64 of them.
pub(super) fn name_start(text: &[u8], at: usize) -> usize {
    let is_name = |byte: &&u8| is_word(**byte) || matches!(byte, b'-' | b'.');
    let mut start = at - text[..at].iter().rev().take(64).take_while(is_name).count();
    // In `[32mTOKEN` the beginning is a colour.
    if text[..start].ends_with(b"[")
        && let Some(length) = text[start..at].iter().position(|byte| *byte == b'm')
        && ends_a_colour(&text[..start + length + 1])
    {
        start += length + 1;
    }
    // In `\nTOKEN` the `n` is half of an escape.
    let is_escaped = start > 0 && text[start - 1] == b'\\' && matches!(text.get(start), Some(b'n' | b't' | b'r'));
    if is_escaped && start < at { start + 1 } else { start }
}

/// Returns the end of the name around `at`.
pub(super) fn name_end(text: &[u8], at: usize) -> usize {
    let is_name = |byte: &&u8| is_word(**byte) || matches!(byte, b'-' | b'.');
    at + text[at..].iter().take(64).take_while(is_name).count()
}

/// Returns the position after at most `max` bytes of a set.
pub(super) fn skip(text: &[u8], from: usize, max: usize, set: impl Fn(u8) -> bool) -> usize {
    let rest = &text[from.min(text.len())..];
    from + rest.iter().take(max).take_while(|byte| set(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_colours_are_borders_and_letters_are_not() {
        for (before, expected) in [
            ("", true),
            (" ", true),
            ("=", true),
            ("é", true),
            ("a", false),
            ("_", false),
            ("7", false),
            (r"\n", true),
            (r"\\n", true),
            ("in", false),
            (r"\u001b", true),
            (r"\x1b", true),
            ("%3D", true),
            ("\u{1b}[32m", true),
            ("[1;31m", true),
            ("am", false),
            ("3m", false),
        ] {
            assert_eq!(is_left_border(before.as_bytes(), before.len()), expected, "{before:?}");
        }
    }

    #[test]
    fn names_are_found_around_a_place_in_them() {
        let text = br"x \nMY_TOKEN_2=1 --api-key v";
        assert_eq!(&text[name_start(text, 8)..name_end(text, 8)], b"MY_TOKEN_2");
        assert!(is_flag(text, 20) && !is_flag(text, 8));
    }
}
