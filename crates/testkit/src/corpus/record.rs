//! Pieces of records as they stand in a log: strings of JSON, ids, times, base64. They are written straight into a
//! line, so that a record costs no allocation. They know no agent.

use std::fmt::{self, Write};

use jiff::Timestamp;

use crate::truth::Dice;

/// A text as a string of JSON, with its quotes.
pub(super) struct Json<'a>(pub(super) &'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut rest = self.0;
        // Only these occur in what we make up; a control character would be a mistake of ours.
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

/// The bytes of a text as an array of numbers.
pub(super) struct Bytes<'a>(pub(super) &'a str);

impl fmt::Display for Bytes<'_> {
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

/// A UUID, version 4 unless it carries a time.
#[derive(Clone, Copy)]
pub(super) struct Uuid(u64, u64);

impl Uuid {
    pub(super) fn roll(dice: &mut Dice) -> Uuid {
        Uuid(dice.roll() & !0xf000 | 0x4000, dice.roll() & !(3 << 62) | 1 << 63)
    }

    /// Version 7: begins with the time.
    pub(super) fn at(ms: u64, dice: &mut Dice) -> Uuid {
        Uuid(
            ms << 16 | 0x7000 | dice.roll() & 0xfff,
            dice.roll() & !(3 << 62) | 1 << 63,
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

    /// Year, month and day, with `between` between them.
    pub(super) fn date(self, between: &str) -> String {
        self.stamp().strftime(&format!("%Y{between}%m{between}%d")).to_string()
    }

    /// As it stands in the name of a rollout.
    pub(super) fn in_name(self) -> String {
        self.stamp().strftime("%Y-%m-%dT%H-%M-%S").to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.stamp())
    }
}

/// Characters that nothing can compress: ids, signatures, images.
#[derive(Clone, Copy)]
pub(super) struct Noise {
    seed: u64,
    length: usize,
    letters: &'static [u8; 64],
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Two letters stand twice, so that six bits choose one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Zz";

impl Noise {
    pub(super) fn base64(dice: &mut Dice, length: usize) -> Noise {
        Noise {
            seed: dice.roll(),
            length: length.next_multiple_of(4),
            letters: BASE64,
        }
    }

    pub(super) fn letters(dice: &mut Dice, length: usize) -> Noise {
        Noise {
            seed: dice.roll(),
            length,
            letters: LETTERS,
        }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dice = Dice(self.seed);
        let mut left = self.length;
        while left > 0 {
            let mut chunk = [0; 80];
            for ten in chunk.chunks_mut(10) {
                let roll = dice.roll();
                for (at, letter) in ten.iter_mut().enumerate() {
                    *letter = self.letters[(roll >> (6 * at)) as usize & 63];
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
    fn a_text_survives_its_way_through_json() {
        for text in ["", "plain", "a \"b\" \\ c\n\td", "文件\u{1b}"] {
            let back: String = serde_json::from_str(&Json(text).to_string()).expect("a string of JSON");
            assert_eq!(back, text);
        }
        assert_eq!(
            (Bytes("hi").to_string(), Bytes("").to_string()),
            ("[104,105]".into(), "[]".into())
        );
    }

    #[test]
    fn ids_and_times_have_their_form() {
        let mut dice = Dice(1);
        let uuid = Uuid::roll(&mut dice).to_string();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
        let timed = Uuid::at(0x0123_4567_89ab, &mut dice).to_string();
        assert!(timed.starts_with("01234567-89ab-7"), "{timed}");
        assert_eq!(Time(1_780_444_800_123).to_string(), "2026-06-03T00:00:00.123Z");
        assert_eq!(Time(1_780_444_800_123).in_name(), "2026-06-03T00-00-00");
        assert_eq!(Noise::letters(&mut dice, 37).to_string().len(), 37);
    }
}
