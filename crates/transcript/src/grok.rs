//! Grok Build's session directory: `updates.jsonl`, the log, appended while the agent runs; `events.jsonl`
//! beside it; small JSON files that are replaced; and `chat_history.jsonl`, which stands for a missing log.
//!
//! The rows are those of the Agent Client Protocol and of xAI's own additions to it, which grow every month:
//! every field is optional, an unknown row is counted as unknown, and no line can fail the others. The order
//! of lines is the order of writing: a hook's row may stand before the last words of the answer it follows.
//!
//! Who speaks is not told by the log. `summary.json` (a subagent's session) and `prompt_context.json` (no human
//! sits there) tell it, so both are taken before the first line; see [`State::is_stale`].
//!
//! The log and `events.jsonl` grow side by side, and are read in turns. What is made of them is what the whole log and
//! then the whole of `events.jsonl` would give: each numbers its own events, a measurement waits for its call, and where
//! the order did matter, which is rare, the session is stale.

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

/// Version of this reader: a change in what it makes of the same lines raises it.
pub(crate) const VERSION: u16 = 3;

/// How a row of `updates.jsonl` begins.
const UPDATE_OPENINGS: &[&str] = &["{\"timestamp\":", "{\"method\":"];
/// How a line of `events.jsonl` begins.
const EVENT_OPENINGS: &[&str] = &["{\"ts\":"];
/// How an item of `chat_history.jsonl` begins; a block inside one begins alike.
const ITEM_OPENINGS: &[&str] = &[
    "{\"role\":\"",
    "{\"type\":\"assistant\"",
    "{\"type\":\"backend_tool_call\"",
    "{\"type\":\"reasoning\"",
    "{\"type\":\"system\"",
    "{\"type\":\"tool_result\"",
    "{\"type\":\"user\"",
];

/// All that the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    next_seq: u64,
    /// How many events `events.jsonl` gave.
    events_beside: u64,
    facts: Facts,
    bills: Bills,
    tools: Tools,
    calls: Calls,
    turns: Turns,
    /// The message whose pieces are being written.
    run: Option<Run>,
    /// The prompts that still stand, by their index, and the turn each began.
    prompts: Vec<(u64, u32)>,
    /// When each turn began, to find the turn of a record of `events.jsonl`.
    turn_starts: Vec<Option<Timestamp>>,
    /// Prompts carry an index here: one without was put into a running turn.
    has_indexes: bool,
    /// The prompt that a hook was told of, until it is written: whether Grok made it up.
    submitted: Option<bool>,
    /// The row before was a user's: a picture that follows belongs to it.
    after_user: bool,
    /// The human runs a command by `!`, until anybody else acts.
    shell_by_human: bool,
    mode: Option<Box<str>>,
    /// Refusals that the log told of, and `events.jsonl` will tell again.
    denials: u32,
    /// Refusals that only `events.jsonl` told of so far.
    denials_beside: u32,
    /// The latest of the events that `events.jsonl` gave: a turn that begins before it is told too late.
    latest_beside: Option<Timestamp>,
    /// A line of `events.jsonl` was read as long as no log was there.
    is_beside_first: bool,
    /// Which part tells the conversation.
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

/// One row being read, and where it stands.
struct Place<'r> {
    part: PartKind,
    line: u64,
    ts: Option<Timestamp>,
    /// The agent's own id of the row.
    event_id: Option<&'r str>,
    /// What the next event follows from.
    parent: Option<u64>,
    /// How many blocks of this line went before.
    block: u32,
    /// The index of the row's first event in the delta.
    first: usize,
    /// The row is copied from the session this one was forked from.
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

    /// A line too long to hold.
    pub(crate) fn pass_over(&mut self, part: PartKind, line: u64, reason: String, delta: &mut Delta) {
        delta.faults.push(Fault {
            line,
            reason,
            mended: false,
        });
        delta.fates.count(Fate::Fault);
        self.line_over(part, line);
    }

    /// Takes what a file beside the log tells. Its newest content counts.
    pub(crate) fn companion(&mut self, part: PartKind, bytes: &[u8]) {
        let before = self.facts.grounds();
        self.facts.companion(part, bytes);
        let has_lines = self.conversation.is_some() || self.is_beside_first;
        self.is_stale |= has_lines && before != self.facts.grounds();
    }

    /// Whether what came late changes what was made of earlier lines: a companion that tells who speaks, a log that
    /// `events.jsonl` was ahead of. What was read is wrong then, and the session has to be read again from its start.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Puts into the delta what is known after the last line of a piece.
    pub(crate) fn close(&self, delta: &mut Delta) {
        self.turns.show(delta);
        delta.session = Some(self.facts.session(&self.turns));
    }

    /// Turns are ranges of lines of the part that tells the conversation.
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

    /// Ends a row: its events get their turn, and its line a fate.
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

    /// Gives an event its number.
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

    /// An event that tells of a change of state.
    fn note(&mut self, place: &mut Place<'_>, text: &str, delta: &mut Delta) {
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(text);
        self.push(place, event, delta);
    }

    /// The id of a piece of a message. Grok joins what streams in before it writes, but a row of another kind
    /// makes it write what it has: pieces of one stream that follow each other are blocks of one message. They
    /// stay events of their own, so that the text of each is found at its line; their ids are numbered on from
    /// the first piece's.
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

/// What became of one physical line so far.
struct Taken {
    line: u64,
    fate: Option<Fate>,
    block: u32,
}

impl Taken {
    /// A line with several records has the fate of its best one.
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

/// The number of a part's first event.
fn first_seq(part: PartKind) -> u64 {
    match part {
        PartKind::Events => BESIDE_SEQ,
        _ => 0,
    }
}

impl<'r> Place<'r> {
    /// `events_before`: how many events the part gave so far.
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

    /// The agent's own identity of this row, or its place.
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

    /// An event of this row that says nothing yet.
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

/// Counts a record type nobody told us of.
fn unknown(version: Option<&str>, record: &str, delta: &mut Delta) {
    delta.count_unknown(version, record);
}

/// Remembers a value and says whether it is new.
fn changed(known: &mut Option<Box<str>>, told: Option<&str>) -> bool {
    let differs = told.is_some() && known.as_deref() != told;
    if differs {
        *known = told.map(Into::into);
    }
    differs
}

/// Hash of a few words together.
fn hash_words(words: &[&str]) -> u64 {
    hash(&words.join("\u{1f}"))
}
