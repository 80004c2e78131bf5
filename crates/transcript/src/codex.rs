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

use self::context::TurnContext;
use self::echoes::EchoTracker;
use self::ends::CallEnds;
use self::facts::{CodexFacts, PromptAuthor};
use self::inherit::{CopyEvidence, InheritanceTracker};
use self::meter::{CountContext, TokenMeter};
use self::record::{CodexPayload, CodexRecord};
use self::whole::{ObjectLine, SingleObjectLog};
use crate::agent::Origin;
use crate::event::{Actor, Kind, Kinds, PartKind, Role, SessionEvent};
use crate::ids::{hash, uuid};
use crate::joins::CallJoiner;
use crate::reading::{Delta, Fate, Fault};
use crate::records;
use crate::turns::TurnTracker;
use crate::wire::{WireText, wire};
use crate::wording::summary;

/// Version of this reader. Increase it whenever the same lines give a different result.
pub(crate) const VERSION: u16 = 3;

/// Prefixes by which a whole record after a torn one is found.
const OPENINGS: [&str; 3] = ["{\"timestamp\":", "{\"type\":", "{\"id\":"];

/// Everything the reader remembers between two pieces of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodexState {
    next_seq: u64,
    facts: CodexFacts,
    inheritance: InheritanceTracker,
    meter: TokenMeter,
    tools: CallJoiner,
    ends: CallEnds,
    turns: TurnTracker,
    echoes: EchoTracker,
    /// Model, policies and directory of the last turn.
    context: TurnContext,
    /// Whether a turn of the agent is running, and whether it has its prompt. Old versions do not log this.
    running: bool,
    prompted: bool,
    /// Set if the log is a single object over many lines.
    single_object: Option<SingleObjectLog>,
}

/// The record being read, and its position in the log.
struct CodexPosition {
    line: u64,
    ts: Option<Timestamp>,
    /// The event that the next event follows.
    parent: Option<u64>,
    /// The number of blocks of this line read so far.
    block: u32,
    /// True if the record was copied from another thread.
    inherited: bool,
}

impl CodexState {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            facts: CodexFacts::new(origin),
            ..Self::default()
        }
    }

    /// Returns `true` once the thread's id is known.
    pub(crate) fn is_identified(&self) -> bool {
        self.facts.id.is_some()
    }

    /// Reads the list of thread names beside the logs. Other companions are ignored.
    pub(crate) fn read_companion(&mut self, part: PartKind, bytes: &[u8]) {
        if part != PartKind::Index {
            return;
        }
        let mut names: Vec<(u64, Box<str>)> = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let row: ThreadName<'_> = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(name)) = (row.id.get(), row.name.get()) {
                names.retain(|(known, _)| *known != hash(id));
                names.push((hash(id), name.into()));
            }
        }
        self.facts.set_index(names);
    }

    /// Reads one line.
    pub(crate) fn read_line(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) {
        let fate = self.parse_line(line, bytes, delta);
        delta.fates.count(fate);
        self.turns.finish_line(line);
    }

    /// Reports a line that is too long to read.
    pub(crate) fn skip_line(&mut self, line: u64, reason: String, delta: &mut Delta) {
        let mended = false;
        delta.faults.push(Fault { line, reason, mended });
        delta.fates.count(Fate::Fault);
        self.turns.continue_open();
        self.turns.finish_line(line);
    }

    /// Adds the open turn and the session to the delta after the last line of a piece.
    pub(crate) fn finish_piece(&self, delta: &mut Delta) {
        self.turns.push_open_turn(delta);
        delta.session = Some(self.facts.session(&self.turns, &self.inheritance));
    }

    fn parse_line(&mut self, line: u64, bytes: &[u8], delta: &mut Delta) -> Fate {
        if let Some(mut single_object) = self.single_object.take() {
            let object_line = single_object.read_line(line, bytes);
            if object_line != ObjectLine::Foreign {
                self.single_object = Some(single_object);
                return self.read_object_line(line, object_line, delta);
            }
        }
        let bytes = records::trim(bytes);
        if line == 1 && SingleObjectLog::is_start(bytes) {
            self.single_object = Some(SingleObjectLog::default());
            return Fate::Skipped;
        }
        if bytes.is_empty() {
            return Fate::Blank;
        }
        let mut progress = CodexLineProgress {
            line,
            fate: None,
            block: 0,
        };
        let broken = records::each_object(bytes, &OPENINGS, &mut |bytes| {
            self.parse_object(bytes, &mut progress, delta)
        });
        let Some(records::BrokenLine { reason, mended }) = broken else {
            return progress.fate.unwrap_or(Fate::Skipped);
        };
        self.turns.continue_open();
        delta.faults.push(Fault { line, reason, mended });
        progress.fate.unwrap_or(Fate::Fault)
    }

    /// Reads a line of a log that is a single object: only the last line of a nested object gives an event.
    fn read_object_line(&mut self, line: u64, object_line: ObjectLine, delta: &mut Delta) -> Fate {
        let (object, at, is_meta) = match object_line {
            ObjectLine::Frame | ObjectLine::Foreign => return Fate::Skipped,
            ObjectLine::Header(object, at) => (format!("{{\"session\":{object}}}"), at, true),
            ObjectLine::Item(object, at) => (object, at, false),
            ObjectLine::TooLarge => {
                let reason = "an object of the session is too large to read".to_owned();
                delta.faults.push(Fault {
                    line,
                    reason,
                    mended: false,
                });
                return Fate::Fault;
            }
        };
        let mut progress = CodexLineProgress {
            line: at,
            fate: None,
            block: 0,
        };
        if let Err(error) = self.parse_object(object.as_bytes(), &mut progress, delta) {
            let reason = error.to_string();
            delta.faults.push(Fault {
                line,
                reason,
                mended: false,
            });
            return Fate::Fault;
        }
        progress
            .fate
            .unwrap_or(if is_meta { Fate::Event } else { Fate::Skipped })
    }

    /// Reads one JSON object.
    fn parse_object(
        &mut self,
        bytes: &[u8],
        progress: &mut CodexLineProgress,
        delta: &mut Delta,
    ) -> Result<(), serde_json::Error> {
        let record: CodexRecord<'_> = serde_json::from_slice(bytes)?;
        if let Some(payload) = &record.payload.0 {
            self.read_record(&record, payload, progress, delta);
        } else if let Some(head) = &record.session.0 {
            // The oldest format: the whole session is one object.
            let wrapper = CodexRecord {
                kind: WireText(Some("session_meta".into())),
                ..CodexRecord::default()
            };
            self.read_record(&wrapper, head, progress, delta);
            for item in &record.items.0 {
                self.read_record(&CodexRecord::default(), item, progress, delta);
            }
        } else if record.record_type.get().is_some() || is_wrapper(record.kind.or_empty()) {
            progress.add_fate(Fate::Skipped);
        } else {
            let bare: CodexPayload<'_> = serde_json::from_slice(bytes)?;
            self.read_record(&record, &bare, progress, delta);
        }
        Ok(())
    }

    fn read_record(
        &mut self,
        record: &CodexRecord<'_>,
        payload: &CodexPayload<'_>,
        progress: &mut CodexLineProgress,
        delta: &mut Delta,
    ) {
        let is_bare = record.payload.0.is_none();
        let is_header =
            is_bare && self.facts.id.is_none() && payload.kind.get().is_none() && payload.id.get().is_some();
        let is_meta = record.kind.or_empty() == "session_meta" || is_header;
        let timestamp = record.timestamp.get().or(payload.timestamp.get().filter(|_| is_meta));
        let ts = timestamp.and_then(|text| text.parse().ok());
        let first = delta.events.len();
        let foreign_head = is_meta && self.is_foreign(payload);
        let evidence = CopyEvidence {
            line: progress.line,
            ts,
            ordinal: record.ordinal.0,
            turn: payload.turn(),
            foreign_head,
        };
        let own_head = is_meta && self.facts.id.is_none();
        let mut position = CodexPosition {
            line: progress.line,
            ts,
            parent: self.next_seq.checked_sub(1),
            block: progress.block,
            inherited: !own_head && self.inheritance.covers(&evidence),
        };
        self.facts.note_time(ts);
        let known = match record.kind.or_empty() {
            _ if own_head => self.read_header(&mut position, payload, delta),
            _ if foreign_head => self.read_foreign_header(&position, payload),
            _ if is_meta => self.read_repeated_header(payload),
            _ if is_bare => self.item(&mut position, payload, "", delta),
            kind => self.dispatch(kind, &mut position, payload, delta),
        };
        progress.block = position.block;
        for event in &mut delta.events[first..] {
            event.trigger &= !position.inherited;
        }
        self.turns.assign_turns(first, delta, &mut self.tools);
        progress.add_fate(match known {
            _ if delta.events.len() > first => Fate::Event,
            true => Fate::Skipped,
            false => Fate::Unknown,
        });
    }

    /// Reads a record by its type. Returns `false` if the type is unknown.
    fn dispatch(
        &mut self,
        kind: &str,
        position: &mut CodexPosition,
        payload: &CodexPayload<'_>,
        delta: &mut Delta,
    ) -> bool {
        match kind {
            "response_item" => return self.item(position, payload, "response_item/", delta),
            "event_msg" => return self.event(position, payload, delta),
            "turn_context" => self.turn_context(position, payload, delta),
            "compacted" => self.compacted(position, payload, delta),
            "token_usage_record" => self.usage_record(position, payload, delta),
            "world_state" => self.prepare_turn(position),
            "inter_agent_communication" => self.other_agent(position, payload, delta),
            "inter_agent_communication_metadata" | "security_risk_score" => {}
            other => {
                self.turns.continue_open();
                unknown(&self.facts, other.to_owned(), delta);
                return false;
            }
        }
        true
    }

    fn read_header(&mut self, position: &mut CodexPosition, head: &CodexPayload<'_>, delta: &mut Delta) -> bool {
        self.facts.read_header(head);
        let has_parent = self.facts.has_parent();
        self.inheritance
            .read_header(head.id.or_empty(), has_parent, head.own_ordinal.0);
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(&match head.originator.get() {
            Some(originator) => format!("session started: {originator} {}", head.cli_version.or_empty()),
            None => "session started".to_owned(),
        });
        self.push(position, event, delta);
        true
    }

    fn is_foreign(&self, head: &CodexPayload<'_>) -> bool {
        let timestamp = head.id.get().filter(|id| uuid(id).is_some());
        timestamp.is_some() && self.facts.id.is_some() && timestamp != self.facts.id.as_deref()
    }

    /// Reads the header of another thread. Its history follows, unless this thread already has records of its own.
    fn read_foreign_header(&mut self, position: &CodexPosition, head: &CodexPayload<'_>) -> bool {
        if position.inherited {
            self.facts.read_foreign_header(head);
        }
        true
    }

    /// Reads a repeated header, which a resumed thread writes.
    fn read_repeated_header(&mut self, head: &CodexPayload<'_>) -> bool {
        self.facts.update_from_header(head);
        self.turns.prepare_next(self.next_seq);
        true
    }

    /// Marks the record as preparation of the turn that follows.
    fn prepare_turn(&mut self, position: &CodexPosition) {
        if !position.inherited {
            self.turns.prepare_next(self.next_seq);
        }
    }

    /// Marks the record as work of the running turn.
    fn continue_turn(&mut self) {
        self.turns.continue_open();
        self.echoes.end_prompt();
    }

    /// Numbers an event and links the next one to it.
    fn push(&mut self, position: &mut CodexPosition, mut event: SessionEvent, delta: &mut Delta) {
        event.seq = self.next_seq;
        self.next_seq += 1;
        position.parent = Some(event.seq);
        position.block += 1;
        delta.events.push(event);
    }

    /// Pushes an event of the agent, which may be the first of an API call.
    fn push_agent_event(&mut self, position: &mut CodexPosition, event: SessionEvent, delta: &mut Delta) {
        let seq = self.next_seq;
        self.meter.begin(seq, position.ts);
        self.push(position, event, delta);
        self.meter.claim_early_call(seq, delta);
    }

    /// Returns the context of a token count.
    fn count_context<'s>(&'s self, position: &CodexPosition) -> CountContext<'s> {
        CountContext {
            root: self.facts.root(),
            model: self.facts.model.as_deref(),
            ts: position.ts,
            line: position.line,
            turn: self.turns.current(),
            inherited: position.inherited,
        }
    }

    /// Returns the actor that gives the thread its prompts.
    fn prompt_actor(&self) -> Actor {
        match self.facts.prompt_author {
            PromptAuthor::Human => Actor::Human,
            PromptAuthor::Thread => Actor::Agent,
            PromptAuthor::OtherAgent => Actor::OtherAgent,
            PromptAuthor::Program => Actor::Harness,
        }
    }
}

/// What is known of one physical line so far.
struct CodexLineProgress {
    line: u64,
    fate: Option<Fate>,
    block: u32,
}

impl CodexLineProgress {
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

impl CodexPosition {
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
fn unknown(facts: &CodexFacts, record: String, delta: &mut Delta) {
    delta.count_unknown(facts.version.as_deref(), &record);
}

wire! {
    /// A row of the list of thread names.
    struct ThreadName<'a> {
        id: WireText<'a> = "id",
        name: WireText<'a> = "thread_name",
    }
}
