//! The words of a session, each once and in small letters, for the search over all pages.
//!
//! Everything that was said or given back passes through here, and most of it was there before: a short word is known
//! again by a number that its letters make, without being looked up as text.

use rustc_hash::FxHashSet;

/// Longer runs of letters are keys and hashes: nobody types them from memory.
const WORD_CHARS: std::ops::RangeInclusive<usize> = 3..=48;
const WORDS_MAX: usize = 200_000;
/// A short word fits into a number.
const SHORT_BYTES: usize = size_of::<u128>();
/// The same byte everywhere in a number.
const EVERY: u128 = u128::MAX / 0xff;

/// The words of texts, each once, in small letters.
#[derive(Default)]
pub(super) struct Words<'t> {
    /// Short words of ASCII: their letters, the first one on top, so that they are ordered as words are.
    short: FxHashSet<u128>,
    /// Others as they stand: most come many times, and are made small once.
    seen: FxHashSet<&'t str>,
    small: FxHashSet<String>,
}

impl<'t> Words<'t> {
    pub(super) fn add(&mut self, text: &'t str) {
        let bytes = text.as_bytes();
        let mut start = 0;
        while let Some(skipped) = bytes[start..].iter().position(|byte| IN_WORDS[usize::from(*byte)]) {
            start += skipped;
            let rest = &bytes[start..];
            let length = rest.iter().position(|byte| !IS_PLAIN[usize::from(*byte)]);
            let length = length.unwrap_or(rest.len());
            if rest.get(length).is_some_and(|byte| !byte.is_ascii()) {
                start = self.add_any(text, start, start + length);
                continue;
            }
            if (*WORD_CHARS.start()..=SHORT_BYTES).contains(&length) {
                if self.has_room() {
                    self.short.insert(number_of(rest, length));
                }
            } else if WORD_CHARS.contains(&length) {
                self.add_text(&text[start..start + length]);
            }
            start += length;
        }
    }

    /// A run that is not of ASCII alone, of which `end` is the first such place; gives where to go on.
    fn add_any(&mut self, text: &'t str, start: usize, end: usize) -> usize {
        let rest = &text[end..];
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let end = end + length.unwrap_or(rest.len());
        let word = &text[start..end];
        // Scripts without spaces have long runs; they are cut into pieces that can be found.
        if !word.is_ascii() || WORD_CHARS.contains(&word.len()) {
            self.add_text(word);
        }
        // Whatever ended the word is passed over.
        end + text[end..].chars().next().map_or(0, char::len_utf8)
    }

    fn add_text(&mut self, word: &'t str) {
        if self.has_room() && self.seen.insert(word) {
            self.small.insert(word.to_lowercase());
        }
    }

    fn has_room(&self) -> bool {
        self.short.len() + self.small.len() < WORDS_MAX
    }

    /// Appends all words in their order, one per line.
    pub(super) fn push_in_order(self, out: &mut String) {
        let mut short: Vec<u128> = self.short.into_iter().collect();
        short.sort_unstable();
        let mut long: Vec<String> = self.small.into_iter().collect();
        long.sort_unstable();
        let mut long = long.into_iter().peekable();
        let begin = out.len();
        for number in short {
            let bytes = number.to_be_bytes();
            let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(SHORT_BYTES);
            let word = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
            while let Some(before) = long.next_if(|long| long.as_str() <= word) {
                // Small letters of other scripts may be a short word of ASCII, which stands here already.
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

/// The bytes that a word of ASCII is made of.
const IS_PLAIN: [bool; 256] = bytes_of_words(false);
/// The bytes with which a word may begin: those of other scripts are looked at closer.
const IN_WORDS: [bool; 256] = bytes_of_words(true);

const fn bytes_of_words(with_others: bool) -> [bool; 256] {
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

/// The letters of a short word of ASCII as a number, made small.
fn number_of(bytes: &[u8], length: usize) -> u128 {
    let letters = match bytes.first_chunk::<SHORT_BYTES>() {
        Some(chunk) => *chunk,
        None => {
            let mut letters = [0; SHORT_BYTES];
            letters[..length].copy_from_slice(&bytes[..length]);
            letters
        }
    };
    let behind = (SHORT_BYTES - length) * 8;
    small(u128::from_be_bytes(letters) >> behind << behind)
}

/// Capital letters of ASCII made small, all at once. No byte is above 0x7f, so none carries into its neighbour.
fn small(letters: u128) -> u128 {
    let from_a = letters + EVERY * (0x80 - b'A' as u128);
    let behind_z = letters + EVERY * (0x7f - b'Z' as u128);
    let is_capital = (from_a ^ behind_z) & (EVERY * 0x80);
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
            let mut words = Words::default();
            texts.iter().for_each(|text| words.add(text));
            let runs = texts.iter().flat_map(|text| text.split(|c: char| !(c.is_alphanumeric() || c == '_')));
            let wanted = runs.filter(|run| !run.is_empty() && (!run.is_ascii() || WORD_CHARS.contains(&run.len())));
            let expected: BTreeSet<String> = wanted.map(str::to_lowercase).collect();
            let mut told = String::new();
            words.push_in_order(&mut told);
            prop_assert_eq!(told, expected.into_iter().collect::<Vec<_>>().join("\n"));
        }
    }
}
