//! Which sessions changed since they were last read. Only names and stats are asked; a log whose place does
//! not tell its session is looked into at its head.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use transcript::{Agent, PartKind, Source};

use super::ends;
use super::identify::uid_of;
use super::index::Indexes;
use super::refresh::Stale;
use super::{Report, Sweep, path_text};
use crate::files;
use crate::logs;
use crate::sources::{self, Found, Unread};
use crate::store::{Cursor, Stat, Store, StoreError};
use crate::threads::on_threads;

/// A session is quiet when nobody wrote to it for so long: its tail becomes a frame.
const QUIET_MINUTES: i64 = 10;
/// More bytes than this behind the last line that was read are not one unfinished line.
const UNFINISHED_BYTES_MAX: u64 = 64 << 10;

/// A session that has something new.
pub(super) struct Job {
    pub(super) agent: Agent,
    pub(super) uid: String,
    /// Whether the store has the session already.
    pub(super) is_known: bool,
    /// Whether its raw text was let go.
    pub(super) is_let_go: bool,
    /// Whether another machine read as much of it or more: here is a copy, which is only remembered.
    pub(super) is_copy: bool,
    /// Whether there may be lines that were never read. Otherwise only the kept lines are packed, or a copy is remembered.
    pub(super) has_unread: bool,
    /// The copy of the session that is read: the longest.
    pub(super) source: Source,
    pub(super) root: String,
    /// Other copies, which are only remembered, each with whether it is new to us.
    pub(super) copies: Vec<(PathBuf, Stat, bool)>,
    /// How far each part was read, by its name.
    pub(super) cursors: HashMap<String, Cursor>,
    /// The same as the store has it: of a part that moved it may know two places.
    pub(super) base: Vec<Cursor>,
    /// What the list of thread names says of the session, where that is new.
    pub(super) index: Option<Vec<u8>>,
    pub(super) log_bytes: u64,
}

/// What is to be done, and what was found on the way.
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    /// What has to be made anew from what is kept.
    pub(super) stale: Vec<Stale>,
    pub(super) indexes: Vec<(String, Stat)>,
    /// The sessions of the logs that were visited, by path. Only logs that a waiting note names are listed.
    pub(super) walked: HashMap<PathBuf, String>,
    pub(super) report: Report,
}

/// One copy of a session.
struct Copy {
    agent: Agent,
    source: Source,
    root: String,
    stat: Stat,
    is_changed: bool,
}

/// Said of a log that begins otherwise than another machine's of the same session.
const APART: &str = "another machine's log of this session begins differently, and that one is kept";

impl Job {
    /// About how much there is to read.
    pub(super) fn bytes_to_read(&self) -> u64 {
        let log = self.cursors.get(PartKind::Log.as_str());
        let read = log.map_or(0, |cursor| cursor.read_to);
        self.log_bytes.checked_sub(read).unwrap_or(self.log_bytes)
    }

    pub(super) fn log(&self) -> PathBuf {
        log_of(&self.source)
    }

    pub(super) fn unread(&self, reason: &str) -> Unread {
        Unread {
            path: self.log(),
            reason: reason.to_owned(),
        }
    }
}

impl Plan {
    /// All sessions there is something to do for.
    pub(super) fn uids(&self) -> impl Iterator<Item = &str> {
        let jobs = self.jobs.iter().map(|job| job.uid.as_str());
        jobs.chain(self.stale.iter().map(|stale| stale.uid.as_str()))
    }

    /// Plans what to do with the logs that a walk found. `named` are the logs that waiting notes name.
    pub(super) fn make(
        sweep: &Sweep<'_>,
        store: Option<&Store>,
        walked: Vec<Found>,
        named: &HashSet<PathBuf>,
    ) -> Result<Self, StoreError> {
        let cursors = store.map_or(Ok(Vec::new()), |store| store.reads().cursors())?;
        let mut report = Report::default();
        let sessions = find(sweep, &cursors, walked, &mut report);
        let walked = logs_of(&sessions, named);
        let mut of_session: HashMap<&str, Vec<&Cursor>> = HashMap::new();
        for cursor in &cursors {
            of_session.entry(&cursor.session_uid).or_default().push(cursor);
        }
        let tails: HashSet<(String, String)> = match store {
            Some(store) => store.reads().tails()?.into_iter().collect(),
            None => HashSet::new(),
        };
        let tombstones = store.map_or(Ok(HashSet::new()), |store| store.reads().tombstones())?;
        let let_go = store.map_or(Ok(HashSet::new()), |store| store.reads().let_go())?;
        let mut jobs = Vec::new();
        for (uid, copies) in sessions {
            // What was forgotten stays so, and so does what worked for it.
            let parent = uid.split_once('/').map_or(uid.as_str(), |(parent, _)| parent);
            if tombstones.contains(&uid) || tombstones.contains(parent) {
                continue;
            }
            report.files_unchanged += copies.iter().filter(|copy| !copy.is_changed).count() as u64;
            let known = of_session.get(uid.as_str()).map(Vec::as_slice).unwrap_or_default();
            // A log that was emptied tells nothing new; what is kept of it stays.
            if copies.iter().all(|copy| copy.stat.size == 0) && !known.is_empty() {
                continue;
            }
            let is_changed = copies.iter().any(|copy| copy.is_changed);
            let mut job = job(uid, copies, known);
            job.is_let_go = let_go.contains(&job.uid);
            let is_ripe = tails.contains(&(job.uid.clone(), log_kind(&job.source).as_str().to_owned()))
                && job.is_quiet(sweep.now);
            job.is_copy = store.is_some_and(|store| job.is_read_elsewhere(store));
            if is_changed && store.is_some_and(|store| job.is_apart(store)) {
                report.unread.push(job.unread(APART));
                // A shorter one is remembered as a copy; a longer one takes no place that it has no right to.
                if !job.is_copy {
                    continue;
                }
            }
            job.has_unread = is_changed && !job.is_copy;
            let is_due = is_changed || (is_ripe && !job.is_copy);
            jobs.push((job, is_due));
        }
        let mut indexes = Indexes::default();
        indexes.tell(&mut jobs, store)?;
        report.bytes_checked += indexes.bytes();
        let jobs = in_order(jobs);
        // Who looks at a few sessions alone leaves the rest, and what a shared file says of it, to a whole sweep.
        let is_whole = sweep.only.is_none();
        let stale = if is_whole {
            stale(sweep, store, &jobs)?
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
fn in_order(jobs: Vec<(Job, bool)>) -> Vec<Job> {
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
    fn is_read_elsewhere(&self, store: &Store) -> bool {
        let log = self.cursors.get(log_kind(&self.source).as_str());
        log.is_some_and(|cursor| {
            let is_as_long = || self.log_bytes <= cursor.read_to || ends_in_one_line(&self.log(), cursor.read_to);
            store.reads().is_elsewhere(cursor) && is_as_long()
        })
    }

    /// Whether another machine's log of this session is seen to begin differently.
    fn is_apart(&self, store: &Store) -> bool {
        let log = self.cursors.get(log_kind(&self.source).as_str());
        let other = log.filter(|cursor| store.reads().is_elsewhere(cursor) && !cursor.is_of_copy());
        let path = self.log();
        let Some(other) = other.filter(|cursor| !cursor.is_to_be_read() && !logs::is_packed(&path)) else {
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

/// Whether no line ends behind a place: what stands there waits to be written to its end.
fn ends_in_one_line(path: &Path, from: u64) -> bool {
    let mut rest = Vec::new();
    let read = files::open(path).and_then(|(mut file, _)| {
        file.seek(SeekFrom::Start(from))?;
        file.take(UNFINISHED_BYTES_MAX).read_to_end(&mut rest)
    });
    !logs::is_packed(path) && read.is_ok_and(|bytes| (bytes as u64) < UNFINISHED_BYTES_MAX) && !rest.contains(&b'\n')
}

/// Walks all roots, without a look into any log.
pub(super) fn walk(sweep: &Sweep<'_>) -> Vec<Found> {
    let found = sweep.roots.iter().map(|root| match sweep.only {
        Some(only) => sources::find_named(root, only),
        None => sources::find(root),
    });
    found.collect()
}

/// Every session under the roots, with all copies of it.
fn find(sweep: &Sweep<'_>, cursors: &[Cursor], walked: Vec<Found>, report: &mut Report) -> BTreeMap<String, Vec<Copy>> {
    let by_path: HashMap<&str, &Cursor> = cursors.iter().map(|cursor| (cursor.path.as_str(), cursor)).collect();
    let mut sessions: BTreeMap<String, Vec<Copy>> = BTreeMap::new();
    for (root, found) in sweep.roots.iter().zip(walked) {
        report.unread.extend(found.unread);
        let name = root.label.clone().unwrap_or_else(|| path_text(&root.path));
        let seen = on_threads(sweep.threads, found.logs.len(), |number, _| {
            let log = &found.logs[number];
            if (sweep.is_ignored)(&log.path) {
                return None;
            }
            let source = sources::source_of(log.agent, &log.path);
            let copy = look(source, &name, &by_path, sweep.now);
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

/// Returns the sessions of those logs that are in `named`.
fn logs_of(sessions: &BTreeMap<String, Vec<Copy>>, named: &HashSet<PathBuf>) -> HashMap<PathBuf, String> {
    let mut found = HashMap::new();
    for (uid, copies) in sessions.iter().filter(|_| !named.is_empty()) {
        let logs = copies.iter().map(|copy| log_of(&copy.source));
        found.extend(logs.filter(|log| named.contains(log)).map(|log| (log, uid.clone())));
    }
    found
}

/// Other copies of the sessions that were named: which of them counts is decided among all.
fn add_known_copies(
    sweep: &Sweep<'_>,
    cursors: &[Cursor],
    by_path: &HashMap<&str, &Cursor>,
    sessions: &mut BTreeMap<String, Vec<Copy>>,
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
        let source = agent.map(|agent| sources::source_of(agent, &path));
        copies.extend(source.and_then(|source| look(source, &cursor.root, by_path, sweep.now)));
    }
}

/// What is kept and was masked or read by older rules, newest first. What is read from its log anyway can wait.
fn stale(sweep: &Sweep<'_>, store: Option<&Store>, jobs: &[Job]) -> Result<Vec<Stale>, StoreError> {
    let Some(store) = store else { return Ok(Vec::new()) };
    let busy: HashSet<&str> = jobs.iter().map(|job| job.uid.as_str()).collect();
    let masked = store.reads().masked_otherwise(sweep.masker.version())?;
    let seen: HashSet<String> = masked.iter().cloned().collect();
    let mut stale: Vec<Stale> = masked.into_iter().map(Stale::remasked).collect();
    for agent in Agent::ALL {
        let read = store.reads().derived_by_others(agent)?.into_iter();
        stale.extend(read.filter(|uid| !seen.contains(uid)).map(Stale::reread));
    }
    let others = store.reads().written_elsewhere()?;
    stale.retain(|stale| !busy.contains(stale.uid.as_str()) && !others.contains(&stale.uid));
    Ok(stale)
}

fn modified(path: &Path) -> Option<Timestamp> {
    std::fs::metadata(path)
        .ok()
        .and_then(|metadata| files::modified(&metadata))
}

/// Asks the file system about every part of a session.
fn look(source: Source, root: &str, by_path: &HashMap<&str, &Cursor>, now: Timestamp) -> Option<Copy> {
    let mut log = None;
    let mut is_changed = false;
    for part in &source.parts {
        let Ok(stat) = std::fs::metadata(&part.path).map(|metadata| stat(&metadata)) else {
            continue;
        };
        // A file that belongs to many sessions is asked apart.
        if part.kind == PartKind::Index {
            continue;
        }
        let known = by_path.get(path_text(&part.path).as_str());
        is_changed |= known.is_none_or(|cursor| {
            let waits = cursor.read_to > 0 && cursor.read_to < stat.size && part.kind.has_lines();
            // A last line that waited for its end is taken when nobody writes any more.
            cursor.stat != stat || (waits && !logs::is_packed(&part.path) && is_quiet(now, stat))
        });
        if part.kind.has_lines() && log.is_none() {
            log = Some(stat);
        }
    }
    Some(Copy {
        agent: source.agent,
        root: root.to_owned(),
        stat: log?,
        source,
        is_changed,
    })
}

/// Whether nobody wrote to a file for a while.
pub(crate) fn is_quiet(now: Timestamp, stat: Stat) -> bool {
    now.as_nanosecond() - i128::from(stat.mtime_ns) > SignedDuration::from_mins(QUIET_MINUTES).as_nanos()
}

/// The longest copy is read; the others are remembered.
fn job(uid: String, mut copies: Vec<Copy>, cursors: &[&Cursor]) -> Job {
    copies.sort_by(|a, b| {
        let by_size = b.stat.size.cmp(&a.stat.size);
        by_size.then_with(|| log_of(&a.source).cmp(&log_of(&b.source)))
    });
    let longest = copies.remove(0);
    let copies = copies
        .into_iter()
        .map(|copy| (log_of(&copy.source), copy.stat, copy.is_changed));
    let read = cursors.iter().filter(|cursor| !cursor.is_of_copy());
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

/// What the file system says of a file.
#[cfg(unix)]
pub(crate) fn stat(metadata: &Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Stat {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime_ns: nanos(metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(not(unix))]
pub(crate) fn stat(metadata: &Metadata) -> Stat {
    let written = files::modified(metadata).map(|at| at.as_nanosecond());
    Stat {
        size: metadata.len(),
        mtime_ns: written.and_then(|nanos| i64::try_from(nanos).ok()).unwrap_or_default(),
        ..Stat::default()
    }
}
