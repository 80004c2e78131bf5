//! Splits bytes at their line breaks with `memchr`, because a loop over single bytes takes as long as masking them.

/// Returns the lines with their line breaks. The last line may have none.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// Returns the lines without their line breaks.
pub(crate) fn bare_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(bytes).map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Returns the number of lines, including a last one without a line break.
pub(crate) fn count(bytes: &[u8]) -> u64 {
    let is_open = bytes.last().is_some_and(|last| *last != b'\n');
    memchr::memchr_iter(b'\n', bytes).count() as u64 + u64::from(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_their_line_breaks() {
        for text in ["", "a", "a\n", "\n", "a\n\nb", "\n\n", "a\nb\n"] {
            let all: Vec<&[u8]> = lines(text.as_bytes()).collect();
            let expected: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
            assert_eq!(all, expected, "{text:?}");
            assert_eq!(count(text.as_bytes()), expected.len() as u64, "{text:?}");
            let bare: Vec<&[u8]> = bare_lines(text.as_bytes()).collect();
            assert_eq!(
                bare.join(&b'\n'),
                text.strip_suffix('\n').unwrap_or(text).as_bytes(),
                "{text:?}"
            );
        }
    }
}
