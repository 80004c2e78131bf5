//! Health of our own store: whether its database is intact, every stored frame has its original bytes, and the rows
//! are consistent. Also marks what can be repaired.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use transcript::{Agent, PartKind};

use super::again::RowChecker;
use crate::breaks;
use crate::packs;
use crate::store::{LockWait, Reads, SessionRow, Store, StoreError, StoreLocation};

/// Health of the store.
#[derive(Debug, Default)]
pub struct StoreHealth {
    pub place: Option<StoreLocation>,
    pub directory: PathBuf,
    /// Whether a store exists at all.
    pub is_there: bool,
    pub sessions: u64,
    /// Stored bytes that were decompressed and compared with their checksums.
    pub bytes_checked: u64,
    /// Errors in the database file, as the database reports them.
    pub database: Vec<String>,
    /// Damage in the data of sessions.
    pub damages: Vec<Damage>,
}

/// One damaged item of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub session_uid: String,
    /// Describes the damage and where it is.
    pub what: String,
    pub kind: DamageKind,
}

/// How damage can be repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// Stored lines are lost unless the agent still has the log.
    Lines,
    /// Rows that can be derived from the lines again.
    Rows,
}

impl StoreHealth {
    /// Returns `true` if no damage was found.
    pub fn is_sound(&self) -> bool {
        self.database.is_empty() && self.damages.is_empty()
    }
}

/// Checks everything that is stored. A damaged database is a result here, not an error.
pub fn examine_store(place: &StoreLocation, progress: &dyn Fn(u64, u64)) -> Result<StoreHealth, StoreError> {
    let mut health = StoreHealth {
        place: Some(place.clone()),
        directory: place.to_path_buf(),
        ..StoreHealth::default()
    };
    match check_store(place, &mut health, progress) {
        // A store that cannot be opened or read right now may still be intact.
        Err(error) if error.failure_cause().is_some() => return Err(error),
        Err(StoreError::Database(error)) => health.database.push(error.to_string()),
        Err(error @ (StoreError::Headless | StoreError::Unknown { .. } | StoreError::DamagedRow { .. })) => {
            health.database.push(error.to_string());
        }
        result => result?,
    }
    Ok(health)
}

fn check_store(place: &StoreLocation, health: &mut StoreHealth, progress: &dyn Fn(u64, u64)) -> Result<(), StoreError> {
    let Some(store) = Store::open_existing(place)? else {
        return Ok(());
    };
    health.is_there = true;
    health.database = store.reads().check()?;
    let sessions = store.reads().sessions()?;
    health.sessions = sessions.len() as u64;
    let stale = stale_sessions(&store.reads())?;
    let mut checker = RowChecker::new()?;
    for (at, session) in sessions.iter().enumerate() {
        check_session(
            &store,
            session,
            stale.contains(&session.session_uid),
            &mut checker,
            health,
        )?;
        progress(at as u64 + 1, health.sessions);
    }
    check_other_tables(&store.reads(), health);
    Ok(())
}

/// Returns the sessions whose rows were derived by older rules. They differ from what we would derive now, and a
/// sweep derives them again.
fn stale_sessions(reads: &Reads<'_>) -> Result<HashSet<String>, StoreError> {
    let mut stale = HashSet::new();
    for agent in Agent::ALL {
        stale.extend(reads.sessions_derived_by_others(agent)?);
    }
    Ok(stale)
}

fn check_session(
    store: &Store,
    session: &SessionRow,
    is_stale: bool,
    checker: &mut RowChecker,
    health: &mut StoreHealth,
) -> Result<(), StoreError> {
    let uid = session.session_uid.as_str();
    let before = health.damages.len();
    for part in store.reads().parts(uid)? {
        check_part(store, uid, &part, health)?;
    }
    if session.evicted_at.is_none() {
        check_line_counts(&store.reads(), uid, health)?;
    }
    if let Err(error) = check_rows(&store.reads(), uid) {
        health.add_damage(uid, &error.to_string(), DamageKind::Rows);
    }
    // Rows are compared with the lines only if both can be read.
    let is_sound = health.damages.len() == before;
    if !is_sound || is_stale || session.evicted_at.is_some() {
        return Ok(());
    }
    let message = match checker.find_difference(store, uid) {
        Ok(None) => return Ok(()),
        Ok(Some(difference)) => format!("{uid}: {difference}"),
        Err(error) => error.to_string(),
    };
    health.add_damage(uid, &message, DamageKind::Rows);
    Ok(())
}

/// Checks that each part has as many lines in the store as its cursor says were read.
fn check_line_counts(reads: &Reads<'_>, uid: &str, health: &mut StoreHealth) -> Result<(), StoreError> {
    for cursor in reads.cursors_of(uid)?.iter().filter(|cursor| !cursor.marks_copy()) {
        if !PartKind::of_name(&cursor.part).is_some_and(PartKind::has_lines) {
            continue;
        }
        let last = reads.frames(uid, &cursor.part)?.pop();
        let frames_end = last.map_or(0, |frame| frame.first_line + frame.lines - 1);
        // Damage in the tail was already reported.
        let Ok(tail) = reads.tail(uid, &cursor.part) else {
            continue;
        };
        let end = tail.map_or(frames_end, |tail| tail.first_line + tail.lines - 1);
        if end != cursor.lines {
            let what = format!(
                "part `{}` of {uid} is stored up to line {end} of {}",
                cursor.part, cursor.lines
            );
            health.add_damage(uid, &what, DamageKind::Lines);
        }
    }
    Ok(())
}

/// Checks that rows which belong to no session can be read and are valid text.
fn check_other_tables(reads: &Reads<'_>, health: &mut StoreHealth) {
    match reads.unreadable() {
        Ok(tables) => health.database.extend(
            tables
                .iter()
                .map(|table| format!("a row of `{table}` is not valid text")),
        ),
        Err(error) => health.database.push(error.to_string()),
    }
}

/// Checks that the frames of a part have their original bytes, contain as many lines as their rows say, and are
/// consecutive, and that the tail can be read.
fn check_part(store: &Store, uid: &str, part: &str, health: &mut StoreHealth) -> Result<(), StoreError> {
    let mut next_line = 1;
    // Each frame is checked on its own because a damaged frame does not affect those after it.
    for frame in store.reads().frames(uid, part)? {
        let read = packs::read_frame(&store.packs(), &frame);
        let lines = read.as_ref().map_or(frame.lines, |bytes| {
            health.bytes_checked += bytes.len() as u64;
            breaks::count(bytes)
        });
        let reason = match read {
            Err(error) => Some(error.to_string()),
            // If the end of a line arrived later, its line break is in the next frame.
            Ok(_) if lines.abs_diff(frame.lines) > 1 => Some(format!("{lines} lines instead of {}", frame.lines)),
            Ok(_) if frame.first_line != next_line => Some(format!("it starts at line {}", frame.first_line)),
            // The name of a pack is a hash of its owner.
            Ok(_) if packs::pack_name(uid, part, packs::parse_generation(&frame.pack)) != frame.pack => {
                Some("its pack belongs to another part".to_owned())
            }
            Ok(_) => None,
        };
        next_line = frame.first_line + frame.lines;
        if let Some(reason) = reason {
            let error = StoreError::DamagedFrame {
                session_uid: uid.to_owned(),
                part: part.to_owned(),
                frame_no: frame.frame_no,
                reason,
            };
            health.add_damage(uid, &error.to_string(), DamageKind::Lines);
        }
    }
    match store.reads().tail(uid, part) {
        Ok(tail) => {
            health.bytes_checked += tail.map_or(0, |tail| tail.bytes.len() as u64);
            Ok(())
        }
        Err(error) => {
            health.add_damage(uid, &error.to_string(), DamageKind::Lines);
            Ok(())
        }
    }
}

/// Checks that event pages, reader states and other rows can be parsed.
fn check_rows(reads: &Reads<'_>, uid: &str) -> Result<(), StoreError> {
    reads.events(uid)?;
    reads.reader_state(uid)?;
    reads.view(uid)?;
    reads.turns(uid)?;
    reads.digest_of(uid)?;
    // Calls are stored twice: packed, for questions across all sessions, and as rows.
    let (mut rows, mut packed) = (reads.calls_of(uid)?, reads.session_calls(uid)?);
    rows.sort_by_key(|call| call.key);
    packed.sort_by_key(|call| call.key);
    if rows != packed {
        return Err(StoreError::DamagedRow {
            session_uid: uid.to_owned(),
            table: "packed_calls",
        });
    }
    Ok(())
}

impl StoreHealth {
    /// Records damage.
    fn add_damage(&mut self, uid: &str, what: &str, kind: DamageKind) {
        self.damages.push(Damage {
            session_uid: uid.to_owned(),
            what: what.to_owned(),
            kind,
        });
    }
}

/// Marks damaged sessions so that the next sweep reads them from their log or derives their rows again. Returns the
/// sessions whose log no longer exists: their damaged lines are lost.
pub fn mark_damaged(
    health: &StoreHealth,
    now: Timestamp,
    patience: LockWait<'_>,
) -> Result<BTreeSet<String>, StoreError> {
    let mut lost = BTreeSet::new();
    if health.damages.is_empty() {
        return Ok(lost);
    }
    let mut store = Store::open(health.place.as_ref().unwrap_or(&(&health.directory).into()))?;
    let lock = store.lock(patience)?;
    let (mut unread, mut stale) = (BTreeSet::new(), BTreeSet::new());
    for damage in &health.damages {
        let uid = damage.session_uid.as_str();
        match damage.kind {
            DamageKind::Rows => stale.insert(uid),
            DamageKind::Lines if Path::new(&store.reads().log_path(uid)?).is_file() => unread.insert(uid),
            DamageKind::Lines => lost.insert(uid.to_owned()),
        };
    }
    let sentence = format!(
        "found {} damaged items: {} sessions to be read again, {} without a log",
        health.damages.len(),
        unread.len(),
        lost.len()
    );
    store.write(&lock, now, "doctor", |tx| {
        for uid in &unread {
            tx.mark_unread(uid)?;
        }
        for uid in &stale {
            tx.mark_stale(uid)?;
        }
        Ok(((), sentence))
    })?;
    Ok(lost)
}
