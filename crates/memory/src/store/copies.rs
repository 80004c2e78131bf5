//! The `copies` table: files outside the store that were made from sessions, so that forgetting a session can name
//! them. No other file writes it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::engine::Value;
use super::{Reads, StoreError, Tx, micros, paths};

/// A file that was made from a session and written outside the store.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CopyRow {
    pub session_uid: String,
    /// A file, or a directory that belongs to us as a whole.
    pub path: String,
    /// What it is, in one word: `restored`, `workspace`, `bundle`, `page`.
    pub kind: String,
}

impl Tx<'_> {
    /// Records that a file was made from a session.
    pub fn note_copy(&self, copy: &CopyRow, at: Timestamp) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO copies (session_uid, path, kind, at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (session_uid, path) DO UPDATE SET kind = $3, at = $4",
            &[
                Value::Text(&copy.session_uid),
                Value::Text(&paths::to_stored(self.engine, &copy.path)),
                Value::Text(&copy.kind),
                Value::Int(micros(at)),
            ],
        )?;
        Ok(())
    }

    /// Records that a file was deleted, for all sessions that it was made from.
    pub fn drop_copy(&self, path: &str) -> Result<(), StoreError> {
        let path = paths::to_stored(self.engine, path);
        self.engine
            .execute("DELETE FROM copies WHERE path = $1", &[Value::Text(&path)])?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns the files that were made from a session on this machine, sorted by path. Files of other machines are
    /// skipped, because a file with the same path here is not theirs.
    pub fn copies_of(&self, session_uid: &str) -> Result<Vec<CopyRow>, StoreError> {
        if !self.engine.has_table("copies")? {
            return Ok(Vec::new());
        }
        let mut copies = self.engine.query(
            "SELECT session_uid, path, kind FROM copies WHERE session_uid = $1 ORDER BY path",
            &[Value::Text(session_uid)],
            |row| {
                Ok(CopyRow {
                    session_uid: row.text(0)?,
                    path: row.text(1)?,
                    kind: row.text(2)?,
                })
            },
        )?;
        copies.retain_mut(|copy| match paths::own_path(self.engine, &copy.path) {
            Some(own) => {
                copy.path = own;
                true
            }
            None => false,
        });
        Ok(copies)
    }
}
