//! Records in which pages a session appears, so that `boswell forget` can list them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use memory::report::DayReport;
use memory::store::{CopyRow, LockWait, Store};

use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Ui;
use crate::waiting::say_waiting;

/// Records new pages. Sessions that are not in the memory are skipped.
pub(super) fn note(
    ui: &mut Ui,
    context: &Context,
    store: &Store,
    day: &DayReport,
    pages: &BTreeSet<&Path>,
) -> Result<(), CommandError> {
    let uids: BTreeSet<String> = day
        .excerpts
        .iter()
        .map(|excerpt| format!("{}:{}", excerpt.agent, excerpt.session_id))
        .collect();
    let mut new = Vec::new();
    for session_uid in uids {
        if !store.reads().has_session(&session_uid)? {
            continue;
        }
        let known = store.reads().copies_of(&session_uid)?;
        let paths = pages.iter().map(|page| page.display().to_string());
        new.extend(
            paths
                .filter(|path| !known.iter().any(|copy| copy.path == *path))
                .map(|path| CopyRow {
                    session_uid: session_uid.clone(),
                    path,
                    kind: "page".to_owned(),
                }),
        );
    }
    if new.is_empty() {
        return Ok(());
    }
    let mut store = Store::open(&context.places.data_dir)?;
    let waiting = RefCell::new(ui);
    let lock = store.lock(LockWait::Wait(&|| say_waiting(&mut waiting.borrow_mut())))?;
    store.write(&lock, context.now, "report", |tx| {
        for copy in &new {
            tx.note_copy(copy, context.now)?;
        }
        Ok(((), format!("wrote pages of {}", day.date)))
    })?;
    Ok(())
}
