//! Skips ranges of bytes that cannot contain a match, with steps as long as the shortest match.
//!
//! A match covers the last byte of at least one step, and all bytes of a match are from a small set. If the last byte
//! of a step is not in this set, no match covers it.

use std::ops::Range;

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;

/// A shorter step costs more than it saves.
const STEP_MIN: usize = 4;
/// Maximum number of ASCII bytes that may occur in a match. If there were more, most steps would end at one of them.
const ASCII_MAX: usize = 24;

/// The step length and the byte set of an expression.
#[derive(Clone)]
pub(super) struct ByteSkipper {
    step: usize,
    /// `true` for bytes that may occur in a match.
    may_occur: Box<[bool; 256]>,
}

impl ByteSkipper {
    /// Returns `None` if the steps would be too short, or would rarely skip anything.
    pub(super) fn of(hir: &Hir) -> Option<Self> {
        let step = hir.properties().minimum_len().filter(|step| *step >= STEP_MIN)?;
        let mut may_occur = Box::new([false; 256]);
        mark_bytes(hir, &mut may_occur);
        let printable = may_occur[..0x80].iter().filter(|may| **may).count();
        (printable <= ASCII_MAX).then_some(Self { step, may_occur })
    }

    /// Returns the next range, starting at `from`, that may contain matches. No match extends beyond it.
    pub(super) fn next_range(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        let ends = |start: usize| (start + self.step - 1..bytes.len()).step_by(self.step);
        let first = ends(from).find(|at| self.may_occur[usize::from(bytes[*at])])?;
        let end = ends(first + 1).find(|at| !self.may_occur[usize::from(bytes[*at])]);
        Some(first + 1 - self.step..end.unwrap_or(bytes.len()))
    }
}

/// Marks the bytes that may occur in matches.
fn mark_bytes(hir: &Hir, may_occur: &mut [bool; 256]) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => literal.0.iter().for_each(|byte| may_occur[usize::from(*byte)] = true),
        HirKind::Class(Class::Bytes(class)) => {
            for range in class.iter() {
                (range.start()..=range.end()).for_each(|byte| may_occur[usize::from(byte)] = true);
            }
        }
        HirKind::Class(Class::Unicode(class)) => {
            for range in class.iter() {
                for bytes in Utf8Sequences::new(range.start(), range.end()).flat_map(|one| one.as_slice().to_vec()) {
                    (bytes.start..=bytes.end).for_each(|byte| may_occur[usize::from(byte)] = true);
                }
            }
        }
        HirKind::Repetition(repetition) => mark_bytes(&repetition.sub, may_occur),
        HirKind::Capture(capture) => mark_bytes(&capture.sub, may_occur),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| mark_bytes(part, may_occur));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn skipper(expression: &str) -> Option<ByteSkipper> {
        ByteSkipper::of(&regex_syntax::parse(expression).unwrap())
    }

    #[test]
    fn expressions_with_short_or_arbitrary_matches_have_no_skipper() {
        for expression in [r"\d{3}", r"[a-z]{4,}_\d", r"\w{8}", ""] {
            assert!(skipper(expression).is_none(), "{expression}");
        }
        assert!(skipper(r"\d{3}-\d{4}").is_some());
    }

    #[test]
    fn ranges_without_the_bytes_of_a_match_are_skipped() {
        let digits = skipper(r"[0-9]{4}").unwrap();
        assert_eq!(digits.next_range(b"abcdefgh", 0), None);
        assert_eq!(digits.next_range(b"abcdefg12345xyzabcd", 0), Some(4..15));
    }

    proptest! {
        /// Checks that all matches are within the returned ranges, whatever surrounds them.
        #[test]
        fn no_match_is_skipped(bytes in "[a-c0-3é٣-]{0,80}", from in 0usize..8) {
            for expression in [r"\d{2}-\d{2}", r"(\d-?){4,}", r"(0123|3210|٣٣)+-?\d{0}"] {
                let regex = regex::bytes::Regex::new(expression).unwrap();
                let Some(skipper) = skipper(expression) else { continue };
                let bytes = bytes.as_bytes();
                let from = from.min(bytes.len());
                let mut ranges = Vec::new();
                let mut at = from;
                while let Some(range) = skipper.next_range(bytes, at) {
                    at = range.end;
                    ranges.push(range);
                }
                for found in regex.find_iter(&bytes[from..]) {
                    let (start, end) = (from + found.start(), from + found.end());
                    let is_held = ranges.iter().any(|held| held.start <= start && end <= held.end);
                    prop_assert!(is_held, "{start}..{end} of {expression} in {ranges:?}");
                }
            }
        }
    }
}
