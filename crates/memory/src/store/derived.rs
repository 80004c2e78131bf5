//! The derived tables: what a reader makes of a session's lines. No other file writes them, and all of
//! them can be dropped and made again from the packs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use transcript::{Amendment, Call, Delta, Fault, PartKind, Session, SessionEvent, Turn, Unknown};

use super::engine::{Engine, Value};
use super::{Reads, StoreError, Tx, micros};

/// A row needs less of a text than a transcript shows: the whole of it is one frame away.
const SUMMARY_CHARS_MAX: usize = 120;

/// The derived tables, in the order in which they are emptied and compared.
const TABLES: &[&str] = &["readers", "views", "events", "turns", "calls", "faults", "unknown"];

impl Tx<'_> {
    /// Adds what the next lines of a part gave.
    pub fn apply_delta(&self, session_uid: &str, part: PartKind, delta: &Delta) -> Result<(), StoreError> {
        add_events(self.engine, session_uid, &delta.events)?;
        for turn in &delta.turns {
            put_turn(self.engine, session_uid, turn)?;
        }
        for amendment in &delta.amendments {
            amend(self.engine, session_uid, amendment)?;
        }
        put_calls(self.engine, session_uid, &delta.calls)?;
        add_faults(self.engine, session_uid, part, &delta.faults)?;
        add_unknown(self.engine, session_uid, &delta.unknown)?;
        match &delta.session {
            Some(session) => put_view(self.engine, session_uid, session),
            None => Ok(()),
        }
    }

    /// Keeps what the reader has to remember until the session grows.
    pub fn put_reader_state(&self, session_uid: &str, state: &[u8]) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO readers (session_uid, state) VALUES ($1, $2)
             ON CONFLICT (session_uid) DO UPDATE SET state = $2",
            &[Value::Text(session_uid), Value::Blob(state)],
        )?;
        Ok(())
    }

    /// Empties the derived tables of one session.
    pub fn clear_derived(&self, session_uid: &str) -> Result<(), StoreError> {
        for table in TABLES {
            let sql = format!("DELETE FROM {table} WHERE session_uid = $1");
            self.engine.execute(&sql, &[Value::Text(session_uid)])?;
        }
        Ok(())
    }
}

fn add_events(engine: &Engine, session_uid: &str, events: &[SessionEvent]) -> Result<(), StoreError> {
    // The texts made for a row have to live until the row is written.
    let made: Vec<(String, Option<String>)> = events.iter().map(|event| (cut(&event.summary), files(event))).collect();
    let rows = events.iter().zip(&made).map(|(event, (summary, files))| {
        vec![
            Value::Text(session_uid),
            Value::count(event.seq),
            Value::count_opt(event.parent_seq),
            time(event.ts),
            Value::Int(i64::from(event.kinds.bits())),
            Value::Text(event.role.as_str()),
            Value::Text(event.actor.as_str()),
            Value::flag(event.trigger),
            Value::count_opt(event.turn.map(u64::from)),
            Value::text_opt(event.tool.as_deref()),
            Value::Text(summary),
            Value::Text(event.part.as_str()),
            Value::count(event.line),
            Value::count_opt(event.text_line),
            Value::count(u64::from(event.block)),
            Value::text_opt(event.call_id.as_deref()),
            Value::count_opt(event.duration_ms),
            flag_opt(event.success),
            event.exit_code.map_or(Value::Null, |code| Value::Int(i64::from(code))),
            Value::text_opt(files.as_deref()),
            Value::count_opt(event.tokens.map(|tokens| tokens.total())),
            Value::flag(event.is_sidechain),
            Value::text_opt(event.spill.as_deref()),
        ]
    });
    engine.bulk(
        "INSERT INTO events (session_uid, seq, parent_seq, ts, kinds, role, actor, is_trigger, turn, tool, summary,
            part, line, text_line, block, call_id, duration_ms, success, exit_code, files, tokens, is_sidechain, spill)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)",
        rows,
    )
}

/// Text may hold NUL, which one of the engines cannot keep.
fn plain(text: &str) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{2400}")
    } else {
        text.to_owned()
    }
}

/// The beginning of a summary.
fn cut(summary: &str) -> String {
    let end = summary
        .char_indices()
        .nth(SUMMARY_CHARS_MAX)
        .map_or(summary.len(), |(at, _)| at);
    plain(&summary[..end])
}

fn files(event: &SessionEvent) -> Option<String> {
    let files: Vec<String> = event.files.iter().map(|file| plain(file)).collect();
    (!files.is_empty()).then(|| files.join("\n"))
}

fn time(at: Option<Timestamp>) -> Value<'static> {
    at.map_or(Value::Null, |at| Value::Int(micros(at)))
}

fn flag_opt(flag: Option<bool>) -> Value<'static> {
    flag.map_or(Value::Null, Value::flag)
}

fn put_turn(engine: &Engine, session_uid: &str, turn: &Turn) -> Result<(), StoreError> {
    let prompt = plain(&turn.prompt);
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
            time(turn.started_at),
            time(turn.ended_at),
            Value::Text(&prompt),
            Value::count(turn.events.into()),
            Value::count(turn.tool_calls.into()),
            Value::count(turn.errors.into()),
            Value::flag(turn.rewound),
        ],
    )?;
    Ok(())
}

fn amend(engine: &Engine, session_uid: &str, amendment: &Amendment) -> Result<(), StoreError> {
    let uid = Value::Text(session_uid);
    match amendment {
        Amendment::Joined {
            seq,
            success,
            exit_code,
            duration_ms,
            kinds,
        } => engine.execute(
            "UPDATE events SET success = $3, exit_code = $4, duration_ms = $5, kinds = kinds | $6
             WHERE session_uid = $1 AND seq = $2",
            &[
                uid,
                Value::count(*seq),
                flag_opt(*success),
                exit_code.map_or(Value::Null, |code| Value::Int(i64::from(code))),
                Value::count_opt(*duration_ms),
                Value::Int(i64::from(kinds.bits())),
            ],
        )?,
        Amendment::Named { seq, tool, parent_seq } => engine.execute(
            "UPDATE events SET tool = $3, parent_seq = coalesce($4, parent_seq) WHERE session_uid = $1 AND seq = $2",
            &[
                uid,
                Value::count(*seq),
                Value::Text(tool),
                Value::count_opt(*parent_seq),
            ],
        )?,
        Amendment::Billed { seq, tokens } => engine.execute(
            "UPDATE events SET tokens = $3 WHERE session_uid = $1 AND seq = $2",
            &[
                uid,
                Value::count(*seq),
                Value::count_opt(tokens.map(|tokens| tokens.total())),
            ],
        )?,
        Amendment::Reworded { .. } => reword(engine, session_uid, amendment)?,
        Amendment::Turned { seq, turn } => engine.execute(
            "UPDATE events SET turn = $3 WHERE session_uid = $1 AND seq = $2",
            &[uid, Value::count(*seq), Value::count((*turn).into())],
        )?,
        Amendment::Rewound { turn } => engine.execute(
            "UPDATE turns SET is_rewound = 1 WHERE session_uid = $1 AND turn = $2",
            &[uid, Value::count((*turn).into())],
        )?,
    };
    Ok(())
}

/// A call told only later what it is about.
fn reword(engine: &Engine, session_uid: &str, amendment: &Amendment) -> Result<usize, StoreError> {
    let Amendment::Reworded {
        seq,
        tool,
        summary,
        files,
        kinds,
    } = amendment
    else {
        return Ok(0);
    };
    let (summary, files) = (cut(summary), files.join("\n"));
    engine.execute(
        "UPDATE events SET tool = $3, summary = $4, files = $5, kinds = kinds | $6
         WHERE session_uid = $1 AND seq = $2",
        &[
            Value::Text(session_uid),
            Value::count(*seq),
            Value::Text(tool),
            Value::Text(&summary),
            Value::text_opt(Some(files.as_str()).filter(|files| !files.is_empty())),
            Value::Int(i64::from(kinds.bits())),
        ],
    )
}

fn put_calls(engine: &Engine, session_uid: &str, calls: &[Call]) -> Result<(), StoreError> {
    let rows = calls.iter().map(|call| {
        // Keys are hashes: their bits are kept, whatever their sign.
        let bits = |key: u64| Value::Int(key.cast_signed());
        vec![
            Value::Text(session_uid),
            bits(call.key),
            bits(call.message),
            call.request.map_or(Value::Null, bits),
            Value::count_opt(call.seq),
            Value::count_opt(call.turn.map(u64::from)),
            Value::count(call.line),
            Value::text_opt(call.model.as_deref()),
            time(call.first_ts),
            time(call.ts),
            Value::count(call.tokens.input),
            Value::count(call.tokens.output),
            Value::count(call.tokens.cache_read),
            Value::count(call.tokens.cache_write_5m),
            Value::count(call.tokens.cache_write_1h),
            Value::count(call.tokens.reasoning),
            Value::text_opt(call.speed.as_deref()),
            Value::count(call.web_searches),
            Value::count_opt(call.cost_usd_ticks),
            Value::flag(call.is_sidechain),
            Value::flag(call.is_echo),
        ]
    });
    // A fuller row of a call stands for all that was known of it.
    engine.bulk(
        "INSERT INTO calls (session_uid, call_key, message, request, seq, turn, line, model, first_ts, ts, input, output,
            cache_read, cache_write_5m, cache_write_1h, reasoning, speed, web_searches, cost_usd_ticks, is_sidechain,
            is_echo)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
         ON CONFLICT (session_uid, call_key) DO UPDATE SET message = $3, request = $4, seq = $5, turn = $6, line = $7,
            model = $8, first_ts = $9, ts = $10, input = $11, output = $12, cache_read = $13, cache_write_5m = $14,
            cache_write_1h = $15, reasoning = $16, speed = $17, web_searches = $18, cost_usd_ticks = $19,
            is_sidechain = $20, is_echo = $21",
        rows,
    )
}

fn put_view(engine: &Engine, session_uid: &str, session: &Session) -> Result<(), StoreError> {
    let view = json(session);
    let text = |text: &Option<String>| text.as_deref().map(plain);
    let (repo, cwd, title) = (text(&session.repo), text(&session.cwd), text(&session.title));
    engine.execute(
        "INSERT INTO views (session_uid, started_at, ended_at, repo, cwd, title, view)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (session_uid) DO UPDATE SET started_at = $2, ended_at = $3, repo = $4, cwd = $5, title = $6, view = $7",
        &[
            Value::Text(session_uid),
            time(session.started_at),
            time(session.ended_at),
            Value::text_opt(repo.as_deref()),
            Value::text_opt(cwd.as_deref()),
            Value::text_opt(title.as_deref()),
            Value::Text(&view),
        ],
    )?;
    Ok(())
}

/// JSON escapes what a column cannot hold.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our words have no map with keys that are not text")
}

fn add_faults(engine: &Engine, session_uid: &str, part: PartKind, faults: &[Fault]) -> Result<(), StoreError> {
    for fault in faults {
        let reason = plain(&fault.reason);
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
        let record = plain(&unknown.record);
        engine.execute(
            "INSERT INTO unknown (session_uid, record, version, count) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, record, version) DO UPDATE SET count = count + $4",
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
    /// What the reader remembers of a session.
    pub fn reader_state(&self, session_uid: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.engine.query_opt(
            "SELECT state FROM readers WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| row.blob(0),
        )
    }

    /// Every row of every derived table as text, to compare one making with another.
    pub fn derived_rows(&self) -> Result<Vec<String>, StoreError> {
        let mut rows = Vec::new();
        for (table, columns) in [
            ("readers", "hex(state)"),
            ("views", "started_at, ended_at, repo, cwd, title, view"),
            (
                "events",
                "seq, parent_seq, ts, kinds, role, actor, is_trigger, turn, tool, summary, part, line, text_line, block,
                 call_id, duration_ms, success, exit_code, files, tokens, is_sidechain, spill",
            ),
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
            let quoted: Vec<String> =
                columns.split(',').map(|column| format!("coalesce(cast({} AS TEXT), '-')", column.trim())).collect();
            let sql = format!(
                "SELECT session_uid || ' ' || {} FROM {table} ORDER BY 1",
                quoted.join(" || ' ' || ")
            );
            rows.extend(self.engine.query(&sql, &[], |row| row.text(0))?.into_iter().map(|row| format!("{table} {row}")));
        }
        Ok(rows)
    }

    /// How many events the store holds.
    pub fn event_count(&self) -> Result<u64, StoreError> {
        let count = self
            .engine
            .query_opt("SELECT count(*) FROM events", &[], |row| row.int(0))?;
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default())
    }
}
