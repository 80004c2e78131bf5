//! The resuming reader: a state and the next lines give a delta and the next state.
//!
//! For every log and every way to cut it in pieces, reading in pieces gives the same as reading whole.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::agent::{Agent, Origin};
use crate::claude;
use crate::event::PartKind;
use crate::lines::{Line, LineBody, Lines};
use crate::reading::Delta;

/// All that a reader remembers between two pieces of a log. Small, and versioned: see [`State::to_bytes`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Lines read of each part that has lines.
    lines: BTreeMap<PartKind, u64>,
    reader: Reader,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Reader {
    Claude(Box<claude::State>),
}

/// Why a stored state cannot be used: the log is then read again from its start.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StateError {
    #[error("the state was written by another version of the reader")]
    OtherVersion,
    #[error("the state is damaged")]
    Damaged,
}

impl State {
    /// A reader at the start of a log. None where we cannot read the agent's logs yet.
    pub fn new(agent: Agent, origin: Origin) -> Option<Self> {
        let reader = match agent {
            Agent::Claude => Reader::Claude(Box::new(claude::State::new(origin))),
            Agent::Codex | Agent::Grok => return None,
        };
        Some(Self {
            lines: BTreeMap::new(),
            reader,
        })
    }

    /// How many lines of a part were read.
    pub fn lines(&self, part: PartKind) -> u64 {
        self.lines.get(&part).copied().unwrap_or_default()
    }

    /// Takes the facts of a companion: a small file beside the log, read whole. Its newest content counts,
    /// and it does not matter whether it comes before or after the lines.
    pub fn companion(&mut self, part: PartKind, bytes: &[u8]) {
        let Reader::Claude(reader) = &mut self.reader;
        if part == PartKind::Meta {
            reader.meta(bytes);
        }
    }

    /// Reads one line of a part.
    pub fn take(&mut self, part: PartKind, line: &Line<'_>, delta: &mut Delta) {
        self.lines.insert(part, line.number);
        let Reader::Claude(reader) = &mut self.reader;
        match line.body {
            LineBody::Bytes(bytes) => reader.take(line.number, bytes, delta),
            LineBody::Oversized { length, hash } => {
                let reason = format!("line of {length} bytes is too long to read (blake3 {})", hash.to_hex());
                reader.pass_over(line.number, reason, delta);
            }
        }
    }

    /// Ends a piece: the delta now tells the session and the open turn as they stand.
    pub fn close(&self, delta: &mut Delta) {
        let Reader::Claude(reader) = &self.reader;
        reader.close(delta);
    }

    /// Reads all lines of a part that are there.
    pub fn resume<R: Read>(&mut self, part: PartKind, lines: &mut Lines<R>) -> io::Result<Delta> {
        let mut delta = Delta::default();
        while let Some(line) = lines.next()? {
            self.take(part, &line, &mut delta);
        }
        self.close(&mut delta);
        Ok(delta)
    }

    /// The state as bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.version().to_le_bytes().to_vec();
        bytes.extend(postcard::to_stdvec(self).expect("a state has no type that cannot be written"));
        bytes
    }

    /// Reads a kept state back.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let (version, rest) = bytes.split_first_chunk().ok_or(StateError::Damaged)?;
        let version = u16::from_le_bytes(*version);
        if version != claude::VERSION {
            return Err(StateError::OtherVersion);
        }
        postcard::from_bytes(rest).map_err(|_| StateError::Damaged)
    }

    fn version(&self) -> u16 {
        match self.reader {
            Reader::Claude(_) => claude::VERSION,
        }
    }
}

/// The full text of one block of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub text: String,
    /// The human's words inside it, where a tool's result carries some.
    pub words: Option<String>,
}

/// The full texts of a line's blocks, in the order of [`crate::SessionEvent::block`].
pub fn bodies(agent: Agent, line: &[u8]) -> Vec<Body> {
    match agent {
        Agent::Claude => claude::bodies(line),
        Agent::Codex | Agent::Grok => Vec::new(),
    }
}
