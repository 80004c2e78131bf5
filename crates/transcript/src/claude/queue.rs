//! Prompts that wait while the agent works. A queued prompt is delivered as a record of its own, or inserted into the
//! running turn. In the second case the log only says that it left the queue, and may repeat it later.

use serde::{Deserialize, Serialize};

use super::said::{ClaudeUserText, classify_queued};
use crate::ids::hash;
use crate::wording::{SUMMARY_CHARS_MAX, cut};

/// Limits what a hostile log can make us remember.
const WAITING_MAX: usize = 64;
const DELIVERED_MAX: usize = 16;
/// An echo is within a few lines of what it repeats. The same text later is a new prompt.
const ECHO_LINES_MAX: u64 = 40;

/// A text in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QueuedPrompt {
    /// The line where it was typed.
    pub(super) line: u64,
    /// Its start, or `None` if the log does not contain it, as with pictures.
    pub(super) text: Option<Box<str>>,
    hash: u64,
    pub(super) by_human: bool,
    /// True if it directs the agent; a local command does not.
    pub(super) is_trigger: bool,
}

/// The queue, as far as the log describes it.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PromptQueue {
    waiting: Vec<QueuedPrompt>,
    /// The number of texts that left the queue to become records that have not been read yet.
    leaving: u32,
    /// Texts inserted into the running turn, kept to recognize their echo.
    delivered: Vec<DeliveredPrompt>,
}

/// A text inserted into the running turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DeliveredPrompt {
    hash: u64,
    /// The event it became, and its line.
    seq: u64,
    line: u64,
}

impl PromptQueue {
    /// Adds a text to the queue.
    pub(super) fn enqueue(&mut self, line: u64, text: &str) {
        let said = classify_queued(text);
        let (by_human, is_trigger) = match said {
            ClaudeUserText::Prompt(_) | ClaudeUserText::Nothing => (true, true),
            ClaudeUserText::Command { .. } => (true, false),
            _ => (false, false),
        };
        let shown = Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(|text| cut(text, SUMMARY_CHARS_MAX).into());
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push(QueuedPrompt {
            line,
            text: shown,
            hash: hash(text.trim()),
            by_human,
            is_trigger,
        });
    }

    /// Removes the text that leaves the queue into the running turn. If the log does not say which, a human's goes
    /// first.
    pub(super) fn remove(&mut self, text: &str) -> Option<QueuedPrompt> {
        if self.waiting.is_empty() {
            return None;
        }
        let text = Some(text.trim()).filter(|text| !text.is_empty()).map(hash);
        let named = self.waiting.iter().position(|queued| Some(queued.hash) == text);
        let humans = || self.waiting.iter().position(|queued| queued.by_human);
        let at = named.or_else(humans).unwrap_or(0);
        Some(self.waiting.remove(at))
    }

    /// Remembers the event of a text inserted into the running turn.
    pub(super) fn add_delivered(&mut self, queued: &QueuedPrompt, seq: u64, line: u64) {
        if self.delivered.len() == DELIVERED_MAX {
            self.delivered.remove(0);
        }
        let hash = queued.hash;
        self.delivered.push(DeliveredPrompt { hash, seq, line });
    }

    /// Notes that a text leaves the queue to become a record of its own.
    pub(super) fn dequeue(&mut self) {
        if !self.waiting.is_empty() {
            self.leaving += 1;
        }
    }

    /// Clears the queue when the human takes everything back.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.leaving = 0;
    }

    /// Removes a text that arrived as a record of its own.
    pub(super) fn record_arrived(&mut self, text: &str) {
        if self.waiting.is_empty() {
            return;
        }
        let hash = hash(text.trim());
        if let Some(at) = self.waiting.iter().position(|queued| queued.hash == hash) {
            self.waiting.remove(at);
            self.leaving = self.leaving.saturating_sub(1);
        }
    }

    /// Removes a human's text that arrived as a record of its own. It may differ from the queued text because pasted
    /// text is expanded and pictures are removed.
    pub(super) fn prompt_arrived(&mut self, text: &str) {
        let (waited, leaving) = (self.waiting.len(), self.leaving);
        self.record_arrived(text);
        if leaving == 0 || self.waiting.len() < waited {
            return;
        }
        match self.waiting.iter().position(|queued| queued.by_human) {
            Some(at) => {
                self.waiting.remove(at);
                self.leaving -= 1;
            }
            // What left the queue was not a human's text, and gave no record.
            None => self.leaving = 0,
        }
    }

    /// Returns the event that a text repeats because it was inserted into the running turn shortly before. Each event
    /// is repeated at most once.
    pub(super) fn take_echo(&mut self, text: &str, line: u64) -> Option<u64> {
        if self.delivered.is_empty() {
            return None;
        }
        let hash = hash(text.trim());
        let repeats = |delivered: &DeliveredPrompt| {
            delivered.hash == hash && line.saturating_sub(delivered.line) <= ECHO_LINES_MAX
        };
        let at = self.delivered.iter().position(repeats)?;
        Some(self.delivered.remove(at).seq)
    }
}
