//! Where writings lie: inside the workspace and nowhere else, each whole or absent. A link on the way is no way.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use transcript::SafeName;

use crate::files;

/// Of a project, and of the day.
const WRITING: &str = "writing";
/// A writing larger than this is none of ours.
const BYTES_MAX: u64 = 16 << 20;

/// Where one writing lies, below the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'n> {
    Evidence {
        project: &'n SafeName,
        session: &'n SafeName,
    },
    Works {
        project: &'n SafeName,
    },
    Day,
}

impl Place<'_> {
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

/// Whether no part of a path below `root` is a link, and none leads up.
pub(super) fn is_plain(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else {
        return false;
    };
    let mut at = root.to_owned();
    below.components().all(|name| {
        at.push(name);
        let is_name = matches!(name, std::path::Component::Normal(_));
        let is_link = || at.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        is_name && !is_link()
    })
}

/// Reads a writing; what is not there, or is no file of ours, is none.
pub(super) fn read(root: &Path, place: Place<'_>) -> Option<Value> {
    let path = root.join(place.directory()).join(place.file_name());
    if !is_plain(root, &path) {
        return None;
    }
    let (file, metadata) = files::open(&path).ok()?;
    if metadata.len() > BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Writes it aside and renames it.
pub(super) fn write(root: &Path, place: Place<'_>, writing: &impl Serialize) -> io::Result<()> {
    let directory = root.join(place.directory());
    let path = directory.join(place.file_name());
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "a link stands in the way");
    if !is_plain(root, &path) {
        return Err(refused());
    }
    make_private(&directory)?;
    // A link may have come while the directory was made.
    if !is_plain(root, &path) {
        return Err(refused());
    }
    let mut bytes = serde_json::to_vec_pretty(writing).map_err(io::Error::other)?;
    bytes.push(b'\n');
    let mut aside = tempfile::Builder::new().prefix(".writing").tempfile_in(&directory)?;
    aside.write_all(&bytes)?;
    aside.as_file().sync_all()?;
    aside.persist(&path).map_err(|error| error.error)?;
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
    fn a_link_on_the_way_is_refused_and_nothing_is_written_behind_it() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("day");
        let elsewhere = home.path().join("elsewhere");
        let (project, session) = (SafeName::new("app-1").unwrap(), SafeName::new("S0001").unwrap());
        fs::create_dir_all(root.join("projects/app-1")).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        let place = Place::Evidence {
            project: &project,
            session: &session,
        };
        write(&root, place, &1).unwrap();
        assert_eq!(read(&root, place), Some(Value::from(1)));
        fs::remove_dir_all(root.join("projects/app-1/writing")).unwrap();
        symlink(&elsewhere, root.join("projects/app-1/writing")).unwrap();
        assert!(write(&root, place, &2).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::write(elsewhere.join("S0001.json"), "3").unwrap();
        assert_eq!(read(&root, place), None);
    }
}
