//! SQLite, in a file of its own with a write-ahead log. Knows nothing of what is kept in it.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags};

use super::{Access, Row, Value};
use crate::store::StoreError;

// Older versions lack `RETURNING`, `STRICT` tables, or fixes that a write-ahead log needs.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003, "SQLite is too old");

/// How long a reader waits for a checkpoint: whoever closes the database last syncs two files, and a disk may take seconds for each.
/// Writers are kept apart by our own lock.
const BUSY_MS: u64 = 15_000;

/// Of a new database; one that exists keeps its own.
const PAGE_BYTES: i64 = 16 << 10;

/// What a writer keeps of the database in memory, and while it writes batches: their pages, else they are written before their commit, and
/// then again.
const WRITE_CACHE_KIB: i64 = 2 << 10;
const BATCH_CACHE_KIB: i64 = 8 << 10;

/// After so many pages in the write-ahead log they are brought to their places, while others work; whoever closes the database has few left.
const LOG_PAGES: i64 = 500;

/// What a reader keeps of the database in memory.
const READ_CACHE_KIB: i64 = 1 << 10;

/// What it keeps while it passes through most of the database: the way to the leaves, and no leaf for long.
const PASSING_CACHE_KIB: i64 = 512;

/// A larger database is copied through a file while it is scrubbed, and not through memory.
const SCRUB_IN_MEMORY_MAX: i64 = 128 << 20;

/// A connection to the file.
pub(in crate::store) struct Sqlite {
    connection: Connection,
    access: Access,
}

impl Sqlite {
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
        connection.busy_timeout(Duration::from_millis(BUSY_MS))?;
        connection.set_prepared_statement_cache_capacity(64);
        if access == Access::ReadWrite {
            // These two have to be said before the first table; said again, they would wait for whoever writes. Filters and events
            // are blobs of kilobytes: in larger pages they are read in a quarter of the calls. And dropped raw text must leave the file
            // for good.
            if connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? == 0 {
                connection.pragma_update(None, "page_size", PAGE_BYTES)?;
                connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            }
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "secure_delete", "ON")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", "ON")?;
            connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        } else {
            // Whoever asks reads most pages once: memory that is new to the process costs more than reading one twice.
            connection.pragma_update(None, "cache_size", -READ_CACHE_KIB)?;
        }
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Else a statement is made anew for each value it is asked with.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
        connection.create_scalar_function("instr", 2, flags, place_in)?;
        Ok(Self { connection, access })
    }

    /// Keeps less of the database in memory while much of it is read once, or as much as before. A writer's cache stays as it is.
    pub(super) fn set_passing(&self, is_passing: bool) -> Result<(), StoreError> {
        if self.access == Access::ReadWrite {
            return Ok(());
        }
        let size = if is_passing { PASSING_CACHE_KIB } else { READ_CACHE_KIB };
        Ok(self.connection.pragma_update(None, "cache_size", -size)?)
    }

    /// Keeps the pages of batches in memory while they are written, or as much as before.
    pub(super) fn set_batches(&self, are_written: bool) -> Result<(), StoreError> {
        let size = if are_written { BATCH_CACHE_KIB } else { WRITE_CACHE_KIB };
        Ok(self.connection.pragma_update(None, "cache_size", -size)?)
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let sql = "SELECT count(*) FROM sqlite_schema";
        Ok(self.connection.query_row(sql, [], |_| Ok(()))?)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.connection.is_autocommit()
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    pub(super) fn bulk<'v>(&self, sql: &str, rows: impl IntoIterator<Item = Vec<Value<'v>>>) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        for values in rows {
            bind(&mut statement, &values)?;
            statement.raw_execute()?;
        }
        Ok(())
    }

    pub(super) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            take(&Row::Sqlite(row))?;
        }
        Ok(())
    }

    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.connection.execute_batch(sql)?)
    }

    pub(super) fn dialect(ddl: &str) -> String {
        ddl.replace("{int}", "INTEGER")
            .replace("{blob}", "BLOB")
            .replace("{text}", "TEXT")
            .replace("{clustered}", "STRICT, WITHOUT ROWID")
            .replace("{strict}", "STRICT")
    }

    pub(super) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.connection.table_exists(None, name)?)
    }

    pub(super) fn version(&self) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .pragma_query_value(None, "user_version", |row| row.get(0))?)
    }

    /// The least version that whoever uses the file has to know. The number names a file's kind to others, and is nothing to SQLite.
    pub(super) fn floor(&self) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .pragma_query_value(None, "application_id", |row| row.get(0))?)
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), StoreError> {
        Ok(self.connection.pragma_update(None, "user_version", version)?)
    }

    /// Writes the whole file anew and empties the write-ahead log. Says whether the log is empty.
    ///
    /// Deleted rows are overwritten as they go, but rows that moved between pages leave copies behind in room that is
    /// in no use. Only a file without such room is free of them.
    pub(super) fn scrub(&self) -> Result<bool, StoreError> {
        let connection = &self.connection;
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

    pub(super) fn empty_log(&self) -> Result<bool, StoreError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(is_busy == 0)
    }

    pub(super) fn check(&self) -> Result<Vec<String>, StoreError> {
        let mut told = Vec::new();
        self.each("PRAGMA integrity_check", &[], |row| {
            told.extend(Some(row.text(0)?).filter(|line| line != "ok"));
            Ok(())
        })?;
        self.each("PRAGMA foreign_key_check", &[], |row| {
            told.push(format!("a row of `{}` belongs to no session", row.text(0)?));
            Ok(())
        })?;
        Ok(told)
    }
}

/// SQLite's own `instr` compares byte by byte, which takes most of the time where all sessions are looked through for one.
fn place_in(call: &Context<'_>) -> rusqlite::Result<Option<i64>> {
    let text = |at: usize| call.get_raw(at).as_str_or_null();
    let (Some(text), Some(sought)) = (text(0)?, text(1)?) else {
        return Ok(None);
    };
    let found = memchr::memmem::find(text.as_bytes(), sought.as_bytes());
    let place = found.map_or(0, |at| text[..at].chars().count() + 1);
    Ok(Some(i64::try_from(place).unwrap_or(i64::MAX)))
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

/// A number in a column.
pub(super) fn int_opt(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<i64>, StoreError> {
    match row.get_ref(column)? {
        ValueRef::Integer(number) => Ok(Some(number)),
        ValueRef::Null => Ok(None),
        _ => Ok(row.get(column)?),
    }
}

pub(super) fn text_ref_opt<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<Option<&'r str>, StoreError> {
    Ok(row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?)
}

pub(super) fn blob_ref_opt<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<Option<&'r [u8]>, StoreError> {
    Ok(row.get_ref(column)?.as_blob_or_null().map_err(rusqlite::Error::from)?)
}

/// Said where a column that must hold something holds nothing.
pub(super) fn is_null(row: &rusqlite::Row<'_>, column: usize) -> StoreError {
    let name = row.as_ref().column_name(column).unwrap_or_default().to_owned();
    rusqlite::Error::InvalidColumnType(column, name, rusqlite::types::Type::Null).into()
}
