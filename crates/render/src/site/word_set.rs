//! Collects the distinct lower-case words of a session for the search over all pages.
//!
//! All text of a session passes through here, and most words repeat. A short word is therefore packed into an integer, which is
//! cheaper to hash than text.

use rustc_hash::FxHashSet;

/// Longer runs of letters are keys and hashes, which users do not search for.
const WORD_CHARS: std::ops::RangeInclusive<usize> = 3..=48;
const WORDS_MAX: usize = 200_000;
/// A word of at most this many bytes fits into a `u128`.
const SHORT_BYTES: usize = size_of::<u128>();
/// Multiplying by this repeats a byte in all bytes of a `u128`.
const EVERY_BYTE: u128 = u128::MAX / 0xff;

/// A set of lower-case words.
#[derive(Default)]
pub(super) struct WordSet<'t> {
    /// Short ASCII words. The first letter is the most significant byte, so that integers sort like the words.
    short: FxHashSet<u128>,
    /// Other words as written. Most repeat, and each spelling is converted to lower case only once.
    seen_as_written: FxHashSet<&'t str>,
    lower: FxHashSet<String>,
}

impl<'t> WordSet<'t> {
    pub(super) fn add(&mut self, text: &'t str) {
        let bytes = text.as_bytes();
        let mut start = 0;
        while let Some(skipped) = bytes[start..].iter().position(|byte| STARTS_WORD[usize::from(*byte)]) {
            start += skipped;
            let rest = &bytes[start..];
            let length = rest.iter().position(|byte| !IS_WORD_BYTE[usize::from(*byte)]);
            let length = length.unwrap_or(rest.len());
            if rest.get(length).is_some_and(|byte| !byte.is_ascii()) {
                start = self.add_non_ascii(text, start, start + length);
                continue;
            }
            if (*WORD_CHARS.start()..=SHORT_BYTES).contains(&length) {
                if self.has_room() {
                    self.short.insert(pack_word(rest, length));
                }
            } else if WORD_CHARS.contains(&length) {
                self.add_word(&text[start..start + length]);
            }
            start += length;
        }
    }

    /// Adds the word at `start`, whose first non-ASCII byte is at `end`, and returns the position after it.
    fn add_non_ascii(&mut self, text: &'t str, start: usize, end: usize) -> usize {
        let rest = &text[end..];
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let end = end + length.unwrap_or(rest.len());
        let word = &text[start..end];
        // Scripts without spaces have long runs, so non-ASCII words have no maximum length.
        if !word.is_ascii() || WORD_CHARS.contains(&word.len()) {
            self.add_word(word);
        }
        // Skip the character that ended the word.
        end + text[end..].chars().next().map_or(0, char::len_utf8)
    }

    fn add_word(&mut self, word: &'t str) {
        if self.has_room() && self.seen_as_written.insert(word) {
            self.lower.insert(word.to_lowercase());
        }
    }

    fn has_room(&self) -> bool {
        self.short.len() + self.lower.len() < WORDS_MAX
    }

    /// Appends all words in sorted order, one per line.
    pub(super) fn push_sorted(self, out: &mut String) {
        let mut short: Vec<u128> = self.short.into_iter().collect();
        short.sort_unstable();
        let mut long: Vec<String> = self.lower.into_iter().collect();
        long.sort_unstable();
        let mut long = long.into_iter().peekable();
        let begin = out.len();
        for number in short {
            let bytes = number.to_be_bytes();
            let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(SHORT_BYTES);
            let word = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
            while let Some(before) = long.next_if(|long| long.as_str() <= word) {
                // Lower-casing can turn a non-ASCII word into an ASCII one that is already in `short`: the Kelvin sign becomes `k`.
                if before != word {
                    push_line(out, begin, &before);
                }
            }
            push_line(out, begin, word);
        }
        long.for_each(|word| push_line(out, begin, &word));
    }
}

fn push_line(out: &mut String, begin: usize, word: &str) {
    if out.len() > begin {
        out.push('\n');
    }
    out.push_str(word);
}

/// Whether a byte is part of an ASCII word.
const IS_WORD_BYTE: [bool; 256] = word_bytes(false);
/// Whether a byte can start a word. Non-ASCII bytes are checked in detail later.
const STARTS_WORD: [bool; 256] = word_bytes(true);

const fn word_bytes(with_others: bool) -> [bool; 256] {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_ascii = byte < 0x80;
        let letter = byte as u8;
        bytes[byte] = if is_ascii {
            letter.is_ascii_alphanumeric() || letter == b'_'
        } else {
            with_others
        };
        byte += 1;
    }
    bytes
}

/// Packs a short ASCII word into an integer, in lower case.
fn pack_word(bytes: &[u8], length: usize) -> u128 {
    let letters = match bytes.first_chunk::<SHORT_BYTES>() {
        Some(chunk) => *chunk,
        None => {
            let mut letters = [0; SHORT_BYTES];
            letters[..length].copy_from_slice(&bytes[..length]);
            letters
        }
    };
    let behind = (SHORT_BYTES - length) * 8;
    ascii_lowercase(u128::from_be_bytes(letters) >> behind << behind)
}

/// Converts sixteen ASCII letters to lower case at once. No byte is above 0x7f, so no addition carries into the next byte.
fn ascii_lowercase(letters: u128) -> u128 {
    let from_a = letters + EVERY_BYTE * (0x80 - b'A' as u128);
    let behind_z = letters + EVERY_BYTE * (0x7f - b'Z' as u128);
    let is_capital = (from_a ^ behind_z) & (EVERY_BYTE * 0x80);
    letters | is_capital >> 2
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_runs_of_letters_and_figures_made_small(
            texts in proptest::collection::vec("[aAbBzZ@\\[éÉ文İ\u{212A}ß_ 7\u{301},;\u{1F600}]{0,60}", 0..5),
        ) {
            let mut words = WordSet::default();
            texts.iter().for_each(|text| words.add(text));
            let runs = texts.iter().flat_map(|text| text.split(|c: char| !(c.is_alphanumeric() || c == '_')));
            let wanted = runs.filter(|run| !run.is_empty() && (!run.is_ascii() || WORD_CHARS.contains(&run.len())));
            let expected: BTreeSet<String> = wanted.map(str::to_lowercase).collect();
            let mut lines = String::new();
            words.push_sorted(&mut lines);
            prop_assert_eq!(lines, expected.into_iter().collect::<Vec<_>>().join("\n"));
        }
    }
}
