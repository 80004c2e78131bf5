//! The reader for Grok Build's session directory: `updates.jsonl`, the log, appended while the agent runs;
//! `events.jsonl` beside it; small JSON files that are replaced; and `chat_history.jsonl`, which is used if the log
//! is missing.
//!
//! The rows follow the Agent Client Protocol plus xAI's own additions, which change every month: every field is
//! optional, an unknown row is counted as unknown, and no line can fail the others. The order of lines is the order
//! of writing: the row of a hook may precede the last part of the answer it follows.
//!
//! The log does not say who wrote a prompt. `summary.json` (the session of a subagent) and `prompt_context.json` (not
//! interactive) do, so both are read before the first line; see [`State::is_stale`].
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

use self::bills::Bills;
use self::facts::Facts;
pub(crate) use self::facts::decoded;
use self::record::{Envelope, Happening, Item};
use self::tools::Calls;
use crate::agent::Origin;
use crate::event::{Actor, BESIDE_SEQ, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::ids::hash;
use crate::joins::Tools;
use crate::reading::{Delta, Fate, Fault};
use crate::records::{self, each};
use crate::turns::Turns;
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
pub(crate) struct State {
    next_seq: u64,
    /// The number of events read from `events.jsonl`.
    events_beside: u64,
    facts: Facts,
    bills: Bills,
    tools: Tools,
    calls: Calls,
    turns: Turns,
    /// The message whose chunks are being read.
    run: Option<Run>,
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
struct Run {
    key: u64,
    id: Box<str>,
    pieces: u32,
}

/// The row being read, and its position in the log.
struct Place<'r> {
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

impl State {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            facts: Facts::new(origin),
            ..Self::default()
        }
    }

    /// Reads one line of a part.
    pub(crate) fn take(&mut self, part: PartKind, line: u64, bytes: &[u8], delta: &mut Delta) {
        let fate = self.take_line(part, line, bytes, delta);
        delta.fates.count(fate);
        self.line_over(part, line);
    }

    /// Reports a line that is too long to read.
    pub(crate) fn pass_over(&mut self, part: PartKind, line: u64, reason: String, delta: &mut Delta) {
        delta.faults.push(Fault {
            line,
            reason,
            mended: false,
        });
        delta.fates.count(Fate::Fault);
        self.line_over(part, line);
    }

    /// Reads a file beside the log. Its newest content counts.
    pub(crate) fn companion(&mut self, part: PartKind, bytes: &[u8]) {
        let before = self.facts.grounds();
        self.facts.companion(part, bytes);
        let has_lines = self.conversation.is_some() || self.is_beside_first;
        self.is_stale |= has_lines && before != self.facts.grounds();
    }

    /// Returns `true` if a late part changes the meaning of earlier lines: a companion that says who wrote the
    /// prompts, or a log that `events.jsonl` was ahead of. The session must then be read again from its start.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Adds the open turn and the session to the delta after the last line of a piece.
    pub(crate) fn close(&self, delta: &mut Delta) {
        self.turns.show(delta);
        delta.session = Some(self.facts.session(&self.turns));
    }

    /// Turns are ranges of lines of the part that contains the conversation.
    fn line_over(&mut self, part: PartKind, line: u64) {
        if self.conversation == Some(part) {
            self.turns.line_over(line);
        }
    }

    fn take_line(&mut self, part: PartKind, line: u64, bytes: &[u8], delta: &mut Delta) -> Fate {
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
        let mut taken = Taken {
            line,
            fate: None,
            block: 0,
        };
        let broken = match part {
            PartKind::Log => each(bytes, UPDATE_OPENINGS, &mut |json| {
                let row: Envelope<'_> = serde_json::from_slice(json)?;
                self.take_update(&row, &mut taken, delta);
                Ok(())
            }),
            PartKind::Events => each(bytes, EVENT_OPENINGS, &mut |json| {
                let happening: Happening<'_> = serde_json::from_slice(json)?;
                self.take_happening(&happening, &mut taken, delta);
                Ok(())
            }),
            PartKind::ChatHistory => each(bytes, ITEM_OPENINGS, &mut |json| {
                let item: Item<'_> = serde_json::from_slice(json)?;
                self.take_item(&item, &mut taken, delta);
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
        taken.fate.unwrap_or(Fate::Fault)
    }

    /// Finishes a row: assigns its events to a turn, and a fate to its line.
    fn row_over(&mut self, place: &Place<'_>, is_known: bool, taken: &mut Taken, delta: &mut Delta) {
        taken.block = place.block;
        if place.is_inherited {
            for event in &mut delta.events[place.first..] {
                event.trigger = false;
            }
        } else {
            let turns = self.turns.count();
            self.turns.seal(place.first, delta, &mut self.tools);
            if self.turns.count() > turns {
                self.is_stale |= place.ts.is_some() && place.ts <= self.latest_beside;
                self.turn_starts.push(place.ts);
            }
        }
        taken.was(match is_known {
            _ if delta.events.len() > place.first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Numbers an event and links the next one to it.
    fn push(&mut self, place: &mut Place<'_>, mut event: SessionEvent, delta: &mut Delta) {
        let next = match place.part {
            PartKind::Events => &mut self.events_beside,
            _ => &mut self.next_seq,
        };
        event.seq = first_seq(place.part) + *next;
        *next += 1;
        place.parent = Some(event.seq);
        place.block += 1;
        delta.events.push(event);
    }

    /// Pushes an event for a change of state.
    fn note(&mut self, place: &mut Place<'_>, text: &str, delta: &mut Delta) {
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(text);
        self.push(place, event, delta);
    }

    /// Returns the id of a chunk of a message. Grok buffers a stream before it writes it, but a row of another kind
    /// flushes the buffer, so consecutive chunks of one stream are blocks of one message. They remain separate
    /// events, so that the text of each is found at its line; their ids are numbered from the first chunk's.
    fn piece_id(&mut self, place: &Place<'_>, key: Option<u64>) -> Box<str> {
        let Some(key) = key else {
            self.run = None;
            return place.id(place.block).into();
        };
        match &mut self.run {
            Some(run) if run.key == key => run.pieces += 1,
            run => {
                let id = place.row_id().into();
                *run = Some(Run { key, id, pieces: 0 });
            }
        }
        let run = self.run.as_ref().expect("a run was begun or went on");
        format!("{}#{}", run.id, run.pieces).into()
    }
}

/// What is known of one physical line so far.
struct Taken {
    line: u64,
    fate: Option<Fate>,
    block: u32,
}

impl Taken {
    /// Records the fate of a record: a line with several records has the best of their fates.
    fn was(&mut self, fate: Fate) {
        let worth = |fate: &Fate| match fate {
            Fate::Event => 3,
            Fate::Unknown => 2,
            _ => 1,
        };
        if self.fate.as_ref().is_none_or(|known| worth(&fate) > worth(known)) {
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

impl<'r> Place<'r> {
    /// `events_before` is the number of events read from the part so far.
    fn new(part: PartKind, taken: &Taken, events_before: u64, delta: &Delta) -> Self {
        Self {
            part,
            line: taken.line,
            ts: None,
            event_id: None,
            parent: events_before.checked_sub(1).map(|last| first_seq(part) + last),
            block: taken.block,
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
fn changed(known: &mut Option<Box<str>>, told: Option<&str>) -> bool {
    let differs = told.is_some() && known.as_deref() != told;
    if differs {
        *known = told.map(Into::into);
    }
    differs
}

/// Hashes several words together.
fn hash_words(words: &[&str]) -> u64 {
    hash(&words.join("\u{1f}"))
}
