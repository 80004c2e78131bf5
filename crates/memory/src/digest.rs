//! Digests: the facts of each session in a few kilobytes. A digest is made when its session is quiet, before it is
//! evicted, or on request.
//!
//! A digest is a pure function of a session's events, turns, calls and lines: see [`make_digest`]. Its text contains only masked
//! rows and frames, and its size is limited. Long sessions are read page by page.

mod bound;
mod fresh;
mod from_log;
mod lines;
mod make;
mod task;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use jiff::Timestamp;
use regex::Regex;
use transcript::{Call, Session, SessionEvent, Turn};

use self::lines::Wanted;
use self::make::DigestBuilder;
use crate::repos::{self, Repo};
use crate::store::{LockWait, SessionFact, Store, StoreError, StoreLocation};

use crate::steps::{Step, StepJoiner};

pub use crate::digest_fields::{
    CommandRuns, Digest, ErrorGroup, ErrorSummary, FileEdits, HourTokens, LastTest, ModelTokens, ReportedFact,
    SessionCommit, Snippet, TestRuns, TokenTotals, ToolUse,
};
pub use crate::effort::{Interventions, SessionTime};
pub use crate::findings::Findings;
pub use crate::outcome::QUIET;
pub(crate) use fresh::{InMemorySession, name_repo};
pub use from_log::from_log;
pub(crate) use lines::verdict;

/// The version of the fields and rules. Digests of another version are made again while the raw text exists.
pub const VERSION: u32 = 3;
/// Maximum size of a digest as JSON, not counting its commits, which are all listed.
pub const BYTES_MAX: usize = 8 << 10;
/// Number of digests written in one transaction.
const BATCH_DIGESTS: usize = 64;
/// If at least this many digests are due, several threads make them. For fewer, opening more connections takes longer.
const THREADED_MIN: usize = 32;

/// The inputs of a digest that do not depend on the session.
#[derive(Debug, Clone, Copy)]
pub struct DigestSettings<'a> {
    pub now: Timestamp,
    /// Matches a task reference in branches, prompts and commits.
    pub task_pattern: &'a Regex,
}

/// What is known about a session apart from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestFacts {
    pub session: Session,
    pub turns: Vec<Turn>,
    pub calls: Vec<Call>,
    /// Facts that are in the lines of the session but not in its events.
    pub findings: Findings,
    /// The repository of the session's directory, if that still exists on disk.
    pub place: Option<Repo>,
    /// What hooks and wrapped commands reported, oldest first.
    pub told: Vec<SessionFact>,
}

/// Returns the digest of a session. The result depends on nothing but the arguments.
pub fn make_digest<'e>(
    facts: &DigestFacts,
    events: impl IntoIterator<Item = &'e SessionEvent>,
    settings: &DigestSettings<'_>,
) -> Digest {
    let mut builder = DigestBuilder::new(facts);
    for event in events {
        builder.add_event(event);
    }
    builder.finish(settings.task_pattern)
}

/// Writes the digests of all quiet sessions that have grown since their last digest or have one of another version.
/// Returns their uids.
/// The digests are made without the write lock, so that other commands can write meanwhile.
pub(crate) fn write_due_digests(
    store: &mut Store,
    patience: LockWait<'_>,
    command: &str,
    settings: &DigestSettings<'_>,
    threads: usize,
    sentence: &dyn Fn(u64) -> String,
) -> Result<Vec<String>, StoreError> {
    let due = store.reads().digests_due(VERSION, settings.now - QUIET)?;
    let mut written = Vec::new();
    let mut write = |store: &mut Store, made: Vec<MadeDigest>| -> Result<(), StoreError> {
        let before = written.len() as u64;
        let uids = write_digests(store, patience, command, settings, &made, &|count| {
            sentence(before + count)
        })?;
        written.extend(uids);
        Ok(())
    };
    if due.len() < THREADED_MIN {
        let make = |uid: &String| skip_damaged(compute_digest(store, uid, settings));
        let made: Result<Vec<_>, _> = due.iter().filter_map(make).collect();
        write(store, made?)?;
        return Ok(written);
    }
    let place = store.place().clone();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCH_DIGESTS);
        for _ in 0..threads.max(1) {
            let sender = sender.clone();
            let (place, due, next) = (&place, &due, &next);
            scope.spawn(move || make_due_digests(place, due, next, settings, &sender));
        }
        drop(sender);
        loop {
            let made: Vec<MadeDigest> = receiver.iter().take(BATCH_DIGESTS).collect::<Result<_, _>>()?;
            if made.is_empty() {
                return Ok::<(), StoreError>(());
            }
            write(store, made)?;
        }
    })?;
    written.sort_unstable();
    Ok(written)
}

/// A digest, and the state of the session it was made from.
type MadeDigest = (Digest, crate::store::SessionGrowth);

/// Makes digests together with other threads until all are made or the receiver hangs up. Each thread has its own
/// connection.
fn make_due_digests(
    place: &StoreLocation,
    due: &[String],
    next: &AtomicUsize,
    settings: &DigestSettings<'_>,
    sender: &SyncSender<Result<MadeDigest, StoreError>>,
) {
    let store = match Store::open_existing(place.clone()) {
        Ok(Some(store)) => store,
        Ok(None) => return,
        Err(error) => {
            _ = sender.send(Err(error));
            return;
        }
    };
    while let Some(uid) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
        let made = skip_damaged(compute_digest(&store, uid, settings));
        if made.is_some_and(|made| sender.send(made).is_err()) {
            return;
        }
    }
}

/// Returns the digest, the error, or `None` if there is nothing to digest. A damaged session is skipped until it is
/// repaired, because it must not block the digests of all others.
fn skip_damaged(made: Result<Option<MadeDigest>, StoreError>) -> Option<Result<MadeDigest, StoreError>> {
    match made {
        Err(StoreError::DamagedRow { .. } | StoreError::DamagedFrame { .. }) => None,
        made => made.transpose(),
    }
}

/// Writes digests, except those of sessions that have grown meanwhile. Returns the uids of the written ones.
fn write_digests(
    store: &mut Store,
    patience: LockWait<'_>,
    command: &str,
    settings: &DigestSettings<'_>,
    made: &[MadeDigest],
    sentence: &dyn Fn(u64) -> String,
) -> Result<Vec<String>, StoreError> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let lock = store.lock(patience)?;
    store.write(&lock, settings.now, command, |tx| {
        let mut uids = Vec::new();
        for (digest, growth) in made {
            if tx.put_digest(digest, VERSION, settings.now, growth)? {
                uids.push(digest.session_uid.clone());
            }
        }
        let sentence = sentence(uids.len() as u64);
        Ok((uids, sentence))
    })
}

/// Writes the digest of one session now, even if the session is not quiet, and returns it. An existing digest is
/// returned unchanged if it is current or sealed. Returns `None` if the session is unknown or has no stored lines.
pub fn write_digest(
    store: &mut Store,
    patience: LockWait<'_>,
    command: &str,
    session_uid: &str,
    settings: &DigestSettings<'_>,
) -> Result<Option<Digest>, StoreError> {
    if let Some(kept) = current_digest(store, session_uid)? {
        return Ok(Some(kept));
    }
    let Some((digest, growth)) = compute_digest(store, session_uid, settings)? else {
        return Ok(None);
    };
    let lock = store.lock(patience)?;
    store.write(&lock, settings.now, command, |tx| {
        tx.put_digest(&digest, VERSION, settings.now, &growth)?;
        Ok(((), format!("wrote the digest of {session_uid}")))
    })?;
    Ok(Some(digest))
}

/// Returns the stored digest of a session if a new one would be the same, or if it is sealed because the raw text is
/// gone.
pub fn current_digest(store: &Store, session_uid: &str) -> Result<Option<Digest>, StoreError> {
    let Some(row) = store.reads().digest_of(session_uid)? else {
        return Ok(None);
    };
    let is_analyzed = store.reads().is_analyzed(session_uid)?;
    let is_current = row.is_sealed || (row.version == VERSION && is_analyzed);
    Ok(is_current.then_some(row.digest))
}

/// Makes the digest of a session. Returns it with the state of the session, and writes nothing.
pub fn compute_digest(
    store: &Store,
    session_uid: &str,
    settings: &DigestSettings<'_>,
) -> Result<Option<MadeDigest>, StoreError> {
    let reads = store.reads();
    let (Some(growth), Some(session)) = (reads.growth(session_uid)?, reads.view(session_uid)?) else {
        return Ok(None);
    };
    // Two passes over the events, because the first one finds out which lines of the packs the second one needs.
    let mut wanted = Wanted::default();
    let mut steps = StepJoiner::default();
    let mut ask = |step: Step<'_>| wanted.step(step);
    reads.each_event(session_uid, |event| steps.take(event, &mut ask))?;
    steps.end(&mut ask);
    let facts = DigestFacts {
        turns: reads.turns(session_uid)?,
        calls: reads.calls_of(session_uid)?,
        findings: lines::look(store, session_uid, wanted)?,
        place: session.cwd.as_deref().and_then(|cwd| repos::find_repo(Path::new(cwd))),
        told: reads.facts_of(session_uid)?,
        session,
    };
    let mut builder = DigestBuilder::new(&facts);
    reads.each_event(session_uid, |event| builder.add_event(event))?;
    Ok(Some((builder.finish(settings.task_pattern), growth)))
}
