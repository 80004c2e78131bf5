//! How our own store fares: whether its database is whole, every kept frame still is what was written, and the
//! rows fit together. And what can be given back of what is damaged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::breaks;
use crate::packs;
use crate::store::{Patience, Place, Reads, Store, StoreError};

/// How the store fares.
#[derive(Debug, Default)]
pub struct StoreHealth {
    pub place: Option<Place>,
    pub directory: PathBuf,
    /// Whether there is a store at all.
    pub is_there: bool,
    pub sessions: u64,
    /// Kept bytes that were unpacked and compared with their checksums.
    pub bytes_checked: u64,
    /// What is wrong with the database's file, in its own words.
    pub database: Vec<String>,
    /// What is wrong with what is kept of sessions.
    pub damages: Vec<Damage>,
}

/// One thing that is wrong with what is kept of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub session_uid: String,
    /// What is wrong, with its place.
    pub what: String,
    pub kind: DamageKind,
}

/// What can be done about a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// Kept lines are lost, unless the agent still has the log.
    Lines,
    /// Rows that are made again of the lines.
    Rows,
}

impl StoreHealth {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.database.is_empty() && self.damages.is_empty()
    }
}

/// Reads all that is kept. A damaged database is an answer here, and no error.
pub fn examine_store(place: &Place, progress: &dyn Fn(u64, u64)) -> Result<StoreHealth, StoreError> {
    let mut health = StoreHealth {
        place: Some(place.clone()),
        directory: place.to_path_buf(),
        ..StoreHealth::default()
    };
    match look(place, &mut health, progress) {
        Err(StoreError::Database(error)) => health.database.push(error.to_string()),
        looked => looked?,
    }
    Ok(health)
}

fn look(place: &Place, health: &mut StoreHealth, progress: &dyn Fn(u64, u64)) -> Result<(), StoreError> {
    let Some(store) = Store::open_existing(place)? else {
        return Ok(());
    };
    health.is_there = true;
    health.database = store.reads().check()?;
    let sessions = store.reads().sessions()?;
    health.sessions = sessions.len() as u64;
    for (at, session) in sessions.iter().enumerate() {
        let uid = session.session_uid.as_str();
        for part in store.reads().parts(uid)? {
            look_at_part(&store, uid, &part, health)?;
        }
        if let Err(error) = look_at_rows(&store.reads(), uid) {
            health.add(uid, &error, DamageKind::Rows)?;
        }
        progress(at as u64 + 1, health.sessions);
    }
    Ok(())
}

/// Frames have to be what was written, hold as many lines as they say, and follow one another; then comes the tail.
fn look_at_part(store: &Store, uid: &str, part: &str, health: &mut StoreHealth) -> Result<(), StoreError> {
    let mut next_line = 1;
    // Each frame for itself: behind a damaged one the others are whole.
    for frame in store.reads().frames(uid, part)? {
        let read = packs::read(&store.packs(), &frame);
        let lines = read.as_ref().map_or(frame.lines, |bytes| {
            health.bytes_checked += bytes.len() as u64;
            breaks::count(bytes)
        });
        let reason = match read {
            Err(error) => Some(error.to_string()),
            // A line whose end came later leaves its break to the next frame.
            Ok(_) if lines.abs_diff(frame.lines) > 1 => Some(format!("{lines} lines instead of {}", frame.lines)),
            Ok(_) if frame.first_line != next_line => Some(format!("it begins at line {}", frame.first_line)),
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
            health.add(uid, &error, DamageKind::Lines)?;
        }
    }
    match store.reads().tail(uid, part) {
        Ok(tail) => {
            health.bytes_checked += tail.map_or(0, |tail| tail.bytes.len() as u64);
            Ok(())
        }
        Err(error) => health.add(uid, &error, DamageKind::Lines),
    }
}

/// Pages and states have to be readable.
fn look_at_rows(reads: &Reads<'_>, uid: &str) -> Result<(), StoreError> {
    reads.events(uid)?;
    reads.reader_state(uid)?;
    Ok(())
}

impl StoreHealth {
    /// Notes a damage; an error of the database itself goes on as one.
    fn add(&mut self, uid: &str, error: &StoreError, kind: DamageKind) -> Result<(), StoreError> {
        self.damages.push(Damage {
            session_uid: uid.to_owned(),
            what: error.to_string(),
            kind,
        });
        Ok(())
    }
}

/// Marks what is damaged, so that the next sweep reads it from its log, or makes its rows again. Says of which
/// sessions the log is gone: nobody can give those lines back.
pub fn mark_damaged(
    health: &StoreHealth,
    now: Timestamp,
    patience: Patience<'_>,
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
        "found {} damages: {} sessions to be read anew, {} without a log",
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
