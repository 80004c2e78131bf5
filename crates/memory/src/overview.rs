//! The store at a glance: how large it is, what is in it, and when it was last swept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::packs::Packs;
use crate::store::{Operation, Place, Status, Store, StoreError};

/// What a store holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub directory: PathBuf,
    /// What the packs take on disk, and the database with the files beside it.
    pub packs_bytes: u64,
    pub database_bytes: u64,
    /// Kept lines and what is made of them: what the caps of raw text are compared with.
    pub raw_bytes: u64,
    /// Digests, calls and the marks of turns.
    pub distilled_bytes: u64,
    /// By flavor.
    pub agents: BTreeMap<String, AgentShare>,
    /// When the first session began and the last one ended, in microseconds since 1970.
    pub oldest: Option<i64>,
    pub newest: Option<i64>,
    /// The last sweep that kept something.
    pub last_sweep: Option<Operation>,
}

/// What one agent has in it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct AgentShare {
    /// Sessions with a log that is or was on this machine, without subagents.
    pub sessions: u64,
    pub subagents: u64,
    /// Sessions of which only the agent's history of prompts is left; not counted above.
    pub prompts_only: u64,
    /// Of all of them, those whose raw text was let go.
    pub evicted: u64,
    /// What they take of the raw cache.
    pub raw_bytes: u64,
}

/// Looks at the store at `place`. None where there is none.
pub fn look(place: &Place) -> Result<Option<Overview>, StoreError> {
    let Some(store) = Store::open_existing(place)? else {
        return Ok(None);
    };
    let reads = store.reads();
    let mut agents: BTreeMap<String, AgentShare> = BTreeMap::new();
    let raw = reads.raw_bytes()?;
    // The same list as `boswell sessions --all` prints, so that both counts agree.
    for session in reads.listed()? {
        let share = agents.entry(session.flavor().to_owned()).or_default();
        share.raw_bytes += raw.get(&session.session_uid).copied().unwrap_or_default();
        share.evicted += u64::from(session.status == Status::Evicted);
        match (session.status, session.is_subagent) {
            (Status::PromptsOnly, _) => share.prompts_only += 1,
            (_, true) => share.subagents += 1,
            (_, false) => share.sessions += 1,
        }
    }
    let (oldest, newest) = reads.time_span()?;
    let (packs_bytes, database_bytes) = match store.packs() {
        Packs::Files(packs) => disk_bytes(place, &packs),
        Packs::Rows(_) => reads.sizes()?.unwrap_or_default(),
    };
    Ok(Some(Overview {
        directory: place.to_path_buf(),
        packs_bytes,
        database_bytes,
        raw_bytes: raw.values().sum(),
        distilled_bytes: reads.distilled_bytes()?,
        agents,
        oldest,
        newest,
        last_sweep: reads.last_operation("sweep")?,
    }))
}

/// What the packs and the database take on disk. A file that goes away meanwhile takes nothing.
fn disk_bytes(directory: &Path, packs: &Path) -> (u64, u64) {
    let files = |directory: &Path| {
        let walker = walkdir::WalkDir::new(directory).into_iter().flatten();
        let files = walker.filter(|entry| entry.file_type().is_file());
        files
            .map(|entry| entry.metadata().map_or(0, |metadata| metadata.len()))
            .sum()
    };
    let beside = ["", "-wal", "-shm"].map(|ending| directory.join(format!("{}{ending}", Store::DATABASE)));
    let database = beside
        .iter()
        .map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()));
    (files(packs), database.sum())
}
