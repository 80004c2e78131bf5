//! Tokens that a terminal broke where its line was full: the next line goes on with the rest.
//!
//! Only tokens with a known beginning are put together again. The line break between two pieces stays where
//! it is. It may still be escaped, and a wrapped line is never indented.

use super::judge::{Classes, is_wordy};
use super::rules::Tail;
use super::text::{is_word, skip};
use std::ops::Range;

/// Over how many line ends one token is followed.
pub(super) const BREAKS_MAX: usize = 3;
/// The fewest bytes of a token before its first break: less is a prefix that somebody only names.
const HEAD_BYTES_MIN: usize = 8;
/// The fewest bytes that are taken for the rest of a token which could also end at its break.
const REST_BYTES_MIN: usize = 6;
/// No terminal is narrower.
const WIDTH_MIN: usize = 40;

/// A text without its first line breaks.
pub(super) struct Joined {
    pub(super) text: Vec<u8>,
    /// The lines: where each begins in the joined text, and where it stands in the text itself.
    lines: Vec<(usize, usize)>,
}

impl Joined {
    /// Where a range of the joined text stands, line by line.
    pub(super) fn pieces(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let ends = self.lines.iter().skip(1).map(|line| line.0).chain([self.text.len()]);
        let pieces = self.lines.iter().zip(ends).filter_map(|((start, origin), end)| {
            let (from, to) = (range.start.max(*start), range.end.min(end));
            (from < to).then(|| origin + from - start..origin + to - start)
        });
        pieces.collect()
    }
}

/// Joins the token at `start` with the lines behind it, over exactly so many breaks. `None` where there are not so many.
pub(super) fn join(text: &[u8], start: usize, breaks: usize, bytes_max: usize) -> Option<Joined> {
    let mut joined = Joined {
        text: Vec::new(),
        lines: Vec::new(),
    };
    let mut at = start;
    for line in 0..=breaks {
        let end = run_end(text, at).min(at + bytes_max);
        let is_enough = if line == 0 {
            end - at >= HEAD_BYTES_MIN
        } else {
            end > at
        };
        if !is_enough {
            return None;
        }
        joined.lines.push((joined.text.len(), at));
        joined.text.extend_from_slice(&text[at..end]);
        at = end;
        if line < breaks {
            at = break_end(text, end)?;
        }
    }
    // What stands behind decides whether the token ends there.
    joined.text.extend(text.get(at));
    Some(joined)
}

/// The lines on which a token goes on that ends with its line, if they look like it.
pub(super) fn rest_of(text: &[u8], token: &Range<usize>, tail: Tail) -> Vec<Range<usize>> {
    let mut rest: Vec<Range<usize>> = Vec::new();
    let line_start = text[..token.end]
        .iter()
        .rev()
        .take(WIDTH_MIN)
        .take_while(|byte| **byte != b'\n')
        .count();
    if tail == Tail::Exact || line_start < WIDTH_MIN {
        return rest;
    }
    let mut end = token.end;
    while rest.len() < BREAKS_MAX
        && let Some(start) = break_end(text, end)
    {
        let stop = skip(text, start, 512, |byte| is_word(byte) || byte == b'-');
        let piece = &text[start..stop];
        let classes = Classes::of(piece);
        let is_random = piece.len() >= REST_BYTES_MIN && classes.digit && classes.letter() && !is_wordy(piece);
        // A name and its value, a path, a file.
        let is_more = matches!(text.get(stop), Some(b'=' | b':' | b'/' | b'.' | b'('));
        if !is_random || is_more {
            break;
        }
        rest.push(start..stop);
        end = stop;
    }
    rest
}

/// Where a run of characters ends that tokens are made of.
fn run_end(text: &[u8], at: usize) -> usize {
    skip(text, at, usize::MAX, |byte| {
        is_word(byte) || matches!(byte, b'-' | b'.' | b'+' | b'/' | b'=' | b'~')
    })
}

/// Where the next line begins, if this one ends at `at`.
fn break_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let breaks: [&[u8]; 6] = [b"\n", b"\r\n", b"\\n", b"\\r\\n", b"\\\\n", b"\\\\r\\\\n"];
    let length = breaks.iter().find(|sign| rest.starts_with(sign))?.len();
    Some(at + length)
}
