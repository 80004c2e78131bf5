//! The `keeps` and `tombstones` tables: the user's decisions about raw text. No other file writes them. Also the
//! queries of a retention run: the size of each session's raw text, and evictions that a crash interrupted.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::engine::Value;
use super::{Reads, StoreError, Tx, micros};

/// The columns that contain raw text of a session, or data from which text can be read. Numbers are not raw text.
const RAW_COLUMNS: [(&str, &str); 6] = [
    ("frames", "length"),
    ("tails", "length(bytes)"),
    ("filters", "length(bytes)"),
    ("events", "length(bytes)"),
    ("readers", "length(state)"),
    // Must be last, because a store that an older version created has no such table until the next write.
    ("trigrams", "length(bytes)"),
];

/// A session with everything that retention needs. Times are microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictionCandidate {
    pub session_uid: String,
    pub flavor: String,
    /// Size of its raw text.
    pub bytes: u64,
    pub ingested_at: i64,
    pub analyzed_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub is_kept: bool,
    /// `true` if its log is being read right now.
    pub is_busy: bool,
    /// `true` if making its digest has failed.
    pub is_opaque: bool,
}

impl Tx<'_> {
    /// Protects a session from eviction. Returns `true` if it was not protected before.
    pub fn keep(&self, session_uid: &str, at: Timestamp) -> Result<bool, StoreError> {
        let added = self.engine.execute(
            "INSERT INTO keeps (session_uid, at) VALUES ($1, $2) ON CONFLICT (session_uid) DO NOTHING",
            &[Value::Text(session_uid), Value::Int(micros(at))],
        )?;
        Ok(added > 0)
    }

    /// Removes the protection. Returns `true` if the session was protected.
    pub fn drop_keep(&self, session_uid: &str) -> Result<bool, StoreError> {
        let dropped = self
            .engine
            .execute("DELETE FROM keeps WHERE session_uid = $1", &[Value::Text(session_uid)])?;
        Ok(dropped > 0)
    }

    /// Removes the protection that was added at the given time. Returns `true` if it existed.
    pub(super) fn remove_keep_added_at(&self, session_uid: &str, at_micros: i64) -> Result<bool, StoreError> {
        let dropped = self.engine.execute(
            "DELETE FROM keeps WHERE session_uid = $1 AND at = $2",
            &[Value::Text(session_uid), Value::Int(at_micros)],
        )?;
        Ok(dropped > 0)
    }

    /// Records that a session was forgotten permanently.
    pub fn add_tombstone(&self, session_uid: &str, at: Timestamp) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO tombstones (session_uid, at) VALUES ($1, $2) ON CONFLICT (session_uid) DO NOTHING",
            &[Value::Text(session_uid), Value::Int(micros(at))],
        )?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns `true` if the tables of this file exist. A store that an older version created has none until the next
    /// write.
    pub(crate) fn has_retention(&self) -> Result<bool, StoreError> {
        self.engine.has_table("tombstones")
    }

    /// Returns the sessions that are protected from eviction.
    pub fn keeps(&self) -> Result<HashSet<String>, StoreError> {
        if !self.has_retention()? {
            return Ok(HashSet::new());
        }
        let kept = self
            .engine
            .query("SELECT session_uid FROM keeps", &[], |row| row.text(0))?;
        Ok(kept.into_iter().collect())
    }

    /// Returns `true` if a session or its parent is protected from eviction.
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

    /// Returns the sessions that were forgotten.
    pub fn tombstones(&self) -> Result<HashSet<String>, StoreError> {
        if !self.has_retention()? {
            return Ok(HashSet::new());
        }
        let buried = self
            .engine
            .query("SELECT session_uid FROM tombstones", &[], |row| row.text(0))?;
        Ok(buried.into_iter().collect())
    }

    /// Returns `true` if a session or its parent was forgotten.
    pub fn has_tombstone(&self, session_uid: &str) -> Result<bool, StoreError> {
        let found = self.engine.query_opt(
            "SELECT 1 FROM tombstones WHERE session_uid IN ($1, $2)",
            &[Value::Text(session_uid), Value::Text(parent_of(session_uid))],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// Returns `true` if any line of a session is stored.
    pub fn has_raw_text(&self, session_uid: &str) -> Result<bool, StoreError> {
        Ok(!self.parts(session_uid)?.is_empty())
    }

    /// Returns `true` if the raw text of a session was evicted or is being evicted.
    pub fn is_evicted(&self, session_uid: &str) -> Result<bool, StoreError> {
        let found = self.engine.query_opt(
            "SELECT 1 FROM sessions
             WHERE session_uid = $1 AND (evicted_at IS NOT NULL OR evicting_at IS NOT NULL)",
            &[Value::Text(session_uid)],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// Returns the sessions whose raw text was evicted.
    pub fn let_go(&self) -> Result<HashSet<String>, StoreError> {
        let sql = format!(
            "SELECT session_uid FROM sessions WHERE stands_for IS NULL AND {} IS NOT NULL",
            self.evicted_at_column()?
        );
        Ok(self.engine.query(&sql, &[], |row| row.text(0))?.into_iter().collect())
    }

    /// Returns the number of evictions that are not complete.
    pub fn unfinished_evictions(&self) -> Result<u64, StoreError> {
        let count = self.engine.query_opt(
            "SELECT count(*) FROM sessions WHERE evicting_at IS NOT NULL",
            &[],
            |row| row.count(0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// Returns the size of each session's raw text, including sessions that are being derived again.
    pub fn raw_bytes(&self) -> Result<HashMap<String, u64>, StoreError> {
        let mut bytes: HashMap<String, u64> = HashMap::new();
        for (table, length) in self.raw_columns()? {
            let sql = format!("SELECT session_uid, sum({length}) FROM {table} GROUP BY session_uid");
            for (uid, more) in self.engine.query(&sql, &[], |row| Ok((row.text(0)?, row.count(1)?)))? {
                *bytes.entry(uid).or_default() += more;
            }
        }
        Ok(bytes)
    }

    fn raw_columns(&self) -> Result<&'static [(&'static str, &'static str)], StoreError> {
        Ok(&RAW_COLUMNS[..RAW_COLUMNS.len() - usize::from(!self.has_trigrams()?)])
    }

    /// Returns the size of one session's raw text.
    pub fn raw_bytes_of(&self, session_uid: &str) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for (table, length) in self.raw_columns()? {
            let sql = format!("SELECT coalesce(sum({length}), 0) FROM {table} WHERE session_uid = $1");
            let more = self
                .engine
                .query_opt(&sql, &[Value::Text(session_uid)], |row| row.count(0))?;
            bytes += more.unwrap_or_default();
        }
        Ok(bytes)
    }

    /// Returns the size of all raw text.
    pub fn raw_cache_bytes(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for (table, length) in self.raw_columns()? {
            let sql = format!("SELECT coalesce(sum({length}), 0) FROM {table}");
            bytes += self
                .engine
                .query_opt(&sql, &[], |row| row.count(0))?
                .unwrap_or_default();
        }
        Ok(bytes)
    }

    /// Returns the sessions that have raw text, sorted by uid, and the size of the raw text that belongs to none of
    /// them, because its session is being derived again.
    pub fn candidates(&self) -> Result<(Vec<EvictionCandidate>, u64), StoreError> {
        let mut bytes = self.raw_bytes()?;
        let kept = self.keeps()?;
        let gone = self.evicted_at_column()?;
        let sql = format!(
            "SELECT sessions.session_uid, flavor, ingested_at, analyzed_at, ended_at
             FROM sessions LEFT JOIN views ON views.session_uid = sessions.session_uid
             WHERE stands_for IS NULL AND {gone} IS NULL ORDER BY sessions.session_uid"
        );
        let candidates = self.engine.query(&sql, &[], |row| {
            let session_uid = row.text(0)?;
            Ok(EvictionCandidate {
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

/// Returns the parent of a subagent, or the uid itself if the session is not a subagent.
fn parent_of(session_uid: &str) -> &str {
    session_uid.split_once('/').map_or(session_uid, |(parent, _)| parent)
}
