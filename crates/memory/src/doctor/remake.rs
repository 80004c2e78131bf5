//! A new database in the place of a damaged one: of the rows that can be read, and of the frames in packs. What is lost has a name
//! afterwards; what logs can give back is read by the next sweep.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;

use super::adopt::{Adopted, adopt};
use crate::store::{Patience, Place, Store, StoreError, WriteLock, make_private};

/// What a new database was made of.
#[derive(Debug, Default)]
pub struct Remade {
    /// Rows that could be read.
    pub rows: u64,
    /// Tables of which not all could be read.
    pub tables: BTreeSet<&'static str>,
    /// Sessions whose lines were found again in packs.
    pub found: BTreeSet<String>,
    /// Packs of which nobody knows whose they are, where they lie now.
    pub nameless: Vec<PathBuf>,
    /// Where the damaged file lies now.
    pub aside: Option<PathBuf>,
}

/// Makes a new database. The rows that follow from lines are made by the next sweep, or a rebuild.
pub fn remake_database(place: &Place, now: Timestamp, patience: Patience<'_>) -> Result<Remade, StoreError> {
    make_private(place)?;
    let lock = WriteLock::of_directory(place, patience)?;
    let (mut store, salvaged) = Store::salvage(place, &lock, now)?;
    let Adopted { sessions, nameless } = adopt(&mut store, &lock, now)?;
    let mut remade = Remade {
        rows: salvaged.rows,
        tables: salvaged.lost,
        found: sessions,
        ..Remade::default()
    };
    settle(&mut store, &lock, now, &salvaged.restored)?;
    for pack in nameless {
        remade.nameless.push(store.set_aside(&pack)?);
    }
    remade.aside = store.take_place(&lock)?;
    Ok(remade)
}

/// Says of sessions whose own row is lost what is still known: sealed digests are of raw text that was let go. And lets all rows be
/// made again that follow from lines.
fn settle(store: &mut Store, lock: &WriteLock, now: Timestamp, restored: &BTreeSet<String>) -> Result<(), StoreError> {
    let mut gone = Vec::new();
    for digest in store.reads().digests().unwrap_or_default() {
        if digest.is_sealed && restored.contains(digest.digest.session_uid.as_str()) {
            gone.push(digest.digest.session_uid.to_string());
        }
    }
    let sessions = store.reads().sessions()?;
    store.write(lock, now, "doctor", |tx| {
        for uid in &gone {
            tx.mark_forgotten(uid, now)?;
        }
        if !gone.is_empty() {
            tx.end_evictions()?;
        }
        for session in sessions.iter().filter(|session| session.evicted_at.is_none()) {
            tx.mark_stale(&session.session_uid)?;
        }
        Ok(((), format!("found {} sessions again", sessions.len())))
    })
}
