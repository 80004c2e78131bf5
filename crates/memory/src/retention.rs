//! What we let go, and when: raw text stays inside its budget, and what it taught us stays for good.
//!
//! A plan is made by reading only, can be shown, and is then applied as it is. Nothing is dropped before its digest
//! exists, except by an overflow that is reported. This room knows no configuration file and no clock.

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

/// The operation under which a loss stands in the journal, and the name of the event that tells of it.
pub const DATA_LOSS: &str = "session_memory.data_loss";

/// Who was away for longer may as well have a clock that is wrong.
const LEAP_DAYS: i64 = 366;

/// What a retention run is told.
#[derive(Clone, Copy)]
pub struct Retention<'a> {
    pub policy: Policy,
    /// How digests are made, and what time it is.
    pub digests: digest::Settings<'a>,
}

impl Retention<'_> {
    fn now(&self) -> Timestamp {
        self.digests.now
    }
}

/// In whose name something is dropped.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    pub name: &'a str,
    /// What the journal says of the command so far.
    pub sentence: &'a dyn Fn(&Done) -> String,
}

/// Says what would go now.
pub fn plan(reads: &Reads<'_>, policy: &Policy, now: Timestamp) -> Result<Plan, StoreError> {
    let (candidates, unowned) = reads.candidates()?;
    Ok(plan::plan(&candidates, unowned, policy, now))
}

/// Says what goes next, and when.
pub fn next(reads: &Reads<'_>, policy: &Policy, now: Timestamp) -> Result<Option<Next>, StoreError> {
    let (candidates, unowned) = reads.candidates()?;
    Ok(plan::next(&candidates, unowned, policy, now))
}

/// Drops what a plan says, and plans again as long as digests that were counted on cannot be made. `is_busy` names the
/// sessions that are being read just now. What is let go leaves the disk for good with [`finish`]. Gives what the raw cache takes, if nothing had to go
/// in the end: to count it is to look at all of it.
pub fn enforce(
    store: &mut Store,
    patience: Patience<'_>,
    retention: &Retention<'_>,
    command: &Command<'_>,
    is_busy: &dyn Fn(&str) -> bool,
    done: &mut Done,
) -> Result<Option<u64>, StoreError> {
    // Where many machines share a memory, one of them at a time sees to its budget.
    let Some(_right) = store.lock_retention()? else {
        return Ok(None);
    };
    // Nothing grows old by a clock that leaps: until a day has passed after that, only the budget counts.
    let mut policy = retention.policy;
    if has_leapt(&store.reads(), retention.now())? {
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

/// Whether the clock went on by more than a year between two changes of the memory, within the last day.
fn has_leapt(reads: &Reads<'_>, now: Timestamp) -> Result<bool, StoreError> {
    const DAY_MICROS: i64 = 86_400_000_000;
    let now = now.as_microsecond();
    let mut moments = reads.moments_since(now.saturating_sub(DAY_MICROS), now)?;
    moments.push(now);
    Ok(moments
        .windows(2)
        .any(|pair| pair[1].saturating_sub(pair[0]) > LEAP_DAYS * DAY_MICROS))
}
