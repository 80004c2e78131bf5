//! Calls of a model's API, which are what is billed. Logs repeat a call many times: one row per content block, copies
//! in forked and resumed sessions, replays by side questions. This module decides which copy counts.

use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashMap as HashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one call by kind. `input` excludes tokens read from or written to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    /// Reasoning tokens, if the log reports them. They are part of `output`.
    #[serde(default)]
    pub reasoning: u64,
}

impl Tokens {
    /// Returns the tokens read from and written to the cache.
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

    /// Returns all tokens of the call.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache())
    }
}

/// One call of a model's API. A later copy with the same key in the same log replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Identity within the log, hashed from the message id and the request id.
    pub key: u64,
    /// Hash of the message id alone, because a replay has the same message under another request.
    pub message: u64,
    /// Hash of the request id, if the log has one.
    pub request: Option<u64>,
    /// The first event of the call.
    pub seq: Option<u64>,
    pub turn: Option<u32>,
    pub line: u64,
    /// Shared between all calls of the same model.
    pub model: Option<Arc<str>>,
    /// When the first row of the call was written.
    pub first_ts: Option<Timestamp>,
    /// When the row that counts was written.
    pub ts: Option<Timestamp>,
    pub tokens: Tokens,
    /// `standard`, `fast`, … as written in the log.
    pub speed: Option<Arc<str>>,
    pub web_searches: u64,
    /// The cost reported by the agent itself, in units of 10^-10 US dollars. `None` means unknown, not free.
    #[serde(default)]
    pub cost_usd_ticks: Option<u64>,
    pub is_sidechain: bool,
    /// True if the row only repeats a call that another log reports, such as a subagent's message wrapped in its
    /// parent's log. An echo that is not on a sidechain is a note: see [`Call::is_note`].
    pub is_echo: bool,
}

impl Call {
    /// Returns `true` if the row is not a call itself but states that its log's bill includes calls that another log
    /// also reports: those with `request` made from `first_ts` to `ts`. Grok bills a prompt together with its
    /// subagents.
    pub fn is_note(&self) -> bool {
        self.is_echo && !self.is_sidechain
    }

    /// Returns `true` if this note covers `call`. An unknown time excludes nothing.
    fn covers(&self, call: &Self) -> bool {
        let after = |from: Option<Timestamp>, to: Option<Timestamp>| from.zip(to).is_none_or(|(from, to)| from <= to);
        self.request == call.request && after(self.first_ts, call.ts) && after(call.ts, self.ts)
    }

    /// Returns the sort key of copies of one call: the greatest counts, and ties go to the later copy.
    pub fn rank(&self) -> (bool, bool, u64, u64) {
        (
            !self.is_echo,
            !self.is_sidechain,
            self.tokens.output,
            self.tokens.total(),
        )
    }
}

/// Returns, for each of `calls` from any number of logs, whether it is counted, so that each call counts once.
///
/// The order of `calls` only decides between equal copies: the first log keeps the call. Nearly every message occurs
/// once, so sorting by message finds the repeated ones without looking at any other call.
pub fn counted(calls: &[&Call]) -> Vec<bool> {
    let mut counts = vec![true; calls.len()];
    let mut messages: Vec<(u64, usize)> = calls.iter().map(|call| call.message).zip(0..).collect();
    messages.sort_unstable();
    for same in messages.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        let indices: Vec<usize> = same.iter().map(|(_, at)| *at).collect();
        drop_copies(calls, &indices, &mut counts);
        drop_replays(calls, &indices, &mut counts);
    }
    drop_covered(calls, &mut counts);
    counts
}

/// Keeps, of all calls of one message, the highest-ranked copy per request.
fn drop_copies(calls: &[&Call], indices: &[usize], counts: &mut [bool]) {
    // A row without a request id belongs to any known request of its message.
    let known = indices.iter().find_map(|at| calls[*at].request);
    let mut winners: HashMap<Option<u64>, usize> = HashMap::default();
    for at in indices.iter().copied() {
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

/// Drops sidechain rows that replay a message of the main chain: a side question repeats its parent's messages under
/// new request ids. If all rows or no rows of a message are on a sidechain, nothing is dropped.
fn drop_replays(calls: &[&Call], indices: &[usize], counts: &mut [bool]) {
    if indices.iter().any(|at| !calls[*at].is_sidechain) {
        indices.iter().for_each(|at| counts[*at] &= !calls[*at].is_sidechain);
    }
}

/// Drops the calls that a note says are included in another row, and the note itself. If the log with the note is
/// missing, the calls count where they were made.
fn drop_covered(calls: &[&Call], counts: &mut [bool]) {
    let mut notes: HashMap<u64, Vec<&Call>> = HashMap::default();
    for note in calls.iter().filter(|call| call.is_note()) {
        notes.entry(note.request.unwrap_or_default()).or_default().push(note);
    }
    if notes.is_empty() {
        return;
    }
    for (call, counts) in calls.iter().zip(counts.iter_mut()) {
        let notes = call.request.and_then(|request| notes.get(&request));
        let covered = call.is_sidechain && notes.is_some_and(|notes| notes.iter().any(|note| note.covers(call)));
        *counts &= !covered && !call.is_note();
    }
}
