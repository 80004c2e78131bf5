//! What hooks start: takes the notes in, and reads the logs they name. One at a time, with nobody watching.
//!
//! A log lags behind its hook, so it is waited for until it is quiet, and looked at again for a moment after that. What
//! goes wrong is left to the next one: notes stay until they are taken in.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use memory::spool;

use super::baked::Baked;
use super::open_lock;
use crate::commands::sweep::{Order, sweep};
use crate::context::{Clock, Context, Surroundings};
use crate::error::CommandError;
use crate::retention::tell_loss;
use crate::ui::{Format, Ui, Volume};

/// How often is looked.
const EVERY: Duration = Duration::from_millis(100);
/// A log that did not change for so long is quiet.
const QUIET_MS: u64 = 300;
/// No log is waited for longer than this.
const WAIT_MS_MAX: u64 = 3_000;
/// So long after the last note a log that goes on is read again.
const LINGER_MS: u64 = 3_000;

/// Takes in what waits, and what comes meanwhile.
pub(super) fn run(home: &Path) {
    let Some(lock) = own_lock(home) else { return };
    loop {
        if work(home).is_err() {
            return;
        }
        // A hook that found the lock held has written its note before we look, or finds it free.
        _ = lock.unlock();
        if !spool::is_waiting(home) || lock.try_lock().is_err() {
            return;
        }
    }
}

/// The lock: the one that the hook handed over, or else one of our own.
fn own_lock(home: &Path) -> Option<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let here = open_lock(home)?;
        let handed = std::io::stdin().as_fd().try_clone_to_owned().ok().map(File::from);
        let same = |file: &File| {
            let (one, other) = (file.metadata().ok()?, here.metadata().ok()?);
            Some((one.dev(), one.ino()) == (other.dev(), other.ino()))
        };
        if let Some(handed) = handed.filter(|file| same(file) == Some(true)) {
            return handed.try_lock().is_ok().then_some(handed);
        }
    }
    let lock = open_lock(home)?;
    lock.try_lock().is_ok().then_some(lock)
}

fn work(home: &Path) -> Result<(), CommandError> {
    let surroundings = Surroundings::ask();
    let mut ui = Ui::silent();
    let mut logs = BTreeSet::new();
    let mut is_whole = false;
    let mut read = None;
    let mut last_note_ms = 0;
    let mut clock = None;
    loop {
        let context = Context::load(&mut ui, &surroundings, &[])?;
        let clock = clock.get_or_insert_with(|| context.clock());
        let notes = spool::waiting(home);
        let is_news = !notes.is_empty();
        if is_news {
            last_note_ms = clock.elapsed_ms();
        }
        for note in notes.into_iter().filter_map(|waiting| waiting.note) {
            is_whole |= note.log.is_none();
            logs.extend(note.log.into_iter().chain(note.subagent_log));
        }
        // Somebody else took the notes in, and may have had no time for the logs they named.
        is_whole |= read.is_none() && logs.is_empty();
        let seen = when_quiet(&logs, clock);
        if is_news || read.as_ref() != Some(&seen) {
            ingest(&mut ui, &context, &logs, is_whole)?;
            Baked::refresh(home, &context);
            read = Some(seen);
            is_whole = false;
        }
        if clock.elapsed_ms() > last_note_ms + LINGER_MS {
            return Ok(());
        }
        pause();
    }
}

fn ingest(ui: &mut Ui, context: &Context, logs: &BTreeSet<PathBuf>, is_whole: bool) -> Result<(), CommandError> {
    let logs: Vec<PathBuf> = logs.iter().cloned().collect();
    let order = Order {
        directory: &context.places.data_dir,
        roots: &context.memory_roots(),
        masker: &context.masker(true)?,
        is_dry: false,
        is_scheduled: false,
        lets_go: true,
        only: (!is_whole).then_some(logs.as_slice()),
    };
    let report = sweep(ui, context, &order)?;
    _ = tell_loss(ui, context, &report.let_go);
    Ok(())
}

/// What logs look like: their sizes and times, as text.
type Look = Vec<String>;

/// Waits until nobody writes to any of the logs, but not for ever, and says what they look like then.
fn when_quiet(logs: &BTreeSet<PathBuf>, clock: &Clock) -> Look {
    let began = clock.elapsed_ms();
    let mut seen = look(logs);
    let mut since = began;
    while clock.elapsed_ms() < since + QUIET_MS && clock.elapsed_ms() < began + WAIT_MS_MAX {
        pause();
        let now = look(logs);
        if now != seen {
            seen = now;
            since = clock.elapsed_ms();
        }
    }
    seen
}

fn look(logs: &BTreeSet<PathBuf>) -> Look {
    let one = |path: &PathBuf| {
        let metadata = fs::metadata(path);
        metadata.map_or_else(
            |_| String::new(),
            |metadata| format!("{} {:?}", metadata.len(), metadata.modified().ok()),
        )
    };
    logs.iter().map(one).collect()
}

/// Nobody sends: it is the wait that counts.
fn pause() {
    let (_sender, receiver) = channel::<()>();
    _ = receiver.recv_timeout(EVERY);
}

impl Ui {
    /// For those whom nobody hears.
    fn silent() -> Self {
        let stream = crate::ui::Stream {
            is_terminal: false,
            has_color: false,
        };
        Self::new(Format::Text, Volume::Quiet, stream, stream)
    }
}
