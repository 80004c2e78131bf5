//! Which sessions changed since they were last read. Only names and stats are asked; a log whose place does
//! not tell its session is looked into at its head.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::io::Read;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use transcript::{Agent, Delta, Line, LineBody, Origin, PartKind, Source, State};

use super::{Report, Sweep, path_text};
use crate::files;
use crate::logs;
use crate::sources::{self, Unread};
use crate::store::{Cursor, Stat, Store, StoreError};

/// A session is quiet when nobody wrote to it for so long: its tail becomes a frame.
const QUIET_MINUTES: i64 = 10;
/// How much of a log is looked at to learn whose it is.
const HEAD_BYTES: u64 = 64 << 10;

/// A session that has something new.
pub(super) struct Job {
    pub(super) agent: Agent,
    pub(super) uid: String,
    /// The copy of the session that is read: the longest.
    pub(super) source: Source,
    pub(super) root: String,
    /// Other copies, which are only remembered.
    pub(super) copies: Vec<(PathBuf, Stat)>,
    /// How far each part was read, by its name.
    pub(super) cursors: HashMap<String, Cursor>,
    pub(super) log_bytes: u64,
}

/// What is to be done, and what was found on the way.
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
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

impl Job {
    /// About how much there is to read.
    pub(super) fn bytes_to_read(&self) -> u64 {
        let read: u64 = self
            .cursors
            .get(PartKind::Log.as_str())
            .map_or(0, |cursor| cursor.read_to);
        self.log_bytes.checked_sub(read).unwrap_or(self.log_bytes)
    }

    pub(super) fn unread(&self, reason: &str) -> Unread {
        let path = self
            .source
            .parts
            .iter()
            .find(|part| part.kind.has_lines())
            .map(|part| part.path.clone());
        Unread {
            path: path.unwrap_or_default(),
            reason: reason.to_owned(),
        }
    }
}

impl Plan {
    pub(super) fn make(sweep: &Sweep<'_>, store: Option<&Store>) -> Result<Self, StoreError> {
        let cursors = store.map_or(Ok(Vec::new()), |store| store.reads().cursors())?;
        let by_path: HashMap<&str, &Cursor> = cursors.iter().map(|cursor| (cursor.path.as_str(), cursor)).collect();
        let mut report = Report::default();
        let mut sessions: BTreeMap<String, Vec<Copy>> = BTreeMap::new();
        for root in sweep.roots {
            let found = sources::find(root);
            report.unread.extend(found.unread);
            let name = root.label.clone().unwrap_or_else(|| path_text(&root.path));
            for log in found.logs.into_iter().filter(|log| !(sweep.is_ignored)(&log.path)) {
                report.files_seen += 1;
                report.agents.entry(log.agent).or_default().files_seen += 1;
                let source = sources::source_of(log.agent, &log.path);
                let known = by_path.get(path_text(&log.path).as_str());
                let Some(copy) = look(source, &name, &by_path, sweep.now) else {
                    continue;
                };
                let uid = match known {
                    Some(cursor) => cursor.session_uid.clone(),
                    None => uid_of(&copy),
                };
                sessions.entry(uid).or_default().push(copy);
            }
        }
        let mut of_session: HashMap<String, Vec<&Cursor>> = HashMap::new();
        for cursor in &cursors {
            of_session.entry(cursor.session_uid.clone()).or_default().push(cursor);
        }
        let mut jobs = Vec::new();
        for (uid, copies) in sessions {
            report.files_unchanged += copies.iter().filter(|copy| !copy.is_changed).count() as u64;
            let known = of_session.get(&uid).map(Vec::as_slice).unwrap_or_default();
            // A log that was emptied tells nothing new; what is kept of it stays.
            let is_emptied = copies.iter().all(|copy| copy.stat.size == 0) && !known.is_empty();
            if copies.iter().any(|copy| copy.is_changed) && !is_emptied {
                jobs.push(job(uid.clone(), copies, known));
            }
        }
        // Oldest first: what an agent is about to delete is safe first.
        jobs.sort_by_key(|job| job.source.parts.iter().filter_map(|part| modified(&part.path)).max());
        Ok(Self { jobs, report })
    }
}

fn modified(path: &std::path::Path) -> Option<Timestamp> {
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
    copies.sort_by(|a, b| b.stat.size.cmp(&a.stat.size).then_with(|| path_of(a).cmp(&path_of(b))));
    let longest = copies.remove(0);
    let cursors = cursors.iter().filter(|cursor| cursor.read_to > 0);
    Job {
        agent: longest.agent,
        uid,
        root: longest.root,
        log_bytes: longest.stat.size,
        source: longest.source,
        copies: copies.into_iter().map(|copy| (path_of(&copy), copy.stat)).collect(),
        cursors: cursors.map(|cursor| (cursor.part.clone(), (*cursor).clone())).collect(),
    }
}

fn path_of(copy: &Copy) -> PathBuf {
    let log = copy.source.parts.iter().find(|part| part.kind.has_lines());
    log.map(|part| part.path.clone()).unwrap_or_default()
}

/// The uid of a session we never read: by the head of its log.
fn uid_of(copy: &Copy) -> String {
    let path = path_of(copy);
    let mut state = State::new(copy.agent, Origin::of(&path.to_string_lossy()));
    let mut head = Vec::new();
    let read = files::open(&path).and_then(|(file, _)| logs::unpacked(&path, file));
    if let Ok(file) = read {
        _ = file.take(HEAD_BYTES).read_to_end(&mut head);
    }
    let mut delta = Delta::default();
    let whole = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len());
    let kind = copy
        .source
        .parts
        .iter()
        .find(|part| part.kind.has_lines())
        .map_or(PartKind::Log, |part| part.kind);
    for (at, bytes) in head[..whole].split(|byte| *byte == b'\n').enumerate() {
        let line = Line {
            number: at as u64 + 1,
            offset: 0,
            body: LineBody::Bytes(bytes),
            terminated: true,
        };
        state.take(kind, &line, &mut delta);
    }
    state.close(&mut delta);
    delta.session.map_or_else(
        || format!("{}:{}", copy.agent.as_str(), copy.source.native_id),
        |session| session.session_uid.as_str().to_owned(),
    )
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
