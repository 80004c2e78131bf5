//! Edit and revert: a change is taken back, by the opposite edit or by git.

use std::collections::HashMap;

use super::{Seen, Signal, SignalKind, times};
use crate::digest::{Findings, Ran, Step};
use crate::outcome::Evidence;

/// So many edits are remembered, to be compared with later ones.
const EDITS_MAX: usize = 4096;
/// One change of mind is no pattern.
const CHURN_MIN: u64 = 2;
/// Words of git that take changes back.
const TAKES_BACK: [&str; 5] = [
    "git checkout -- ",
    "git restore ",
    "git reset --hard",
    "git stash",
    "git revert",
];

/// Edits so far, and those taken back.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// What was put, and what stood there before.
    done: HashMap<u64, u64>,
    has_edited: bool,
    taken_back: Seen,
}

impl Edits {
    pub(super) fn see(&mut self, step: Step<'_>, findings: &Findings) {
        let Step::Ran(ran) = step else { return };
        if ran.failed() {
            return;
        }
        if let Some((from, to)) = findings.edits.get(&ran.seq) {
            if self.done.get(from) == Some(to) {
                self.taken_back.add(Evidence::of_ran(ran));
            }
            if self.done.len() < EDITS_MAX {
                self.done.insert(*to, *from);
            }
        }
        if self.has_edited && takes_back(ran) {
            self.taken_back.add(Evidence::of_ran(ran));
        }
        self.has_edited |= !ran.files.is_empty();
    }

    pub(super) fn end(self) -> Option<Signal> {
        let enough = self.taken_back.count >= CHURN_MIN;
        let told = |count| times(count, "changes were taken back");
        enough
            .then(|| self.taken_back.told(SignalKind::EditRevertChurn, told))
            .flatten()
    }
}

fn takes_back(ran: &Ran) -> bool {
    ran.command().is_some()
        && TAKES_BACK.iter().any(|words| ran.wording.contains(words))
        && !ran.wording.contains("stash list")
}
