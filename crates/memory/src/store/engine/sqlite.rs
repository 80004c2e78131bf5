//! SQLite, in its own file with a write-ahead log. It knows nothing about the tables.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags};

use super::{Access, Row, Value};
use crate::store::StoreError;

// Older versions lack `RETURNING`, `STRICT` tables, or fixes of the write-ahead log.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003, "SQLite is too old");

/// How long a reader waits for a checkpoint. The last process that closes the database syncs two files, which may
/// take seconds each on a slow disk. Writers are kept apart by our own lock.
const BUSY_MS: u64 = 15_000;

/// Page size of a new database. An existing one keeps its own.
const PAGE_BYTES: i64 = 16 << 10;

/// Cache of a writer, by default and for batches. A batch that does not fit into the cache would be written twice:
/// before its commit and again at it.
const WRITE_CACHE_KIB: i64 = 2 << 10;
const BATCH_CACHE_KIB: i64 = 8 << 10;

/// Number of pages in the write-ahead log after which they are copied to the file, while other threads work. Few are
/// then left when the database is closed.
const LOG_PAGES: i64 = 500;

/// Cache of a reader.
const READ_CACHE_KIB: i64 = 1 << 10;

/// Cache while most of the database is read once: enough for the interior pages.
const SEQUENTIAL_CACHE_KIB: i64 = 512;

/// A database larger than this is scrubbed by way of a temporary file instead of memory.
const SCRUB_IN_MEMORY_MAX: i64 = 128 << 20;

/// A connection to the file.
pub(in crate::store) struct Sqlite {
    connection: Connection,
    access: Access,
}

impl Sqlite {
    /// Opens the database file. Creates it only if `access` allows writing.
    pub(super) fn open(path: &Path, access: Access) -> Result<Self, StoreError> {
        let mode = match access {
            Access::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            Access::ReadWrite => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
        let mode = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match access {
            Access::Immutable => Connection::open_with_flags(immutable_uri(path), mode)?,
            Access::ReadOnly | Access::ReadWrite => Connection::open_with_flags(path, mode)?,
        };
        connection.busy_timeout(Duration::from_millis(BUSY_MS))?;
        connection.set_prepared_statement_cache_capacity(64);
        if access == Access::ReadWrite {
            // These two must be set before the first table is created; setting them again would wait for another
            // writer. Filters and events are blobs of some kilobytes, and larger pages need a quarter of the read
            // calls for them. Incremental vacuum is needed because evicted text must leave the file.
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
            // A reader needs most pages only once, and fresh memory costs more than reading a page twice.
            connection.pragma_update(None, "cache_size", -READ_CACHE_KIB)?;
        }
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Otherwise a statement is prepared again for each value of its parameters.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
        connection.create_scalar_function("instr", 2, flags, find_instr)?;
        Ok(Self { connection, access })
    }

    /// Shrinks the cache while much is read only once, or restores it. A writer's cache does not change.
    pub(super) fn set_sequential(&self, is_sequential: bool) -> Result<(), StoreError> {
        if self.access == Access::ReadWrite {
            return Ok(());
        }
        let size = if is_sequential {
            SEQUENTIAL_CACHE_KIB
        } else {
            READ_CACHE_KIB
        };
        Ok(self.connection.pragma_update(None, "cache_size", -size)?)
    }

    /// Enlarges the cache so that it holds the pages of a batch, or restores it.
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
        let mut statement = self.connection.prepare_cached(&number_parameters(sql))?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    pub(super) fn bulk<'v>(&self, sql: &str, rows: impl IntoIterator<Item = Vec<Value<'v>>>) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(&number_parameters(sql))?;
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
        let mut statement = self.connection.prepare_cached(&number_parameters(sql))?;
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

    /// Returns the minimum version that a program must know to use the file. It is stored in the application id,
    /// which SQLite itself does not use.
    pub(super) fn required_version(&self) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .pragma_query_value(None, "application_id", |row| row.get(0))?)
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), StoreError> {
        Ok(self.connection.pragma_update(None, "user_version", version)?)
    }

    /// Rewrites the whole file and empties the write-ahead log. Returns `false` if the log could not be emptied.
    ///
    /// `secure_delete` overwrites deleted rows, but rows that moved between pages leave copies in free space. Only a
    /// file without free space has no such copies.
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
        let mut errors = Vec::new();
        self.each("PRAGMA integrity_check", &[], |row| {
            errors.extend(Some(row.text(0)?).filter(|line| line != "ok"));
            Ok(())
        })?;
        self.each("PRAGMA foreign_key_check", &[], |row| {
            errors.push(format!("a row of `{}` belongs to no session", row.text(0)?));
            Ok(())
        })?;
        Ok(errors)
    }
}

/// Replaces SQLite's `instr`, which compares byte by byte and takes most of the time when all sessions are searched
/// for one.
fn find_instr(call: &Context<'_>) -> rusqlite::Result<Option<i64>> {
    let text = |at: usize| call.get_raw(at).as_str_or_null();
    let (Some(text), Some(sought)) = (text(0)?, text(1)?) else {
        return Ok(None);
    };
    let found = memchr::memmem::find(text.as_bytes(), sought.as_bytes());
    let place = found.map_or(0, |at| text[..at].chars().count() + 1);
    Ok(Some(i64::try_from(place).unwrap_or(i64::MAX)))
}

/// Returns the URI by which SQLite opens a file that does not change.
fn immutable_uri(path: &Path) -> String {
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

/// Converts parameters to SQLite's syntax. Numbered parameters can be used in any order and more than once.
fn number_parameters(sql: &str) -> String {
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

/// Returns a number, or `None` if it is null.
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

/// Returns the error for an unexpected null.
pub(super) fn null_error(row: &rusqlite::Row<'_>, column: usize) -> StoreError {
    let name = row.as_ref().column_name(column).unwrap_or_default().to_owned();
    rusqlite::Error::InvalidColumnType(column, name, rusqlite::types::Type::Null).into()
}
