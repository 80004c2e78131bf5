//! Detects history copied from another thread: where it ends and the log's own work starts.
//!
//! A fork and a subagent start with their parent's records, rewritten at the time of the copy. They are recognized by
//! a header of another thread, by turns older than the thread, or by an explicit field of the log. The first turn
//! that is younger than the thread ends them, or else the first pause.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::uuid;
use crate::session::{Inherited, InheritedRule};

/// Copied records follow each other faster than a human and a model could work.
const BURST_GAP_MS: i64 = 1_000;
/// Copying never pauses this long, whatever the turns say.
const PAUSE_MS: i64 = 60_000;

/// The position of the reader.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum InheritancePhase {
    /// Before the header of the thread, or after it with no record of its own read yet.
    #[default]
    Head,
    /// Inside copied records.
    Copied,
    /// In the thread's own records.
    Own,
}

/// What is known about copied history.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InheritanceTracker {
    phase: InheritancePhase,
    /// When the thread was created, from its id.
    created_ms: Option<u64>,
    /// True if the log says that the thread comes from another one.
    has_parent: bool,
    /// The first ordinal of the thread's own records, if the log has it.
    own_ordinal: Option<u64>,
    /// True if turns older than the thread were read.
    older_turns: bool,
    imported: bool,
    last_ts: Option<Timestamp>,
    first_line: u64,
    last_line: u64,
    rule: Option<InheritedRule>,
}

/// The fields of a record that show whether it was copied.
pub(super) struct CopyEvidence<'r> {
    pub(super) line: u64,
    pub(super) ts: Option<Timestamp>,
    pub(super) ordinal: Option<u64>,
    pub(super) turn: Option<&'r str>,
    /// True for the header of another thread.
    pub(super) foreign_head: bool,
}

impl InheritanceTracker {
    /// Stores the header of the thread.
    pub(super) fn read_header(&mut self, id: &str, has_parent: bool, own_ordinal: Option<u64>) {
        self.created_ms = uuid_time_ms(id);
        self.has_parent = has_parent;
        self.own_ordinal = own_ordinal;
    }

    /// Returns `true` if the record is copied. Call it once per record, in order.
    pub(super) fn covers(&mut self, evidence: &CopyEvidence<'_>) -> bool {
        let copied = self.is_copied(evidence);
        if copied {
            if self.first_line == 0 {
                self.first_line = evidence.line;
            }
            self.last_line = evidence.line;
        }
        self.last_ts = evidence.ts.or(self.last_ts);
        copied
    }

    fn is_copied(&mut self, evidence: &CopyEvidence<'_>) -> bool {
        if let Some(turn) = evidence.turn {
            let imported = turn.starts_with("external-import-turn-");
            if imported != self.imported {
                self.imported = imported;
                self.phase = if imported {
                    InheritancePhase::Copied
                } else {
                    InheritancePhase::Own
                };
            }
            if imported {
                self.rule = Some(InheritedRule::Import);
            }
        }
        if self.imported {
            return true;
        }
        if let (Some(own), Some(ordinal)) = (self.own_ordinal, evidence.ordinal) {
            if ordinal < own {
                self.rule = Some(InheritedRule::Ordinal);
            }
            return ordinal < own;
        }
        match self.phase {
            InheritancePhase::Own => false,
            InheritancePhase::Head => {
                let older = self.is_older(evidence.turn);
                if evidence.foreign_head || (older == Some(true) && self.has_parent) {
                    self.phase = InheritancePhase::Copied;
                    self.older_turns = older == Some(true);
                    self.rule = Some(InheritedRule::Burst);
                } else if older == Some(false) {
                    self.phase = InheritancePhase::Own;
                }
                self.phase == InheritancePhase::Copied
            }
            InheritancePhase::Copied => {
                if let Some(rule) = self.end_rule(evidence) {
                    self.phase = InheritancePhase::Own;
                    self.rule = Some(rule);
                }
                self.phase == InheritancePhase::Copied
            }
        }
    }

    /// Returns the rule by which copied history ends at this record, or `None` if it continues.
    fn end_rule(&mut self, evidence: &CopyEvidence<'_>) -> Option<InheritedRule> {
        if evidence.foreign_head {
            return None;
        }
        match self.is_older(evidence.turn) {
            Some(false) => return Some(InheritedRule::TurnTime),
            Some(true) => self.older_turns = true,
            None => {}
        }
        let gap = evidence.ts?.as_millisecond() - self.last_ts?.as_millisecond();
        let pause = if self.older_turns { PAUSE_MS } else { BURST_GAP_MS };
        (gap > pause).then_some(InheritedRule::Burst)
    }

    /// Returns `true` if a turn started before the thread, or `None` if the ids contain no time.
    fn is_older(&self, turn: Option<&str>) -> Option<bool> {
        let (turn, born) = (uuid_time_ms(turn?)?, self.created_ms?);
        Some(turn < born)
    }

    /// Returns the copied lines, if there are any.
    pub(super) fn lines(&self) -> Option<Inherited> {
        let rule = self.rule.filter(|_| self.first_line > 0)?;
        Some(Inherited {
            rule,
            first_line: self.first_line,
            last_line: self.last_line,
        })
    }
}

/// Returns the creation time of a version 7 UUID, in milliseconds.
fn uuid_time_ms(id: &str) -> Option<u64> {
    let value = uuid(id)?;
    let version = (value >> 76) & 0xf;
    (version == 7).then_some((value >> 80) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "01900000-0064-7000-8000-000000000000";
    const OLDER: &str = "01900000-0001-7000-8000-000000000000";
    const YOUNGER: &str = "01900000-00c8-7000-8000-000000000000";

    /// Feeds records written as (`ms`, turn), `F` for a header of another thread, and marks the copied ones.
    fn check(thread: &str, records: &[(i64, &str)]) -> (String, Option<&'static str>) {
        let mut inheritance = InheritanceTracker::default();
        inheritance.read_header(thread, false, None);
        let mut marks = String::new();
        for (at, (ms, turn)) in records.iter().enumerate() {
            let copied = inheritance.covers(&CopyEvidence {
                line: at as u64 + 2,
                ts: Timestamp::from_millisecond(*ms).ok(),
                ordinal: None,
                turn: Some(*turn).filter(|turn| !turn.is_empty() && *turn != "F"),
                foreign_head: *turn == "F",
            });
            marks.push(if copied { 'c' } else { '.' });
        }
        (marks, inheritance.lines().map(|lines| lines.rule.as_str()))
    }

    #[test]
    fn a_younger_turn_ends_copied_history() {
        let records = [(0, "F"), (0, OLDER), (2, ""), (3, YOUNGER), (900, "")];
        assert_eq!(check(THREAD, &records), ("ccc..".into(), Some("turn_time")));
    }

    #[test]
    fn without_turns_the_first_pause_ends_copied_history() {
        let records = [(0, "F"), (1, ""), (990, ""), (9_000, ""), (9_001, "")];
        assert_eq!(
            check("613a9a68-8816-40b2-a2d4-041ade599da6", &records),
            ("ccc..".into(), Some("burst"))
        );
    }

    #[test]
    fn a_thread_of_its_own_inherits_nothing() {
        assert_eq!(
            check(THREAD, &[(0, YOUNGER), (1, "F"), (2, OLDER)]),
            ("...".into(), None)
        );
    }

    #[test]
    fn imported_turns_belong_to_another_agent() {
        let records = [(0, "external-import-turn-1"), (0, ""), (5, YOUNGER), (6, "")];
        assert_eq!(check(THREAD, &records), ("cc..".into(), Some("import")));
    }
}
