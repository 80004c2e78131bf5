//! `boswell watch`: updates the memory while the agents work.
//!
//! The operating system reports changes if it can; otherwise the logs are polled. A log that grew is read after a short
//! pause, by the same sweep as always but restricted to changed logs. From time to time all logs are checked, in case a
//! notification was missed.

mod changes;
mod view;

use std::path::{Path, PathBuf};
use std::time::Duration;

use memory::mask::Masker;
use memory::sources::LogRoot;
use memory::store::{LockWait, Store, StoreError};
use memory::sweep::{Sweep, SweepReport, run as run_sweep};

use self::changes::{Changes, Told};
use self::view::View;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::sweeping::{Order, sweep};
use crate::ui::Ui;

/// A log is read when it did not grow for `QUIET` or, while it keeps growing, every `PATIENCE`.
const QUIET: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_millis(1200);
/// How often all logs are checked, regardless of notifications.
const ALL: Duration = Duration::from_secs(1800);

/// Follow the agents while they work, and store what they write
///
/// What an agent adds to a log can be searched about a second later. Shows which sessions are running; with `--json`
/// prints one object for each session that grew. Never evicts: that is left to `boswell sweep`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell watch
  boswell watch --json | jq .session_uid
  boswell watch --poll 5              without file notifications, as on some network disks")]
pub(crate) struct WatchArgs {
    /// Check for changes at this interval instead of using file notifications
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    poll: Option<u64>,
    /// End after so many seconds
    #[arg(long, value_name = "SECONDS", hide = true)]
    seconds: Option<u64>,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &WatchArgs) -> Result<Outcome, CommandError> {
    let masker = context.masker(true)?;
    let roots = context.memory_roots();
    let order = Order {
        directory: &context.places.data_dir,
        roots: &roots,
        masker: &masker,
        is_dry: false,
        is_scheduled: false,
        lets_go: false,
        only: None,
    };
    // Reads what was written before the watch started.
    let report = sweep(ui, context, &order)?;
    let clock = context.clock();
    let mut changes = Changes::of(&roots, args.poll.map(Duration::from_secs), context.clock());
    if let Some(why) = changes.polls_because() {
        ui.hint(format_args!(
            "file notifications are unavailable ({why}); polling instead"
        ));
    }
    let mut view = View::begin(ui, context, &report)?;
    let mut walked_ms = 0;
    loop {
        let ends_in = args
            .seconds
            .map(|seconds| Duration::from_secs(seconds).saturating_sub(clock.elapsed()));
        if ends_in == Some(Duration::ZERO) {
            return Ok(Outcome::Done);
        }
        let walk_in = ALL.saturating_sub(clock.elapsed().saturating_sub(Duration::from_millis(walked_ms)));
        let told = changes.next(QUIET, PATIENCE, ends_in.unwrap_or(walk_in).min(walk_in));
        let watched = Watched {
            context,
            roots: &roots,
            masker: &masker,
        };
        let read = match told {
            Told::Paths(paths) => watched.read(Some(&paths)).map(|()| Some(paths)),
            Told::Nothing if clock.elapsed_ms().saturating_sub(walked_ms) < millis(ALL) => continue,
            Told::Nothing | Told::Something => {
                walked_ms = clock.elapsed_ms();
                watched.read(None).map(|()| None)
            }
        };
        match read {
            Ok(paths) => view.show(ui, context, paths.as_deref())?,
            // Another process is writing and may have read this log; the next check makes sure.
            Err(StoreError::Busy) => changes.again(),
            Err(error) => {
                // A full disk may have space again later. Nothing is lost in the meantime, because the logs stay where
                // they are.
                ui.warning(format_args!("{error}"));
                changes.again();
            }
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The arguments that all sweeps of a watch share.
struct Watched<'w> {
    context: &'w Context,
    roots: &'w [LogRoot],
    masker: &'w Masker,
}

impl Watched<'_> {
    /// Reads the logs that grew: those of `only`, or all.
    fn read(&self, only: Option<&[PathBuf]>) -> Result<(), StoreError> {
        let context = self.context;
        let sweep = Sweep {
            threads: context.threads,
            is_ignored: &|path: &Path| context.is_ignored(path),
            digests: Some(context.digest_settings()),
            only,
            ..Sweep::new(&context.places.data_dir, self.roots, self.masker, context.now_again())
        };
        let _: SweepReport = run_sweep(&sweep, LockWait::GiveUp)?;
        Ok(())
    }
}

/// Opens the memory for reading, if it exists.
fn open(context: &Context) -> Result<Option<Store>, CommandError> {
    Ok(Store::open_existing(&context.places.data_dir)?)
}
