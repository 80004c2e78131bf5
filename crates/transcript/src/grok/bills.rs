//! The cost of a session's prompts. Grok reports it once per prompt, at the end of the turn, by model. A turn sums
//! many requests, so its cost cannot be computed from its tokens, and the cost reported by Grok is stored.
//!
//! Before it reported usage, Grok only reported the size of the context. If a log has nothing better, the growth of
//! the context is used as the input tokens, which is too low but the best available estimate.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RowPosition;
use super::children::{RunningSubagent, SubagentBills, session_key};
use super::record::{GrokUsage, RowBody};
use crate::call::{Call, Tokens};
use crate::ids::{from_entries, hash, hash_pair, in_order, uuid};
use crate::reading::{Amendment, Delta};
use crate::wire::WireNumber;

/// Maximum number of models per prompt.
const MODELS_MAX: usize = 64;

/// What is remembered of a billed prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BilledPrompt {
    /// The row that reported it.
    row: u64,
    /// The event that carries the tokens.
    seq: u64,
    first_ts: Option<Timestamp>,
    /// The calls it was split into.
    keys: Vec<u64>,
}

/// How much the context grew during a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ContextGrowth {
    prompt: u64,
    tokens: u64,
    seq: Option<u64>,
    line: u64,
    turn: Option<u32>,
    first_ts: Option<Timestamp>,
}

/// The calls of a log so far.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GrokBilling {
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    bills: FxHashMap<u64, BilledPrompt>,
    /// The prompt whose rows are being read.
    prompt: Option<Box<str>>,
    has_usage: bool,
    context_tokens: u64,
    growth: Option<ContextGrowth>,
    children: SubagentBills,
}

impl GrokBilling {
    /// Reads a row that reports that a subagent was started or finished.
    pub(super) fn read_subagent(&mut self, params: &RowBody<'_>, position: &RowPosition<'_>) {
        let update = &params.update;
        let Some(id) = update.child_session_id.get() else {
            return;
        };
        match (update.kind.or_empty(), update.parent_prompt_id.get()) {
            ("subagent_spawned", Some(prompt)) => self.children.add(id, prompt_key_of(prompt, params), position.ts),
            ("subagent_finished", _) => self.children.mark_done(id, position.line, position.ts),
            _ => {}
        }
    }

    /// Returns `true` if the same row was read before.
    pub(super) fn is_copy(&self, params: &RowBody<'_>) -> bool {
        let row = params.meta.event_id.get().map(hash);
        let bill = self.bills.get(&self.prompt_key(params));
        row.is_some() && bill.map(|bill| bill.row) == row
    }

    /// Adds the usage of a finished prompt. A later row of the same prompt replaces an earlier one.
    #[expect(clippy::too_many_arguments, reason = "the facts of one call")]
    pub(super) fn add_usage(
        &mut self,
        params: &RowBody<'_>,
        position: &RowPosition<'_>,
        seq: u64,
        turn: Option<u32>,
        model: Option<&str>,
        is_sidechain: bool,
        delta: &mut Delta,
    ) {
        let prompt = self.prompt_key(params);
        let children = self.children.finish_prompt(prompt);
        let Some(usage) = &params.update.usage.0 else { return };
        let notes = children.iter().map(|child| child_note(child, turn, position));
        delta.calls.extend(notes);
        self.forget_growth(prompt, delta);
        self.has_usage = true;
        let before = self.bills.remove(&prompt);
        if let Some(before) = &before {
            delta.amend(Amendment::Billed {
                seq: before.seq,
                tokens: None,
            });
        }
        let first_ts = before.as_ref().and_then(|before| before.first_ts).or(position.ts);
        let mut sum = Tokens::default();
        let mut keys = Vec::new();
        for (at, share) in split_by_model(usage, model).into_iter().enumerate() {
            // The first model replaces the estimate, if there was one.
            let key = if at == 0 {
                prompt_slot(prompt)
            } else {
                hash_pair(prompt, model_hash(share.model.as_deref()))
            };
            keys.push(key);
            add(&mut sum, &share.tokens);
            delta.calls.push(Call {
                key,
                message: hash_pair(prompt, model_hash(share.model.as_deref())),
                // The parent's log may include the cost of a subagent, and knows only its session.
                request: is_sidechain.then(|| session_key(params.session_id.or_empty())),
                seq: Some(seq),
                turn,
                line: position.line,
                model: share.model.map(Into::into),
                first_ts,
                ts: position.ts,
                tokens: share.tokens,
                speed: None,
                web_searches: 0,
                cost_usd_ticks: share.cost_ticks,
                is_sidechain,
                is_echo: false,
            });
        }
        // A model that the later row no longer names is not billed.
        for key in before.into_iter().flat_map(|before| before.keys) {
            if !keys.contains(&key) {
                delta.calls.push(empty_call(key, position));
            }
        }
        delta.amend(Amendment::Billed { seq, tokens: Some(sum) });
        let row = params.meta.event_id.get().map_or(position.line, hash);
        self.bills.insert(
            prompt,
            BilledPrompt {
                row,
                seq,
                first_ts,
                keys,
            },
        );
    }

    /// Reads the size of the context. As long as a log has no usage, its growth is an estimate.
    pub(super) fn read_context_size(
        &mut self,
        params: &RowBody<'_>,
        position: &RowPosition<'_>,
        turn: Option<u32>,
        delta: &mut Delta,
    ) {
        if let Some(prompt) = params.meta.prompt_id.get()
            && self.prompt.as_deref() != Some(prompt)
        {
            self.prompt = Some(prompt.into());
        }
        let Some(total) = params.meta.total_tokens.0 else {
            return;
        };
        let grown = total.saturating_sub(self.context_tokens);
        self.context_tokens = total;
        if self.has_usage || grown == 0 {
            return;
        }
        let prompt = self.prompt_key(params);
        let seq = delta.events[position.first..].first().map(|event| event.seq);
        if self.growth.as_ref().is_none_or(|growth| growth.prompt != prompt) {
            self.growth = Some(ContextGrowth {
                prompt,
                tokens: 0,
                seq,
                line: position.line,
                turn,
                first_ts: position.ts,
            });
        }
        let Some(growth) = &mut self.growth else { return };
        growth.tokens = growth.tokens.saturating_add(grown);
        let tokens = Tokens {
            input: growth.tokens,
            ..Tokens::default()
        };
        if let Some(seq) = growth.seq {
            delta.amend(Amendment::Billed {
                seq,
                tokens: Some(tokens),
            });
        }
        let call = Call {
            tokens,
            message: prompt,
            seq: growth.seq,
            turn: growth.turn,
            line: growth.line,
            first_ts: growth.first_ts,
            ..empty_call(prompt_slot(prompt), position)
        };
        match delta.calls.last_mut() {
            Some(last) if last.key == call.key => *last = call,
            _ => delta.calls.push(call),
        }
    }

    /// Drops the estimate once the real usage of a prompt is known.
    fn forget_growth(&mut self, prompt: u64, delta: &mut Delta) {
        if let Some(growth) = self.growth.take_if(|growth| growth.prompt == prompt)
            && let Some(seq) = growth.seq
        {
            delta.amend(Amendment::Billed { seq, tokens: None });
        }
    }

    /// Returns the key of a prompt, in this log and in its copies: a fork changes the session's id and keeps the
    /// prompt's.
    fn prompt_key(&self, params: &RowBody<'_>) -> u64 {
        let id = params.update.prompt_id.get().or(params.meta.prompt_id.get());
        let prompt = id.or(self.prompt.as_deref());
        match (prompt, params.meta.event_id.get()) {
            (Some(prompt), _) => prompt_key_of(prompt, params),
            (None, row) => hash(row.unwrap_or(params.session_id.or_empty())),
        }
    }
}

/// Returns the key of the prompt with this id.
fn prompt_key_of(prompt: &str, params: &RowBody<'_>) -> u64 {
    match params.meta.event_id.get() {
        _ if ends_in_uuid(prompt) => hash(prompt),
        // A client may number its prompts from 1: such an id is only unique within its session.
        Some(row) => hash_pair(hash(writer_session(row)), hash(prompt)),
        None => hash_pair(hash(params.session_id.or_empty()), hash(prompt)),
    }
}

/// Returns the note that the bill of this row includes the cost of a subagent.
fn child_note(child: &RunningSubagent, turn: Option<u32>, position: &RowPosition<'_>) -> Call {
    let (line, done) = child.done.unwrap_or((position.line, position.ts));
    Call {
        request: Some(child.session),
        turn,
        first_ts: child.started,
        ts: done,
        is_echo: true,
        ..empty_call(hash_pair(child.session, line), position)
    }
}

/// One model's share of a prompt.
struct ModelShare {
    model: Option<String>,
    tokens: Tokens,
    cost_ticks: Option<u64>,
}

/// Splits a prompt's usage by model. If there is no split, all of it belongs to the session's model.
fn split_by_model(usage: &GrokUsage<'_>, model: Option<&str>) -> Vec<ModelShare> {
    let is_whole = !usage.is_incomplete.0 && !usage.is_cost_partial.0;
    let cost = |part: &GrokUsage<'_>| {
        let reported = part
            .cost_ticks
            .0
            .filter(|_| !part.is_incomplete.0 && !part.is_cost_partial.0);
        reported.filter(|_| is_whole)
    };
    let split: Result<BTreeMap<String, Value>, _> = serde_json::from_str(usage.models.json());
    let mut shares: Vec<ModelShare> = split
        .unwrap_or_default()
        .into_iter()
        .take(MODELS_MAX)
        .filter(|(_, part)| part.is_object())
        .map(|(model, part)| {
            let json = part.to_string();
            let part: GrokUsage<'_> = serde_json::from_str(&json).unwrap_or_default();
            ModelShare {
                model: Some(model),
                tokens: usage_tokens(&part),
                cost_ticks: cost(&part),
            }
        })
        .collect();
    match shares.as_mut_slice() {
        [] => shares.push(ModelShare {
            model: model.map(str::to_owned),
            tokens: usage_tokens(usage),
            cost_ticks: cost(usage),
        }),
        [only] => only.cost_ticks = only.cost_ticks.or(cost(usage)),
        _ => {}
    }
    shares
}

/// What Grok calls input is everything the model was shown, from the cache or not.
fn usage_tokens(usage: &GrokUsage<'_>) -> Tokens {
    let count = |number: WireNumber| number.0.unwrap_or_default();
    let (cache_read, cache_write) = (count(usage.cache_read), count(usage.cache_write));
    Tokens {
        input: count(usage.input)
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: count(usage.output),
        cache_read,
        cache_write_5m: cache_write,
        cache_write_1h: 0,
        reasoning: count(usage.reasoning),
    }
}

fn add(sum: &mut Tokens, tokens: &Tokens) {
    sum.input = sum.input.saturating_add(tokens.input);
    sum.output = sum.output.saturating_add(tokens.output);
    sum.cache_read = sum.cache_read.saturating_add(tokens.cache_read);
    sum.cache_write_5m = sum.cache_write_5m.saturating_add(tokens.cache_write_5m);
    sum.reasoning = sum.reasoning.saturating_add(tokens.reasoning);
}

/// Returns a call without tokens.
fn empty_call(key: u64, position: &RowPosition<'_>) -> Call {
    Call {
        key,
        message: key,
        request: None,
        seq: None,
        turn: None,
        line: position.line,
        model: None,
        first_ts: position.ts,
        ts: position.ts,
        tokens: Tokens::default(),
        speed: None,
        web_searches: 0,
        cost_usd_ticks: None,
        is_sidechain: false,
        is_echo: false,
    }
}

fn prompt_slot(prompt: u64) -> u64 {
    hash_pair(prompt, 1)
}

fn model_hash(model: Option<&str>) -> u64 {
    model.map_or(0, hash)
}

/// Returns the session that wrote a row, taken from the row's id.
fn writer_session(event_id: &str) -> &str {
    event_id
        .rsplit_once('-')
        .map_or(event_id, |(writer_session, _)| writer_session)
}

/// Returns `true` if an id is, or ends with, a UUID.
fn ends_in_uuid(id: &str) -> bool {
    id.len()
        .checked_sub(36)
        .and_then(|at| id.get(at..))
        .and_then(uuid)
        .is_some()
}
