//! Tokens that a terminal wrapped at the end of a full line: the next line contains the rest.
//!
//! Only tokens with a known beginning are joined. The line break between two pieces is kept. It may still be escaped,
//! and a wrapped line is never indented.

use super::judge::{Classes, is_wordy};
use super::rules::Tail;
use super::text::{is_word, skip};
use std::ops::Range;

/// Maximum number of line breaks in one token.
pub(super) const BREAKS_MAX: usize = 3;
/// Minimum length of a token before its first line break; anything shorter may be a prefix that the text only mentions.
const HEAD_BYTES_MIN: usize = 8;
/// Minimum length of the rest of a token that could also end at its line break.
const REST_BYTES_MIN: usize = 6;
/// Minimum width of a terminal.
const WIDTH_MIN: usize = 40;

/// A text with its first line breaks removed.
pub(super) struct Joined {
    pub(super) text: Vec<u8>,
    /// The lines: the start of each in the joined text, and in the original text.
    lines: Vec<(usize, usize)>,
}

impl Joined {
    /// Maps a range of the joined text to ranges of the original text, one per line.
    pub(super) fn pieces(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let ends = self.lines.iter().skip(1).map(|line| line.0).chain([self.text.len()]);
        let pieces = self.lines.iter().zip(ends).filter_map(|((start, origin), end)| {
            let (from, to) = (range.start.max(*start), range.end.min(end));
            (from < to).then(|| origin + from - start..origin + to - start)
        });
        pieces.collect()
    }
}

/// Joins the token at `start` with the next lines, across exactly `breaks` line breaks. Returns `None` if there are
/// fewer.
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
    // The next character decides if the token ends there.
    joined.text.extend(text.get(at));
    Some(joined)
}

/// Returns the pieces of a token on the lines after it, if the token ends with its line and the pieces look like its
/// continuation.
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
        // The piece is a name with a value, a path, or a file.
        let is_more = matches!(text.get(stop), Some(b'=' | b':' | b'/' | b'.' | b'('));
        if !is_random || is_more {
            break;
        }
        rest.push(start..stop);
        end = stop;
    }
    rest
}

/// Returns the end of a run of characters that tokens can contain.
fn run_end(text: &[u8], at: usize) -> usize {
    skip(text, at, usize::MAX, |byte| {
        is_word(byte) || matches!(byte, b'-' | b'.' | b'+' | b'/' | b'=' | b'~')
    })
}

/// Returns the start of the next line if this line ends at `at`.
fn break_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let breaks: [&[u8]; 6] = [b"\n", b"\r\n", b"\\n", b"\\r\\n", b"\\\\n", b"\\\\r\\\\n"];
    let length = breaks.iter().find(|sign| rest.starts_with(sign))?.len();
    Some(at + length)
}
