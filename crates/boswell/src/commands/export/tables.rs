//! The exported tables: their columns, and how they are filled. The name and meaning of a column never change.

use std::io;
use std::path::Path;

use clap::ValueEnum;
use jiff::Timestamp;
use memory::outcome::outcome_name;
use memory::prices::PriceTable;
use memory::store::{ListedSession, Store, StoreError};
use memory::usage::{self, CallCost};
use transcript::SessionEvent;

use super::cannot;
use super::write::{Cell, Column, Kind, Writer};
use crate::error::CommandError;

/// A table, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    Sessions,
    Turns,
    Events,
    Calls,
    Digests,
}

/// The data that rows are made from.
pub(super) struct Source<'a> {
    pub(super) store: &'a Store,
    pub(super) sessions: &'a [ListedSession],
    /// For each session, whether it is exported.
    pub(super) wanted: &'a [bool],
    pub(super) prices: &'a PriceTable,
    pub(super) now: Timestamp,
}

impl Source<'_> {
    fn wanted(&self) -> impl Iterator<Item = &ListedSession> {
        let taken = self.sessions.iter().zip(self.wanted);
        taken.filter(|(_, wanted)| **wanted).map(|(session, _)| session)
    }
}

/// An error of our store or of the output file.
pub(super) enum FillError {
    Store(StoreError),
    Io(io::Error),
}

impl FillError {
    pub(super) fn told(self, path: &Path) -> CommandError {
        match self {
            Self::Store(error) => error.into(),
            Self::Io(error) => cannot(path, &error),
        }
    }
}

impl From<StoreError> for FillError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for FillError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

const SESSIONS: &[Column] = &[
    ("session_uid", Kind::Text),
    ("flavor", Kind::Text),
    ("native_session_id", Kind::Text),
    ("status", Kind::Text),
    ("started_at", Kind::Time),
    ("ended_at", Kind::Time),
    ("repo", Kind::Text),
    ("cwd", Kind::Text),
    ("branch", Kind::Text),
    ("title", Kind::Text),
    ("name", Kind::Text),
    ("note", Kind::Text),
    ("tags", Kind::Json),
    ("is_subagent", Kind::Bool),
    ("is_hidden", Kind::Bool),
    ("turns", Kind::Int),
    ("events", Kind::Int),
];

const TURNS: &[Column] = &[
    ("session_uid", Kind::Text),
    ("turn", Kind::Int),
    ("started_at", Kind::Time),
    ("ended_at", Kind::Time),
    ("start_line", Kind::Int),
    ("end_line", Kind::Int),
    ("prompt", Kind::Text),
    ("events", Kind::Int),
    ("tool_calls", Kind::Int),
    ("errors", Kind::Int),
    ("is_rewound", Kind::Bool),
];

const EVENTS: &[Column] = &[
    ("session_uid", Kind::Text),
    ("seq", Kind::Int),
    ("ts", Kind::Time),
    ("turn", Kind::Int),
    ("kind", Kind::Text),
    ("role", Kind::Text),
    ("actor", Kind::Text),
    ("tool", Kind::Text),
    ("summary", Kind::Text),
    ("part", Kind::Text),
    ("line", Kind::Int),
    ("duration_ms", Kind::Int),
    ("success", Kind::Bool),
    ("exit_code", Kind::Int),
    ("files", Kind::Json),
    ("is_trigger", Kind::Bool),
    ("is_sidechain", Kind::Bool),
];

const CALLS: &[Column] = &[
    ("session_uid", Kind::Text),
    ("ts", Kind::Time),
    ("turn", Kind::Int),
    ("line", Kind::Int),
    ("model", Kind::Text),
    ("input_tokens", Kind::Int),
    ("output_tokens", Kind::Int),
    ("cache_read_tokens", Kind::Int),
    ("cache_write_5m_tokens", Kind::Int),
    ("cache_write_1h_tokens", Kind::Int),
    ("reasoning_tokens", Kind::Int),
    ("speed", Kind::Text),
    ("web_searches", Kind::Int),
    ("cost_microusd", Kind::Int),
    ("is_cost_reported", Kind::Bool),
];

const DIGESTS: &[Column] = &[
    ("session_uid", Kind::Text),
    ("outcome", Kind::Text),
    ("task_ref", Kind::Text),
    ("repo", Kind::Text),
    ("active_s", Kind::Int),
    ("wall_s", Kind::Int),
    ("turns", Kind::Int),
    ("tool_calls", Kind::Int),
    ("errors", Kind::Int),
    ("tests_passed", Kind::Int),
    ("tests_failed", Kind::Int),
    ("is_sealed", Kind::Bool),
    ("digest", Kind::Json),
];

impl Table {
    pub(super) const ALL: [Self; 5] = [Self::Sessions, Self::Turns, Self::Events, Self::Calls, Self::Digests];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Turns => "turns",
            Self::Events => "events",
            Self::Calls => "calls",
            Self::Digests => "digests",
        }
    }

    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Self::Sessions => SESSIONS,
            Self::Turns => TURNS,
            Self::Events => EVENTS,
            Self::Calls => CALLS,
            Self::Digests => DIGESTS,
        }
    }

    pub(super) fn fill(self, source: &Source<'_>, writer: &mut Writer) -> Result<(), FillError> {
        match self {
            Self::Sessions => sessions(source, writer),
            Self::Turns => turns(source, writer),
            Self::Events => events(source, writer),
            Self::Calls => calls(source, writer),
            Self::Digests => digests(source, writer),
        }
    }
}

fn sessions(source: &Source<'_>, writer: &mut Writer) -> Result<(), FillError> {
    for session in source.wanted() {
        let counted = source.store.reads().counted(&session.session_uid)?;
        writer.row(vec![
            Cell::Text(session.session_uid.clone()),
            Cell::Text(session.flavor().to_owned()),
            Cell::Text(session.native_session_id().to_owned()),
            Cell::Text(session.status.as_str().to_owned()),
            Cell::micros(session.started_micros),
            Cell::micros(session.ended_micros),
            Cell::text(session.repo.as_deref()),
            Cell::text(session.cwd.as_deref()),
            Cell::text(session.branch.as_deref()),
            Cell::text(session.title.clone()),
            Cell::text(session.said.name.clone()),
            Cell::text(session.said.note.clone()),
            Cell::Json(session.said.tags.as_slice().into()),
            Cell::Bool(session.is_subagent),
            Cell::Bool(session.is_hidden),
            Cell::count(counted.turns),
            Cell::count(counted.events),
        ])?;
    }
    Ok(())
}

fn turns(source: &Source<'_>, writer: &mut Writer) -> Result<(), FillError> {
    for session in source.wanted() {
        for turn in source.store.reads().turns(&session.session_uid)? {
            writer.row(vec![
                Cell::Text(session.session_uid.clone()),
                Cell::count(turn.turn.into()),
                Cell::time(turn.started_at),
                Cell::time(turn.ended_at),
                Cell::count(turn.start_line),
                Cell::count(turn.end_line),
                Cell::Text(turn.prompt.into()),
                Cell::count(turn.events.into()),
                Cell::count(turn.tool_calls.into()),
                Cell::count(turn.errors.into()),
                Cell::Bool(turn.rewound),
            ])?;
        }
    }
    Ok(())
}

fn events(source: &Source<'_>, writer: &mut Writer) -> Result<(), FillError> {
    for session in source.wanted() {
        let mut failed = None;
        source.store.reads().each_event(&session.session_uid, |event| {
            if failed.is_none() {
                failed = writer.row(event_cells(&session.session_uid, event)).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    Ok(())
}

fn event_cells(session_uid: &str, event: &SessionEvent) -> Vec<Cell> {
    vec![
        Cell::Text(session_uid.to_owned()),
        Cell::count(event.seq),
        Cell::time(event.ts),
        Cell::count_opt(event.turn.map(u64::from)),
        Cell::Text(event.kind().as_str().to_owned()),
        Cell::Text(event.role.as_str().to_owned()),
        Cell::Text(event.actor.as_str().to_owned()),
        Cell::text(event.tool.as_deref()),
        Cell::Text(event.summary.as_ref().to_owned()),
        Cell::Text(event.part.as_str().to_owned()),
        Cell::count(event.line),
        Cell::count_opt(event.duration_ms),
        Cell::flag(event.success),
        event.exit_code.map_or(Cell::Null, |code| Cell::Int(code.into())),
        Cell::Json(
            event
                .files
                .iter()
                .map(|file| serde_json::Value::from(&**file))
                .collect(),
        ),
        Cell::Bool(event.trigger),
        Cell::Bool(event.is_sidechain),
    ]
}

/// Writes each call once, in the session that owns it.
fn calls(source: &Source<'_>, writer: &mut Writer) -> Result<(), FillError> {
    let mut bills = usage::load_bills(source.store, source.sessions, source.prices, &|session, _| {
        source.wanted[session]
    })?;
    bills.sort_by_key(|bill| (bill.session, bill.call.line, bill.call.key));
    for bill in bills {
        let call = &bill.call;
        let (cost, is_reported) = match bill.cost {
            CallCost::Reported(money) => (Some(money.micros()), Some(true)),
            CallCost::Computed(money) => (Some(money.micros()), Some(false)),
            CallCost::Unpriced => (None, None),
        };
        writer.row(vec![
            Cell::Text(source.sessions[bill.session].session_uid.clone()),
            Cell::time(call.ts),
            Cell::count_opt(call.turn.map(u64::from)),
            Cell::count(call.line),
            Cell::text(call.model.as_deref()),
            Cell::count(call.tokens.input),
            Cell::count(call.tokens.output),
            Cell::count(call.tokens.cache_read),
            Cell::count(call.tokens.cache_write_5m),
            Cell::count(call.tokens.cache_write_1h),
            Cell::count(call.tokens.reasoning),
            Cell::text(call.speed.as_deref()),
            Cell::count(call.web_searches),
            Cell::count_opt(cost),
            Cell::flag(is_reported),
        ])?;
    }
    Ok(())
}

fn digests(source: &Source<'_>, writer: &mut Writer) -> Result<(), FillError> {
    for session in source.wanted() {
        let Some(row) = source.store.reads().digest_of(&session.session_uid)? else {
            continue;
        };
        let digest = &row.digest;
        writer.row(vec![
            Cell::Text(digest.session_uid.clone()),
            Cell::Text(outcome_name(digest.outcome.as_of(digest.ended_at, source.now).outcome).to_owned()),
            Cell::text(digest.task_ref.clone()),
            Cell::text(digest.repo.clone()),
            Cell::count(digest.time.active_s),
            Cell::count(digest.time.wall_s),
            Cell::count(digest.turns.into()),
            Cell::count(digest.tool_calls),
            Cell::count(digest.errors.count),
            Cell::count(digest.tests.passed),
            Cell::count(digest.tests.failed),
            Cell::Bool(row.is_sealed),
            Cell::Json(serde_json::to_value(digest).unwrap_or_default()),
        ])?;
    }
    Ok(())
}
