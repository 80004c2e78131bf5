//! The `sessions` table: which sessions exist, and when they were found, read, analyzed and evicted. No other file
//! writes it.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use jiff::Timestamp;
use transcript::{Agent, Session};

use super::engine::Value;
use super::{Reads, StoreError, Tx, micros};

/// Minimum length of a printed id, so that it stays unambiguous while new sessions arrive.
pub const SHORT_ID_CHARS: usize = 8;

/// The permanent facts of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub session_uid: String,
    pub flavor: String,
    pub discovered_at: i64,
    pub ingested_at: i64,
    pub analyzed_at: Option<i64>,
    /// When its raw text was evicted.
    pub evicted_at: Option<i64>,
}

/// Returns the uid under which this process derives a session again until the result replaces it. Two machines may
/// have processes with the same number, so a random number is added.
pub fn stand_in(session_uid: &str) -> String {
    static OWN: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
    format!("~{}.{:x}~{session_uid}", std::process::id(), *OWN)
}

/// Returns the session of which a uid is the temporary copy, or `None` for any other uid.
fn stands_for(session_uid: &str) -> Option<&str> {
    let (_, uid) = session_uid.strip_prefix('~')?.split_once('~')?;
    Some(uid)
}

/// Parses the agent of a uid.
pub fn agent_of(session_uid: &str) -> Result<transcript::Agent, StoreError> {
    let flavor = session_uid.split_once(':').map_or(session_uid, |(flavor, _)| flavor);
    let agent = transcript::Agent::ALL
        .into_iter()
        .find(|agent| agent.as_str() == flavor);
    agent.ok_or_else(|| StoreError::Unknown {
        what: "agent",
        word: flavor.to_owned(),
    })
}

impl Tx<'_> {
    /// Records that a session was read. If it has grown, it must be analyzed again.
    pub fn put_session(&self, session_uid: &str, session: &Session, at: Timestamp) -> Result<(), StoreError> {
        let writer = self.engine.writer();
        // If no writer is configured, the recorded one stays.
        self.engine.execute(
            "INSERT INTO sessions (session_uid, flavor, native_session_id, discovered_at, ingested_at, stands_for, machine,
                user_name)
             VALUES ($1, $2, $3, $4, $4, $5, $6, $7)
             ON CONFLICT (session_uid) DO UPDATE SET ingested_at = $4, analyzed_at = NULL, evicted_at = NULL,
                evicting_at = NULL, machine = coalesce($6, sessions.machine),
                user_name = coalesce($7, sessions.user_name), generation = sessions.generation
                    + CASE WHEN sessions.evicted_at IS NULL AND sessions.evicting_at IS NULL THEN 0 ELSE 1 END",
            &[
                Value::Text(session_uid),
                Value::Text(session.flavor.as_str()),
                Value::Text(&session.native_session_id),
                Value::Int(micros(at)),
                Value::text_opt(stands_for(session_uid)),
                Value::text_opt(Some(writer.machine.as_str()).filter(|name| !name.is_empty())),
                Value::text_opt(Some(writer.user.as_str()).filter(|name| !name.is_empty())),
            ],
        )?;
        Ok(())
    }

    /// Adds a session whose own row was lost, because other rows name it.
    pub fn restore_session(&self, session_uid: &str, at: Timestamp) -> Result<(), StoreError> {
        let (flavor, native_id) = session_uid.split_once(':').unwrap_or((session_uid, session_uid));
        self.engine.execute(
            "INSERT INTO sessions (session_uid, flavor, native_session_id, discovered_at, ingested_at)
             VALUES ($1, $2, $3, $4, $4) ON CONFLICT DO NOTHING",
            &[
                Value::Text(session_uid),
                Value::Text(flavor),
                Value::Text(native_id),
                Value::Int(micros(at)),
            ],
        )?;
        Ok(())
    }

    /// Records this writer for a session whose writer is unknown.
    pub(super) fn fill_writer(&self, session_uid: &str) -> Result<(), StoreError> {
        let writer = self.engine.writer();
        self.engine.execute(
            "UPDATE sessions SET machine = coalesce(machine, $2), user_name = coalesce(user_name, $3) WHERE session_uid = $1",
            &[
                Value::Text(session_uid),
                Value::text_opt(Some(writer.machine.as_str()).filter(|name| !name.is_empty())),
                Value::text_opt(Some(writer.user.as_str()).filter(|name| !name.is_empty())),
            ],
        )?;
        Ok(())
    }

    /// Records that a session was derived again, so that it is analyzed again. `at` is when it grew, or `None` if it
    /// did not.
    pub(super) fn touch_session(&self, session_uid: &str, at: Option<Timestamp>) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE sessions SET ingested_at = coalesce($2, ingested_at), analyzed_at = NULL, evicted_at = NULL,
                evicting_at = NULL
             WHERE session_uid = $1",
            &[
                Value::Text(session_uid),
                at.map_or(Value::Null, |at| Value::Int(micros(at))),
            ],
        )?;
        Ok(())
    }

    /// Starts the eviction of a session. Returns `false` if it was read again since `ingested_at` or is evicted
    /// already.
    pub fn mark_evicting(
        &self,
        session_uid: &str,
        ingested_at: i64,
        at: Timestamp,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let marked = self.engine.execute(
            "UPDATE sessions SET evicting_at = $3, evicted_for = $4
             WHERE session_uid = $1 AND ingested_at = $2 AND evicted_at IS NULL AND evicting_at IS NULL",
            &[
                Value::Text(session_uid),
                Value::Int(ingested_at),
                Value::Int(micros(at)),
                Value::Text(reason),
            ],
        )?;
        Ok(marked > 0)
    }

    /// Starts the eviction of a forgotten session, no matter when it was read. An evicted session keeps its time.
    pub fn mark_forgotten(&self, session_uid: &str, at: Timestamp) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE sessions SET evicting_at = coalesce(evicted_at, $2), evicted_at = NULL, evicted_for = 'forgotten'
             WHERE session_uid = $1",
            &[Value::Text(session_uid), Value::Int(micros(at))],
        )?;
        Ok(())
    }

    /// Records that the digest of a session was stored.
    pub(super) fn set_analyzed(&self, session_uid: &str, at: Timestamp) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE sessions SET analyzed_at = $2 WHERE session_uid = $1",
            &[Value::Text(session_uid), Value::Int(micros(at))],
        )?;
        Ok(())
    }

    /// Records that a fact was reported about a session, so that it is analyzed again unless it is evicted.
    pub(super) fn clear_analyzed(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE sessions SET analyzed_at = NULL
             WHERE session_uid = $1 AND evicted_at IS NULL AND evicting_at IS NULL",
            &[Value::Text(session_uid)],
        )?;
        Ok(())
    }

    /// Records that all evictions are complete.
    pub fn end_evictions(&self) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE sessions SET evicted_at = evicting_at, evicting_at = NULL WHERE evicting_at IS NOT NULL",
            &[],
        )?;
        Ok(())
    }

    /// Deletes the temporary copies of a session.
    pub fn drop_stand_ins_of(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "DELETE FROM sessions WHERE session_uid >= '~' AND stands_for = $1",
            &[Value::Text(session_uid)],
        )?;
        Ok(())
    }

    /// Deletes a session and all rows that refer to it.
    pub fn drop_session(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "DELETE FROM sessions WHERE session_uid = $1",
            &[Value::Text(session_uid)],
        )?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns the column that is not null if the raw text of a session was evicted, whether or not the eviction is
    /// complete.
    pub(super) fn evicted_at_column(&self) -> Result<&'static str, StoreError> {
        Ok(match self.has_retention()? {
            true => "coalesce(sessions.evicted_at, sessions.evicting_at)",
            false => "sessions.evicted_at",
        })
    }

    /// Returns the columns of a session's writer. A store that an older version created has none until the next
    /// write.
    pub(super) fn writer_columns(&self) -> Result<&'static str, StoreError> {
        const KNOWS_WRITERS: i64 = 8;
        Ok(match self.engine.version()? >= KNOWS_WRITERS {
            true => "machine, user_name",
            false => "NULL, NULL",
        })
    }

    /// Returns all sessions, sorted by uid.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.sessions_where("stands_for IS NULL ORDER BY session_uid", &[])
    }

    /// Returns one session.
    pub fn session(&self, session_uid: &str) -> Result<Option<SessionRow>, StoreError> {
        let found = self.sessions_where("session_uid = $1", &[Value::Text(session_uid)])?;
        Ok(found.into_iter().next())
    }

    fn sessions_where(&self, which: &str, values: &[Value<'_>]) -> Result<Vec<SessionRow>, StoreError> {
        let gone = self.evicted_at_column()?;
        let sql = format!(
            "SELECT session_uid, flavor, discovered_at, ingested_at, analyzed_at, {gone} FROM sessions WHERE {which}"
        );
        self.engine.query(&sql, values, |row| {
            Ok(SessionRow {
                session_uid: row.text(0)?,
                flavor: row.text(1)?,
                discovered_at: row.int(2)?,
                ingested_at: row.int(3)?,
                analyzed_at: row.int_opt(4)?,
                evicted_at: row.int_opt(5)?,
            })
        })
    }

    /// Returns how often a session was read again after its eviction.
    pub fn generation(&self, session_uid: &str) -> Result<u64, StoreError> {
        let found = self.engine.query_opt(
            "SELECT generation FROM sessions WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| row.count(0),
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Returns when the raw text of a session was evicted, in microseconds since 1970, and why.
    pub fn find_eviction(&self, session_uid: &str) -> Result<Option<(i64, Option<String>)>, StoreError> {
        let reason = match self.engine.has_table("copies")? {
            true => "evicted_for",
            false => "NULL",
        };
        let gone = self.evicted_at_column()?;
        let sql = format!("SELECT {gone}, {reason} FROM sessions WHERE session_uid = $1 AND {gone} IS NOT NULL");
        self.engine.query_opt(&sql, &[Value::Text(session_uid)], |row| {
            Ok((row.int(0)?, row.text_opt(1)?))
        })
    }

    /// Returns the temporary copies that remain after a crash. In a shared store, those of other machines are skipped.
    pub fn stand_ins(&self) -> Result<Vec<String>, StoreError> {
        let machine = self.engine.writer().machine.as_str();
        let own = match self.engine.is_shared() && !machine.is_empty() {
            true => " AND coalesce(machine, $1) = $1",
            false => "",
        };
        let sql = format!("SELECT session_uid FROM sessions WHERE stands_for IS NOT NULL{own} ORDER BY session_uid");
        self.engine.query(&sql, &[Value::Text(machine)], |row| row.text(0))
    }

    /// Returns the sessions that another machine wrote. Only that machine derives them again, because two machines
    /// with different versions would otherwise do so forever.
    pub fn sessions_written_elsewhere(&self) -> Result<HashSet<String>, StoreError> {
        let machine = self.engine.writer().machine.as_str();
        if !self.engine.is_shared() || machine.is_empty() {
            return Ok(HashSet::new());
        }
        let found = self.engine.query(
            "SELECT session_uid FROM sessions WHERE machine IS NOT NULL AND machine <> $1",
            &[Value::Text(machine)],
            |row| row.text(0),
        )?;
        Ok(found.into_iter().collect())
    }

    /// Returns the sessions that this user wrote on this machine.
    pub fn sessions_written_here(&self) -> Result<Vec<String>, StoreError> {
        let writer = self.engine.writer();
        // An older version did not always record the user.
        self.engine.query(
            "SELECT session_uid FROM sessions
             WHERE stands_for IS NULL AND coalesce(machine, '') = $1 AND coalesce(user_name, $2) = $2
             ORDER BY session_uid",
            &[Value::Text(&writer.machine), Value::Text(&writer.user)],
            |row| row.text(0),
        )
    }

    /// Returns the temporary copies of one session. Their uids share a prefix, so no other rows are read.
    pub fn stand_ins_of(&self, session_uid: &str) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT session_uid FROM sessions WHERE session_uid >= '~' AND stands_for = $1 ORDER BY session_uid",
            &[Value::Text(session_uid)],
            |row| row.text(0),
        )
    }

    /// Returns `true` if a session exists.
    pub fn has_session(&self, session_uid: &str) -> Result<bool, StoreError> {
        let found = self.engine.query_opt(
            "SELECT 1 FROM sessions WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// Returns the agents' own ids that sort directly before and after `native_id` among the sessions of each agent,
    /// and `native_id` itself once for each other agent that has a session of this id. Subagents of the session are
    /// left out.
    ///
    /// Sessions of which only prompts are left count too, because a prefix can name them. The list is empty if no
    /// other id shares its first [`SHORT_ID_CHARS`] characters.
    pub fn neighbouring_ids(&self, session_uid: &str) -> Result<Vec<String>, StoreError> {
        let native_id = session_uid.split_once(':').map_or(session_uid, |(_, native)| native);
        let has_prompts = self.engine.has_table("prompts")?;
        let mut ids = Vec::new();
        let prompts = has_prompts.then_some(("prompts", ""));
        let tables: Vec<_> = [("sessions", "AND stands_for IS NULL")]
            .into_iter()
            .chain(prompts)
            .collect();
        if !self.shares_prefix(session_uid, native_id, &tables)? {
            return Ok(ids);
        }
        for agent in Agent::ALL {
            let (first, end) = (format!("{}:", agent.as_str()), format!("{};", agent.as_str()));
            let uid = format!("{first}{native_id}");
            // `/`, which separates a subagent from its session, sorts directly before `0`.
            let (begin, subagents, after) = (format!("{first} "), format!("{uid}/"), format!("{uid}0"));
            let first_after = format!("{uid} ");
            let ranges = [
                (begin.as_str(), uid.as_str(), "DESC"),
                (first_after.as_str(), subagents.as_str(), "ASC"),
                (after.as_str(), end.as_str(), "ASC"),
            ];
            let same = (uid != session_uid).then_some((uid.as_str(), after.as_str(), "ASC"));
            for (from, to, order) in ranges.into_iter().chain(same) {
                for (table, condition) in &tables {
                    ids.extend(self.first_id_between(table, condition, from, to, order)?);
                }
            }
        }
        Ok(ids)
    }

    /// Returns `true` if another session shares the first characters of `native_id`. Few do, so this decides it for
    /// most sessions with one statement per table and agent.
    fn shares_prefix(&self, session_uid: &str, native_id: &str, tables: &[(&str, &str)]) -> Result<bool, StoreError> {
        let chars = native_id.char_indices().nth(SHORT_ID_CHARS);
        let prefix = chars.map_or(native_id, |(end, _)| &native_id[..end]);
        let (subagents, after) = (format!("{session_uid}/"), format!("{session_uid}0"));
        for (table, condition) in tables {
            let sql = format!(
                "SELECT session_uid FROM {table} WHERE session_uid >= $1 AND session_uid < $2 AND session_uid <> $3
                 AND NOT (session_uid >= $4 AND session_uid < $5) {condition} LIMIT 1"
            );
            for agent in Agent::ALL {
                let from = format!("{}:{prefix}", agent.as_str());
                let to = format!("{from}{}", char::MAX);
                let values = [&*from, &to, session_uid, &subagents, &after].map(Value::Text);
                if self.engine.query_opt(&sql, &values, |row| row.text(0))?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn first_id_between(
        &self,
        table: &str,
        condition: &str,
        from: &str,
        to: &str,
        order: &str,
    ) -> Result<Option<String>, StoreError> {
        let sql = format!(
            "SELECT session_uid FROM {table} WHERE session_uid >= $1 AND session_uid < $2 {condition}
             ORDER BY session_uid {order} LIMIT 1"
        );
        let uid = self
            .engine
            .query_opt(&sql, &[Value::Text(from), Value::Text(to)], |row| row.text(0))?;
        Ok(uid.and_then(|uid| uid.split_once(':').map(|(_, native)| native.to_owned())))
    }

    /// Returns `true` if a session has not grown since its digest was stored.
    pub fn is_analyzed(&self, session_uid: &str) -> Result<bool, StoreError> {
        let found = self.engine.query_opt(
            "SELECT 1 FROM sessions WHERE session_uid = $1 AND analyzed_at IS NOT NULL",
            &[Value::Text(session_uid)],
            |row| row.int(0),
        )?;
        Ok(found.is_some())
    }

    /// Returns the uids that start with `prefix`, sorted by uid.
    pub fn uids_with_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        // The prefix may omit the agent.
        self.engine.query(
            "SELECT session_uid FROM sessions
             WHERE stands_for IS NULL
                AND (substr(session_uid, 1, length($1)) = $1 OR substr(native_session_id, 1, length($1)) = $1)
             ORDER BY session_uid",
            &[Value::Text(prefix)],
            |row| row.text(0),
        )
    }
}
