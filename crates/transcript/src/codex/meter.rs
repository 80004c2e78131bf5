//! Token counts. Codex writes running totals repeatedly, and each change of them is one API call.
//!
//! The same totals are repeated whenever the rate limits are refreshed, they fall when a thread is resumed or its
//! context overflows, and forks copy them. So a call is counted when the totals changed: with the numbers of the last
//! call if the record has them, or else with the difference.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::{CodexUsage, TokenInfo};
use crate::call::{Call, Tokens};
use crate::ids::{hash, hash_pair};
use crate::reading::{Amendment, Delta};

/// Maximum number of totals that are remembered to recognize a late repetition.
const RECENT_MAX: usize = 8;
/// Maximum number of calls that wait for the name of their model.
const NAMELESS_MAX: usize = 64;

/// Counters of the model's API. Cached input is part of the input, reasoning is part of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TokenCounts {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    total: u64,
}

impl TokenCounts {
    fn from_usage(usage: &CodexUsage<'_>) -> Self {
        let number = |number: crate::wire::WireNumber| number.0.unwrap_or_default();
        Self {
            input: number(usage.input),
            cached: number(usage.cached),
            cache_write: number(usage.cache_write),
            output: number(usage.output),
            reasoning: number(usage.reasoning),
            total: number(usage.total),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            cached: self.cached.saturating_sub(other.cached),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
            output: self.output.saturating_sub(other.output),
            reasoning: self.reasoning.saturating_sub(other.reasoning),
            total: self.total.saturating_sub(other.total),
        }
    }

    /// Returns input plus output, which must grow as long as the counter was not reset.
    fn spent(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    fn tokens(&self) -> Tokens {
        let cache_read = self.cached.min(self.input);
        let cache_write_5m = self.cache_write.min(self.input - cache_read);
        Tokens {
            input: self.input - cache_read - cache_write_5m,
            output: self.output,
            cache_read,
            cache_write_5m,
            cache_write_1h: 0,
            reasoning: self.reasoning.min(self.output),
        }
    }

    fn hash(&self) -> u64 {
        let numbers = [self.input, self.cached, self.output, self.reasoning, self.total];
        numbers.into_iter().fold(0, hash_pair)
    }
}

/// The token counters of a log so far.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenMeter {
    total: Option<TokenCounts>,
    last: Option<TokenCounts>,
    /// Hashes of the most recent totals.
    recent: VecDeque<u64>,
    /// The first event of the current or last API call.
    first: Option<FirstEvent>,
    /// True if the model received a result since: the agent's next event belongs to another call.
    answered: bool,
    /// A call that was counted before the first of its events was read.
    early: Option<Call>,
    tier: Option<Box<str>>,
    /// True if the context was compacted and no call was counted since.
    compacted: bool,
    /// Compactions already counted, by response id.
    billed: BTreeSet<u64>,
    /// Calls without the name of their model.
    without_model: Vec<Call>,
}

/// The first event of an API call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FirstEvent {
    seq: u64,
    ts: Option<Timestamp>,
    billed: bool,
}

/// The context of a token count.
pub(super) struct CountContext<'r> {
    /// The thread from which all copies of the history descend.
    pub(super) root: u64,
    pub(super) model: Option<&'r str>,
    pub(super) ts: Option<Timestamp>,
    pub(super) line: u64,
    pub(super) turn: Option<u32>,
    /// True if the record was copied from another thread.
    pub(super) inherited: bool,
}

impl TokenMeter {
    /// Notes an event of the agent. A call is counted before or after the last of its events, and results may arrive
    /// while it still runs. So the next call starts only when the last one is counted and has a result.
    pub(super) fn begin(&mut self, seq: u64, ts: Option<Timestamp>) {
        if self.first.is_none_or(|first| first.billed && self.answered) {
            let billed = false;
            self.first = Some(FirstEvent { seq, ts, billed });
            self.answered = false;
        }
    }

    /// Assigns a call that was counted early to the event passed to [`Self::begin`], once that event is pushed.
    pub(super) fn claim_early_call(&mut self, seq: u64, delta: &mut Delta) {
        let Some(first) = self.first.as_mut().filter(|first| first.seq == seq) else {
            return;
        };
        let Some(mut call) = self.early.take() else { return };
        first.billed = true;
        call.seq = Some(seq);
        for known in self.without_model.iter_mut().filter(|known| known.key == call.key) {
            known.seq = Some(seq);
        }
        let tokens = Some(call.tokens);
        delta.amend(Amendment::Billed { seq, tokens });
        upsert(call, delta);
    }

    /// Notes a result of a tool.
    pub(super) fn note_result(&mut self) {
        self.answered = true;
        self.early = None;
    }

    /// Forgets the current call because its events belong to another thread, or to a call without a counter.
    pub(super) fn forget_call(&mut self) {
        self.first = None;
        self.early = None;
    }

    /// Sets the service tier of the following calls, or `None` if the tier is unknown.
    pub(super) fn set_tier(&mut self, tier: Option<&str>) {
        self.tier = tier.and_then(tier_name).map(Into::into);
    }

    /// Reads one record of the counters.
    pub(super) fn read_counters(&mut self, info: &TokenInfo<'_>, at: &CountContext<'_>, delta: &mut Delta) {
        let total = info.total.0.as_ref().map(TokenCounts::from_usage);
        let last = info.last.0.as_ref().map(TokenCounts::from_usage);
        let spent = self.spent_since_last(total, last);
        let at = &CountContext {
            model: at.model.or(info.model.get()),
            ..*at
        };
        match spent {
            Some(_) if at.inherited => self.forget_call(),
            Some(counts) if counts.spent() > 0 => {
                self.compacted = false;
                let counters = hash_pair(total.unwrap_or_default().hash(), counts.hash());
                self.push_call(hash_pair(at.root, counters), counts, at, delta);
            }
            _ => {}
        }
    }

    /// Returns the tokens spent since the last record, or `None` if the counters did not change.
    fn spent_since_last(&mut self, total: Option<TokenCounts>, last: Option<TokenCounts>) -> Option<TokenCounts> {
        let Some(total) = total else {
            let last = last.filter(|last| self.last != Some(*last))?;
            self.last = Some(last);
            return Some(last);
        };
        let before = self.total;
        if before == Some(total) {
            return None;
        }
        if let Some(before) = before
            && self.is_stale(&before, &total, last.as_ref())
        {
            return None;
        }
        self.total = Some(total);
        self.recent.push_back(total.hash());
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
        let counts = match (last, before) {
            (Some(last), _) => last,
            // A counter that fell was reset to zero.
            (None, Some(before)) if total.spent() >= before.spent() => total.minus(&before),
            (None, _) => total,
        };
        self.last = Some(counts);
        Some(counts)
    }

    /// Returns `true` if a total is an old one repeated late: it was seen before, or it is slightly below the last
    /// one. If it is far below, or equal to the last call alone, the counter was reset.
    fn is_stale(&self, before: &TokenCounts, total: &TokenCounts, last: Option<&TokenCounts>) -> bool {
        if self.recent.contains(&total.hash()) {
            return true;
        }
        let fall = before.spent().saturating_sub(total.spent());
        let two_calls = self.last.map_or(0, |last| last.spent().saturating_mul(2));
        let was_reset = total.spent() == 0 || last.is_some_and(|last| last.spent() == total.spent());
        fall > 0 && !was_reset && (fall <= before.spent() / 50 || fall <= two_calls)
    }

    /// Notes a compaction: the next usage record belongs to it.
    pub(super) fn note_compaction(&mut self) {
        self.compacted = true;
    }

    /// Reads the usage of one request. The counters include all requests but compactions.
    pub(super) fn read_request(
        &mut self,
        response_id: &str,
        usage: &CodexUsage<'_>,
        at: &CountContext<'_>,
        delta: &mut Delta,
    ) {
        if self.compacted {
            self.count_compaction(response_id, usage, at, delta);
        }
    }

    /// Counts a compaction on the server, which is an API call that no counter includes.
    pub(super) fn count_compaction(
        &mut self,
        response_id: &str,
        usage: &CodexUsage<'_>,
        at: &CountContext<'_>,
        delta: &mut Delta,
    ) {
        let counts = TokenCounts::from_usage(usage);
        let response = hash(response_id);
        if counts.spent() > 0 && self.billed.insert(response) && !at.inherited {
            let first = self.first.take();
            self.push_call(response, counts, at, delta);
            (self.first, self.early) = (first, None);
        }
    }

    fn push_call(&mut self, key: u64, counts: TokenCounts, at: &CountContext<'_>, delta: &mut Delta) {
        let first = self.first.filter(|first| !first.billed);
        if let Some(first) = &mut self.first {
            first.billed = true;
        }
        let tokens = counts.tokens();
        let seq = first.map(|first| first.seq);
        let call = Call {
            key,
            message: key,
            request: None,
            seq,
            turn: at.turn,
            line: at.line,
            model: at.model.map(Into::into),
            first_ts: first.and_then(|first| first.ts).or(at.ts),
            ts: at.ts,
            tokens,
            speed: self.tier.clone().map(Into::into),
            web_searches: 0,
            is_sidechain: false,
            is_echo: false,
            cost_usd_ticks: None,
        };
        if let Some(seq) = seq {
            let tokens = Some(tokens);
            delta.amend(Amendment::Billed { seq, tokens });
        }
        self.early = seq.is_none().then(|| call.clone());
        if call.model.is_none() && self.without_model.len() < NAMELESS_MAX {
            self.without_model.push(call.clone());
        }
        delta.calls.push(call);
    }

    /// Sets the model of the calls that were counted before the first model was known.
    pub(super) fn set_model(&mut self, model: &str, delta: &mut Delta) {
        if let Some(early) = &mut self.early {
            early.model.get_or_insert_with(|| model.into());
        }
        for mut call in self.without_model.drain(..) {
            call.model = Some(model.into());
            upsert(call, delta);
        }
    }
}

/// Replaces a call in the delta, or adds it.
fn upsert(call: Call, delta: &mut Delta) {
    match delta.calls.iter_mut().rev().find(|known| known.key == call.key) {
        Some(known) => *known = call,
        None => delta.calls.push(call),
    }
}

/// Returns our name of a service tier.
fn tier_name(tier: &str) -> Option<&'static str> {
    match tier {
        "priority" | "fast" => Some("fast"),
        "default" | "standard" | "auto" => Some("standard"),
        "flex" => Some("flex"),
        _ => None,
    }
}
