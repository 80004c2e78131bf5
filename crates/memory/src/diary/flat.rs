//! The fields of one JSON object that is known to be sound, without a look at what they hold: a line of a log is mostly text, which
//! is passed over as fast as memory allows. What it means is not known here.

use memchr::memchr;

/// Gives the keys and values of an object as they are written. None where the line is not one object and nothing else, or where `take`
/// says so.
pub(super) fn walk<'l>(line: &'l [u8], mut take: impl FnMut(&'l [u8], &'l [u8]) -> Option<()>) -> Option<()> {
    let mut rest = after(line, b'{')?;
    if let Some(end) = after(rest, b'}') {
        return end.trim_ascii().is_empty().then_some(());
    }
    loop {
        let key = after(rest, b'"')?;
        let end = text_end(key)?;
        let value = after(&key[end + 1..], b':')?.trim_ascii_start();
        let length = value_length(value)?;
        take(&key[..end], &value[..length])?;
        rest = &value[length..];
        match after(rest, b',') {
            Some(more) => rest = more,
            None => return after(rest, b'}')?.trim_ascii().is_empty().then_some(()),
        }
    }
}

/// What stands behind a sign, which may have spaces before it.
fn after(bytes: &[u8], sign: u8) -> Option<&[u8]> {
    let (first, rest) = bytes.trim_ascii_start().split_first()?;
    (*first == sign).then_some(rest)
}

/// Where a text ends whose first quote was taken: at a quote with an even number of backslashes before it.
fn text_end(bytes: &[u8]) -> Option<usize> {
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

/// How many bytes a value has that begins here.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at += 1 + text_end(&bytes[at + 1..])? + 1,
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
            // A number or a word.
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

    fn walked(line: &str) -> Option<String> {
        let mut told = Vec::new();
        walk(line.as_bytes(), |key, value| {
            told.push(format!(
                "{}={}",
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(value)
            ));
            Some(())
        })?;
        Some(told.join(" "))
    }

    #[test]
    fn fields_are_given_as_they_are_written() {
        let told = |line| walked(line).unwrap();
        assert_eq!(told("{}"), "");
        assert_eq!(told(" { } \r"), "");
        assert_eq!(
            told(r#"{"a":1,"b":"x\"y\\","c":{"d":[1,"]}",{}]},"e":true}"#),
            r#"a=1 b="x\"y\\" c={"d":[1,"]}",{}]} e=true"#
        );
        assert_eq!(told("{ \"a\" : -1.5e3 , \"b\" : null }"), "a=-1.5e3 b=null");
    }

    #[test]
    fn what_is_not_one_object_is_none() {
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
            assert_eq!(walked(line), None, "{line}");
        }
    }
}
