//! `boswell evict`: deletes raw text that is too old or over the budget.

use std::cell::RefCell;

use memory::retention::{
    self, EvictionCommand, EvictionPlan, EvictionReason, EvictionSummary, PlannedEviction, count_reasons,
    reasons_in_words,
};
use memory::store::{LockWait, Store};

use crate::alerts;
use crate::answers::keep::EvictAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::retention::{order, policy, tell_loss, warn_distilled, why};
use crate::session_arg::open_memory;
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};
use crate::waiting::say_waiting;

/// Evict raw text that is too old or over the budget
///
/// Evicts sessions that were last read more than `raw_max_age_days` ago, then the oldest until raw text fits into its soft cap. Only raw
/// text goes, and only after its digest exists: sessions stay listed, and their numbers stay exact. Every sweep does the same at its
/// end. `boswell config show` prints the limits; `boswell keep` exempts a session.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell evict --dry-run                       what would be evicted and why
  boswell evict
  boswell evict --config session_memory.retention.raw_soft_cap_bytes=1GiB")]
pub(crate) struct EvictArgs {
    /// Show what would be evicted and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &EvictArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let plan = retention::plan_evictions(&store.reads(), &policy(context), context.now)?;
    let distilled = store.reads().distilled_bytes()?;
    if args.dry_run {
        match ui.format {
            Format::Json => ui.answer(&to_answer(context, &plan, None, distilled))?,
            Format::Text => show(ui, &plan, true)?,
        }
        warn_distilled(ui, context, distilled);
        return Ok(Outcome::Done);
    }
    drop(store);
    let done = {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        evict(context, LockWait::Wait(&waiting))?
    };
    let bytes_after = plan.bytes_before.saturating_sub(done.bytes);
    let plan = EvictionPlan {
        drops: done.drops.clone(),
        bytes_after,
        sessions_staying: plan.sessions_staying + plan.drops.len() as u64 - done.drops.len() as u64,
        ..plan
    };
    match ui.format {
        Format::Json => ui.answer(&to_answer(context, &plan, Some(&done), distilled))?,
        Format::Text => show(ui, &plan, false)?,
    }
    if !done.is_finished {
        ui.warning(
            "evicted text is still on disk because a reader holds the database or the disk is full; the next sweep removes it",
        );
    }
    warn_distilled(ui, context, distilled);
    alerts::record(ui, context, &context.places.data_dir, &done, distilled);
    Ok(tell_loss(ui, context, &done))
}

fn evict(context: &Context, patience: LockWait<'_>) -> Result<EvictionSummary, CommandError> {
    let mut store = Store::open(&context.places.data_dir)?;
    let command = EvictionCommand {
        name: "evict",
        sentence: &EvictionSummary::sentence,
    };
    let mut done = EvictionSummary::default();
    retention::enforce_policy(&mut store, patience, &order(context), &command, &|_| false, &mut done)?;
    retention::finish_evictions(&mut store, patience, context.now, &command, &mut done)?;
    Ok(done)
}

fn show(ui: &mut Ui, plan: &EvictionPlan, is_dry: bool) -> Result<(), CommandError> {
    for (reason, drops) in groups(&plan.drops) {
        ui.row_wrapped(ui.paint(FAINT, reason), 2)?;
        for drop in drops {
            let age = match drop.reason {
                EvictionReason::Age { days } => {
                    ui.paint(FAINT, format!("  {}", plural(days.into(), "day"))).to_string()
                }
                EvictionReason::Budget | EvictionReason::HardCap | EvictionReason::Overflow => String::new(),
            };
            let uid = ui.paint(STRONG, escape(&drop.session_uid));
            ui.row_wrapped(format!("{:>10}  {uid}{age}", measure::bytes(drop.bytes)), 12)?;
        }
    }
    let (sessions, freed) = (
        plural(plan.drops.len() as u64, "session"),
        measure::bytes(plan.bytes_freed()),
    );
    let kept = match plan.sessions_kept {
        0 => String::new(),
        kept => format!(", {} of them kept", measure::count(kept)),
    };
    let left = format!(
        "{} with {} left{kept}",
        plural(plan.sessions_staying, "session"),
        measure::bytes(plan.bytes_after)
    );
    let reasons = reasons_in_words(&plan.drops);
    match (plan.drops.is_empty(), is_dry) {
        (true, _) => ui.status(format_args!("Nothing to evict: {left}")),
        (false, true) => {
            ui.status(format_args!("Would evict {freed} of {sessions} ({reasons}); {left}"));
            ui.hint("run again without `--dry-run` to evict them");
        }
        (false, false) => ui.status(format_args!("Evicted {freed} of {sessions} ({reasons}); {left}")),
    }
    Ok(())
}

/// Groups the planned evictions by reason, in the order in which the reasons first occur.
fn groups(drops: &[PlannedEviction]) -> Vec<(String, Vec<&PlannedEviction>)> {
    let mut groups: Vec<(String, Vec<&PlannedEviction>)> = Vec::new();
    for drop in drops {
        let first = if drop.needs_digest {
            "; digests are written first"
        } else {
            ""
        };
        let reason = format!("{}{first}", why(drop.reason));
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, group)) => group.push(drop),
            None => groups.push((reason, vec![drop])),
        }
    }
    groups
}

fn to_answer(context: &Context, plan: &EvictionPlan, done: Option<&EvictionSummary>, distilled: u64) -> EvictAnswer {
    EvictAnswer {
        dry_run: done.is_none(),
        drops: plan.drops.iter().map(Into::into).collect(),
        by_reason: count_reasons(&plan.drops).into_iter().collect(),
        bytes_before: plan.bytes_before,
        bytes_after: plan.bytes_after,
        bytes_freed: plan.bytes_freed(),
        sessions_staying: plan.sessions_staying,
        sessions_kept: plan.sessions_kept,
        lost: done.map_or(0, |done| done.lost().count()),
        is_finished: done.is_none_or(|done| done.is_finished),
        distilled_bytes: distilled,
        distilled_cap_bytes: context.config.retention.distilled_cap_bytes,
    }
}
