//! What commands do before they answer from memory: a short look for what is new, within a budget that nobody
//! notices. It never waits for another writer, and it never makes a memory where there is none.

use jiff::SignedDuration;
use memory::spool;
use memory::store::{Patience, Store, StoreError};
use memory::sweep::{Report, Sweep, run};

use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::plural;
use crate::ui::Ui;

/// A look that is younger than this is good enough.
const FRESH_FOR: SignedDuration = SignedDuration::from_mins(1);
/// How long a look may take.
const BUDGET_MS: u64 = 200;
/// A session with more to read is left to `boswell sweep`.
const SESSION_BYTES_MAX: u64 = 8 << 20;

/// Reads what is new. Where that was not done to its end, the answer is marked as stale.
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
    // A look from the future is none: a clock was set back.
    let is_fresh = age.is_some_and(|age| age >= SignedDuration::ZERO && age < FRESH_FOR);
    // What a hook told is news at any time.
    if is_fresh && !spool::is_waiting(directory) {
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
        // Somebody else reads it, or it cannot be written here: what is kept answers all the same.
        Err(StoreError::Busy | StoreError::Io { .. } | StoreError::Database(_) | StoreError::Server(_)) => {
            ui.set_stale();
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn look(context: &Context) -> Result<Report, StoreError> {
    let clock = context.clock();
    // Without a key nothing may be written: a sweep makes one.
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
    run(&sweep, Patience::Leave)
}
