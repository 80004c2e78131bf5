//! Writes workspaces. A workspace is built in a temporary directory and then renamed, so it is complete or absent.
//!
//! Files that other programs wrote into a workspace, such as reports, are carried over into the new one. A file lock,
//! which the system releases if the process dies, keeps two runs from writing at once.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;
use walkdir::WalkDir;

use super::assemble::WorkspaceTree;
use super::copy::private_file;
use super::index::{Metadata, to_json_file};
use super::window::{DayStatus, DayWindow};
use super::{DiaryError, PrepareRequest, PreparedWorkspace, WORK_DIRECTORY};

/// Number of directories for temporary copies. Several are used because threads that create files in the same directory
/// block each other.
const PENDING_DIRECTORIES: usize = 16;

/// Suffixes of a run's temporary directories, after the day.
const TEMPORARY: [&str; 3] = [OLD, "new", "copies"];
const OLD: &str = "old";

/// Returns the temporary path of a copy.
pub(super) fn pending_path(copies: &Path, kind: &str, number: usize) -> PathBuf {
    let directory = number % PENDING_DIRECTORIES;
    copies.join(format!("{directory}/{kind}{number}"))
}

/// The directories of one day below the reports root.
pub(super) struct DayDirectory {
    root: PathBuf,
    date: String,
    /// Held until the value is dropped.
    _lock: File,
}

/// The workspace that exists already.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExistingWorkspace {
    Nothing,
    /// Same day, zone and status. Contains the time of preparation if it can be parsed.
    Same(Option<Timestamp>),
    /// Prepared before the day was over, which it is now.
    Outdated,
    /// A different workspace. Contains the names of the fields that differ.
    Other(String),
}

impl DayDirectory {
    /// Locks the directory of a day, and cleans up after interrupted runs.
    pub(super) fn open(root: &Path, date: Date) -> Result<Self, DiaryError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| DiaryError::Io { path, source }
        };
        make_private(root).map_err(failed(root))?;
        let root = root.canonicalize().map_err(failed(root))?;
        for name in [WORK_DIRECTORY, "private"] {
            let path = root.join(name);
            make_private(&path).map_err(failed(&path))?;
        }
        let path = root.join("private/prepare.lock");
        let lock = lock_file(&path).map_err(failed(&path))?;
        let is_locked = match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(DiaryError::Busy(root)),
            Ok(()) => true,
            // If the file system does not support locks, concurrent runs cannot be excluded.
            Err(TryLockError::Error(_)) => false,
        };
        let site = Self {
            root,
            date: date.to_string(),
            _lock: lock,
        };
        site.clean_up(is_locked).map_err(failed(&site.root))?;
        Ok(site)
    }

    /// Returns the canonical reports root.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join(WORK_DIRECTORY).join(&self.date)
    }

    fn temporary_path(&self, what: &str) -> PathBuf {
        self.root.join(WORK_DIRECTORY).join(format!(".{}.{what}", self.date))
    }

    fn audit(&self) -> PathBuf {
        self.root.join("private").join(&self.date).join("audit.manifest.json")
    }

    /// Creates an empty directory for temporary copies.
    pub(super) fn copies(&self) -> Result<PathBuf, DiaryError> {
        let path = self.temporary_path("copies");
        for directory in 0..PENDING_DIRECTORIES {
            let made = make_private(&path.join(directory.to_string()));
            made.map_err(|source| DiaryError::Io {
                path: path.clone(),
                source,
            })?;
        }
        Ok(path)
    }

    /// Removes what interrupted runs left behind, and restores an old workspace that has no successor. If the lock is
    /// held, this is done for every day, because no other run can be writing below this root.
    fn clean_up(&self, is_locked: bool) -> io::Result<()> {
        let work = self.root.join(WORK_DIRECTORY);
        for entry in fs::read_dir(&work)?.flatten() {
            let name = entry.file_name();
            let Some((day, what)) = name.to_str().and_then(|name| name.strip_prefix('.')?.split_once('.')) else {
                continue;
            };
            let is_generated =
                day.parse::<Date>().is_ok_and(|date| date.to_string() == day) && TEMPORARY.contains(&what);
            if !is_generated || !(is_locked || day == self.date) {
                continue;
            }
            let workspace = work.join(day);
            match what == OLD && !workspace.exists() {
                true => fs::rename(entry.path(), &workspace)?,
                false => remove_path(&entry.path())?,
            }
        }
        Ok(())
    }

    /// Compares the existing workspace with the requested one.
    pub(super) fn compare_existing(&self, window: &DayWindow) -> Result<ExistingWorkspace, DiaryError> {
        let read = |path: &Path| {
            let bytes = fs::read(path).unwrap_or_default();
            serde_json::from_slice::<Value>(&bytes).unwrap_or_default()
        };
        let existing = read(&self.workspace().join("metadata.json"));
        let prepared_at = existing["prepared_at"].as_str().unwrap_or_default();
        // A workspace without its audit is incomplete.
        if prepared_at.is_empty() || read(&self.audit())["prepared_at"] != prepared_at {
            return Ok(ExistingWorkspace::Nothing);
        }
        let wanted = Metadata::new(window, prepared_at);
        let wanted: Value = serde_json::from_slice(&to_json_file(&wanted)).unwrap_or_default();
        let fields = wanted.as_object().into_iter().flatten();
        let other: Vec<&str> = fields
            .filter(|(name, value)| existing.get(name.as_str()) != Some(value))
            .map(|(name, _)| name.as_str())
            .collect();
        let was_partial = existing["status"] == DayStatus::Partial.as_str() && window.status == DayStatus::Final;
        Ok(match other.as_slice() {
            [] => ExistingWorkspace::Same(prepared_at.parse().ok()),
            ["status"] if was_partial => ExistingWorkspace::Outdated,
            fields => ExistingWorkspace::Other(fields.join(", ")),
        })
    }

    /// Writes a workspace and moves it into place.
    pub(super) fn write(&self, _: &PrepareRequest<'_>, tree: WorkspaceTree) -> Result<PreparedWorkspace, DiaryError> {
        let failed = |source| DiaryError::Io {
            path: self.workspace(),
            source,
        };
        let new = self.temporary_path("new");
        self.build(&new, &tree).map_err(failed)?;
        self.carry_over(&new).map_err(failed)?;
        self.write_audit(&tree.audit).map_err(failed)?;
        let (old, workspace) = (self.temporary_path("old"), self.workspace());
        if workspace.symlink_metadata().is_ok() {
            fs::rename(&workspace, &old).map_err(failed)?;
        }
        fs::rename(&new, &workspace).map_err(failed)?;
        remove_path(&old).map_err(failed)?;
        remove_path(&self.temporary_path("copies")).map_err(failed)?;
        Ok(PreparedWorkspace {
            workspace,
            projects: tree.projects,
            sessions: tree.sessions,
            turns: tree.turns,
            subagents: tree.subagents,
            notes: tree.notes,
            was_partial: false,
        })
    }

    /// Removes the day: first the audit, so that an interrupted removal leaves no valid workspace, then the workspace.
    pub(super) fn remove_day(&self) -> Result<(), DiaryError> {
        let failed = |source| DiaryError::Io {
            path: self.workspace(),
            source,
        };
        remove_path(&self.root.join("private").join(&self.date)).map_err(failed)?;
        // Renamed first, because an interrupted removal of temporary copies is completed by the next run.
        let aside = self.temporary_path("copies");
        if self.workspace().symlink_metadata().is_ok() {
            fs::rename(self.workspace(), &aside).map_err(failed)?;
        }
        remove_path(&aside).map_err(failed)?;
        for entry in fs::read_dir(self.root.join(WORK_DIRECTORY)).map_err(failed)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') && (name.ends_with(".copies") || name.ends_with(".new")) {
                remove_path(&entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn build(&self, new: &Path, tree: &WorkspaceTree) -> io::Result<()> {
        make_private(&new.join("projects"))?;
        let mut made: HashSet<PathBuf> = HashSet::new();
        let mut make_parent = |path: &Path| match path.parent() {
            Some(parent) if !made.contains(parent) => {
                made.insert(parent.to_owned());
                make_private(parent)
            }
            _ => Ok(()),
        };
        for (place, pending) in &tree.moves {
            let path = join_inside(new, place)?;
            make_parent(&path)?;
            fs::rename(pending, path)?;
        }
        for (place, bytes) in &tree.files {
            let path = join_inside(new, place)?;
            make_parent(&path)?;
            private_file(&path)?.write_all(bytes)?;
        }
        Ok(())
    }

    /// Carries over the files that other programs wrote into the old workspace. Files of a project that no longer
    /// exists are moved next to the audit.
    fn carry_over(&self, new: &Path) -> io::Result<()> {
        let old = self.workspace();
        if !old.is_dir() {
            return Ok(());
        }
        let set_aside = self.root.join("private").join(&self.date).join("set-aside");
        for entry in WalkDir::new(&old)
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file())
        {
            let Ok(place) = entry.path().strip_prefix(&old) else {
                continue;
            };
            if is_generated(place) {
                continue;
            }
            let project = place
                .starts_with("projects")
                .then(|| place.components().take(2).collect::<PathBuf>());
            let is_orphan = project.is_some_and(|project| !new.join(project).is_dir());
            let to = if is_orphan { &set_aside } else { new }.join(place);
            make_private(to.parent().unwrap_or(new))?;
            fs::copy(entry.path(), to)?;
        }
        Ok(())
    }

    fn write_audit(&self, bytes: &[u8]) -> io::Result<()> {
        let path = self.audit();
        make_private(path.parent().unwrap_or(&self.root))?;
        let aside = path.with_extension("new");
        remove_path(&aside)?;
        private_file(&aside)?.write_all(bytes)?;
        fs::rename(&aside, &path)
    }
}

impl Drop for DayDirectory {
    fn drop(&mut self) {
        // After a failure, these directories are useless. The next run would remove them as well.
        for what in ["new", "copies"] {
            _ = remove_path(&self.temporary_path(what));
        }
    }
}

/// Returns `true` if a file of a workspace is written by us.
pub(super) fn is_generated(place: &Path) -> bool {
    let names: Vec<&str> = place.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    matches!(
        names.as_slice(),
        ["metadata.json"] | ["projects", _, "project.json" | "sessions.index.jsonl"] | ["projects", _, "sessions", ..]
    )
}

/// Returns a path below a directory, or an error if it would be outside.
fn join_inside(directory: &Path, place: &Path) -> io::Result<PathBuf> {
    let is_plain = place.components().all(|name| matches!(name, Component::Normal(_)));
    match is_plain {
        true => Ok(directory.join(place)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a name points outside of the workspace",
        )),
    }
}

/// Creates a directory and its missing parents, accessible only to the owner.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Removes a file or a directory, if it exists.
fn remove_path(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
