//! The output of `boswell read --json`: one record per line. Other answers use the records of turns and events. The
//! fields are documented in `docs/json.md`.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use memory::logs::{LeftOut, LogReading};
use schemars::JsonSchema;
use serde::Serialize;
use transcript::{Call, Fates, Fault, Kind, Kinds, Session, SessionEvent, Tokens, Turn, Unknown};

/// The name and version of these records.
pub(crate) const SCHEMA: &str = "boswell.read/1";

/// One line of the answer. The schemas of the records are inline, because a record with its tag is closed as a whole.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record<'a> {
    Session(SessionRecord<'a>),
    Turn(TurnRecord<'a>),
    Event(EventRecord<'a>),
    Fault(FaultRecord<'a>),
    Summary(SummaryRecord<'a>),
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct SessionRecord<'a> {
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    #[serde(flatten)]
    session: &'a Session,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct TurnRecord<'a> {
    session_uid: &'a str,
    #[serde(flatten)]
    turn: &'a Turn,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct EventRecord<'a> {
    session_uid: &'a str,
    seq: u64,
    parent_seq: Option<u64>,
    id: &'a str,
    ts: Option<Timestamp>,
    kind: &'static str,
    #[schemars(with = "Vec<Kind>")]
    kinds: Kinds,
    role: &'static str,
    actor: &'static str,
    trigger: bool,
    turn: Option<u32>,
    tool: Option<&'a str>,
    summary: &'a str,
    payload_ref: Option<&'a str>,
    tokens: u64,
    usage: Option<Tokens>,
    is_sidechain: bool,
    part: &'static str,
    line: u64,
    text_line: Option<u64>,
    block: u32,
    call_id: Option<&'a str>,
    duration_ms: Option<u64>,
    success: Option<bool>,
    exit_code: Option<i32>,
    files: &'a [Box<str>],
    spill: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct FaultRecord<'a> {
    path: String,
    #[serde(flatten)]
    fault: &'a Fault,
}

/// The end of the answer.
#[derive(Serialize, JsonSchema, Default)]
#[schemars(inline)]
pub(crate) struct SummaryRecord<'a> {
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Lines of the logs that were named on the command line.
    lines: u64,
    fates: Fates,
    sessions: u64,
    turns: u64,
    events: u64,
    left_out: u64,
    calls: u64,
    tokens: TokenSums,
    models: BTreeMap<&'a str, TokenSums>,
    unknown: Vec<UnknownRecord<'a>>,
    parts: Vec<PartRecord>,
    unread: Vec<UnreadRecord>,
}

#[derive(Serialize, JsonSchema, Default, Clone, Copy)]
struct TokenSums {
    calls: u64,
    #[serde(flatten)]
    sums: Tokens,
}

#[derive(Serialize, JsonSchema)]
struct UnknownRecord<'a> {
    #[serde(flatten)]
    unknown: &'a Unknown,
    count: u64,
}

#[derive(Serialize, JsonSchema)]
struct PartRecord {
    path: String,
    part: &'static str,
    agent: &'static str,
    bytes: u64,
    lines: u64,
    fates: Fates,
}

#[derive(Serialize, JsonSchema)]
struct UnreadRecord {
    path: String,
    reason: String,
}

impl<'a> Record<'a> {
    pub(crate) fn session(session: &'a Session) -> Self {
        Self::Session(SessionRecord {
            schema: SCHEMA,
            session,
        })
    }

    pub(crate) fn turn(session_uid: &'a str, turn: &'a Turn) -> Self {
        Self::Turn(TurnRecord::new(session_uid, turn))
    }

    pub(crate) fn event(session_uid: &'a str, event: &'a SessionEvent, text: Option<String>) -> Self {
        Self::Event(EventRecord::new(session_uid, event, text))
    }

    pub(crate) fn fault(path: &Path, fault: &'a Fault) -> Self {
        Self::Fault(FaultRecord {
            path: path.display().to_string(),
            fault,
        })
    }
}

impl<'a> TurnRecord<'a> {
    pub(crate) fn new(session_uid: &'a str, turn: &'a Turn) -> Self {
        Self { session_uid, turn }
    }
}

impl<'a> EventRecord<'a> {
    pub(crate) fn new(session_uid: &'a str, event: &'a SessionEvent, text: Option<String>) -> Self {
        Self {
            session_uid,
            seq: event.seq,
            parent_seq: event.parent_seq,
            id: &event.id,
            ts: event.ts,
            kind: event.kind().as_str(),
            kinds: event.kinds,
            role: event.role.as_str(),
            actor: event.actor.as_str(),
            trigger: event.trigger,
            turn: event.turn,
            tool: event.tool.as_deref(),
            summary: &event.summary,
            payload_ref: None,
            tokens: event.tokens.map_or(0, |tokens| tokens.total()),
            usage: event.tokens,
            is_sidechain: event.is_sidechain,
            part: event.part.as_str(),
            line: event.line,
            text_line: event.text_line,
            block: event.block,
            call_id: event.call_id.as_deref(),
            duration_ms: event.duration_ms,
            success: event.success,
            exit_code: event.exit_code,
            files: &event.files,
            spill: event.spill.as_deref(),
            text,
        }
    }
}

impl<'a> SummaryRecord<'a> {
    pub(crate) fn new() -> Self {
        Self {
            schema: SCHEMA,
            ..Self::default()
        }
    }

    /// Adds a log. `is_named` is true if the user named the log, and false if it was found next to another one.
    pub(crate) fn add_log(&mut self, log: &'a LogReading, is_named: bool) {
        let reading = &log.reading;
        if is_named {
            self.fates.add(&log.fates());
            self.lines = self.fates.lines();
        }
        self.sessions += u64::from(reading.session.is_some());
        self.unknown.extend(
            reading
                .unknown
                .iter()
                .map(|(unknown, count)| UnknownRecord { unknown, count: *count }),
        );
        self.parts.extend(log.parts.iter().map(|part| PartRecord {
            path: part.path.display().to_string(),
            part: part.kind.as_str(),
            agent: log.agent.as_str(),
            bytes: part.bytes,
            lines: part.fates.lines(),
            fates: part.fates,
        }));
    }

    /// Adds what was printed, and what was only counted.
    pub(crate) fn add_counts(&mut self, printed: LeftOut, left_out: LeftOut) {
        self.turns += printed.turns + left_out.turns;
        self.events += printed.events + left_out.events;
        self.left_out += left_out.events;
    }

    /// Adds the calls that count.
    pub(crate) fn add_calls(&mut self, counted: impl Iterator<Item = &'a Call>) {
        for call in counted {
            self.calls += 1;
            self.tokens.add(&call.tokens);
            self.models
                .entry(call.model.as_deref().unwrap_or("unknown"))
                .or_default()
                .add(&call.tokens);
        }
    }

    pub(crate) fn add_unread(&mut self, path: &Path, reason: &str) {
        self.unread.push(UnreadRecord {
            path: path.display().to_string(),
            reason: reason.to_owned(),
        });
    }
}

impl TokenSums {
    fn add(&mut self, tokens: &Tokens) {
        self.calls += 1;
        self.sums.add(tokens);
    }
}
