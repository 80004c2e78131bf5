//! One event of a session: a prompt, a reply, a tool call, its result, a change of state.
//!
//! Field names follow the stored schema. An event is small: its full text stays in the log, at `line` and `block`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Tokens;

/// The kind of an event. The order of the variants is the precedence by which one kind represents a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A human intervened: interrupt, denial, steering, rewind.
    HumanIntervention,
    /// Something failed.
    Error,
    /// A failed action is repeated.
    Retry,
    /// A file is written.
    Edit,
    /// Tests are run.
    TestRun,
    /// A decision that was written down.
    Decision,
    /// A message to the agent.
    UserMsg,
    /// A message of the agent.
    AssistantMsg,
    /// Reasoning of the agent.
    Thinking,
    /// The agent calls a tool.
    ToolCall,
    /// The result of a tool call.
    ToolResult,
    /// A piece of work was finished.
    Completion,
    /// A change of the session's state.
    Lifecycle,
}

impl Kind {
    /// Every kind, in order of precedence.
    pub const ALL: [Self; 13] = [
        Self::HumanIntervention,
        Self::Error,
        Self::Retry,
        Self::Edit,
        Self::TestRun,
        Self::Decision,
        Self::UserMsg,
        Self::AssistantMsg,
        Self::Thinking,
        Self::ToolCall,
        Self::ToolResult,
        Self::Completion,
        Self::Lifecycle,
    ];

    /// Returns the name used in JSON, filters and help.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HumanIntervention => "human_intervention",
            Self::Error => "error",
            Self::Retry => "retry",
            Self::Edit => "edit",
            Self::TestRun => "test_run",
            Self::Decision => "decision",
            Self::UserMsg => "user_msg",
            Self::AssistantMsg => "assistant_msg",
            Self::Thinking => "thinking",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Completion => "completion",
            Self::Lifecycle => "lifecycle",
        }
    }
}

/// The set of kinds of one event. Filters and counts use the set; [`Kinds::first`] represents it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u16);

impl Kinds {
    /// Returns the set of one kind.
    pub fn of(kind: Kind) -> Self {
        Self(1 << kind as u16)
    }

    /// Returns this set plus one kind.
    #[must_use]
    pub fn and(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u16)
    }

    /// Returns the union with another set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `true` if the set contains `kind`.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }

    /// Returns the set as a number for storage: bit n is the n-th kind of [`Kind::ALL`].
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Returns the set for a value of [`Kinds::bits`]; unknown bits are dropped.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits & ((1 << Kind::ALL.len()) - 1))
    }

    /// Returns the kinds of the set, in order of precedence.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// Returns the most specific kind of the set.
    pub fn first(self) -> Kind {
        self.iter().next().unwrap_or(Kind::Lifecycle)
    }
}

impl std::fmt::Debug for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.iter().map(Kind::as_str).collect();
        f.write_str(&names.join("+"))
    }
}

impl Serialize for Kinds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kinds = Vec::<Kind>::deserialize(deserializer)?;
        Ok(kinds.into_iter().fold(Self::default(), Self::and))
    }
}

/// The role of a record in the model's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

impl Role {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

/// Who really acted. The role does not say this: most records of role `user` are not written by a human.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    Human,
    Agent,
    Harness,
    OtherAgent,
    Tool,
}

impl Actor {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Harness => "harness",
            Self::OtherAgent => "other_agent",
            Self::Tool => "tool",
        }
    }
}

/// The kind of a part of a session's source: the log, or a file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The log itself, read line by line. For Grok it is `updates.jsonl`.
    Log,
    /// Claude's metadata file beside a subagent's log.
    Meta,
    /// The result of a tool that was too large for the log.
    Spill,
    /// Grok's model context, which replaces the log if there is no `updates.jsonl`.
    ChatHistory,
    /// Grok's lifecycle records beside the log.
    Events,
    /// Grok's `summary.json`: ids, directory, times and the parent session.
    Summary,
    /// Grok's `signals.json`: its own counters.
    Signals,
    /// Grok's `prompt_context.json`: whether the session is interactive.
    PromptContext,
    /// Grok's `plan_mode.json`.
    PlanMode,
    /// Codex's list of thread names, one file for all sessions.
    Index,
}

impl PartKind {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Meta => "meta",
            Self::Spill => "spill",
            Self::ChatHistory => "chat_history",
            Self::Events => "events",
            Self::Summary => "summary",
            Self::Signals => "signals",
            Self::PromptContext => "prompt_context",
            Self::PlanMode => "plan_mode",
            Self::Index => "index",
        }
    }
}

/// The first `seq` of events from a part beside the log. That part grows independently of the log, and its events
/// have the same numbers whichever of the two is read first.
pub const BESIDE_SEQ: u64 = 1 << 32;

/// One event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Presentation order within the session, from 0, or from [`BESIDE_SEQ`] for a part beside the log. Not an
    /// identity: see `id`.
    pub seq: u64,
    /// The event that this one follows: the agent's own link if it has one, else the call of a result, else the
    /// previous event.
    pub parent_seq: Option<u64>,
    /// The agent's own identity of the event, e.g. `<uuid>#<block>`, or `L<line>#<block>` if it has none.
    pub id: Box<str>,
    pub ts: Option<Timestamp>,
    /// All kinds of the event; the first by precedence is the schema's `kind`.
    pub kinds: Kinds,
    pub role: Role,
    pub actor: Actor,
    /// True if a human asks or directs the agent here.
    pub trigger: bool,
    /// The turn of the event, from 1; `None` before the first trigger.
    pub turn: Option<u32>,
    pub tool: Option<Box<str>>,
    /// The first 500 characters of a message, or a tool call in one line.
    pub summary: Box<str>,
    pub part: PartKind,
    /// 1-based physical line.
    pub line: u64,
    /// The line that contains the text, if it is not `line`: a queued prompt is delivered later than it was typed.
    pub text_line: Option<u64>,
    /// The index of the block within the line.
    pub block: u32,
    /// Joins a tool call with its result.
    pub call_id: Option<Box<str>>,
    pub duration_ms: Option<u64>,
    pub success: Option<bool>,
    pub exit_code: Option<i32>,
    /// Files that an edit writes.
    pub files: Vec<Box<str>>,
    /// Tokens of the API call whose first event this is.
    pub tokens: Option<Tokens>,
    pub is_sidechain: bool,
    /// The file of the session's own directory that contains the whole result, if it was too large for the log.
    pub spill: Option<Box<str>>,
}

impl SessionEvent {
    /// Returns the kind that represents all kinds of the event.
    pub fn kind(&self) -> Kind {
        self.kinds.first()
    }
}
