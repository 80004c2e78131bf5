//! Whose work a prompt's bill holds besides its own. When a subagent is done, Grok adds what its session cost to the
//! prompt that started it, if that prompt still runs; the subagent's own log tells the same cost again. So the log of
//! the prompt notes whom it holds, and who adds up calls of several logs leaves those out.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{hash, hash_pair};

/// How many subagents of one log are remembered at a time.
const CHILDREN_MAX: usize = 256;

/// A subagent that was started and not billed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Child {
    /// What its calls are known by.
    pub(super) session: u64,
    /// The prompt that started it.
    prompt: u64,
    pub(super) started: Option<Timestamp>,
    /// When it was done, and the line that tells.
    pub(super) done: Option<(u64, Option<Timestamp>)>,
}

/// The subagents of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Children(Vec<Child>);

impl Children {
    /// A prompt started a subagent.
    pub(super) fn started(&mut self, id: &str, prompt: u64, ts: Option<Timestamp>) {
        let session = session_key(id);
        let known = self.0.iter().position(|child| child.session == session);
        // One that was done and is sent out again by the same prompt goes on.
        let before = known.map(|at| self.0.remove(at)).filter(|child| child.prompt == prompt);
        if self.0.len() == CHILDREN_MAX {
            self.0.remove(0);
        }
        self.0.push(Child {
            session,
            prompt,
            started: before.map_or(ts, |child| child.started),
            done: None,
        });
    }

    /// A subagent is done: from here on its cost is in the running prompt's.
    pub(super) fn done(&mut self, id: &str, line: u64, ts: Option<Timestamp>) {
        let session = session_key(id);
        if let Some(child) = self.0.iter_mut().find(|child| child.session == session) {
            child.done = Some((line, ts));
        }
    }

    /// A prompt is over: gives the subagents whose cost is in its own, and forgets all that are done. Who was started by
    /// an earlier prompt is in nobody's.
    pub(super) fn over(&mut self, prompt: u64) -> Vec<Child> {
        let (done, open) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|child| child.done.is_some());
        self.0 = open;
        let done: Vec<Child> = done;
        done.into_iter().filter(|child| child.prompt == prompt).collect()
    }
}

/// What the calls of a subagent's session are known by, in its own log and in its parent's.
pub(super) fn session_key(id: &str) -> u64 {
    hash_pair(hash(id), 2)
}
