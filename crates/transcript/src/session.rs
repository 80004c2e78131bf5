//! A session, its turns, and how sessions descend from each other.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::call::{Call, Tokens};

/// Version of the session and event schema.
pub const SCHEMA_VERSION: u32 = 1;

/// `<flavor>:<native id>`, unique across all agents. A Claude subagent is `claude:<session>/<agent id>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub struct SessionUid(String);

impl SessionUid {
    /// Returns the uid of the session `native` of `agent`.
    pub fn new(agent: Agent, native: &str) -> Self {
        Self(format!("{}:{native}", agent.as_str()))
    }

    /// Returns the whole uid.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The outcome of a session. It is judged elsewhere; a reader always returns [`Outcome::Unknown`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    Fail,
    Abandoned,
    #[default]
    Unknown,
}

impl Outcome {
    /// Returns the name of the outcome: the only one, in JSON, in tables, on pages and as a value of `--outcome`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Fail => "fail",
            Self::Abandoned => "abandoned",
            Self::Unknown => "unknown",
        }
    }
}

/// The cost block of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Cost {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Cache read and cache write together.
    pub cache_tokens: u64,
    pub wall_clock_s: u64,
    pub turns: u32,
    pub retries: u32,
}

impl Cost {
    /// Adds the tokens of one API call.
    pub fn add(&mut self, tokens: &Tokens) {
        self.input_tokens = self.input_tokens.saturating_add(tokens.input);
        self.output_tokens = self.output_tokens.saturating_add(tokens.output);
        self.cache_tokens = self.cache_tokens.saturating_add(tokens.cache());
    }
}

/// How one session descends from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineageKind {
    Subagent,
    Companion,
    Fork,
    Resume,
    Revert,
    Import,
}

impl LineageKind {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Subagent => "subagent",
            Self::Companion => "companion",
            Self::Fork => "fork",
            Self::Resume => "resume",
            Self::Revert => "revert",
            Self::Import => "import",
        }
    }
}

/// One link between two sessions, reported by either of them.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Lineage {
    pub kind: LineageKind,
    pub parent_uid: SessionUid,
    pub child_uid: SessionUid,
    /// The tool call of the parent that started the child.
    pub call_id: Option<Box<str>>,
    /// The line that reports the link.
    pub line: Option<u64>,
    /// The name or purpose of the child.
    pub label: Option<Box<str>>,
}

/// The rule by which copied history at the start of a log was recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InheritedRule {
    /// The log says at which record its own work starts.
    Ordinal,
    /// A turn started after the session; the turns before it are older than the session.
    TurnTime,
    /// Copied records are written in one burst, while own work has the pace of a human and a model.
    Burst,
    /// The turns are marked as imported from another agent.
    Import,
    /// Copied records keep ids that name the session they were written in.
    EventId,
    /// The agent says how many records it copied.
    Prefix,
}

impl InheritedRule {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ordinal => "ordinal",
            Self::TurnTime => "turn_time",
            Self::Burst => "burst",
            Self::Import => "import",
            Self::EventId => "event_id",
            Self::Prefix => "prefix",
        }
    }
}

/// Lines of a log that were copied from another session. Their events are no triggers, belong to no turn, and carry
/// no tokens because they are the other session's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Inherited {
    pub rule: InheritedRule,
    pub first_line: u64,
    pub last_line: u64,
}

impl Inherited {
    /// Returns `true` if `line` is copied.
    pub fn covers(&self, line: u64) -> bool {
        (self.first_line..=self.last_line).contains(&line)
    }
}

/// The latest rate limits of the account in the log.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RateLimits {
    pub told_at: Option<Timestamp>,
    /// The shorter window.
    pub primary: Option<RateLimit>,
    /// The longer window.
    pub secondary: Option<RateLimit>,
}

/// The usage of one limit within its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RateLimit {
    /// Hundredths of a percent.
    pub used_basis_points: u32,
    pub window_minutes: Option<u64>,
    pub resets_at: Option<Timestamp>,
}

/// A session as its log describes it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Session {
    pub session_uid: SessionUid,
    pub flavor: Agent,
    pub native_session_id: String,
    /// The last component of `cwd`, until git provides a better name.
    pub repo: Option<String>,
    pub domain: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    /// The last known model.
    pub model: Option<String>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub outcome: Outcome,
    pub cost: Cost,
    pub task_ref: Option<String>,
    pub source_path: Option<String>,
    pub source_bytes: u64,
    pub schema_version: u32,
    pub ingested_at: Option<Timestamp>,
    pub analyzed_at: Option<Timestamp>,
    pub evicted_at: Option<Timestamp>,
    /// The newest version of the agent that wrote into the log.
    pub agent_version: Option<String>,
    /// Where the agent was started: terminal, desktop, an editor, a program.
    pub entrypoint: Option<String>,
    pub title: Option<String>,
    /// True if the whole log is the work of a subagent.
    pub is_subagent: bool,
    /// True if the agent hides the session from its own lists.
    #[serde(default)]
    pub is_hidden: bool,
    pub lineage: Vec<Lineage>,
    /// The history that was copied into the log.
    #[serde(default)]
    pub inherited: Option<Inherited>,
    /// The rate limits of the account, if the agent logs them.
    #[serde(default)]
    pub rate_limits: Option<RateLimits>,
}

/// Returns the time between two timestamps in whole seconds, or 0 if a clock was set back.
pub fn wall_clock_s(started_at: Option<Timestamp>, ended_at: Option<Timestamp>) -> u64 {
    let span = started_at
        .zip(ended_at)
        .map(|(from, to)| to.duration_since(from).as_secs());
    span.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default()
}

impl Session {
    /// Sets the tokens of the cost block to the sum of the calls that count.
    pub fn settle<'a>(&mut self, counted: impl Iterator<Item = &'a Call>) {
        (self.cost.input_tokens, self.cost.output_tokens, self.cost.cache_tokens) = (0, 0, 0);
        for call in counted {
            self.cost.add(&call.tokens);
        }
    }
}

/// One trigger and everything it caused.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Turn {
    /// Counted from 1.
    pub turn: u32,
    /// The event that is the trigger.
    pub trigger_seq: u64,
    pub start_line: u64,
    /// The line before the next trigger, or the last line so far.
    pub end_line: u64,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// The first 500 characters of the prompt.
    pub prompt: Box<str>,
    /// The number of events, including the trigger. Changes of the session's state are not counted.
    pub events: u32,
    pub tool_calls: u32,
    pub errors: u32,
    /// True if the human rewound this turn.
    pub rewound: bool,
}
