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

/// Whose filters are looked at.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'u> {
    Everybodys,
    Of(&'u str),
}

impl<'u> Whose<'u> {
    /// The end of a question about the table's rows, and its values.
    pub(super) fn clause(self) -> (&'static str, Vec<Value<'u>>) {
        match self {
            Self::Everybodys => ("", Vec::new()),
            Self::Of(uid) => (" WHERE session_uid = $1", vec![Value::Text(uid)]),
        }
    }
}

/// Given the session, the part and the number of a frame, and the bytes of its filter.
pub type TakeFilter<'t> = dyn FnMut(&str, &str, i64, &[u8]) + 't;

impl Reads<'_> {
    /// Shows filters, in any order: the session, the part, the number of the frame, and the filter. None is kept.
    pub fn each_filter(&self, whose: Whose<'_>, take: &mut TakeFilter<'_>) -> Result<(), StoreError> {
        let (clause, values) = whose.clause();
        let sql = format!("SELECT session_uid, part, frame_no, bytes FROM filters{clause}");
        self.engine.each(&sql, &values, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, row.int(2)?, row.blob_ref(3)?);
            Ok(())
        })
    }

    /// How many there are.
    pub fn filter_count(&self) -> Result<usize, StoreError> {
        let count = self
            .engine
            .query_opt("SELECT count(*) FROM filters", &[], |row| row.count(0))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
    }

    /// All filters.
    pub fn filters(&self) -> Result<Vec<FilterRow>, StoreError> {
        let mut rows = Vec::new();
        self.each_filter(Whose::Everybodys, &mut |session_uid, part, frame_no, bytes| {
            rows.push(FilterRow {
                session_uid: session_uid.to_owned(),
                part: part.to_owned(),
                frame_no,
                bytes: bytes.to_owned(),
            });
        })?;
        Ok(rows)
    }
}
