//! The only place that knows which database it is.
//!
//! Everything above speaks one SQL text: parameters are `$1`, `$2`, …, values are integers, text and bytes,
//! and the few words that differ between engines stand in braces in the schema. There is one arm today; a
//! second one has to give execute, query, bulk insert and transactions, and nothing else.

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, TransactionBehavior};
use std::path::Path;

use super::StoreError;

// Older versions lack `RETURNING`, `STRICT` tables, or fixes that a write-ahead log needs.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003, "SQLite is too old");

/// How long a reader waits for a checkpoint. Writers are kept apart by our own lock.
const BUSY_MS: u64 = 5_000;

/// Of a new database; one that exists keeps its own.
const PAGE_BYTES: i64 = 16 << 10;

/// What a reader keeps of the database in memory.
const READ_CACHE_KIB: i64 = 1 << 10;

/// A larger database is copied through a file while it is scrubbed, and not through memory.
const SCRUB_IN_MEMORY_MAX: i64 = 128 << 20;

/// A connection to the database.
pub(super) enum Engine {
    Sqlite(Connection),
}

/// A value given to a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// One row of an answer.
pub(super) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
}

/// Whether a connection may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadOnly,
    /// For a directory in which nothing can be made, while nobody can write to the file: SQLite then asks for no
    /// locks and needs no file beside it.
    Still,
    ReadWrite,
}

impl Engine {
    /// Opens the database file. A new one is made only for writing.
    pub(super) fn open(path: &Path, access: Access) -> Result<Self, StoreError> {
        let mode = match access {
            Access::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Still => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            Access::ReadWrite => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let mode = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match access {
            Access::Still => Connection::open_with_flags(still_uri(path), mode)?,
            Access::ReadOnly | Access::ReadWrite => Connection::open_with_flags(path, mode)?,
        };
        connection.busy_timeout(std::time::Duration::from_millis(BUSY_MS))?;
        connection.set_prepared_statement_cache_capacity(64);
        if access == Access::ReadWrite {
            // These two have to be said before the first table. Filters and events are blobs of kilobytes: in larger pages
            // they are read in a quarter of the calls. And dropped raw text must leave the file for good.
            connection.pragma_update(None, "page_size", PAGE_BYTES)?;
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "secure_delete", "ON")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
        }
        if access != Access::ReadWrite {
            // Whoever asks reads most pages once: memory that is new to the process costs more than reading one twice.
            connection.pragma_update(None, "cache_size", -READ_CACHE_KIB)?;
        }
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        // Else a statement is made anew for each value it is asked with.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Self::Sqlite(connection))
    }

    /// Whether the database can be read at all: a file is looked into only when it is first asked something.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let Self::Sqlite(connection) = self;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(())
    }

    /// Begins a look at one state of the database, unless one has begun: asked one by one, each question takes and gives
    /// back a lock.
    pub(super) fn begin_look(&self) -> Result<bool, StoreError> {
        let Self::Sqlite(connection) = self;
        let is_new = connection.is_autocommit();
        if is_new {
            connection.execute_batch("BEGIN")?;
        }
        Ok(is_new)
    }

    pub(super) fn end_look(&self) {
        let Self::Sqlite(connection) = self;
        // Nothing was changed, so nothing can be lost.
        _ = connection.execute_batch("COMMIT");
    }

    /// Runs a statement that gives no rows, and says how many rows it touched.
    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        let Self::Sqlite(connection) = self;
        let mut statement = connection.prepare_cached(&numbered(sql))?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    /// Runs one statement for many rows of values.
    pub(super) fn bulk<'v>(&self, sql: &str, rows: impl IntoIterator<Item = Vec<Value<'v>>>) -> Result<(), StoreError> {
        let Self::Sqlite(connection) = self;
        let mut statement = connection.prepare_cached(&numbered(sql))?;
        for values in rows {
            bind(&mut statement, &values)?;
            statement.raw_execute()?;
        }
        Ok(())
    }

    /// Runs a question and makes something of each row.
    pub(super) fn query<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut answers = Vec::new();
        self.each(sql, values, |row| {
            answers.push(read(row)?);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Runs a question and shows each row, of which nothing need be kept.
    pub(super) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Self::Sqlite(connection) = self;
        let mut statement = connection.prepare_cached(&numbered(sql))?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            take(&Row::Sqlite(row))?;
        }
        Ok(())
    }

    /// Runs a question that has one answer or none.
    pub(super) fn query_opt<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query(sql, values, read)?.into_iter().next())
    }

    /// Runs several statements without values, as they stand.
    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        let Self::Sqlite(connection) = self;
        Ok(connection.execute_batch(sql)?)
    }

    /// Does `work` wholly or not at all.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Self::Sqlite(connection) = &*self;
        let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let done = work(self)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Puts this engine's words into a text of the schema.
    pub(super) fn dialect(&self, ddl: &str) -> String {
        match self {
            Self::Sqlite(_) => ddl
                .replace("{int}", "INTEGER")
                .replace("{blob}", "BLOB")
                .replace("{clustered}", "STRICT, WITHOUT ROWID")
                .replace("{strict}", "STRICT"),
        }
    }

    /// Whether a table is there: a store that is only read is not brought to the newest step.
    pub(super) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        let Self::Sqlite(connection) = self;
        Ok(connection.table_exists(None, name)?)
    }

    /// Which step of the schema the database is at.
    pub(super) fn version(&self) -> Result<i64, StoreError> {
        let Self::Sqlite(connection) = self;
        Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), StoreError> {
        let Self::Sqlite(connection) = self;
        Ok(connection.pragma_update(None, "user_version", version)?)
    }

    /// Writes the whole file anew and empties the write-ahead log. Says whether the log is empty.
    ///
    /// Deleted rows are overwritten as they go, but rows that moved between pages leave copies behind in room that is
    /// in no use. Only a file without such room is free of them.
    pub(super) fn scrub(&self) -> Result<bool, StoreError> {
        let Self::Sqlite(connection) = self;
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let is_large = number("page_count")?.saturating_mul(number("page_size")?) > SCRUB_IN_MEMORY_MAX;
        if is_large {
            connection.pragma_update(None, "temp_store", "FILE")?;
        }
        connection.flush_prepared_statement_cache();
        let scrubbed = connection.execute_batch("VACUUM");
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        scrubbed?;
        self.empty_log()
    }

    /// Empties the write-ahead log into the file. Says whether it is empty: a reader may be in the way.
    pub(super) fn empty_log(&self) -> Result<bool, StoreError> {
        let Self::Sqlite(connection) = self;
        let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))?;
        Ok(is_busy == 0)
    }

    /// What the database itself finds wrong with its file.
    pub(super) fn check(&self) -> Result<Vec<String>, StoreError> {
        let told = self.query("PRAGMA integrity_check", &[], |row| row.text(0))?;
        let mut told: Vec<String> = told.into_iter().filter(|line| line != "ok").collect();
        let orphans = self.query("PRAGMA foreign_key_check", &[], |row| row.text(0))?;
        told.extend(
            orphans
                .into_iter()
                .map(|table| format!("a row of `{table}` belongs to no session")),
        );
        Ok(told)
    }
}

/// A path as SQLite reads it from a URI, for a file that does not change.
fn still_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for character in path.to_string_lossy().chars() {
        match character {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            other => uri.push(other),
        }
    }
    uri + "?immutable=1"
}

/// This engine numbers its parameters with another sign; by number a text may use one twice, and in any order.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

fn bind(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> Result<(), StoreError> {
    for (at, value) in values.iter().enumerate().take(statement.parameter_count()) {
        statement.raw_bind_parameter(at + 1, *value)?;
    }
    Ok(())
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Row<'_> {
    pub(super) fn int(&self, column: usize) -> Result<i64, StoreError> {
        let Self::Sqlite(row) = self;
        match row.get_ref(column)? {
            ValueRef::Integer(number) => Ok(number),
            _ => Ok(row.get(column)?),
        }
    }

    pub(super) fn int_opt(&self, column: usize) -> Result<Option<i64>, StoreError> {
        let Self::Sqlite(row) = self;
        match row.get_ref(column)? {
            ValueRef::Integer(number) => Ok(Some(number)),
            ValueRef::Null => Ok(None),
            _ => Ok(row.get(column)?),
        }
    }

    /// A number that is never negative.
    pub(super) fn count(&self, column: usize) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.int(column)?).unwrap_or_default())
    }

    pub(super) fn text(&self, column: usize) -> Result<String, StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get(column)?)
    }

    pub(super) fn text_opt(&self, column: usize) -> Result<Option<String>, StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get(column)?)
    }

    /// Text that is looked at and not kept.
    pub(super) fn text_ref(&self, column: usize) -> Result<&str, StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
    }

    pub(super) fn text_ref_opt(&self, column: usize) -> Result<Option<&str>, StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?)
    }

    /// Bytes that are looked at and not kept.
    pub(super) fn blob_ref(&self, column: usize) -> Result<&[u8], StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?)
    }

    pub(super) fn blob_ref_opt(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get_ref(column)?.as_blob_or_null().map_err(rusqlite::Error::from)?)
    }

    pub(super) fn blob(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        let Self::Sqlite(row) = self;
        Ok(row.get(column)?)
    }
}

impl<'a> Value<'a> {
    /// A number that fits: sizes and counts beyond 2^63 do not occur on any disk.
    pub(super) fn count(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn count_opt(number: Option<u64>) -> Self {
        number.map_or(Self::Null, Self::count)
    }

    pub(super) fn text_opt(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    pub(super) fn flag(flag: bool) -> Self {
        Self::Int(i64::from(flag))
    }
}
