//! `boswell render --watch`: renders again whenever the session's log grows. The log is only read.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use memory::sources;
use render::PageOptions;

use super::{RenderArgs, Source};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::opener::open_file;
use crate::ui::Ui;

/// How often the log is checked.
const EVERY: Duration = Duration::from_millis(400);
/// How often an open page reloads itself.
const RELOAD_SECONDS: u32 = 3;

pub(super) fn run(ui: &mut Ui, context: &Context, args: &RenderArgs, source: &Source) -> Result<Outcome, CommandError> {
    let source = of_log(context, source)?;
    let Source::Log { path, .. } = &source else {
        return Err(CommandError::internal("what is watched is a log"));
    };
    // Nothing is ever sent: the channel only serves as a timer. Ctrl-C ends the process and leaves no partial page,
    // because files are written aside and renamed.
    let (_sender, receiver) = channel::<()>();
    let mut last = None;
    loop {
        let now = stamp(path);
        if last.as_ref() != Some(&now) {
            let is_first = last.is_none();
            last = Some(now);
            let gathered = source.gather(context, args)?;
            let page = PageOptions {
                reload_seconds: Some(RELOAD_SECONDS),
                ..PageOptions::default()
            };
            let made = source.make(ui, context, args, &gathered, page)?;
            if is_first {
                made.tell(ui, args, &gathered)?;
                ui.status("Watching its log, until Ctrl-C");
                if args.open {
                    open_file(&made.path)?;
                }
            }
            ui.flush()?;
        }
        if receiver.recv_timeout(EVERY) == Err(RecvTimeoutError::Disconnected) {
            return Ok(Outcome::Done);
        }
    }
}

/// Returns the log as the source of a session in the memory, because the log grows before the memory does.
fn of_log(context: &Context, source: &Source) -> Result<Source, CommandError> {
    let (path, masker) = match source {
        Source::Log { path, masker } => {
            let masker = masker.is_some().then(|| context.masker(false)).transpose()?;
            (path.clone(), masker)
        }
        Source::Memory { store, session_uid } => {
            let path = PathBuf::from(store.reads().log_path(session_uid)?);
            if !path.is_file() {
                let message = "its log is no longer there, so it cannot go on";
                return Err(CommandError::not_found("log-gone", message));
            }
            (path, Some(context.masker(false)?))
        }
    };
    Ok(Source::Log {
        path,
        masker: masker.map(Box::new),
    })
}

/// Returns the sizes of a log and of its subagents' logs. Logs only grow, so the sizes show every change.
fn stamp(path: &Path) -> Vec<(PathBuf, u64)> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let beside = sources::subagents_of(path, &stem).logs.into_iter().map(|log| log.path);
    let all = std::iter::once(path.to_owned()).chain(beside);
    all.filter_map(|path| {
        let metadata = path.metadata().ok()?;
        Some((path, metadata.len()))
    })
    .collect()
}
