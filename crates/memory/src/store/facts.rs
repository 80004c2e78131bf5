//! The `facts` table: what hooks and wrapped commands reported about a session and no log contains. No other file
//! writes it.
//!
//! Facts refer to a uid and not to a row of `sessions`, because a hook may report before the log was read.

use jiff::{SignedDuration, Timestamp};

use super::engine::{Row, Value};
use super::{Reads, StoreError, Tx, micros};

/// The settings of two agents may run the same hook. Equal facts within this time are stored once.
const SAME_WITHIN_MICROS: i64 = 2_000_000;
/// An agent may still write to its log for a moment after it reported its end.
pub(crate) const SLACK: SignedDuration = SignedDuration::from_mins(1);

/// A single fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFact {
    pub session_uid: String,
    /// Distinguishes it from other facts of its session.
    pub key: String,
    pub agent: String,
    pub at: Timestamp,
    pub event: String,
    pub reason: Option<String>,
    pub error: Option<String>,
    pub exit_code: Option<i64>,
}

impl Tx<'_> {
    /// Stores a fact. Returns `true` if it is new, and then marks its session to be analyzed again.
    pub fn put_fact(&self, fact: &SessionFact) -> Result<bool, StoreError> {
        let at = micros(fact.at);
        let (uid, key, event) = (&fact.session_uid, &fact.key, &fact.event);
        let same = self.engine.query_opt(
            "SELECT 1 FROM facts WHERE session_uid = $1 AND event = $2 AND at BETWEEN $3 AND $4
                AND coalesce(reason, '') = $5 AND coalesce(error, '') = $6 AND coalesce(exit_code, -1) = $7",
            &[
                Value::Text(uid),
                Value::Text(event),
                Value::Int(at - SAME_WITHIN_MICROS),
                Value::Int(at + SAME_WITHIN_MICROS),
                Value::Text(fact.reason.as_deref().unwrap_or_default()),
                Value::Text(fact.error.as_deref().unwrap_or_default()),
                Value::Int(fact.exit_code.unwrap_or(-1)),
            ],
            |row| row.int(0),
        )?;
        if same.is_some() {
            return Ok(false);
        }
        let put = self.engine.execute(
            "INSERT INTO facts (session_uid, fact_key, agent, at, event, reason, error, exit_code)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (session_uid, fact_key) DO UPDATE SET at = $4, reason = $6, error = $7, exit_code = $8
             WHERE facts.at < $4",
            &[
                Value::Text(uid),
                Value::Text(key),
                Value::Text(&fact.agent),
                Value::Int(at),
                Value::Text(event),
                Value::text_opt(fact.reason.as_deref()),
                Value::text_opt(fact.error.as_deref()),
                fact.exit_code.map_or(Value::Null, Value::Int),
            ],
        )?;
        if put > 0 {
            self.clear_analyzed(uid)?;
        }
        Ok(put > 0)
    }

    /// Deletes all facts of a session.
    pub fn drop_facts(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine
            .execute("DELETE FROM facts WHERE session_uid = $1", &[Value::Text(session_uid)])?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns the facts of a session, oldest first.
    pub fn facts_of(&self, session_uid: &str) -> Result<Vec<SessionFact>, StoreError> {
        if !self.engine.has_table("facts")? {
            return Ok(Vec::new());
        }
        self.engine.query(
            "SELECT session_uid, fact_key, agent, at, event, reason, error, exit_code FROM facts
             WHERE session_uid = $1 ORDER BY at, fact_key",
            &[Value::Text(session_uid)],
            read_fact,
        )
    }

    /// Returns `true` if there are any facts.
    pub fn has_facts(&self) -> Result<bool, StoreError> {
        if !self.engine.has_table("facts")? {
            return Ok(false);
        }
        let one = self.engine.query_opt("SELECT 1 FROM facts LIMIT 1", &[], |_| Ok(()))?;
        Ok(one.is_some())
    }

    /// Returns all facts, sorted by uid.
    pub fn facts(&self) -> Result<Vec<SessionFact>, StoreError> {
        if !self.engine.has_table("facts")? {
            return Ok(Vec::new());
        }
        self.engine.query(
            "SELECT session_uid, fact_key, agent, at, event, reason, error, exit_code FROM facts
             ORDER BY session_uid, at, fact_key",
            &[],
            read_fact,
        )
    }

    /// Returns when an agent's hooks last reported something, and which event it was.
    pub fn last_hook_event(&self, agent: &str) -> Result<Option<(Timestamp, String)>, StoreError> {
        if !self.engine.has_table("facts")? {
            return Ok(None);
        }
        self.engine.query_opt(
            "SELECT at, event FROM facts WHERE agent = $1 AND event <> 'exit' ORDER BY at DESC, fact_key LIMIT 1",
            &[Value::Text(agent)],
            |row| Ok((parse_time(row.int(0)?), row.text(1)?)),
        )
    }
}

fn read_fact(row: &Row<'_>) -> Result<SessionFact, StoreError> {
    Ok(SessionFact {
        session_uid: row.text(0)?,
        key: row.text(1)?,
        agent: row.text(2)?,
        at: parse_time(row.int(3)?),
        event: row.text(4)?,
        reason: row.text_opt(5)?,
        error: row.text_opt(6)?,
        exit_code: row.int_opt(7)?,
    })
}

fn parse_time(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
}
