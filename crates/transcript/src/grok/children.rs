//! Which subagents the bill of a prompt includes. When a subagent finishes, Grok adds the cost of its session to the
//! prompt that started it, if that prompt still runs; the subagent's own log reports the same cost again. So the log
//! of the prompt notes which subagents it includes, and the sum over several logs leaves those out.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{hash, hash_pair};

/// Maximum number of subagents of one log that are remembered at a time.
const CHILDREN_MAX: usize = 256;

/// A subagent that was started and not billed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunningSubagent {
    /// The key of its calls.
    pub(super) session: u64,
    /// The prompt that started it.
    prompt: u64,
    pub(super) started: Option<Timestamp>,
    /// When it finished, and the line that reports it.
    pub(super) done: Option<(u64, Option<Timestamp>)>,
}

/// The subagents of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SubagentBills(Vec<RunningSubagent>);

impl SubagentBills {
    /// Adds a subagent that a prompt started.
    pub(super) fn add(&mut self, id: &str, prompt: u64, ts: Option<Timestamp>) {
        let session = session_key(id);
        let known = self.0.iter().position(|child| child.session == session);
        // A finished subagent that the same prompt starts again continues.
        let before = known.map(|at| self.0.remove(at)).filter(|child| child.prompt == prompt);
        if self.0.len() == CHILDREN_MAX {
            self.0.remove(0);
        }
        self.0.push(RunningSubagent {
            session,
            prompt,
            started: before.map_or(ts, |child| child.started),
            done: None,
        });
    }

    /// Marks a subagent as finished: its cost is now part of the running prompt's.
    pub(super) fn mark_done(&mut self, id: &str, line: u64, ts: Option<Timestamp>) {
        let session = session_key(id);
        if let Some(child) = self.0.iter_mut().find(|child| child.session == session) {
            child.done = Some((line, ts));
        }
    }

    /// Ends a prompt. Returns the subagents whose cost it includes, and removes all that are finished. The cost of a
    /// subagent started by an earlier prompt is included in no bill.
    pub(super) fn finish_prompt(&mut self, prompt: u64) -> Vec<RunningSubagent> {
        let (done, open) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|child| child.done.is_some());
        self.0 = open;
        let done: Vec<RunningSubagent> = done;
        done.into_iter().filter(|child| child.prompt == prompt).collect()
    }
}

/// Returns the key of the calls of a subagent's session, in its own log and in its parent's.
pub(super) fn session_key(id: &str) -> u64 {
    hash_pair(hash(id), 2)
}
