//! What the lines of a session contain and its events do not.

use std::collections::{HashMap, HashSet};

use transcript::GitCommit;

/// What the lines of a session say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Whether the test run that began with an event passed, where its output tells.
    pub tests: HashMap<u64, bool>,
    /// What is known about commits that commands made, by the event of the call.
    pub commits: HashMap<u64, CommitTexts>,
    /// The calls that open or merge a pull request.
    pub offers: HashSet<u64>,
    /// What an edit took away and what it put there, as hashes.
    pub edits: HashMap<u64, (u64, u64)>,
    /// The first masked secrets: line and rule.
    pub secrets: Vec<(u64, String)>,
    pub secret_count: u64,
    /// The last words of the agent.
    pub last_reply: Option<String>,
}

/// What the texts of a call and of its result contain about commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitTexts {
    /// The subjects on the command line, one for each `git commit`.
    pub subjects: Vec<Option<String>>,
    /// The commits that git announced.
    pub announced: Vec<GitCommit>,
    /// The hash that the agent itself noted.
    pub noted_hash: Option<String>,
    /// Git printed that there was nothing to commit.
    pub is_empty: bool,
}
