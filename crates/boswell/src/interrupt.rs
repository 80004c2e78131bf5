//! Ctrl-C, a hang-up and `SIGTERM`: unfinished files are removed and the progress bar is cleared, then the signal ends the process;
//! a shell reports 130 for Ctrl-C.
//!
//! The store does not need this: the next writer finishes what a killed process left there. Signals are watched from the first
//! unfinished file or progress bar on, so that other commands keep the default action of the system.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// Files that are removed if the process is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static HAS_PROGRESS: AtomicBool = AtomicBool::new(false);
/// How many parts of the program handle signals themselves.
static DELEGATIONS: AtomicUsize = AtomicUsize::new(0);
static WATCH: Once = Once::new();

/// A file that is removed on an interrupt, and when this is dropped before [`UnfinishedFile::keep`].
#[derive(Debug)]
#[must_use = "the file is removed when this is dropped"]
pub(crate) struct UnfinishedFile {
    path: PathBuf,
    is_kept: bool,
}

impl UnfinishedFile {
    /// Creates a file or directory. No interrupt comes between creating it and watching it.
    pub(crate) fn create<T>(
        create: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, Self)> {
        watch();
        let mut unfinished = lock();
        let created = create()?;
        let path = path(&created).to_owned();
        unfinished.push(path.clone());
        Ok((created, Self { path, is_kept: false }))
    }

    /// Marks the file as complete, so that it is not removed.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        let mut unfinished = lock();
        if let Some(at) = unfinished.iter().position(|path| *path == self.path) {
            unfinished.swap_remove(at);
        }
        if !self.is_kept {
            remove(&self.path);
        }
    }
}

/// Clears the last line of the terminal if the process is interrupted from here on.
pub(crate) fn watch_progress() {
    HAS_PROGRESS.store(true, Ordering::Relaxed);
    watch();
}

/// While a value of this type exists, another part of the program handles signals.
pub(crate) struct SignalDelegation(());

impl SignalDelegation {
    pub(crate) fn begin() -> Self {
        DELEGATIONS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Leaves signals to the other part until the process ends.
    pub(crate) fn forever(self) {
        std::mem::forget(self);
    }
}

impl Drop for SignalDelegation {
    fn drop(&mut self) {
        DELEGATIONS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a file or directory. Best effort: errors are ignored.
fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        _ = fs::remove_dir_all(path);
    }
}

/// Starts the thread that waits for signals. Without it the default action ends the process, and files stay.
fn watch() {
    WATCH.call_once(|| _ = start());
}

#[cfg(not(unix))]
fn start() -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn start() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let ignored = ignored_signals();
    // A signal that was ignored from the start, as by `nohup`, stays ignored.
    let is_watched = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM].iter().filter(|signal| is_watched(signal)))?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if DELEGATIONS.load(Ordering::Relaxed) == 0 {
                    end(signal);
                }
            }
        })
        .map(|_| ())
}

/// Removes unfinished files and ends the process as the signal would have. The lock is held to the end, so that no new file is created.
#[cfg(unix)]
pub(crate) fn end(signal: i32) {
    let unfinished = lock();
    unfinished.iter().for_each(|path| remove(path));
    if HAS_PROGRESS.load(Ordering::Relaxed) {
        _ = io::stderr().write_all(b"\r\x1b[2K");
    }
    _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Returns the signals that this process ignored when it started, one bit each. Systems without `/proc` report none.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_is_removed_unless_it_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        for (name, is_kept) in [("half", false), ("whole", true)] {
            let path = directory.path().join(name);
            let created = UnfinishedFile::create(|| fs::write(&path, "text").map(|()| path.clone()), |path| path);
            let (_, file) = created.unwrap();
            assert!(lock().contains(&path));
            match is_kept {
                true => file.keep(),
                false => drop(file),
            }
            assert!(!lock().contains(&path));
            assert_eq!(path.exists(), is_kept, "{name}");
        }
    }
}
