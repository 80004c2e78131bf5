//! Files and directories that only their owner can read.

use std::fs;
use std::io;
use std::path::Path;

use crate::interrupt::UnfinishedFile;

/// Creates a directory and those above it that are missing, readable only by their owner. Existing directories are not changed.
pub(crate) fn create_private_dir(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Writes a small file that only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_dir(path.parent().unwrap_or(Path::new(".")))?;
    write_private_output(path, bytes)
}

/// Writes a file that only its owner can read into a directory that exists, atomically. A pipe or a terminal, such as
/// `/dev/stdout`, is written to as it is.
pub(crate) fn write_private_output(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, bytes);
    }
    // Checked here, so that the error does not name a temporary file.
    fs::metadata(
        path.parent()
            .filter(|parent| *parent != Path::new(""))
            .unwrap_or(Path::new(".")),
    )?;
    let (file, _unfinished) = written_aside(path, bytes)?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// Writes a file that only its owner can read, unless it exists.
pub(super) fn write_first(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_dir(path.parent().unwrap_or(Path::new(".")))?;
    let (file, _unfinished) = written_aside(path, bytes)?;
    file.persist_noclobber(path).map(|_| ()).map_err(|error| error.error)
}

fn written_aside(path: &Path, bytes: &[u8]) -> io::Result<(tempfile::NamedTempFile, UnfinishedFile)> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    // A temporary file is created private.
    let create = || tempfile::NamedTempFile::new_in(directory);
    let (mut file, unfinished) = UnfinishedFile::create(create, tempfile::NamedTempFile::path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.as_file().sync_all()?;
    Ok((file, unfinished))
}
