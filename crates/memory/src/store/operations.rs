//! The `operations` table: the journal, with one sentence per change. No other file writes it.

use std::collections::HashSet;

use jiff::Timestamp;

use super::engine::{Engine, Row, Value};
use super::{Reads, StoreError, micros};

/// One change of the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operation {
    pub at_micros: i64,
    pub command: String,
    pub sentence: String,
}

/// Records an operation. Every transaction calls this, and nothing else does. A command that commits more than once
/// has one entry, which is updated: `operation` is the entry of its earlier transactions.
pub(super) fn put_operation(
    engine: &Engine,
    operation: Option<i64>,
    at: Timestamp,
    command: &str,
    sentence: &str,
) -> Result<i64, StoreError> {
    if let Some(operation) = operation {
        engine.execute(
            "UPDATE operations SET sentence = $2 WHERE operation_id = $1",
            &[Value::Int(operation), Value::Text(sentence)],
        )?;
        return Ok(operation);
    }
    let added = engine.query_opt(
        "INSERT INTO operations (operation_id, at, command, sentence)
         SELECT coalesce(max(operation_id), 0) + 1, $1, $2, $3 FROM operations RETURNING operation_id",
        &[Value::Int(micros(at)), Value::Text(command), Value::Text(sentence)],
        |row| row.int(0),
    )?;
    Ok(added.unwrap_or_default())
}

impl Reads<'_> {
    /// Returns the newest operations, newest first.
    pub fn operations(&self, limit: u32) -> Result<Vec<Operation>, StoreError> {
        self.engine.query(
            "SELECT at, command, sentence FROM operations ORDER BY operation_id DESC LIMIT $1",
            &[Value::Int(i64::from(limit))],
            read_operation,
        )
    }

    /// Returns all operations of one command, newest first.
    pub fn operations_of(&self, command: &str) -> Result<Vec<Operation>, StoreError> {
        self.engine.query(
            "SELECT at, command, sentence FROM operations WHERE command = $1 ORDER BY operation_id DESC",
            &[Value::Text(command)],
            read_operation,
        )
    }

    /// Returns when the store was changed between two times, in order, preceded by the last change before them.
    pub fn change_times_between(&self, from: i64, to: i64) -> Result<Vec<i64>, StoreError> {
        self.engine.query(
            "SELECT at FROM operations WHERE at <= $2 AND at >= coalesce(
                 (SELECT max(at) FROM operations WHERE at < $1), $1) ORDER BY at",
            &[Value::Int(from), Value::Int(to)],
            |row| row.int(0),
        )
    }

    /// Returns the operations that added or removed annotations.
    pub(super) fn annotation_operations(&self) -> Result<HashSet<Operation>, StoreError> {
        let found = self.engine.query(
            "SELECT at, command, sentence FROM operations WHERE command IN ('tag', 'name', 'note', 'keep')",
            &[],
            read_operation,
        )?;
        Ok(found.into_iter().collect())
    }
}

fn read_operation(row: &Row<'_>) -> Result<Operation, StoreError> {
    Ok(Operation {
        at_micros: row.int(0)?,
        command: row.text(1)?,
        sentence: row.text(2)?,
    })
}
