//! Joins tool calls and their results by id, whichever is read first, and marks calls as retries if they repeat a
//! failed one.

use std::collections::VecDeque;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::event::{Kind, Kinds};
use crate::ids::{from_entries, hash, in_order};
use crate::reading::{Amendment, Delta};

/// Maximum number of failed calls of a turn that are remembered.
const FAILED_MAX: usize = 16;
/// Two wordings are similar if they share more than this percentage of their words. One word more or less matters
/// little in a long command, but makes a short one a different command.
const SIMILAR_PERCENT: usize = 80;

/// A call without a result so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) seq: u64,
    pub(crate) ts: Option<Timestamp>,
    pub(crate) tool: Box<str>,
    wording: Box<str>,
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallResult {
    pub(crate) seq: u64,
    pub(crate) ts: Option<Timestamp>,
    pub(crate) success: Option<bool>,
    pub(crate) exit_code: Option<i32>,
    /// True if a human denied the call, or if it only polled another one: nothing of its own failed.
    pub(crate) denied: bool,
}

impl CallResult {
    fn amendment(&self, call_seq: u64, call_ts: Option<Timestamp>) -> Amendment {
        let duration = call_ts
            .zip(self.ts)
            .map(|(from, to)| to.as_millisecond() - from.as_millisecond());
        Amendment::Joined {
            seq: call_seq,
            success: self.success,
            exit_code: self.exit_code,
            duration_ms: duration.and_then(|ms| u64::try_from(ms).ok()),
            kinds: Kinds::default(),
        }
    }
}

/// Calls and results that wait for each other, and recent failures.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallJoiner {
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    open: FxHashMap<u64, OpenCall>,
    /// Results that precede their call.
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    early_results: FxHashMap<u64, CallResult>,
    failed_calls: VecDeque<(Box<str>, Box<str>)>,
}

impl CallJoiner {
    /// Adds a call. Its result may already have been read.
    pub(crate) fn add_call(&mut self, id: &str, open: OpenCall, delta: &mut Delta) {
        let key = hash(id);
        match self.early_results.remove(&key) {
            None => {
                self.open.insert(key, open);
            }
            Some(result) => {
                delta.amend(result.amendment(open.seq, open.ts));
                let (tool, parent_seq) = (open.tool.clone(), Some(open.seq));
                delta.amend(Amendment::Named {
                    seq: result.seq,
                    tool,
                    parent_seq,
                });
                self.close(open, &result);
            }
        }
    }

    /// Returns the call that waits for the result `id`.
    pub(crate) fn open_call(&self, id: &str) -> Option<&OpenCall> {
        self.open.get(&hash(id))
    }

    /// Adds a result and joins it with its call.
    pub(crate) fn add_result(&mut self, id: &str, result: CallResult, delta: &mut Delta) {
        let key = hash(id);
        match self.open.remove(&key) {
            Some(open) => {
                delta.amend(result.amendment(open.seq, open.ts));
                self.close(open, &result);
            }
            None => {
                self.early_results.insert(key, result);
            }
        }
    }

    fn close(&mut self, open: OpenCall, result: &CallResult) {
        if !result.denied {
            self.note_outcome(open, result.success);
        }
    }

    /// Remembers a failed call, and forgets it once a similar one succeeds.
    pub(crate) fn note_outcome(&mut self, open: OpenCall, success: Option<bool>) {
        self.failed_calls
            .retain(|(tool, wording)| *tool != open.tool || !is_similar(wording, &open.wording));
        if success == Some(false) {
            self.failed_calls.push_back((open.tool, open.wording));
            if self.failed_calls.len() > FAILED_MAX {
                self.failed_calls.pop_front();
            }
        }
    }

    /// Returns `true` if a call repeats, exactly or nearly, one that failed in this turn.
    pub(crate) fn is_retry(&self, tool: &str, wording: &str) -> bool {
        self.failed_calls
            .iter()
            .any(|(failed_calls, before)| &**failed_calls == tool && is_similar(before, wording))
    }

    /// Forgets the failures of the previous turn.
    pub(crate) fn start_turn(&mut self) {
        self.failed_calls.clear();
    }
}

impl OpenCall {
    pub(crate) fn new(seq: u64, ts: Option<Timestamp>, tool: &str, wording: &str) -> Self {
        Self {
            seq,
            ts,
            tool: tool.into(),
            wording: wording.into(),
        }
    }
}

/// Returns `true` if two wordings are equal, or share most of their words. A wording without spaces, such as a path,
/// must be equal.
fn is_similar(a: &str, b: &str) -> bool {
    let (a, b) = (subject(a), subject(b));
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    // Texts that share most words have similar lengths, so others need not be split.
    if a == b || !a.contains(' ') || !b.contains(' ') || short * 2 < long {
        return a == b;
    }
    let mut left: Vec<&str> = a.split_whitespace().collect();
    let mut right: Vec<&str> = b.split_whitespace().collect();
    left.sort_unstable();
    right.sort_unstable();
    let all = left.len() + right.len();
    let (mut shared, mut at) = (0, 0);
    for word in left {
        while at < right.len() && right[at] < word {
            at += 1;
        }
        if right.get(at) == Some(&word) {
            shared += 2;
            at += 1;
        }
    }
    shared * 100 > all * SIMILAR_PERCENT
}

/// Returns what a call is about: the file of an edit, the task of a subagent without its type, or a command without
/// its description.
fn subject(wording: &str) -> &str {
    if let Some((_, task)) = wording.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        return task;
    }
    let wording = wording.rsplit_once(" # ").map_or(wording, |(command, _)| command);
    let wording = without_environment(wording);
    match wording.rsplit_once(" (") {
        Some((file, detail)) if detail.starts_with("edit)") || detail.ends_with(" bytes)") => file,
        _ => wording,
    }
}

/// Removes the variables that are set for a command.
fn without_environment(command: &str) -> &str {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut rest = command;
    while let Some(word) = rest.split_whitespace().next()
        && (word == "env" || word.split_once('=').is_some_and(|(name, _)| is_name(name)))
    {
        rest = rest.trim_start()[word.len()..].trim_start();
    }
    rest
}

/// Parses the exit code at the start of a failed shell call's text.
pub(crate) fn exit_code(text: &str) -> Option<i32> {
    let text = text.trim_start();
    let text = text
        .strip_prefix("Error: ")
        .unwrap_or(text)
        .strip_prefix("Exit code ")?;
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns `true` if the tool is a shell, whose success means exit code 0.
pub(crate) fn is_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "PowerShell")
}

/// Returns the kinds of a tool call.
pub(crate) fn call_kinds(edits: bool, tests: bool, retries: bool) -> Kinds {
    let mut kinds = Kinds::of(Kind::ToolCall);
    for (applies, kind) in [(edits, Kind::Edit), (tests, Kind::TestRun), (retries, Kind::Retry)] {
        if applies {
            kinds = kinds.and(kind);
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_equal_calls_are_similar_and_others_are_not() {
        assert!(is_similar("cargo test -p app", "cargo test -p app"));
        assert!(is_similar(
            "cargo test -p app --lib login",
            "cargo test -p app --lib login -- --nocapture"
        ));
        assert!(!is_similar("cargo test", "cargo build"));
        assert!(!is_similar("", "ls"));
        assert!(!is_similar(
            "/home/ada/app/src/a.rs (edit)",
            "/home/ada/app/src/b.rs (edit)"
        ));
        assert!(is_similar("/home/ada/a.rs (10 bytes)", "/home/ada/a.rs (12 bytes)"));
        assert!(is_similar("src/a.rs (edit) and 3 more", "src/a.rs (edit) and 2 more"));
        assert!(!is_similar("ls -a", "ls -a gone.md"));
        assert!(is_similar(
            "[tidy:tidy] Sort the imports of it",
            "[tidy] Sort the imports of it"
        ));
        assert!(!is_similar("git push", "git push --force-with-lease origin main"));
        assert!(is_similar(
            "curl example.test # look",
            "curl example.test # ask for leave to look"
        ));
        assert!(is_similar("env A=1 B_2=/tmp/x go get one@v2", "go get one@v2"));
        assert!(!is_similar("A=1 B=2 C=3 go test ./one", "A=1 B=2 C=3 go build ./one"));
        assert!(!is_similar("A=1", "B=2 ls"));
        assert!(!is_similar(
            "sed -n 1,9p /home/ada/app/src/deep/below/list.rs",
            "sed -n 1,9p /home/ada/app/src/deep/below/map.rs"
        ));
    }

    #[test]
    fn an_exit_code_is_parsed_at_the_start_of_a_text() {
        assert_eq!(exit_code("Exit code 101\nerror"), Some(101));
        assert_eq!(exit_code("Error: Exit code 2"), Some(2));
        assert_eq!(exit_code("it said Exit code 1"), None);
        assert_eq!(exit_code("Exit code 99999999999"), None);
    }
}
