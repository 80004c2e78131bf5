//! `boswell render --watch`: what was made is made again whenever the session's log grows. The log is only read.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use memory::sources;
use render::PageOptions;

use super::{RenderArgs, Source, write};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::ui::Ui;

/// How often the log is looked at.
const EVERY: Duration = Duration::from_millis(400);
/// How often an open page loads itself anew.
const RELOAD_SECONDS: u32 = 3;

pub(super) fn run(ui: &mut Ui, context: &Context, args: &RenderArgs, source: &Source) -> Result<Outcome, CommandError> {
    let source = of_log(context, source)?;
    let Source::Log { path, .. } = &source else {
        return Err(CommandError::internal("what is watched is a log"));
    };
    // Nobody sends: it is the wait that counts. Ctrl-C ends the process, and leaves no half page.
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
                    write::open(&made.path)?;
                }
            }
            ui.flush()?;
        }
        if receiver.recv_timeout(EVERY) == Err(RecvTimeoutError::Disconnected) {
            return Ok(Outcome::Done);
        }
    }
}

/// The log of a session that is in the memory: it goes on there first.
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

/// How far a log and those of its subagents are, by their sizes: logs only grow.
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
