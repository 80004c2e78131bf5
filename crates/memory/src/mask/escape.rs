//! Decodes raw JSON to text, and maps ranges of that text back to raw ranges.
//!
//! Decoding stores no mapping: mapping back decodes again, a cost that only strings with a secret incur. Invalid
//! escapes are kept as plain text and never cause an error.

use super::Found;
use std::ops::Range;

/// Minimum number of elements of an array of bytes: a shorter one cannot hold a secret.
const BYTES_MIN: usize = 8;

/// Decodes the content between the quotes of a JSON string.
pub(super) fn decode_string(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    for piece in Pieces::of(raw) {
        match piece.escape {
            None => text.extend_from_slice(&raw[piece.raw]),
            Some(escape) => text.extend_from_slice(escape.bytes()),
        }
    }
    text
}

/// Maps ranges of the decoded text to ranges of the raw string. They must be sorted and must not overlap.
pub(super) fn to_raw_string(raw: &[u8], found: &mut [Found]) {
    let mut pieces = Pieces::of(raw);
    let mut piece = pieces.next();
    let mut decoded_start = 0;
    let mut place = |decoded: usize, is_end: bool| loop {
        // An end belongs to the piece that holds the last byte before it.
        let inside = if is_end { decoded.saturating_sub(1) } else { decoded };
        let Some(now) = &piece else {
            return raw.len();
        };
        let length = now.length();
        if inside < decoded_start + length {
            return match (&now.escape, is_end) {
                (None, _) => now.raw.start + (decoded - decoded_start),
                (Some(_), true) => now.raw.end,
                (Some(_), false) => now.raw.start,
            };
        }
        decoded_start += length;
        piece = pieces.next();
    };
    for hit in found {
        hit.range = place(hit.range.start, false)..place(hit.range.end, true);
    }
}

/// A stretch of a raw string: plain bytes, or one escape.
struct Piece {
    raw: Range<usize>,
    escape: Option<Escape>,
}

impl Piece {
    fn length(&self) -> usize {
        self.escape.as_ref().map_or(self.raw.len(), |escape| escape.length)
    }
}

struct Escape {
    utf8: [u8; 4],
    length: usize,
}

impl Escape {
    fn of(character: char) -> Escape {
        let mut utf8 = [0; 4];
        let length = character.encode_utf8(&mut utf8).len();
        Escape { utf8, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.utf8[..self.length]
    }
}

struct Pieces<'a> {
    raw: &'a [u8],
    at: usize,
}

impl<'a> Pieces<'a> {
    fn of(raw: &'a [u8]) -> Pieces<'a> {
        Pieces { raw, at: 0 }
    }

    fn escape(&self) -> Option<(usize, Escape)> {
        let simple = |byte: u8| Some((2, Escape::of(char::from(byte))));
        match *self.raw.get(self.at + 1)? {
            byte @ (b'"' | b'\\' | b'/') => simple(byte),
            b'n' => simple(b'\n'),
            b't' => simple(b'\t'),
            b'r' => simple(b'\r'),
            b'b' => simple(8),
            b'f' => simple(12),
            b'u' => self.unicode(),
            _ => None,
        }
    }

    /// Decodes `\uXXXX`, or a surrogate pair of them. Returns U+FFFD for half a pair.
    fn unicode(&self) -> Option<(usize, Escape)> {
        let high = hex4(self.raw, self.at + 2)?;
        if (0xD800..0xDC00).contains(&high)
            && self.raw[self.at + 6..].starts_with(b"\\u")
            && let Some(low @ 0xDC00..0xE000) = hex4(self.raw, self.at + 8)
        {
            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            return Some((12, Escape::of(char::from_u32(code)?)));
        }
        Some((
            6,
            Escape::of(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)),
        ))
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.at;
        let rest = self.raw.get(start..).filter(|rest| !rest.is_empty())?;
        if rest[0] == b'\\'
            && let Some((length, escape)) = self.escape()
        {
            self.at = start + length;
            return Some(Piece {
                raw: start..self.at,
                escape: Some(escape),
            });
        }
        // An invalid escape is plain text from its backslash on.
        let length = memchr::memchr(b'\\', &rest[1..]).map_or(rest.len(), |at| at + 1);
        self.at = start + length;
        Some(Piece {
            raw: start..self.at,
            escape: None,
        })
    }
}

fn hex4(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 4)?;
    digits
        .iter()
        .try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// Returns the end of the array of bytes that opens at `at`, after its bracket: at least eight numbers, each 0 to 255.
pub(super) fn byte_array_end(text: &[u8], at: usize) -> Option<usize> {
    let mut numbers = Numbers { text, at: at + 1 };
    let count = numbers.by_ref().count();
    (count >= BYTES_MIN && text.get(numbers.at) == Some(&b']')).then_some(numbers.at + 1)
}

/// Returns `true` if an array of at least eight numbers, each 0 to 255, opens at `at`; it may be cut off.
pub(super) fn opens_byte_array(text: &[u8], at: usize) -> bool {
    Numbers { text, at: at + 1 }.take(BYTES_MIN).count() == BYTES_MIN
}

/// Decodes the bytes of an array, given with its brackets.
pub(super) fn decode_bytes(raw: &[u8]) -> Vec<u8> {
    Numbers { text: raw, at: 1 }.map(|(_, byte)| byte).collect()
}

/// Maps ranges of an array's bytes to ranges of its raw numbers. They must be sorted and must not overlap.
pub(super) fn to_raw_bytes(raw: &[u8], found: &mut [Found]) {
    let mut numbers = Numbers { text: raw, at: 1 }.enumerate();
    for hit in found {
        let start = numbers
            .find(|(index, _)| *index == hit.range.start)
            .map(|(_, (raw, _))| raw);
        let last = hit.range.end - 1;
        let end = if last == hit.range.start {
            start.clone()
        } else {
            numbers.find(|(index, _)| *index == last).map(|(_, (raw, _))| raw)
        };
        if let (Some(start), Some(end)) = (start, end) {
            hit.range = start.start..end.end;
        }
        hit.layers += 1;
    }
}

/// Parses numbers from 0 to 255 separated by commas; stops at anything else.
struct Numbers<'a> {
    text: &'a [u8],
    at: usize,
}

impl Iterator for Numbers<'_> {
    type Item = (Range<usize>, u8);

    fn next(&mut self) -> Option<Self::Item> {
        let start = skip_space(self.text, self.at);
        let digits = self
            .text
            .get(start..)?
            .iter()
            .take(4)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(1..=3).contains(&digits) {
            return None;
        }
        let value = self.text[start..start + digits]
            .iter()
            .fold(0_u32, |value, digit| value * 10 + u32::from(digit - b'0'));
        let byte = u8::try_from(value).ok()?;
        let after = skip_space(self.text, start + digits);
        match self.text.get(after) {
            Some(b',') => self.at = after + 1,
            Some(b']') => self.at = after,
            _ => return None,
        }
        Some((start..start + digits, byte))
    }
}

pub(super) fn skip_space(text: &[u8], at: usize) -> usize {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    at + text.get(at..).unwrap_or_default().iter().take_while(is_space).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(range: Range<usize>) -> Found {
        Found::for_test(range)
    }

    #[test]
    fn escapes_are_decoded_and_ranges_find_their_way_back() {
        let raw = br#"a\n\u0067\ud83d\ude00b\"c\x\ud800"#;
        let text = decode_string(raw);
        assert_eq!(String::from_utf8_lossy(&text), "a\ng😀b\"c\\x\u{fffd}");
        for (range, expected) in [
            (0..1, r"a"),
            (1..2, r"\n"),
            (2..3, r"\u0067"),
            (3..7, r"\ud83d\ude00"),
            (2..8, r"\u0067\ud83d\ude00b"),
            (8..12, r#"\"c\x"#),
            (12..15, r"\ud800"),
        ] {
            let mut hits = [found(range.clone())];
            to_raw_string(raw, &mut hits);
            assert_eq!(
                std::str::from_utf8(&raw[hits[0].range.clone()]),
                Ok(expected),
                "{range:?}"
            );
        }
    }

    #[test]
    fn arrays_of_bytes_are_told_from_arrays_of_numbers() {
        for (text, is_array) in [
            ("[1,2,3,4,5,6,7,8]", true),
            ("[ 1, 2,\t3,4,5,6,7,255 ]", true),
            ("[1,2,3,4,5,6,7]", false),
            ("[1,2,3,4,5,6,7,256]", false),
            ("[1,2,3,4,5,6,7,8.5]", false),
            ("[1,2,3,4,5,6,7,8", false),
            ("[", false),
        ] {
            assert_eq!(
                byte_array_end(text.as_bytes(), 0),
                is_array.then_some(text.len()),
                "{text}"
            );
        }
    }

    #[test]
    fn ranges_of_bytes_find_their_numbers() {
        let raw = b"[10, 20,30 ,40,50,60,70,80,90]";
        let mut hits = [found(0..1), found(2..4), found(8..9)];
        to_raw_bytes(raw, &mut hits);
        let texts: Vec<_> = hits
            .iter()
            .map(|hit| std::str::from_utf8(&raw[hit.range.clone()]).unwrap())
            .collect();
        assert_eq!(texts, ["10", "30 ,40", "90"]);
    }
}
