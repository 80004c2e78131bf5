//! The `packed_calls` table: the calls of a session that is quiet, as one blob. Numbers over all sessions are asked often, and
//! reading a row for each call costs ten times as much as unpacking them. No other file writes it.
//!
//! A pack is written with the digest of its session and is of the same moment: growth takes that moment away, and the rows of
//! `calls` answer again. Those stay the truth.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use transcript::{Call, Tokens};

use super::engine::{Engine, Value};
use super::names::Names;
use super::{Reads, StoreError, micros};

/// Of how calls are packed: what another version packed is not read.
const VERSION: u8 = 2;

/// All calls of a session, in the order of their keys.
#[derive(Serialize, Deserialize)]
struct Pack<'p> {
    version: u8,
    #[serde(borrow)]
    names: Vec<&'p str>,
    calls: Vec<Packed>,
}

#[derive(Serialize, Deserialize)]
struct Packed {
    // Hashes: each takes all its bytes, whichever way it is written, and this way is read at once.
    #[serde(with = "postcard::fixint::le")]
    key: u64,
    #[serde(with = "postcard::fixint::le")]
    message: u64,
    has_request: bool,
    #[serde(with = "postcard::fixint::le")]
    request: u64,
    seq: Option<u64>,
    turn: Option<u32>,
    line: u64,
    /// A place among the names.
    model: Option<u32>,
    first_micros: Option<i64>,
    micros: Option<i64>,
    tokens: Tokens,
    speed: Option<u32>,
    web_searches: u64,
    cost_usd_ticks: Option<u64>,
    is_sidechain: bool,
    is_echo: bool,
}

/// Packs the calls of a session.
pub(super) fn put(
    engine: &Engine,
    session_uid: &str,
    analyzed_at: Timestamp,
    calls: &mut [Call],
) -> Result<(), StoreError> {
    calls.sort_by_key(|call| call.key.cast_signed());
    let told = calls
        .iter()
        .flat_map(|call| [call.model.as_deref(), call.speed.as_deref()]);
    let mut names: Vec<&str> = told.flatten().collect();
    names.sort_unstable();
    names.dedup();
    let place = |name: Option<&str>| u32::try_from(names.binary_search(&name?).ok()?).ok();
    let packed: Vec<Packed> = calls
        .iter()
        .map(|call| Packed {
            key: call.key,
            message: call.message,
            has_request: call.request.is_some(),
            request: call.request.unwrap_or_default(),
            seq: call.seq,
            turn: call.turn,
            line: call.line,
            model: place(call.model.as_deref()),
            first_micros: call.first_ts.map(micros),
            micros: call.ts.map(micros),
            tokens: call.tokens,
            speed: place(call.speed.as_deref()),
            web_searches: call.web_searches,
            cost_usd_ticks: call.cost_usd_ticks,
            is_sidechain: call.is_sidechain,
            is_echo: call.is_echo,
        })
        .collect();
    let pack = Pack {
        version: VERSION,
        names,
        calls: packed,
    };
    let bytes = postcard::to_stdvec(&pack).expect("memory can be written to");
    engine.execute(
        "INSERT INTO packed_calls (session_uid, analyzed_at, bytes) VALUES ($1, $2, $3)
         ON CONFLICT (session_uid) DO UPDATE SET analyzed_at = $2, bytes = $3",
        &[
            Value::Text(session_uid),
            Value::Int(micros(analyzed_at)),
            Value::Blob(&bytes),
        ],
    )?;
    Ok(())
}

/// Takes the pack of a session away: its calls are made anew.
pub(super) fn drop_of(engine: &Engine, session_uid: &str) -> Result<(), StoreError> {
    engine.execute(
        "DELETE FROM packed_calls WHERE session_uid = $1",
        &[Value::Text(session_uid)],
    )?;
    Ok(())
}

impl Reads<'_> {
    /// How many sessions have their calls packed as they are now.
    pub fn packed_sessions(&self) -> Result<u64, StoreError> {
        let count = self.engine.query_opt(
            "SELECT count(*) FROM packed_calls JOIN sessions ON sessions.session_uid = packed_calls.session_uid
                AND sessions.analyzed_at = packed_calls.analyzed_at",
            &[],
            |row| row.count(0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// The calls of one session, in the order of their keys.
    pub fn calls_of_one(&self, session_uid: &str) -> Result<Vec<Call>, StoreError> {
        if self.engine.has_table("packed_calls")? {
            let packed = self.engine.query_opt(
                "SELECT bytes FROM packed_calls JOIN sessions ON sessions.session_uid = packed_calls.session_uid
                    AND sessions.analyzed_at = packed_calls.analyzed_at
                 WHERE packed_calls.session_uid = $1",
                &[Value::Text(session_uid)],
                |row| Ok(unpack(row.blob_ref(0)?, &mut Names::default()).map(Iterator::collect)),
            )?;
            if let Some(calls) = packed.flatten() {
                return Ok(calls);
            }
        }
        self.calls_in_key_order(session_uid)
    }

    /// Gives every call in the store, copies included, session by session in the order of uids, and by key:
    /// `transcript::counted` says which count.
    pub fn each_session_calls(&self, take: &mut TakeCalls<'_>) -> Result<(), StoreError> {
        let mut names = Names::default();
        let sql = match self.engine.has_table("packed_calls")? {
            true => {
                "SELECT sessions.session_uid, bytes FROM sessions LEFT JOIN packed_calls
                    ON packed_calls.session_uid = sessions.session_uid AND packed_calls.analyzed_at = sessions.analyzed_at
                 ORDER BY sessions.session_uid"
            }
            // A store that was made before, and is only read.
            false => "SELECT session_uid, NULL FROM sessions ORDER BY session_uid",
        };
        self.engine.each(sql, &[], |row| {
            let uid = row.text_ref(0)?;
            match row.blob_ref_opt(1)?.and_then(|bytes| unpack(bytes, &mut names)) {
                Some(mut calls) => take(uid, &mut calls),
                None => take(uid, &mut self.calls_in_key_order(uid)?.into_iter()),
            }
            Ok(())
        })
    }
}

/// Given a session and its calls.
pub type TakeCalls<'t> = dyn FnMut(&str, &mut dyn Iterator<Item = Call>) + 't;

fn unpack(bytes: &[u8], names: &mut Names) -> Option<impl Iterator<Item = Call> + use<>> {
    if bytes.first() != Some(&VERSION) {
        return None;
    }
    let pack: Pack<'_> = postcard::from_bytes(bytes).ok()?;
    let own: Vec<_> = pack.names.iter().map(|name| names.of(Some(name))).collect();
    let at = |micros: Option<i64>| Timestamp::from_microsecond(micros?).ok();
    Some(pack.calls.into_iter().map(move |packed| {
        let name = |place: Option<u32>| own.get(place? as usize)?.clone();
        Call {
            key: packed.key,
            message: packed.message,
            request: packed.has_request.then_some(packed.request),
            seq: packed.seq,
            turn: packed.turn,
            line: packed.line,
            model: name(packed.model),
            first_ts: at(packed.first_micros),
            ts: at(packed.micros),
            tokens: packed.tokens,
            speed: name(packed.speed),
            web_searches: packed.web_searches,
            cost_usd_ticks: packed.cost_usd_ticks,
            is_sidechain: packed.is_sidechain,
            is_echo: packed.is_echo,
        }
    }))
}
