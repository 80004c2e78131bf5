//! The resumable reader: a state and the next lines give a delta and the next state.
//!
//! For every log and every way to split it into pieces, reading in pieces gives the same result as reading it whole.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::agent::{Agent, Origin};
use crate::claude;
use crate::codex;
use crate::event::PartKind;
use crate::grok;
use crate::lines::{LineBody, Lines, MaskedLine};
use crate::reading::Delta;
use crate::texts::{Tell, send_blocks};

/// Everything a reader remembers between two pieces of a log. Small, and versioned: see [`State::to_bytes`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number of lines read of each part that has lines.
    lines: BTreeMap<PartKind, u64>,
    reader: AgentReader,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum AgentReader {
    Claude(Box<claude::ClaudeState>),
    Codex(Box<codex::CodexState>),
    Grok(Box<grok::GrokState>),
}

/// Each reader has its own version number, so these bits say which reader wrote a state.
const CLAUDE: u16 = 0x0000;
const CODEX: u16 = 0x1000;
const GROK: u16 = 0x2000;

/// Why a stored state cannot be used: the log must then be read again from its start.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StateError {
    #[error("the state was written by another version of the reader")]
    OtherVersion,
    #[error("the state is damaged")]
    Damaged,
}

impl State {
    /// Returns a reader at the start of a log.
    pub fn new(agent: Agent, origin: Origin) -> Self {
        let reader = match agent {
            Agent::Claude => AgentReader::Claude(Box::new(claude::ClaudeState::new(origin))),
            Agent::Grok => AgentReader::Grok(Box::new(grok::GrokState::new(origin))),
            Agent::Codex => AgentReader::Codex(Box::new(codex::CodexState::new(origin))),
        };
        Self {
            lines: BTreeMap::new(),
            reader,
        }
    }

    /// Returns the number of lines of a part that were read.
    pub fn lines(&self, part: PartKind) -> u64 {
        self.lines.get(&part).copied().unwrap_or_default()
    }

    /// Reads a companion: a small file beside the log, read as a whole. Its newest content counts, and it may be read
    /// before or after the lines. Grok's `summary.json` and `prompt_context.json` say who writes the prompts and
    /// should be read first: see [`State::is_stale`].
    pub fn companion(&mut self, part: PartKind, bytes: &[u8]) {
        match &mut self.reader {
            AgentReader::Claude(reader) if part == PartKind::Meta => reader.read_meta(bytes),
            AgentReader::Claude(_) => {}
            AgentReader::Codex(reader) => reader.read_companion(part, bytes),
            AgentReader::Grok(reader) => reader.read_companion(part, bytes),
        }
    }

    /// Returns `true` if a companion or a part that came late changed the meaning of lines that were read before. The
    /// session must then be read again from its start.
    pub fn is_stale(&self) -> bool {
        match &self.reader {
            AgentReader::Claude(_) | AgentReader::Codex(_) => false,
            AgentReader::Grok(reader) => reader.is_stale(),
        }
    }

    /// Returns `true` if no further line can change which session this is.
    pub fn is_named(&self) -> bool {
        match &self.reader {
            AgentReader::Claude(reader) => reader.is_identified(),
            AgentReader::Codex(reader) => reader.is_identified(),
            AgentReader::Grok(_) => false,
        }
    }

    /// Reads one line of a part.
    pub fn take(&mut self, part: PartKind, line: &MaskedLine<'_>, delta: &mut Delta) {
        self.take_telling(part, line, delta, None);
    }

    /// Like [`State::take`], and also passes the searchable texts of the line to `sink`, if there is one.
    pub fn take_telling(
        &mut self,
        part: PartKind,
        line: &MaskedLine<'_>,
        delta: &mut Delta,
        sink: Option<&mut Tell<'_>>,
    ) {
        let number = line.number();
        self.lines.insert(part, number);
        match line.body() {
            LineBody::Bytes(bytes) => match &mut self.reader {
                // Claude's reader passes the texts on itself, because most of its lines are texts and parsing them
                // twice is slow.
                AgentReader::Claude(reader) => reader.read_line(number, bytes, delta, sink),
                AgentReader::Codex(reader) => {
                    if let Some(sink) = sink {
                        send_blocks(codex::blocks(bytes), sink);
                    }
                    reader.read_line(number, bytes, delta);
                }
                AgentReader::Grok(reader) => {
                    if let Some(sink) = sink {
                        send_blocks(grok::blocks(bytes), sink);
                    }
                    reader.read_line(part, number, bytes, delta);
                }
            },
            LineBody::Oversized { length, hash } => {
                let reason = format!("line of {length} bytes is too long to read (blake3 {})", hash.to_hex());
                match &mut self.reader {
                    AgentReader::Claude(reader) => reader.skip_line(number, reason, delta),
                    AgentReader::Codex(reader) => reader.skip_line(number, reason, delta),
                    AgentReader::Grok(reader) => reader.skip_line(part, number, reason, delta),
                }
            }
        }
    }

    /// Ends a piece: adds the session and the open turn to the delta.
    pub fn close(&self, delta: &mut Delta) {
        match &self.reader {
            AgentReader::Claude(reader) => reader.finish_piece(delta),
            AgentReader::Codex(reader) => reader.finish_piece(delta),
            AgentReader::Grok(reader) => reader.finish_piece(delta),
        }
    }

    /// Reads all available lines of a part as they are. Tests, fuzzers and benchmarks read logs that hold no secrets; product code
    /// reads the lines of `memory::ingest`, and the tidy test fails for a call of this method in it.
    pub fn read_unmasked<R: Read>(&mut self, part: PartKind, lines: &mut Lines<R>) -> io::Result<Delta> {
        let mut delta = Delta::default();
        while let Some(line) = lines.next()? {
            self.take(part, &MaskedLine::assume_masked(line, Cow::Borrowed), &mut delta);
        }
        self.close(&mut delta);
        Ok(delta)
    }

    /// Writes the state for storage. It is streamed because the state of a long log is large and should not be in
    /// memory twice.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(&self.version().to_le_bytes())?;
        let mut writer = HashingWriter {
            out,
            hasher: blake3::Hasher::new(),
        };
        postcard::to_io(self, &mut writer).map_err(io::Error::other)?;
        let sum = checksum(&writer.hasher.finalize());
        writer.out.write_all(&sum)
    }

    /// Returns the state as bytes for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)
            .expect("a state has no type that cannot be written");
        bytes
    }

    /// Parses a stored state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let (version, rest) = bytes.split_first_chunk().ok_or(StateError::Damaged)?;
        let version = u16::from_le_bytes(*version);
        if !Agent::ALL.map(reader_version).contains(&version) {
            return Err(StateError::OtherVersion);
        }
        let (rest, sum) = rest.split_last_chunk().ok_or(StateError::Damaged)?;
        if *sum != checksum(&blake3::hash(rest)) {
            return Err(StateError::Damaged);
        }
        let state: Self = postcard::from_bytes(rest).map_err(|_| StateError::Damaged)?;
        if state.version() == version {
            Ok(state)
        } else {
            Err(StateError::Damaged)
        }
    }

    fn version(&self) -> u16 {
        reader_version(match self.reader {
            AgentReader::Claude(_) => Agent::Claude,
            AgentReader::Codex(_) => Agent::Codex,
            AgentReader::Grok(_) => Agent::Grok,
        })
    }
}

/// Returns the version of an agent's reader. Another version may give a different result for the same log.
pub fn reader_version(agent: Agent) -> u16 {
    match agent {
        Agent::Claude => CLAUDE | claude::VERSION,
        Agent::Codex => CODEX | codex::VERSION,
        Agent::Grok => GROK | grok::VERSION,
    }
}

/// A writer that hashes the bytes it passes on.
struct HashingWriter<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns a checksum that detects a damaged state, because counters in it are trusted.
fn checksum(hash: &blake3::Hash) -> [u8; 8] {
    *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
}
