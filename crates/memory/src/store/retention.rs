//! The `keeps` and `tombstones` tables: what the user decided about raw text. No other file writes them. And the
//! questions of a retention run: what each session takes of the raw cache, and which evictions a crash left.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::engine::Value;
use super::{Reads, StoreError, Tx, micros};

/// What of each session is raw text, or made of it so that text can be read from it. Numbers and marks are not.
const RAW: [(&str, &str); 6] = [
    ("frames", "length"),
    ("tails", "length(bytes)"),
    ("filters", "length(bytes)"),
    ("events", "length(bytes)"),
    ("readers", "length(state)"),
    // The last one: a store that an older version made has no such table until somebody writes.
    ("trigrams", "length(bytes)"),
];

/// A session as far as its raw text is concerned. Times are microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub session_uid: String,
    pub flavor: String,
    /// What it takes of the raw cache.
    pub bytes: u64,
    pub ingested_at: i64,
    pub analyzed_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub is_kept: bool,
    /// Somebody is reading its log just now.
    pub is_busy: bool,
    /// A digest of it was tried and cannot be made.
    pub is_opaque: bool,
}

impl Tx<'_> {
    /// Marks a session so that it is never dropped. Says whether that is new.
    pub fn keep(&self, session_uid: &str, at: Timestamp) -> Result<bool, StoreError> {
        let added = self.engine.execute(
            "INSERT INTO keeps (session_uid, at) VALUES ($1, $2) ON CONFLICT (session_uid) DO NOTHING",
            &[Value::Text(session_uid), Value::Int(micros(at))],
        )?;
        Ok(added > 0)
    }

    /// Takes the mark away. Says whether it was there.
    pub fn drop_keep(&self, session_uid: &str) -> Result<bool, StoreError> {
        let dropped = self
            .engine
            .execute("DELETE FROM keeps WHERE session_uid = $1", &[Value::Text(session_uid)])?;
        Ok(dropped > 0)
    }

    /// Takes the mark away that was made at a moment. Says whether it was there.
    pub(super) fn unsay_keep(&self, session_uid: &str, at_micros: i64) -> Result<bool, StoreError> {
        let dropped = self.engine.execute(
            "DELETE FROM keeps WHERE session_uid = $1 AND at = $2",
            &[Value::Text(session_uid), Value::Int(at_micros)],
        )?;
        Ok(dropped > 0)
    }

    /// Notes that a session was forgotten, for good.
    pub fn bury(&self, session_uid: &str, at: Timestamp) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO tombstones (session_uid, at) VALUES ($1, $2) ON CONFLICT (session_uid) DO NOTHING",
            &[Value::Text(session_uid), Value::Int(micros(at))],
        )?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Whether the tables of this file are there: a store that an older binary made has none until somebody writes.
    pub(crate) fn has_retention(&self) -> Result<bool, StoreError> {
        self.engine.has_table("tombstones")
    }

    /// The sessions that are never dropped.
    pub fn keeps(&self) -> Result<HashSet<String>, StoreError> {
        if !self.has_retention()? {
            return Ok(HashSet::new());
        }
        let kept = self
            .engine
            .query("SELECT session_uid FROM keeps", &[], |row| row.text(0))?;
        Ok(kept.into_iter().collect())
    }

    /// Whether a session is never dropped, or the one it worked for.
    pub fn is_kept(&self, session_uid: &str) -> Result<bool, StoreError> {
        if !self.has_retention()? {
            return Ok(false);
        }
        let found = self.engine.query_opt(
            "SELECT 1 FROM keeps WHERE session_uid IN ($1, $2)",
            &[Value::Text(session_uid), Value::Text(parent_of(session_uid))],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// The sessions that were forgotten.
    pub fn tombstones(&self) -> Result<HashSet<String>, StoreError> {
        if !self.has_retention()? {
            return Ok(HashSet::new());
        }
        let buried = self
            .engine
            .query("SELECT session_uid FROM tombstones", &[], |row| row.text(0))?;
        Ok(buried.into_iter().collect())
    }

    /// Whether a session was forgotten, or the one it worked for.
    pub fn is_buried(&self, session_uid: &str) -> Result<bool, StoreError> {
        let found = self.engine.query_opt(
            "SELECT 1 FROM tombstones WHERE session_uid IN ($1, $2)",
            &[Value::Text(session_uid), Value::Text(parent_of(session_uid))],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// Whether anything of a session's lines is here.
    pub fn has_raw_text(&self, session_uid: &str) -> Result<bool, StoreError> {
        Ok(!self.parts(session_uid)?.is_empty())
    }

    /// Whether the raw text of a session was let go, or is just now.
    pub fn is_let_go(&self, session_uid: &str) -> Result<bool, StoreError> {
        let found = self.engine.query_opt(
            "SELECT 1 FROM sessions
             WHERE session_uid = $1 AND (evicted_at IS NOT NULL OR evicting_at IS NOT NULL)",
            &[Value::Text(session_uid)],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// The sessions whose raw text was let go.
    pub fn let_go(&self) -> Result<HashSet<String>, StoreError> {
        let sql = format!(
            "SELECT session_uid FROM sessions WHERE stands_for IS NULL AND {} IS NOT NULL",
            self.let_go_column()?
        );
        Ok(self.engine.query(&sql, &[], |row| row.text(0))?.into_iter().collect())
    }

    /// How many evictions were begun and not ended.
    pub fn unfinished_evictions(&self) -> Result<u64, StoreError> {
        let count = self.engine.query_opt(
            "SELECT count(*) FROM sessions WHERE evicting_at IS NOT NULL",
            &[],
            |row| row.count(0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// What each session takes of the raw cache, those that are being made anew among them.
    pub fn raw_bytes(&self) -> Result<HashMap<String, u64>, StoreError> {
        let mut bytes: HashMap<String, u64> = HashMap::new();
        for (table, length) in self.raw()? {
            let sql = format!("SELECT session_uid, sum({length}) FROM {table} GROUP BY session_uid");
            for (uid, more) in self.engine.query(&sql, &[], |row| Ok((row.text(0)?, row.count(1)?)))? {
                *bytes.entry(uid).or_default() += more;
            }
        }
        Ok(bytes)
    }

    fn raw(&self) -> Result<&'static [(&'static str, &'static str)], StoreError> {
        Ok(&RAW[..RAW.len() - usize::from(!self.has_trigrams()?)])
    }

    /// What one session takes of the raw cache.
    pub fn raw_bytes_of(&self, session_uid: &str) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for (table, length) in self.raw()? {
            let sql = format!("SELECT coalesce(sum({length}), 0) FROM {table} WHERE session_uid = $1");
            let more = self
                .engine
                .query_opt(&sql, &[Value::Text(session_uid)], |row| row.count(0))?;
            bytes += more.unwrap_or_default();
        }
        Ok(bytes)
    }

    /// What all sessions take of the raw cache.
    pub fn raw_cache_bytes(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for (table, length) in self.raw()? {
            let sql = format!("SELECT coalesce(sum({length}), 0) FROM {table}");
            bytes += self
                .engine
                .query_opt(&sql, &[], |row| row.count(0))?
                .unwrap_or_default();
        }
        Ok(bytes)
    }

    /// The sessions whose raw text is here, by uid, and what is here beside them: of sessions that are made anew.
    pub fn candidates(&self) -> Result<(Vec<Candidate>, u64), StoreError> {
        let mut bytes = self.raw_bytes()?;
        let kept = self.keeps()?;
        let gone = self.let_go_column()?;
        let sql = format!(
            "SELECT sessions.session_uid, flavor, ingested_at, analyzed_at, ended_at
             FROM sessions LEFT JOIN views ON views.session_uid = sessions.session_uid
             WHERE stands_for IS NULL AND {gone} IS NULL ORDER BY sessions.session_uid"
        );
        let candidates = self.engine.query(&sql, &[], |row| {
            let session_uid = row.text(0)?;
            Ok(Candidate {
                flavor: row.text(1)?,
                bytes: bytes.remove(&session_uid).unwrap_or_default(),
                ingested_at: row.int(2)?,
                analyzed_at: row.int_opt(3)?,
                ended_at: row.int_opt(4)?,
                is_kept: kept.contains(&session_uid) || kept.contains(parent_of(&session_uid)),
                is_busy: false,
                is_opaque: false,
                session_uid,
            })
        })?;
        Ok((candidates, bytes.into_values().sum()))
    }
}

/// The session that a subagent worked for; of any other session itself.
fn parent_of(session_uid: &str) -> &str {
    session_uid.split_once('/').map_or(session_uid, |(parent, _)| parent)
}
