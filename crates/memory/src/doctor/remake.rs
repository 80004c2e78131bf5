//! Replaces a damaged database with a new one, built from the rows that can still be read and from the frames in
//! packs. The result names what was lost. The next sweep reads the rest from the logs that still exist.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;

use super::adopt::{Adopted, adopt};
use crate::store::{LockWait, Store, StoreError, StoreLocation, WriteLock, make_private};

/// What a new database was built from.
#[derive(Debug, Default)]
pub struct RebuiltDatabase {
    /// Rows that could be read.
    pub rows: u64,
    /// Tables with rows that could not be read.
    pub tables: BTreeSet<&'static str>,
    /// Sessions whose lines were recovered from packs.
    pub found: BTreeSet<String>,
    /// Packs without a known owner, by their new path.
    pub nameless: Vec<PathBuf>,
    /// The new path of the damaged file.
    pub aside: Option<PathBuf>,
}

/// Builds a new database. The next sweep, or a rebuild, derives the rows that follow from lines.
pub fn rebuild_database(
    place: &StoreLocation,
    now: Timestamp,
    patience: LockWait<'_>,
) -> Result<RebuiltDatabase, StoreError> {
    make_private(place)?;
    let lock = WriteLock::of_directory(place, patience)?;
    let (mut store, salvaged) = Store::salvage(place, &lock, now)?;
    let Adopted { sessions, ownerless } = adopt(&mut store, &lock, now)?;
    let mut remade = RebuiltDatabase {
        rows: salvaged.rows,
        tables: salvaged.lost,
        found: sessions,
        ..RebuiltDatabase::default()
    };
    restore_evictions(&mut store, &lock, now, &salvaged.restored)?;
    for pack in ownerless {
        remade.nameless.push(store.quarantine_pack(&pack)?);
    }
    remade.aside = store.replace_database(&lock)?;
    Ok(remade)
}

/// Restores what is still known about sessions whose own row is lost: a sealed digest means that the raw text was
/// evicted. Also marks the rows that follow from lines as stale.
fn restore_evictions(
    store: &mut Store,
    lock: &WriteLock,
    now: Timestamp,
    restored: &BTreeSet<String>,
) -> Result<(), StoreError> {
    let mut evicted = Vec::new();
    for digest in store.reads().digests().unwrap_or_default() {
        if digest.is_sealed && restored.contains(digest.digest.session_uid.as_str()) {
            evicted.push(digest.digest.session_uid.to_string());
        }
    }
    let sessions = store.reads().sessions()?;
    store.write(lock, now, "doctor", |tx| {
        for uid in &evicted {
            tx.mark_forgotten(uid, now)?;
        }
        if !evicted.is_empty() {
            tx.end_evictions()?;
        }
        for session in sessions.iter().filter(|session| session.evicted_at.is_none()) {
            tx.mark_stale(&session.session_uid)?;
        }
        Ok(((), format!("recovered {} sessions", sessions.len())))
    })
}
