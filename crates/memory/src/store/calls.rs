//! The `calls` table: one small row per call of a model's API, from which all numbers are computed. No other file
//! writes it.

use std::collections::HashMap;

use jiff::Timestamp;
use transcript::{Call, Tokens};

use super::derived::time_value;
use super::engine::{Engine, Row, Value};
use super::names::Names;
use super::{Reads, StoreError, kept_time, micros};

/// Adds calls. A more complete row replaces an earlier row of the same call.
pub(super) fn put_calls(engine: &Engine, session_uid: &str, calls: &[Call]) -> Result<(), StoreError> {
    let rows = calls.iter().map(|call| {
        // Keys are hashes, so their bits are stored regardless of the sign.
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
            time_value(call.first_ts),
            time_value(call.ts),
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

/// Returns calls as their rows will return them, in the order of [`Reads::calls_of`]. If a key occurs more than once,
/// the last call wins.
pub fn stored_calls(calls: &[Call]) -> Vec<Call> {
    let place = |call: &Call| (call.line, call.key.cast_signed());
    let mut last: HashMap<u64, Call> = HashMap::with_capacity(calls.len());
    for call in calls {
        let mut call = call.clone();
        (call.first_ts, call.ts) = (kept_time(call.first_ts), kept_time(call.ts));
        last.insert(call.key, call);
    }
    let mut kept: Vec<Call> = last.into_values().collect();
    kept.sort_unstable_by_key(place);
    kept
}

impl Reads<'_> {
    /// Returns the calls of a session, sorted by key.
    pub(super) fn calls_in_key_order(&self, session_uid: &str) -> Result<Vec<Call>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM calls WHERE session_uid = $1 ORDER BY call_key");
        let mut names = Names::default();
        self.engine
            .query(&sql, &[Value::Text(session_uid)], |row| read_call(row, &mut names))
    }

    /// Returns every call in the store with its session, including copies, sorted by line.
    pub fn calls(&self) -> Result<Vec<(String, Call)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM calls ORDER BY session_uid, line, call_key");
        let mut names = Names::default();
        self.engine.query(&sql, &[], |row| read_session_call(row, &mut names))
    }

    /// Returns the calls that were billed since a time.
    pub fn calls_since(&self, at: Timestamp) -> Result<Vec<(String, Call)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM calls WHERE ts >= $1 ORDER BY session_uid, line, call_key");
        let mut names = Names::default();
        self.engine.query(&sql, &[Value::Int(micros(at))], |row| {
            read_session_call(row, &mut names)
        })
    }

    /// Returns the calls of a session.
    pub fn calls_of(&self, session_uid: &str) -> Result<Vec<Call>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM calls WHERE session_uid = $1 ORDER BY line, call_key");
        let mut names = Names::default();
        self.engine
            .query(&sql, &[Value::Text(session_uid)], |row| read_call(row, &mut names))
    }
}

const COLUMNS: &str = "session_uid, call_key, message, request, seq, turn, line, model, first_ts, ts, input, output,
    cache_read, cache_write_5m, cache_write_1h, reasoning, speed, web_searches, cost_usd_ticks, is_sidechain, is_echo";

fn read_session_call(row: &Row<'_>, names: &mut Names) -> Result<(String, Call), StoreError> {
    Ok((row.text(0)?, read_call(row, names)?))
}

fn read_call(row: &Row<'_>, names: &mut Names) -> Result<Call, StoreError> {
    let bits = |column| row.int(column).map(i64::cast_unsigned);
    let opt = |column| Ok::<_, StoreError>(row.int_opt(column)?.map(i64::cast_unsigned));
    let at = |column| {
        let micros = row.int_opt(column)?;
        Ok::<_, StoreError>(micros.and_then(|micros| Timestamp::from_microsecond(micros).ok()))
    };
    Ok(Call {
        key: bits(1)?,
        message: bits(2)?,
        request: opt(3)?,
        seq: opt(4)?,
        turn: opt(5)?.and_then(|turn| u32::try_from(turn).ok()),
        line: row.count(6)?,
        model: names.intern_opt(row.text_ref_opt(7)?),
        first_ts: at(8)?,
        ts: at(9)?,
        tokens: Tokens {
            input: row.count(10)?,
            output: row.count(11)?,
            cache_read: row.count(12)?,
            cache_write_5m: row.count(13)?,
            cache_write_1h: row.count(14)?,
            reasoning: row.count(15)?,
        },
        speed: names.intern_opt(row.text_ref_opt(16)?),
        web_searches: row.count(17)?,
        cost_usd_ticks: opt(18)?,
        is_sidechain: row.int(19)? != 0,
        is_echo: row.int(20)? != 0,
    })
}
