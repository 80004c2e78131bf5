//! Bulk inserts: rows are copied in PostgreSQL's binary format into a temporary table, and inserted from there by one
//! statement.

use std::io::Write;

use bytes::{BufMut, BytesMut};
use postgres::types::IsNull;

use super::row::write_value;
use super::{Postgres, ServerError, ServerErrorKind};
use crate::store::StoreError;
use crate::store::engine::Value;

/// Up to this many rows are inserted one by one, because a copy takes four round trips.
const SINGLE_INSERTS_MAX: usize = 4;

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// A parsed INSERT statement for one row.
struct ParsedInsert<'s> {
    table: &'s str,
    columns: Vec<&'s str>,
    /// The key columns and the action on conflict, or `None` if there cannot be a conflict.
    conflict: Option<(&'s str, String)>,
}

impl Postgres {
    /// Runs one statement for many rows of values. If rows have the same key, the last one wins, as if they were
    /// inserted one by one.
    pub(in crate::store::engine) fn bulk<'v>(
        &self,
        sql: &str,
        rows: impl IntoIterator<Item = Vec<Value<'v>>>,
    ) -> Result<(), StoreError> {
        let rows: Vec<Vec<Value<'v>>> = rows.into_iter().collect();
        let put = parse_insert(sql).filter(|_| rows.len() > SINGLE_INSERTS_MAX);
        let Some(put) = put else {
            return rows.iter().try_for_each(|values| self.execute(sql, values).map(|_| ()));
        };
        let table = put.table;
        let columns = put.columns.join(", ");
        let Some((key, rest)) = &put.conflict else {
            return self.copy(&format!("{table} ({columns})"), &encode_rows(&rows, false));
        };
        self.script(&format!(
            "CREATE TEMP TABLE IF NOT EXISTS many_{table} (LIKE {table}, many_no BIGINT NOT NULL) ON COMMIT DELETE ROWS;
             DELETE FROM many_{table}"
        ))?;
        self.copy(&format!("many_{table} ({columns}, many_no)"), &encode_rows(&rows, true))?;
        self.script(&format!(
            "INSERT INTO {} ({columns}) SELECT DISTINCT ON ({key}) {columns} FROM many_{table}
             ORDER BY {key}, many_no DESC {rest}",
            put.table
        ))
    }

    fn copy(&self, into: &str, packed: &[u8]) -> Result<(), StoreError> {
        self.with_connection(|connection| {
            let mut writer = connection.client.copy_in(&format!("COPY {into} FROM STDIN BINARY"))?;
            writer.write_all(packed).map_err(|error| connection_lost(&error))?;
            writer.finish()?;
            Ok(())
        })
    }
}

fn connection_lost(error: &std::io::Error) -> ServerError {
    ServerError {
        message: error.to_string(),
        kind: ServerErrorKind::Unavailable,
    }
}

/// Encodes rows in the binary format of `COPY`, each with its number if requested.
fn encode_rows(rows: &[Vec<Value<'_>>], is_numbered: bool) -> BytesMut {
    let mut out = BytesMut::from(HEADER);
    let mut field = BytesMut::new();
    for (number, values) in rows.iter().enumerate() {
        let number = is_numbered.then_some(Value::Int(number as i64));
        out.put_i16(values.len() as i16 + i16::from(is_numbered));
        for value in values.iter().chain(&number) {
            field.clear();
            match write_value(value, &mut field) {
                IsNull::Yes => out.put_i32(-1),
                IsNull::No => {
                    out.put_i32(field.len() as i32);
                    out.put_slice(&field);
                }
            }
        }
    }
    out.put_i16(-1);
    out
}

/// Parses the table, the columns and the key of `INSERT INTO … (…) VALUES (…)`, with or without `ON CONFLICT (…) …`.
/// Parameters in the conflict action are replaced by the columns of the new row.
fn parse_insert(sql: &str) -> Option<ParsedInsert<'_>> {
    let (table, rest) = sql.trim_start().strip_prefix("INSERT INTO ")?.split_once('(')?;
    let (columns, rest) = rest.split_once(')')?;
    let (_, rest) = rest.split_once("VALUES")?.1.split_once(')')?;
    let key = rest
        .split_once("ON CONFLICT (")
        .and_then(|(_, key)| key.split_once(')'));
    let columns: Vec<&str> = columns.split(',').map(str::trim).collect();
    let mut rest = rest.to_owned();
    for (at, column) in columns.iter().enumerate().rev() {
        rest = rest.replace(&format!("${}", at + 1), &format!("excluded.{column}"));
    }
    Some(ParsedInsert {
        table: table.trim(),
        columns,
        conflict: key.map(|(key, _)| (key, rest)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_of_one_row_is_parsed() {
        let put = parse_insert(
            "INSERT INTO calls (a, b,
                c) VALUES ($1, $2, $3) ON CONFLICT (a, b) DO UPDATE SET c = $3",
        )
        .unwrap();
        assert_eq!((put.table, put.columns), ("calls", vec!["a", "b", "c"]));
        let (key, rest) = put.conflict.unwrap();
        assert_eq!(
            (key, rest.trim()),
            ("a, b", "ON CONFLICT (a, b) DO UPDATE SET c = excluded.c")
        );
        assert!(
            parse_insert("INSERT INTO keeps (a) VALUES ($1)")
                .unwrap()
                .conflict
                .is_none()
        );
        assert!(parse_insert("UPDATE calls SET a = $1").is_none());
    }
}
