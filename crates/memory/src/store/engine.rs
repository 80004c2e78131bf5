//! The only module that knows which database is used.
//!
//! The modules above use the same SQL text for both: parameters are `$1`, `$2`, …, values are integers, text and
//! bytes, and the few keywords that differ are in braces in the schema. Each engine offers execute, query, bulk
//! insert, transactions, and a lock if several machines write, and nothing else.

mod postgres;
mod sqlite;

use std::path::Path;

pub(super) use self::postgres::{HeldLock, RowReader};
use self::postgres::{Postgres, RowExt};
pub use self::postgres::{ServerError, ServerErrorKind};
use self::sqlite::Sqlite;
use super::StoreError;
use super::filters::WordIndex;
use super::place::{DatabaseServer, WriterIdentity};
use crate::terms::vocabulary::WordCondition;

/// A connection to the database, and the writer that uses it.
pub(super) struct Engine {
    backend: Backend,
    writer: WriterIdentity,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// A parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// One row of a result.
pub(super) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r ::postgres::Row),
}

/// Whether a connection may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadOnly,
    /// For a directory in which no file can be created, while nothing can write to the database. SQLite then takes no
    /// locks and needs no files beside it.
    Immutable,
    ReadWrite,
}

/// An exclusive right that one of several machines can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// To write one batch.
    Write,
    /// To evict raw text.
    Retention,
}

const ROLLBACK: &str = "ROLLBACK";

/// A transaction that is rolled back when dropped, unless it was committed.
struct OpenTransaction<'e> {
    engine: &'e Engine,
    is_committed: bool,
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            self.engine.roll_back();
        }
    }
}

impl Engine {
    /// Opens the database file. Creates it only if `access` allows writing.
    pub(super) fn open(path: &Path, access: Access, writer: &WriterIdentity) -> Result<Self, StoreError> {
        Ok(Self {
            backend: Backend::Sqlite(Sqlite::open(path, access)?),
            writer: writer.clone(),
        })
    }

    /// Connects to a server.
    pub(super) fn connect(
        server: &DatabaseServer,
        access: Access,
        writer: &WriterIdentity,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            backend: Backend::Postgres(Postgres::connect(server, access)?),
            writer: writer.clone(),
        })
    }

    /// Returns the writer that uses this connection.
    pub(super) fn writer(&self) -> &WriterIdentity {
        &self.writer
    }

    /// Returns `true` if several machines share the database, so that a path alone does not identify a file.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.backend, Backend::Postgres(_))
    }

    /// Returns the reader of frames that are rows, or `None` if frames are in files.
    pub(super) fn rows(&self) -> Option<RowReader> {
        match &self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(backend) => Some(backend.rows()),
        }
    }

    /// Checks that the database can be read. SQLite reads the file only when the first statement runs.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.probe(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Acquires an exclusive right, if the database has such rights. Returns `None` if another connection holds it
    /// and `is_waiting` is `false`.
    pub(super) fn acquire(&self, right: Right, is_waiting: bool) -> Result<Option<HeldLock>, StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(backend) => backend.acquire(right, is_waiting),
        }
    }

    /// Begins a snapshot, unless one has begun. Returns `true` if it did. Without a snapshot, each query acquires and
    /// releases a lock.
    pub(super) fn begin_snapshot(&self) -> Result<bool, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) if backend.is_idle() => backend.script("BEGIN").map(|()| true),
            Backend::Postgres(backend) if backend.is_idle() => {
                backend.begin("REPEATABLE READ, READ ONLY").map(|()| true)
            }
            _ => Ok(false),
        }
    }

    pub(super) fn end_snapshot(&self) {
        // Nothing was changed, so an error does not matter.
        _ = self.commit();
    }

    /// Starts or ends a phase in which much is read only once.
    pub(super) fn set_sequential(&self, is_sequential: bool) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.set_sequential(is_sequential),
            // The server manages its own cache, which all clients share.
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Starts or ends a series of batch writes.
    pub(super) fn set_batches(&self, are_written: bool) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.set_batches(are_written),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Runs a statement that returns no rows, and returns the number of affected rows.
    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.execute(sql, values),
            Backend::Postgres(backend) => backend.execute(sql, values),
        }
    }

    /// Runs one statement for many rows of values.
    pub(super) fn bulk<'v>(&self, sql: &str, rows: impl IntoIterator<Item = Vec<Value<'v>>>) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.bulk(sql, rows),
            Backend::Postgres(backend) => backend.bulk(sql, rows),
        }
    }

    /// Runs a query and converts each row.
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

    /// Runs a query and passes each row to `acquire`, without collecting them.
    pub(super) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.each(sql, values, take),
            Backend::Postgres(backend) => backend
                .query(sql, values)?
                .iter()
                .try_for_each(|row| take(&Row::Postgres(row))),
        }
    }

    /// Runs a query that returns at most one row.
    pub(super) fn query_opt<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query(sql, values, read)?.into_iter().next())
    }

    /// Runs several statements without parameters.
    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.script(sql),
            Backend::Postgres(backend) => backend.script(sql),
        }
    }

    /// Runs `work` in a transaction.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.script("BEGIN IMMEDIATE")?,
            Backend::Postgres(backend) => backend.begin("READ COMMITTED")?,
        }
        let mut open = OpenTransaction {
            engine: self,
            is_committed: false,
        };
        let done = work(self)?;
        self.commit()?;
        open.is_committed = true;
        Ok(done)
    }

    fn commit(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.script("COMMIT"),
            Backend::Postgres(backend) => backend.commit(),
        }
    }

    /// Ignores errors, because the error that caused the rollback is returned already.
    fn roll_back(&self) {
        _ = match &self.backend {
            Backend::Sqlite(backend) if backend.is_idle() => Ok(()),
            Backend::Sqlite(backend) => backend.script(ROLLBACK),
            Backend::Postgres(backend) => backend.end_transaction(ROLLBACK),
        };
    }

    /// Replaces the keywords in braces by those of this database.
    pub(super) fn dialect(&self, ddl: &str) -> String {
        match self.backend {
            Backend::Sqlite(_) => Sqlite::dialect(ddl),
            Backend::Postgres(_) => Postgres::dialect(ddl),
        }
    }

    /// Prevents other processes from migrating the schema until the transaction ends.
    pub(super) fn lock_schema(&self) -> Result<(), StoreError> {
        match &self.backend {
            // A SQLite file has only one writer.
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(backend) => backend.lock_schema(),
        }
    }

    /// Creates what only this database has in addition to the common tables.
    pub(super) fn create_extras(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(backend) => backend.create_extras(),
        }
    }

    /// Returns which index the database has for finding frames.
    pub(super) fn index(&self) -> Result<WordIndex, StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(WordIndex::None),
            Backend::Postgres(backend) => backend.index(),
        }
    }

    /// Passes the frames that contain the given words to `acquire`, found by the database's own index: the session, the
    /// part, and the number.
    pub(super) fn each_frame_with(
        &self,
        sought: &WordCondition,
        among: Option<&[&str]>,
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(backend) => backend
                .frames_with_words(sought, among)?
                .iter()
                .try_for_each(|row| take(&Row::Postgres(row))),
        }
    }

    /// Creates the roles of owners, writers and readers, if the database has roles.
    pub(super) fn make_roles(&self) -> Result<Vec<&'static str>, StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(Vec::new()),
            Backend::Postgres(backend) => backend.make_roles(),
        }
    }

    /// Returns `true` if a table exists. A store that is only read is not migrated, so its tables may be missing.
    pub(super) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.has_table(name),
            Backend::Postgres(backend) => backend.has_table(name),
        }
    }

    /// Returns the version of the schema.
    pub(super) fn version(&self) -> Result<i64, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.version(),
            Backend::Postgres(backend) => backend.version(),
        }
    }

    pub(super) fn required_version(&self) -> Result<i64, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.required_version(),
            Backend::Postgres(_) => Ok(0),
        }
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.set_version(version),
            Backend::Postgres(backend) => backend.set_version(version),
        }
    }

    /// Makes the database erase deleted rows. Returns `true` if none of them is left in its files.
    pub(super) fn scrub(&self) -> Result<bool, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.scrub(),
            Backend::Postgres(backend) => backend.scrub(),
        }
    }

    /// Copies the write-ahead log into the file and empties it. Returns `false` if a reader prevented it.
    pub(super) fn empty_log(&self) -> Result<bool, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.empty_log(),
            // A server maintains its own log.
            Backend::Postgres(_) => Ok(true),
        }
    }

    /// Returns the errors that the database finds in its files.
    pub(super) fn check(&self) -> Result<Vec<String>, StoreError> {
        match &self.backend {
            Backend::Sqlite(backend) => backend.check(),
            // A server checks its own files, and enforces its foreign keys at all times.
            Backend::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// Returns the disk usage of frames and of all other tables on the server, or `None` if the database is a file.
    pub(super) fn sizes(&self) -> Result<Option<(u64, u64)>, StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(backend) => backend.sizes().map(Some),
        }
    }
}

impl Row<'_> {
    pub(super) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.int_opt(column)?.ok_or_else(|| self.null_error(column))
    }

    pub(super) fn int_opt(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite::int_opt(row, column),
            Self::Postgres(row) => row.int_opt(column),
        }
    }

    /// Returns a number that is never negative.
    pub(super) fn count(&self, column: usize) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.int(column)?).unwrap_or_default())
    }

    pub(super) fn text(&self, column: usize) -> Result<String, StoreError> {
        Ok(self.text_ref(column)?.to_owned())
    }

    pub(super) fn text_opt(&self, column: usize) -> Result<Option<String>, StoreError> {
        Ok(self.text_ref_opt(column)?.map(str::to_owned))
    }

    /// Returns a text without copying it.
    pub(super) fn text_ref(&self, column: usize) -> Result<&str, StoreError> {
        self.text_ref_opt(column)?.ok_or_else(|| self.null_error(column))
    }

    pub(super) fn text_ref_opt(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite::text_ref_opt(row, column),
            Self::Postgres(row) => row.text_opt(column),
        }
    }

    /// Returns bytes without copying them.
    pub(super) fn blob_ref(&self, column: usize) -> Result<&[u8], StoreError> {
        self.blob_ref_opt(column)?.ok_or_else(|| self.null_error(column))
    }

    pub(super) fn blob_ref_opt(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite::blob_ref_opt(row, column),
            Self::Postgres(row) => row.blob_opt(column),
        }
    }

    pub(super) fn blob(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        Ok(self.blob_ref(column)?.to_owned())
    }

    fn null_error(&self, column: usize) -> StoreError {
        match self {
            Self::Sqlite(row) => sqlite::null_error(row, column),
            Self::Postgres(_) => ServerError::value(column).into(),
        }
    }
}

impl<'a> Value<'a> {
    /// Converts a count. Values beyond 2^63 do not occur in practice, so they are clamped.
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
