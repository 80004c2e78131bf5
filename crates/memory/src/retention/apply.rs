//! Applies a plan. An eviction deletes in two phases, and the next writer completes it if a crash interrupted it.
//!
//! First, digests are sealed and rows lose their text, in one transaction per batch. Then packs are unlinked. Finally
//! the database is rewritten and its write-ahead log is emptied, because free pages would still contain the text.

use std::collections::HashSet;

use transcript::Session;

use super::plan::{EvictionPlan, EvictionReason, PlannedEviction, reasons_in_words};
use super::{DATA_LOSS, EvictionCommand, Retention};
use crate::digest::{self, Digest};
use crate::packs;
use crate::plural::count_noun;
use crate::store::{FailureCause, LockWait, SessionGrowth, Store, StoreError, Tx, WriteLock};

/// Number of sessions evicted in one transaction. The batches are small so that the lock is held briefly and a crash
/// loses little work.
const BATCH: usize = 64;

/// What a retention run did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EvictionSummary {
    /// The evicted sessions, in order.
    pub drops: Vec<PlannedEviction>,
    pub bytes: u64,
    /// Sessions whose digests were made because room was needed.
    pub analyzed: Vec<String>,
    /// `true` once all evicted text is off the disk. If `false`, the next writer removes it.
    pub is_finished: bool,
}

impl EvictionSummary {
    /// Returns the sessions that were evicted without a digest.
    pub fn lost(&self) -> impl Iterator<Item = &PlannedEviction> {
        self.drops.iter().filter(|drop| drop.reason == EvictionReason::Overflow)
    }

    /// Returns what was done and why, for the journal.
    pub fn sentence(&self) -> String {
        let sessions = count_noun(self.drops.len() as u64, "session");
        let bytes = count_noun(self.bytes, "byte");
        match self.drops.as_slice() {
            [] => format!("evicted {bytes} of raw text of {sessions}"),
            drops => format!(
                "evicted {bytes} of raw text of {sessions} ({})",
                reasons_in_words(drops)
            ),
        }
    }
}

/// A session to evict, with the digest that was just made for it.
type PreparedEviction<'p> = (&'p PlannedEviction, Option<(Digest, SessionGrowth)>);

/// Evicts the planned sessions that have not changed since. Returns the sessions for which no digest could be made.
pub fn apply_plan(
    store: &mut Store,
    patience: LockWait<'_>,
    plan: &EvictionPlan,
    retention: &Retention<'_>,
    command: &EvictionCommand<'_>,
    done: &mut EvictionSummary,
) -> Result<Vec<String>, StoreError> {
    let mut failed = Vec::new();
    let (lost, safe): (Vec<&PlannedEviction>, Vec<&PlannedEviction>) = plan
        .drops
        .iter()
        .partition(|drop| drop.reason == EvictionReason::Overflow);
    if !plan.drops.is_empty() {
        store.mark_scrub()?;
    }
    for drops in safe.chunks(BATCH) {
        let mut prepared: Vec<PreparedEviction<'_>> = Vec::new();
        for drop in drops {
            match make_missing_digest(store, drop, retention)? {
                Ok(made) => prepared.push((drop, made)),
                Err(()) => failed.push(drop.session_uid.clone()),
            }
        }
        let lock = store.lock(patience)?;
        let mut packs = Vec::new();
        *done = store.write(&lock, retention.now(), command.name, |tx| {
            let mut done = done.clone();
            for (drop, made) in &prepared {
                evict_session(tx, drop, made.as_ref(), retention, &mut done, &mut packs)?;
            }
            let sentence = (command.sentence)(&done);
            Ok((done, sentence))
        })?;
        delete_packs(store, &packs);
    }
    // A data loss is recorded in its own journal entry, in the same transaction as the deletion.
    for drops in lost.chunks(BATCH) {
        let lock = store.lock(patience)?;
        let mut packs = Vec::new();
        *done = store.write_apart(&lock, retention.now(), DATA_LOSS, |tx| {
            let mut done = done.clone();
            let before = done.drops.len();
            for drop in drops {
                evict_session(tx, drop, None, retention, &mut done, &mut packs)?;
            }
            let sentence = describe_loss(&done.drops[before..]);
            Ok((done, sentence))
        })?;
        delete_packs(store, &packs);
    }
    Ok(failed)
}

/// Makes the digest of a session that has none. Returns `Err(())` inside `Ok` if the session is damaged or has no
/// content.
fn make_missing_digest(
    store: &Store,
    drop: &PlannedEviction,
    retention: &Retention<'_>,
) -> Result<Result<Option<(Digest, SessionGrowth)>, ()>, StoreError> {
    if !drop.needs_digest {
        return Ok(Ok(None));
    }
    match digest::compute_digest(store, &drop.session_uid, &retention.digests) {
        Ok(Some(made)) => Ok(Ok(Some(made))),
        Ok(None) | Err(StoreError::DamagedRow { .. } | StoreError::DamagedFrame { .. }) => Ok(Err(())),
        Err(error) => Err(error),
    }
}

/// Evicts one session unless it was kept, or has grown, since the plan was made.
fn evict_session(
    tx: &Tx<'_>,
    drop: &PlannedEviction,
    made: Option<&(Digest, SessionGrowth)>,
    retention: &Retention<'_>,
    done: &mut EvictionSummary,
    packs: &mut Vec<String>,
) -> Result<(), StoreError> {
    let (uid, now) = (drop.session_uid.as_str(), retention.now());
    let reads = tx.reads();
    if reads.is_kept(uid)? {
        return Ok(());
    }
    if let Some((digest, growth)) = made {
        let is_put = tx.put_digest(digest, digest::VERSION, now, growth)?;
        done.analyzed.extend(is_put.then(|| uid.to_owned()));
    }
    let is_safe = drop.reason == EvictionReason::Overflow || reads.is_analyzed(uid)?;
    if !is_safe || !tx.mark_evicting(uid, drop.ingested_at, now, drop.reason.as_str())? {
        return Ok(());
    }
    packs.extend(evict_rows(tx, uid)?);
    done.bytes += drop.bytes;
    done.drops.push(drop.clone());
    Ok(())
}

/// Deletes all raw text of a session from the rows, except what its digest shows. Returns its packs, which can now be
/// deleted.
pub(super) fn evict_rows(tx: &Tx<'_>, uid: &str) -> Result<Vec<String>, StoreError> {
    let reads = tx.reads();
    let mut packs = reads.packs_of(uid)?;
    for stand_in in reads.stand_ins_of(uid)? {
        packs.extend(reads.packs_of(&stand_in)?);
    }
    tx.drop_stand_ins_of(uid)?;
    tx.seal_digest(uid)?;
    let digest = reads.digest_of(uid)?.map(|row| row.digest);
    let prompt = digest.as_ref().and_then(|digest| digest.first_prompt.as_ref());
    let prompt = prompt.map_or("", |prompt| prompt.text.as_str());
    tx.drop_frames(uid)?;
    tx.drop_prompts(uid)?;
    if let Some(session) = reads.view(uid).ok().flatten() {
        tx.evict_derived(uid, &reduce_to_digest(session, digest.as_ref()), prompt)?;
    } else {
        tx.clear_derived(uid)?;
    }
    Ok(packs)
}

/// Reduces a session to what its digest contains.
fn reduce_to_digest(session: Session, digest: Option<&Digest>) -> Session {
    let mut lineage = session.lineage;
    for link in &mut lineage {
        (link.label, link.call_id) = (None, None);
    }
    Session {
        title: digest.and_then(|digest| digest.title.clone()),
        task_ref: digest.and_then(|digest| digest.task_ref.clone()),
        entrypoint: None,
        lineage,
        ..session
    }
}

/// Describes a data loss for the journal.
fn describe_loss(drops: &[PlannedEviction]) -> String {
    let bytes = drops.iter().map(|drop| drop.bytes).sum();
    let uids: Vec<&str> = drops.iter().map(|drop| drop.session_uid.as_str()).collect();
    format!(
        "lost {} of {} without a digest, because of the hard cap: {}",
        count_noun(bytes, "byte"),
        count_noun(drops.len() as u64, "session"),
        uids.join(", ")
    )
}

/// Deletes packs that no row names any more. If this fails, the pack is an orphan, and the next attempt deletes it.
pub(super) fn delete_packs(store: &Store, packs: &[String]) {
    for pack in packs {
        store.packs().remove(pack);
    }
}

/// Completes evictions that this process, or one that crashed, has begun: deletes packs without rows, rewrites the
/// database so that its free pages lose the text, and then records the eviction as complete. Sets `done.is_finished`
/// if this succeeded. It does not if a reader holds the database or the disk is full, and then the next writer tries
/// again.
pub fn finish_evictions(
    store: &mut Store,
    patience: LockWait<'_>,
    now: jiff::Timestamp,
    command: &EvictionCommand<'_>,
    done: &mut EvictionSummary,
) -> Result<(), StoreError> {
    if store.reads().unfinished_evictions()? == 0 && !store.is_scrub_due() {
        done.is_finished = true;
        return Ok(());
    }
    let lock = store.lock(patience)?;
    delete_orphaned_packs(store, &lock)?;
    match store.scrub(&lock) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(error) if error.failure_cause() == Some(FailureCause::DiskFull) => return Ok(()),
        Err(error) => return Err(error),
    }
    if store.reads().unfinished_evictions()? > 0 {
        store.write(&lock, now, command.name, |tx| {
            tx.end_evictions()?;
            Ok(((), (command.sentence)(done)))
        })?;
        store.empty_log(&lock)?;
    }
    store.unmark_scrub()?;
    done.is_finished = true;
    Ok(())
}

/// Deletes packs that contain no frame.
pub(crate) fn delete_orphaned_packs(store: &Store, _lock: &WriteLock) -> Result<(), StoreError> {
    let used = store.reads().packs_in_use()?;
    let used: HashSet<&str> = used.iter().map(|(pack, _)| pack.as_str()).collect();
    let orphans: Vec<String> = packs::list_packs(&store.packs())
        .into_iter()
        .filter(|pack| !used.contains(pack.as_str()))
        .collect();
    delete_packs(store, &orphans);
    Ok(())
}
