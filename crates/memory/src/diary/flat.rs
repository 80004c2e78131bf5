//! Splits one JSON object into its top-level fields without parsing their values. Most of a log line is text, which
//! `memchr` skips at memory speed. The input must be known to be valid JSON; the meaning of the fields is up to the
//! caller.

use memchr::memchr;

/// Calls `take` with each key and value as written. Returns `None` if the line is not exactly one object or if `take`
/// returns `None`.
pub(super) fn walk_fields<'l>(line: &'l [u8], mut take: impl FnMut(&'l [u8], &'l [u8]) -> Option<()>) -> Option<()> {
    let mut rest = strip_byte(line, b'{')?;
    if let Some(end) = strip_byte(rest, b'}') {
        return end.trim_ascii().is_empty().then_some(());
    }
    loop {
        let key = strip_byte(rest, b'"')?;
        let end = string_end(key)?;
        let value = strip_byte(&key[end + 1..], b':')?.trim_ascii_start();
        let length = value_length(value)?;
        take(&key[..end], &value[..length])?;
        rest = &value[length..];
        match strip_byte(rest, b',') {
            Some(more) => rest = more,
            None => return strip_byte(rest, b'}')?.trim_ascii().is_empty().then_some(()),
        }
    }
}

/// Returns the bytes after `byte`, which may be preceded by whitespace.
fn strip_byte(bytes: &[u8], byte: u8) -> Option<&[u8]> {
    let (first, rest) = bytes.trim_ascii_start().split_first()?;
    (*first == byte).then_some(rest)
}

/// Returns the end of a string after its opening quote: the first quote preceded by an even number of backslashes.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + memchr(b'"', &bytes[from..])?;
        let slashes = bytes[from..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if slashes % 2 == 0 {
            return Some(end);
        }
        from = end + 1;
    }
}

/// Returns the length of the value at the start of `bytes`.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at += 1 + string_end(&bytes[at + 1..])? + 1,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            // A number, `true`, `false` or `null`.
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let length = bytes[at..].iter().position(ends)?;
                return (length > 0).then_some(at + length);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print_fields(line: &str) -> Option<String> {
        let mut printed = Vec::new();
        walk_fields(line.as_bytes(), |key, value| {
            printed.push(format!(
                "{}={}",
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(value)
            ));
            Some(())
        })?;
        Some(printed.join(" "))
    }

    #[test]
    fn fields_are_passed_as_written() {
        let fields = |line| print_fields(line).unwrap();
        assert_eq!(fields("{}"), "");
        assert_eq!(fields(" { } \r"), "");
        assert_eq!(
            fields(r#"{"a":1,"b":"x\"y\\","c":{"d":[1,"]}",{}]},"e":true}"#),
            r#"a=1 b="x\"y\\" c={"d":[1,"]}",{}]} e=true"#
        );
        assert_eq!(fields("{ \"a\" : -1.5e3 , \"b\" : null }"), "a=-1.5e3 b=null");
    }

    #[test]
    fn a_line_that_is_not_one_object_is_none() {
        for line in [
            "",
            "[]",
            "1",
            "{}{}",
            "{\"a\":1}x",
            "{\"a\":1",
            "{\"a\"",
            "{\"a",
            "{\"a\":}",
            "{\"a\":]}",
            "{\"a\":\"\\\"}",
            "{,}",
        ] {
            assert_eq!(print_fields(line), None, "{line}");
        }
    }
}
