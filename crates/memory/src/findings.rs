//! Facts that the lines of a session contain but its events do not.

use std::collections::{HashMap, HashSet};

use transcript::GitCommit;

/// The facts that were found in the lines of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// The results of test runs by the event that began the run: `true` if it passed. Missing if the output does not
    /// show it.
    pub tests: HashMap<u64, bool>,
    /// The commits that commands made, by the event of the call.
    pub commits: HashMap<u64, CommitTexts>,
    /// The calls that open or merge a pull request.
    pub offers: HashSet<u64>,
    /// Hashes of the removed and the inserted text of an edit.
    pub edits: HashMap<u64, (u64, u64)>,
    /// The first masked secrets: line and rule.
    pub secrets: Vec<(u64, String)>,
    pub secret_count: u64,
    /// The last reply of the agent.
    pub last_reply: Option<String>,
}

/// The details of commits in the texts of a call and of its result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitTexts {
    /// The subjects on the command line, one for each `git commit`.
    pub subjects: Vec<Option<String>>,
    /// The commits that git announced.
    pub announced: Vec<GitCommit>,
    /// The hash that the agent itself noted.
    pub noted_hash: Option<String>,
    /// `true` if git printed that there was nothing to commit.
    pub is_empty: bool,
}
