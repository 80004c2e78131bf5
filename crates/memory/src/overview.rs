//! A summary of the store: its size, its sessions and the last sweep.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::packs::PackStorage;
use crate::store::{Operation, SessionStatus, Store, StoreError, StoreLocation};

/// The contents of a store.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub directory: PathBuf,
    /// Bytes of the packs on disk, and of the database with its companion files.
    pub packs_bytes: u64,
    pub database_bytes: u64,
    /// Raw text with its derived rows, which is what the retention caps limit.
    pub raw_bytes: u64,
    /// Bytes of digests, calls and turn rows, which survive eviction.
    pub distilled_bytes: u64,
    /// By flavor.
    pub agents: BTreeMap<String, AgentShare>,
    /// Start of the first session and end of the last one, in microseconds since 1970.
    pub oldest: Option<i64>,
    pub newest: Option<i64>,
    /// The last sweep that stored something.
    pub last_sweep: Option<Operation>,
}

/// The sessions of one agent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct AgentShare {
    /// Sessions with a log that is or was on this machine, without subagents.
    pub sessions: u64,
    pub subagents: u64,
    /// Sessions of which only the prompts in the agent's history are left; not included in `sessions`.
    pub prompts_only: u64,
    /// The number of all these sessions whose raw text was evicted.
    pub evicted: u64,
    /// Bytes of their raw text.
    pub raw_bytes: u64,
}

/// Reads the overview of the store at `place`, or returns `None` if there is no store.
pub fn read_overview(place: &StoreLocation) -> Result<Option<Overview>, StoreError> {
    let Some(store) = Store::open_existing(place)? else {
        return Ok(None);
    };
    let reads = store.reads();
    let mut agents: BTreeMap<String, AgentShare> = BTreeMap::new();
    let raw = reads.raw_bytes()?;
    // The list that `boswell sessions --all` prints, so that the two counts agree.
    for session in reads.listed()? {
        let share = agents.entry(session.flavor().to_owned()).or_default();
        share.raw_bytes += raw.get(&session.session_uid).copied().unwrap_or_default();
        share.evicted += u64::from(session.status == SessionStatus::Evicted);
        match (session.status, session.is_subagent) {
            (SessionStatus::PromptsOnly, _) => share.prompts_only += 1,
            (_, true) => share.subagents += 1,
            (_, false) => share.sessions += 1,
        }
    }
    let (oldest, newest) = reads.time_span()?;
    let (packs_bytes, database_bytes) = match store.packs() {
        PackStorage::Files(packs) => disk_bytes(place, &packs),
        PackStorage::Rows(_) => reads.sizes()?.unwrap_or_default(),
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

/// Returns the bytes of the packs and of the database on disk. A file that disappears during the scan counts as empty.
fn disk_bytes(directory: &Path, packs: &Path) -> (u64, u64) {
    let files = |directory: &Path| {
        let walker = walkdir::WalkDir::new(directory).into_iter().flatten();
        let files = walker.filter(|entry| entry.file_type().is_file());
        files
            .map(|entry| entry.metadata().map_or(0, |metadata| metadata.len()))
            .sum()
    };
    let database_files = ["", "-wal", "-shm"].map(|ending| directory.join(format!("{}{ending}", Store::DATABASE)));
    let database = database_files
        .iter()
        .map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()));
    (files(packs), database.sum())
}
