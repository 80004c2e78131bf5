//! One thing that happened in a session: a prompt, a reply, a tool call, its result, a change of state.
//!
//! Field names follow the schema of the memory; what reality needs besides is documented at the field.
//! An event is light: its full text stays in the log, at `line` and `block`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Tokens;

/// What kind of thing an event is. The order is the precedence by which one kind stands for a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A human stepped in: interrupt, denial, steering, rewind.
    HumanIntervention,
    /// Something failed.
    Error,
    /// Something is tried again after it failed.
    Retry,
    /// A file is written.
    Edit,
    /// Tests are run.
    TestRun,
    /// A decision somebody wrote down.
    Decision,
    /// Words addressed to the agent.
    UserMsg,
    /// Words of the agent.
    AssistantMsg,
    /// What the agent thought.
    Thinking,
    /// The agent calls a tool.
    ToolCall,
    /// What the tool gave back.
    ToolResult,
    /// A piece of work came to its end.
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

    /// The word used in JSON, filters and help.
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

/// The set of kinds of one event. Filters and counts use the set; [`Kinds::first`] stands for it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u16);

impl Kinds {
    /// The set of one kind.
    pub fn of(kind: Kind) -> Self {
        Self(1 << kind as u16)
    }

    /// This set and one more kind.
    #[must_use]
    pub fn and(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u16)
    }

    /// This set and another one.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set holds `kind`.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }

    /// The set as a number to keep: bit n is the n-th kind of [`Kind::ALL`].
    pub fn bits(self) -> u16 {
        self.0
    }

    /// The set that [`Kinds::bits`] gave; bits of kinds nobody knows are dropped.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits & ((1 << Kind::ALL.len()) - 1))
    }

    /// The kinds of the set, in order of precedence.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// The most specific kind of the set.
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

/// In whose name a record was written for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

impl Role {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

/// Who really acted, which the role does not tell: most records of role `user` are not by a human.
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
    /// The word used in JSON.
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

/// A part of a session's source: the log, and what lies beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The log itself, read line by line. For Grok it is `updates.jsonl`.
    Log,
    /// Claude's small file beside a subagent's log.
    Meta,
    /// A tool's result that was too large for the log.
    Spill,
    /// Grok's model context, which stands for the log where there is no `updates.jsonl`.
    ChatHistory,
    /// Grok's lifecycle records beside the log.
    Events,
    /// Grok's `summary.json`: who, where, when, and whose child.
    Summary,
    /// Grok's `signals.json`: its own counters.
    Signals,
    /// Grok's `prompt_context.json`: whether a human sits there.
    PromptContext,
    /// Grok's `plan_mode.json`.
    PlanMode,
    /// Codex's list of thread names, one file for all sessions.
    Index,
}

impl PartKind {
    /// The word used in JSON.
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

/// Where the numbers of events begin that a part beside the log gives. It grows beside the log, and its events are
/// numbered the same whichever of the two is read first.
pub const BESIDE_SEQ: u64 = 1 << 32;

/// One event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Presentation order within the session, from 0; from [`BESIDE_SEQ`] beside the log. Not an identity: see `id`.
    pub seq: u64,
    /// The event this one follows from: the agent's own link where it has one, else the call of a result,
    /// else the event before.
    pub parent_seq: Option<u64>,
    /// The agent's own identity of the event, e.g. `<uuid>#<block>`; `L<line>#<block>` where it has none.
    pub id: Box<str>,
    pub ts: Option<Timestamp>,
    /// All kinds of the event; the first by precedence is the seed schema's `kind`.
    pub kinds: Kinds,
    pub role: Role,
    pub actor: Actor,
    /// Whether a human asks or directs the agent here.
    pub trigger: bool,
    /// The turn the event belongs to, from 1; none before the first trigger.
    pub turn: Option<u32>,
    pub tool: Option<Box<str>>,
    /// The first 500 characters of a message, or a tool call in one line.
    pub summary: Box<str>,
    pub part: PartKind,
    /// 1-based physical line.
    pub line: u64,
    /// The line that holds the words, where it is another one than `line`: a queued prompt is delivered
    /// later than it was typed.
    pub text_line: Option<u64>,
    /// Which block of the line.
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
    /// The file of the session's own tree that holds the whole result, where it was too large for the log.
    pub spill: Option<Box<str>>,
}

impl SessionEvent {
    /// The one kind that stands for all kinds of the event.
    pub fn kind(&self) -> Kind {
        self.kinds.first()
    }
}
