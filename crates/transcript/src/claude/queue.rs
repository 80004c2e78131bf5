//! Prompts that wait while the agent works. A queued prompt is delivered as a record of its own, or put
//! into the running turn; then the log says only that it left the queue, and may repeat it later.

use serde::{Deserialize, Serialize};

use super::said::{Said, judge_queued};
use crate::ids::hash;
use crate::wording::{SUMMARY_CHARS_MAX, cut};

/// A bound on what a hostile log can make us remember.
const WAITING_MAX: usize = 64;
const DELIVERED_MAX: usize = 16;

/// A text in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queued {
    /// Where it was typed.
    pub(super) line: u64,
    /// Its beginning; none where the log does not tell it, as with pictures.
    pub(super) text: Option<Box<str>>,
    hash: u64,
    pub(super) by_human: bool,
    /// Whether it directs the agent; a local command does not.
    pub(super) is_trigger: bool,
}

/// The queue, as far as the log tells of it.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queue {
    waiting: Vec<Queued>,
    /// Hashes of texts put into the running turn, to know their echo.
    delivered: Vec<u64>,
}

impl Queue {
    /// A text enters the queue.
    pub(super) fn enqueue(&mut self, line: u64, text: &str) {
        let said = judge_queued(text);
        let (by_human, is_trigger) = match said {
            Said::Prompt(_) | Said::Nothing => (true, true),
            Said::Command { .. } => (true, false),
            _ => (false, false),
        };
        let shown = Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(|text| cut(text, SUMMARY_CHARS_MAX).into());
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push(Queued {
            line,
            text: shown,
            hash: hash(text.trim()),
            by_human,
            is_trigger,
        });
    }

    /// A text leaves the queue into the running turn. The log does not say which: a human's goes first.
    pub(super) fn remove(&mut self) -> Option<Queued> {
        let at = self.waiting.iter().position(|queued| queued.by_human).unwrap_or(0);
        if self.waiting.is_empty() {
            return None;
        }
        let queued = self.waiting.remove(at);
        if queued.by_human {
            if self.delivered.len() == DELIVERED_MAX {
                self.delivered.remove(0);
            }
            self.delivered.push(queued.hash);
        }
        Some(queued)
    }

    /// The human takes everything back.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// A text came as a record of its own: it no longer waits.
    pub(super) fn arrived(&mut self, text: &str) {
        if self.waiting.is_empty() {
            return;
        }
        let hash = hash(text.trim());
        if let Some(at) = self.waiting.iter().position(|queued| queued.hash == hash) {
            self.waiting.remove(at);
        }
    }

    /// Whether a text only repeats what was already put into the running turn. It repeats it once.
    pub(super) fn is_echo(&mut self, text: &str) -> bool {
        if self.delivered.is_empty() {
            return false;
        }
        let hash = hash(text.trim());
        let at = self.delivered.iter().position(|delivered| *delivered == hash);
        at.map(|at| self.delivered.remove(at)).is_some()
    }
}
