//! The `filters` table: beside each frame and tail, a filter of its texts' words. No other file writes it. They
//! are derived: a lost one costs time, never a hit.

use super::engine::{Engine, Value};
use super::{Reads, StoreError, Tx};

/// Stands for the tail of a part, which is no frame yet.
pub const TAIL_NO: i64 = -1;

/// A filter and what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterRow {
    pub session_uid: String,
    pub part: String,
    /// [`TAIL_NO`] for the tail.
    pub frame_no: i64,
    pub bytes: Vec<u8>,
}

impl Tx<'_> {
    /// Puts the filter of a frame, or takes it away where it is empty.
    pub fn put_filter(&self, session_uid: &str, part: &str, frame_no: i64, filter: &[u8]) -> Result<(), StoreError> {
        let key = [Value::Text(session_uid), Value::Text(part), Value::Int(frame_no)];
        if filter.is_empty() {
            self.engine.execute(
                "DELETE FROM filters WHERE session_uid = $1 AND part = $2 AND frame_no = $3",
                &key,
            )?;
            return Ok(());
        }
        self.engine.execute(
            "INSERT INTO filters (session_uid, part, frame_no, bytes) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, part, frame_no) DO UPDATE SET bytes = $4",
            &[key[0], key[1], key[2], Value::Blob(filter)],
        )?;
        Ok(())
    }
}

/// Takes away the filters of one part.
pub(super) fn drop_part(engine: &Engine, session_uid: &str, part: &str) -> Result<(), StoreError> {
    engine.execute(
        "DELETE FROM filters WHERE session_uid = $1 AND part = $2",
        &[Value::Text(session_uid), Value::Text(part)],
    )?;
    Ok(())
}

impl Reads<'_> {
    /// Bytes of all filters.
    pub fn filter_bytes(&self) -> Result<u64, StoreError> {
        let sum = self
            .engine
            .query_opt("SELECT coalesce(sum(length(bytes)), 0) FROM filters", &[], |row| {
                row.count(0)
            })?;
        Ok(sum.unwrap_or_default())
    }

    /// All filters.
    pub fn filters(&self) -> Result<Vec<FilterRow>, StoreError> {
        self.engine
            .query("SELECT session_uid, part, frame_no, bytes FROM filters", &[], |row| {
                Ok(FilterRow {
                    session_uid: row.text(0)?,
                    part: row.text(1)?,
                    frame_no: row.int(2)?,
                    bytes: row.blob(3)?,
                })
            })
    }

    /// The filter of one frame.
    pub fn filter(&self, session_uid: &str, part: &str, frame_no: i64) -> Result<Option<Vec<u8>>, StoreError> {
        self.engine.query_opt(
            "SELECT bytes FROM filters WHERE session_uid = $1 AND part = $2 AND frame_no = $3",
            &[Value::Text(session_uid), Value::Text(part), Value::Int(frame_no)],
            |row| row.blob(0),
        )
    }
}
