//! Digests: the facts of each session in small, made when it is quiet, before it is evicted, or when asked for.
//!
//! A digest is a pure function of a session's events, turns, calls and lines: see [`of`]. Its text comes from masked
//! rows and packs alone, and its size is bounded. Long sessions are read page by page.

mod bound;
mod fields;
mod fresh;
mod from_log;
mod lines;
mod make;
mod steps;
mod task;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use jiff::{SignedDuration, Timestamp};
use regex::Regex;
use transcript::{Call, Session, SessionEvent, Turn};

use self::lines::Wanted;
use self::make::Maker;
use crate::repos::{self, Repo};
use crate::store::{Fact, Patience, Place, Store, StoreError};

pub use fields::{
    CommandRuns, Commit, Digest, ErrorKind, Errors, FileEdits, HourTokens, Interventions, LastTest, ModelTokens,
    Snippet, Spent, TestRuns, TokensSpent, Told, ToolUse,
};
pub(crate) use fresh::{AtHand, name_repo};
pub use from_log::from_log;
pub use lines::Findings;
pub(crate) use lines::verdict;
pub(crate) use steps::{End, Ran, Step, Steps};

/// Of what digests say and how they are made. Those of another version are made again, as long as the packs are there.
pub const VERSION: u32 = 3;
/// A session is quiet when nothing happened for so long.
pub const QUIET: SignedDuration = SignedDuration::from_mins(10);
/// Maximum size of a digest as JSON, not counting its commits, which are all listed.
pub const BYTES_MAX: usize = 8 << 10;
/// So many digests are written at once.
const BATCH: usize = 64;
/// So many are worth threads and further connections.
const SHARED_FROM: usize = 32;

/// What the making of digests is told.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub now: Timestamp,
    /// How a task is written in branches, prompts and commits.
    pub task_pattern: &'a Regex,
}

/// What is known of a session beside its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub session: Session,
    pub turns: Vec<Turn>,
    pub calls: Vec<Call>,
    /// What its lines say that its events do not.
    pub findings: Findings,
    /// The repository it worked in, as the disk tells it.
    pub place: Option<Repo>,
    /// What hooks and wrapped commands told of it, oldest first.
    pub told: Vec<Fact>,
}

/// The digest of a session: a pure function of what is known of it.
pub fn of<'e>(facts: &Facts, events: impl IntoIterator<Item = &'e SessionEvent>, settings: &Settings<'_>) -> Digest {
    let mut maker = Maker::new(facts);
    for event in events {
        maker.take(event);
    }
    maker.end(settings.task_pattern)
}

/// Writes the digests of all sessions that are quiet and have none of this version since they last grew. Says of
/// which.
pub(crate) fn write_due(
    store: &mut Store,
    patience: Patience<'_>,
    command: &str,
    settings: &Settings<'_>,
    threads: usize,
    sentence: &dyn Fn(u64) -> String,
) -> Result<Vec<String>, StoreError> {
    let due = store.reads().digests_due(VERSION, settings.now - QUIET)?;
    let mut written = Vec::new();
    let mut write = |store: &mut Store, made: Vec<Made>| -> Result<(), StoreError> {
        let before = written.len() as u64;
        let put = put(store, patience, command, settings, &made, &|count| {
            sentence(before + count)
        })?;
        written.extend(put);
        Ok(())
    };
    if due.len() < SHARED_FROM {
        let make = |uid: &String| sound(make(store, uid, settings));
        let made: Result<Vec<_>, _> = due.iter().filter_map(make).collect();
        write(store, made?)?;
        return Ok(written);
    }
    let place = store.place().clone();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (give, take) = sync_channel(BATCH);
        for _ in 0..threads.max(1) {
            let give = give.clone();
            let (place, due, next) = (&place, &due, &next);
            scope.spawn(move || make_shared(place, due, next, settings, &give));
        }
        drop(give);
        loop {
            let made: Vec<Made> = take.iter().take(BATCH).collect::<Result<_, _>>()?;
            if made.is_empty() {
                return Ok::<(), StoreError>(());
            }
            write(store, made)?;
        }
    })?;
    written.sort_unstable();
    Ok(written)
}

/// A digest, and of how much of its session it is.
type Made = (Digest, crate::store::Growth);

/// Makes digests together with other threads, until all are made or nobody takes them any more. Each thread reads by itself.
fn make_shared(
    place: &Place,
    due: &[String],
    next: &AtomicUsize,
    settings: &Settings<'_>,
    give: &SyncSender<Result<Made, StoreError>>,
) {
    let store = match Store::open_existing(place.clone()) {
        Ok(Some(store)) => store,
        Ok(None) => return,
        Err(error) => {
            _ = give.send(Err(error));
            return;
        }
    };
    while let Some(uid) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
        let made = sound(make(&store, uid, settings));
        if made.is_some_and(|made| give.send(made).is_err()) {
            return;
        }
    }
}

/// What was made. What is damaged waits for its repair, and keeps nobody else waiting.
fn sound(made: Result<Option<Made>, StoreError>) -> Option<Result<Made, StoreError>> {
    match made {
        Err(StoreError::DamagedRow { .. } | StoreError::DamagedFrame { .. }) => None,
        made => made.transpose(),
    }
}

/// Writes digests, unless their sessions grew meanwhile. Says of which.
fn put(
    store: &mut Store,
    patience: Patience<'_>,
    command: &str,
    settings: &Settings<'_>,
    made: &[Made],
    sentence: &dyn Fn(u64) -> String,
) -> Result<Vec<String>, StoreError> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let lock = store.lock(patience)?;
    store.write(&lock, settings.now, command, |tx| {
        let mut put = Vec::new();
        for (digest, growth) in made {
            if tx.put_digest(digest, VERSION, settings.now, growth)? {
                put.push(digest.session_uid.clone());
            }
        }
        let told = sentence(put.len() as u64);
        Ok((put, told))
    })
}

/// Writes the digest of one session now, quiet or not, and gives it back: on demand, and before it is evicted. A digest
/// that is of this version and of all that was read is given back as it is, and so is one that is sealed. None where
/// the session is not known or nothing was made of its lines.
pub fn make_one(
    store: &mut Store,
    patience: Patience<'_>,
    command: &str,
    session_uid: &str,
    settings: &Settings<'_>,
) -> Result<Option<Digest>, StoreError> {
    if let Some(kept) = current(store, session_uid)? {
        return Ok(Some(kept));
    }
    let Some((digest, growth)) = make(store, session_uid, settings)? else {
        return Ok(None);
    };
    let lock = store.lock(patience)?;
    store.write(&lock, settings.now, command, |tx| {
        tx.put_digest(&digest, VERSION, settings.now, &growth)?;
        Ok(((), format!("wrote the digest of {session_uid}")))
    })?;
    Ok(Some(digest))
}

/// The kept digest of a session, where there is nothing newer to make one of.
pub fn current(store: &Store, session_uid: &str) -> Result<Option<Digest>, StoreError> {
    let Some(row) = store.reads().digest_of(session_uid)? else {
        return Ok(None);
    };
    let is_analyzed = store.reads().is_analyzed(session_uid)?;
    let is_current = row.is_sealed || (row.version == VERSION && is_analyzed);
    Ok(is_current.then_some(row.digest))
}

/// Makes the digest of a session, and says of how much of it. Writes nothing.
pub fn make(store: &Store, session_uid: &str, settings: &Settings<'_>) -> Result<Option<Made>, StoreError> {
    let reads = store.reads();
    let (Some(growth), Some(session)) = (reads.growth(session_uid)?, reads.view(session_uid)?) else {
        return Ok(None);
    };
    let mut wanted = Wanted::default();
    let mut steps = Steps::default();
    let mut ask = |step: Step<'_>| wanted.step(step);
    reads.each_event(session_uid, |event| steps.take(event, &mut ask))?;
    steps.end(&mut ask);
    let facts = Facts {
        turns: reads.turns(session_uid)?,
        calls: reads.calls_of(session_uid)?,
        findings: lines::look(store, session_uid, wanted)?,
        place: session.cwd.as_deref().and_then(|cwd| repos::of(Path::new(cwd))),
        told: reads.facts_of(session_uid)?,
        session,
    };
    let mut maker = Maker::new(&facts);
    reads.each_event(session_uid, |event| maker.take(event))?;
    Ok(Some((maker.end(settings.task_pattern), growth)))
}

/// A text on one line, cut after so many characters.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(2 * chars_max));
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        if chars + word.len() <= chars_max {
            line.push_str(word);
            chars += word.chars().count();
            continue;
        }
        for c in word.chars() {
            if chars >= chars_max {
                line.push('…');
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line
}
