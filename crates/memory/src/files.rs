//! Opens files that other programs wrote: only regular files, and never through a link that leaves their tree. A
//! named pipe in the place of a log would block us forever, and a link could expose any file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// A companion larger than this is ignored.
pub(crate) const COMPANION_BYTES_MAX: u64 = 16 << 20;

/// Opens a regular file that is not a link.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    // Checked before opening, because the system's error for a refused link would not say that the path is not a
    // regular file.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let file = open_no_follow(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok((file, metadata))
    } else {
        Err(not_regular())
    }
}

/// Opens the file without following a link and without blocking on a pipe.
#[cfg(unix)]
fn open_no_follow(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

#[cfg(not(unix))]
fn open_no_follow(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Returns when a file was last modified, or `None` if the file system does not record it.
pub(crate) fn modified_at(metadata: &fs::Metadata) -> Option<Timestamp> {
    metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok())
}

/// Returns the real path of `path`, or an error if it is not below `tree`.
pub(crate) fn resolve_inside(tree: &Path, path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    if real.starts_with(tree.canonicalize()?) {
        Ok(real)
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "a link points outside the tree",
        ))
    }
}

/// Reads a small file completely.
pub(crate) fn read_companion(tree: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let (file, metadata) = open_regular(&resolve_inside(tree, path)?)?;
    if metadata.len() > COMPANION_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "larger than such a file can be",
        ));
    }
    let mut bytes = Vec::new();
    file.take(COMPANION_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_tree_and_directories_are_rejected() {
        let home = tempfile::tempdir().unwrap();
        let (tree, secret) = (home.path().join("tree"), home.path().join("secret"));
        fs::create_dir(&tree).unwrap();
        fs::write(&secret, "s").unwrap();
        std::os::unix::fs::symlink(&secret, tree.join("x.txt")).unwrap();
        fs::write(tree.join("y.txt"), "fine").unwrap();
        assert!(read_companion(&tree, &tree.join("x.txt")).is_err());
        assert!(open_regular(&tree).is_err());
        assert_eq!(read_companion(&tree, &tree.join("y.txt")).unwrap(), b"fine");
    }
}
