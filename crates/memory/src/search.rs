//! Search: which turns of which sessions hold what somebody asks for.
//!
//! A question ([`query`]) asks the filters ([`filter`]) of all frames, newest session first. Frames that may hold something are
//! read, every hit is verified on decoded text ([`matching`]), hits of one turn are gathered over lines, frames and parts, and
//! scored. When enough is found, older sessions are not asked, and the answer says so.
//!
//! Nothing here knows the store, the clock or the terminal: sessions and frames are numbers, and whoever asks gives functions
//! which read them. The same question over the same sessions has the same answer, on any number of threads.

use std::io;

use transcript::{Agent, Field, Kinds, PartKind, Role, texts};

use crate::breaks;
use crate::packs::Scratch;

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

pub use crate::terms::vocabulary::{Sought, Vocabulary};
pub use crate::terms::{Marks, filter, fold, vocabulary, words};
pub use beside::{Judged, judge};
pub use glance::Glance;
pub use query::Query;
pub use run::{rank, search};
pub use snippet::Snippet;

use scan::Place;

/// A session that can be searched. Sessions are given newest first.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// When it was last alive.
    pub at_ms: i64,
    pub parts: Vec<Part>,
}

/// A part of a session: the log, or a spilled result.
#[derive(Debug, Clone)]
pub struct Part {
    pub form: Form,
    /// Which lines belong to which turn, in the order of lines.
    pub turns: Vec<TurnRange>,
    /// In the order of lines.
    pub frames: Vec<FrameRange>,
}

/// How the lines of a part are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Records of an agent.
    Lines(Agent),
    /// What a tool gave back, as it is.
    Plain,
}

impl Form {
    /// How a kind of part is read; none where it is not searched.
    pub fn of(agent: Agent, kind: PartKind) -> Option<Self> {
        match kind {
            PartKind::Log | PartKind::ChatHistory => Some(Self::Lines(agent)),
            PartKind::Spill => Some(Self::Plain),
            _ => None,
        }
    }
}

/// The lines of a turn, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRange {
    pub turn: u32,
    pub start_line: u64,
    pub end_line: u64,
}

/// A frame by the number its owner gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    pub key: u64,
    pub first_line: u64,
    pub lines: u64,
}

/// What is known of the event whose text stands at a line and block; for a queued prompt that is where it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub line: u64,
    pub block: u32,
    pub tool: Option<Box<str>>,
    pub kinds: Kinds,
}

/// The functions by which search reaches what is kept. They are called from several threads.
pub struct Reach<'r> {
    /// Which terms a frame may hold, one bit for each, as [`may_hold`] tells it from the frame's filter.
    pub terms: &'r (dyn Fn(u64) -> u32 + Sync),
    /// Puts the lines of a frame into a thread's own memory.
    pub lines: &'r (dyn Fn(u64, &mut Scratch) -> io::Result<()> + Sync),
    /// The facts of a part, sorted by line and block: the number of the session, and of its part. Asked only where fields
    /// of the question need them.
    pub facts: &'r (dyn Fn(usize, usize) -> Vec<Fact> + Sync),
    /// Whether nobody waits for the answer any more.
    pub is_cancelled: &'r (dyn Fn() -> bool + Sync),
}

/// How much is done for one question.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The time of the question: age counts.
    pub now_ms: i64,
    /// No older session is asked once this is found.
    pub enough: Enough,
    pub threads: usize,
}

/// How much has to be found. Words that stand everywhere are not worth more than a look at the newest sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enough {
    /// So many turns are enough.
    pub turns: usize,
    /// So many are, too, when they took much reading.
    pub few: usize,
    /// How many frames are much.
    pub frames: usize,
}

impl Enough {
    /// Enough is so many turns, whatever it takes.
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

    /// What is still missing; never nothing.
    pub fn without(self, turns: usize, frames: usize) -> Self {
        Self {
            turns: self.turns.saturating_sub(turns).max(1),
            few: self.few.saturating_sub(turns).max(1),
            frames: self.frames.saturating_sub(frames),
        }
    }
}

/// A turn that holds what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which of the given sessions.
    pub session: usize,
    /// None where the text stands outside all turns.
    pub turn: Option<u32>,
    pub score: u32,
    /// How many texts of the turn hold something of it.
    pub texts: u32,
    /// The text that shows it best.
    pub part: usize,
    pub line: u64,
    pub block: u32,
    pub field: Field,
    pub role: Role,
    pub tool: Option<Box<str>>,
    pub snippet: Snippet,
}

/// What was found, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub hits: Vec<Hit>,
    /// Enough was found before all sessions were asked: these are the best of the newest.
    pub is_partial: bool,
    /// Nobody waited for the rest.
    pub is_cancelled: bool,
    pub work: Work,
    /// Frames that could not be read, and why.
    pub unreadable: Vec<(u64, String)>,
}

/// What a question cost. It tells of the sessions behind the answer, however far other threads had got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub sessions: usize,
    /// Frames whose filter was asked, or that an index named.
    pub asked: usize,
    /// Frames that were read.
    pub read: usize,
    pub bytes_read: u64,
}

/// Makes the filter of a frame's masked lines. `builder` is used again for the next frame.
pub fn filter_of(form: Form, lines: &[u8], builder: &mut filter::Builder) -> Vec<u8> {
    each_text(form, lines, &mut |text| builder.add(text));
    builder.finish()
}

/// The words of a frame's masked lines alone.
pub fn words_of(form: Form, lines: &[u8], words: &mut Vocabulary) -> String {
    each_text(form, lines, &mut |text| words.add(text));
    words.finish()
}

/// Gives every text of masked lines.
pub(crate) fn each_text(form: Form, lines: &[u8], take: &mut dyn FnMut(&str)) {
    for line in breaks::bare_lines(lines) {
        match form {
            Form::Lines(agent) => texts(agent, line).iter().for_each(|text| take(&text.text)),
            Form::Plain => take(&String::from_utf8_lossy(line)),
        }
    }
}

/// Which terms of a question a frame with this filter may hold, one bit for each. A frame without one may hold all.
pub fn may_hold(query: &Query, filter: Option<&[u8]>) -> u32 {
    let all = query.wanted() | query.unwanted();
    match filter.map(filter::Filter::read) {
        Some(Ok(filter)) => terms_in(query, &filter),
        _ => all,
    }
}

/// Which terms of a question a filter does not say no to, one bit for each.
pub(crate) fn terms_in(query: &Query, filter: &filter::Filter<'_>) -> u32 {
    let terms = query.terms.iter().enumerate();
    terms
        .filter(|(_, term)| filter.may_hold(&term.need))
        .fold(0, |mask, (at, _)| mask | 1 << at)
}

impl Part {
    /// Where a line belongs.
    fn place(&self, number: usize, line: u64) -> Place {
        let before = self.turns.partition_point(|turn| turn.start_line <= line);
        match before.checked_sub(1).map(|at| self.turns[at]) {
            Some(turn) if line <= turn.end_line => Place::Turn(turn.turn),
            _ => Place::Outside(number, before),
        }
    }
}
