//! The reader for Claude Code's log: one JSON object per line, appended while the agent runs.
//!
//! The format is undocumented and changes without notice. So every field is optional, a record of an unknown type is
//! counted as unknown, and no line can fail the others. A line can hold two records without a line break between
//! them, or half of one; both are read as far as possible.

mod bills;
mod body;
mod facts;
mod messages;
mod meta;
mod nodes;
mod queue;
mod record;
mod results;
mod said;
mod state_records;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use body::{bare_bodies, blocks, bodies};

use self::bills::ClaudeBilling;
use self::facts::ClaudeFacts;
use self::meta::SubagentMeta;
use self::nodes::RecordGraph;
use self::queue::PromptQueue;
use self::record::ClaudeRecord;
use crate::agent::Origin;
use crate::event::{Actor, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::ids::hash;
use crate::joins::CallJoiner;
use crate::reading::{Delta, Fate, Fault};
use crate::repair::repair;
use crate::texts::{Tell, send_blocks};
use crate::turns::TurnTracker;
use crate::wire::BoxedRecord;
use crate::wording::NAME_CHARS_MAX;

/// Version of this reader. Increase it whenever the same lines give a different result.
pub(crate) const VERSION: u16 = 2;

/// Everything the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClaudeState {
    next_seq: u64,
    facts: ClaudeFacts,
    nodes: RecordGraph,
    bills: ClaudeBilling,
    tools: CallJoiner,
    queue: PromptQueue,
    turns: TurnTracker,
    /// The newest record of the main chain, as a hash of its `uuid`.
    newest: Option<u64>,
    /// The last caveat before local commands, as a hash of its `uuid`.
    caveat: Option<u64>,
    permission_mode: Option<Box<str>>,
    mode: Option<Box<str>>,
    /// True if the first prompt is a root of the graph: another root is then a rewind to the start.
    begins_with_prompt: bool,
    /// The last hook run that was reported as failed, as a hash of its id.
    hook_failed: Option<u64>,
}

/// The record being read, and its position in the log.
struct ClaudePosition<'r> {
    record: &'r ClaudeRecord<'r>,
    line: u64,
    ts: Option<Timestamp>,
    /// The event that the record follows.
    record_parent: Option<u64>,
    /// The event that the next event follows.
    parent: Option<u64>,
    /// The number of blocks of this line read so far.
    block: u32,
    /// How many of those blocks belong to earlier records on the line.
    blocks_before: u32,
    /// The index of the record's first event in the delta.
    first: usize,
    has_unknown_block: bool,
}

impl ClaudeState {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            facts: ClaudeFacts::new(origin),
            ..Self::default()
        }
    }

    /// Reads one line and passes its texts to `sink`.
    pub(crate) fn read_line(&mut self, line: u64, bytes: &[u8], delta: &mut Delta, sink: Option<&mut Tell<'_>>) {
        let fate = self.parse_line(line, bytes, delta, sink);
        delta.fates.count(fate);
        self.turns.finish_line(line);
    }

    pub(crate) fn is_identified(&self) -> bool {
        self.facts.is_identified()
    }

    /// Reads the metadata file beside a subagent's log.
    pub(crate) fn read_meta(&mut self, bytes: &[u8]) {
        self.facts.meta = SubagentMeta::parse(bytes);
    }

    /// Reports a line that is too long to read.
    pub(crate) fn skip_line(&mut self, line: u64, reason: String, delta: &mut Delta) {
        delta.faults.push(Fault {
            line,
            reason,
            mended: false,
        });
        delta.fates.count(Fate::Fault);
        self.turns.finish_line(line);
    }

    /// Adds the open turn and the session to the delta after the last line of a piece.
    pub(crate) fn finish_piece(&self, delta: &mut Delta) {
        self.turns.push_open_turn(delta);
        delta.session = Some(self.facts.session(&self.turns));
    }

    fn parse_line(&mut self, line: u64, bytes: &[u8], delta: &mut Delta, mut sink: Option<&mut Tell<'_>>) -> Fate {
        let bytes = trim(bytes);
        if bytes.is_empty() {
            return Fate::Blank;
        }
        let mut progress = ClaudeLineProgress {
            line,
            fate: None,
            block: 0,
        };
        let record_sink = sink.as_deref_mut();
        let Err((from, reason)) = self.parse_records(bytes, &mut progress, delta, record_sink) else {
            return progress.fate.unwrap_or(Fate::Skipped);
        };
        if let Some(sink) = sink {
            send_blocks(blocks(bytes), sink);
        }
        let rest = &bytes[from..];
        let mended = match repair(rest) {
            Some(mended) if self.parse_all(&mended, &mut progress, delta) => Some(format!("mended: {reason}")),
            _ => self
                .parse_after_tear(rest, &mut progress, delta)
                .then(|| format!("torn record skipped: {reason}")),
        };
        let reason = mended.clone().unwrap_or(reason);
        delta.faults.push(Fault {
            line,
            reason,
            mended: mended.is_some() || progress.fate.is_some(),
        });
        progress.fate.unwrap_or(Fate::Fault)
    }

    /// Reads the records on one line. On error, returns the offset at which it stopped, and the reason.
    fn parse_records(
        &mut self,
        bytes: &[u8],
        progress: &mut ClaudeLineProgress,
        delta: &mut Delta,
        mut sink: Option<&mut Tell<'_>>,
    ) -> Result<(), (usize, String)> {
        // Validating the whole line as UTF-8 at once is much faster than validating its strings one by one.
        let text = std::str::from_utf8(bytes).ok();
        let mut at = 0;
        while let Some(start) = bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
            at += start;
            if bytes[at] != b'{' {
                return Err((at, "expected a JSON object".to_owned()));
            }
            let next = match text {
                Some(text) => next_record(serde_json::Deserializer::from_str(&text[at..])),
                None => next_record(serde_json::Deserializer::from_slice(&bytes[at..])),
            };
            let (record, length) = match next {
                Some(Ok(found)) => found,
                Some(Err(error)) => return Err((at, error.to_string())),
                None => return Ok(()),
            };
            if let Some(sink) = &mut sink {
                body::each_text(&record, sink);
            }
            self.read_record(&record, length, progress, delta);
            at += length;
        }
        Ok(())
    }

    /// Reads a line only if all of its records parse.
    fn parse_all(&mut self, bytes: &[u8], progress: &mut ClaudeLineProgress, delta: &mut Delta) -> bool {
        if !bytes.starts_with(b"{") {
            return false;
        }
        let records = serde_json::Deserializer::from_slice(bytes).into_iter::<ClaudeRecord<'_>>();
        let Ok(records) = records.collect::<Result<Vec<_>, _>>() else {
            return false;
        };
        for record in &records {
            self.read_record(record, bytes.len(), progress, delta);
        }
        true
    }

    /// Reads the record after a torn one: a crash can leave the start of a record in front of a whole one on the same
    /// line.
    fn parse_after_tear(&mut self, bytes: &[u8], progress: &mut ClaudeLineProgress, delta: &mut Delta) -> bool {
        let Some((record, length)) = record_after_tear(bytes) else {
            return false;
        };
        self.read_record(&record, length, progress, delta);
        true
    }

    fn read_record(
        &mut self,
        record: &ClaudeRecord<'_>,
        length: usize,
        progress: &mut ClaudeLineProgress,
        delta: &mut Delta,
    ) {
        let ts = record.timestamp.get().and_then(|text| text.parse().ok());
        let stamp = copy_stamp(record, ts, length);
        if let Some(uuid) = record.uuid.get()
            && self.nodes.is_copy(uuid, stamp)
        {
            progress.add_fate(Fate::Skipped);
            return;
        }
        self.facts.note_record(record, ts);
        let parent = self.parent(record);
        let first = delta.events.len();
        let mut position = ClaudePosition {
            record,
            line: progress.line,
            ts,
            record_parent: parent,
            parent,
            block: progress.block,
            blocks_before: progress.block,
            first,
            has_unknown_block: false,
        };
        let known = self.dispatch(&mut position, delta) && !position.has_unknown_block;
        progress.block = position.block;
        self.turns.assign_turns(first, delta, &mut self.tools);
        if record.kind.or_empty() == "assistant" {
            self.count_call(&position, delta);
        }
        if let Some(uuid) = record.uuid.get() {
            self.nodes.add(uuid, position.parent, stamp);
            if !record.is_sidechain.0 {
                self.newest = Some(hash(uuid));
            }
        }
        progress.add_fate(match known {
            _ if delta.events.len() > first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Returns the event that a record follows: its parent in the graph, or else the previous event of the file.
    fn parent(&self, record: &ClaudeRecord<'_>) -> Option<u64> {
        let before = self.next_seq.checked_sub(1);
        match record.parent_uuid.get().or(record.logical_parent_uuid.get()) {
            Some(uuid) => self.nodes.seq(uuid).unwrap_or(before),
            None if record.uuid.get().is_some() => None,
            None => before,
        }
    }

    /// Reads a record by its type. Returns `false` if the type is unknown.
    fn dispatch(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) -> bool {
        match position.record.kind.or_empty() {
            "user" => self.read_user(position, delta),
            "assistant" => self.read_assistant(position, delta),
            "progress" => self.read_progress(position, delta),
            "queue-operation" => self.read_queue_operation(position, delta),
            _ => return self.read_state_record(position, delta),
        }
        true
    }

    /// Counts an unknown record type under the agent version that wrote it. Most such records have no version, so the
    /// last known one is the fallback.
    fn unknown(&self, position: &ClaudePosition<'_>, record: String, delta: &mut Delta) {
        let version = position.record.version.get().or(self.facts.version());
        delta.count_unknown(version, &record);
    }

    fn unknown_block(&self, position: &mut ClaudePosition<'_>, kind: &str, delta: &mut Delta) {
        self.unknown(
            position,
            format!("{}/block/{kind}", position.record.kind.or_empty()),
            delta,
        );
        position.has_unknown_block = true;
        position.block += 1;
    }

    /// Numbers an event and links the next one to it.
    fn push(&mut self, position: &mut ClaudePosition<'_>, mut event: SessionEvent, delta: &mut Delta) {
        event.seq = self.next_seq;
        self.next_seq += 1;
        position.parent = Some(event.seq);
        position.block += 1;
        delta.events.push(event);
    }
}

/// Parses the next record and returns it with its length.
fn next_record<'r, R: serde_json::de::Read<'r>>(
    records: serde_json::Deserializer<R>,
) -> Option<serde_json::Result<(Box<ClaudeRecord<'r>>, usize)>> {
    let mut records = records.into_iter();
    let record = records.next()?;
    Some(record.map(|BoxedRecord(record)| (record, records.byte_offset())))
}

/// What is known of one physical line so far.
struct ClaudeLineProgress {
    line: u64,
    fate: Option<Fate>,
    block: u32,
}

impl ClaudeLineProgress {
    /// Records the fate of a record: a line with several records has the best of their fates.
    fn add_fate(&mut self, fate: Fate) {
        let rank_of = |fate: &Fate| match fate {
            Fate::Event => 3,
            Fate::Unknown => 2,
            _ => 1,
        };
        if self.fate.as_ref().is_none_or(|known| rank_of(&fate) > rank_of(known)) {
            self.fate = Some(fate);
        }
    }
}

impl ClaudePosition<'_> {
    /// Returns the identity of a block of this record, which does not depend on where the record is on its line.
    fn id(&self, block: u32) -> String {
        let block = match self.record.uuid.get() {
            Some(_) => block - self.blocks_before,
            None => block,
        };
        match self.record.uuid.get() {
            // No agent writes ids this long, so only their hash is kept.
            Some(uuid) if uuid.len() > NAME_CHARS_MAX => format!("~{:016x}#{block}", hash(uuid)),
            Some(uuid) => {
                let mut id = String::with_capacity(uuid.len() + 4);
                id.push_str(uuid);
                id.push('#');
                match u8::try_from(block) {
                    // Nearly all records have one block, and a single digit needs no formatting.
                    Ok(digit @ 0..=9) => id.push(char::from(b'0' + digit)),
                    _ => id.push_str(&block.to_string()),
                }
                id
            }
            None => format!("L{}#{block}", self.line),
        }
    }

    /// Returns an empty event of this record.
    fn event(&self, kind: Kind, role: Role, actor: Actor) -> SessionEvent {
        SessionEvent {
            seq: 0,
            parent_seq: self.parent,
            id: self.id(self.block).into(),
            ts: self.ts,
            kinds: Kinds::of(kind),
            role,
            actor,
            trigger: false,
            turn: None,
            tool: None,
            summary: Box::default(),
            part: PartKind::Log,
            line: self.line,
            text_line: None,
            block: self.block,
            call_id: None,
            duration_ms: None,
            success: None,
            exit_code: None,
            files: Vec::new(),
            tokens: None,
            is_sidechain: self.record.is_sidechain.0,
            spill: None,
        }
    }
}

/// Finds the complete record that ends a line after a torn one, and its length.
fn record_after_tear(bytes: &[u8]) -> Option<(ClaudeRecord<'_>, usize)> {
    const OPENINGS: [&[u8]; 3] = [b"{\"type\":", b"{\"parentUuid\":", b"{\"uuid\":"];
    // Each attempt may scan the rest of the line, so their number is limited.
    let starts = memchr::memmem::find_iter(bytes.get(1..)?, b"{\"").map(|at| at + 1);
    let candidates = starts.filter(|at| OPENINGS.iter().any(|opening| bytes[*at..].starts_with(opening)));
    candidates.take(32).find_map(|at| {
        let mut records = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<ClaudeRecord<'_>>();
        let record = records.next()?.ok()?;
        let length = records.byte_offset();
        let whole = record.uuid.get().or(record.session_id.get()).is_some();
        let last = bytes[at + length..].iter().all(u8::is_ascii_whitespace);
        (whole && last).then_some((record, length))
    })
}

/// Removes what editors, crashes and other systems leave around a line.
fn trim(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_junk = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let start = bytes.iter().position(|byte| !is_junk(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_junk(byte)).map_or(start, |at| at + 1);
    &bytes[start..end]
}

/// Returns a stamp that distinguishes a copy of a record from another record with the same id, as scrubbed logs have
/// them. A copy has the same time, or, if there is no time, the same length. Its other fields may differ: a session
/// resumed elsewhere has another `cwd` and version.
fn copy_stamp(record: &ClaudeRecord<'_>, ts: Option<Timestamp>, length: usize) -> u32 {
    let fold = |sum: u32, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    let kind = record.kind.or_empty().bytes().fold(0, fold);
    match ts {
        Some(_) => record.timestamp.or_empty().bytes().fold(kind, fold),
        None => kind ^ (length as u32).wrapping_mul(0x9E37_79B9),
    }
}
