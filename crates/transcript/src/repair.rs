//! Repairs JSON lines without losing them: invalid UTF-8, half of a surrogate pair, raw control characters inside a
//! string. Only lines that failed to parse come here.

/// Returns a repaired copy of `line`, or `None` if there is nothing of that kind to repair.
pub(crate) fn repair(line: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(line);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let mut changed = matches!(text, std::borrow::Cow::Owned(_));
    let mut in_string = false;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let mut length = 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                length = escape_length(&bytes[at..]);
                if is_lone_surrogate(&bytes[at..], &mut length) {
                    out.extend_from_slice(b"\\ufffd");
                    (at, changed) = (at + length, true);
                    continue;
                }
            }
            0..0x20 if in_string => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                (at, changed) = (at + 1, true);
                continue;
            }
            0 => {
                (at, changed) = (at + 1, true);
                continue;
            }
            _ => {}
        }
        out.extend_from_slice(&bytes[at..at + length]);
        at += length;
    }
    changed.then_some(out)
}

/// Returns the length in bytes of the escape at the start of `bytes`, at least that of the backslash.
fn escape_length(bytes: &[u8]) -> usize {
    bytes.len().min(if hex_escape(bytes).is_some() { 6 } else { 2 })
}

/// Returns `true` if the escape is one half of a surrogate pair without the other. A whole pair is skipped at once.
fn is_lone_surrogate(bytes: &[u8], length: &mut usize) -> bool {
    match hex_escape(bytes) {
        Some(0xD800..0xDC00) => {
            let paired = matches!(bytes.get(6..).and_then(hex_escape), Some(0xDC00..0xE000));
            if paired {
                *length = 12;
            }
            !paired
        }
        Some(0xDC00..0xE000) => true,
        _ => false,
    }
}

/// Parses a `\uXXXX` escape.
fn hex_escape(bytes: &[u8]) -> Option<u32> {
    let hex = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::repair;

    fn mended(line: &[u8]) -> Option<String> {
        repair(line).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_a_whole_one_stays() {
        let line = br#"{"a":"x\ud83d","b":"\ud83d\ude00","c":"\ude00\\ud83d"}"#;
        let want = r#"{"a":"x\ufffd","b":"\ud83d\ude00","c":"\ufffd\\ud83d"}"#;
        assert_eq!(mended(line).as_deref(), Some(want));
    }

    #[test]
    fn wrong_bytes_and_raw_control_characters_are_replaced() {
        assert_eq!(
            mended(b"{\"a\":\"\xff\x07\"}").as_deref(),
            Some("{\"a\":\"\u{fffd}\\u0007\"}")
        );
    }

    #[test]
    fn a_line_with_nothing_to_repair_is_unchanged() {
        assert_eq!(mended(br#"{"a":"b"#), None);
        assert_eq!(mended(br#"{"a":"\"#), None);
        assert_eq!(mended(br#"{"a":"\u12"#), None);
    }
}
