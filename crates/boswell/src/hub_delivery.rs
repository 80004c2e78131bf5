//! Pushes new sessions from the data directory to the shared memory.

use std::cell::RefCell;

use memory::hub::{self, PushScope, PushSummary};
use memory::store::{LockWait, Store, StoreError, StoreLocation};

use crate::context::Context;
use crate::ui::{Ui, escape};
use crate::waiting::say_waiting;

/// Pushes at the end of a sweep. A failure is only a warning, because the next sweep pushes the same sessions.
pub(crate) fn push_quietly(ui: &mut Ui, context: &Context) {
    let Some(hub) = &context.hub else { return };
    if let Err(error) = deliver(ui, context, hub) {
        ui.warning(format_args!("not delivered to the shared memory: {error}"));
    }
}

/// Pushes what is new in the data directory.
pub(crate) fn deliver(ui: &mut Ui, context: &Context, hub: &StoreLocation) -> Result<PushSummary, StoreError> {
    let here = context.places.data_dir.local();
    let Some(source) = open_source(&here)? else {
        return Ok(PushSummary::default());
    };
    let mut target = Store::open(hub)?;
    let shared_ui = RefCell::new(ui);
    let waiting = || say_waiting(&mut shared_ui.borrow_mut());
    let share = |uid: &str| -> Result<PushScope, StoreError> {
        let view = source.reads().view(uid)?;
        let names = view.iter().flat_map(|view| [view.repo.as_deref(), view.cwd.as_deref()]);
        let is_full = names.flatten().any(|name| context.config.hub.is_full(name));
        Ok(if is_full {
            PushScope::Full
        } else {
            context.config.hub.share
        })
    };
    let pushed = hub::push_sessions(&source, &mut target, &share, context.now, LockWait::Wait(&waiting))?;
    tell_apart(&mut shared_ui.borrow_mut(), &pushed);
    Ok(pushed)
}

/// Prints a warning for each session whose log in the shared memory begins differently. Such logs must not be merged.
fn tell_apart(ui: &mut Ui, pushed: &PushSummary) {
    for uid in &pushed.apart {
        let uid = escape(uid).into_owned();
        ui.warning(format_args!(
            "the shared memory has another log of this session, which begins differently and stays: {uid}"
        ));
    }
}

/// Opens the memory to push from. The database of an older version lacks tables until it is opened for writing; if that
/// is not possible, it is read as it is.
pub(crate) fn open_source(place: &StoreLocation) -> Result<Option<Store>, StoreError> {
    let existing = Store::open_existing(place)?;
    Ok(existing.map(|existing| Store::open(place).unwrap_or(existing)))
}
