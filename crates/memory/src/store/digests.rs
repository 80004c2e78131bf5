//! The `digests` table: the facts of each session, which outlive its raw text. No other file writes it.
//!
//! A digest can be made again as long as the packs exist. When they are deleted, it is sealed, and then it does not
//! change unless the log is read again from the start.

use jiff::Timestamp;
use transcript::Call;

use super::engine::{Row, Value};
use super::facts::SLACK;
use super::{Reads, SessionFact, StoreError, Tx, micros, packed_calls};
use crate::digest_fields::Digest;

/// A stored digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestRow {
    /// The version of the code that made it.
    pub version: u32,
    pub made_at_micros: i64,
    pub is_sealed: bool,
    pub digest: Digest,
}

/// How far a session was read and how many facts were reported, at the time of a digest. A digest that was made from
/// less is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionGrowth([i64; 4]);

/// A digest made directly from a new session, which a worker thread has already compressed, with the facts that it
/// includes.
#[derive(Debug)]
pub struct FreshDigest {
    session_uid: String,
    packed: PackedDigest,
    facts: (i64, i64),
}

/// The columns of a digest and of its packed calls.
#[derive(Debug)]
struct PackedDigest {
    text: String,
    calls: Vec<u8>,
}

impl PackedDigest {
    fn of(digest: &Digest, calls: &mut [Call]) -> Self {
        Self {
            text: serde_json::to_string(digest).expect("every map in our types has text keys"),
            calls: packed_calls::pack_calls(calls),
        }
    }
}

impl FreshDigest {
    /// `facts` are those that the digest includes.
    pub fn of(digest: &Digest, calls: &mut [Call], facts: &[SessionFact]) -> Self {
        let last = facts.iter().map(|fact| micros(fact.at)).max();
        Self {
            session_uid: digest.session_uid.clone(),
            packed: PackedDigest::of(digest, calls),
            facts: (facts.len() as i64, last.unwrap_or_default()),
        }
    }

    /// Returns its size in memory.
    pub fn size(&self) -> usize {
        self.packed.text.len() + self.packed.calls.len()
    }

    pub fn session_uid(&self) -> &str {
        &self.session_uid
    }
}

impl Tx<'_> {
    /// Stores the digest of a session whose rows were all written in this transaction. Returns `false` if it is
    /// sealed, or if more facts were reported in the meantime.
    pub fn put_fresh_digest(&self, fresh: &FreshDigest, version: u32, at: Timestamp) -> Result<bool, StoreError> {
        let has_all_facts = self.reads().count_facts(&fresh.session_uid)? == fresh.facts;
        Ok(has_all_facts && self.put_packed(&fresh.session_uid, &fresh.packed, version, at)?)
    }

    /// Stores a digest and marks its session as analyzed. Returns `false` and changes nothing if the digest is sealed
    /// or the session no longer matches `growth`.
    pub fn put_digest(
        &self,
        digest: &Digest,
        version: u32,
        at: Timestamp,
        growth: &SessionGrowth,
    ) -> Result<bool, StoreError> {
        let uid = digest.session_uid.as_str();
        if self.reads().growth(uid)?.as_ref() != Some(growth) {
            return Ok(false);
        }
        let mut calls = self.reads().calls_of(uid)?;
        self.put_packed(uid, &PackedDigest::of(digest, &mut calls), version, at)
    }

    fn put_packed(&self, uid: &str, packed: &PackedDigest, version: u32, at: Timestamp) -> Result<bool, StoreError> {
        let put = self.engine.execute(
            "INSERT INTO digests (session_uid, version, made_at, is_sealed, digest) VALUES ($1, $2, $3, 0, $4)
             ON CONFLICT (session_uid) DO UPDATE SET version = $2, made_at = $3, digest = $4 WHERE digests.is_sealed = 0",
            &[
                Value::Text(uid),
                Value::Int(i64::from(version)),
                Value::Int(micros(at)),
                Value::Text(&packed.text),
            ],
        )?;
        if put == 0 {
            return Ok(false);
        }
        self.set_analyzed(uid, at)?;
        packed_calls::put_packed_calls(self.engine, uid, at, &packed.calls)?;
        Ok(true)
    }

    /// Seals a digest, because the raw text it was made from is deleted. Returns `false` if there is none.
    pub fn seal_digest(&self, session_uid: &str) -> Result<bool, StoreError> {
        self.set_sealed(session_uid, true)
    }

    /// Removes the seal of a digest, because its session was read again from the start.
    pub fn unseal_digest(&self, session_uid: &str) -> Result<bool, StoreError> {
        self.set_sealed(session_uid, false)
    }

    fn set_sealed(&self, session_uid: &str, is_sealed: bool) -> Result<bool, StoreError> {
        let sealed = self.engine.execute(
            "UPDATE digests SET is_sealed = $2 WHERE session_uid = $1",
            &[Value::Text(session_uid), Value::flag(is_sealed)],
        )?;
        Ok(sealed > 0)
    }
}

impl Reads<'_> {
    /// Returns the digest of a session, if it has one.
    pub fn digest_of(&self, session_uid: &str) -> Result<Option<DigestRow>, StoreError> {
        if !self.engine.has_table("digests")? {
            return Ok(None);
        }
        self.engine.query_opt(
            "SELECT session_uid, version, made_at, is_sealed, digest FROM digests WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            read_digest,
        )
    }

    /// Returns all digests, sorted by uid.
    pub fn digests(&self) -> Result<Vec<DigestRow>, StoreError> {
        if !self.engine.has_table("digests")? {
            return Ok(Vec::new());
        }
        self.engine.query(
            "SELECT digests.session_uid, version, made_at, is_sealed, digest FROM digests
             JOIN sessions ON sessions.session_uid = digests.session_uid
             WHERE stands_for IS NULL ORDER BY digests.session_uid",
            &[],
            read_digest,
        )
    }

    /// Returns the sessions that were last active before `until`, or were reported to have ended, and have no digest
    /// of this version since they last grew. Sorted by uid.
    pub fn digests_due(&self, version: u32, until: Timestamp) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT sessions.session_uid FROM sessions
             JOIN views ON views.session_uid = sessions.session_uid
             LEFT JOIN digests ON digests.session_uid = sessions.session_uid
             WHERE stands_for IS NULL AND evicted_at IS NULL AND evicting_at IS NULL AND coalesce(is_sealed, 0) = 0
                AND (analyzed_at IS NULL OR coalesce(version, -1) <> $1)
                AND (coalesce(ended_at, started_at, ingested_at) <= $2 OR EXISTS (
                    SELECT 1 FROM facts WHERE facts.session_uid = sessions.session_uid
                        AND facts.event IN ('session_end', 'exit')
                        AND facts.at + $3 >= coalesce(ended_at, started_at, ingested_at)))
             ORDER BY sessions.session_uid",
            &[
                Value::Int(i64::from(version)),
                Value::Int(micros(until)),
                Value::Int(SLACK.as_micros() as i64),
            ],
            |row| row.text(0),
        )
    }

    /// Returns the total size of all digests.
    pub fn digest_bytes(&self) -> Result<u64, StoreError> {
        if !self.engine.has_table("digests")? {
            return Ok(0);
        }
        let sum = self
            .engine
            .query_opt("SELECT coalesce(sum(length(digest)), 0) FROM digests", &[], |row| {
                row.count(0)
            })?;
        Ok(sum.unwrap_or_default())
    }

    /// Returns how far a session was read, or `None` if the session is unknown.
    pub fn growth(&self, session_uid: &str) -> Result<Option<SessionGrowth>, StoreError> {
        let (count, last) = self.count_facts(session_uid)?;
        self.engine.query_opt(
            "SELECT ingested_at, (SELECT coalesce(sum(read_to), 0) FROM cursors WHERE cursors.session_uid = $1)
             FROM sessions WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| Ok(SessionGrowth([row.int(0)?, row.int(1)?, count, last])),
        )
    }

    /// Returns the number of facts that were reported about a session and the time of the last one.
    fn count_facts(&self, session_uid: &str) -> Result<(i64, i64), StoreError> {
        if !self.engine.has_table("facts")? {
            return Ok((0, 0));
        }
        let counts = self.engine.query_opt(
            "SELECT count(*), coalesce(max(at), 0) FROM facts WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| Ok((row.int(0)?, row.int(1)?)),
        )?;
        Ok(counts.unwrap_or_default())
    }
}

fn read_digest(row: &Row<'_>) -> Result<DigestRow, StoreError> {
    let session_uid = row.text(0)?;
    let damaged = |_| StoreError::DamagedRow {
        session_uid,
        table: "digests",
    };
    Ok(DigestRow {
        version: u32::try_from(row.int(1)?).unwrap_or_default(),
        made_at_micros: row.int(2)?,
        is_sealed: row.int(3)? != 0,
        digest: serde_json::from_str(&row.text(4)?).map_err(damaged)?,
    })
}
