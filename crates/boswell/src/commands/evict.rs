//! `boswell evict`: raw text that the budget no longer keeps is let go.

use std::cell::RefCell;

use memory::retention::{self, Command, Done, Plan};
use memory::store::{Patience, Store};
use serde_json::{Value, json};

use super::sweep::say_waiting;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::retention::{drop_json, order, policy, tell_loss, why};
use crate::session_arg::open_memory;
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};

/// Let go of raw text that the budget no longer keeps
///
/// Only raw text goes, and only after its digest exists: sessions stay listed, and their numbers stay exact. A sweep
/// does the same at its end. The caps are in `boswell config show`, and `boswell keep` exempts a session.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell evict --dry-run                       which would go, why, and what stays
  boswell evict
  boswell evict --config session_memory.retention.raw_soft_cap_bytes=1GiB")]
pub(crate) struct EvictArgs {
    /// Show what would go and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &EvictArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let plan = retention::plan(&store.reads(), &policy(context), context.now)?;
    let distilled = store.reads().distilled_bytes()?;
    if args.dry_run {
        match ui.format {
            Format::Json => ui.json(&to_json(context, &plan, None, distilled))?,
            Format::Text => show(ui, &plan, true)?,
        }
        warn_distilled(ui, context, distilled);
        return Ok(Outcome::Done);
    }
    drop(store);
    let done = {
        let told = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut told.borrow_mut());
        evict(context, Patience::Wait(&waiting))?
    };
    let bytes_after = plan.bytes_before.saturating_sub(done.bytes);
    let plan = Plan {
        drops: done.drops.clone(),
        bytes_after,
        sessions_staying: plan.sessions_staying + plan.drops.len() as u64 - done.drops.len() as u64,
        ..plan
    };
    match ui.format {
        Format::Json => ui.json(&to_json(context, &plan, Some(&done), distilled))?,
        Format::Text => show(ui, &plan, false)?,
    }
    if !done.is_finished {
        ui.warning("what was let go is not yet off the disk: a reader is in the way, or there is no room; the next sweep ends it");
    }
    warn_distilled(ui, context, distilled);
    Ok(tell_loss(ui, context, &done))
}

fn evict(context: &Context, patience: Patience<'_>) -> Result<Done, CommandError> {
    let mut store = Store::open(&context.places.data_dir)?;
    let command = Command {
        name: "evict",
        sentence: &Done::sentence,
    };
    let mut done = Done::default();
    retention::enforce(&mut store, patience, &order(context), &command, &|_| false, &mut done)?;
    retention::finish(&mut store, patience, context.now, &command, &mut done)?;
    Ok(done)
}

fn show(ui: &mut Ui, plan: &Plan, is_dry: bool) -> Result<(), CommandError> {
    for drop in &plan.drops {
        let first = if drop.needs_digest { ", its digest first" } else { "" };
        ui.row(format_args!(
            "{:>10}  {}  {}",
            measure::bytes(drop.bytes),
            ui.paint(STRONG, escape(&drop.session_uid)),
            ui.paint(FAINT, format!("{}{first}", why(drop.reason)))
        ))?;
    }
    let (sessions, freed) = (
        plural(plan.drops.len() as u64, "session"),
        measure::bytes(plan.bytes_freed()),
    );
    let kept = match plan.sessions_kept {
        0 => String::new(),
        kept => format!(", {} of them for good", measure::count(kept)),
    };
    let left = format!(
        "{} with {} left{kept}",
        plural(plan.sessions_staying, "session"),
        measure::bytes(plan.bytes_after)
    );
    match (plan.drops.is_empty(), is_dry) {
        (true, _) => ui.status(format_args!("Nothing has to go: {left}")),
        (false, true) => {
            ui.status(format_args!("{freed} of {sessions} would go; {left}"));
            ui.hint("run again without `--dry-run` to let them go");
        }
        (false, false) => ui.status(format_args!("Freed: {freed} of {sessions}; {left}")),
    }
    Ok(())
}

/// Distilled memory is never dropped: somebody has to look.
pub(crate) fn warn_distilled(ui: &mut Ui, context: &Context, bytes: u64) {
    let cap = context.config.retention.distilled_cap_bytes;
    if bytes > cap {
        ui.warning(format_args!(
            "distilled memory is above its cap, and is never dropped by itself: {} > {}",
            measure::bytes(bytes),
            measure::bytes(cap)
        ));
    }
}

fn to_json(context: &Context, plan: &Plan, done: Option<&Done>, distilled: u64) -> Value {
    json!({
        "schema": "boswell.evict/1",
        "dry_run": done.is_none(),
        "drops": plan.drops.iter().map(drop_json).collect::<Vec<_>>(),
        "bytes_before": plan.bytes_before,
        "bytes_after": plan.bytes_after,
        "bytes_freed": plan.bytes_freed(),
        "sessions_staying": plan.sessions_staying,
        "sessions_kept": plan.sessions_kept,
        "lost": done.map_or(0, |done| done.lost().count()),
        "is_finished": done.is_none_or(|done| done.is_finished),
        "distilled_bytes": distilled,
        "distilled_cap_bytes": context.config.retention.distilled_cap_bytes,
    })
}
