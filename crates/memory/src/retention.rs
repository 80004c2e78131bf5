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
use crate::store::{Patience, Reads, Store, StoreError};

pub(crate) use apply::drop_orphans;
pub use apply::{Done, apply, finish};
pub(crate) use forget::forget_there;
pub use forget::{Forgotten, Reach, Remains, forget, remains};
pub use plan::{Candidate, Drop, Next, Plan, Policy, Reason, count_reasons, reasons_in_words};

/// The operation that records a data loss in the journal, and the name of the event that reports it.
pub const DATA_LOSS: &str = "session_memory.data_loss";

/// If the store was unused for longer than this, the clock may just as well be wrong.
const JUMP_DAYS: i64 = 366;

/// The inputs of a retention run.
#[derive(Clone, Copy)]
pub struct Retention<'a> {
    pub policy: Policy,
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
pub struct Command<'a> {
    pub name: &'a str,
    /// Returns the command's sentence for the journal.
    pub sentence: &'a dyn Fn(&Done) -> String,
}

/// Returns what would be evicted now.
pub fn plan(reads: &Reads<'_>, policy: &Policy, now: Timestamp) -> Result<Plan, StoreError> {
    let (candidates, unowned) = reads.candidates()?;
    Ok(plan::plan(&candidates, unowned, policy, now))
}

/// Returns what will be evicted next, and when.
pub fn next(reads: &Reads<'_>, policy: &Policy, now: Timestamp) -> Result<Option<Next>, StoreError> {
    let (candidates, unowned) = reads.candidates()?;
    Ok(plan::next(&candidates, unowned, policy, now))
}

/// Applies plans until nothing more must be evicted or a digest that the plan relied on cannot be made. `is_busy`
/// returns `true` for sessions that are being read right now. [`finish`] later removes the evicted text from the
/// disk. Returns the size of all raw text if nothing had to be evicted at the end, because the caller would otherwise
/// have to count it again.
pub fn enforce(
    store: &mut Store,
    patience: Patience<'_>,
    retention: &Retention<'_>,
    command: &Command<'_>,
    is_busy: &dyn Fn(&str) -> bool,
    done: &mut Done,
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
        let plan = plan::plan(&candidates, unowned, &policy, retention.now());
        if plan.drops.is_empty() {
            return Ok(Some(plan.bytes_before));
        }
        let failed = apply::apply(store, patience, &plan, retention, command, done)?;
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
    let mut moments = reads.moments_since(now.saturating_sub(DAY_MICROS), now)?;
    moments.push(now);
    Ok(moments
        .windows(2)
        .any(|pair| pair[1].saturating_sub(pair[0]) > JUMP_DAYS * DAY_MICROS))
}
