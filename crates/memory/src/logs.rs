//! Reads logs from disk: one file, or a session with all its parts.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;
use transcript::{
    Actor, Agent, Body, Call, Delta, Fate, Fates, Line, LineBody, Lines, Origin, Part, PartKind, Reading, Role,
    SafeName, SessionEvent, State, bodies, counted, detect,
};

use crate::files;
use crate::mask::{Masker, TextState};
use crate::sources::{self, Log, Unread};

/// How much of a log is looked at to tell its agent.
const HEAD_BYTES: u64 = 1 << 20;
/// A window of zstd larger than 128 MiB is refused: it would be held in memory.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// How much of a spilled result is shown.
const SPILL_BYTES_MAX: u64 = 16 << 20;

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
}

/// One part of a session, read.
#[derive(Debug)]
pub struct PartReading {
    pub kind: PartKind,
    pub path: PathBuf,
    pub bytes: u64,
    pub fates: Fates,
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
pub fn read_session(path: &Path, agent: Option<Agent>, masker: &Masker) -> Result<SessionReading, LogError> {
    let main = read_log(path, agent, Some(masker))?;
    let mut session = SessionReading {
        main,
        subagents: Vec::new(),
        unread: Vec::new(),
    };
    let told = session.main.reading.session.as_ref();
    let Some(told) = told.filter(|told| session.main.agent == Agent::Claude && !told.is_subagent) else {
        return Ok(session);
    };
    let found = sources::subagents_of(path, &told.native_session_id);
    session.unread = found.unread;
    for Log { path, .. } in found.logs {
        match read_log(&path, Some(Agent::Claude), Some(masker)) {
            Ok(log) => session.subagents.push(log),
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

/// Reads one log whole, with the parts that lie beside it. Whoever shows what stands in it masks secrets;
/// whoever only counts need not.
pub fn read_log(path: &Path, agent: Option<Agent>, masker: Option<&Masker>) -> Result<LogReading, LogError> {
    let agent = match agent {
        Some(agent) => agent,
        None => tell_agent(path)?,
    };
    let source = sources::source_of(agent, path);
    let origin = Origin::of(&sources::place_of(path).to_string_lossy());
    let mut state = State::new(agent, origin);
    let mut reading = Reading::default();
    let mut parts = Vec::new();
    for part in &source.parts {
        let is_named = part.path == path;
        match read_part(agent, &mut state, &mut reading, part, masker) {
            Ok(part) if is_named => parts.insert(0, part),
            Ok(part) if part.kind.has_lines() => parts.push(part),
            Ok(_) => {}
            Err(source) if is_named => return Err(failed(path, source)),
            // A companion that cannot be read tells nothing.
            Err(_) => {}
        }
    }
    let mut delta = Delta::default();
    state.close(&mut delta);
    reading.apply(delta);
    reading.settle();
    let bytes = parts.first().map_or(0, |part| part.bytes);
    if let Some(session) = &mut reading.session {
        session.source_path = Some(path.display().to_string());
        session.source_bytes = bytes;
    }
    Ok(LogReading {
        path: path.to_owned(),
        agent,
        bytes,
        reading,
        parts,
    })
}

/// Reads one part into the reading.
fn read_part(
    agent: Agent,
    state: &mut State,
    reading: &mut Reading,
    part: &Part,
    masker: Option<&Masker>,
) -> io::Result<PartReading> {
    let (file, metadata) = files::open(&part.path)?;
    let mut fates = Fates::default();
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
        while let Some(line) = lines.next()? {
            match (masker, line.body) {
                (Some(masker), LineBody::Bytes(bytes)) => {
                    let masked = masker.mask_json_line(bytes, &mut Vec::new());
                    let body = LineBody::Bytes(&masked);
                    state.take(part.kind, &Line { body, ..line }, &mut delta);
                }
                _ => state.take(part.kind, &line, &mut delta),
            }
        }
        state.close(&mut delta);
        fates = delta.fates;
        reading.apply(delta);
    } else {
        let directory = part.path.parent().unwrap_or(Path::new(""));
        let bytes = files::read_companion(directory, &part.path)?;
        let masked = masker.map_or(bytes.clone(), |masker| mask_text(masker, &bytes));
        state.companion(part.kind, &masked);
        // Read whole: its lines give no events, and all of them are known.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
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
    // Other parts are short; their summaries are all there is to show of them.
    let main = log.parts.first().map_or(PartKind::Log, |part| part.kind);
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
    let mut texts: HashMap<u64, String> = HashMap::new();
    let mut waiting = events.into_iter().peekable();
    while waiting.peek().is_some() {
        let Some(line) = lines.next().map_err(|source| failed(&log.path, source))? else {
            break;
        };
        if let (Some(events), LineBody::Bytes(bytes)) = (at_line.get(&line.number), line.body) {
            let bodies = bodies(log.agent, &masker.mask_json_line(bytes, &mut Vec::new()));
            texts.extend(
                events
                    .iter()
                    .filter_map(|event| Some((event.seq, text_of(event, &bodies)?))),
            );
        }
        while let Some(event) = waiting.next_if(|event| event.line <= line.number) {
            if let Err(error) = show(event, texts.remove(&event.seq)) {
                return Ok(Err(error));
            }
        }
    }
    Ok(waiting.chain(others).try_for_each(|event| show(event, None)))
}

/// The text of an event among the bodies of its line.
fn text_of(event: &SessionEvent, bodies: &[Body]) -> Option<String> {
    // A queued prompt is the only thing on the line where it was typed.
    let body = bodies.get(if event.text_line.is_some() {
        0
    } else {
        event.block as usize
    })?;
    match event.actor {
        Actor::Human if event.role == Role::User => Some(body.words.as_ref().unwrap_or(&body.text).clone()),
        _ => Some(body.text.clone()),
    }
}

/// The whole result of a tool that was too large for the log, from the session's own tree alone.
pub fn spilled(log: &Path, event: &SessionEvent, masker: &Masker) -> Option<String> {
    let name = SafeName::new(event.spill.as_deref()?)?;
    let tree = session_tree(&sources::place_of(log))?;
    let path = files::inside(&tree, &tree.join("tool-results").join(name.as_str())).ok()?;
    let (file, _) = files::open(&path).ok()?;
    let mut bytes = Vec::new();
    file.take(SPILL_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&mask_text(masker, &bytes)).into_owned())
}

/// Masks plain text, line by line.
pub(crate) fn mask_text(masker: &Masker, bytes: &[u8]) -> Vec<u8> {
    let mut state = TextState::default();
    let mut masked = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let (body, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |body| (body, b"\n"));
        masked.extend_from_slice(&masker.mask_text_line(&mut state, body, &mut Vec::new()));
        masked.extend_from_slice(end);
    }
    masked
}

/// The directory that belongs to the session of a log, for a subagent's log its parent's.
fn session_tree(log: &Path) -> Option<PathBuf> {
    let mut ancestors = log.ancestors();
    let above = ancestors.find(|path| path.file_name().is_some_and(|name| name == "subagents"));
    match above {
        Some(subagents) => subagents.parent().map(Path::to_owned),
        None => Some(log.parent()?.join(log.file_stem()?)),
    }
}

/// Tells the agent of a log by its first lines.
fn tell_agent(path: &Path) -> Result<Agent, LogError> {
    let (file, _) = files::open(path).map_err(|source| failed(path, source))?;
    let mut head = Vec::new();
    let read = unpacked(path, file).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.map_err(|source| failed(path, source))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // An empty log says nothing yet; whoever keeps one in such a place will write it.
    let is_empty = head.iter().all(|byte| byte.is_ascii_whitespace());
    let told = sources::agent_of_companion(&name).or_else(|| detect(&head));
    told.or_else(|| is_empty.then(|| by_place(&name)))
        .ok_or_else(|| LogError::UnknownAgent { path: path.to_owned() })
}

/// A guess for a log that is still empty.
fn by_place(name: &str) -> Agent {
    if name.starts_with("rollout-") {
        Agent::Codex
    } else {
        Agent::Claude
    }
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
