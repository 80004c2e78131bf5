//! Reverted changes: an edit is undone by the opposite edit or by git.

use std::collections::HashMap;

use super::{Occurrences, Signal, SignalKind, count_times};
use crate::digest::{Findings, Ran, Step};
use crate::outcome::Evidence;

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
        let Step::Ran(ran) = step else { return };
        if ran.failed() {
            return;
        }
        if let Some((from, to)) = findings.edits.get(&ran.seq) {
            // The replaced text was once the new text of an edit, which this one reverses.
            if self.replaced.get(from) == Some(to) {
                self.reverts.add(Evidence::of_ran(ran));
            }
            if self.replaced.len() < EDITS_MAX {
                self.replaced.insert(*to, *from);
            }
        }
        if self.has_edited && reverts_changes(ran) {
            self.reverts.add(Evidence::of_ran(ran));
        }
        self.has_edited |= !ran.files.is_empty();
    }

    pub(super) fn finish(self) -> Option<Signal> {
        let enough = self.reverts.count >= CHURN_MIN;
        let text = |count| count_times(count, "changes were reverted");
        enough
            .then(|| self.reverts.into_signal(SignalKind::EditRevertChurn, text))
            .flatten()
    }
}

fn reverts_changes(ran: &Ran) -> bool {
    ran.command().is_some()
        && REVERTING_COMMANDS.iter().any(|words| ran.wording.contains(words))
        && !ran.wording.contains("stash list")
}
