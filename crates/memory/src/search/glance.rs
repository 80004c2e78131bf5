//! A quick test of the lines of a frame before any of them is decoded. It may have false positives, but never false
//! negatives.
//!
//! The literal letters of a query, or an expression that [`super::raw`] has relaxed, are searched for in the whole
//! frame, and only lines with a match are returned. Lines that may spell the same text differently are returned as
//! well: with escapes, with letters that are not composed, or as lists of numbers, as Grok writes the output of
//! commands.

use std::ops::Range;

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter};
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_syntax::hir::Hir;
use transcript::Agent;

use super::PartFormat;
use super::fold::is_composed;
use super::query::Query;
use super::stride::ByteSkipper;

/// Maximum size of the cache of an expression while it runs. An expression that needs more is not used for the quick
/// test.
const CACHE_BYTES: usize = 8 << 20;

/// Tests frames against one query. Clone it for another thread.
#[derive(Clone)]
pub struct LinePrefilter {
    test: LineTest,
    escapes: Finder<'static>,
}

#[derive(Clone)]
enum LineTest {
    /// Letters that every match contains literally, ignoring case.
    Letters(Regex),
    /// An expression that matches every line with a match.
    Relaxed(Box<RelaxedRegex>),
    /// Nothing could be searched for, so every line may match.
    Anything,
}

#[derive(Clone)]
struct RelaxedRegex {
    dfa: DFA,
    cache: Cache,
    skipper: Option<ByteSkipper>,
}

impl LinePrefilter {
    pub fn new(query: &Query) -> Self {
        Self {
            test: LineTest::of(query),
            escapes: Finder::new(b"\\u"),
        }
    }

    /// Calls `take` with each line that may match and its index in the frame, starting at 0, until `take` returns
    /// `false`.
    pub fn each_line<'f>(&mut self, form: PartFormat, frame: &'f [u8], take: &mut dyn FnMut(u64, &'f [u8]) -> bool) {
        let mut match_at = NextPosition::default();
        let mut escape_at = NextPosition::default();
        let mut start = 0;
        let mut number = 0;
        while start < frame.len() {
            let end = memchr(b'\n', &frame[start..]).map_or(frame.len(), |at| start + at);
            let line = &frame[start..end];
            let may_hold = match &mut self.test {
                LineTest::Anything => true,
                test => {
                    match_at.is_before(start, end, |from| test.find_next(frame, from))
                        || escape_at.is_before(start, end, |from| next_escape(&self.escapes, frame, from))
                        || test.is_spelled_differently(form, line)
                }
            };
            if may_hold && !take(number, line) {
                return;
            }
            start = end + 1;
            number += 1;
        }
    }

    /// Returns `true` if a line may contain a match.
    pub fn may_hold(&mut self, form: PartFormat, line: &[u8]) -> bool {
        let mut may_hold = false;
        self.each_line(form, line, &mut |_, _| {
            may_hold = true;
            false
        });
        may_hold
    }
}

impl LineTest {
    fn of(query: &Query) -> Self {
        if let Some(letters) = letters_regex(query) {
            return Self::Letters(letters);
        }
        match query.terms.as_slice() {
            [only] => only
                .raw
                .as_ref()
                .and_then(RelaxedRegex::new)
                .map_or(Self::Anything, |raw| Self::Relaxed(Box::new(raw))),
            _ => Self::Anything,
        }
    }

    /// Returns a position in the line of the next match.
    fn find_next(&mut self, frame: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Letters(letters) => letters.find_at(frame, from).map(|found| found.start()),
            Self::Relaxed(raw) => raw.find_next(frame, from),
            Self::Anything => Some(from),
        }
    }

    fn is_spelled_differently(&self, form: PartFormat, line: &[u8]) -> bool {
        let is_not_composed = || match self {
            Self::Letters(_) | Self::Anything => false,
            Self::Relaxed(_) => !line.is_ascii() && !std::str::from_utf8(line).is_ok_and(is_composed),
        };
        (form == PartFormat::Records(Agent::Grok) && has_numbers(line)) || is_not_composed()
    }
}

impl RelaxedRegex {
    fn new(hir: &Hir) -> Option<Self> {
        let nfa = thompson::Compiler::new().build_from_hir(hir).ok()?;
        let config = DFA::config().cache_capacity(CACHE_BYTES);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let cache = dfa.create_cache();
        let skipper = ByteSkipper::of(hir);
        Some(Self { dfa, cache, skipper })
    }

    /// Returns the last byte of the match that ends first. If the search fails, the match may be anywhere, so it
    /// returns `from`.
    fn find_next(&mut self, frame: &[u8], from: usize) -> Option<usize> {
        let Some(skipper) = &self.skipper else {
            return find_first_end(&self.dfa, &mut self.cache, frame, from..frame.len());
        };
        let mut at = from;
        while let Some(range) = skipper.next_range(frame, at) {
            at = range.end;
            let found = find_first_end(&self.dfa, &mut self.cache, frame, range);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

fn find_first_end(dfa: &DFA, cache: &mut Cache, frame: &[u8], span: Range<usize>) -> Option<usize> {
    let from = span.start;
    match dfa.try_search_fwd(cache, &Input::new(frame).span(span).earliest(true)) {
        Ok(found) => found.map(|found| found.offset().saturating_sub(1).max(from)),
        Err(_) => Some(from),
    }
}

/// The next position of something in a frame, which is searched for only once.
#[derive(Default)]
struct NextPosition {
    /// The next position, or `None` if there is none.
    at: Option<usize>,
    is_known: bool,
}

impl NextPosition {
    /// Returns `true` if there is a position between `start` and `end`. `next` finds the first one from a position
    /// on.
    fn is_before(&mut self, start: usize, end: usize, next: impl FnOnce(usize) -> Option<usize>) -> bool {
        if !self.is_known || self.at.is_some_and(|at| at < start) {
            self.at = next(start);
            self.is_known = true;
        }
        self.at.is_some_and(|at| at < end)
    }
}

/// Builds the search for the literal letters of all terms, or returns `None` if a term has none.
fn letters_regex(query: &Query) -> Option<Regex> {
    let letters: Option<Vec<&str>> = query.terms.iter().map(|term| term.plain.as_deref()).collect();
    let letters = letters.filter(|letters| !letters.is_empty())?.join("|");
    RegexBuilder::new(&letters).case_insensitive(true).build().ok()
}

/// Returns the next numeric escape that may be a letter. Escapes of control characters are skipped because terminal
/// colors use them.
fn next_escape(escapes: &Finder<'_>, frame: &[u8], from: usize) -> Option<usize> {
    let mut found = escapes.find_iter(&frame[from..]).map(|at| from + at);
    found.find(|at| !matches!(frame.get(at + 2..at + 5), Some(b"000" | b"001")))
}

/// Returns `true` if a line has a list that starts with a number.
fn has_numbers(line: &[u8]) -> bool {
    memchr_iter(b'[', line).any(|at| {
        line[at + 1..]
            .trim_ascii_start()
            .first()
            .is_some_and(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching_lines(query: &Query, form: PartFormat, frame: &[u8]) -> Vec<u64> {
        let mut matching_lines = Vec::new();
        LinePrefilter::new(query).each_line(form, frame, &mut |number, _| {
            matching_lines.push(number);
            true
        });
        matching_lines
    }

    #[test]
    fn only_lines_that_may_match_are_returned() {
        let claude = PartFormat::Records(Agent::Claude);
        let frame = "{\"a\":\"call 555-1234\"}\n{\"a\":\"none\"}\n\n{\"a\":\"\\u0035\"}\n{\"a\":\"e\u{301}\"}\n{\"a\":\"é 999-0000\"}";
        let digits = Query::regex(r"\d{3}-\d{4}").unwrap();
        assert_eq!(matching_lines(&digits, claude, frame.as_bytes()), [0, 3, 4, 5]);
        let word = Query::words("call").unwrap();
        assert_eq!(matching_lines(&word, claude, frame.as_bytes()), [0, 3]);
        let nothing = Query::regex(".").unwrap();
        assert_eq!(matching_lines(&nothing, claude, b"a\nb\n"), [0, 1]);
    }

    #[test]
    fn lists_of_numbers_in_grok_logs_may_match() {
        let line = br#"{"output":[ 110,101]}"#;
        let word = Query::words("needle").unwrap();
        assert_eq!(matching_lines(&word, PartFormat::Records(Agent::Grok), line), [0]);
        assert!(matching_lines(&word, PartFormat::Records(Agent::Codex), line).is_empty());
        assert!(matching_lines(&word, PartFormat::Records(Agent::Grok), br#"{"output":["a"]}"#).is_empty());
    }

    #[test]
    fn an_escape_at_the_end_of_the_frame_is_noticed() {
        let word = Query::words("needle").unwrap();
        assert_eq!(
            matching_lines(&word, PartFormat::Records(Agent::Claude), b"x\n\\u"),
            [1]
        );
    }
}
