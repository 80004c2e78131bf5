//! Search: finds the turns whose texts match a query.
//!
//! A query ([`query`]) is tested against the filters ([`filter`]) of all frames, newest session first. Frames that
//! may match are read, and every hit is verified on decoded text ([`matching`]). Hits of one turn are collected
//! across lines, frames and parts, and scored. Once enough hits are found, older sessions are not searched, and the
//! answer says so.
//!
//! Nothing here knows the store, the clock or the terminal: sessions and frames are numbers, and the caller passes
//! functions that read them. The result does not depend on the number of threads.

use std::io;

use transcript::{Agent, Field, Kinds, PartKind, Role, texts};

use crate::breaks;
use crate::packs::FrameBuffers;

mod beside;
mod glance;
pub mod matching;
mod pattern;
pub mod query;
mod raw;
mod run;
mod scan;
pub mod score;
pub mod snippet;
mod stride;

pub use crate::terms::vocabulary::{Vocabulary, WordCondition};
pub use crate::terms::{FrameMarks, filter, fold, vocabulary, words};
pub use beside::{TextsHit, match_texts};
pub use glance::LinePrefilter;
pub use query::Query;
pub use run::{hit_order, search};
pub use snippet::Snippet;

use scan::TurnOrGap;

/// A session to search. The caller passes sessions newest first.
#[derive(Debug, Clone, Default)]
pub struct SearchSession {
    /// When it was last active.
    pub at_ms: i64,
    pub parts: Vec<SearchPart>,
}

/// A part of a session: the log, or a spilled result.
#[derive(Debug, Clone)]
pub struct SearchPart {
    pub form: PartFormat,
    /// The lines of each turn, sorted by line.
    pub turns: Vec<TurnRange>,
    /// Sorted by line.
    pub frames: Vec<FrameRange>,
}

/// How the lines of a part are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartFormat {
    /// As records of an agent.
    Records(Agent),
    /// As the plain output of a tool.
    Plain,
}

impl PartFormat {
    /// Returns how a kind of part is parsed, or `None` if it is not searched.
    pub fn of(agent: Agent, kind: PartKind) -> Option<Self> {
        match kind {
            PartKind::Log | PartKind::ChatHistory => Some(Self::Records(agent)),
            PartKind::Spill => Some(Self::Plain),
            _ => None,
        }
    }
}

/// The lines of a turn, both ends inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRange {
    pub turn: u32,
    pub start_line: u64,
    pub end_line: u64,
}

/// A frame, identified by a number that the caller chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    pub key: u64,
    pub first_line: u64,
    pub lines: u64,
}

/// What is known about the event whose text is at a line and block. For a queued prompt, that is where the user typed
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFacts {
    pub line: u64,
    pub block: u32,
    pub tool: Option<Box<str>>,
    pub kinds: Kinds,
}

/// Functions that read the stored data for a search. They are called from several threads.
pub struct SearchSource<'r> {
    /// Returns the terms that a frame may contain, one bit each, as [`may_hold`] computes them from its filter.
    pub terms: &'r (dyn Fn(u64) -> u32 + Sync),
    /// Reads the lines of a frame into buffers that belong to the thread.
    pub lines: &'r (dyn Fn(u64, &mut FrameBuffers) -> io::Result<()> + Sync),
    /// Returns the event facts of a part, sorted by line and block. The arguments are the index of the session and of
    /// the part. Called only if fields of the query need them.
    pub facts: &'r (dyn Fn(usize, usize) -> Vec<EventFacts> + Sync),
    /// Returns `true` once the caller no longer needs the answer.
    pub is_cancelled: &'r (dyn Fn() -> bool + Sync),
}

/// How much work to do for a query.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// The current time, because the age of a session affects the score.
    pub now_ms: i64,
    /// Older sessions are not searched once this many hits are found.
    pub enough: HitTarget,
    pub threads: usize,
}

/// How many hits end the search. A query for words that occur everywhere searches only the newest sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitTarget {
    /// This many turns always end the search.
    pub turns: usize,
    /// This many turns end the search once `frames` frames were read.
    pub few: usize,
    /// The number of frames after which `few` turns are enough.
    pub frames: usize,
}

impl HitTarget {
    /// Requires the given number of turns, regardless of the work.
    pub fn of(turns: usize) -> Self {
        Self {
            turns,
            few: turns,
            frames: 0,
        }
    }

    pub fn is_found(self, turns: usize, frames: usize) -> bool {
        turns >= self.turns || (turns >= self.few && frames >= self.frames)
    }

    /// Returns what is still missing, which is always at least one turn.
    pub fn without(self, turns: usize, frames: usize) -> Self {
        Self {
            turns: self.turns.saturating_sub(turns).max(1),
            few: self.few.saturating_sub(turns).max(1),
            frames: self.frames.saturating_sub(frames),
        }
    }
}

/// A turn that matches the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Index of the session among those that were passed.
    pub session: usize,
    /// `None` if the text is outside all turns.
    pub turn: Option<u32>,
    pub score: u32,
    /// Number of texts in the turn that contain a term.
    pub texts: u32,
    /// The part of the text that best shows the match.
    pub part: usize,
    pub line: u64,
    pub block: u32,
    pub field: Field,
    pub role: Role,
    pub tool: Option<Box<str>>,
    pub snippet: Snippet,
}

/// The results of a search, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    pub hits: Vec<SearchHit>,
    /// `true` if the search ended before all sessions were searched.
    pub is_partial: bool,
    /// `true` if the search was cancelled.
    pub is_cancelled: bool,
    pub work: SearchCost,
    /// Frames that could not be read, and why.
    pub unreadable: Vec<(u64, String)>,
}

/// What a search cost. It counts only the sessions that contribute to the answer, however far other threads had
/// advanced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchCost {
    pub sessions: usize,
    /// Frames whose filter was tested, or that an index named.
    pub asked: usize,
    /// Frames that were read.
    pub read: usize,
    pub bytes_read: u64,
}

/// Builds the filter of a frame's masked lines. `builder` can be reused for the next frame.
pub fn build_filter(form: PartFormat, lines: &[u8], builder: &mut filter::FilterBuilder) -> Vec<u8> {
    each_text(form, lines, &mut |text| builder.add(text));
    builder.finish()
}

/// Returns only the words of a frame's masked lines.
pub fn collect_words(form: PartFormat, lines: &[u8], words: &mut Vocabulary) -> String {
    each_text(form, lines, &mut |text| words.add(text));
    words.finish()
}

/// Calls `take` with every text of masked lines.
pub(crate) fn each_text(form: PartFormat, lines: &[u8], take: &mut dyn FnMut(&str)) {
    for line in breaks::bare_lines(lines) {
        match form {
            PartFormat::Records(agent) => texts(agent, line).iter().for_each(|text| take(&text.text)),
            PartFormat::Plain => take(&String::from_utf8_lossy(line)),
        }
    }
}

/// Returns the terms of a query that a frame with this filter may contain, one bit each. A frame without a filter may
/// contain all of them.
pub fn may_hold(query: &Query, filter: Option<&[u8]>) -> u32 {
    let all = query.wanted() | query.unwanted();
    match filter.map(filter::Filter::read) {
        Some(Ok(filter)) => possible_terms(query, &filter),
        _ => all,
    }
}

/// Returns the terms of a query that a filter does not exclude, one bit each.
pub(crate) fn possible_terms(query: &Query, filter: &filter::Filter<'_>) -> u32 {
    let terms = query.terms.iter().enumerate();
    terms
        .filter(|(_, term)| filter.may_hold(&term.need))
        .fold(0, |mask, (at, _)| mask | 1 << at)
}

impl SearchPart {
    /// Returns the turn that contains a line, or the gap between turns.
    fn place_of_line(&self, number: usize, line: u64) -> TurnOrGap {
        let before = self.turns.partition_point(|turn| turn.start_line <= line);
        match before.checked_sub(1).map(|at| self.turns[at]) {
            Some(turn) if line <= turn.end_line => TurnOrGap::Turn(turn.turn),
            _ => TurnOrGap::Outside(number, before),
        }
    }
}
