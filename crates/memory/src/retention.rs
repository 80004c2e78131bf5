//! Retention: keeps raw text within its budget, and keeps digests forever.
//!
//! A plan is made without writing, can be shown, and is then applied unchanged. Nothing is evicted before its digest
//! exists, except by an overflow that is reported. This module knows no configuration file and no clock.

mod apply;
mod forget;
mod plan;

use std::collections::HashSet;

use jiff::Timestamp;

use crate::digest;
use crate::store::{LockWait, Reads, Store, StoreError};

pub(crate) use apply::delete_orphaned_packs;
pub use apply::{EvictionSummary, apply_plan, finish_evictions};
pub(crate) use forget::forget_on_server;
pub use forget::{ForgetScope, ForgetSummary, SessionRemains, forget_sessions, list_remains};
pub use plan::{
    EvictionCandidate, EvictionPlan, EvictionReason, NextEviction, PlannedEviction, RetentionPolicy, count_reasons,
    reasons_in_words,
};

/// The operation that records a data loss in the journal, and the name of the event that reports it.
pub const DATA_LOSS: &str = "session_memory.data_loss";

/// If the store was unused for longer than this, the clock may just as well be wrong.
const JUMP_DAYS: i64 = 366;

/// The inputs of a retention run.
#[derive(Clone, Copy)]
pub struct Retention<'a> {
    pub policy: RetentionPolicy,
    /// How digests are made, and the current time.
    pub digests: digest::DigestSettings<'a>,
}

impl Retention<'_> {
    fn now(&self) -> Timestamp {
        self.digests.now
    }
}

/// The command on whose behalf sessions are evicted.
#[derive(Clone, Copy)]
pub struct EvictionCommand<'a> {
    pub name: &'a str,
    /// Returns the command's sentence for the journal.
    pub sentence: &'a dyn Fn(&EvictionSummary) -> String,
}

/// Returns what would be evicted now.
pub fn plan_evictions(reads: &Reads<'_>, policy: &RetentionPolicy, now: Timestamp) -> Result<EvictionPlan, StoreError> {
    let (candidates, unowned) = reads.candidates()?;
    Ok(plan::plan_evictions(&candidates, unowned, policy, now))
}

/// Returns what will be evicted next, and when.
pub fn find_next_eviction(
    reads: &Reads<'_>,
    policy: &RetentionPolicy,
    now: Timestamp,
) -> Result<Option<NextEviction>, StoreError> {
    let (candidates, unowned) = reads.candidates()?;
    Ok(plan::find_next_eviction(&candidates, unowned, policy, now))
}

/// Applies plans until nothing more must be evicted or a digest that the plan relied on cannot be made. `is_busy`
/// returns `true` for sessions that are being read right now. [`finish_evictions`] later removes the evicted text from the
/// disk. Returns the size of all raw text if nothing had to be evicted at the end, because the caller would otherwise
/// have to count it again.
pub fn enforce_policy(
    store: &mut Store,
    patience: LockWait<'_>,
    retention: &Retention<'_>,
    command: &EvictionCommand<'_>,
    is_busy: &dyn Fn(&str) -> bool,
    done: &mut EvictionSummary,
) -> Result<Option<u64>, StoreError> {
    // If several machines share a store, only one at a time enforces its budget.
    let Some(_lock) = store.lock_retention()? else {
        return Ok(None);
    };
    // If the clock has jumped, sessions are not evicted by age until a day has passed. The budget still applies.
    let mut policy = retention.policy;
    if has_clock_jumped(&store.reads(), retention.now())? {
        policy.raw_max_age_days = None;
    }
    let mut opaque: HashSet<String> = HashSet::new();
    loop {
        let (mut candidates, unowned) = store.reads().candidates()?;
        for one in &mut candidates {
            one.is_busy = is_busy(&one.session_uid);
            one.is_opaque = opaque.contains(&one.session_uid);
        }
        let plan = plan::plan_evictions(&candidates, unowned, &policy, retention.now());
        if plan.drops.is_empty() {
            return Ok(Some(plan.bytes_before));
        }
        let failed = apply::apply_plan(store, patience, &plan, retention, command, done)?;
        let known = opaque.len();
        opaque.extend(failed);
        if opaque.len() == known {
            return Ok(None);
        }
    }
}

/// Returns `true` if the clock jumped by more than a year between two changes of the store within the last day.
fn has_clock_jumped(reads: &Reads<'_>, now: Timestamp) -> Result<bool, StoreError> {
    const DAY_MICROS: i64 = 86_400_000_000;
    let now = now.as_microsecond();
    let mut moments = reads.change_times_between(now.saturating_sub(DAY_MICROS), now)?;
    moments.push(now);
    Ok(moments
        .windows(2)
        .any(|pair| pair[1].saturating_sub(pair[0]) > JUMP_DAYS * DAY_MICROS))
}
