//! What a written day is made of: plain data, printed as the report's JSON. A field keeps its name and meaning.
//!
//! Any writer can make one. What it says of the day is in statements, and a statement without a citation is none.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::Outcome;

use crate::outcome::{Confidence, Reason};

/// Of the report's JSON.
pub const SCHEMA: &str = "boswell.report/1";

/// One written day.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Day {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    pub date: String,
    pub timezone: String,
    /// `partial` where the day was not over when its workspace was made, else `final`.
    pub status: String,
    /// When the workspace was made, for a day that was not over; else null.
    pub as_of: Option<String>,
    pub report_window_local: Bounds,
    pub report_window_utc: Bounds,
    pub written: Written,
    pub totals: Totals,
    /// What matters most, first.
    pub summary: Vec<Statement>,
    /// Those with the most weight first.
    pub projects: Vec<Project>,
    pub whole: Whole,
    /// When who was at work, in order of time.
    pub spans: Vec<Span>,
    /// The turns that are cited, in small.
    pub excerpts: Vec<Excerpt>,
    pub unread: Vec<Unread>,
}

/// Two moments: the first belongs to the day, the second to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Bounds {
    pub start: String,
    pub end: String,
}

/// Who wrote the day.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Written {
    /// `default`, or an agent.
    pub by: String,
    pub version: u32,
}

/// Sums of a day, a project or a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Totals {
    pub projects: u64,
    pub sessions: u64,
    /// Of the sessions, those of which only the digest is left.
    pub sessions_from_digests: u64,
    pub turns: u64,
    pub subagents: u64,
    pub files: u64,
    pub commits: u64,
    /// Time in which something happened: see the idle rule of digests.
    pub active_s: u64,
    pub tokens: u64,
    /// Null where no price is known.
    pub cost_microusd: Option<u64>,
    /// Calls without a price, which the sum leaves out.
    pub unpriced_calls: u64,
    pub tests_passed: u64,
    pub tests_failed: u64,
    pub tests_unclear: u64,
}

/// A piece of a sentence. Pages decide how each looks; text from logs is in `code` and `quote` alone.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The writer's own words.
    Say(String),
    /// A name: a file, a command.
    Code(String),
    /// What somebody said.
    Quote(String),
}

/// One sentence, and the lines it stands on.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Statement {
    pub words: Vec<Word>,
    pub citations: Vec<Citation>,
}

/// Lines of one turn of the workspace's index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Citation {
    pub project_key: String,
    /// What the project is called in a sentence: its label, or its key where two have one label.
    pub project: String,
    pub session_ref: String,
    pub turn_ref: String,
    pub first_line: u64,
    pub last_line: u64,
}

/// A turn that a piece of work is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Covered {
    pub session_ref: String,
    pub turn_ref: String,
}

/// What was done in one project.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Project {
    pub project_key: String,
    pub project: String,
    pub totals: Totals,
    /// Those with the most weight first.
    pub works: Vec<Work>,
    /// Work that is told in one line.
    pub folded: Vec<Folded>,
}

/// Related turns: one piece of work.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Work {
    /// The human's own words.
    pub title: Statement,
    pub outcome: Outcome,
    pub reason: Reason,
    pub confidence: Confidence,
    /// Only the digest of its session is left.
    pub from_digest: bool,
    pub agents: Vec<String>,
    pub covers: Vec<Covered>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub totals: Totals,
    pub asked: Vec<Statement>,
    pub done: Vec<Statement>,
    pub came: Vec<Statement>,
    pub open: Vec<Statement>,
    pub decided: Vec<Statement>,
}

/// Work that is told in one line.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Folded {
    pub statement: Statement,
    pub covers: Vec<Covered>,
}

/// What the day shows as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Whole {
    /// Where the human had to step in.
    pub corrected: Vec<Statement>,
    pub repeated: Vec<Statement>,
    pub worked: Vec<Statement>,
}

/// A turn on the line of time.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Span {
    pub citation: Citation,
    pub agent: String,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
}

/// A turn in small: what a citation opens.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Excerpt {
    /// The whole turn.
    pub citation: Citation,
    pub agent: String,
    /// The agent's own id of the session.
    pub session_id: String,
    pub from_digest: bool,
    pub started_at: Option<Timestamp>,
    pub lines: Vec<ExcerptLine>,
    /// Lines with something on them that are not shown.
    pub left_out: u64,
}

/// One line of a turn.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExcerptLine {
    pub line: u64,
    pub kind: LineKind,
    pub text: String,
}

/// What stands on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Prompt,
    Answer,
    /// Another word of the human: an interruption, an answer to a question.
    Human,
    Tool,
    FailedTool,
    Notice,
}

impl LineKind {
    /// The word used in JSON.
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
pub struct Unread {
    pub project: String,
    pub session_ref: String,
    pub reason: String,
}

impl Statement {
    /// The sentence as plain text, with its quotation marks.
    pub fn text(&self) -> String {
        let word = |word: &Word| match word {
            Word::Say(text) | Word::Code(text) => text.clone(),
            Word::Quote(text) => format!("“{text}”"),
        };
        self.words.iter().map(word).collect()
    }
}

impl Citation {
    /// `lines 21-55`, or `line 21`.
    pub fn lines(&self) -> String {
        match self.first_line == self.last_line {
            true => format!("line {}", self.first_line),
            false => format!("lines {}-{}", self.first_line, self.last_line),
        }
    }

    /// `(project, S0001, T0002, lines 21-55)`.
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
