//! Answers about one session: show, digest.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::commits::CommitOccurrence;
use memory::digest::Digest;
use memory::outcome::{Confidence, Evidence, Judgement, OutcomeReason};
use memory::store::SessionFact;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use transcript::{Outcome, Session};

use super::read::{EventRecord, TurnRecord};
use super::shared::{DecisionRecord, EvictionRecord};

/// The name and version of what `boswell show` prints.
pub(crate) const SHOW_SCHEMA: &str = "boswell.show/1";
/// The name and version of what `boswell digest` prints.
pub(crate) const DIGEST_SCHEMA: &str = "boswell.digest/1";

/// `boswell show`. With `--follow` it is one event per line.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ShowAnswer<'a> {
    Session(Box<ShownSession<'a>>),
    Part(ShownPart<'a>),
    Commit(ShownCommit<'a>),
    Event(Box<EventRecord<'a>>),
}

/// A session with its turns.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownSession<'a> {
    #[schemars(extend("const" = SHOW_SCHEMA))]
    pub(crate) schema: &'static str,
    pub(crate) session: SessionPortrait<'a>,
    /// `memory`, `source`, `digest` or `prompts`.
    pub(crate) text_from: &'static str,
    /// Null if its raw text is in the memory.
    pub(crate) eviction: Option<EvictionRecord>,
    /// The stored digest of a session whose text is gone.
    pub(crate) digest: Option<DigestRecord<'a>>,
    pub(crate) turns: Vec<TurnRecord<'a>>,
    pub(crate) events: Vec<EventRecord<'a>>,
    pub(crate) subagents: Vec<SubagentRecord<'a>>,
    pub(crate) prompts: Vec<PromptRecord<'a>>,
    /// The turn that made the requested commit.
    pub(crate) commit: Option<&'a CommitOccurrence>,
    /// Null without `--max-tokens`.
    pub(crate) left_out: Option<ShowLeftOut>,
}

/// A session, with what is known of it beside its log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionPortrait<'a> {
    #[serde(flatten)]
    pub(crate) session: Session,
    /// `kept`, `evicted` or `prompts_only`.
    pub(crate) status: &'static str,
    pub(crate) name: Option<&'a str>,
    pub(crate) note: Option<&'a str>,
    pub(crate) tags: &'a [String],
    pub(crate) decisions: Vec<DecisionRecord>,
    /// What hooks and wrapped commands reported, oldest first.
    pub(crate) facts: Vec<FactRecord<'a>>,
    /// Lines of its log.
    pub(crate) lines: u64,
    pub(crate) events: u64,
    pub(crate) faults: u64,
    /// Prompts in the agent's history.
    pub(crate) prompts: u64,
}

/// What a hook or a wrapped command reported.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FactRecord<'a> {
    event: &'a str,
    at: Timestamp,
    reason: Option<&'a str>,
    error: Option<&'a str>,
    exit_code: Option<i64>,
}

impl<'a> From<&'a SessionFact> for FactRecord<'a> {
    fn from(fact: &'a SessionFact) -> Self {
        Self {
            event: &fact.event,
            at: fact.at,
            reason: fact.reason.as_deref(),
            error: fact.error.as_deref(),
            exit_code: fact.exit_code,
        }
    }
}

/// A subagent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SubagentRecord<'a> {
    pub(crate) session_uid: &'a str,
    /// Its title, or what it was started for.
    pub(crate) about: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) turns: u32,
    /// The command that shows it.
    pub(crate) open: String,
}

/// A prompt in the agent's history.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PromptRecord<'a> {
    pub(crate) at: Option<Timestamp>,
    pub(crate) text: &'a str,
}

/// What did not fit into `--max-tokens`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShowLeftOut {
    /// The numbers of the turns.
    pub(crate) turns: Vec<u32>,
    pub(crate) events: u64,
    /// About how many.
    pub(crate) tokens: usize,
}

/// A part of a session that has no events.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownPart<'a> {
    #[schemars(extend("const" = SHOW_SCHEMA))]
    pub(crate) schema: &'static str,
    pub(crate) session: SessionName<'a>,
    pub(crate) part: &'a str,
    /// `memory` or `source`.
    pub(crate) text_from: &'static str,
    pub(crate) text: &'a str,
}

/// The uid of a session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionName<'a> {
    pub(crate) session_uid: &'a str,
}

/// A commit that no session made.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownCommit<'a> {
    #[schemars(extend("const" = SHOW_SCHEMA))]
    pub(crate) schema: &'static str,
    /// Always null.
    pub(crate) session: (),
    /// The requested commit.
    pub(crate) sha: &'a str,
    /// Always null.
    pub(crate) commit: (),
    pub(crate) mentioned: &'a [CommitOccurrence],
}

/// `boswell digest`: the whole digest, or with `--max-tokens` as much of it as fits.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum DigestAnswer<'a> {
    Whole(Box<WholeDigest<'a>>),
    Fitted(FittedDigest),
}

/// A digest with the cost of the session, and with `--subagents` those who worked for it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WholeDigest<'a> {
    #[serde(flatten)]
    pub(crate) digest: DigestRecord<'a>,
    /// `memory`, `digest` or `source`.
    pub(crate) text_from: &'static str,
    /// Micro-dollars; null if no call has a price.
    pub(crate) cost_microusd: Option<u64>,
    pub(crate) unpriced_calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subagents: Option<Vec<SubagentDigest<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rolled_up: Option<RolledUpDigest>,
}

/// A digest as other programs read it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DigestRecord<'a> {
    #[schemars(extend("const" = DIGEST_SCHEMA))]
    schema: &'static str,
    /// The rules that made it.
    version: u32,
    #[serde(flatten)]
    facts: DigestFacts<'a>,
    /// By a human: one for each turn.
    prompts: u32,
    commits_total: u64,
    /// By the settings.
    domain: Option<&'a str>,
    outcome: Outcome,
    reason: OutcomeReason,
    confidence: Confidence,
    evidence: Vec<Evidence>,
    decisions: Vec<DecisionRecord>,
}

impl<'a> DigestRecord<'a> {
    /// Returns a digest with its outcome as of now.
    pub(crate) fn new(
        digest: &'a Digest,
        outcome: Judgement,
        domain: Option<&'a str>,
        decisions: Vec<DecisionRecord>,
    ) -> Self {
        Self {
            schema: DIGEST_SCHEMA,
            version: memory::digest::VERSION,
            facts: DigestFacts(digest),
            prompts: digest.turns,
            commits_total: digest.commit_count(),
            domain,
            outcome: outcome.outcome,
            reason: outcome.reason,
            confidence: outcome.confidence,
            evidence: outcome.evidence,
            decisions,
        }
    }
}

/// The fields of a digest that are printed as they are stored: all but those of the same name in [`DigestRecord`].
struct DigestFacts<'a>(&'a Digest);

impl DigestFacts<'_> {
    const REPLACED: [&'static str; 2] = ["outcome", "commits_total"];
}

impl Serialize for DigestFacts<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut facts = serde_json::to_value(self.0).map_err(serde::ser::Error::custom)?;
        if let Some(fields) = facts.as_object_mut() {
            fields.retain(|name, _| !Self::REPLACED.contains(&name.as_str()));
        }
        facts.serialize(serializer)
    }
}

impl JsonSchema for DigestFacts<'_> {
    fn schema_name() -> Cow<'static, str> {
        "DigestFacts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Digest::json_schema(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !Self::REPLACED.contains(&name.as_str()));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !name.as_str().is_some_and(|name| Self::REPLACED.contains(&name)));
        }
        schema
    }
}

/// A subagent's digest in small.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SubagentDigest<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) outcome: Outcome,
    pub(crate) reason: OutcomeReason,
    pub(crate) confidence: Confidence,
    pub(crate) tool_calls: u64,
    pub(crate) errors: u64,
    pub(crate) active_s: u64,
    pub(crate) tokens: u64,
}

/// A session and its subagents together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RolledUpDigest {
    pub(crate) sessions: usize,
    pub(crate) tool_calls: u64,
    pub(crate) errors: u64,
    pub(crate) retries: u64,
    /// Active times add up, although subagents work at the same time.
    pub(crate) active_s: u64,
    pub(crate) tokens: u64,
    pub(crate) cost_microusd: Option<u64>,
    pub(crate) unpriced_calls: u64,
    pub(crate) failed_subagents: usize,
}

/// As much of a digest as fits into `--max-tokens`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct FittedDigest {
    pub(crate) schema: String,
    pub(crate) session_uid: String,
    pub(crate) outcome: Outcome,
    pub(crate) reason: OutcomeReason,
    pub(crate) left_out_to_fit: DigestLeftOut,
    /// The other fields of a digest, as far as they fit.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// What was left out of a digest.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum DigestLeftOut {
    /// How many entries of each field.
    Entries(BTreeMap<String, u64>),
    /// `all else`.
    All(String),
}
