//! Prompts that wait while the agent works. A queued prompt is delivered as a record of its own, or put
//! into the running turn; then the log says only that it left the queue, and may repeat it later.

use serde::{Deserialize, Serialize};

use super::said::{Said, judge_queued};
use crate::ids::hash;
use crate::wording::{SUMMARY_CHARS_MAX, cut};

/// A bound on what a hostile log can make us remember.
const WAITING_MAX: usize = 64;
const DELIVERED_MAX: usize = 16;
/// An echo stands within a few lines of what it repeats. The same words later are said anew.
const ECHO_LINES_MAX: u64 = 40;

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
    /// How many texts left the queue to become records that have not come yet.
    leaving: u32,
    /// Texts put into the running turn, to know their echo.
    delivered: Vec<Delivered>,
}

/// A text put into the running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Delivered {
    hash: u64,
    /// The event it became, and where.
    seq: u64,
    line: u64,
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

    /// A text leaves the queue into the running turn. Where the log does not say which, a human's goes first.
    pub(super) fn remove(&mut self, told: &str) -> Option<Queued> {
        if self.waiting.is_empty() {
            return None;
        }
        let told = Some(told.trim()).filter(|told| !told.is_empty()).map(hash);
        let named = self.waiting.iter().position(|queued| Some(queued.hash) == told);
        let humans = || self.waiting.iter().position(|queued| queued.by_human);
        let at = named.or_else(humans).unwrap_or(0);
        Some(self.waiting.remove(at))
    }

    /// A text put into the running turn became an event.
    pub(super) fn delivered(&mut self, queued: &Queued, seq: u64, line: u64) {
        if self.delivered.len() == DELIVERED_MAX {
            self.delivered.remove(0);
        }
        let hash = queued.hash;
        self.delivered.push(Delivered { hash, seq, line });
    }

    /// A text leaves the queue to become a record of its own.
    pub(super) fn dequeue(&mut self) {
        if !self.waiting.is_empty() {
            self.leaving += 1;
        }
    }

    /// The human takes everything back.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.leaving = 0;
    }

    /// A text came as a record of its own: it no longer waits.
    pub(super) fn arrived(&mut self, text: &str) {
        if self.waiting.is_empty() {
            return;
        }
        let hash = hash(text.trim());
        if let Some(at) = self.waiting.iter().position(|queued| queued.hash == hash) {
            self.waiting.remove(at);
            self.leaving = self.leaving.saturating_sub(1);
        }
    }

    /// A human's text came as a record of its own. It may read otherwise than it did in the queue: pasted text is put
    /// in, pictures are taken out.
    pub(super) fn came(&mut self, text: &str) {
        let (waited, leaving) = (self.waiting.len(), self.leaving);
        self.arrived(text);
        if leaving == 0 || self.waiting.len() < waited {
            return;
        }
        match self.waiting.iter().position(|queued| queued.by_human) {
            Some(at) => {
                self.waiting.remove(at);
                self.leaving -= 1;
            }
            // What left the queue was not a human's, and gave no record.
            None => self.leaving = 0,
        }
    }

    /// The event that a text only repeats, as it was put into the running turn shortly before. It repeats it once.
    pub(super) fn echo(&mut self, text: &str, line: u64) -> Option<u64> {
        if self.delivered.is_empty() {
            return None;
        }
        let hash = hash(text.trim());
        let repeats =
            |delivered: &Delivered| delivered.hash == hash && line.saturating_sub(delivered.line) <= ECHO_LINES_MAX;
        let at = self.delivered.iter().position(repeats)?;
        Some(self.delivered.remove(at).seq)
    }
}
