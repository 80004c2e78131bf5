//! The ingest that hooks start in the background: reads the logs that waiting notes name. One runs at a time.
//!
//! A log lags behind its hook, so the ingest waits until it is quiet, and checks it again for a moment after that. A note
//! that arrives meanwhile is read in the next round: the sweep removes only notes whose logs it has read. After an error
//! the notes stay for the next ingest or sweep.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use memory::spool::{self, WaitingNote};

use super::baked::Baked;
use super::open_lock;
use crate::context::{Clock, Context, Surroundings};
use crate::error::CommandError;
use crate::job_log;
use crate::retention::tell_loss;
use crate::sweeping::{Order, sweep};
use crate::ui::{Format, Ui, Volume};

/// How often the logs are checked.
const EVERY: Duration = Duration::from_millis(100);
/// A log that did not change for this long is quiet.
const QUIET_MS: u64 = 300;
/// Maximum time to wait for a log.
const WAIT_MS_MAX: u64 = 3_000;
/// A log that grows is read again until this long after the last note.
const LINGER_MS: u64 = 3_000;
/// Columns of the log of background runs.
const LOG_COLUMNS: usize = 120;
/// How many sweeps of one ingest a note may wait through.
const ATTEMPTS_MAX: u32 = 3;

/// Processes the waiting notes, and those that arrive meanwhile.
pub(super) fn run(home: &Path) {
    let Some(lock) = own_lock(home) else { return };
    let mut attempts = NoteAttempts::default();
    loop {
        if work(home, &mut attempts).is_err() {
            return;
        }
        // A hook that finds the lock held wrote its note before this check; any other hook starts an ingest itself.
        _ = lock.unlock();
        if attempts.open_notes(home).is_empty() || lock.try_lock().is_err() {
            return;
        }
    }
}

/// How many sweeps of this process each note has waited through.
#[derive(Default)]
struct NoteAttempts {
    by_name: BTreeMap<String, u32>,
}

impl NoteAttempts {
    /// Returns the notes that are worth another sweep. A log that cannot be read leaves its note to the next whole sweep:
    /// retrying it here would never end.
    fn open_notes(&self, home: &Path) -> Vec<WaitingNote> {
        let mut notes = spool::list_notes(home);
        notes.retain(|note| self.by_name.get(&note.name).is_none_or(|count| *count < ATTEMPTS_MAX));
        notes
    }

    fn count(&mut self, notes: &[WaitingNote]) {
        for note in notes {
            *self.by_name.entry(note.name.clone()).or_default() += 1;
        }
    }
}

/// Returns the lock: the one that the hook passed on, or a new one.
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

fn work(home: &Path, attempts: &mut NoteAttempts) -> Result<(), CommandError> {
    let surroundings = Surroundings::ask();
    let mut ui = Ui::silent();
    let mut logs = BTreeSet::new();
    let mut read = None;
    let mut last_note_ms = 0;
    let mut clock = None;
    loop {
        let context = Context::load(&mut ui, &surroundings, &[])?;
        let clock = clock.get_or_insert_with(|| context.clock());
        let notes = attempts.open_notes(home);
        let is_news = !notes.is_empty();
        if is_news {
            last_note_ms = clock.elapsed_ms();
        }
        let known = notes.iter().filter_map(|waiting| waiting.note.as_ref().ok());
        let mut is_whole = false;
        for note in known {
            is_whole |= note.log.is_none();
            logs.extend(note.logs().cloned());
        }
        // Another sweep processed the note that started this process, and its log may have grown since.
        is_whole |= read.is_none() && logs.is_empty();
        let seen = when_quiet(&logs, clock);
        if is_news || read.as_ref() != Some(&seen) {
            ingest(&mut ui, &context, &logs, is_whole)?;
            Baked::refresh(home, &context);
            attempts.count(&notes);
            read = Some(seen);
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
    // There is no terminal, so warnings go to the log of background runs.
    let (mut log, printed) = ui.captured(LOG_COLUMNS);
    let swept = sweep(&mut log, context, &order);
    match &swept {
        Ok(report) => {
            _ = tell_loss(&mut log, context, &report.evicted);
            for unread in &report.unread {
                log.warning(format_args!("{}: {}", unread.path.display(), unread.reason));
            }
        }
        Err(error) => _ = log.error(error),
    }
    _ = log.flush();
    _ = job_log::append(&context.places.data_dir, context.now, "hook", &printed.text());
    swept.map(|_| ())
}

/// The state of logs: their sizes and modification times, as text.
type Look = Vec<String>;

/// Waits until all the logs are quiet, for a limited time, and returns their state.
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

/// Waits for a moment. Nothing is ever sent: the channel only serves as a timer.
fn pause() {
    let (_sender, receiver) = channel::<()>();
    _ = receiver.recv_timeout(EVERY);
}

impl Ui {
    /// Returns a `Ui` without a terminal that prints only warnings and errors.
    fn silent() -> Self {
        let stream = crate::ui::Stream {
            is_terminal: false,
            has_color: false,
        };
        Self::new(Format::Text, Volume::Quiet, stream, stream)
    }
}
