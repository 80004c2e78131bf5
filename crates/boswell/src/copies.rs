//! Files outside the memory that Boswell made from sessions. They are recorded when they are written, found again when
//! the sessions are forgotten, and deleted if the user wants it.
//!
//! Workspaces are not recorded, because their indexes name their sessions; nor are surfaced files, because their file
//! names do.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use memory::diary::{self, DiaryError, WorkspaceTrace};
use memory::retention::SessionRemains;
use memory::store::{CopyRow, LockWait, Store, StoreError};
use memory::surface::{self, ExportKind};

use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Ui;
use crate::waiting::say_waiting;

/// Records a new file for `boswell forget`. The file stays even if it cannot be recorded.
pub(crate) fn note(ui: &mut Ui, context: &Context, verb: &'static str, copies: &[CopyRow]) {
    let paths: BTreeSet<&str> = copies.iter().map(|copy| copy.path.as_str()).collect();
    let sentence = format!("made {}", paths.iter().copied().collect::<Vec<_>>().join(", "));
    let waiting = RefCell::new(&mut *ui);
    let noted = Store::open(&context.places.data_dir).and_then(|mut store| {
        let lock = store.lock(LockWait::Wait(&|| say_waiting(&mut waiting.borrow_mut())))?;
        store.write(&lock, context.now, verb, |tx| {
            for copy in copies {
                tx.note_copy(copy, context.now)?;
            }
            Ok(((), sentence))
        })
    });
    if let Err(error) = noted {
        ui.warning(format_args!("`boswell forget` will not know of what was made: {error}"));
    }
}

/// The files outside the memory that were made from some sessions.
pub(crate) struct Copies {
    /// Files, and directories that Boswell made as a whole.
    files: Vec<CopyRow>,
    /// Days of the diary.
    days: Vec<WorkspaceTrace>,
}

impl Copies {
    /// Finds all that still exist. Files with digests count if the digests are to be deleted.
    pub(crate) fn find(
        context: &Context,
        store: &Store,
        reports_root: &Path,
        remains: &[SessionRemains],
        with_digest: bool,
    ) -> Result<Self, StoreError> {
        let mut files = Vec::new();
        for one in remains {
            let uid = one.session_uid.as_str();
            files.extend(store.reads().copies_of(uid)?);
            if let Some(directory) = context.config.surface_dir.as_deref().filter(|_| with_digest) {
                let mut add = |subject, name: &str| {
                    files.push(CopyRow {
                        session_uid: uid.to_owned(),
                        path: surface::export_path(directory, subject, name).display().to_string(),
                        kind: "surfaced".to_owned(),
                    });
                };
                add(ExportKind::Digest, uid);
                for decision in store.reads().decisions_of(uid)? {
                    add(ExportKind::Decision, &decision.decision_id.to_string());
                }
            }
        }
        files.retain(|copy| Path::new(&copy.path).symlink_metadata().is_ok());
        let uids: HashSet<&str> = remains.iter().map(|one| one.session_uid.as_str()).collect();
        let days = diary::find_traces(reports_root, &|uid| uids.contains(uid));
        Ok(Self { files, days })
    }

    /// Returns all files, with one row per file and session.
    pub(crate) fn rows(&self) -> Vec<CopyRow> {
        let mut rows = self.files.clone();
        for day in &self.days {
            let row = |uid: &String, path: &Path, kind: &str| CopyRow {
                session_uid: uid.clone(),
                path: path.display().to_string(),
                kind: kind.to_owned(),
            };
            let uids = || day.session_uids.iter();
            rows.extend(uids().map(|uid| row(uid, &day.workspace, "workspace")));
            for report in &day.reports {
                rows.extend(uids().map(|uid| row(uid, report, "report")));
            }
        }
        rows
    }

    /// Returns the paths of files that are recorded in the memory.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|copy| copy.path.as_str())
    }

    /// Returns the days that are deleted as a whole.
    pub(crate) fn days(&self) -> Vec<String> {
        self.days.iter().map(|day| day.date.to_string()).collect()
    }

    /// Deletes all files and days.
    pub(crate) fn delete(&self, reports_root: &Path) -> Result<(), CommandError> {
        for path in self.files() {
            delete(Path::new(path))?;
        }
        let dates: Vec<_> = self.days.iter().map(|day| day.date).collect();
        diary::remove_days(reports_root, &dates).map_err(|error| {
            let failed = CommandError::user("copy-not-deleted", &error);
            match error {
                DiaryError::Busy(_) => failed.with_hint("try again when it is done").retryable(),
                DiaryError::Io { .. } | DiaryError::Mismatch { .. } => failed,
            }
        })
    }
}

/// Deletes a file, or a directory that only Boswell wrote.
fn delete(path: &Path) -> Result<(), CommandError> {
    let deleted = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    deleted.map_err(|error| {
        CommandError::user(
            "copy-not-deleted",
            format_args!("cannot delete `{}`: {error}", path.display()),
        )
    })
}
