//! Reads new log text before a command answers from the memory, within a time limit that the user does not notice. It
//! never waits for another writer, and never creates a memory.

use jiff::SignedDuration;
use memory::spool;
use memory::store::{LockWait, Store, StoreError};
use memory::sweep::{Sweep, SweepReport, run};

use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::plural;
use crate::ui::Ui;

/// The logs are not checked again within this time.
const FRESH_FOR: SignedDuration = SignedDuration::from_mins(1);
/// Maximum time to spend.
const BUDGET_MS: u64 = 200;
/// A session with more new text than this is left to `boswell sweep`.
const SESSION_BYTES_MAX: u64 = 8 << 20;

/// Reads new text. If it could not read everything, the answer is marked as stale.
pub(crate) fn catch_up(ui: &mut Ui, context: &Context, is_skipped: bool) -> Result<(), CommandError> {
    let directory = &context.places.data_dir;
    if directory.server().is_none() && !directory.join(Store::DATABASE).exists() {
        return Ok(());
    }
    if is_skipped {
        ui.set_stale();
        return Ok(());
    }
    let age = Store::last_walk(directory).map(|last| context.now.duration_since(last));
    // A time in the future means that the clock was set back, so it does not count.
    let is_fresh = age.is_some_and(|age| age >= SignedDuration::ZERO && age < FRESH_FOR);
    // Notes of hooks are always processed.
    if is_fresh && !spool::has_notes(directory) {
        return Ok(());
    }
    match look(context) {
        Ok(report) if report.sessions_left == 0 => Ok(()),
        Ok(report) => {
            ui.set_stale();
            let left = plural(report.sessions_left, "session");
            ui.status(format_args!(
                "Not yet read: {left}; `boswell sweep` reads all that is new"
            ));
            Ok(())
        }
        // Another process is writing, or the memory is read-only: the command answers from what is stored.
        Err(StoreError::Busy | StoreError::Io { .. } | StoreError::Database(_) | StoreError::Server(_)) => {
            ui.set_stale();
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn look(context: &Context) -> Result<SweepReport, StoreError> {
    let clock = context.clock();
    // Without a masking key nothing may be written; `boswell sweep` creates one.
    let Ok(masker) = context.masker(true) else {
        return Err(StoreError::Busy);
    };
    let roots = context.memory_roots();
    let sweep = Sweep {
        threads: context.threads,
        is_ignored: &|path| context.is_ignored(path),
        session_bytes_max: SESSION_BYTES_MAX,
        is_over: &|| clock.elapsed_ms() > BUDGET_MS,
        ..Sweep::new(&context.places.data_dir, &roots, &masker, context.now)
    };
    run(&sweep, LockWait::GiveUp)
}
