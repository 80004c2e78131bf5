//! Finds the sessions that changed since they were last read. This needs only names and metadata of files, unless a log
//! is new: its first lines are then read because they name the session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use transcript::{Agent, PartKind, Source};

use super::ends;
use super::identify::uid_of;
use super::index::ThreadNameFiles;
use super::refresh::StaleSession;
use super::{Sweep, SweepReport, path_text};
use crate::files;
use crate::ingest;
use crate::sources::{self, FoundLogs, UnreadPath};
use crate::store::{Cursor, FileStat, Store, StoreError};
use crate::threads::run_on_threads;

/// A session is quiet if its log was not written for this long: its tail then becomes a frame.
const QUIET_MINUTES: i64 = 10;
/// If at least this many bytes follow the last line that was read, they are not a single unfinished line.
const UNFINISHED_BYTES_MAX: u64 = 64 << 10;

/// A session with work to do.
pub(super) struct Job {
    pub(super) agent: Agent,
    pub(super) uid: String,
    /// True if the store has the session.
    pub(super) is_known: bool,
    /// True if the raw text of the session was evicted.
    pub(super) is_let_go: bool,
    /// True if another machine has read as much of the session or more. The log here is a copy, and only its cursor is
    /// stored.
    pub(super) is_copy: bool,
    /// True if there may be unread lines. Otherwise stored lines are only packed, or a copy is only noted.
    pub(super) has_unread: bool,
    /// The copy of the session that is read: the longest one.
    pub(super) source: Source,
    pub(super) root: String,
    /// Other copies, whose cursors are stored, each with `true` if it is new or changed.
    pub(super) copies: Vec<(PathBuf, FileStat, bool)>,
    /// The cursor of each part, by the name of the part.
    pub(super) cursors: HashMap<String, Cursor>,
    /// All cursors of the session in the store. If a part has moved, the store may have two cursors for it.
    pub(super) base: Vec<Cursor>,
    /// The lines about the session in the list of thread names, if they are new.
    pub(super) index: Option<Vec<u8>>,
    pub(super) log_bytes: u64,
}

/// The work of a sweep, and what was found while planning it.
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    /// The sessions to rebuild from their stored lines.
    pub(super) stale: Vec<StaleSession>,
    pub(super) indexes: Vec<(String, FileStat)>,
    /// The uids of visited logs, by path. Contains only the logs that a waiting note names.
    pub(super) walked: HashMap<PathBuf, String>,
    pub(super) report: SweepReport,
}

/// One copy of a session.
struct SessionCopy {
    agent: Agent,
    source: Source,
    root: String,
    stat: FileStat,
    is_changed: bool,
}

/// The reason given if another machine's log of the same session has a different beginning.
const DIFFERENT_LOG: &str = "another machine's log of this session begins differently, and that one is kept";

impl Job {
    /// Returns about how many bytes are unread. A log that is shorter than before is read from its beginning.
    pub(super) fn bytes_to_read(&self) -> u64 {
        let log = self.cursors.get(PartKind::Log.as_str());
        let read = log.map_or(0, |cursor| cursor.read_to);
        self.log_bytes.checked_sub(read).unwrap_or(self.log_bytes)
    }

    pub(super) fn log(&self) -> PathBuf {
        log_of(&self.source)
    }

    pub(super) fn unread(&self, reason: &str) -> UnreadPath {
        UnreadPath {
            path: self.log(),
            reason: reason.to_owned(),
        }
    }
}

impl Plan {
    /// Returns the uids of all sessions with work to do.
    pub(super) fn uids(&self) -> impl Iterator<Item = &str> {
        let jobs = self.jobs.iter().map(|job| job.uid.as_str());
        jobs.chain(self.stale.iter().map(|stale| stale.uid.as_str()))
    }

    /// Plans the work for the logs that a walk found. `named` are the logs that waiting notes name.
    pub(super) fn make(
        sweep: &Sweep<'_>,
        store: Option<&Store>,
        walked: Vec<FoundLogs>,
        named: &HashSet<PathBuf>,
    ) -> Result<Self, StoreError> {
        let cursors = store.map_or(Ok(Vec::new()), |store| store.reads().cursors())?;
        let mut report = SweepReport::default();
        let sessions = find_sessions(sweep, &cursors, walked, &mut report);
        let walked = named_uids(&sessions, named);
        let mut by_session: HashMap<&str, Vec<&Cursor>> = HashMap::new();
        for cursor in &cursors {
            by_session.entry(&cursor.session_uid).or_default().push(cursor);
        }
        let tails: HashSet<(String, String)> = match store {
            Some(store) => store.reads().tails()?.into_iter().collect(),
            None => HashSet::new(),
        };
        let tombstones = store.map_or(Ok(HashSet::new()), |store| store.reads().tombstones())?;
        let let_go = store.map_or(Ok(HashSet::new()), |store| store.reads().let_go())?;
        let mut jobs = Vec::new();
        for (uid, copies) in sessions {
            // A forgotten session is never read again, and neither are its subagents.
            let parent = uid.split_once('/').map_or(uid.as_str(), |(parent, _)| parent);
            if tombstones.contains(&uid) || tombstones.contains(parent) {
                continue;
            }
            report.files_unchanged += copies.iter().filter(|copy| !copy.is_changed).count() as u64;
            let known = by_session.get(uid.as_str()).map(Vec::as_slice).unwrap_or_default();
            // If a log was emptied, it has nothing new, and what is stored of it stays.
            if copies.iter().all(|copy| copy.stat.size == 0) && !known.is_empty() {
                continue;
            }
            let is_changed = copies.iter().any(|copy| copy.is_changed);
            let mut job = make_job(uid, copies, known);
            job.is_let_go = let_go.contains(&job.uid);
            let is_ripe = tails.contains(&(job.uid.clone(), log_kind(&job.source).as_str().to_owned()))
                && job.is_quiet(sweep.now);
            job.is_copy = store.is_some_and(|store| job.is_read_elsewhere(store));
            if is_changed && store.is_some_and(|store| job.differs_from_elsewhere(store)) {
                report.unread.push(job.unread(DIFFERENT_LOG));
                // A shorter log is noted as a copy. A longer one is ignored, because it must not replace the other
                // machine's.
                if !job.is_copy {
                    continue;
                }
            }
            job.has_unread = is_changed && !job.is_copy;
            let is_due = is_changed || (is_ripe && !job.is_copy);
            jobs.push((job, is_due));
        }
        let mut indexes = ThreadNameFiles::default();
        // Before the jobs are filtered, because a new thread name alone makes a session due.
        indexes.add_lines_to_jobs(&mut jobs, store)?;
        report.bytes_checked += indexes.bytes();
        let jobs = sort_due_jobs(jobs);
        // A sweep of a few logs leaves stale sessions and the stats of shared files to a full sweep, because it would
        // update them for some sessions only.
        let is_whole = sweep.only.is_none();
        let stale = if is_whole {
            find_stale(sweep, store, &jobs)?
        } else {
            Vec::new()
        };
        Ok(Self {
            jobs,
            stale,
            indexes: if is_whole { indexes.stats } else { Vec::new() },
            walked,
            report,
        })
    }
}

/// Returns the jobs that are due. The oldest logs come first, because an agent deletes them first.
fn sort_due_jobs(jobs: Vec<(Job, bool)>) -> Vec<Job> {
    let mut jobs: Vec<Job> = jobs
        .into_iter()
        .filter(|(_, is_due)| *is_due)
        .map(|(job, _)| Job {
            has_unread: job.has_unread || job.index.is_some(),
            ..job
        })
        .collect();
    jobs.sort_by_cached_key(|job| job.source.parts.iter().filter_map(|part| modified(&part.path)).max());
    jobs
}

impl Job {
    /// Returns `true` if another machine has already stored every complete line of this log.
    fn is_read_elsewhere(&self, store: &Store) -> bool {
        let log = self.cursors.get(log_kind(&self.source).as_str());
        log.is_some_and(|cursor| {
            let is_as_long =
                || self.log_bytes <= cursor.read_to || has_unfinished_line_only(&self.log(), cursor.read_to);
            store.reads().is_elsewhere(cursor) && is_as_long()
        })
    }

    /// Returns `true` if another machine's log of this session begins differently. If this cannot be checked, for
    /// example because the log is compressed, returns `false`.
    fn differs_from_elsewhere(&self, store: &Store) -> bool {
        let log = self.cursors.get(log_kind(&self.source).as_str());
        let other = log.filter(|cursor| store.reads().is_elsewhere(cursor) && !cursor.marks_copy());
        let path = self.log();
        let Some(other) = other.filter(|cursor| !cursor.must_be_read() && !ingest::is_packed(&path)) else {
            return false;
        };
        let Ok((head, tail)) = ends::hashes(&path, self.log_bytes.min(other.read_to)) else {
            return false;
        };
        match self.log_bytes >= other.read_to {
            true => (head, tail) != (other.head_hash, other.tail_hash),
            false => ends::is_whole_head(self.log_bytes) && head != other.head_hash,
        }
    }

    fn is_quiet(&self, now: Timestamp) -> bool {
        let stat = std::fs::metadata(self.log()).map(|metadata| stat(&metadata));
        stat.is_ok_and(|stat| is_quiet(now, stat))
    }
}

/// Returns `true` if no complete line follows `from`: the bytes there are a line that is still being written.
fn has_unfinished_line_only(path: &Path, from: u64) -> bool {
    let mut rest = Vec::new();
    let read = files::open_regular(path).and_then(|(mut file, _)| {
        file.seek(SeekFrom::Start(from))?;
        file.take(UNFINISHED_BYTES_MAX).read_to_end(&mut rest)
    });
    !ingest::is_packed(path) && read.is_ok_and(|bytes| (bytes as u64) < UNFINISHED_BYTES_MAX) && !rest.contains(&b'\n')
}

/// Walks all roots without reading any log.
pub(super) fn walk(sweep: &Sweep<'_>) -> Vec<FoundLogs> {
    let found = sweep.roots.iter().map(|root| match sweep.only {
        Some(only) => sources::find_named_logs(root, only),
        None => sources::find_logs(root),
    });
    found.collect()
}

/// Finds every session below the roots, with all its copies.
fn find_sessions(
    sweep: &Sweep<'_>,
    cursors: &[Cursor],
    walked: Vec<FoundLogs>,
    report: &mut SweepReport,
) -> BTreeMap<String, Vec<SessionCopy>> {
    let by_path: HashMap<&str, &Cursor> = cursors.iter().map(|cursor| (cursor.path.as_str(), cursor)).collect();
    let mut sessions: BTreeMap<String, Vec<SessionCopy>> = BTreeMap::new();
    for (root, found) in sweep.roots.iter().zip(walked) {
        report.unread.extend(found.unread);
        let name = root.label.clone().unwrap_or_else(|| path_text(&root.path));
        let seen = run_on_threads(sweep.threads, found.logs.len(), |number, _| {
            let log = &found.logs[number];
            if (sweep.is_ignored)(&log.path) {
                return None;
            }
            let source = sources::find_source(log.agent, &log.path);
            let copy = inspect_copy(source, &name, &by_path, sweep.now);
            Some(copy.map(|copy| match by_path.get(path_text(&log.path).as_str()) {
                Some(cursor) => (cursor.session_uid.clone(), copy, 0),
                None => {
                    let (uid, bytes) = uid_of(copy.agent, &copy.source);
                    (uid, copy, bytes)
                }
            }))
        });
        for (log, seen) in found.logs.iter().zip(seen) {
            let Some(seen) = seen else { continue };
            report.files_seen += 1;
            report.agents.entry(log.agent).or_default().files_seen += 1;
            if let Some((uid, copy, bytes)) = seen {
                report.bytes_checked += bytes;
                sessions.entry(uid).or_default().push(copy);
            }
        }
    }
    if sweep.only.is_some() {
        add_known_copies(sweep, cursors, &by_path, &mut sessions);
    }
    sessions
}

/// Returns the uids of those logs that are in `named`.
fn named_uids(sessions: &BTreeMap<String, Vec<SessionCopy>>, named: &HashSet<PathBuf>) -> HashMap<PathBuf, String> {
    let mut found = HashMap::new();
    for (uid, copies) in sessions.iter().filter(|_| !named.is_empty()) {
        let logs = copies.iter().map(|copy| log_of(&copy.source));
        found.extend(logs.filter(|log| named.contains(log)).map(|log| (log, uid.clone())));
    }
    found
}

/// Adds the known copies of the sessions whose logs were named, because the longest of all copies is the one to read.
fn add_known_copies(
    sweep: &Sweep<'_>,
    cursors: &[Cursor],
    by_path: &HashMap<&str, &Cursor>,
    sessions: &mut BTreeMap<String, Vec<SessionCopy>>,
) {
    let has_lines = |cursor: &&Cursor| PartKind::of_name(&cursor.part).is_some_and(PartKind::has_lines);
    for cursor in cursors.iter().filter(has_lines) {
        let Some(copies) = sessions.get_mut(&cursor.session_uid) else {
            continue;
        };
        let path = PathBuf::from(&cursor.path);
        let is_there = copies
            .iter()
            .any(|copy| copy.source.parts.iter().any(|part| part.path == path));
        let root = sweep.roots.iter().find(|root| path.starts_with(&root.path));
        if is_there || root.is_none() || (sweep.is_ignored)(&path) {
            continue;
        }
        let agent = copies.first().map(|copy| copy.agent);
        let source = agent.map(|agent| sources::find_source(agent, &path));
        copies.extend(source.and_then(|source| inspect_copy(source, &cursor.root, by_path, sweep.now)));
    }
}

/// Returns the sessions that were masked or read by other rules than today's, newest first. Sessions that are read from
/// their log anyway, and those of other machines, are left out.
fn find_stale(sweep: &Sweep<'_>, store: Option<&Store>, jobs: &[Job]) -> Result<Vec<StaleSession>, StoreError> {
    let Some(store) = store else { return Ok(Vec::new()) };
    let busy: HashSet<&str> = jobs.iter().map(|job| job.uid.as_str()).collect();
    let masked = store.reads().masked_otherwise(sweep.masker.version())?;
    let seen: HashSet<String> = masked.iter().cloned().collect();
    let mut stale: Vec<StaleSession> = masked.into_iter().map(StaleSession::remasked).collect();
    for agent in Agent::ALL {
        let read = store.reads().sessions_derived_by_others(agent)?.into_iter();
        stale.extend(read.filter(|uid| !seen.contains(uid)).map(StaleSession::reread));
    }
    let others = store.reads().sessions_written_elsewhere()?;
    stale.retain(|stale| !busy.contains(stale.uid.as_str()) && !others.contains(&stale.uid));
    Ok(stale)
}

fn modified(path: &Path) -> Option<Timestamp> {
    std::fs::metadata(path)
        .ok()
        .and_then(|metadata| files::modified_at(&metadata))
}

/// Gets the metadata of every part of a session. Returns `None` if its log does not exist.
fn inspect_copy(source: Source, root: &str, by_path: &HashMap<&str, &Cursor>, now: Timestamp) -> Option<SessionCopy> {
    let mut log = None;
    let mut is_changed = false;
    for part in &source.parts {
        let Ok(stat) = std::fs::metadata(&part.path).map(|metadata| stat(&metadata)) else {
            continue;
        };
        // Many sessions share this file; `sweep/index.rs` checks it.
        if part.kind == PartKind::Index {
            continue;
        }
        let known = by_path.get(path_text(&part.path).as_str());
        is_changed |= known.is_none_or(|cursor| {
            let waits = cursor.read_to > 0 && cursor.read_to < stat.size && part.kind.has_lines();
            // An unfinished last line is read once the file is quiet, because the agent may have crashed within it.
            cursor.stat != stat || (waits && !ingest::is_packed(&part.path) && is_quiet(now, stat))
        });
        if part.kind.has_lines() && log.is_none() {
            log = Some(stat);
        }
    }
    Some(SessionCopy {
        agent: source.agent,
        root: root.to_owned(),
        stat: log?,
        source,
        is_changed,
    })
}

/// Returns `true` if a file was not written for a while.
pub(crate) fn is_quiet(now: Timestamp, stat: FileStat) -> bool {
    now.as_nanosecond() - i128::from(stat.mtime_ns) > SignedDuration::from_mins(QUIET_MINUTES).as_nanos()
}

/// Creates the job of a session: the longest copy is read, and the others are only noted.
fn make_job(uid: String, mut copies: Vec<SessionCopy>, cursors: &[&Cursor]) -> Job {
    copies.sort_by(|a, b| {
        let by_size = b.stat.size.cmp(&a.stat.size);
        by_size.then_with(|| log_of(&a.source).cmp(&log_of(&b.source)))
    });
    let longest = copies.remove(0);
    let copies = copies
        .into_iter()
        .map(|copy| (log_of(&copy.source), copy.stat, copy.is_changed));
    let read = cursors.iter().filter(|cursor| !cursor.marks_copy());
    let base: Vec<Cursor> = read.map(|cursor| (*cursor).clone()).collect();
    Job {
        agent: longest.agent,
        uid,
        is_known: !cursors.is_empty(),
        is_let_go: false,
        is_copy: false,
        has_unread: false,
        root: longest.root,
        log_bytes: longest.stat.size,
        source: longest.source,
        copies: copies.collect(),
        cursors: base
            .iter()
            .map(|cursor| (cursor.part.clone(), cursor.clone()))
            .collect(),
        base,
        index: None,
    }
}

pub(super) fn log_of(source: &Source) -> PathBuf {
    let log = source.parts.iter().find(|part| part.kind.has_lines());
    log.map(|part| part.path.clone()).unwrap_or_default()
}

pub(super) fn log_kind(source: &Source) -> PartKind {
    let log = source.parts.iter().find(|part| part.kind.has_lines());
    log.map_or(PartKind::Log, |part| part.kind)
}

/// Returns the metadata by which a changed file is recognised.
#[cfg(unix)]
pub(crate) fn stat(metadata: &Metadata) -> FileStat {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    FileStat {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime_ns: nanos(metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(not(unix))]
pub(crate) fn stat(metadata: &Metadata) -> FileStat {
    let written = files::modified_at(metadata).map(|at| at.as_nanosecond());
    FileStat {
        size: metadata.len(),
        mtime_ns: written.and_then(|nanos| i64::try_from(nanos).ok()).unwrap_or_default(),
        ..FileStat::default()
    }
}
