//! The `packed_calls` table: the calls of an inactive session, as one blob. Statistics over all sessions are computed
//! often, and reading a row for each call costs ten times as much as decoding the blob. No other file writes it.
//!
//! A blob is written together with the digest of its session and has the same timestamp. If the session grows, this
//! timestamp is cleared, and queries read the rows of `calls` again, which remain authoritative.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use transcript::{Call, Tokens};

use super::engine::{Engine, Value};
use super::names::Names;
use super::{Reads, StoreError, micros};

/// The version of the format. Blobs of another version are ignored.
const VERSION: u8 = 2;

/// All calls of a session, sorted by key. [`CallReader`] parses it.
#[derive(Serialize)]
struct PackedSession<'p> {
    version: u8,
    names: Vec<&'p str>,
    calls: Vec<PackedCall>,
}

#[derive(Serialize)]
struct PackedCall {
    // Hashes use all their bytes in any encoding, and a fixed width is the fastest to read.
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
    /// An index into the names.
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

/// Stores the packed calls of a session.
pub(super) fn put_packed_calls(
    engine: &Engine,
    session_uid: &str,
    analyzed_at: Timestamp,
    packed: &[u8],
) -> Result<(), StoreError> {
    engine.execute(
        "INSERT INTO packed_calls (session_uid, analyzed_at, bytes) VALUES ($1, $2, $3)
         ON CONFLICT (session_uid) DO UPDATE SET analyzed_at = $2, bytes = $3",
        &[
            Value::Text(session_uid),
            Value::Int(micros(analyzed_at)),
            Value::Blob(packed),
        ],
    )?;
    Ok(())
}

/// Packs the calls of a session.
pub(super) fn pack_calls(calls: &mut [Call]) -> Vec<u8> {
    calls.sort_by_key(|call| call.key.cast_signed());
    let all_names = calls
        .iter()
        .flat_map(|call| [call.model.as_deref(), call.speed.as_deref()]);
    let mut names: Vec<&str> = all_names.flatten().collect();
    names.sort_unstable();
    names.dedup();
    let place = |name: Option<&str>| u32::try_from(names.binary_search(&name?).ok()?).ok();
    let packed: Vec<PackedCall> = calls
        .iter()
        .map(|call| PackedCall {
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
    let pack = PackedSession {
        version: VERSION,
        names,
        calls: packed,
    };
    postcard::to_stdvec(&pack).expect("writing to memory cannot fail")
}

/// Deletes the packed calls of a session, because its calls are derived again.
pub(super) fn drop_packed_calls(engine: &Engine, session_uid: &str) -> Result<(), StoreError> {
    engine.execute(
        "DELETE FROM packed_calls WHERE session_uid = $1",
        &[Value::Text(session_uid)],
    )?;
    Ok(())
}

impl Reads<'_> {
    /// Returns the number of sessions whose packed calls are up to date.
    pub fn packed_sessions(&self) -> Result<u64, StoreError> {
        let count = self.engine.query_opt(
            "SELECT count(*) FROM packed_calls JOIN sessions ON sessions.session_uid = packed_calls.session_uid
                AND sessions.analyzed_at = packed_calls.analyzed_at",
            &[],
            |row| row.count(0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// Returns the calls of one session, sorted by key.
    pub fn session_calls(&self, session_uid: &str) -> Result<Vec<Call>, StoreError> {
        if self.engine.has_table("packed_calls")? {
            let packed = self.engine.query_opt(
                "SELECT bytes FROM packed_calls JOIN sessions ON sessions.session_uid = packed_calls.session_uid
                    AND sessions.analyzed_at = packed_calls.analyzed_at
                 WHERE packed_calls.session_uid = $1",
                &[Value::Text(session_uid)],
                |row| {
                    let mut calls = Vec::new();
                    Ok(unpack_calls(row.blob_ref(0)?, &mut Names::default(), &mut calls).map(|()| calls))
                },
            )?;
            if let Some(calls) = packed.flatten() {
                return Ok(calls);
            }
        }
        self.calls_in_key_order(session_uid)
    }

    /// Passes every call in the store to `take`, including copies, sorted by session uid and by key.
    /// `transcript::counted` decides which ones count. `place` returns a value for each session that is passed along
    /// with its calls.
    pub fn each_session_calls<P: Clone>(
        &self,
        mut place: impl FnMut(&str) -> P,
        mut take: impl FnMut(P, Call),
    ) -> Result<(), StoreError> {
        let (mut names, mut calls) = (Names::default(), Vec::new());
        let sql = match self.engine.has_table("packed_calls")? {
            true => {
                "SELECT sessions.session_uid, bytes FROM sessions LEFT JOIN packed_calls
                    ON packed_calls.session_uid = sessions.session_uid AND packed_calls.analyzed_at = sessions.analyzed_at
                 ORDER BY sessions.session_uid"
            }
            // A store that an older version created and that is only read.
            false => "SELECT session_uid, NULL FROM sessions ORDER BY session_uid",
        };
        self.engine.each(sql, &[], |row| {
            let uid = row.text_ref(0)?;
            let place = place(uid);
            calls.clear();
            if row
                .blob_ref_opt(1)?
                .and_then(|bytes| unpack_calls(bytes, &mut names, &mut calls))
                .is_none()
            {
                calls = self.calls_in_key_order(uid)?;
            }
            calls.drain(..).for_each(|call| take(place.clone(), call));
            Ok(())
        })
    }
}

/// Appends the calls of a blob. Returns `None` if it has another version or is damaged.
fn unpack_calls(bytes: &[u8], names: &mut Names, calls: &mut Vec<Call>) -> Option<()> {
    let mut reader = CallReader(bytes);
    if reader.byte()? != VERSION {
        return None;
    }
    let mut own = Vec::new();
    for _ in 0..reader.number()? {
        own.push(names.intern(reader.text()?));
    }
    for _ in 0..reader.number()? {
        calls.push(reader.call(&own)?);
    }
    reader.0.is_empty().then_some(())
}

/// Parses what postcard wrote. Statistics over all sessions spend all their time here, and serde takes three times as
/// long.
struct CallReader<'b>(&'b [u8]);

impl<'b> CallReader<'b> {
    #[inline]
    fn call(&mut self, names: &[Arc<str>]) -> Option<Call> {
        let at = |micros: Option<i64>| Timestamp::from_microsecond(micros?).ok();
        let name = |place: Option<u64>| names.get(usize::try_from(place?).ok()?).cloned();
        // In the order of the fields of `PackedCall`.
        let (key, message) = (self.hash()?, self.hash()?);
        let (has_request, request) = (self.flag()?, self.hash()?);
        Some(Call {
            key,
            message,
            request: has_request.then_some(request),
            seq: self.opt(Self::number)?,
            turn: self.opt(|reader| u32::try_from(reader.number()?).ok())?,
            line: self.number()?,
            model: name(self.opt(Self::number)?),
            first_ts: at(self.opt(Self::signed)?),
            ts: at(self.opt(Self::signed)?),
            tokens: Tokens {
                input: self.number()?,
                output: self.number()?,
                cache_read: self.number()?,
                cache_write_5m: self.number()?,
                cache_write_1h: self.number()?,
                reasoning: self.number()?,
            },
            speed: name(self.opt(Self::number)?),
            web_searches: self.number()?,
            cost_usd_ticks: self.opt(Self::number)?,
            is_sidechain: self.flag()?,
            is_echo: self.flag()?,
        })
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    #[inline]
    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    #[inline]
    fn opt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.flag()? {
            true => read(self).map(Some),
            false => Some(None),
        }
    }

    #[inline]
    fn hash(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Parses a varint: seven bits per byte, the lowest first. The eighth bit says that more bytes follow.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        const MORE: u64 = 0x8080_8080_8080_8080;
        // Most numbers fit into one byte.
        if let [first @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Some(u64::from(*first));
        }
        let (bytes, _) = match self.0.split_first_chunk() {
            Some(chunk) => chunk,
            None => return self.number_by_bytes(),
        };
        let bytes = u64::from_le_bytes(*bytes);
        let last = !bytes & MORE;
        if last == 0 {
            return self.number_by_bytes();
        }
        // Masks the bytes up to the last one, and then packs their groups of seven bits.
        let number = bytes & (last ^ (last - 1)) & !MORE;
        let number = number & 0x007f_007f_007f_007f | (number & 0x7f00_7f00_7f00_7f00) >> 1;
        let number = number & 0x0000_3fff_0000_3fff | (number & 0x3fff_0000_3fff_0000) >> 2;
        let number = number & 0x0000_0000_0fff_ffff | (number & 0x0fff_ffff_0000_0000) >> 4;
        self.0 = &self.0[last.trailing_zeros() as usize / 8 + 1..];
        Some(number)
    }

    #[cold]
    fn number_by_bytes(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Parses a zigzag number, whose sign is in the lowest bit.
    #[inline]
    fn signed(&mut self) -> Option<i64> {
        let bits = self.number()?;
        Some((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn some_number() -> impl Strategy<Value = u64> {
        prop_oneof![0..200_u64, any::<u64>()]
    }

    fn some_moment() -> impl Strategy<Value = Option<Timestamp>> {
        let micros = prop_oneof![-1000..1000_i64, 0..4_000_000_000_000_000_i64];
        option::of(micros.prop_map(|micros| Timestamp::from_microsecond(micros).unwrap()))
    }

    fn some_name() -> impl Strategy<Value = Option<Arc<str>>> {
        option::of(prop::sample::select(vec!["", "claude-opus", "größer", "fast"]).prop_map(Into::into))
    }

    prop_compose! {
        fn some_call()(
            (key, message, request) in (any::<u64>(), any::<u64>(), option::of(any::<u64>())),
            (seq, turn, line) in (option::of(some_number()), option::of(any::<u32>()), some_number()),
            (model, speed) in (some_name(), some_name()),
            (first_ts, ts) in (some_moment(), some_moment()),
            tokens in prop::array::uniform6(some_number()),
            (web_searches, cost_usd_ticks) in (some_number(), option::of(some_number())),
            (is_sidechain, is_echo) in any::<(bool, bool)>(),
        ) -> Call {
            let [input, output, cache_read, cache_write_5m, cache_write_1h, reasoning] = tokens;
            let tokens = Tokens { input, output, cache_read, cache_write_5m, cache_write_1h, reasoning };
            Call {
                key, message, request, seq, turn, line, model, first_ts, ts, tokens, speed, web_searches,
                cost_usd_ticks, is_sidechain, is_echo,
            }
        }
    }

    fn unpacked(bytes: &[u8]) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        unpack_calls(bytes, &mut Names::default(), &mut calls).map(|()| calls)
    }

    proptest! {
        #[test]
        fn packed_calls_round_trip(mut calls in vec(some_call(), 0..20)) {
            prop_assert_eq!(unpacked(&pack_calls(&mut calls)), Some(calls));
        }

        #[test]
        fn truncated_packed_calls_are_rejected(mut calls in vec(some_call(), 1..5), cut in any::<prop::sample::Index>()) {
            let bytes = pack_calls(&mut calls);
            prop_assert_eq!(unpacked(&bytes[..cut.index(bytes.len())]), None);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..200)) {
            unpacked(&[&[VERSION][..], &bytes].concat());
        }
    }
}
