//! Queries on one session: its view, its turns, its parse errors, and its subagents. Nothing is written here.

use std::collections::BTreeSet;

use jiff::Timestamp;
use transcript::{LineageKind, Session, Turn};

use super::derived::replace_nul;
use super::engine::{Row, Value};
use super::{Reads, StoreError, kept_time};

impl Reads<'_> {
    /// Returns a session as derived from its log, or `None` if nothing was derived yet.
    pub fn view(&self, session_uid: &str) -> Result<Option<Session>, StoreError> {
        let view = self.engine.query_opt(
            "SELECT view FROM views WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| row.text(0),
        )?;
        let damaged = || StoreError::DamagedRow {
            session_uid: session_uid.to_owned(),
            table: "views",
        };
        view.map(|view| serde_json::from_str(&view).map(stored_session).map_err(|_| damaged()))
            .transpose()
    }

    /// Returns the turns of a session, in order.
    pub fn turns(&self, session_uid: &str) -> Result<Vec<Turn>, StoreError> {
        self.engine.query(
            "SELECT turn, trigger_seq, start_line, end_line, started_at, ended_at, prompt, events, tool_calls, errors,
                is_rewound
             FROM turns WHERE session_uid = $1 ORDER BY turn",
            &[Value::Text(session_uid)],
            read_turn,
        )
    }

    /// Returns when each turn of each session started, if its time is known, with the uid of the session.
    pub fn turn_starts(&self) -> Result<Vec<(String, i64)>, StoreError> {
        self.engine.query(
            "SELECT session_uid, started_at FROM turns WHERE started_at IS NOT NULL ORDER BY session_uid, turn",
            &[],
            |row| Ok((row.text(0)?, row.int(1)?)),
        )
    }

    /// Returns the number of lines of a session with a parse error.
    pub fn fault_count(&self, session_uid: &str) -> Result<u64, StoreError> {
        let count = self.engine.query_opt(
            "SELECT count(*) FROM faults WHERE session_uid = $1",
            &[Value::Text(session_uid)],
            |row| row.count(0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// Returns the number of lines of a part that were read.
    pub fn line_count(&self, session_uid: &str, part: &str) -> Result<u64, StoreError> {
        let count = self.engine.query_opt(
            "SELECT coalesce(max(lines), 0) FROM cursors WHERE session_uid = $1 AND part = $2",
            &[Value::Text(session_uid), Value::Text(part)],
            |row| row.count(0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// Returns the subagents of a session, according to their own logs, sorted by uid.
    pub fn subagents_of(&self, session_uid: &str) -> Result<Vec<Session>, StoreError> {
        // Most views do not contain the uid, and those are not parsed.
        let named = self.subagents_where(
            "views.session_uid <> $1 AND instr(view, $1) > 0",
            &[Value::Text(session_uid)],
        )?;
        let is_child = |session: &Session| find_parents(session).contains(&session_uid);
        Ok(named.into_iter().filter(is_child).collect())
    }

    /// Returns all subagents, sorted by uid.
    pub fn subagents(&self) -> Result<Vec<Session>, StoreError> {
        self.subagents_where("1 = 1", &[])
    }

    fn subagents_where(&self, which: &str, values: &[Value<'_>]) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT views.view FROM views JOIN sessions ON sessions.session_uid = views.session_uid
             WHERE is_subagent <> 0 AND stands_for IS NULL AND {which} ORDER BY views.session_uid"
        );
        let views = self.engine.query(&sql, values, |row| row.text(0))?;
        Ok(views
            .iter()
            .filter_map(|view| serde_json::from_str(view).ok())
            .collect())
    }
}

/// Returns a turn as its row will return it.
pub fn stored_turn(turn: &Turn) -> Turn {
    Turn {
        prompt: replace_nul(&turn.prompt).into(),
        started_at: kept_time(turn.started_at),
        ended_at: kept_time(turn.ended_at),
        ..turn.clone()
    }
}

/// Returns a session as it will be read from the store: times have the precision of the columns.
pub fn stored_session(session: Session) -> Session {
    Session {
        started_at: kept_time(session.started_at),
        ended_at: kept_time(session.ended_at),
        ..session
    }
}

/// Returns the direct and indirect parents of a session, according to its uid and its lineage.
pub fn find_parents(session: &Session) -> BTreeSet<&str> {
    let own = session.session_uid.as_str();
    let above = own.match_indices('/').map(|(at, _)| &own[..at]);
    let declared = session
        .lineage
        .iter()
        .filter(|link| link.kind == LineageKind::Subagent && link.child_uid.as_str() == own)
        .map(|link| link.parent_uid.as_str());
    above.chain(declared).collect()
}

fn read_turn(row: &Row<'_>) -> Result<Turn, StoreError> {
    let small = |column| Ok::<_, StoreError>(u32::try_from(row.count(column)?).unwrap_or(u32::MAX));
    let at = |column| {
        let micros = row.int_opt(column)?;
        Ok::<_, StoreError>(micros.and_then(|micros| Timestamp::from_microsecond(micros).ok()))
    };
    Ok(Turn {
        turn: small(0)?,
        trigger_seq: row.count(1)?,
        start_line: row.count(2)?,
        end_line: row.count(3)?,
        started_at: at(4)?,
        ended_at: at(5)?,
        prompt: row.text(6)?.into(),
        events: small(7)?,
        tool_calls: small(8)?,
        errors: small(9)?,
        rewound: row.int(10)? != 0,
    })
}
