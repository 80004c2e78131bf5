//! The log of sweeps that run in the background, started by the machine's scheduler or by a hook. It is private, next to the
//! memory, and limited in size: when it is full, its older half is dropped.
//!
//! Boswell writes it itself. The line in a crontab also appends its standard error here, so that a program that cannot start is not silent;
//! it sets the umask first, and `schedule install` creates the directory.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

const NAME: &str = "background.log";
const BYTES_MAX: usize = 256 << 10;

/// Returns the path of the log.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// Appends what a run printed, below a line with its time and what it was. Returns whether it is in the log: a full disk must not fail a sweep.
pub(crate) fn append(directory: &Path, at: Timestamp, what: &str, text: &str) -> bool {
    if text.trim().is_empty() {
        return true;
    }
    let mut entry = format!("{at} {what}\n");
    for line in text.lines() {
        entry += &format!("  {}\n", line.trim_end());
    }
    write(&path(directory), &entry).is_ok()
}

/// Returns the last line of the log: what a program that could not start left, or the end of the last message.
pub(crate) fn last_line(directory: &Path) -> Option<String> {
    let text = fs::read(path(directory)).ok()?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(last.trim().to_owned())
}

fn write(path: &Path, entry: &str) -> io::Result<()> {
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size + entry.len() as u64 <= BYTES_MAX as u64 {
        return open(path)?.write_all(entry.as_bytes());
    }
    let before = fs::read(path).unwrap_or_default();
    let all = [before.as_slice(), entry.as_bytes()].concat();
    // Only whole lines are dropped.
    let from = all.len().saturating_sub(BYTES_MAX / 2);
    let from = all[from..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(0, |at| from + at + 1);
    let directory = path.parent().unwrap_or(Path::new("."));
    // Temporary files are private.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&all[from..])?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_private_and_stays_below_its_limit() {
        let home = tempfile::tempdir().unwrap();
        let at: Timestamp = "2026-04-01T09:00:00Z".parse().unwrap();
        append(home.path(), at, "sweep", " \n");
        assert!(!path(home.path()).exists(), "nothing was printed");
        for run in 0..3_000 {
            append(home.path(), at, "sweep", &format!("run {run}\n{}", "x".repeat(100)));
        }
        let text = fs::read_to_string(path(home.path())).unwrap();
        assert!(text.len() <= BYTES_MAX && text.len() > BYTES_MAX / 4, "{}", text.len());
        assert!(text.contains("  run 2999\n") && !text.contains("  run 0\n"));
        assert!(
            text.lines()
                .all(|line| line.starts_with("2026") || line.starts_with("  "))
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path(home.path())).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
