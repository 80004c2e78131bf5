//! Where workspaces stand, and how one comes to stand there: written aside, then renamed, so that it is whole or absent.
//!
//! What others wrote into a workspace, such as reports, is carried over into the new one. A lock that dies with its
//! process keeps two runs apart.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;
use walkdir::WalkDir;

use super::assemble::Tree;
use super::copy::private_file;
use super::index::{Metadata, file};
use super::window::{Status, Window};
use super::{Ask, DiaryError, Made, WORK};

/// In so many directories copies wait: threads that make files in one and the same wait for each other.
const WAITING_DIRECTORIES: usize = 16;

/// What directories are called that a run needs only until it is done, after the day.
const ASIDE: [&str; 3] = [OLD, "new", "copies"];
const OLD: &str = "old";

/// Where the copy of a number waits.
pub(super) fn waiting_place(copies: &Path, kind: &str, number: usize) -> PathBuf {
    let directory = number % WAITING_DIRECTORIES;
    copies.join(format!("{directory}/{kind}{number}"))
}

/// The place of one day.
pub(super) struct Site {
    root: PathBuf,
    date: String,
    /// Held until the end.
    _lock: File,
}

/// What stands there already.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Nothing,
    /// The same day in the same zone and state, and when it was prepared if that can be read.
    Same(Option<Timestamp>),
    /// The day was not over then, and now is.
    Outdated,
    /// Something else; the fields tell what differs.
    Other(String),
}

impl Site {
    /// Takes the place of a day, and mends what a run that died left behind.
    pub(super) fn open(root: &Path, date: Date) -> Result<Self, DiaryError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| DiaryError::Io { path, source }
        };
        make_private(root).map_err(failed(root))?;
        let root = root.canonicalize().map_err(failed(root))?;
        for name in [WORK, "private"] {
            let path = root.join(name);
            make_private(&path).map_err(failed(&path))?;
        }
        let path = root.join("private/prepare.lock");
        let lock = lock_file(&path).map_err(failed(&path))?;
        let is_locked = match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(DiaryError::Busy(root)),
            Ok(()) => true,
            // Where the file system knows no locks, nobody is kept out.
            Err(TryLockError::Error(_)) => false,
        };
        let site = Self {
            root,
            date: date.to_string(),
            _lock: lock,
        };
        site.mend(is_locked).map_err(failed(&site.root))?;
        Ok(site)
    }

    /// The reports root, as it really lies.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join(WORK).join(&self.date)
    }

    fn aside(&self, what: &str) -> PathBuf {
        self.root.join(WORK).join(format!(".{}.{what}", self.date))
    }

    fn audit(&self) -> PathBuf {
        self.root.join("private").join(&self.date).join("audit.manifest.json")
    }

    /// An empty directory for copies that wait for their place.
    pub(super) fn copies(&self) -> Result<PathBuf, DiaryError> {
        let path = self.aside("copies");
        for directory in 0..WAITING_DIRECTORIES {
            let made = make_private(&path.join(directory.to_string()));
            made.map_err(|source| DiaryError::Io {
                path: path.clone(),
                source,
            })?;
        }
        Ok(path)
    }

    /// Removes what runs left behind when they were killed, and puts an old workspace back if it has no successor. With the lock, this is done
    /// for every day: no other run can be writing below this root.
    fn mend(&self, is_locked: bool) -> io::Result<()> {
        let work = self.root.join(WORK);
        for entry in fs::read_dir(&work)?.flatten() {
            let name = entry.file_name();
            let Some((day, what)) = name.to_str().and_then(|name| name.strip_prefix('.')?.split_once('.')) else {
                continue;
            };
            let is_ours = day.parse::<Date>().is_ok_and(|date| date.to_string() == day) && ASIDE.contains(&what);
            if !is_ours || !(is_locked || day == self.date) {
                continue;
            }
            let workspace = work.join(day);
            match what == OLD && !workspace.exists() {
                true => fs::rename(entry.path(), &workspace)?,
                false => remove(&entry.path())?,
            }
        }
        Ok(())
    }

    /// Compares what stands there with what is asked for.
    pub(super) fn standing(&self, window: &Window) -> Result<Standing, DiaryError> {
        let read = |path: &Path| {
            let bytes = fs::read(path).unwrap_or_default();
            serde_json::from_slice::<Value>(&bytes).unwrap_or_default()
        };
        let there = read(&self.workspace().join("metadata.json"));
        let prepared_at = there["prepared_at"].as_str().unwrap_or_default();
        // A workspace without its audit is half of one.
        if prepared_at.is_empty() || read(&self.audit())["prepared_at"] != prepared_at {
            return Ok(Standing::Nothing);
        }
        let wanted = Metadata::new(window, prepared_at);
        let wanted: Value = serde_json::from_slice(&file(&wanted)).unwrap_or_default();
        let fields = wanted.as_object().into_iter().flatten();
        let other: Vec<&str> = fields
            .filter(|(name, value)| there.get(name.as_str()) != Some(value))
            .map(|(name, _)| name.as_str())
            .collect();
        let was_partial = there["status"] == Status::Partial.as_str() && window.status == Status::Final;
        Ok(match other.as_slice() {
            [] => Standing::Same(prepared_at.parse().ok()),
            ["status"] if was_partial => Standing::Outdated,
            fields => Standing::Other(fields.join(", ")),
        })
    }

    /// Writes a workspace and puts it into its place.
    pub(super) fn write(&self, _: &Ask<'_>, tree: Tree) -> Result<Made, DiaryError> {
        let failed = |source| DiaryError::Io {
            path: self.workspace(),
            source,
        };
        let new = self.aside("new");
        self.build(&new, &tree).map_err(failed)?;
        self.carry_over(&new).map_err(failed)?;
        self.write_audit(&tree.audit).map_err(failed)?;
        let (old, workspace) = (self.aside("old"), self.workspace());
        if workspace.symlink_metadata().is_ok() {
            fs::rename(&workspace, &old).map_err(failed)?;
        }
        fs::rename(&new, &workspace).map_err(failed)?;
        remove(&old).map_err(failed)?;
        remove(&self.aside("copies")).map_err(failed)?;
        Ok(Made {
            workspace,
            projects: tree.projects,
            sessions: tree.sessions,
            turns: tree.turns,
            subagents: tree.subagents,
            notes: tree.notes,
            was_partial: false,
        })
    }

    /// Takes the day away: first the audit, so that half a day is none, then the workspace at once.
    pub(super) fn take_away(&self) -> Result<(), DiaryError> {
        let failed = |source| DiaryError::Io {
            path: self.workspace(),
            source,
        };
        remove(&self.root.join("private").join(&self.date)).map_err(failed)?;
        // Copies that wait are taken away by whoever comes next, if we do not come to it.
        let aside = self.aside("copies");
        if self.workspace().symlink_metadata().is_ok() {
            fs::rename(self.workspace(), &aside).map_err(failed)?;
        }
        remove(&aside).map_err(failed)?;
        for entry in fs::read_dir(self.root.join(WORK)).map_err(failed)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') && (name.ends_with(".copies") || name.ends_with(".new")) {
                remove(&entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn build(&self, new: &Path, tree: &Tree) -> io::Result<()> {
        make_private(&new.join("projects"))?;
        let mut made: HashSet<PathBuf> = HashSet::new();
        let mut make_above = |path: &Path| match path.parent() {
            Some(above) if !made.contains(above) => {
                made.insert(above.to_owned());
                make_private(above)
            }
            _ => Ok(()),
        };
        for (place, waiting) in &tree.moves {
            let path = inside(new, place)?;
            make_above(&path)?;
            fs::rename(waiting, path)?;
        }
        for (place, bytes) in &tree.files {
            let path = inside(new, place)?;
            make_above(&path)?;
            private_file(&path)?.write_all(bytes)?;
        }
        Ok(())
    }

    /// Takes what others wrote into the old workspace along. What belongs to a project that is no longer there is put
    /// beside the audit.
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
            if is_ours(place) {
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
        remove(&aside)?;
        private_file(&aside)?.write_all(bytes)?;
        fs::rename(&aside, &path)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // What is left after a failure is of no use; the next run would take it away as well.
        for what in ["new", "copies"] {
            _ = remove(&self.aside(what));
        }
    }
}

/// Whether a file of a workspace is one that we write.
pub(super) fn is_ours(place: &Path) -> bool {
    let names: Vec<&str> = place.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    matches!(
        names.as_slice(),
        ["metadata.json"] | ["projects", _, "project.json" | "sessions.index.jsonl"] | ["projects", _, "sessions", ..]
    )
}

/// A place below a directory, and nowhere else.
fn inside(directory: &Path, place: &Path) -> io::Result<PathBuf> {
    let is_plain = place.components().all(|name| matches!(name, Component::Normal(_)));
    match is_plain {
        true => Ok(directory.join(place)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a name leads out of the workspace",
        )),
    }
}

/// Makes a directory and those above it that are missing, for their owner alone.
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

/// Takes a file or a directory away, if it is there.
fn remove(path: &Path) -> io::Result<()> {
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
