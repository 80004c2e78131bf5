//! The derived tables: what a reader derives from a session's lines. No other file writes them, and all of them can
//! be dropped and derived again from the packs.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};

use jiff::Timestamp;
use transcript::{Amendment, Delta, Fault, PartKind, Session, State, Turn, Unknown, reader_version};

use super::engine::{Engine, Value};
use super::filters::SessionScope;
use super::{Reads, StoreError, Tx, calls, events, micros, packed_calls};
use crate::squeeze;
use crate::terms::filter;

/// The derived tables, in the order in which they are emptied and compared.
const TABLES: &[&str] = &[
    "readers", "views", "events", "turns", "calls", "faults", "unknown", "filters", "words",
];
/// A fast level, because a reader's state is written on every growth and its size matters less.
const ZSTD_LEVEL: i32 = 1;
/// A state up to this size is compressed in one call.
const SMALL_STATE_BYTES: usize = 128 << 10;
/// Maximum size of a reader's state. A larger one is treated as damaged.
const STATE_BYTES_MAX: u64 = 1 << 30;

/// The compressed state of a reader.
pub struct PackedState(Vec<u8>);

impl PackedState {
    /// Compresses a state while it is serialized, so that a large one is never held uncompressed.
    pub fn of(state: &State) -> Self {
        let mut compressor = StateCompressor::default();
        let packed = state.write(&mut compressor).and_then(|()| compressor.finish());
        Self(packed.expect("writing to memory cannot fail"))
    }

    /// Returns the compressed size.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

/// Buffers small states and streams large ones. Most states are small, and a compressor that knows the size in
/// advance uses small tables for them, which take less time to clear.
#[derive(Default)]
struct StateCompressor {
    plain: Vec<u8>,
    long: Option<BufWriter<zstd::Encoder<'static, Vec<u8>>>>,
}

impl StateCompressor {
    fn finish(self) -> io::Result<Vec<u8>> {
        match self.long {
            Some(long) => long.into_inner()?.finish(),
            None => squeeze::compress(&self.plain, ZSTD_LEVEL),
        }
    }
}

impl Write for StateCompressor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.long.is_none() && self.plain.len() + bytes.len() > SMALL_STATE_BYTES {
            let mut long = BufWriter::with_capacity(64 << 10, zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?);
            long.write_all(&std::mem::take(&mut self.plain))?;
            self.long = Some(long);
        }
        match &mut self.long {
            Some(long) => long.write_all(bytes)?,
            None => self.plain.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the version of the rules by which rows of an agent's sessions are derived. Rows of a different version are
/// derived again.
pub fn derived_version(agent: transcript::Agent) -> i64 {
    i64::from(reader_version(agent)) << 16 | i64::from(events::PAGE_VERSION) << 8 | i64::from(filter::VERSION)
}

impl Tx<'_> {
    /// Adds the delta of the next lines of a part.
    pub fn apply_delta(&self, session_uid: &str, part: PartKind, delta: &Delta) -> Result<(), StoreError> {
        events::put_events(self.engine, session_uid, &delta.events, &delta.amendments)?;
        for turn in &delta.turns {
            put_turn(self.engine, session_uid, turn)?;
        }
        for amendment in &delta.amendments {
            if let Amendment::Rewound { turn } = amendment {
                mark_rewound(self.engine, session_uid, *turn)?;
            }
        }
        calls::put_calls(self.engine, session_uid, &delta.calls)?;
        add_faults(self.engine, session_uid, part, &delta.faults)?;
        add_unknown(self.engine, session_uid, &delta.unknown)?;
        match &delta.session {
            Some(session) => put_view(self.engine, session_uid, session),
            None => Ok(()),
        }
    }

    /// Stores the reader's state until the session grows.
    pub fn put_reader(&self, session_uid: &str, version: i64, state: &PackedState) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO readers (session_uid, version, state) VALUES ($1, $2, $3)
             ON CONFLICT (session_uid) DO UPDATE SET version = $2, state = $3",
            &[Value::Text(session_uid), Value::Int(version), Value::Blob(&state.0)],
        )?;
        Ok(())
    }

    /// Records which process derives a session again. The mark is stored in place of the reader's state, which exists
    /// only once the session is complete.
    pub fn sign(&self, stand_in: &str, mark: u64) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO readers (session_uid, version, state) VALUES ($1, -1, $2)",
            &[Value::Text(stand_in), Value::Blob(&mark.to_le_bytes())],
        )?;
        Ok(())
    }

    /// Makes the next sweep derive the rows of a session again.
    pub fn mark_stale(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE readers SET version = -1 WHERE session_uid = $1",
            &[Value::Text(session_uid)],
        )?;
        Ok(())
    }

    /// Moves the derived rows of a session to another one, which must have none.
    pub(super) fn move_derived(&self, from: &str, to: &str) -> Result<(), StoreError> {
        for table in TABLES {
            let sql = format!("UPDATE {table} SET session_uid = $2 WHERE session_uid = $1");
            self.engine.execute(&sql, &[Value::Text(from), Value::Text(to)])?;
        }
        Ok(())
    }

    /// Removes the text from the derived rows of a session and keeps the numbers. What its digest shows stays:
    /// `session`, which becomes the new view, and the first prompt.
    pub fn evict_derived(&self, session_uid: &str, session: &Session, prompt: &str) -> Result<(), StoreError> {
        for table in ["readers", "faults", "unknown", "filters", "words"] {
            let sql = format!("DELETE FROM {table} WHERE session_uid = $1");
            self.engine.execute(&sql, &[Value::Text(session_uid)])?;
        }
        events::empty_pages(self.engine, session_uid)?;
        self.engine.execute(
            "UPDATE turns SET prompt = CASE WHEN turn = 1 THEN $2 ELSE '' END WHERE session_uid = $1",
            &[Value::Text(session_uid), Value::Text(&replace_nul(prompt))],
        )?;
        put_view(self.engine, session_uid, session)
    }

    /// Deletes the derived rows of one session.
    pub fn clear_derived(&self, session_uid: &str) -> Result<(), StoreError> {
        packed_calls::drop_packed_calls(self.engine, session_uid)?;
        for table in TABLES {
            let sql = format!("DELETE FROM {table} WHERE session_uid = $1");
            self.engine.execute(&sql, &[Value::Text(session_uid)])?;
        }
        Ok(())
    }
}

fn damaged_row(session_uid: &str, table: &'static str) -> StoreError {
    StoreError::DamagedRow {
        session_uid: session_uid.to_owned(),
        table,
    }
}

/// Replaces NUL characters, because PostgreSQL cannot store them in text.
pub(super) fn replace_nul(text: &str) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{2400}")
    } else {
        text.to_owned()
    }
}

pub(super) fn time_value(at: Option<Timestamp>) -> Value<'static> {
    at.map_or(Value::Null, |at| Value::Int(micros(at)))
}

fn put_turn(engine: &Engine, session_uid: &str, turn: &Turn) -> Result<(), StoreError> {
    let prompt = replace_nul(&turn.prompt);
    engine.execute(
        "INSERT INTO turns (session_uid, turn, trigger_seq, start_line, end_line, started_at, ended_at, prompt, events,
            tool_calls, errors, is_rewound)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (session_uid, turn) DO UPDATE SET trigger_seq = $3, start_line = $4, end_line = $5,
            started_at = $6, ended_at = $7, prompt = $8, events = $9, tool_calls = $10, errors = $11, is_rewound = $12",
        &[
            Value::Text(session_uid),
            Value::count(turn.turn.into()),
            Value::count(turn.trigger_seq),
            Value::count(turn.start_line),
            Value::count(turn.end_line),
            time_value(turn.started_at),
            time_value(turn.ended_at),
            Value::Text(&prompt),
            Value::count(turn.events.into()),
            Value::count(turn.tool_calls.into()),
            Value::count(turn.errors.into()),
            Value::flag(turn.rewound),
        ],
    )?;
    Ok(())
}

fn mark_rewound(engine: &Engine, session_uid: &str, turn: u32) -> Result<(), StoreError> {
    engine.execute(
        "UPDATE turns SET is_rewound = 1 WHERE session_uid = $1 AND turn = $2",
        &[Value::Text(session_uid), Value::count(turn.into())],
    )?;
    Ok(())
}

fn put_view(engine: &Engine, session_uid: &str, session: &Session) -> Result<(), StoreError> {
    let view = to_json(session);
    let text = |text: &Option<String>| text.as_deref().map(replace_nul);
    let (repo, cwd, title) = (text(&session.repo), text(&session.cwd), text(&session.title));
    let branch = text(&session.git_branch);
    engine.execute(
        "INSERT INTO views (session_uid, started_at, ended_at, repo, cwd, title, branch, is_subagent, is_hidden, view)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (session_uid) DO UPDATE SET started_at = $2, ended_at = $3, repo = $4, cwd = $5, title = $6,
            branch = $7, is_subagent = $8, is_hidden = $9, view = $10",
        &[
            Value::Text(session_uid),
            time_value(session.started_at),
            time_value(session.ended_at),
            Value::text_opt(repo.as_deref()),
            Value::text_opt(cwd.as_deref()),
            Value::text_opt(title.as_deref()),
            Value::text_opt(branch.as_deref()),
            Value::flag(session.is_subagent),
            Value::flag(session.is_hidden),
            Value::Text(&view),
        ],
    )?;
    Ok(())
}

/// JSON escapes the characters that a column cannot store.
fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("every map in our types has text keys")
}

fn add_faults(engine: &Engine, session_uid: &str, part: PartKind, faults: &[Fault]) -> Result<(), StoreError> {
    for fault in faults {
        let reason = replace_nul(&fault.reason);
        engine.execute(
            "INSERT INTO faults (session_uid, part, line, reason, is_mended) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (session_uid, part, line, reason) DO NOTHING",
            &[
                Value::Text(session_uid),
                Value::Text(part.as_str()),
                Value::count(fault.line),
                Value::Text(&reason),
                Value::flag(fault.mended),
            ],
        )?;
    }
    Ok(())
}

fn add_unknown(engine: &Engine, session_uid: &str, unknown: &BTreeMap<Unknown, u64>) -> Result<(), StoreError> {
    for (unknown, count) in unknown {
        let record = replace_nul(&unknown.record);
        engine.execute(
            "INSERT INTO unknown (session_uid, record, version, count) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, record, version) DO UPDATE SET count = unknown.count + $4",
            &[
                Value::Text(session_uid),
                Value::Text(&record),
                Value::Text(unknown.version.as_deref().unwrap_or_default()),
                Value::count(*count),
            ],
        )?;
    }
    Ok(())
}

impl Reads<'_> {
    /// Returns the state of a session's reader.
    pub fn reader_state(&self, session_uid: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let packed = self.engine.query_opt(
            "SELECT state FROM readers WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| row.blob(0),
        )?;
        let unpack = |packed: Vec<u8>| unpack_state(&packed).ok_or_else(|| damaged_row(session_uid, "readers"));
        packed.map(unpack).transpose()
    }

    /// Returns `true` if the process with this mark is deriving a session again.
    pub fn is_marked_by(&self, stand_in: &str, mark: u64) -> Result<bool, StoreError> {
        let signed = self.engine.query_opt(
            "SELECT 1 FROM readers WHERE session_uid = $1 AND state = $2",
            &[Value::Text(stand_in), Value::Blob(&mark.to_le_bytes())],
            |row| row.int(0),
        )?;
        Ok(signed.is_some())
    }

    /// Returns the sessions of an agent whose rows were derived by another version, newest first.
    pub fn sessions_derived_by_others(&self, agent: transcript::Agent) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT sessions.session_uid FROM sessions
             LEFT JOIN readers ON readers.session_uid = sessions.session_uid
             LEFT JOIN views ON views.session_uid = sessions.session_uid
             WHERE flavor = $1 AND stands_for IS NULL AND evicted_at IS NULL AND evicting_at IS NULL AND coalesce(version, -1) <> $2
             ORDER BY coalesce(ended_at, 0) DESC, sessions.session_uid",
            &[Value::Text(agent.as_str()), Value::Int(derived_version(agent))],
            |row| row.text(0),
        )
    }

    /// Returns the lines of turns in order: the session, the turn, its first and its last line.
    pub fn turn_lines(&self, whose: SessionScope<'_>) -> Result<Vec<(String, u32, u64, u64)>, StoreError> {
        let (clause, values) = whose.clause();
        let sql = format!(
            "SELECT session_uid, turn, start_line, end_line FROM turns{clause} ORDER BY session_uid, start_line, turn"
        );
        self.engine.query(&sql, &values, |row| {
            let turn = u32::try_from(row.int(1)?).unwrap_or_default();
            Ok((row.text(0)?, turn, row.count(2)?, row.count(3)?))
        })
    }

    /// Returns the prompt of a turn.
    pub fn turn_prompt(&self, session_uid: &str, turn: u32) -> Result<Option<String>, StoreError> {
        self.engine.query_opt(
            "SELECT prompt FROM turns WHERE session_uid = $1 AND turn = $2",
            &[Value::Text(session_uid), Value::count(turn.into())],
            |row| row.text(0),
        )
    }

    /// Estimates the size of the small rows that stay after eviction: digests, calls and turns.
    pub fn distilled_bytes(&self) -> Result<u64, StoreError> {
        let sum = self.engine.query_opt(
            "SELECT (SELECT count(*) * 128 FROM calls) + (SELECT coalesce(sum(length(prompt) + 64), 0) FROM turns)",
            &[],
            |row| row.count(0),
        )?;
        Ok(sum.unwrap_or_default() + self.digest_bytes()?)
    }

    /// Returns every derived row of a session as text, so that two derivations can be compared. Filters are left out,
    /// because they depend on where frames were cut, and that depends on how the log grew.
    pub fn derived_rows_of(&self, session_uid: &str) -> Result<Vec<String>, StoreError> {
        let mut rows = Vec::new();
        for (table, columns) in [
            ("views", "started_at, ended_at, repo, cwd, title, view"),
            (
                "turns",
                "turn, trigger_seq, start_line, end_line, started_at, ended_at, prompt, events, tool_calls, errors,
                 is_rewound",
            ),
            (
                "calls",
                "call_key, message, request, seq, turn, line, model, first_ts, ts, input, output, cache_read,
                 cache_write_5m, cache_write_1h, reasoning, speed, web_searches, cost_usd_ticks, is_sidechain, is_echo",
            ),
            ("faults", "part, line, reason, is_mended"),
            ("unknown", "record, version, count"),
        ] {
            let quoted: Vec<String> = columns
                .split(',')
                .map(|column| format!("coalesce(cast({} AS TEXT), '-')", column.trim()))
                .collect();
            let sql = format!(
                "SELECT {} FROM {table} WHERE session_uid = $1",
                quoted.join(" || ' ' || ")
            );
            let mut found = self
                .engine
                .query(&sql, &[Value::Text(session_uid)], |row| row.text(0))?;
            // Sorted here, because some servers sort text by a locale.
            found.sort();
            rows.extend(found.into_iter().map(|row| format!("{session_uid} {table} {row}")));
        }
        let events = self.events(session_uid)?;
        rows.extend(events.iter().map(|event| format!("{session_uid} events {event:?}")));
        let state = self.reader_state(session_uid)?.unwrap_or_default();
        rows.push(format!("{session_uid} readers {}", blake3::hash(&state).to_hex()));
        Ok(rows)
    }

    /// Returns every derived row of every session as text.
    pub fn derived_rows(&self) -> Result<Vec<String>, StoreError> {
        let mut rows = Vec::new();
        for session in self.sessions()? {
            rows.extend(self.derived_rows_of(&session.session_uid)?);
        }
        Ok(rows)
    }
}

/// Decompresses a stream, because the size of a state is not recorded.
fn unpack_state(packed: &[u8]) -> Option<Vec<u8>> {
    let mut state = Vec::new();
    let mut decoder = zstd::Decoder::new(packed).ok()?.take(STATE_BYTES_MAX);
    decoder.read_to_end(&mut state).ok()?;
    Some(state)
}
