//! Logs that Claude Code will delete soon, and whether the memory has them.

use std::fs;

use memory::doctor;
use memory::store::{Store, StoreError};

use crate::answers::health::{ClaudeDeletes, MissingLog};
use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::{date_time, plural};
use crate::ui::{BAD, Ui, escape, measure};

/// Maximum number of missing logs that are listed.
const MISSING_SHOWN: usize = 5;

/// Checks the logs of Claude Code. Returns `None` if it has no root.
pub(super) fn look(context: &Context, store: Option<&Store>) -> Result<Option<ClaudeDeletes>, StoreError> {
    let roots = context.memory_roots();
    let Some(cleanup) = doctor::plan_claude_cleanup(&roots, context.now, &|path| context.is_ignored(path)) else {
        return Ok(None);
    };
    let mut missing = Vec::new();
    for due in &cleanup.due {
        let path = due.path.display().to_string();
        let read = store.map_or(Ok(None), |store| store.reads().read_to(&path))?;
        let size = fs::metadata(&due.path).map_or(0, |metadata| metadata.len());
        if read.is_none_or(|read| read < size) {
            missing.push(MissingLog {
                path,
                at: due.deleted_at,
            });
        }
    }
    Ok(Some(ClaudeDeletes {
        period_days: cleanup.period_days,
        logs: cleanup.due.len() as u64,
        first_at: cleanup.due.first().map(|due| due.deleted_at),
        missing,
    }))
}

pub(super) fn show(ui: &mut Ui, context: &Context, soon: &ClaudeDeletes) -> Result<(), CommandError> {
    let Some(first) = soon.first_at else { return Ok(()) };
    let here = match soon.missing.len() {
        0 => "all of them are in the memory".to_owned(),
        missing => ui
            .paint(BAD, format!("{} not in the memory", measure::count(missing as u64)))
            .to_string(),
    };
    ui.row(format_args!(
        "  claude    deletes {} from {} on; {here}",
        plural(soon.logs, "log"),
        date_time(first, &context.zone)
    ))?;
    for log in soon.missing.iter().take(MISSING_SHOWN) {
        ui.row(format_args!(
            "            {}  {}",
            date_time(log.at, &context.zone),
            ui.path(&escape(&log.path))
        ))?;
    }
    Ok(())
}
