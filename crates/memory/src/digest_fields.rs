//! The fields of a digest. They are stored forever and printed as JSON, so a field keeps its name and its meaning.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::Tokens;

use crate::effort::{Interventions, SessionTime};
use crate::outcome::Judgement;
use crate::signals::Signal;

/// The facts of one session. They stay when the raw text is evicted.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Digest {
    pub session_uid: String,
    pub flavor: String,
    pub title: Option<String>,
    /// The beginning of the first prompt by a human.
    pub first_prompt: Option<Snippet>,
    /// The name of the repository from its remote or, without a remote, from its main directory.
    pub repo: Option<String>,
    /// `host/owner/name`, if the repository has a remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub model: Option<String>,
    pub agent_version: Option<String>,
    pub task_ref: Option<String>,
    pub is_subagent: bool,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub time: SessionTime,
    pub outcome: Judgement,
    /// What hooks and wrapped commands reported: the newest fact of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<ReportedFact>,
    pub turns: u32,
    pub rewound_turns: u32,
    pub events: u64,
    pub tool_calls: u64,
    pub retries: u64,
    pub interventions: Interventions,
    pub tokens: TokenTotals,
    /// The most used first.
    pub tools: Vec<ToolUse>,
    /// The most edited first.
    pub files: Vec<FileEdits>,
    /// The programs that were run, most frequent first.
    pub commands: Vec<CommandRuns>,
    pub tests: TestRuns,
    /// Every commit of the session, in order.
    pub commits: Vec<SessionCommit>,
    /// The total number, even if fewer are listed. Digests of older versions do not have it.
    #[serde(default)]
    pub commits_total: u64,
    pub errors: ErrorSummary,
    pub signals: Vec<Signal>,
    /// The last prompt and the last reply.
    pub snippets: Vec<Snippet>,
    /// Number of entries that were cut from the lists above.
    pub left_out: u64,
}

impl Digest {
    /// Returns how many commits the session made.
    pub fn commit_count(&self) -> u64 {
        self.commits_total.max(self.commits.len() as u64)
    }

    /// Returns every text that comes from the session and may contain a secret.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let snippets = self.first_prompt.iter().chain(&self.snippets);
        let evidence = self.outcome.evidence.iter().map(|evidence| evidence.text.as_str());
        snippets
            .map(|snippet| snippet.text.as_str())
            .chain(self.commits.iter().filter_map(|commit| commit.subject.as_deref()))
            .chain(self.files.iter().map(|file| file.path.as_str()))
            .chain(self.commands.iter().map(|command| command.command.as_str()))
            .chain(self.errors.kinds.iter().map(|error| error.text.as_str()))
            .chain(self.task_ref.as_deref())
            .chain(evidence)
    }
}

/// A short text from the session and its line.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Snippet {
    pub line: u64,
    pub turn: Option<u32>,
    /// Who wrote it: `human`, `agent`, `harness`, `tool`.
    pub actor: String,
    pub text: String,
}

/// A commit that the session made.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SessionCommit {
    /// The line of the command that made it.
    pub line: u64,
    pub turn: Option<u32>,
    /// Abbreviated, as git printed it; `None` if it printed none.
    #[serde(default)]
    pub hash: Option<String>,
    /// The first line of its message, as git printed it or from the command line; `None` if neither has it. Digests of
    /// version 2 contain the beginning of the output or of the command instead.
    #[serde(default, alias = "text")]
    pub subject: Option<String>,
}

impl SessionCommit {
    /// Returns the commit as git prints it in a list, or `None` if neither its hash nor its subject is known.
    pub fn words(&self) -> Option<String> {
        let words = [&self.hash, &self.subject].into_iter().flatten().map(String::as_str);
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

/// A fact that no log contains: how a session ended, or the error it failed with.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ReportedFact {
    /// `session_end`, `stop_failure`, `exit` and others.
    pub event: String,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
}

/// Tokens of the calls in this session's log, each call once. If several sessions contain a call, each of their digests
/// counts it, because the session that owns it depends on what else is stored; usage decides that when it is queried.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TokenTotals {
    pub calls: u64,
    pub total: Tokens,
    pub by_model: Vec<ModelTokens>,
    pub by_hour: Vec<HourTokens>,
}

/// Tokens of one model.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ModelTokens {
    pub model: String,
    pub calls: u64,
    pub tokens: Tokens,
}

/// Tokens of one hour, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HourTokens {
    pub hour: Timestamp,
    pub calls: u64,
    pub tokens: u64,
}

/// How often a tool was used.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ToolUse {
    pub tool: String,
    pub calls: u64,
    pub errors: u64,
    pub duration_ms: u64,
}

/// How often a file was edited.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FileEdits {
    pub path: String,
    pub edits: u64,
}

/// How often a program was run.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CommandRuns {
    pub command: String,
    pub runs: u64,
    pub errors: u64,
}

/// The test runs of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct TestRuns {
    pub passed: u64,
    pub failed: u64,
    /// Runs whose output does not show the result.
    pub unclear: u64,
    pub last: Option<LastTest>,
}

/// The last test run of a session.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LastTest {
    pub line: u64,
    pub turn: Option<u32>,
    pub command: String,
    /// `None` if the output does not show it.
    pub passed: Option<bool>,
    /// True if files were edited after the run.
    pub edited_since: bool,
}

/// The errors of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ErrorSummary {
    pub count: u64,
    /// Errors after which the same call succeeded.
    pub resolved: u64,
    /// The most frequent first.
    pub kinds: Vec<ErrorGroup>,
}

/// Errors with the same text.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ErrorGroup {
    /// The line of the first occurrence.
    pub line: u64,
    pub turn: Option<u32>,
    pub tool: Option<String>,
    pub text: String,
    pub count: u64,
}
