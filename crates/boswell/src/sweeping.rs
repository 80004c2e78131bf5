//! Runs a sweep for a verb: with a progress bar, the configured retention, alerts, and digests as files.

use std::cell::RefCell;
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use memory::mask::Masker;
use memory::retention::count_reasons;
use memory::sources::LogRoot;
use memory::store::{LockWait, StoreLocation};
use memory::sweep::{Sweep, SweepReport, dry_run, run as run_sweep};

use crate::alerts;
use crate::answers::keep::{SweepAnswer, SweptAgent};
use crate::answers::shared::UnreadFile;
use crate::context::Context;
use crate::error::CommandError;
use crate::retention::order as retention_order;
use crate::surface;
use crate::ui::Ui;
use crate::waiting::say_waiting;

/// The arguments of a sweep.
pub(crate) struct Order<'a> {
    pub(crate) directory: &'a StoreLocation,
    pub(crate) roots: &'a [LogRoot],
    pub(crate) masker: &'a Masker,
    pub(crate) is_dry: bool,
    /// Whether to give up if another process is writing.
    pub(crate) is_scheduled: bool,
    /// Whether to evict raw text beyond the budget.
    pub(crate) lets_go: bool,
    /// Only these logs; `None` for all logs below `roots`.
    pub(crate) only: Option<&'a [PathBuf]>,
}

/// Sweeps, and shows a progress bar on a terminal.
pub(crate) fn sweep(ui: &mut Ui, context: &Context, order: &Order<'_>) -> Result<SweepReport, CommandError> {
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    bar.set_style(style());
    let sweep = Sweep {
        threads: context.threads,
        is_ignored: &|path| context.is_ignored(path),
        progress: &|done, all| {
            bar.set_length(all);
            bar.set_position(done);
        },
        retention: order.lets_go.then(|| retention_order(context)),
        digests: Some(context.digest_settings()),
        only: order.only,
        has_only_some_roots: context.memory_roots().iter().any(|root| !order.roots.contains(root)),
        ..Sweep::new(order.directory, order.roots, order.masker, context.now)
    };
    let report = if order.is_dry {
        dry_run(&sweep)
    } else {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || bar.suspend(|| say_waiting(&mut shared_ui.borrow_mut()));
        let patience = if order.is_scheduled {
            LockWait::GiveUp
        } else {
            LockWait::Wait(&waiting)
        };
        run_sweep(&sweep, patience)
    };
    bar.finish_and_clear();
    let mut report = report?;
    if !order.is_dry {
        alerts::record(ui, context, order.directory, &report.evicted, report.tier2_bytes);
    }
    surface::digests(ui, context, order.directory, &report.digested)?;
    // Paths can contain secrets, too.
    for unread in &mut report.unread {
        let path = unread.path.display().to_string();
        unread.path = order.masker.mask_str(&path, &mut Vec::new()).into_owned().into();
    }
    Ok(report)
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("Sweeping {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

pub(crate) fn to_answer(report: &SweepReport, duration_ms: u64) -> SweepAnswer {
    let agents = report.agents.iter().map(|(agent, part)| SweptAgent {
        agent: agent.as_str(),
        files_seen: part.files_seen,
        files_read: part.files_read,
        bytes_read: part.bytes_read,
        events: part.events,
    });
    let unread = report.unread.iter().map(|unread| UnreadFile {
        path: unread.path.to_string_lossy().into_owned(),
        reason: unread.reason.to_string(),
    });
    SweepAnswer {
        files_seen: report.files_seen,
        files_read: report.files_read,
        files_unchanged: report.files_unchanged,
        bytes_read: report.bytes_read,
        bytes_checked: report.bytes_checked,
        sessions_new: report.sessions_new,
        subagents_new: report.subagents_new,
        sessions_updated: report.sessions_updated,
        sessions_refreshed: report.sessions_refreshed,
        events: report.events,
        faults: report.faults,
        redactions: report.redactions,
        prompts: report.prompts,
        facts: report.facts,
        digests: report.digested.len(),
        sessions_evicted: report.evicted.drops.len(),
        evicted_by_reason: count_reasons(&report.evicted.drops).into_iter().collect(),
        bytes_evicted: report.evicted.bytes,
        sessions_lost: report.evicted.lost().count(),
        tier1_bytes: report.tier1_bytes,
        tier2_bytes: report.tier2_bytes,
        duration_ms,
        agents: agents.collect(),
        unread: unread.collect(),
    }
}
