//! The `decisions` table: decisions that users wrote down. No other file writes it, and nothing can derive them
//! again.

use jiff::Timestamp;

use super::engine::{Row, Value};
use super::{Reads, StoreError, Tx, micros};

/// A decision that was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub decision_id: i64,
    /// The session in which it was made, if any.
    pub session_uid: Option<String>,
    pub at_micros: i64,
    pub text: String,
    /// The version of the rules that masked it.
    pub mask_version: u32,
}

impl Tx<'_> {
    /// Adds a decision and returns its row.
    pub fn add_decision(
        &self,
        session_uid: Option<&str>,
        text: &str,
        at: Timestamp,
        mask_version: u32,
    ) -> Result<Decision, StoreError> {
        let text = text.replace('\0', "\u{2400}");
        let added = self.engine.query_opt(
            "INSERT INTO decisions (decision_id, session_uid, at, text, mask_version)
             SELECT coalesce(max(decision_id), 0) + 1, $1, $2, $3, $4 FROM decisions
             RETURNING decision_id, session_uid, at, text, mask_version",
            &[
                Value::text_opt(session_uid),
                Value::Int(micros(at)),
                Value::Text(&text),
                Value::Int(i64::from(mask_version)),
            ],
            read_decision,
        )?;
        Ok(added.expect("RETURNING yields the inserted row"))
    }

    /// Deletes the decisions of a session, because the session is forgotten.
    pub fn drop_decisions(&self, session_uid: &str) -> Result<(), StoreError> {
        let uid = [Value::Text(session_uid)];
        self.engine
            .execute("DELETE FROM decisions WHERE session_uid = $1", &uid)?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns all decisions in chronological order.
    pub fn decisions(&self) -> Result<Vec<Decision>, StoreError> {
        self.decisions_where("1 = 1", &[])
    }

    /// Returns the decisions of one session in chronological order.
    pub fn decisions_of(&self, session_uid: &str) -> Result<Vec<Decision>, StoreError> {
        self.decisions_where("session_uid = $1", &[Value::Text(session_uid)])
    }

    fn decisions_where(&self, which: &str, values: &[Value<'_>]) -> Result<Vec<Decision>, StoreError> {
        // A store that an older version created has no such table until the next write.
        if !self.engine.has_table("decisions")? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT decision_id, session_uid, at, text, mask_version FROM decisions WHERE {which} ORDER BY at, decision_id"
        );
        self.engine.query(&sql, values, read_decision)
    }
}

fn read_decision(row: &Row<'_>) -> Result<Decision, StoreError> {
    Ok(Decision {
        decision_id: row.int(0)?,
        session_uid: row.text_opt(1)?,
        at_micros: row.int(2)?,
        text: row.text(3)?,
        mask_version: u32::try_from(row.int(4)?).unwrap_or_default(),
    })
}
