//! API calls of one log. The rows of one call are merged, and the row with the most tokens counts.

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::record::{CacheCreation, ClaudeUsage, UsageIteration};
use crate::call::{Call, Tokens};
use crate::ids::{OptionalSeq, from_entries, hash, hash_pair, in_order};
use crate::reading::{Amendment, Delta};
use crate::wire::{WireNumber, WireObject};
use crate::wording::{NAME_CHARS_MAX, cut};

/// One row that reports an API call.
pub(super) struct UsageRow<'r> {
    pub(super) message_id: Option<&'r str>,
    pub(super) request_id: Option<&'r str>,
    /// Identifies the message if it has no id.
    pub(super) fallback_id: u64,
    pub(super) model: Option<&'r str>,
    pub(super) usage: &'r ClaudeUsage<'r>,
    pub(super) ts: Option<Timestamp>,
    pub(super) line: u64,
    pub(super) turn: Option<u32>,
    /// The first event of the row.
    pub(super) seq: Option<u64>,
    pub(super) is_sidechain: bool,
    pub(super) is_echo: bool,
}

/// What is remembered of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BilledCall {
    rank: (bool, bool, u64, u64),
    request: Option<u64>,
    seq: OptionalSeq,
    turn: Option<u32>,
    line: u64,
    first_ts: Option<Timestamp>,
}

/// The rows in which a message was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SeenMessage {
    /// The key of its newest row, used for rows without a request id.
    key: u64,
    in_main: bool,
    /// The event that carries the tokens of a sidechain row until the main row arrives.
    side_seq: OptionalSeq,
}

/// All API calls of a log so far.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClaudeBilling {
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    bills: FxHashMap<u64, BilledCall>,
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    messages: FxHashMap<u64, SeenMessage>,
}

impl ClaudeBilling {
    /// Adds one row of a call.
    pub(super) fn add_row(&mut self, row: &UsageRow<'_>, delta: &mut Delta) {
        let message = row.message_id.map_or(row.fallback_id, hash);
        let request = row.request_id.map(hash);
        self.add_call(row, message, request, usage_tokens(row.usage), row.model, delta);
        for (n, iteration) in row.usage.iterations.0.iter().enumerate() {
            // A second model advised the first one, and the usage of the message itself excludes that.
            if iteration.kind.or_empty() == "advisor_message" {
                let advisor = hash_pair(message, n as u64 + 1);
                let row = UsageRow { seq: None, ..*row };
                self.add_call(
                    &row,
                    advisor,
                    request,
                    iteration_tokens(iteration),
                    iteration.model.get(),
                    delta,
                );
            }
        }
    }

    fn add_call(
        &mut self,
        row: &UsageRow<'_>,
        message: u64,
        request: Option<u64>,
        tokens: Tokens,
        model: Option<&str>,
        delta: &mut Delta,
    ) {
        let seen = self.messages.entry(message).or_default();
        let Some(key) = seen.call_key(row, message, request, delta) else {
            return;
        };
        let mut call = call(row, key, message, request, tokens, model);
        let rank = call.rank();
        let bill = self.bills.entry(key).or_insert(BilledCall {
            rank,
            request,
            seq: row.seq.into(),
            turn: row.turn,
            line: row.line,
            first_ts: row.ts,
        });
        let seq = Option::from(bill.seq).or(row.seq);
        bill.seq = seq.into();
        bill.request = bill.request.or(request);
        if rank < bill.rank {
            return;
        }
        bill.rank = rank;
        call.request = bill.request;
        (call.seq, call.turn, call.line, call.first_ts) = (seq, bill.turn, bill.line, bill.first_ts);
        if let Some(seq) = call.seq {
            let tokens = Some(tokens);
            delta.amend(Amendment::Billed { seq, tokens });
            if row.is_sidechain {
                seen.side_seq = Some(seq).into();
            }
        }
        upsert(&mut delta.calls, call);
    }
}

impl SeenMessage {
    /// Returns the key of the call that a row belongs to, or `None` if the row only replays a row of the main log.
    fn call_key(&mut self, row: &UsageRow<'_>, message: u64, request: Option<u64>, delta: &mut Delta) -> Option<u64> {
        // A row without a request id belongs to the call of its message, whichever came first.
        let message_only_key = message.max(1);
        let key = match request {
            Some(_) if self.key == message_only_key => message_only_key,
            Some(request) => hash_pair(message, request),
            None if self.key != 0 => self.key,
            None => message_only_key,
        };
        // If the main log has rows of a message, its sidechain rows are replays, whichever came first.
        if row.is_sidechain && self.in_main && key != self.key {
            return None;
        }
        if !row.is_sidechain {
            let side_seq = Option::from(std::mem::take(&mut self.side_seq));
            if let Some(seq) = side_seq.filter(|_| key != self.key) {
                delta.amend(Amendment::Billed { seq, tokens: None });
            }
            self.in_main = true;
        }
        self.key = key;
        Some(key)
    }
}

/// Shortens a name that is stored with every call.
fn short_name(text: &str) -> Box<str> {
    cut(text, NAME_CHARS_MAX).into()
}

/// Returns the call that one row describes.
fn call(row: &UsageRow<'_>, key: u64, message: u64, request: Option<u64>, tokens: Tokens, model: Option<&str>) -> Call {
    Call {
        key,
        message,
        request,
        seq: row.seq,
        turn: row.turn,
        line: row.line,
        model: model.map(short_name).map(Into::into),
        first_ts: row.ts,
        ts: row.ts,
        tokens,
        speed: row.usage.speed.get().map(short_name).map(Into::into),
        web_searches: row.usage.server_tools.web_searches.0.unwrap_or_default(),
        cost_usd_ticks: None,
        is_sidechain: row.is_sidechain,
        is_echo: row.is_echo,
    }
}

/// Adds or replaces a call. Rows of one call are close together, so a short look back keeps most repeats out of the
/// delta.
fn upsert(calls: &mut Vec<Call>, call: Call) {
    match calls.iter_mut().rev().take(8).find(|known| known.key == call.key) {
        Some(known) => *known = call,
        None => calls.push(call),
    }
}

fn usage_tokens(usage: &ClaudeUsage<'_>) -> Tokens {
    let (five_minutes, one_hour) = cache_writes(&usage.cache_creation, usage.cache_write);
    Tokens {
        input: usage.input.0.unwrap_or_default(),
        output: usage.output.0.unwrap_or_default(),
        cache_read: usage.cache_read.0.unwrap_or_default(),
        cache_write_5m: five_minutes,
        cache_write_1h: one_hour,
        reasoning: 0,
    }
}

fn iteration_tokens(iteration: &UsageIteration<'_>) -> Tokens {
    let (five_minutes, one_hour) = cache_writes(&iteration.cache_creation, iteration.cache_write);
    Tokens {
        input: iteration.input.0.unwrap_or_default(),
        output: iteration.output.0.unwrap_or_default(),
        cache_read: iteration.cache_read.0.unwrap_or_default(),
        cache_write_5m: five_minutes,
        cache_write_1h: one_hour,
        reasoning: 0,
    }
}

/// Returns cache writes as (5 minutes, 1 hour): the split by lifetime if the log has one, or else the plain sum.
fn cache_writes(split: &WireObject<CacheCreation<'_>>, sum: WireNumber) -> (u64, u64) {
    let sum = sum.0.unwrap_or_default();
    match &split.0 {
        Some(CacheCreation {
            five_minutes: WireNumber(five),
            one_hour: WireNumber(hour),
            ..
        }) if five.is_some() || hour.is_some() => (five.unwrap_or_default(), hour.unwrap_or_default()),
        _ => (sum, 0),
    }
}
