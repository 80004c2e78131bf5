//! Reads logs from disk: one file, or a session with all its parts.

mod head;
mod masked;
mod plain;
mod sketch;
mod spills;
mod survey;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;
use transcript::{
    Agent, Call, Delta, Fate, Fates, Line, LineBody, Lines, Origin, Part, PartKind, Reading, SessionEvent, State,
    Unknown, counted,
};

pub use head::{agent_of_head, cwd_of_head};
pub(crate) use masked::each_masked_line;
use masked::mask_line;
use plain::Plain;
pub(crate) use sketch::sketch;
pub(crate) use spills::mask_text;
pub use spills::spilled;
pub(crate) use spills::{session_tree, spills_of};
pub(crate) use survey::{Survey, survey};

use crate::breaks;
use crate::files;
use crate::mask::{LineState, Masker};
use crate::sources::{self, Log, Unread};
pub(crate) use crate::whole::text_of;
use crate::whole::{self, Whole};

/// A window of zstd larger than 128 MiB is refused: it would be held in memory.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// So many lines are read at once before what they gave is handed over.
const PIECE_LINES: u64 = 4096;
/// How many events of one log are held to be shown: about 200 MB. No session a person led has so many.
const EVENTS_MAX: usize = if cfg!(test) { 5_000 } else { 200_000 };
/// A turn has at least one event.
const TURNS_MAX: usize = EVENTS_MAX;
/// The same for faults and the names of unknown record types.
const FAULTS_MAX: usize = 10_000;
const UNKNOWN_MAX: usize = 1_000;

/// Why a log could not be read at all. What is wrong inside of it is a fault, and no error.
#[derive(Debug, Error)]
pub enum LogError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not the log of an agent we know")]
    UnknownAgent { path: PathBuf },
}

impl LogError {
    /// What is wrong, for whoever names the path himself.
    pub fn reason(&self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::UnknownAgent { .. } => "not the log of an agent we know".to_owned(),
        }
    }
}

/// One log, read.
#[derive(Debug)]
pub struct LogReading {
    pub path: PathBuf,
    pub agent: Agent,
    pub bytes: u64,
    pub reading: Reading,
    /// What became of the lines of each part; the log comes first.
    pub parts: Vec<PartReading>,
    /// Files beside the log that could not be read.
    pub unread: Vec<Unread>,
    /// What was read and counted, and is too much to be held.
    pub left_out: LeftOut,
}

/// How much of a log is not in its reading, because a log made to fill the memory would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    pub events: u64,
    pub turns: u64,
    pub faults: u64,
}

/// One part of a session, read.
#[derive(Debug)]
pub struct PartReading {
    pub kind: PartKind,
    pub path: PathBuf,
    pub bytes: u64,
    pub fates: Fates,
    plain: Plain,
}

impl LogReading {
    /// What became of the lines of the log itself.
    pub fn fates(&self) -> Fates {
        self.parts.first().map(|part| part.fates).unwrap_or_default()
    }
}

/// A session, read with its subagents.
#[derive(Debug)]
pub struct SessionReading {
    pub main: LogReading,
    pub subagents: Vec<LogReading>,
    pub unread: Vec<Unread>,
}

impl SessionReading {
    /// The log itself and those of its subagents.
    pub fn logs(&self) -> impl Iterator<Item = &LogReading> {
        std::iter::once(&self.main).chain(&self.subagents)
    }

    /// The API calls that count, log by log, each call in one of them.
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

/// Reads a session: its log, and the logs of its subagents where the log is a main one.
///
/// Only its owner may see a session unmasked: whoever shows it to anybody gives a masker.
pub fn read_session<'m>(
    path: &Path,
    agent: Option<Agent>,
    masker: impl Into<Option<&'m Masker>>,
) -> Result<SessionReading, LogError> {
    let masker = masker.into();
    // Whoever names a link means what it leads to.
    let place = path.is_symlink().then(|| sources::place_of(path));
    let path = place.as_deref().unwrap_or(path);
    let mut main = read_log(path, agent, masker)?;
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
    for Log { path, .. } in found.logs {
        match read_log(&path, Some(Agent::Claude), masker) {
            Ok(mut log) => {
                session.unread.append(&mut log.unread);
                session.subagents.push(log);
            }
            Err(error) => session.unread.push(Unread {
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

/// Reads one log whole, with the parts that lie beside it. Whoever shows what stands in it masks secrets.
pub fn read_log(path: &Path, agent: Option<Agent>, masker: Option<&Masker>) -> Result<LogReading, LogError> {
    let mut reading = Reading::default();
    let mut left_out = LeftOut::default();
    let mut read = read_pieces(path, agent, masker, &mut |delta| {
        reading.apply(delta);
        bound(&mut reading, &mut left_out);
    })?;
    reading.settle();
    let bytes = read.parts.first().map_or(0, |part| part.bytes);
    if let Some(session) = &mut reading.session {
        session.source_path = Some(path.display().to_string());
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

/// Keeps a reading small enough to be held, and counts what goes.
fn bound(reading: &mut Reading, left_out: &mut LeftOut) {
    let over = |length: usize, max: usize| length.saturating_sub(max) as u64;
    left_out.events += over(reading.events.len(), EVENTS_MAX);
    reading.events.truncate(EVENTS_MAX);
    left_out.faults += over(reading.faults.len(), FAULTS_MAX);
    reading.faults.truncate(FAULTS_MAX);
    // A turn that is still open comes again with every piece.
    let last = reading.turns.last().map_or(0, |turn| u64::from(turn.turn));
    if reading.turns.len() > TURNS_MAX {
        left_out.turns = left_out.turns.max(last.saturating_sub(TURNS_MAX as u64));
        reading.turns.truncate(TURNS_MAX);
    }
    bound_unknown(&mut reading.unknown);
}

/// Record types beyond the first thousand are one.
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

/// What was read beside the deltas.
struct PiecesRead {
    agent: Agent,
    parts: Vec<PartReading>,
    unread: Vec<Unread>,
}

/// Reads one log whole, with the parts that lie beside it, and hands over what it gives piece by piece.
fn read_pieces(
    path: &Path,
    agent: Option<Agent>,
    masker: Option<&Masker>,
    take: &mut dyn FnMut(Delta),
) -> Result<PiecesRead, LogError> {
    let agent = match agent {
        Some(agent) => agent,
        None => agent_of_head(path)?,
    };
    let source = sources::source_of(agent, path);
    let origin = Origin::of(&sources::place_of(path).to_string_lossy());
    let mut state = State::new(agent, origin);
    let mut parts = Vec::new();
    let mut unread = sources::odd_companions(agent, path);
    for part in &source.parts {
        let is_named = part.path == path;
        match read_part(agent, &mut state, part, masker, take) {
            Ok(part) if is_named => parts.insert(0, part),
            Ok(part) if part.kind.has_lines() => parts.push(part),
            Ok(_) => {}
            Err(source) if is_named => return Err(failed(path, source)),
            // A companion that cannot be read costs what it would tell, and nothing else.
            Err(source) => unread.push(Unread {
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

/// Reads one part, and hands over what it gives.
fn read_part(
    agent: Agent,
    state: &mut State,
    part: &Part,
    masker: Option<&Masker>,
    take: &mut dyn FnMut(Delta),
) -> io::Result<PartReading> {
    let (file, metadata) = files::open(&part.path)?;
    let mut fates = Fates::default();
    let mut plain = Plain::default();
    let name = part.path.file_name().unwrap_or_default().to_string_lossy();
    if sources::is_left_alone(agent, &name) {
        let mut lines = Lines::new(unpacked(&part.path, file)?);
        while let Some(line) = lines.next()? {
            let is_blank = matches!(line.body, LineBody::Bytes(bytes) if bytes.trim_ascii().is_empty());
            fates.count(if is_blank { Fate::Blank } else { Fate::Skipped });
        }
    } else if part.kind.has_lines() {
        let mut lines = Lines::new(unpacked(&part.path, file)?);
        let mut delta = Delta::default();
        let mut line_state = LineState::default();
        let mut hand_over = |state: &State, mut delta: Delta| {
            state.close(&mut delta);
            fates.add(&delta.fates);
            take(delta);
        };
        while let Some(line) = lines.next()? {
            let number = line.number;
            match (masker, line.body) {
                (Some(masker), LineBody::Bytes(bytes)) => {
                    let masked = plain.mask(masker, &mut line_state, number, bytes);
                    let body = LineBody::Bytes(&masked);
                    state.take(part.kind, &Line { body, ..line }, &mut delta);
                }
                _ => state.take(part.kind, &line, &mut delta),
            }
            if number % PIECE_LINES == 0 {
                hand_over(state, std::mem::take(&mut delta));
            }
        }
        hand_over(state, delta);
    } else {
        let directory = part.path.parent().unwrap_or(Path::new(""));
        let bytes = files::read_companion(directory, &part.path)?;
        let masked = masker.map_or(bytes.clone(), |masker| mask_text(masker, &bytes));
        state.companion(part.kind, &masked);
        // Read whole: its lines give no events, and all of them are known.
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
        plain,
    })
}

/// Runs over a log once more and gives each event that is `wanted` with its full text, in order.
///
/// The log may have grown since it was read, or be gone: an event whose line is no longer there comes
/// without its text.
pub fn each_text<E>(
    log: &LogReading,
    masker: &Masker,
    wanted: impl Fn(&SessionEvent) -> bool,
    mut show: impl FnMut(&SessionEvent, Option<String>) -> Result<(), E>,
) -> Result<Result<(), E>, LogError> {
    each_whole(log, Some(masker), wanted, |event, whole| show(event, whole.text))
}

/// The same with the pictures that belong to the events.
pub fn each_whole<E>(
    log: &LogReading,
    masker: Option<&Masker>,
    wanted: impl Fn(&SessionEvent) -> bool,
    mut show: impl FnMut(&SessionEvent, Whole) -> Result<(), E>,
) -> Result<Result<(), E>, LogError> {
    // Other parts are short; their summaries are all there is to show of them.
    let main = log.parts.first().map_or(PartKind::Log, |part| part.kind);
    let plain = log.parts.first().map(|part| &part.plain);
    let (events, others): (Vec<_>, Vec<_>) = log
        .reading
        .events
        .iter()
        .filter(|event| wanted(event))
        .partition(|event| event.part == main);
    // Words may stand on an earlier line than the one on which they were delivered.
    let mut at_line: HashMap<u64, Vec<&SessionEvent>> = HashMap::new();
    for event in &events {
        at_line
            .entry(event.text_line.unwrap_or(event.line))
            .or_default()
            .push(event);
    }
    let (file, _) = files::open(&log.path).map_err(|source| failed(&log.path, source))?;
    let mut lines = Lines::new(unpacked(&log.path, file).map_err(|source| failed(&log.path, source))?);
    let mut wholes: HashMap<u64, Whole> = HashMap::new();
    let mut waiting = events.into_iter().peekable();
    let mut line_state = LineState::default();
    while waiting.peek().is_some() {
        let Some(line) = lines.next().map_err(|source| failed(&log.path, source))? else {
            break;
        };
        match (at_line.get(&line.number), line.body, masker) {
            (Some(events), LineBody::Bytes(bytes), masker) => {
                let masked = mask_line(plain, masker, &mut line_state, line.number, bytes);
                wholes.extend(whole::of_line(log.agent, &masked, events));
            }
            // A token that was streamed over several lines may begin in one that is not shown.
            (None, LineBody::Bytes(bytes), Some(masker)) => masker.skip_line(&mut line_state, bytes),
            _ => {}
        }
        while let Some(event) = waiting.next_if(|event| event.line <= line.number) {
            if let Err(error) = show(event, wholes.remove(&event.seq).unwrap_or_default()) {
                return Ok(Err(error));
            }
        }
    }
    Ok(waiting
        .chain(others)
        .try_for_each(|event| show(event, Whole::default())))
}

/// The bytes of a log, whether it is compressed or not.
pub(crate) enum Unpacked {
    Plain(File),
    Packed(Box<zstd::Decoder<'static, BufReader<File>>>),
}

impl Unpacked {
    /// Goes to a place in the bytes. In compressed ones only forwards, by reading.
    pub(crate) fn seek_to(&mut self, at: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.seek(SeekFrom::Start(at)).map(|_| ()),
            Self::Packed(decoder) => io::copy(&mut decoder.by_ref().take(at), &mut io::sink()).map(|_| ()),
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Packed(decoder) => decoder.read(buffer),
        }
    }
}

/// Whether a log is compressed, by its name.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Opens the bytes of a log.
pub(crate) fn unpacked(path: &Path, file: File) -> io::Result<Unpacked> {
    if !is_packed(path) {
        return Ok(Unpacked::Plain(file));
    }
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(Unpacked::Packed(Box::new(decoder)))
}

fn failed(path: &Path, source: io::Error) -> LogError {
    LogError::Io {
        path: path.to_owned(),
        source,
    }
}
