//! Reads logs from disk: one file, or a session with all its parts.

mod head;
mod sketch;
mod spills;
mod survey;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use transcript::{
    Agent, Call, Delta, Fate, Fates, Origin, Part, PartKind, Reading, SessionEvent, State, Unknown, counted,
};

pub use head::{agent_of_head, cwd_of_head};
pub(crate) use sketch::sketch;
pub use spills::spilled;
pub(crate) use spills::{session_tree, spills_of};
pub(crate) use survey::{Survey, survey};

use crate::breaks;
use crate::files;
use crate::ingest::{self, CleanLines, Disclosure, LineForm};
use crate::mask::Masker;
use crate::sources::{self, LogFile, UnreadPath};
pub(crate) use crate::whole::text_of;
use crate::whole::{self, Whole};

/// Number of lines to read before their delta is passed on.
const PIECE_LINES: u64 = 4096;
/// Maximum number of events of one log that are held for display: about 200 MB. No session led by a person has that
/// many.
const EVENTS_MAX: usize = if cfg!(test) { 5_000 } else { 200_000 };
/// A turn has at least one event.
const TURNS_MAX: usize = EVENTS_MAX;
/// The same limit for faults and for the names of unknown record types.
const FAULTS_MAX: usize = 10_000;
const UNKNOWN_MAX: usize = 1_000;

/// The error of a log that could not be read at all. Invalid content is a fault, not an error.
#[derive(Debug, Error)]
pub enum LogError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not the log of an agent we know")]
    UnknownAgent { path: PathBuf },
}

impl LogError {
    /// Returns the cause without the path, for callers that print the path themselves.
    pub fn reason(&self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::UnknownAgent { .. } => "not the log of an agent we know".to_owned(),
        }
    }
}

/// The contents of one log.
#[derive(Debug)]
pub struct LogReading {
    pub path: PathBuf,
    pub agent: Agent,
    pub bytes: u64,
    pub reading: Reading,
    /// The fates of the lines of each part; the log is first.
    pub parts: Vec<PartReading>,
    /// Files beside the log that could not be read.
    pub unread: Vec<UnreadPath>,
    /// The number of items that were read and counted, but not held.
    pub left_out: LeftOut,
}

/// The number of items that are missing in a reading, because a log that is made to fill the memory must not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    pub events: u64,
    pub turns: u64,
    pub faults: u64,
}

/// The result of reading one part of a session.
#[derive(Debug)]
pub struct PartReading {
    pub kind: PartKind,
    pub path: PathBuf,
    pub bytes: u64,
    pub fates: Fates,
    clean: CleanLines,
}

impl LogReading {
    /// Returns the fates of the lines of the log itself.
    pub fn fates(&self) -> Fates {
        self.parts.first().map(|part| part.fates).unwrap_or_default()
    }
}

/// The contents of a session and its subagents.
#[derive(Debug)]
pub struct SessionReading {
    pub main: LogReading,
    pub subagents: Vec<LogReading>,
    pub unread: Vec<UnreadPath>,
}

impl SessionReading {
    /// Returns the log itself and those of its subagents.
    pub fn logs(&self) -> impl Iterator<Item = &LogReading> {
        std::iter::once(&self.main).chain(&self.subagents)
    }

    /// Returns the API calls that count, by log; each call is in one of them only.
    pub fn counted_calls(&self) -> Vec<Vec<&Call>> {
        let calls: Vec<&Call> = self.logs().flat_map(|log| &log.reading.calls).collect();
        let mut counted = calls.iter().copied().zip(counted(&calls));
        self.logs()
            .map(|log| {
                let own = counted.by_ref().take(log.reading.calls.len());
                own.filter(|(_, counts)| *counts).map(|(call, _)| call).collect()
            })
            .collect()
    }
}

/// Reads a session: its log and, if that is a main log, the logs of its subagents.
///
/// Only the owner may see a session unmasked: see [`Disclosure`].
pub fn read_session<'m>(
    path: &Path,
    agent: Option<Agent>,
    disclosure: impl Into<Disclosure<'m>>,
) -> Result<SessionReading, LogError> {
    let disclosure = disclosure.into();
    // A link means the log that it points to, because the other parts are beside that log.
    let place = path.is_symlink().then(|| sources::place_of(path));
    let path = place.as_deref().unwrap_or(path);
    let mut main = read_log(path, agent, disclosure)?;
    let mut session = SessionReading {
        unread: std::mem::take(&mut main.unread),
        main,
        subagents: Vec::new(),
    };
    let told = session.main.reading.session.as_ref();
    let Some(told) = told.filter(|told| session.main.agent == Agent::Claude && !told.is_subagent) else {
        return Ok(session);
    };
    let found = sources::subagents_of(path, &told.native_session_id);
    session.unread.extend(found.unread);
    for LogFile { path, .. } in found.logs {
        match read_log(&path, Some(Agent::Claude), disclosure) {
            Ok(mut log) => {
                session.unread.append(&mut log.unread);
                session.subagents.push(log);
            }
            Err(error) => session.unread.push(UnreadPath {
                path,
                reason: error.reason(),
            }),
        }
    }
    settle(&mut session);
    Ok(session)
}

/// Counts each API call once over all logs of the session.
fn settle(session: &mut SessionReading) {
    let tokens: Vec<Vec<Call>> = session
        .counted_calls()
        .into_iter()
        .map(|calls| calls.into_iter().cloned().collect())
        .collect();
    let logs = std::iter::once(&mut session.main).chain(&mut session.subagents);
    for (log, calls) in logs.zip(&tokens) {
        if let Some(session) = &mut log.reading.session {
            session.settle(calls.iter());
        }
    }
}

/// Reads one whole log, with the parts beside it.
pub fn read_log<'m>(
    path: &Path,
    agent: Option<Agent>,
    disclosure: impl Into<Disclosure<'m>>,
) -> Result<LogReading, LogError> {
    let disclosure = disclosure.into();
    let mut reading = Reading::default();
    let mut left_out = LeftOut::default();
    let mut read = read_pieces(path, agent, disclosure, &mut |delta| {
        reading.apply(delta);
        bound(&mut reading, &mut left_out);
    })?;
    reading.settle();
    let bytes = read.parts.first().map_or(0, |part| part.bytes);
    if let Some(session) = &mut reading.session {
        let path = path.display().to_string();
        session.source_path = Some(match disclosure.masker() {
            Some(masker) => masker.mask_str(&path, &mut Vec::new()).into_owned(),
            None => path,
        });
        session.source_bytes = bytes;
    }
    Ok(LogReading {
        path: path.to_owned(),
        agent: read.agent,
        bytes,
        reading,
        parts: std::mem::take(&mut read.parts),
        unread: read.unread,
        left_out,
    })
}

/// Truncates a reading to its limits and counts the items that it removes.
fn bound(reading: &mut Reading, left_out: &mut LeftOut) {
    let over = |length: usize, max: usize| length.saturating_sub(max) as u64;
    left_out.events += over(reading.events.len(), EVENTS_MAX);
    reading.events.truncate(EVENTS_MAX);
    left_out.faults += over(reading.faults.len(), FAULTS_MAX);
    reading.faults.truncate(FAULTS_MAX);
    // An open turn is part of every delta, so it must not be counted twice.
    let last = reading.turns.last().map_or(0, |turn| u64::from(turn.turn));
    if reading.turns.len() > TURNS_MAX {
        left_out.turns = left_out.turns.max(last.saturating_sub(TURNS_MAX as u64));
        reading.turns.truncate(TURNS_MAX);
    }
    bound_unknown(&mut reading.unknown);
}

/// Merges the record types beyond the limit into one.
fn bound_unknown(unknown: &mut BTreeMap<Unknown, u64>) {
    while unknown.len() > UNKNOWN_MAX {
        let Some((_, count)) = unknown.pop_last() else { return };
        let others = Unknown {
            version: None,
            record: "(other types)".to_owned(),
        };
        *unknown.entry(others).or_default() += count;
    }
}

/// The results of reading besides the deltas.
struct PiecesRead {
    agent: Agent,
    parts: Vec<PartReading>,
    unread: Vec<UnreadPath>,
}

/// Reads one whole log, with the parts beside it, and passes its deltas to `take` piece by piece.
fn read_pieces(
    path: &Path,
    agent: Option<Agent>,
    disclosure: Disclosure<'_>,
    take: &mut dyn FnMut(Delta),
) -> Result<PiecesRead, LogError> {
    let agent = match agent {
        Some(agent) => agent,
        None => agent_of_head(path)?,
    };
    let source = sources::find_source(agent, path);
    let origin = Origin::of(&sources::place_of(path).to_string_lossy());
    let mut state = State::new(agent, origin);
    let mut parts = Vec::new();
    let mut unread = sources::find_irregular_companions(agent, path);
    for part in &source.parts {
        let is_named = part.path == path;
        match read_part(agent, &mut state, part, disclosure, take) {
            Ok(part) if is_named => parts.insert(0, part),
            Ok(part) if part.kind.has_lines() => parts.push(part),
            Ok(_) => {}
            Err(source) if is_named => return Err(failed(path, source)),
            // If a companion cannot be read, only its own information is missing.
            Err(source) => unread.push(UnreadPath {
                path: part.path.clone(),
                reason: source.to_string(),
            }),
        }
    }
    let mut delta = Delta::default();
    state.close(&mut delta);
    take(delta);
    Ok(PiecesRead { agent, parts, unread })
}

/// Reads one part and passes its deltas to `take`.
fn read_part(
    agent: Agent,
    state: &mut State,
    part: &Part,
    disclosure: Disclosure<'_>,
    take: &mut dyn FnMut(Delta),
) -> io::Result<PartReading> {
    let (file, metadata) = files::open_regular(&part.path)?;
    let mut fates = Fates::default();
    let mut clean = CleanLines::default();
    let name = part.path.file_name().unwrap_or_default().to_string_lossy();
    let is_left_alone = sources::is_ignored_file(agent, &name);
    if is_left_alone || part.kind.has_lines() {
        let source = ingest::unpacked(&part.path, file)?;
        let mut lines = ingest::masked_lines(source, disclosure, LineForm::Json(Some(agent)));
        let mut delta = Delta::default();
        let mut hand_over = |state: &State, mut delta: Delta| {
            state.close(&mut delta);
            fates.add(&delta.fates);
            take(delta);
        };
        while let Some(line) = lines.next()? {
            if is_left_alone {
                delta
                    .fates
                    .count(if line.is_blank() { Fate::Blank } else { Fate::Skipped });
                line.skip();
                continue;
            }
            let number = line.number();
            state.take(part.kind, &line.mask_and_remember(&mut clean), &mut delta);
            if number % PIECE_LINES == 0 {
                hand_over(state, std::mem::take(&mut delta));
            }
        }
        match is_left_alone {
            true => fates.add(&delta.fates),
            false => hand_over(state, delta),
        }
    } else {
        let directory = part.path.parent().unwrap_or(Path::new(""));
        let bytes = files::read_companion(directory, &part.path)?;
        state.companion(
            part.kind,
            &ingest::mask_bytes(disclosure, LineForm::Text, &bytes, &mut Vec::new()),
        );
        // A companion is parsed as a whole: its lines yield no events, and all of them count as known.
        for line in breaks::lines(&bytes) {
            fates.count(if line.trim_ascii().is_empty() {
                Fate::Blank
            } else {
                Fate::Skipped
            });
        }
    }
    Ok(PartReading {
        kind: part.kind,
        path: part.path.clone(),
        bytes: metadata.len(),
        fates,
        clean,
    })
}

/// Reads a log again and passes each event that is `wanted` with its full text to `show`, in order.
///
/// The log may have grown since it was read, or be gone: an event with a missing line has no text.
pub fn each_text<E>(
    log: &LogReading,
    masker: &Masker,
    wanted: impl Fn(&SessionEvent) -> bool,
    mut show: impl FnMut(&SessionEvent, Option<String>) -> Result<(), E>,
) -> Result<Result<(), E>, LogError> {
    each_whole(log, masker, wanted, |event, whole| show(event, whole.text))
}

/// Reads the main part of a log again and passes on each line, masked. Skips lines that exceed the length limit.
pub(crate) fn each_masked_line<'m>(
    log: &LogReading,
    disclosure: impl Into<Disclosure<'m>>,
    take: &mut dyn FnMut(u64, &[u8]),
) -> Result<(), LogError> {
    let clean = log.parts.first().map(|part| &part.clean);
    let failed = |source| failed(&log.path, source);
    let mut lines = ingest::open_lines(&log.path, disclosure, LineForm::Json(Some(log.agent))).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let line = line.mask_again(clean, &mut Vec::new());
        if let Some(bytes) = line.bytes() {
            take(line.number(), bytes);
        }
    }
    Ok(())
}

/// Does the same as [`each_text`], with the images of the events.
pub fn each_whole<'m, E>(
    log: &LogReading,
    disclosure: impl Into<Disclosure<'m>>,
    wanted: impl Fn(&SessionEvent) -> bool,
    mut show: impl FnMut(&SessionEvent, Whole) -> Result<(), E>,
) -> Result<Result<(), E>, LogError> {
    // Events of other parts are short, and their summary is their whole text.
    let main = log.parts.first().map_or(PartKind::Log, |part| part.kind);
    let clean = log.parts.first().map(|part| &part.clean);
    let (events, others): (Vec<_>, Vec<_>) = log
        .reading
        .events
        .iter()
        .filter(|event| wanted(event))
        .partition(|event| event.part == main);
    // The text of a message may be on an earlier line than the one that delivered it.
    let mut at_line: HashMap<u64, Vec<&SessionEvent>> = HashMap::new();
    for event in &events {
        at_line
            .entry(event.text_line.unwrap_or(event.line))
            .or_default()
            .push(event);
    }
    let failed = |source| failed(&log.path, source);
    let mut lines = ingest::open_lines(&log.path, disclosure, LineForm::Json(Some(log.agent))).map_err(failed)?;
    let mut wholes: HashMap<u64, Whole> = HashMap::new();
    let mut waiting = events.into_iter().peekable();
    while waiting.peek().is_some() {
        let Some(line) = lines.next().map_err(failed)? else {
            break;
        };
        let number = line.number();
        match at_line.get(&number) {
            Some(events) => {
                let masked = line.mask_again(clean, &mut Vec::new());
                wholes.extend(
                    masked
                        .bytes()
                        .map(|bytes| whole::of_line(log.agent, bytes, events))
                        .unwrap_or_default(),
                );
            }
            // A token that was streamed over several lines may begin in a line that is not shown.
            None => line.skip(),
        }
        while let Some(event) = waiting.next_if(|event| event.line <= number) {
            if let Err(error) = show(event, wholes.remove(&event.seq).unwrap_or_default()) {
                return Ok(Err(error));
            }
        }
    }
    Ok(waiting
        .chain(others)
        .try_for_each(|event| show(event, Whole::default())))
}

fn failed(path: &Path, source: io::Error) -> LogError {
    LogError::Io {
        path: path.to_owned(),
        source,
    }
}
