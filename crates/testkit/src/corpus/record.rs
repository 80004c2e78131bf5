//! Parts of records: JSON strings, ids, times, base64. They implement `Display` and are written directly into a line, so that a
//! record needs no allocation.

use std::fmt::{self, Write};

use jiff::Timestamp;

use crate::truth::SeededRandom;

/// Displays a text as a JSON string with quotes.
pub(super) struct JsonString<'a>(pub(super) &'a str);

impl fmt::Display for JsonString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut rest = self.0;
        // The generator emits no other control characters.
        while let Some(at) = rest
            .bytes()
            .position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'\n' => "\\n",
                b'\t' => "\\t",
                b'"' => "\\\"",
                b'\\' => "\\\\",
                _ => "\\u001b",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)?;
        f.write_char('"')
    }
}

/// Displays the bytes of a text as a JSON array of numbers.
pub(super) struct JsonByteArray<'a>(pub(super) &'a str);

impl fmt::Display for JsonByteArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = '[';
        for byte in self.0.bytes() {
            f.write_char(before)?;
            before = ',';
            write!(f, "{byte}")?;
        }
        f.write_str(if self.0.is_empty() { "[]" } else { "]" })
    }
}

/// A UUID: version 7 if it was made from a time, else version 4.
#[derive(Clone, Copy)]
pub(super) struct Uuid(u64, u64);

impl Uuid {
    pub(super) fn random(random: &mut SeededRandom) -> Uuid {
        Uuid(
            random.next_u64() & !0xf000 | 0x4000,
            random.next_u64() & !(3 << 62) | 1 << 63,
        )
    }

    /// Returns a version 7 UUID, which starts with the time.
    pub(super) fn at(ms: u64, random: &mut SeededRandom) -> Uuid {
        Uuid(
            ms << 16 | 0x7000 | random.next_u64() & 0xfff,
            random.next_u64() & !(3 << 62) | 1 << 63,
        )
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (high, low) = (self.0, self.1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// A time in RFC 3339 with milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Time(pub(super) u64);

impl Time {
    fn stamp(self) -> Timestamp {
        let ms = i64::try_from(self.0).expect("a time of this century");
        Timestamp::from_millisecond(ms).expect("a time of this century")
    }

    /// Returns year, month and day, separated by `between`.
    pub(super) fn date(self, between: &str) -> String {
        self.stamp().strftime(&format!("%Y{between}%m{between}%d")).to_string()
    }

    /// Returns the time in the form of a rollout's file name.
    pub(super) fn in_name(self) -> String {
        self.stamp().strftime("%Y-%m-%dT%H-%M-%S").to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.stamp())
    }
}

/// Random characters that cannot be compressed, for ids, signatures and images.
#[derive(Clone, Copy)]
pub(super) struct RandomText {
    seed: u64,
    length: usize,
    letters: &'static [u8; 64],
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Two letters occur twice, so that six bits select one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Zz";

impl RandomText {
    pub(super) fn base64(random: &mut SeededRandom, length: usize) -> RandomText {
        RandomText {
            seed: random.next_u64(),
            length: length.next_multiple_of(4),
            letters: BASE64,
        }
    }

    pub(super) fn letters(random: &mut SeededRandom, length: usize) -> RandomText {
        RandomText {
            seed: random.next_u64(),
            length,
            letters: LETTERS,
        }
    }
}

impl fmt::Display for RandomText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut random = SeededRandom(self.seed);
        let mut left = self.length;
        while left > 0 {
            let mut chunk = [0; 80];
            for ten in chunk.chunks_mut(10) {
                let bits = random.next_u64();
                for (at, letter) in ten.iter_mut().enumerate() {
                    *letter = self.letters[(bits >> (6 * at)) as usize & 63];
                }
            }
            let taken = left.min(chunk.len());
            f.write_str(std::str::from_utf8(&chunk[..taken]).map_err(|_| fmt::Error)?)?;
            left -= taken;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_survives_json_encoding() {
        for text in ["", "plain", "a \"b\" \\ c\n\td", "文件\u{1b}"] {
            let back: String = serde_json::from_str(&JsonString(text).to_string()).expect("a string of JSON");
            assert_eq!(back, text);
        }
        assert_eq!(
            (JsonByteArray("hi").to_string(), JsonByteArray("").to_string()),
            ("[104,105]".into(), "[]".into())
        );
    }

    #[test]
    fn ids_and_times_have_their_form() {
        let mut random = SeededRandom(1);
        let uuid = Uuid::random(&mut random).to_string();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
        let timed = Uuid::at(0x0123_4567_89ab, &mut random).to_string();
        assert!(timed.starts_with("01234567-89ab-7"), "{timed}");
        assert_eq!(Time(1_780_444_800_123).to_string(), "2026-06-03T00:00:00.123Z");
        assert_eq!(Time(1_780_444_800_123).in_name(), "2026-06-03T00-00-00");
        assert_eq!(RandomText::letters(&mut random, 37).to_string().len(), 37);
    }
}
