//! The data of a written day, which is printed as the report's JSON. Fields keep their names and meanings.
//!
//! Any writer can produce it. Everything a writer says about the day is in statements, and every statement needs a
//! citation.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::Outcome;

use crate::outcome::{Confidence, OutcomeReason};

/// Name and version of the report's JSON schema.
pub const REPORT_SCHEMA: &str = "boswell.report/1";

/// One written day.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DayReport {
    #[schemars(extend("const" = REPORT_SCHEMA))]
    pub schema: String,
    pub date: String,
    pub timezone: String,
    /// `partial` if the day was not over when its workspace was prepared, otherwise `final`.
    pub status: String,
    /// When the workspace was prepared, if the day was not over; otherwise null.
    pub as_of: Option<String>,
    pub report_window_local: DayBounds,
    pub report_window_utc: DayBounds,
    pub written: WriterInfo,
    pub totals: Totals,
    /// The most important statements, most important first.
    pub summary: Vec<Statement>,
    /// Ordered by weight, heaviest first.
    pub projects: Vec<ReportProject>,
    pub whole: DayObservations,
    /// When each agent was at work, ordered by time.
    pub spans: Vec<TimelineSpan>,
    /// Excerpts of the cited turns.
    pub excerpts: Vec<TurnExcerpt>,
    pub unread: Vec<UnreadSession>,
}

/// The bounds of the day: `start` is inclusive, `end` is exclusive.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DayBounds {
    pub start: String,
    pub end: String,
}

/// The writer of the day.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WriterInfo {
    /// `default`, or the name of an agent.
    pub by: String,
    pub version: u32,
}

/// Totals of a day, a project or a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Totals {
    pub projects: u64,
    pub sessions: u64,
    /// The number of these sessions of which only the digest is left.
    pub sessions_from_digests: u64,
    pub turns: u64,
    pub subagents: u64,
    pub files: u64,
    pub commits: u64,
    /// Seconds without idle time; see the idle rule of digests.
    pub active_s: u64,
    pub tokens: u64,
    /// Null if no price is known.
    pub cost_microusd: Option<u64>,
    /// Calls without a known price, which `cost_microusd` excludes.
    pub unpriced_calls: u64,
    pub tests_passed: u64,
    pub tests_failed: u64,
    pub tests_unclear: u64,
}

/// A part of a sentence. Pages decide how each kind looks. Only `code` and `quote` contain text from logs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentencePart {
    /// The writer's own words.
    Say(String),
    /// A name, such as a file or a command.
    Code(String),
    /// A quotation of a person or an agent.
    Quote(String),
}

/// One sentence with the lines that support it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Statement {
    pub words: Vec<SentencePart>,
    pub citations: Vec<Citation>,
}

/// Lines of one turn in the workspace's index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Citation {
    pub project_key: String,
    /// The project's name in sentences: its label, or its key if another project has the same label.
    pub project: String,
    pub session_ref: String,
    pub turn_ref: String,
    pub first_line: u64,
    pub last_line: u64,
}

/// A turn that belongs to a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub struct CoveredTurn {
    pub session_ref: String,
    pub turn_ref: String,
}

/// The work done in one project.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ReportProject {
    pub project_key: String,
    pub project: String,
    pub totals: Totals,
    /// Ordered by weight, heaviest first.
    pub works: Vec<PieceOfWork>,
    /// Minor work, described in one line each.
    pub folded: Vec<MinorWork>,
}

/// A piece of work: a group of related turns.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PieceOfWork {
    /// Quotes the user's prompt.
    pub title: Statement,
    pub outcome: Outcome,
    pub reason: OutcomeReason,
    pub confidence: Confidence,
    /// True if only the digest of its session is left.
    pub from_digest: bool,
    pub agents: Vec<String>,
    pub covers: Vec<CoveredTurn>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub totals: Totals,
    pub asked: Vec<Statement>,
    pub done: Vec<Statement>,
    pub came: Vec<Statement>,
    pub open: Vec<Statement>,
    pub decided: Vec<Statement>,
}

/// Minor work, described in one line.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MinorWork {
    pub statement: Statement,
    pub covers: Vec<CoveredTurn>,
}

/// Observations about the day as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DayObservations {
    /// Interventions of the user.
    pub corrected: Vec<Statement>,
    pub repeated: Vec<Statement>,
    pub worked: Vec<Statement>,
}

/// A turn on the timeline.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TimelineSpan {
    pub citation: Citation,
    pub agent: String,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
}

/// An excerpt of a turn, which a citation opens.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TurnExcerpt {
    /// Cites the whole turn.
    pub citation: Citation,
    pub agent: String,
    /// The agent's own id of the session.
    pub session_id: String,
    pub from_digest: bool,
    pub started_at: Option<Timestamp>,
    pub lines: Vec<ExcerptLine>,
    /// Number of non-empty lines that are not shown.
    pub left_out: u64,
}

/// One line of a turn.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExcerptLine {
    pub line: u64,
    pub kind: LineKind,
    pub text: String,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Prompt,
    Answer,
    /// Another input of the user, such as an interrupt or an answer to a question.
    Human,
    Tool,
    FailedTool,
    Notice,
}

impl LineKind {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Human => "human",
            Self::Tool => "tool",
            Self::FailedTool => "failed_tool",
            Self::Notice => "notice",
        }
    }
}

/// A session of the index that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UnreadSession {
    pub project: String,
    pub session_ref: String,
    pub reason: String,
}

impl Statement {
    /// Returns the sentence as plain text, with quotation marks.
    pub fn text(&self) -> String {
        let word = |word: &SentencePart| match word {
            SentencePart::Say(text) | SentencePart::Code(text) => text.clone(),
            SentencePart::Quote(text) => format!("“{text}”"),
        };
        self.words.iter().map(word).collect()
    }
}

impl Citation {
    /// Returns the line numbers as text: `lines 21-55` or `line 21`.
    pub fn lines(&self) -> String {
        match self.first_line == self.last_line {
            true => format!("line {}", self.first_line),
            false => format!("lines {}-{}", self.first_line, self.last_line),
        }
    }

    /// Returns the citation as text: `(project, S0001, T0002, lines 21-55)`.
    pub fn text(&self) -> String {
        let Self {
            project,
            session_ref,
            turn_ref,
            ..
        } = self;
        format!("({project}, {session_ref}, {turn_ref}, {})", self.lines())
    }
}
