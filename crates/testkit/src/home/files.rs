//! Copies, compares and restores directory trees. Files are compared by size and time.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How a file differs from its sealed copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    New,
    Changed,
    Removed,
}

/// A file that differs from its sealed copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileChange {
    /// Relative to the home.
    pub path: PathBuf,
    pub change: ChangeKind,
}

/// The metadata by which files are compared. Every write changes the time, and nothing sets it back.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    bytes: u64,
    modified: SystemTime,
}

#[derive(Default)]
struct FileTree {
    files: BTreeMap<PathBuf, FileStamp>,
    /// Parents precede their children.
    directories: Vec<PathBuf>,
}

impl FileTree {
    fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        let mut waiting = vec![PathBuf::new()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(root.join(&directory))? {
                let entry = entry?;
                let path = directory.join(entry.file_name());
                let metadata = fs::symlink_metadata(entry.path())?;
                if metadata.is_dir() {
                    waiting.push(path);
                } else {
                    let stamp = FileStamp {
                        bytes: metadata.len(),
                        modified: metadata.modified()?,
                    };
                    tree.files.insert(path, stamp);
                }
            }
            tree.directories.push(directory);
        }
        Ok(tree)
    }
}

/// Copies a tree, preserving times and permissions.
pub(super) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let tree = FileTree::read(from)?;
    for directory in &tree.directories {
        fs::create_dir_all(to.join(directory))?;
        let permissions = fs::metadata(from.join(directory))?.permissions();
        fs::set_permissions(to.join(directory), permissions)?;
    }
    tree.files.keys().try_for_each(|path| copy(from, to, path))
}

fn copy(from: &Path, to: &Path, path: &Path) -> io::Result<()> {
    let (from, to) = (from.join(path), to.join(path));
    fs::copy(&from, &to)?;
    let modified = fs::metadata(&from)?.modified()?;
    // Setting times requires ownership of the file, not write access.
    File::open(&to)?.set_times(FileTimes::new().set_modified(modified))
}

/// Returns the differences between `home` and `sealed`, sorted by path.
pub(super) fn changes(sealed: &Path, home: &Path) -> io::Result<Vec<FileChange>> {
    Ok(differences(&FileTree::read(sealed)?, &FileTree::read(home)?))
}

fn differences(sealed: &FileTree, home: &FileTree) -> Vec<FileChange> {
    let mut changes = Vec::new();
    let mut push = |path: &Path, change| {
        changes.push(FileChange {
            path: path.to_owned(),
            change,
        });
    };
    for (path, stamp) in &home.files {
        match sealed.files.get(path) {
            None => push(path, ChangeKind::New),
            Some(before) if before != stamp => push(path, ChangeKind::Changed),
            Some(_) => {}
        }
    }
    for path in sealed.files.keys().filter(|path| !home.files.contains_key(*path)) {
        push(path, ChangeKind::Removed);
    }
    changes.sort();
    changes
}

/// Restores `home` from `sealed`. Unchanged files are not touched, so that their inodes and times stay the same.
pub(super) fn reset(sealed: &Path, home: &Path) -> io::Result<()> {
    let (before, now) = (FileTree::read(sealed)?, FileTree::read(home)?);
    for directory in &before.directories {
        fs::create_dir_all(home.join(directory))?;
    }
    for change in differences(&before, &now) {
        match change.change {
            ChangeKind::New => fs::remove_file(home.join(&change.path))?,
            ChangeKind::Changed | ChangeKind::Removed => copy(sealed, home, &change.path)?,
        }
    }
    let gone = now.directories.iter().rev();
    for directory in gone.filter(|directory| !sealed.join(directory).is_dir()) {
        // Removing a parent directory may already have removed it.
        let path = home.join(directory);
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_reverts_every_kind_of_change() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (home, sealed) = (place.path().join("home"), place.path().join("sealed"));
        fs::create_dir_all(home.join("a/b")).expect("it can be made");
        for name in ["a/b/kept", "a/gone", "grown"] {
            fs::write(home.join(name), name).expect("it can be written");
        }
        copy_tree(&home, &sealed).expect("it can be copied");
        assert_eq!(changes(&sealed, &home).expect("it can be listed"), []);

        fs::create_dir_all(home.join("c/d")).expect("it can be made");
        fs::write(home.join("c/d/new"), "new").expect("it can be written");
        fs::write(home.join("grown"), "grown more").expect("it can be written");
        fs::remove_file(home.join("a/gone")).expect("it can be removed");
        let found: Vec<(String, ChangeKind)> = changes(&sealed, &home)
            .expect("it can be listed")
            .into_iter()
            .map(|change| (change.path.to_string_lossy().into_owned(), change.change))
            .collect();
        let expected = [
            ("a/gone", ChangeKind::Removed),
            ("c/d/new", ChangeKind::New),
            ("grown", ChangeKind::Changed),
        ];
        assert_eq!(found, expected.map(|(path, change)| (path.to_owned(), change)));

        reset(&sealed, &home).expect("it can be reset");
        assert_eq!(changes(&sealed, &home).expect("it can be listed"), []);
        assert!(!home.join("c").exists());
        assert_eq!(fs::read_to_string(home.join("grown")).expect("it is there"), "grown");
    }
}
