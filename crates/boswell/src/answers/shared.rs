//! Shapes that several answers share.

use jiff::Timestamp;
use memory::retention::{EvictionReason, PlannedEviction};
use memory::session_text::TextLocation;
use memory::store::{self, Operation};
use memory::usage::UsageSum;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;

/// Tokens and cost of API calls, each call counted once.
#[derive(Serialize, JsonSchema, Clone, Copy)]
pub(crate) struct UsageTotals {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    /// A part of `output_tokens`.
    pub(crate) reasoning_tokens: u64,
    /// Micro-dollars, by the list of prices or as the log reports them; null if no call has a price.
    pub(crate) cost_microusd: Option<u64>,
    /// The part of `cost_microusd` that logs report.
    pub(crate) reported_microusd: u64,
    pub(crate) calls: u64,
    /// Calls without a known price.
    pub(crate) unpriced_calls: u64,
}

impl From<&UsageSum> for UsageTotals {
    fn from(sum: &UsageSum) -> Self {
        let tokens = &sum.tokens;
        Self {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_tokens: tokens.cache_read,
            cache_write_tokens: tokens.cache_write_5m.saturating_add(tokens.cache_write_1h),
            reasoning_tokens: tokens.reasoning,
            cost_microusd: sum.micros(),
            reported_microusd: sum.reported.micros(),
            calls: sum.calls,
            unpriced_calls: sum.unpriced_calls,
        }
    }
}

/// A file that could not be read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnreadFile {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// A decision of the user.
#[derive(Serialize, JsonSchema, Clone)]
pub(crate) struct DecisionRecord {
    decision_id: i64,
    session_uid: Option<String>,
    at: Option<Timestamp>,
    text: String,
    kind: &'static str,
}

impl From<&store::Decision> for DecisionRecord {
    fn from(decision: &store::Decision) -> Self {
        Self {
            decision_id: decision.decision_id,
            session_uid: decision.session_uid.clone(),
            at: Timestamp::from_microsecond(decision.at_micros).ok(),
            text: decision.text.clone(),
            kind: "decision",
        }
    }
}

/// A decision as a file for other programs.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct DecisionFile(pub(crate) DecisionRecord);

impl Answer for DecisionFile {
    const SCHEMA: &'static str = "boswell.decision/1";
}

/// An entry of the operation log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OperationRecord {
    at: Option<Timestamp>,
    command: String,
    sentence: String,
}

impl From<&Operation> for OperationRecord {
    fn from(operation: &Operation) -> Self {
        Self {
            at: Timestamp::from_microsecond(operation.at_micros).ok(),
            command: operation.command.clone(),
            sentence: operation.sentence.clone(),
        }
    }
}

/// When and why raw text was evicted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EvictionRecord {
    at: Option<Timestamp>,
    reason: &'static str,
    /// The agent's log, if it can still be read.
    log: Option<String>,
}

impl EvictionRecord {
    /// Returns the eviction of a session, or `None` if its raw text is in the memory.
    pub(crate) fn new(location: &TextLocation) -> Option<Self> {
        let (eviction, log) = match location {
            TextLocation::Source(source) => (&source.eviction, Some(&source.path)),
            TextLocation::Evicted(eviction, _) => (eviction, None),
            TextLocation::Memory | TextLocation::PromptsOnly => return None,
        };
        Some(Self {
            at: eviction.at,
            reason: eviction.reason.as_str(),
            log: log.map(|log| log.to_string_lossy().into_owned()),
        })
    }
}

/// A session whose raw text is evicted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EvictedSession {
    session_uid: String,
    agent: String,
    bytes: u64,
    reason: &'static str,
    /// Only if it was evicted because of its age.
    age_days: Option<u32>,
    needs_digest: bool,
}

impl From<&PlannedEviction> for EvictedSession {
    fn from(drop: &PlannedEviction) -> Self {
        let age_days = match drop.reason {
            EvictionReason::Age { days } => Some(days),
            EvictionReason::Budget | EvictionReason::HardCap | EvictionReason::Overflow => None,
        };
        Self {
            session_uid: drop.session_uid.clone(),
            agent: drop.flavor.clone(),
            bytes: drop.bytes,
            reason: drop.reason.as_str(),
            age_days,
            needs_digest: drop.needs_digest,
        }
    }
}

/// A session as a row of a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionRow<'a> {
    pub(crate) session_uid: &'a str,
    /// The agent: `claude`, `codex` or `grok`.
    pub(crate) flavor: &'a str,
    pub(crate) native_session_id: &'a str,
    pub(crate) project: Option<&'a str>,
    pub(crate) cwd: Option<&'a str>,
    pub(crate) repo: Option<&'a str>,
    pub(crate) branch: Option<&'a str>,
    pub(crate) title: Option<&'a str>,
    /// `success`, `fail`, `abandoned` or `unknown`.
    pub(crate) outcome: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) note: Option<&'a str>,
    pub(crate) tags: &'a [String],
    pub(crate) first_prompt: Option<&'a str>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) turns: u64,
    pub(crate) events: u64,
    pub(crate) prompts: u64,
    /// Size of its logs.
    pub(crate) bytes: u64,
    /// Tokens of all kinds.
    pub(crate) tokens: u64,
    pub(crate) duration_ms: Option<i64>,
    /// `kept`, `evicted` or `prompts_only`.
    pub(crate) status: &'static str,
    pub(crate) is_subagent: bool,
    pub(crate) is_hidden: bool,
}
