//! Forgetting: deletes what a user wants gone, immediately and permanently, regardless of the budget. No sweep and no
//! history brings it back.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::apply::{delete_packs, evict_rows};
use super::{EvictionCommand, EvictionSummary, finish_evictions};
use crate::digest;
use crate::store::{LockWait, Reads, Store, StoreError, Tx};

/// How much of a session to forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgetScope {
    /// Its raw text. The digest and the numbers stay.
    Raw,
    /// Everything that is known about it.
    WithDigest,
}

/// What is stored of a session that is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SessionRemains {
    pub session_uid: String,
    /// Bytes of raw text.
    pub bytes: u64,
    pub has_digest: bool,
    /// Number of prompts from the agents' histories.
    pub prompts: u64,
}

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgetSummary {
    pub sessions: u64,
    pub bytes: u64,
    /// `true` once all of it is off the disk. If `false`, the next writer removes it.
    pub is_finished: bool,
}

/// Returns what is stored of the given sessions and of their subagents.
pub fn list_remains(reads: &Reads<'_>, uids: &[String]) -> Result<Vec<SessionRemains>, StoreError> {
    let mut all: Vec<String> = uids.to_vec();
    for session in reads.sessions()? {
        let parent = session.session_uid.split_once('/').map(|(parent, _)| parent);
        if parent.is_some_and(|parent| uids.iter().any(|uid| uid == parent)) {
            all.push(session.session_uid);
        }
    }
    all.sort();
    all.dedup();
    let of = |session_uid: String| {
        Ok(SessionRemains {
            bytes: reads.raw_bytes_of(&session_uid)?,
            has_digest: reads.digest_of(&session_uid)?.is_some(),
            prompts: reads.prompt_count(&session_uid)?,
            session_uid,
        })
    };
    all.into_iter().map(of).collect()
}

/// Forgets sessions and adds tombstones, so that they stay forgotten.
pub fn forget_sessions(
    store: &mut Store,
    patience: LockWait<'_>,
    remains: &[SessionRemains],
    reach: ForgetScope,
    digests: &digest::DigestSettings<'_>,
    command: &str,
) -> Result<ForgetSummary, StoreError> {
    let forgotten = ForgetSummary {
        sessions: remains.len() as u64,
        bytes: remains.iter().map(|one| one.bytes).sum(),
        is_finished: false,
    };
    if remains.is_empty() {
        return Ok(forgotten);
    }
    store.mark_scrub()?;
    let mut packs = Vec::new();
    let sentence = describe_forgetting(remains, reach);
    let lock = store.lock(patience)?;
    // Nothing is dropped before its digest exists, unless the digest is dropped, too, or none can be made.
    let mut made = Vec::new();
    for one in remains.iter().filter(|one| reach == ForgetScope::Raw && one.bytes > 0) {
        made.extend(digest::compute_digest(store, &one.session_uid, digests).ok().flatten());
    }
    store.write(&lock, digests.now, command, |tx| {
        for (digest, growth) in &made {
            tx.put_digest(digest, digest::VERSION, digests.now, growth)?;
        }
        for one in remains {
            let uid = one.session_uid.as_str();
            tx.add_tombstone(uid, digests.now)?;
            packs.extend(evict_rows(tx, uid)?);
            tx.mark_forgotten(uid, digests.now)?;
            if reach == ForgetScope::WithDigest {
                drop_session_rows(tx, uid)?;
            }
        }
        Ok(((), sentence.clone()))
    })?;
    delete_packs(store, &packs);
    drop(lock);
    let command = EvictionCommand {
        name: command,
        sentence: &|_| sentence.clone(),
    };
    let mut done = EvictionSummary::default();
    finish_evictions(store, patience, digests.now, &command, &mut done)?;
    Ok(ForgetSummary {
        is_finished: done.is_finished,
        ..forgotten
    })
}

/// Forgets sessions on a server completely, because they were forgotten in the store that pushed them.
pub(crate) fn forget_on_server(
    store: &mut Store,
    patience: LockWait<'_>,
    uids: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    let lock = store.lock(patience)?;
    let mut packs = Vec::new();
    store.write_apart(&lock, now, "hub", |tx| {
        for uid in uids {
            tx.add_tombstone(uid, now)?;
            packs.extend(evict_rows(tx, uid)?);
            drop_session_rows(tx, uid)?;
        }
        let uids = uids.join(", ");
        Ok(((), format!("forgot all of {uids}, as the machine that pushed them did")))
    })?;
    delete_packs(store, &packs);
    store.scrub(&lock)?;
    Ok(())
}

/// Deletes the remaining rows of a session whose raw text is gone.
fn drop_session_rows(tx: &Tx<'_>, uid: &str) -> Result<(), StoreError> {
    tx.drop_session(uid)?;
    tx.drop_annotations(uid)?;
    tx.drop_facts(uid)?;
    tx.drop_decisions(uid)?;
    tx.drop_keep(uid)?;
    Ok(())
}

fn describe_forgetting(remains: &[SessionRemains], reach: ForgetScope) -> String {
    let uids: Vec<&str> = remains.iter().map(|one| one.session_uid.as_str()).collect();
    let what = match reach {
        ForgetScope::Raw => "forgot the raw text of",
        ForgetScope::WithDigest => "forgot all of",
    };
    format!("{what} {}", uids.join(", "))
}
