//! The output of a reader: the delta of one piece of a log, and the reading that is the sum of all deltas.
//!
//! Reading never fails. What cannot be parsed is a [`Fault`], what is not known is counted as [`Unknown`], and every
//! physical line has exactly one [`Fate`].

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Tokens, counted};
use crate::event::{Kinds, SessionEvent};
use crate::session::{Session, Turn};
use crate::wording::{NAME_CHARS_MAX, cut};

/// A line of a log that could not be parsed, reported as `path:line: reason`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Fault {
    /// 1-based physical line.
    pub line: u64,
    pub reason: String,
    /// True if some of the line was read: a whole record after a torn one, or text with an invalid byte.
    pub mended: bool,
}

/// What became of a physical line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It gave at least one event.
    Event,
    /// Its type is known and gives no event.
    Skipped,
    /// Its type is not known.
    Unknown,
    /// It could not be parsed.
    Fault,
    /// It is empty.
    Blank,
}

/// The number of lines by fate. The sum is the number of lines of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Fates {
    pub event: u64,
    pub skipped: u64,
    pub unknown: u64,
    pub fault: u64,
    pub blank: u64,
}

impl Fates {
    /// Counts one line.
    pub fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Event => self.event += 1,
            Fate::Skipped => self.skipped += 1,
            Fate::Unknown => self.unknown += 1,
            Fate::Fault => self.fault += 1,
            Fate::Blank => self.blank += 1,
        }
    }

    /// Adds the lines of another piece or part.
    pub fn add(&mut self, other: &Self) {
        self.event += other.event;
        self.skipped += other.skipped;
        self.unknown += other.unknown;
        self.fault += other.fault;
        self.blank += other.blank;
    }

    /// Returns the number of all lines.
    pub fn lines(&self) -> u64 {
        self.event + self.skipped + self.unknown + self.fault + self.blank
    }
}

/// An unknown record type, by agent version: an early warning that the format changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct Unknown {
    pub version: Option<String>,
    /// `type`, or `type/subtype`.
    pub record: String,
}

/// A change to something that an earlier piece gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Amendment {
    /// The result of a tool call arrived.
    Joined {
        seq: u64,
        success: Option<bool>,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
        kinds: Kinds,
    },
    /// The call of a result came after it.
    Named {
        seq: u64,
        tool: Box<str>,
        parent_seq: Option<u64>,
    },
    /// A fuller row of an API call arrived.
    Billed { seq: u64, tokens: Option<Tokens> },
    /// The human rewound a turn.
    Rewound { turn: u32 },
    /// The input of a call arrived later than the call.
    Reworded {
        seq: u64,
        tool: Box<str>,
        summary: Box<str>,
        files: Vec<Box<str>>,
        kinds: Kinds,
    },
    /// An event belongs to the turn that started after it.
    Turned { seq: u64, turn: u32 },
}

/// What the lines of one piece add to a reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// The session as known after this piece.
    pub session: Option<Session>,
    pub events: Vec<SessionEvent>,
    /// Turns that started or continued in this piece, complete.
    pub turns: Vec<Turn>,
    /// API calls that are new or whose counting row changed, complete.
    pub calls: Vec<Call>,
    pub amendments: Vec<Amendment>,
    pub faults: Vec<Fault>,
    pub unknown: BTreeMap<Unknown, u64>,
    pub fates: Fates,
}

impl Delta {
    /// Counts an unknown record type. The names are untrusted and may be of any length.
    pub(crate) fn count_unknown(&mut self, version: Option<&str>, record: &str) {
        let version = version.map(|version| cut(version, NAME_CHARS_MAX).to_owned());
        let record = cut(if record.is_empty() { "(no type)" } else { record }, NAME_CHARS_MAX).to_owned();
        *self.unknown.entry(Unknown { version, record }).or_default() += 1;
    }

    /// Changes an event: directly if it belongs to this piece, else by an amendment.
    pub(crate) fn amend(&mut self, amendment: Amendment) {
        let Some(seq) = amendment.seq() else {
            let Amendment::Rewound { turn } = &amendment else {
                return;
            };
            // Turns are sorted because they end in their order.
            match self.turns.binary_search_by_key(turn, |known| known.turn) {
                Ok(at) => self.turns[at].rewound = true,
                Err(_) => self.amendments.push(amendment),
            }
            return;
        };
        let first = self.events.first().map(|event| event.seq);
        match first
            .and_then(|first| seq.checked_sub(first))
            .and_then(|at| self.events.get_mut(at as usize))
            .filter(|event| event.seq == seq)
        {
            Some(event) => amendment.apply(event),
            None => self.amendments.push(amendment),
        }
    }
}

/// Everything read from one log so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub session: Option<Session>,
    pub events: Vec<SessionEvent>,
    pub turns: Vec<Turn>,
    /// In the order in which they started.
    pub calls: Vec<Call>,
    call_at: HashMap<u64, usize>,
    pub faults: Vec<Fault>,
    pub unknown: BTreeMap<Unknown, u64>,
    pub fates: Fates,
}

impl Reading {
    /// Adds the delta of the next piece.
    pub fn apply(&mut self, delta: Delta) {
        // Parts that grow in parallel number their events from separate starts.
        let is_behind = |first: &SessionEvent| self.events.last().is_some_and(|last| first.seq < last.seq);
        let is_behind = delta.events.first().is_some_and(is_behind);
        self.events.extend(delta.events);
        if is_behind {
            self.events.sort_by_key(|event| event.seq);
        }
        for turn in delta.turns {
            match self.turns.binary_search_by_key(&turn.turn, |known| known.turn) {
                Ok(at) => self.turns[at] = turn,
                Err(at) => self.turns.insert(at, turn),
            }
        }
        for amendment in &delta.amendments {
            self.amend(amendment);
        }
        for call in delta.calls {
            match self.call_at.get(&call.key) {
                Some(at) => self.calls[*at] = call,
                None => {
                    self.call_at.insert(call.key, self.calls.len());
                    self.calls.push(call);
                }
            }
        }
        self.faults.extend(delta.faults);
        for (unknown, count) in delta.unknown {
            *self.unknown.entry(unknown).or_default() += count;
        }
        self.fates.add(&delta.fates);
        if delta.session.is_some() {
            self.session = delta.session;
        }
    }

    /// Counts each API call of this log once, in the session's cost block.
    pub fn settle(&mut self) {
        let calls: Vec<&Call> = self.calls.iter().collect();
        let counts = counted(&calls);
        if let Some(session) = &mut self.session {
            session.settle(
                calls
                    .into_iter()
                    .zip(counts)
                    .filter(|(_, counts)| *counts)
                    .map(|(call, _)| call),
            );
        }
    }

    fn amend(&mut self, amendment: &Amendment) {
        if let Some(seq) = amendment.seq() {
            if let Ok(at) = self.events.binary_search_by_key(&seq, |event| event.seq) {
                amendment.apply(&mut self.events[at]);
            }
        } else if let Amendment::Rewound { turn } = amendment
            && let Ok(at) = self.turns.binary_search_by_key(turn, |known| known.turn)
        {
            self.turns[at].rewound = true;
        }
    }
}

impl Amendment {
    /// Returns the event it changes, or `None` if it changes a turn.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Joined { seq, .. }
            | Self::Named { seq, .. }
            | Self::Billed { seq, .. }
            | Self::Reworded { seq, .. }
            | Self::Turned { seq, .. } => Some(*seq),
            Self::Rewound { .. } => None,
        }
    }

    /// Changes the event.
    pub fn apply(&self, event: &mut SessionEvent) {
        match self {
            Self::Joined {
                success,
                exit_code,
                duration_ms,
                kinds,
                ..
            } => {
                event.success = *success;
                event.exit_code = *exit_code;
                event.duration_ms = *duration_ms;
                event.kinds = event.kinds.union(*kinds);
            }
            Self::Named { tool, parent_seq, .. } => {
                event.tool = Some(tool.clone());
                if parent_seq.is_some() {
                    event.parent_seq = *parent_seq;
                }
            }
            Self::Billed { tokens, .. } => event.tokens = *tokens,
            Self::Reworded {
                tool,
                summary,
                files,
                kinds,
                ..
            } => {
                event.tool = Some(tool.clone());
                event.summary = summary.clone();
                event.files = files.clone();
                event.kinds = event.kinds.union(*kinds);
            }
            Self::Turned { turn, .. } => event.turn = Some(*turn),
            Self::Rewound { .. } => {}
        }
    }
}
