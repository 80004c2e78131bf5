//! Queries over the whole store for an overview. Writes nothing.

use super::engine::Value;
use super::{Operation, Reads, StoreError};

impl Reads<'_> {
    /// Returns when the first session began and the last one ended, in microseconds since 1970.
    pub fn time_span(&self) -> Result<(Option<i64>, Option<i64>), StoreError> {
        let span = self
            .engine
            .query_opt("SELECT min(started_at), max(ended_at) FROM views", &[], |row| {
                Ok((row.int_opt(0)?, row.int_opt(1)?))
            })?;
        Ok(span.unwrap_or_default())
    }

    /// Returns the newest operation of a command.
    pub fn last_operation(&self, command: &str) -> Result<Option<Operation>, StoreError> {
        self.engine.query_opt(
            "SELECT at, command, sentence FROM operations WHERE command = $1 ORDER BY operation_id DESC LIMIT 1",
            &[Value::Text(command)],
            |row| {
                Ok(Operation {
                    at_micros: row.int(0)?,
                    command: row.text(1)?,
                    sentence: row.text(2)?,
                })
            },
        )
    }
}
