//! Reverted changes: an edit is undone by the opposite edit or by git.

use std::collections::HashMap;

use super::{Occurrences, Signal, SignalKind, count_times};
use crate::findings::Findings;
use crate::outcome::Evidence;
use crate::steps::{CallStep, Step};

/// Maximum number of edits that later ones are compared with.
const EDITS_MAX: usize = 4096;
/// A single revert is not a pattern.
const CHURN_MIN: u64 = 2;
/// Git commands that discard or revert changes.
const REVERTING_COMMANDS: [&str; 5] = [
    "git checkout -- ",
    "git restore ",
    "git reset --hard",
    "git stash",
    "git revert",
];

/// The edits so far, and the reverts among them.
#[derive(Debug, Default)]
pub(super) struct EditSignals {
    /// Hash of the new text to hash of the text that it replaced.
    replaced: HashMap<u64, u64>,
    has_edited: bool,
    reverts: Occurrences,
}

impl EditSignals {
    pub(super) fn add_step(&mut self, step: Step<'_>, findings: &Findings) {
        let Step::Call(call) = step else { return };
        if call.has_failed() {
            return;
        }
        if let Some((from, to)) = findings.edits.get(&call.seq) {
            // The replaced text was once the new text of an edit, which this one reverses.
            if self.replaced.get(from) == Some(to) {
                self.reverts.add(Evidence::from_call(call));
            }
            if self.replaced.len() < EDITS_MAX {
                self.replaced.insert(*to, *from);
            }
        }
        if self.has_edited && reverts_changes(call) {
            self.reverts.add(Evidence::from_call(call));
        }
        self.has_edited |= !call.files.is_empty();
    }

    pub(super) fn finish(self) -> Option<Signal> {
        let enough = self.reverts.count >= CHURN_MIN;
        let text = |count| count_times(count, "changes were reverted");
        enough
            .then(|| self.reverts.into_signal(SignalKind::EditRevertChurn, text))
            .flatten()
    }
}

fn reverts_changes(call: &CallStep) -> bool {
    call.command().is_some()
        && REVERTING_COMMANDS.iter().any(|words| call.wording.contains(words))
        && !call.wording.contains("stash list")
}
