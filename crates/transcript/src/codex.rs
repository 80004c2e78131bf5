//! The reader for Codex CLI's log: one JSON object per line, a payload in a wrapper, appended while a thread runs.
//!
//! The format has changed many times within a year and files mix the formats of several versions, so each record is
//! recognized by its fields, never by the version. Codex writes the same text twice, as an item of the conversation
//! and as an event; both become one event here. Forks start with a copy of their parent's history.

mod body;
mod calls;
mod context;
mod echoes;
mod ends;
mod events;
mod facts;
mod inherit;
mod items;
mod limits;
mod messages;
mod meter;
mod outputs;
mod patch;
mod record;
mod said;
mod whole;
mod words;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use body::{blocks, bodies};

use self::context::Context;
use self::echoes::Echoes;
use self::ends::Ends;
use self::facts::{Asker, Facts};
use self::inherit::{Inheritance, Sign};
use self::meter::{At, Meter};
use self::record::{Payload, Record};
use self::whole::{Piece, Whole};
use crate::agent::Origin;
use crate::event::{Actor, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::ids::{hash, uuid};
use crate::joins::Tools;
use crate::reading::{Delta, Fate, Fault};
use crate::records;
use crate::turns::Turns;
use crate::wire::{Text, wire};
use crate::wording::summary;

/// Version of this reader. Increase it whenever the same lines give a different result.
pub(crate) const VERSION: u16 = 3;

/// Prefixes by which a whole record after a torn one is found.
const OPENINGS: [&str; 3] = ["{\"timestamp\":", "{\"type\":", "{\"id\":"];

/// Everything the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    next_seq: u64,
    facts: Facts,
    inheritance: Inheritance,
    meter: Meter,
    tools: Tools,
    ends: Ends,
    turns: Turns,
    echoes: Echoes,
    /// Model, policies and directory of the last turn.
    context: Context,
    /// Whether a turn of the agent is running, and whether it has its prompt. Old versions do not log this.
    running: bool,
    prompted: bool,
    /// Set if the log is a single object over many lines.
    whole: Option<Whole>,
}

/// The record being read, and its position in the log.
struct Place {
    line: u64,
    ts: Option<Timestamp>,
    /// The event that the next event follows.
    parent: Option<u64>,
    /// The number of blocks of this line read so far.
    block: u32,
    /// True if the record was copied from another thread.
    inherited: bool,
}

impl State {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            facts: Facts::new(origin),
            ..Self::default()
        }
    }

    /// Returns `true` once the thread's id is known.
    pub(crate) fn is_named(&self) -> bool {
        self.facts.id.is_some()
    }

    /// Reads the list of thread names beside the logs. Other companions are ignored.
    pub(crate) fn companion(&mut self, part: PartKind, bytes: &[u8]) {
        if part != PartKind::Index {
            return;
        }
        let mut names: Vec<(u64, Box<str>)> = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let row: Row<'_> = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(name)) = (row.id.get(), row.name.get()) {
                names.retain(|(known, _)| *known != hash(id));
                names.push((hash(id), name.into()));
            }
        }
        self.facts.index(names);
    }

    /// Reads one line.
    pub(crate) fn take(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) {
        let fate = self.take_line(line, bytes, delta);
        delta.fates.count(fate);
        self.turns.line_over(line);
    }

    /// Reports a line that is too long to read.
    pub(crate) fn pass_over(&mut self, line: u64, reason: String, delta: &mut Delta) {
        let mended = false;
        delta.faults.push(Fault { line, reason, mended });
        delta.fates.count(Fate::Fault);
        self.turns.go_on();
        self.turns.line_over(line);
    }

    /// Adds the open turn and the session to the delta after the last line of a piece.
    pub(crate) fn close(&self, delta: &mut Delta) {
        self.turns.show(delta);
        delta.session = Some(self.facts.session(&self.turns, &self.inheritance));
    }

    fn take_line(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) -> Fate {
        if let Some(mut whole) = self.whole.take() {
            let piece = whole.take(line, bytes);
            if piece != Piece::Foreign {
                self.whole = Some(whole);
                return self.take_piece(line, piece, delta);
            }
        }
        let bytes = records::trim(bytes);
        if line == 1 && Whole::begins(bytes) {
            self.whole = Some(Whole::default());
            return Fate::Skipped;
        }
        if bytes.is_empty() {
            return Fate::Blank;
        }
        let mut taken = Taken {
            line,
            fate: None,
            block: 0,
        };
        let broken = records::each(bytes, &OPENINGS, &mut |bytes| {
            self.take_object(bytes, &mut taken, delta)
        });
        let Some(records::Broken { reason, mended }) = broken else {
            return taken.fate.unwrap_or(Fate::Skipped);
        };
        self.turns.go_on();
        delta.faults.push(Fault { line, reason, mended });
        taken.fate.unwrap_or(Fate::Fault)
    }

    /// Reads a line of a log that is a single object: only the last line of a nested object gives an event.
    fn take_piece(&mut self, line: u64, piece: Piece, delta: &mut Delta) -> Fate {
        let (object, at, is_head) = match piece {
            Piece::Frame | Piece::Foreign => return Fate::Skipped,
            Piece::Head(object, at) => (format!("{{\"session\":{object}}}"), at, true),
            Piece::Item(object, at) => (object, at, false),
            Piece::TooLarge => {
                let reason = "an object of the session is too large to read".to_owned();
                delta.faults.push(Fault {
                    line,
                    reason,
                    mended: false,
                });
                return Fate::Fault;
            }
        };
        let mut taken = Taken {
            line: at,
            fate: None,
            block: 0,
        };
        if let Err(error) = self.take_object(object.as_bytes(), &mut taken, delta) {
            let reason = error.to_string();
            delta.faults.push(Fault {
                line,
                reason,
                mended: false,
            });
            return Fate::Fault;
        }
        taken.fate.unwrap_or(if is_head { Fate::Event } else { Fate::Skipped })
    }

    /// Reads one JSON object.
    fn take_object(&mut self, bytes: &[u8], taken: &mut Taken, delta: &mut Delta) -> Result<(), serde_json::Error> {
        let record: Record<'_> = serde_json::from_slice(bytes)?;
        if let Some(payload) = &record.payload.0 {
            self.take_record(&record, payload, taken, delta);
        } else if let Some(head) = &record.session.0 {
            // The oldest format: the whole session is one object.
            let wrapper = Record {
                kind: Text(Some("session_meta".into())),
                ..Record::default()
            };
            self.take_record(&wrapper, head, taken, delta);
            for item in &record.items.0 {
                self.take_record(&Record::default(), item, taken, delta);
            }
        } else if record.record_type.get().is_some() || is_wrapper(record.kind.or_empty()) {
            taken.was(Fate::Skipped);
        } else {
            let bare: Payload<'_> = serde_json::from_slice(bytes)?;
            self.take_record(&record, &bare, taken, delta);
        }
        Ok(())
    }

    fn take_record(&mut self, record: &Record<'_>, payload: &Payload<'_>, taken: &mut Taken, delta: &mut Delta) {
        let is_bare = record.payload.0.is_none();
        let is_header =
            is_bare && self.facts.id.is_none() && payload.kind.get().is_none() && payload.id.get().is_some();
        let is_head = record.kind.or_empty() == "session_meta" || is_header;
        let told = record.timestamp.get().or(payload.timestamp.get().filter(|_| is_head));
        let ts = told.and_then(|text| text.parse().ok());
        let first = delta.events.len();
        let foreign_head = is_head && self.is_foreign(payload);
        let sign = Sign {
            line: taken.line,
            ts,
            ordinal: record.ordinal.0,
            turn: payload.turn(),
            foreign_head,
        };
        let own_head = is_head && self.facts.id.is_none();
        let mut place = Place {
            line: taken.line,
            ts,
            parent: self.next_seq.checked_sub(1),
            block: taken.block,
            inherited: !own_head && self.inheritance.covers(&sign),
        };
        self.facts.heard(ts);
        let known = match record.kind.or_empty() {
            _ if own_head => self.head(&mut place, payload, delta),
            _ if foreign_head => self.foreign_head(&place, payload),
            _ if is_head => self.again(payload),
            _ if is_bare => self.item(&mut place, payload, "", delta),
            kind => self.dispatch(kind, &mut place, payload, delta),
        };
        taken.block = place.block;
        for event in &mut delta.events[first..] {
            event.trigger &= !place.inherited;
        }
        self.turns.seal(first, delta, &mut self.tools);
        taken.was(match known {
            _ if delta.events.len() > first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Reads a record by its type. Returns `false` if the type is unknown.
    fn dispatch(&mut self, kind: &str, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) -> bool {
        match kind {
            "response_item" => return self.item(place, payload, "response_item/", delta),
            "event_msg" => return self.event(place, payload, delta),
            "turn_context" => self.turn_context(place, payload, delta),
            "compacted" => self.compacted(place, payload, delta),
            "token_usage_record" => self.usage_record(place, payload, delta),
            "world_state" => self.sets_up(place),
            "inter_agent_communication" => self.other_agent(place, payload, delta),
            "inter_agent_communication_metadata" | "security_risk_score" => {}
            other => {
                self.turns.go_on();
                unknown(&self.facts, other.to_owned(), delta);
                return false;
            }
        }
        true
    }

    fn head(&mut self, place: &mut Place, head: &Payload<'_>, delta: &mut Delta) -> bool {
        self.facts.head(head);
        let has_parent = self.facts.has_parent();
        self.inheritance
            .head(head.id.or_empty(), has_parent, head.own_ordinal.0);
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(&match head.originator.get() {
            Some(originator) => format!("session started: {originator} {}", head.cli_version.or_empty()),
            None => "session started".to_owned(),
        });
        self.push(place, event, delta);
        true
    }

    fn is_foreign(&self, head: &Payload<'_>) -> bool {
        let told = head.id.get().filter(|id| uuid(id).is_some());
        told.is_some() && self.facts.id.is_some() && told != self.facts.id.as_deref()
    }

    /// Reads the header of another thread. Its history follows, unless this thread already has records of its own.
    fn foreign_head(&mut self, place: &Place, head: &Payload<'_>) -> bool {
        if place.inherited {
            self.facts.foreign_head(head);
        }
        true
    }

    /// Reads a repeated header, which a resumed thread writes.
    fn again(&mut self, head: &Payload<'_>) -> bool {
        self.facts.again(head);
        self.turns.set_up(self.next_seq);
        true
    }

    /// Marks the record as preparation of the turn that follows.
    fn sets_up(&mut self, place: &Place) {
        if !place.inherited {
            self.turns.set_up(self.next_seq);
        }
    }

    /// Marks the record as work of the running turn.
    fn goes_on(&mut self) {
        self.turns.go_on();
        self.echoes.prompt_over();
    }

    /// Numbers an event and links the next one to it.
    fn push(&mut self, place: &mut Place, mut event: SessionEvent, delta: &mut Delta) {
        event.seq = self.next_seq;
        self.next_seq += 1;
        place.parent = Some(event.seq);
        place.block += 1;
        delta.events.push(event);
    }

    /// Pushes an event of the agent, which may be the first of an API call.
    fn push_by_agent(&mut self, place: &mut Place, event: SessionEvent, delta: &mut Delta) {
        let seq = self.next_seq;
        self.meter.begin(seq, place.ts);
        self.push(place, event, delta);
        self.meter.begun(seq, delta);
    }

    /// Returns the context of a token count.
    fn at<'s>(&'s self, place: &Place) -> At<'s> {
        At {
            root: self.facts.root(),
            model: self.facts.model.as_deref(),
            ts: place.ts,
            line: place.line,
            turn: self.turns.current(),
            inherited: place.inherited,
        }
    }

    /// Returns the actor that gives the thread its prompts.
    fn asks(&self) -> Actor {
        match self.facts.asker {
            Asker::Human => Actor::Human,
            Asker::Thread => Actor::Agent,
            Asker::OtherAgent => Actor::OtherAgent,
            Asker::Program => Actor::Harness,
        }
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
        let better = |fate: &Fate| match fate {
            Fate::Event => 3,
            Fate::Unknown => 2,
            _ => 1,
        };
        if self.fate.as_ref().is_none_or(|known| better(&fate) > better(known)) {
            self.fate = Some(fate);
        }
    }
}

impl Place {
    /// Returns an empty event of this record.
    fn event(&self, kind: Kind, role: Role, actor: Actor) -> SessionEvent {
        SessionEvent {
            seq: 0,
            parent_seq: self.parent,
            id: format!("L{}#{}", self.line, self.block).into(),
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
            is_sidechain: false,
            spill: None,
        }
    }

    /// Returns an event of the harness about the state of the thread.
    fn note(&self, text: &str) -> SessionEvent {
        let mut event = self.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(text);
        event
    }
}

/// Returns `true` if records of this type are empty without a payload.
fn is_wrapper(kind: &str) -> bool {
    matches!(
        kind,
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
    )
}

/// Counts an unknown record type.
fn unknown(facts: &Facts, record: String, delta: &mut Delta) {
    delta.count_unknown(facts.version.as_deref(), &record);
}

wire! {
    /// A row of the list of thread names.
    struct Row<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "thread_name",
    }
}
