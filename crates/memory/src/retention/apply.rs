//! A plan, applied: a real delete in two phases, which the next writer ends where a crash cut it off.
//!
//! First, in one transaction each, digests are sealed and rows lose their text; then packs are unlinked. Last the
//! database is written anew and its log is emptied, so that no page remembers what stood on it.

use std::collections::HashSet;

use transcript::Session;

use super::plan::{Drop, Plan, Reason, reasons_in_words};
use super::{Command, DATA_LOSS, Retention};
use crate::digest::{self, Digest};
use crate::packs;
use crate::plural::several;
use crate::store::{Growth, Lack, Patience, Store, StoreError, Tx, WriteLock};

/// So many sessions are let go at once: the lock is short, and a crash loses little work.
const BATCH: usize = 64;

/// What a retention run did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// What was let go, in order.
    pub drops: Vec<Drop>,
    pub bytes: u64,
    /// Sessions whose digests were made because room was needed.
    pub analyzed: Vec<String>,
    /// Whether all of it has left the disk for good; if not, the next writer sees to it.
    pub is_finished: bool,
}

impl Done {
    /// What was dropped without a digest.
    pub fn lost(&self) -> impl Iterator<Item = &Drop> {
        self.drops.iter().filter(|drop| drop.reason == Reason::Overflow)
    }

    /// Returns what was done and why, for the journal.
    pub fn sentence(&self) -> String {
        let sessions = several(self.drops.len() as u64, "session");
        let bytes = several(self.bytes, "byte");
        match self.drops.as_slice() {
            [] => format!("evicted {bytes} of raw text of {sessions}"),
            drops => format!(
                "evicted {bytes} of raw text of {sessions} ({})",
                reasons_in_words(drops)
            ),
        }
    }
}

/// A session that goes, with the digest that was made for it just now.
type Prepared<'p> = (&'p Drop, Option<(Digest, Growth)>);

/// Drops what the plan says and is still so. Gives the sessions of which no digest can be made.
pub fn apply(
    store: &mut Store,
    patience: Patience<'_>,
    plan: &Plan,
    retention: &Retention<'_>,
    command: &Command<'_>,
    done: &mut Done,
) -> Result<Vec<String>, StoreError> {
    let mut failed = Vec::new();
    let (lost, safe): (Vec<&Drop>, Vec<&Drop>) = plan.drops.iter().partition(|drop| drop.reason == Reason::Overflow);
    if !plan.drops.is_empty() {
        store.mark_scrub()?;
    }
    for drops in safe.chunks(BATCH) {
        let mut prepared: Vec<Prepared<'_>> = Vec::new();
        for drop in drops {
            match prepare(store, drop, retention)? {
                Ok(made) => prepared.push((drop, made)),
                Err(()) => failed.push(drop.session_uid.clone()),
            }
        }
        let lock = store.lock(patience)?;
        let mut packs = Vec::new();
        *done = store.write(&lock, retention.now(), command.name, |tx| {
            let mut done = done.clone();
            for (drop, made) in &prepared {
                let_go(tx, drop, made.as_ref(), retention, &mut done, &mut packs)?;
            }
            let told = (command.sentence)(&done);
            Ok((done, told))
        })?;
        unlink(store, &packs);
    }
    // A loss has a sentence of its own, in the very transaction that loses.
    for drops in lost.chunks(BATCH) {
        let lock = store.lock(patience)?;
        let mut packs = Vec::new();
        *done = store.write_apart(&lock, retention.now(), DATA_LOSS, |tx| {
            let mut done = done.clone();
            let before = done.drops.len();
            for drop in drops {
                let_go(tx, drop, None, retention, &mut done, &mut packs)?;
            }
            let told = loss(&done.drops[before..]);
            Ok((done, told))
        })?;
        unlink(store, &packs);
    }
    Ok(failed)
}

/// Makes the digest of a session that has none. What is damaged cannot have one, and tells nothing more.
fn prepare(
    store: &Store,
    drop: &Drop,
    retention: &Retention<'_>,
) -> Result<Result<Option<(Digest, Growth)>, ()>, StoreError> {
    if !drop.needs_digest {
        return Ok(Ok(None));
    }
    match digest::make(store, &drop.session_uid, &retention.digests) {
        Ok(Some(made)) => Ok(Ok(Some(made))),
        Ok(None) | Err(StoreError::DamagedRow { .. } | StoreError::DamagedFrame { .. }) => Ok(Err(())),
        Err(error) => Err(error),
    }
}

/// Lets one session go, if the plan still fits it.
fn let_go(
    tx: &Tx<'_>,
    drop: &Drop,
    made: Option<&(Digest, Growth)>,
    retention: &Retention<'_>,
    done: &mut Done,
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
    let is_safe = drop.reason == Reason::Overflow || reads.is_analyzed(uid)?;
    if !is_safe || !tx.mark_evicting(uid, drop.ingested_at, now, drop.reason.as_str())? {
        return Ok(());
    }
    packs.extend(let_go_rows(tx, uid)?);
    done.bytes += drop.bytes;
    done.drops.push(drop.clone());
    Ok(())
}

/// Takes all raw text of a session out of the rows, but for what its digest prints. Gives its packs, which can go.
pub(super) fn let_go_rows(tx: &Tx<'_>, uid: &str) -> Result<Vec<String>, StoreError> {
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
        tx.let_go_derived(uid, &told_by(session, digest.as_ref()), prompt)?;
    } else {
        tx.clear_derived(uid)?;
    }
    Ok(packs)
}

/// A session as far as its digest tells it.
fn told_by(session: Session, digest: Option<&Digest>) -> Session {
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

/// What was lost, for the journal.
fn loss(drops: &[Drop]) -> String {
    let bytes = drops.iter().map(|drop| drop.bytes).sum();
    let uids: Vec<&str> = drops.iter().map(|drop| drop.session_uid.as_str()).collect();
    format!(
        "lost {} of {} that had no digest, over the hard cap: {}",
        several(bytes, "byte"),
        several(drops.len() as u64, "session"),
        uids.join(", ")
    )
}

/// Rows that name a pack are gone: what cannot be unlinked now is an orphan, and goes with the next try.
pub(super) fn unlink(store: &Store, packs: &[String]) {
    for pack in packs {
        store.packs().remove(pack);
    }
}

/// Ends what was begun, by this process or by one that died: packs without rows go, the database forgets what stood on
/// its pages, and then what was let go is noted as gone. Says whether it could be ended; where a reader is in the way or
/// there is no room, the next writer tries again.
pub fn finish(
    store: &mut Store,
    patience: Patience<'_>,
    now: jiff::Timestamp,
    command: &Command<'_>,
    done: &mut Done,
) -> Result<(), StoreError> {
    if store.reads().unfinished_evictions()? == 0 && !store.is_scrub_due() {
        done.is_finished = true;
        return Ok(());
    }
    let lock = store.lock(patience)?;
    drop_orphans(store, &lock)?;
    match store.scrub(&lock) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(error) if error.lack() == Some(Lack::Room) => return Ok(()),
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

/// Takes away packs that no frame lies in.
pub(crate) fn drop_orphans(store: &Store, _lock: &WriteLock) -> Result<(), StoreError> {
    let used = store.reads().packs_in_use()?;
    let used: HashSet<&str> = used.iter().map(|(pack, _)| pack.as_str()).collect();
    let orphans: Vec<String> = packs::list(&store.packs())
        .into_iter()
        .filter(|pack| !used.contains(pack.as_str()))
        .collect();
    unlink(store, &orphans);
    Ok(())
}
