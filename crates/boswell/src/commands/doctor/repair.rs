//! `boswell doctor --repair`: repairs what is damaged, and names what is lost.

use std::cell::RefCell;

use memory::doctor::{RebuiltDatabase, StoreHealth, mark_damaged, rebuild_database};
use memory::store::LockWait;

use super::store_health;
use crate::context::Context;
use crate::error::CommandError;
use crate::render::text::plural;
use crate::sweeping::{Order, sweep};
use crate::ui::{Ui, escape};
use crate::waiting::say_waiting;

/// Rebuilds a damaged database, then reads damaged sessions again if their logs or stored lines still exist.
pub(super) fn repair(ui: &mut Ui, context: &Context, damaged: &StoreHealth) -> Result<(), CommandError> {
    let mut found = None;
    let place = &context.places.data_dir;
    // A database server is responsible for its own files.
    if !damaged.database.is_empty() && place.server().is_none() {
        let remade = {
            let shared_ui = RefCell::new(&mut *ui);
            let patience = LockWait::Wait(&|| say_waiting(&mut shared_ui.borrow_mut()));
            rebuild_database(place, context.now, patience)?
        };
        tell_remade(ui, &remade);
        found = Some(store_health(ui, context)?);
    }
    let damaged = found.as_ref().unwrap_or(damaged);
    let lost = {
        let shared_ui = RefCell::new(&mut *ui);
        mark_damaged(
            damaged,
            context.now,
            LockWait::Wait(&|| say_waiting(&mut shared_ui.borrow_mut())),
        )?
    };
    let order = Order {
        directory: &context.places.data_dir,
        roots: &context.memory_roots(),
        masker: &context.masker(true)?,
        is_dry: false,
        is_scheduled: false,
        lets_go: false,
        only: None,
    };
    // A sweep that reads a session from its log leaves deriving its rows to the next sweep, so two sweeps are needed.
    let (first, second) = (sweep(ui, context, &order)?, sweep(ui, context, &order)?);
    ui.status(format_args!(
        "Repaired: {} read again from logs, {} rebuilt from stored lines",
        plural(first.sessions_updated + second.sessions_updated, "session"),
        first.sessions_refreshed + second.sessions_refreshed
    ));
    for uid in lost {
        ui.warning(format_args!(
            "the log of {} is gone: its damaged lines are lost",
            escape(&uid)
        ));
    }
    Ok(())
}

/// Reports what the new database was built from, and what is lost.
fn tell_remade(ui: &mut Ui, remade: &RebuiltDatabase) {
    ui.status(format_args!(
        "Made a new database: {} read from the damaged one, lines of {} found again in packs",
        plural(remade.rows, "row"),
        plural(remade.found.len() as u64, "session")
    ));
    let mut lost: Vec<&str> = remade.tables.iter().filter_map(|table| lost_words(table)).collect();
    lost.sort_unstable();
    lost.dedup();
    if !lost.is_empty() {
        ui.warning(format_args!("not all could be read of {}", lost.join(", ")));
    }
    for pack in &remade.nameless {
        ui.warning(format_args!(
            "a pack names no session and was set aside: {}",
            escape(&pack.display().to_string())
        ));
    }
    if let Some(aside) = &remade.aside {
        ui.status(format_args!(
            "The damaged file is kept: {}",
            escape(&aside.display().to_string())
        ));
    }
}

/// Returns a description of what a table holds if neither logs nor packs can restore it, or `None` if its rows are
/// derived again.
fn lost_words(table: &str) -> Option<&'static str> {
    Some(match table {
        "sessions" => "the list of sessions",
        "operations" => "the journal",
        "prompts" => "prompts of histories",
        "tags" => "tags",
        "annotations" => "names and notes",
        "decisions" => "decisions",
        "keeps" => "what is to be kept",
        "tombstones" => "what was forgotten",
        "copies" => "the list of copies",
        "facts" => "facts from hooks",
        "digests" => "digests",
        "calls" | "turns" | "views" => "numbers of sessions whose text was evicted",
        "frames" | "tails" => "where lines lie",
        "cursors" => "where logs were read",
        _ => return None,
    })
}
