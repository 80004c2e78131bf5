//! The files in which writings are stored. They are always inside the workspace, and are complete or absent. Paths that
//! contain a symbolic link are rejected.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use transcript::SafeName;

use crate::files;

/// Directory below a project or the workspace.
const WRITING: &str = "writing";
/// A larger file was not written by us.
const BYTES_MAX: u64 = 16 << 20;

/// The path of one writing, relative to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WritingPath<'n> {
    Evidence {
        project: &'n SafeName,
        session: &'n SafeName,
    },
    Works {
        project: &'n SafeName,
    },
    Day,
}

impl WritingPath<'_> {
    fn directory(self) -> PathBuf {
        match self {
            Self::Evidence { project, .. } | Self::Works { project } => {
                Path::new("projects").join(project.as_str()).join(WRITING)
            }
            Self::Day => PathBuf::from(WRITING),
        }
    }

    fn file_name(self) -> String {
        match self {
            Self::Evidence { session, .. } => format!("{}.json", session.as_str()),
            Self::Works { .. } => "works.json".to_owned(),
            Self::Day => "day.json".to_owned(),
        }
    }
}

/// Returns `true` if a path is below `root` and no part of it is a link.
pub(super) fn has_no_links(root: &Path, path: &Path) -> bool {
    let Ok(relative) = path.strip_prefix(root) else {
        return false;
    };
    let mut at = root.to_owned();
    relative.components().all(|name| {
        at.push(name);
        let is_name = matches!(name, std::path::Component::Normal(_));
        let is_link = || at.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        is_name && !is_link()
    })
}

/// Reads a writing, or returns `None` if it is absent or not ours.
pub(super) fn read_json(root: &Path, place: WritingPath<'_>) -> Option<Value> {
    let path = root.join(place.directory()).join(place.file_name());
    if !has_no_links(root, &path) {
        return None;
    }
    let (file, metadata) = files::open_regular(&path).ok()?;
    if metadata.len() > BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Writes a writing to a temporary file and renames it.
pub(super) fn write_json(root: &Path, place: WritingPath<'_>, writing: &impl Serialize) -> io::Result<()> {
    let directory = root.join(place.directory());
    let path = directory.join(place.file_name());
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "the path contains a symbolic link");
    if !has_no_links(root, &path) {
        return Err(refused());
    }
    make_private(&directory)?;
    // A link may have been created in the meantime.
    if !has_no_links(root, &path) {
        return Err(refused());
    }
    let mut bytes = serde_json::to_vec_pretty(writing).map_err(io::Error::other)?;
    bytes.push(b'\n');
    let mut temporary = tempfile::Builder::new().prefix(".writing").tempfile_in(&directory)?;
    temporary.write_all(&bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_symbolic_link_in_the_path_is_rejected_and_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("day");
        let elsewhere = home.path().join("elsewhere");
        let (project, session) = (SafeName::new("app-1").unwrap(), SafeName::new("S0001").unwrap());
        fs::create_dir_all(root.join("projects/app-1")).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        let place = WritingPath::Evidence {
            project: &project,
            session: &session,
        };
        write_json(&root, place, &1).unwrap();
        assert_eq!(read_json(&root, place), Some(Value::from(1)));
        fs::remove_dir_all(root.join("projects/app-1/writing")).unwrap();
        symlink(&elsewhere, root.join("projects/app-1/writing")).unwrap();
        assert!(write_json(&root, place, &2).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::write(elsewhere.join("S0001.json"), "3").unwrap();
        assert_eq!(read_json(&root, place), None);
    }
}
