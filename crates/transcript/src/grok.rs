//! The reader for Grok Build's session directory: `updates.jsonl`, the log, appended while the agent runs;
//! `events.jsonl` beside it; small JSON files that are replaced; and `chat_history.jsonl`, which is used if the log
//! is missing.
//!
//! The rows follow the Agent Client Protocol plus xAI's own additions, which change every month: every field is
//! optional, an unknown row is counted as unknown, and no line can fail the others. The order of lines is the order
//! of writing: the row of a hook may precede the last part of the answer it follows.
//!
//! The log does not say who wrote a prompt. `summary.json` (the session of a subagent) and `prompt_context.json` (not
//! interactive) do, so both are read before the first line; see [`GrokState::is_stale`].
//!
//! The log and `events.jsonl` grow in parallel and are read alternately. The result equals that of reading the whole
//! log and then the whole of `events.jsonl`: each numbers its own events, a measurement waits for its call, and in
//! the rare cases in which the order matters, the session is marked as stale.

mod bills;
mod body;
mod chat;
mod children;
mod events;
mod facts;
mod notes;
mod record;
mod said;
mod tools;
mod updates;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use body::{blocks, bodies};

use self::bills::GrokBilling;
use self::facts::GrokFacts;
pub(crate) use self::facts::decode_directory;
use self::record::{ChatItem, EventRow, UpdateRow};
use self::tools::GrokCalls;
use crate::agent::Origin;
use crate::event::{Actor, BESIDE_SEQ, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::ids::hash;
use crate::joins::CallJoiner;
use crate::reading::{Delta, Fate, Fault};
use crate::records::{self, each_object};
use crate::turns::TurnTracker;
use crate::wording::summary;

/// Version of this reader. Increase it whenever the same lines give a different result.
pub(crate) const VERSION: u16 = 3;

/// Prefixes of a row of `updates.jsonl`.
const UPDATE_OPENINGS: &[&str] = &["{\"timestamp\":", "{\"method\":"];
/// Prefixes of a line of `events.jsonl`.
const EVENT_OPENINGS: &[&str] = &["{\"ts\":"];
/// Prefixes of an item of `chat_history.jsonl`; a nested block starts in the same way.
const ITEM_OPENINGS: &[&str] = &[
    "{\"role\":\"",
    "{\"type\":\"assistant\"",
    "{\"type\":\"backend_tool_call\"",
    "{\"type\":\"reasoning\"",
    "{\"type\":\"system\"",
    "{\"type\":\"tool_result\"",
    "{\"type\":\"user\"",
];

/// Everything the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GrokState {
    next_seq: u64,
    /// The number of events read from `events.jsonl`.
    events_beside: u64,
    facts: GrokFacts,
    bills: GrokBilling,
    tools: CallJoiner,
    calls: GrokCalls,
    turns: TurnTracker,
    /// The message whose chunks are being read.
    streamed: Option<StreamedMessage>,
    /// The prompts that are not rewound, by their index, with the turn each started.
    prompts: Vec<(u64, u32)>,
    /// When each turn started, to find the turn of a record of `events.jsonl`.
    turn_starts: Vec<Option<Timestamp>>,
    /// True if prompts have an index in this log: one without was inserted into a running turn.
    has_indexes: bool,
    /// The prompt announced by a hook, until its own row is read: whether Grok generated it.
    submitted: Option<bool>,
    /// True if the previous row was a user's: a picture that follows belongs to it.
    after_user: bool,
    /// True while the human runs a command with `!`, until any other actor acts.
    shell_by_human: bool,
    mode: Option<Box<str>>,
    /// Denials in the log that `events.jsonl` will repeat.
    denials: u32,
    /// Denials that only `events.jsonl` has reported so far.
    denials_beside: u32,
    /// The time of the latest event from `events.jsonl`: a turn that starts before it was read too late.
    latest_beside: Option<Timestamp>,
    /// True if a line of `events.jsonl` was read before any line of the log.
    is_beside_first: bool,
    /// The part that contains the conversation.
    conversation: Option<PartKind>,
    schema_version: Option<Box<str>>,
    is_stale: bool,
}

/// A message written as several rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StreamedMessage {
    key: u64,
    id: Box<str>,
    chunks: u32,
}

/// The row being read, and its position in the log.
struct RowPosition<'r> {
    part: PartKind,
    line: u64,
    ts: Option<Timestamp>,
    /// The agent's own id of the row.
    event_id: Option<&'r str>,
    /// The event that the next event follows.
    parent: Option<u64>,
    /// The number of blocks of this line read so far.
    block: u32,
    /// The index of the row's first event in the delta.
    first: usize,
    /// True if the row was copied from the session that this one was forked from.
    is_inherited: bool,
}

impl GrokState {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            facts: GrokFacts::new(origin),
            ..Self::default()
        }
    }

    /// Reads one line of a part.
    pub(crate) fn read_line(&mut self, part: PartKind, line: u64, bytes: &[u8], delta: &mut Delta) {
        let fate = self.parse_line(part, line, bytes, delta);
        delta.fates.count(fate);
        self.finish_line(part, line);
    }

    /// Reports a line that is too long to read.
    pub(crate) fn skip_line(&mut self, part: PartKind, line: u64, reason: String, delta: &mut Delta) {
        delta.faults.push(Fault {
            line,
            reason,
            mended: false,
        });
        delta.fates.count(Fate::Fault);
        self.finish_line(part, line);
    }

    /// Reads a file beside the log. Its newest content counts.
    pub(crate) fn read_companion(&mut self, part: PartKind, bytes: &[u8]) {
        let before = self.facts.reading_conditions();
        self.facts.read_companion(part, bytes);
        let has_lines = self.conversation.is_some() || self.is_beside_first;
        self.is_stale |= has_lines && before != self.facts.reading_conditions();
    }

    /// Returns `true` if a late part changes the meaning of earlier lines: a companion that says who wrote the
    /// prompts, or a log that `events.jsonl` was ahead of. The session must then be read again from its start.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Adds the open turn and the session to the delta after the last line of a piece.
    pub(crate) fn finish_piece(&self, delta: &mut Delta) {
        self.turns.push_open_turn(delta);
        delta.session = Some(self.facts.session(&self.turns));
    }

    /// Turns are ranges of lines of the part that contains the conversation.
    fn finish_line(&mut self, part: PartKind, line: u64) {
        if self.conversation == Some(part) {
            self.turns.finish_line(line);
        }
    }

    fn parse_line(&mut self, part: PartKind, line: u64, bytes: &[u8], delta: &mut Delta) -> Fate {
        let bytes = records::trim(bytes);
        match part {
            PartKind::Log if self.conversation != Some(PartKind::Log) => {
                self.is_stale |= self.conversation.is_some() || self.is_beside_first;
                self.conversation = Some(PartKind::Log);
            }
            PartKind::ChatHistory => _ = self.conversation.get_or_insert(part),
            PartKind::Events => self.is_beside_first |= self.conversation != Some(PartKind::Log),
            _ => {}
        }
        if bytes.is_empty() {
            return Fate::Blank;
        }
        let mut progress = GrokLineProgress {
            line,
            fate: None,
            block: 0,
        };
        let broken = match part {
            PartKind::Log => each_object(bytes, UPDATE_OPENINGS, &mut |json| {
                let row: UpdateRow<'_> = serde_json::from_slice(json)?;
                self.read_update(&row, &mut progress, delta);
                Ok(())
            }),
            PartKind::Events => each_object(bytes, EVENT_OPENINGS, &mut |json| {
                let event_row: EventRow<'_> = serde_json::from_slice(json)?;
                self.take_happening(&event_row, &mut progress, delta);
                Ok(())
            }),
            PartKind::ChatHistory => each_object(bytes, ITEM_OPENINGS, &mut |json| {
                let item: ChatItem<'_> = serde_json::from_slice(json)?;
                self.read_chat_item(&item, &mut progress, delta);
                Ok(())
            }),
            // No other part is read line by line.
            _ => return Fate::Skipped,
        };
        if let Some(broken) = broken {
            delta.faults.push(Fault {
                line,
                reason: broken.reason,
                mended: broken.mended,
            });
        }
        progress.fate.unwrap_or(Fate::Fault)
    }

    /// Finishes a row: assigns its events to a turn, and a fate to its line.
    fn finish_row(
        &mut self,
        position: &RowPosition<'_>,
        is_known: bool,
        progress: &mut GrokLineProgress,
        delta: &mut Delta,
    ) {
        progress.block = position.block;
        if position.is_inherited {
            for event in &mut delta.events[position.first..] {
                event.trigger = false;
            }
        } else {
            let turns = self.turns.count();
            self.turns.assign_turns(position.first, delta, &mut self.tools);
            if self.turns.count() > turns {
                self.is_stale |= position.ts.is_some() && position.ts <= self.latest_beside;
                self.turn_starts.push(position.ts);
            }
        }
        progress.add_fate(match is_known {
            _ if delta.events.len() > position.first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Numbers an event and links the next one to it.
    fn push(&mut self, position: &mut RowPosition<'_>, mut event: SessionEvent, delta: &mut Delta) {
        let next = match position.part {
            PartKind::Events => &mut self.events_beside,
            _ => &mut self.next_seq,
        };
        event.seq = first_seq(position.part) + *next;
        *next += 1;
        position.parent = Some(event.seq);
        position.block += 1;
        delta.events.push(event);
    }

    /// Pushes an event for a change of state.
    fn push_note(&mut self, position: &mut RowPosition<'_>, text: &str, delta: &mut Delta) {
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(text);
        self.push(position, event, delta);
    }

    /// Returns the id of a chunk of a message. Grok buffers a stream before it writes it, but a row of another kind
    /// flushes the buffer, so consecutive chunks of one stream are blocks of one message. They remain separate
    /// events, so that the text of each is found at its line; their ids are numbered from the first chunk's.
    fn chunk_id(&mut self, position: &RowPosition<'_>, key: Option<u64>) -> Box<str> {
        let Some(key) = key else {
            self.streamed = None;
            return position.id(position.block).into();
        };
        match &mut self.streamed {
            Some(streamed) if streamed.key == key => streamed.chunks += 1,
            streamed => {
                let id = position.row_id().into();
                *streamed = Some(StreamedMessage { key, id, chunks: 0 });
            }
        }
        let streamed = self.streamed.as_ref().expect("a run was begun or went on");
        format!("{}#{}", streamed.id, streamed.chunks).into()
    }
}

/// What is known of one physical line so far.
struct GrokLineProgress {
    line: u64,
    fate: Option<Fate>,
    block: u32,
}

impl GrokLineProgress {
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

/// Returns the `seq` of a part's first event.
fn first_seq(part: PartKind) -> u64 {
    match part {
        PartKind::Events => BESIDE_SEQ,
        _ => 0,
    }
}

impl<'r> RowPosition<'r> {
    /// `events_before` is the number of events read from the part so far.
    fn new(part: PartKind, progress: &GrokLineProgress, events_before: u64, delta: &Delta) -> Self {
        Self {
            part,
            line: progress.line,
            ts: None,
            event_id: None,
            parent: events_before.checked_sub(1).map(|last| first_seq(part) + last),
            block: progress.block,
            first: delta.events.len(),
            is_inherited: false,
        }
    }

    /// Returns the agent's own id of this row, or an id made from its line.
    fn row_id(&self) -> String {
        match (self.event_id, self.part) {
            (Some(id), _) => id.to_owned(),
            (None, PartKind::Log) => format!("L{}", self.line),
            (None, part) => format!("{}:L{}", part.as_str(), self.line),
        }
    }

    fn id(&self, block: u32) -> String {
        format!("{}#{block}", self.row_id())
    }

    /// Returns an empty event of this row.
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
            part: self.part,
            line: self.line,
            text_line: None,
            block: self.block,
            call_id: None,
            duration_ms: None,
            success: None,
            exit_code: None,
            files: Vec::new(),
            tokens: None,
            is_sidechain: false,
            spill: None,
        }
    }
}

/// Counts an unknown record type.
fn unknown(version: Option<&str>, record: &str, delta: &mut Delta) {
    delta.count_unknown(version, record);
}

/// Stores a value and returns `true` if it is new.
fn changed(known: &mut Option<Box<str>>, value: Option<&str>) -> bool {
    let differs = value.is_some() && known.as_deref() != value;
    if differs {
        *known = value.map(Into::into);
    }
    differs
}

/// Hashes several words together.
fn hash_words(words: &[&str]) -> u64 {
    hash(&words.join("\u{1f}"))
}
