//! How our own store fares: whether its database is whole, and every kept frame still is what was written.

use std::path::{Path, PathBuf};

use crate::packs;
use crate::store::{Store, StoreError};

/// How the store fares.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StoreHealth {
    pub directory: PathBuf,
    /// Whether there is a store at all.
    pub is_there: bool,
    pub sessions: u64,
    /// Kept bytes that were unpacked and compared with their checksums.
    pub bytes_checked: u64,
    /// What is wrong with the database's file, in its own words.
    pub database: Vec<String>,
    /// Frames that are damaged, by session and part.
    pub frames: Vec<String>,
}

impl StoreHealth {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.database.is_empty() && self.frames.is_empty()
    }
}

/// Reads all that is kept. A damaged database is an answer here, and no error.
pub fn examine_store(directory: &Path, progress: &dyn Fn(u64, u64)) -> Result<StoreHealth, StoreError> {
    let mut health = StoreHealth {
        directory: directory.to_owned(),
        ..StoreHealth::default()
    };
    match look(directory, &mut health, progress) {
        Err(StoreError::Database(error)) => health.database.push(error.to_string()),
        looked => looked?,
    }
    Ok(health)
}

fn look(directory: &Path, health: &mut StoreHealth, progress: &dyn Fn(u64, u64)) -> Result<(), StoreError> {
    let Some(store) = Store::open_existing(directory)? else {
        return Ok(());
    };
    health.is_there = true;
    health.database = store.reads().check()?;
    let sessions = store.reads().sessions()?;
    health.sessions = sessions.len() as u64;
    for (at, session) in sessions.iter().enumerate() {
        for part in store.reads().parts(&session.session_uid)? {
            // Each frame for itself: behind a damaged one the others are whole.
            for frame in store.reads().frames(&session.session_uid, &part)? {
                match packs::read(&store.packs(), &frame) {
                    Ok(bytes) => health.bytes_checked += bytes.len() as u64,
                    Err(error) => health.frames.push(
                        StoreError::DamagedFrame {
                            session_uid: session.session_uid.clone(),
                            part: part.clone(),
                            frame_no: frame.frame_no,
                            reason: error.to_string(),
                        }
                        .to_string(),
                    ),
                }
            }
            let tail = store.reads().tail(&session.session_uid, &part)?;
            health.bytes_checked += tail.map_or(0, |tail| tail.bytes.len() as u64);
        }
        progress(at as u64 + 1, health.sessions);
    }
    Ok(())
}
