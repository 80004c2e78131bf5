//! Calls of a model's API: what is billed. A call is written into logs many times over: one row per
//! content block, copies in forks and resumed sessions, replays by side questions. Here is which copy counts.

use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashMap as HashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one call, each kind apart. `input` leaves out what came from or went to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    /// What the model thought, where the log tells it apart. It is a part of `output`.
    #[serde(default)]
    pub reasoning: u64,
}

impl Tokens {
    /// What was read from and written to the cache.
    pub fn cache(&self) -> u64 {
        self.cache_read
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    /// Adds the tokens of another call.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write_5m = self.cache_write_5m.saturating_add(other.cache_write_5m);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }

    /// All tokens of the call.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache())
    }
}

/// One call of a model's API. A later copy in the same log replaces the earlier one under the same key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Identity within the log: of the message and the request.
    pub key: u64,
    /// Hash of the message's id alone: a replay has the same message under another request.
    pub message: u64,
    /// Hash of the request's id, where the log has one.
    pub request: Option<u64>,
    /// The first event of the call.
    pub seq: Option<u64>,
    pub turn: Option<u32>,
    pub line: u64,
    /// Shared by the many calls of one model.
    pub model: Option<Arc<str>>,
    /// When the first row of the call was written.
    pub first_ts: Option<Timestamp>,
    /// When the row that counts was written.
    pub ts: Option<Timestamp>,
    pub tokens: Tokens,
    /// `standard`, `fast`, … as the log says it.
    pub speed: Option<Arc<str>>,
    pub web_searches: u64,
    /// What the agent itself says the call cost, in units of 10^-10 US dollars. None is not free.
    #[serde(default)]
    pub cost_usd_ticks: Option<u64>,
    pub is_sidechain: bool,
    /// The row only repeats what another log says: a subagent's message wrapped in its parent's log. An echo on no
    /// sidechain is a note: see [`Call::is_note`].
    pub is_echo: bool,
}

impl Call {
    /// Whether the row is no call but says that the row of its log holds what another log tells by itself: the calls
    /// under `request` that were made from `first_ts` to `ts`. A prompt of Grok's is billed with its subagents.
    pub fn is_note(&self) -> bool {
        self.is_echo && !self.is_sidechain
    }

    /// Whether `call` is one of those that this note is about. A time that is not told excludes nothing.
    fn holds(&self, call: &Self) -> bool {
        let after = |from: Option<Timestamp>, to: Option<Timestamp>| from.zip(to).is_none_or(|(from, to)| from <= to);
        self.request == call.request && after(self.first_ts, call.ts) && after(call.ts, self.ts)
    }

    /// Orders copies of one call; the greatest counts. Ties go to the later copy.
    pub fn rank(&self) -> (bool, bool, u64, u64) {
        (
            !self.is_echo,
            !self.is_sidechain,
            self.tokens.output,
            self.tokens.total(),
        )
    }
}

/// Which of `calls`, gathered from any number of logs, are counted: one copy of each call.
///
/// Order of `calls` decides only between equal copies: the first log keeps the call. Nearly every message comes once: sorted by
/// message, all others are found without a look at any call.
pub fn counted(calls: &[&Call]) -> Vec<bool> {
    let mut counts = vec![true; calls.len()];
    let mut messages: Vec<(u64, usize)> = calls.iter().map(|call| call.message).zip(0..).collect();
    messages.sort_unstable();
    for same in messages.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        let places: Vec<usize> = same.iter().map(|(_, at)| *at).collect();
        drop_copies(calls, &places, &mut counts);
        drop_replays(calls, &places, &mut counts);
    }
    drop_held(calls, &mut counts);
    counts
}

/// Of the calls of one message those stay that say most of their request.
fn drop_copies(calls: &[&Call], places: &[usize], counts: &mut [bool]) {
    // A row without a request id belongs to whichever request of its message is known.
    let known = places.iter().find_map(|at| calls[*at].request);
    let mut winners: HashMap<Option<u64>, usize> = HashMap::default();
    for at in places.iter().copied() {
        let winner = winners.entry(calls[at].request.or(known)).or_insert(at);
        if *winner == at {
            continue;
        }
        if calls[at].rank() > calls[*winner].rank() {
            counts[*winner] = false;
            *winner = at;
        } else {
            counts[at] = false;
        }
    }
}

/// A side question replays its parent's messages as sidechain rows under new request ids: those are no
/// calls. Two requests of one message that are both, or both not, sidechain are left alone.
fn drop_replays(calls: &[&Call], places: &[usize], counts: &mut [bool]) {
    if places.iter().any(|at| !calls[*at].is_sidechain) {
        places.iter().for_each(|at| counts[*at] &= !calls[*at].is_sidechain);
    }
}

/// What a note says another row holds is counted there, and the note itself is no call. Where the log with the note is
/// missing, the calls count where they were made.
fn drop_held(calls: &[&Call], counts: &mut [bool]) {
    let mut notes: HashMap<u64, Vec<&Call>> = HashMap::default();
    for note in calls.iter().filter(|call| call.is_note()) {
        notes.entry(note.request.unwrap_or_default()).or_default().push(note);
    }
    if notes.is_empty() {
        return;
    }
    for (call, counts) in calls.iter().zip(counts.iter_mut()) {
        let notes = call.request.and_then(|request| notes.get(&request));
        let held = call.is_sidechain && notes.is_some_and(|notes| notes.iter().any(|note| note.holds(call)));
        *counts &= !held && !call.is_note();
    }
}
