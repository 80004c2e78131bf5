//! Which notes a sweep takes into memory as facts and removes from the spool.
//!
//! A note asks for the log it names to be read. It is removed only by a sweep that listed it before its own walk began and
//! then read that log, or found nothing to read there. All other notes wait for the next sweep, so a burst of hooks cannot
//! lose a session. Facts are idempotent: a sweep that is killed between writing a fact and removing its note loses and
//! doubles nothing.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::{Sweep, SweepReport, describe_sweep};
use crate::sources;
use crate::spool::{FOLDER, HookNote, NoteFault, UNFINISHED_SUFFIX, WaitingNote, count_lost, list_notes};
use crate::store::{LockWait, SessionFact, Store, StoreError};

/// How long another process may still be writing a note.
const WRITING_FOR: SignedDuration = SignedDuration::from_hours(1);
/// How long a note waits if its log cannot be read. After that every full sweep still tries to read the log.
const RETRY_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The notes that were waiting before a sweep read any log.
#[derive(Default)]
pub(crate) struct NoteInbox {
    notes: Vec<WaitingNote>,
}

impl NoteInbox {
    /// Lists the notes that wait. Call it before the walk: a note that arrives later may be about lines the walk missed.
    pub(crate) fn list(directory: &Path) -> Self {
        Self {
            notes: list_notes(directory),
        }
    }

    /// Returns the paths of all logs that the notes name, as a walk of `sweep` would list them.
    pub(crate) fn logs(&self, sweep: &Sweep<'_>) -> HashSet<PathBuf> {
        let notes = self.notes.iter().filter_map(|one| one.note.as_ref().ok());
        let logs = notes.flat_map(HookNote::logs);
        logs.flat_map(|log| sweep.roots.iter().filter_map(|root| sources::path_in(root, log)))
            .collect()
    }

    /// Writes the settled notes as facts and removes their files. `walked` maps the logs that the sweep visited to their
    /// sessions.
    pub(crate) fn store_notes(
        &self,
        sweep: &Sweep<'_>,
        patience: LockWait<'_>,
        store: &mut Store,
        walked: &HashMap<PathBuf, String>,
        report: &mut SweepReport,
    ) -> Result<(), StoreError> {
        if self.notes.is_empty() {
            return Ok(());
        }
        remove_half_written(sweep.directory, sweep.now);
        let tombstones = store.reads().tombstones()?;
        let is_forgotten = |note: &HookNote| tombstones.contains(&note.session_uid());
        let coverage = SweepCoverage {
            sweep,
            walked,
            unfinished: &report.unfinished,
        };
        let mut facts = Vec::new();
        let mut settled = Vec::new();
        for one in &self.notes {
            let is_settled = match &one.note {
                Ok(note) if is_forgotten(note) || coverage.is_ignored(note) => true,
                Ok(note) => {
                    let is_settled = coverage.is_settled(note) || coverage.is_given_up(note.at);
                    facts.extend(is_settled.then(|| make_fact(&one.name, note)));
                    is_settled
                }
                Err(NoteFault::Damaged) => true,
                Err(NoteFault::Unreadable) => {
                    written_at(&sweep.directory.join(FOLDER).join(&one.name)).is_some_and(|at| coverage.is_given_up(at))
                }
            };
            if is_settled {
                settled.push(one);
            }
        }
        report.facts += write_facts(sweep, patience, store, report, &facts)?;
        for one in settled {
            // Only one of two sweeps at once counts a note as lost: the one that removes it.
            let is_removed = fs::remove_file(sweep.directory.join(FOLDER).join(&one.name)).is_ok();
            if is_removed && one.note.is_err() {
                _ = count_lost(sweep.directory, sweep.now);
            }
        }
        Ok(())
    }
}

/// What a sweep has visited.
struct SweepCoverage<'c> {
    sweep: &'c Sweep<'c>,
    walked: &'c HashMap<PathBuf, String>,
    unfinished: &'c std::collections::BTreeSet<String>,
}

impl SweepCoverage<'_> {
    fn is_ignored(&self, note: &HookNote) -> bool {
        note.log.as_deref().is_some_and(|log| (self.sweep.is_ignored)(log))
    }

    /// Returns `true` if nothing is left to read of what a note is about.
    fn is_settled(&self, note: &HookNote) -> bool {
        match note.log {
            Some(_) => note.logs().all(|log| self.is_log_settled(log)),
            None => self.is_session_settled(note) && note.logs().all(|log| self.is_log_settled(log)),
        }
    }

    /// Returns `true` if the sweep visited all roots of the agent, because the hook could not name the log.
    fn is_session_settled(&self, note: &HookNote) -> bool {
        let has_root = self.sweep.roots.iter().any(|root| root.agent == note.agent);
        let is_walked = self.sweep.only.is_none() && (has_root || !self.sweep.has_only_some_roots);
        is_walked && !self.unfinished.contains(&note.session_uid())
    }

    fn is_log_settled(&self, log: &Path) -> bool {
        if (self.sweep.is_ignored)(log) {
            return true;
        }
        let roots = self.sweep.roots.iter();
        let places: Vec<_> = roots
            .filter_map(|root| Some((root, sources::path_in(root, log)?)))
            .collect();
        if places.is_empty() {
            // No sweep reads a log outside of all roots; with fewer roots another sweep may.
            return !self.sweep.has_only_some_roots;
        }
        if let Some(uid) = places.iter().find_map(|(_, path)| self.walked.get(path)) {
            return !self.unfinished.contains(uid);
        }
        if self
            .sweep
            .only
            .is_some_and(|only| only.iter().all(|named| named != log))
        {
            return false;
        }
        // The walk did not list it: it does not exist, unless it was created since.
        places.iter().all(|(root, path)| {
            let found = sources::find_named_logs(root, std::slice::from_ref(path));
            let is_listed = found.logs.iter().any(|log| log.path == *path);
            !is_listed && found.unread.iter().all(|unread| unread.path != *path)
        })
    }

    /// Returns `true` if a note from `at` has waited long enough for a log or a file that cannot be read. Only a sweep
    /// over all roots can tell.
    fn is_given_up(&self, at: Timestamp) -> bool {
        let is_whole = self.sweep.only.is_none() && !self.sweep.has_only_some_roots;
        is_whole && self.sweep.now.duration_since(at).abs() > RETRY_FOR
    }
}

/// Writes facts in one transaction and returns how many were new.
fn write_facts(
    sweep: &Sweep<'_>,
    patience: LockWait<'_>,
    store: &mut Store,
    report: &SweepReport,
    facts: &[SessionFact],
) -> Result<u64, StoreError> {
    if facts.is_empty() {
        return Ok(0);
    }
    let lock = store.lock(patience)?;
    store.write(&lock, sweep.now, "sweep", |tx| {
        let mut added = 0;
        for fact in facts {
            added += u64::from(tx.put_fact(fact)?);
        }
        let after = SweepReport {
            facts: added,
            ..report.clone()
        };
        Ok((added, describe_sweep(&after, 0, &report.evicted)))
    })
}

/// Removes notes that a process which died left half written.
fn remove_half_written(directory: &Path, now: Timestamp) {
    let entries = fs::read_dir(directory.join(FOLDER)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_half = name.ends_with(UNFINISHED_SUFFIX) || name.starts_with("lost.");
        if is_half && written_at(&entry.path()).is_some_and(|at| now.duration_since(at) > WRITING_FOR) {
            _ = fs::remove_file(entry.path());
        }
    }
}

fn written_at(path: &Path) -> Option<Timestamp> {
    let metadata = fs::symlink_metadata(path).ok()?;
    crate::files::modified_at(&metadata)
}

/// Returns the fact that a note reports. The log itself shows that a turn ended, so only the newest of those is kept.
fn make_fact(name: &str, note: &HookNote) -> SessionFact {
    let is_frequent = matches!(note.event.as_str(), "stop" | "subagent_stop");
    SessionFact {
        session_uid: note.session_uid(),
        key: if is_frequent {
            note.event.clone()
        } else {
            name.to_owned()
        },
        agent: note.agent.as_str().to_owned(),
        at: note.at,
        event: note.event.clone(),
        reason: note.reason.clone(),
        error: note.error.clone(),
        exit_code: note.exit_code.map(i64::from),
    }
}
