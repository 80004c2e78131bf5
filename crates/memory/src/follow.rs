//! A session that still runs, followed: what its agent appends to the log becomes events at once. Nothing is written;
//! the next sweep keeps it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use transcript::{Agent, Delta, Origin, PartKind, State, bodies};

use crate::files;
use crate::ingest::{self, LineForm, LineMasker};
use crate::kept;
use crate::logs;
use crate::mask::{LineState, Masker};
use crate::store::{Cursor, Store, StoreError};
use crate::sweep::ends;

/// How far a log was followed.
pub struct Follow {
    agent: Agent,
    path: PathBuf,
    part: PartKind,
    state: State,
    /// What the lines that were read left for the masker, or `None` before the first poll.
    streams: Option<LineState>,
    lines: u64,
    read_to: u64,
    ends_mid_line: bool,
}

/// What was appended.
#[derive(Debug, Default)]
pub struct Appended {
    pub delta: Delta,
    /// The whole texts of its events, by `seq`.
    pub texts: HashMap<u64, String>,
}

/// Why a log can no longer be followed.
#[derive(Debug)]
pub enum Lost {
    /// It is shorter than what was read of it.
    Rewritten,
    Unreadable(io::Error),
}

impl Follow {
    /// Begins where the memory ends; none where the log is not there, or cannot be followed. The first poll gives all
    /// that the memory does not have yet, or the whole log where it is another one than was kept.
    pub fn open(store: &Store, session_uid: &str) -> Result<Option<Self>, StoreError> {
        let cursors = store.reads().cursors_of(session_uid)?;
        let is_log = |cursor: &&Cursor| matches!(cursor.part.as_str(), "log" | "chat_history");
        let mut logs = cursors.iter().filter(is_log).filter(|cursor| !cursor.marks_copy());
        let Some(cursor) = logs.rfind(|cursor| Path::new(&cursor.path).is_file()) else {
            return Ok(None);
        };
        let path = PathBuf::from(&cursor.path);
        if ingest::is_packed(&path) {
            return Ok(None);
        }
        let state = store.reads().reader_state(session_uid)?;
        let state = state.and_then(|bytes| State::from_bytes(&bytes).ok());
        let look = files::open_regular(&path).and_then(|(file, _)| ends::look(&path, &file, cursor));
        let goes_on = look.is_ok_and(|look| look.ends.is_some());
        let agent = kept::agent_of(session_uid)?;
        let part = PartKind::of_name(&cursor.part).unwrap_or(PartKind::Log);
        Ok(Some(match state.filter(|_| goes_on) {
            Some(state) => Self {
                agent,
                path,
                part,
                state,
                streams: None,
                lines: cursor.lines,
                read_to: cursor.read_to,
                ends_mid_line: cursor.ends_mid_line,
            },
            None => Self {
                state: State::new(agent, Origin::of(&cursor.path)),
                agent,
                path,
                part,
                streams: None,
                lines: 0,
                read_to: 0,
                ends_mid_line: false,
            },
        }))
    }

    /// Where the log lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which part of the session it follows.
    pub fn part(&self) -> PartKind {
        self.part
    }

    /// What was appended since the last time. A line that is still being written waits for its end.
    pub fn poll(&mut self, masker: &Masker) -> Result<Appended, Lost> {
        let mut appended = Appended::default();
        let delta = &mut appended.delta;
        let (file, metadata) = files::open_regular(&self.path).map_err(Lost::Unreadable)?;
        if metadata.len() < self.read_to {
            return Err(Lost::Rewritten);
        }
        if metadata.len() == self.read_to {
            return Ok(appended);
        }
        let form = LineForm::Json(Some(self.agent));
        let mut source = ingest::unpacked(&self.path, file).map_err(Lost::Unreadable)?;
        let line_masker = match self.streams.take() {
            Some(streams) => {
                source.seek_to(self.read_to).map_err(Lost::Unreadable)?;
                LineMasker::resume(masker, form, streams)
            }
            None => {
                let mut first = LineMasker::new(masker, form);
                source
                    .seek_to_line(self.read_to, &mut first)
                    .map_err(Lost::Unreadable)?;
                first
            }
        };
        let mut lines = ingest::resume_lines(source, self.lines, self.read_to, line_masker);
        while let Some(line) = lines.next().map_err(Lost::Unreadable)? {
            if !line.is_terminated() {
                break;
            }
            let length = line.length();
            self.read_to += length + 1;
            if std::mem::take(&mut self.ends_mid_line) {
                // The break of a line that was taken without one.
                if length == 0 {
                    continue;
                }
                // The line went on: alone, its rest is no record, and may be the rest of a token.
                self.restart();
                return self.poll(masker);
            }
            self.lines += 1;
            let line = line.mask(&mut Vec::new()).with_number(self.lines);
            let first = delta.events.len();
            self.state.take(self.part, &line, delta);
            if let Some(bytes) = line.bytes() {
                let bodies = bodies(self.agent, bytes);
                let own = delta.events[first..].iter().filter(|event| event.text_line.is_none());
                let found = own.filter_map(|event| Some((event.seq, logs::text_of(event, &bodies)?)));
                appended.texts.extend(found);
            }
        }
        self.streams = Some(lines.into_masker().into_streams());
        self.state.close(delta);
        Ok(appended)
    }

    /// Goes back to the beginning of the log.
    fn restart(&mut self) {
        self.state = State::new(self.agent, Origin::of(&self.path.to_string_lossy()));
        self.streams = None;
        (self.lines, self.read_to, self.ends_mid_line) = (0, 0, false);
    }
}
