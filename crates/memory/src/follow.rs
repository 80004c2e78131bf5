//! Follows a running session: lines that its agent appends to the log become events at once. Nothing is written; the
//! next sweep stores them.

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

/// The position up to which a log was followed.
pub struct Follow {
    agent: Agent,
    path: PathBuf,
    part: PartKind,
    state: State,
    /// The state of masking after the lines that were read, or `None` before the first poll.
    streams: Option<LineState>,
    lines: u64,
    read_to: u64,
    ends_mid_line: bool,
}

/// The events that were appended to a log since the last poll.
#[derive(Debug, Default)]
pub struct Appended {
    pub delta: Delta,
    /// The full texts of its events, by `seq`.
    pub texts: HashMap<u64, String>,
}

/// The reason why a log can no longer be followed.
#[derive(Debug)]
pub enum Lost {
    /// The log is shorter than the part that was already read.
    Rewritten,
    Unreadable(io::Error),
}

impl Follow {
    /// Starts at the position where the memory ends. Returns `None` if the log does not exist or cannot be followed.
    /// The first poll returns all that the memory does not contain yet, or the whole log if its beginning has changed.
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

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the part of the session that is followed.
    pub fn part(&self) -> PartKind {
        self.part
    }

    /// Returns the events since the last poll. A line that is still being written is left for a later poll.
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
                // The line break of a line that was read without one.
                if length == 0 {
                    continue;
                }
                // The line has grown. The new bytes alone are not a record, and may be the rest of a token.
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
