//! Decides where the text of a session is read from: the memory's packs, the agent's log at its source, or neither.
//!
//! [`SessionTexts::locate`] is the only place that decides this, and every verb that shows whole texts calls it; the finder's
//! preview shows summaries from the store instead. Text that comes from a source is
//! masked as a sweep masks it. A session that was forgotten and a log that the configuration ignores are never read here. Nothing is written.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use thiserror::Error;
use transcript::{Agent, PartKind, Session, SessionEvent};

use crate::files;
use crate::ingest::{self, LineForm};
use crate::kept;
use crate::logs::{self, LogError, LogReading};
use crate::mask::Masker;
use crate::packs;
use crate::sources;
use crate::store::{Cursor, Reads, Store, StoreError, stored_events};
use crate::sweep::{ends, part_name, stat, uid_of_log};
use crate::whole::Whole;

/// The reason why raw text was removed from the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvictionReason {
    /// It was older than `raw_max_age_days`.
    Age,
    /// Raw text exceeded the soft cap.
    SoftCap,
    /// Raw text exceeded the hard cap.
    HardCap,
    /// Raw text exceeded the hard cap, and no digest could be made.
    Overflow,
    /// The user ran `boswell forget`.
    Forgotten,
    /// An older version evicted it and did not record why.
    Unknown,
}

impl EvictionReason {
    fn parse(word: Option<&str>) -> Self {
        match word {
            Some("age") => Self::Age,
            Some("budget") => Self::SoftCap,
            Some("hard_cap") => Self::HardCap,
            Some("overflow") => Self::Overflow,
            Some("forgotten") => Self::Forgotten,
            _ => Self::Unknown,
        }
    }

    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::SoftCap => "budget",
            Self::HardCap => "hard_cap",
            Self::Overflow => "overflow",
            Self::Forgotten => "forgotten",
            Self::Unknown => "unknown",
        }
    }
}

/// The time and the reason of the eviction of a session's raw text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    pub at: Option<Timestamp>,
    pub reason: EvictionReason,
}

impl Eviction {
    /// Returns the eviction of a session, or `None` if its raw text was not evicted.
    pub fn read(reads: &Reads<'_>, session_uid: &str) -> Result<Option<Self>, StoreError> {
        let Some((at_micros, word)) = reads.find_eviction(session_uid)? else {
            return Ok(None);
        };
        let reason = match reads.has_retention()? && reads.has_tombstone(session_uid)? {
            true => EvictionReason::Forgotten,
            false => EvictionReason::parse(word.as_deref()),
        };
        let at = Timestamp::from_microsecond(at_micros).ok().filter(|_| at_micros > 0);
        Ok(Some(Self { at, reason }))
    }
}

/// The reason why an evicted session cannot be read from its source either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceProblem {
    /// The session was forgotten, so its log is not read even if it exists.
    Forgotten,
    /// No log of the session is known on this machine.
    Elsewhere,
    /// This file no longer exists.
    LogGone(PathBuf),
    /// The configuration ignores this log.
    Ignored(PathBuf),
    /// This file was rewritten, or is now the log of another session.
    OtherSession(PathBuf),
    Unreadable(PathBuf, String),
}

/// The log of an evicted session, and its other parts that still exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLog {
    pub agent: Agent,
    pub path: PathBuf,
    pub parts: Vec<SourcePart>,
    /// Names of parts that were read once and no longer exist, such as spilled results.
    pub missing_parts: Vec<String>,
    pub eviction: Eviction,
}

/// A file of a session, with the name of the part in the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePart {
    pub kind: PartKind,
    pub name: String,
    pub path: PathBuf,
}

/// The location of the text of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextLocation {
    Memory,
    Source(SourceLog),
    /// Only the distilled memory is left.
    Evicted(Eviction, SourceProblem),
    /// The memory never read its log; only prompts from the agent's history are known.
    PromptsOnly,
}

/// The origin of the text that is shown, as in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOrigin {
    Memory,
    Source,
    Digest,
    Prompts,
}

impl TextOrigin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Source => "source",
            Self::Digest => "digest",
            Self::Prompts => "prompts",
        }
    }
}

impl TextLocation {
    pub fn origin(&self) -> TextOrigin {
        match self {
            Self::Memory => TextOrigin::Memory,
            Self::Source(_) => TextOrigin::Source,
            Self::Evicted(..) => TextOrigin::Digest,
            Self::PromptsOnly => TextOrigin::Prompts,
        }
    }
}

/// The reason why the text of a session cannot be read.
#[derive(Debug, Error)]
pub enum TextError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the text of this session is gone: `{0}`")]
    Gone(String),
}

/// Finds and opens the texts of sessions.
#[derive(Clone, Copy)]
pub struct SessionTexts<'t> {
    pub store: &'t Store,
    pub masker: &'t Masker,
    /// Returns `true` if the configuration ignores a log.
    pub is_ignored: &'t dyn Fn(&Path) -> bool,
}

impl<'t> SessionTexts<'t> {
    /// Returns where the text of a session is. Files are opened only if the session was evicted.
    pub fn locate(&self, session_uid: &str) -> Result<TextLocation, StoreError> {
        let reads = self.store.reads();
        let Some(eviction) = Eviction::read(&reads, session_uid)? else {
            return Ok(match reads.has_session(session_uid)? {
                true => TextLocation::Memory,
                false => TextLocation::PromptsOnly,
            });
        };
        if eviction.reason == EvictionReason::Forgotten {
            return Ok(TextLocation::Evicted(eviction, SourceProblem::Forgotten));
        }
        Ok(match self.find_log(session_uid, eviction)? {
            Ok(log) => TextLocation::Source(log),
            Err(problem) => TextLocation::Evicted(eviction, problem),
        })
    }

    /// Returns the text at a location, or `None` if neither the memory nor a source has it.
    pub fn open(&self, session_uid: &str, location: TextLocation) -> Option<SessionText<'t>> {
        match location {
            TextLocation::Memory => Some(SessionText::of_memory(self.store, session_uid)),
            TextLocation::Source(log) => Some(SessionText::Source(Box::new(SourceText {
                log,
                masker: self.masker,
                reading: OnceCell::new(),
            }))),
            TextLocation::Evicted(..) | TextLocation::PromptsOnly => None,
        }
    }

    fn find_log(&self, session_uid: &str, eviction: Eviction) -> Result<Result<SourceLog, SourceProblem>, StoreError> {
        let (reads, agent) = (self.store.reads(), kept::agent_of(session_uid)?);
        let cursors = reads.cursors_of(session_uid)?;
        let is_main = |cursor: &&Cursor| matches!(cursor.part.as_str(), "log" | "chat_history");
        let mut mains: Vec<&Cursor> = cursors
            .iter()
            .filter(is_main)
            .filter(|cursor| !reads.is_elsewhere(cursor))
            .collect();
        // The file that was read comes before its copies, and Grok's log before its history.
        mains.sort_by_key(|cursor| (cursor.marks_copy(), cursor.part != "log"));
        let mut problem = None;
        for main in mains {
            match self.check_log(agent, main) {
                Ok(()) => return Ok(with_parts(agent, Path::new(&main.path), &cursors, eviction)),
                Err(found) => _ = problem.get_or_insert(found),
            }
        }
        Ok(Err(problem.unwrap_or(SourceProblem::Elsewhere)))
    }

    /// Returns an error unless the file of a cursor exists, may be read, and still holds the cursor's session.
    fn check_log(&self, agent: Agent, cursor: &Cursor) -> Result<(), SourceProblem> {
        let path = Path::new(&cursor.path);
        let own = || path.to_owned();
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => SourceProblem::LogGone(own()),
            _ => SourceProblem::Unreadable(own(), error.to_string()),
        };
        let (file, metadata) = files::open_regular(path).map_err(unreadable)?;
        // A directory in the path may have become a symlink since the log was read.
        files::resolve_inside(tree_of(path), path).map_err(unreadable)?;
        if (self.is_ignored)(path) {
            return Err(SourceProblem::Ignored(own()));
        }
        let is_untouched = stat(&metadata) == cursor.stat;
        let is_as_it_was = || ends::look(path, &file, cursor).is_ok_and(|look| look.ends.is_some());
        // The uid of a Claude log is derived from its file name, so it says nothing about the current content.
        let has_own_uid = agent != Agent::Claude || cursor.must_be_read();
        let is_same_session = || has_own_uid && uid_of_log(agent, path) == cursor.session_uid;
        match is_untouched || is_as_it_was() || is_same_session() {
            true => Ok(()),
            false => Err(SourceProblem::OtherSession(own())),
        }
    }
}

/// Returns the directory below which an agent stores a log.
fn tree_of(log: &Path) -> &Path {
    let is_tree = |path: &&Path| {
        let name = path.file_name().unwrap_or_default();
        name == "projects" || name == "sessions" || name == "archived_sessions"
    };
    let tree = log.ancestors().skip(1).find(is_tree);
    tree.or_else(|| log.parent()).unwrap_or(log)
}

/// Returns a log with its parts, or an error if a part with events is gone.
fn with_parts(agent: Agent, log: &Path, cursors: &[Cursor], eviction: Eviction) -> Result<SourceLog, SourceProblem> {
    let source = sources::find_source(agent, log);
    let parts: Vec<SourcePart> = source
        .parts
        .iter()
        .filter(|part| part.kind != PartKind::Index)
        .map(|part| SourcePart {
            kind: part.kind,
            name: part_name(part),
            path: part.path.clone(),
        })
        .collect();
    let mut missing_parts = Vec::new();
    for cursor in cursors.iter().filter(|cursor| !cursor.marks_copy()) {
        let kind = PartKind::of_name(&cursor.part);
        let is_there = parts.iter().any(|part| part.name == cursor.part);
        match kind {
            Some(PartKind::Index) | None => {}
            _ if is_there => {}
            Some(kind) if kind.has_lines() => return Err(SourceProblem::LogGone(PathBuf::from(&cursor.path))),
            Some(_) => missing_parts.push(cursor.part.clone()),
        }
    }
    Ok(SourceLog {
        agent,
        path: log.to_owned(),
        parts,
        missing_parts,
        eviction,
    })
}

/// The opened text of one session.
pub enum SessionText<'t> {
    Memory { store: &'t Store, session_uid: String },
    Source(Box<SourceText<'t>>),
}

/// A log at its source.
pub struct SourceText<'t> {
    pub log: SourceLog,
    masker: &'t Masker,
    /// The log, or empty until it is read.
    reading: OnceCell<LogReading>,
}

impl<'t> SessionText<'t> {
    /// Returns the text of a session that is in the memory.
    pub fn of_memory(store: &'t Store, session_uid: &str) -> Self {
        Self::Memory {
            store,
            session_uid: session_uid.to_owned(),
        }
    }

    /// Returns the source, or `None` if the text is in the memory.
    pub fn source(&self) -> Option<&SourceText<'t>> {
        match self {
            Self::Memory { .. } => None,
            Self::Source(source) => Some(source),
        }
    }

    /// Returns all events in order, each with the summary that the memory stores.
    pub fn events(&self) -> Result<Vec<SessionEvent>, TextError> {
        Ok(match self {
            Self::Memory { store, session_uid } => store.reads().events(session_uid)?,
            Self::Source(source) => stored_events(&source.reading()?.reading.events),
        })
    }

    /// Returns the full texts and the images of some events, by `seq`.
    pub fn wholes(&self, events: &[SessionEvent]) -> Result<HashMap<u64, Whole>, TextError> {
        match self {
            Self::Memory { store, session_uid } => Ok(kept::read_full_texts(store, session_uid, events)?),
            Self::Source(source) => Ok(read_wholes(source.reading()?, source.masker, events)?),
        }
    }

    /// Returns the full texts of some events, by `seq`.
    pub fn texts(&self, events: &[SessionEvent]) -> Result<HashMap<u64, String>, TextError> {
        let wholes = self.wholes(events)?.into_iter();
        Ok(wholes.filter_map(|(seq, whole)| Some((seq, whole.text?))).collect())
    }

    /// Returns the parts of the session, companions first.
    pub fn parts(&self) -> Result<Vec<(PartKind, String)>, TextError> {
        Ok(match self {
            Self::Memory { store, session_uid } => kept::list_parts(store, session_uid)?,
            Self::Source(source) => {
                let parts = source.log.parts.iter();
                parts.map(|part| (part.kind, part.name.clone())).collect()
            }
        })
    }

    /// Passes on the masked bytes of a part, piece by piece. Passes nothing if the session does not have the part.
    pub fn each_bytes(
        &self,
        part: &str,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<io::Result<()>, TextError> {
        let mut written = Ok(());
        match self {
            Self::Memory { store, session_uid } => kept::each_bytes(store, session_uid, part, |bytes| {
                if written.is_ok() {
                    written = take(bytes);
                }
                Ok(())
            })?,
            Self::Source(source) => written = source.each_bytes(part, &mut take)?,
        }
        Ok(written)
    }

    /// Writes a part as the agent wrote it, except for masked secrets.
    pub fn cat(&self, part: &str, out: &mut dyn Write) -> Result<io::Result<()>, TextError> {
        self.each_bytes(part, |bytes| out.write_all(bytes))
    }
}

/// Reads a log again and returns the full texts and the images of some of its events, by `seq`.
pub fn read_wholes(
    log: &LogReading,
    masker: &Masker,
    events: &[SessionEvent],
) -> Result<HashMap<u64, Whole>, LogError> {
    let wanted: HashSet<u64> = events.iter().map(|event| event.seq).collect();
    let mut wholes = HashMap::new();
    let take = |event: &SessionEvent, mut whole: Whole| {
        whole.text = logs::spilled(&log.path, event, masker).or(whole.text);
        wholes.insert(event.seq, whole);
        Ok::<(), std::convert::Infallible>(())
    };
    _ = logs::each_whole(log, masker, |event| wanted.contains(&event.seq), take)?;
    Ok(wholes)
}

impl SourceText<'_> {
    /// Reads the log, or returns it if it was read before.
    pub fn reading(&self) -> Result<&LogReading, LogError> {
        if let Some(reading) = self.reading.get() {
            return Ok(reading);
        }
        let read = logs::read_log(&self.log.path, Some(self.log.agent), self.masker)?;
        Ok(self.reading.get_or_init(|| read))
    }

    /// Returns the log, or `None` if it was not read yet.
    pub fn into_reading(self) -> Option<LogReading> {
        self.reading.into_inner()
    }

    /// Restores the fields that an eviction removes from the row of a session.
    pub fn fill_session(&self, session: &mut Session) -> Result<(), LogError> {
        if let Some(read) = &self.reading()?.reading.session {
            session.title.clone_from(&read.title);
            session.task_ref.clone_from(&read.task_ref);
            session.entrypoint.clone_from(&read.entrypoint);
            session.lineage.clone_from(&read.lineage);
        }
        Ok(())
    }

    fn each_bytes(
        &self,
        part: &str,
        take: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<io::Result<()>, LogError> {
        let Some(part) = self.log.parts.iter().find(|known| known.name == part) else {
            return Ok(Ok(()));
        };
        let failed = |source| LogError::Io {
            path: part.path.clone(),
            source,
        };
        if !part.kind.has_lines() {
            let (file, _) = files::open_regular(&part.path).map_err(failed)?;
            let mut bytes = Vec::new();
            file.take(files::COMPANION_BYTES_MAX)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            let masked = ingest::mask_bytes(self.masker, LineForm::Text, &bytes, &mut Vec::new());
            return Ok(take(&masked));
        }
        let form = LineForm::Json(Some(self.log.agent));
        let mut lines = ingest::open_lines(&part.path, self.masker, form).map_err(failed)?;
        let mut piece = Vec::new();
        while let Some(line) = lines.next().map_err(failed)? {
            piece.clear();
            let line = line.mask(&mut Vec::new());
            match line.bytes() {
                Some(bytes) => piece.extend_from_slice(bytes),
                None => piece.extend_from_slice(packs::format_placeholder(&line).as_bytes()),
            }
            piece.extend(line.is_terminated().then_some(b'\n'));
            if let Err(error) = take(&piece) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}
