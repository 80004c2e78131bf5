//! The only place that knows which database it is.
//!
//! Everything above speaks one SQL text: parameters are `$1`, `$2`, …, values are integers, text and bytes, and the few
//! words that differ between engines stand in braces in the schema. Each arm gives execute, query, bulk insert and
//! transactions, a lock of its own where many machines write, and nothing else.

mod postgres;
mod sqlite;

use std::path::Path;

pub(super) use self::postgres::{HeldLock, Rows};
use self::postgres::{Postgres, RowExt};
pub use self::postgres::{ServerError, ServerErrorKind};
use self::sqlite::Sqlite;
use super::StoreError;
use super::filters::Index;
use super::place::{Server, Writer};
use crate::terms::vocabulary::Sought;

/// A connection to the database, and who speaks.
pub(super) struct Engine {
    arm: Arm,
    writer: Writer,
}

enum Arm {
    Sqlite(Sqlite),
    Postgres(Postgres),
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
    Postgres(&'r ::postgres::Row),
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

/// What one of many machines may have to itself for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// To write, one batch long.
    Write,
    /// To let go of raw text.
    Retention,
}

const ROLLBACK: &str = "ROLLBACK";

/// A transaction that is taken back unless it was committed, whatever becomes of the work in it.
struct Open<'e> {
    engine: &'e Engine,
    is_committed: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            self.engine.roll_back();
        }
    }
}

impl Engine {
    /// Opens the database file. A new one is made only for writing.
    pub(super) fn open(path: &Path, access: Access, writer: &Writer) -> Result<Self, StoreError> {
        Ok(Self {
            arm: Arm::Sqlite(Sqlite::open(path, access)?),
            writer: writer.clone(),
        })
    }

    /// Connects to a server.
    pub(super) fn connect(server: &Server, access: Access, writer: &Writer) -> Result<Self, StoreError> {
        Ok(Self {
            arm: Arm::Postgres(Postgres::connect(server, access)?),
            writer: writer.clone(),
        })
    }

    /// Who writes.
    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Whether many machines share the database, so that a path alone says nothing.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.arm, Arm::Postgres(_))
    }

    /// Where frames are rows, what reads them.
    pub(super) fn rows(&self) -> Option<Rows> {
        match &self.arm {
            Arm::Sqlite(_) => None,
            Arm::Postgres(arm) => Some(arm.rows()),
        }
    }

    /// Whether the database can be read at all: a file is looked into only when it is first asked something.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.probe(),
            Arm::Postgres(_) => Ok(()),
        }
    }

    /// Takes a right that only one connection has, where the database gives such rights; none where it is had already
    /// and nobody wants to wait.
    pub(super) fn take(&self, right: Right, is_waiting: bool) -> Result<Option<HeldLock>, StoreError> {
        match &self.arm {
            Arm::Sqlite(_) => Ok(None),
            Arm::Postgres(arm) => arm.take(right, is_waiting),
        }
    }

    /// Begins a look at one state of the database, unless one has begun: asked one by one, each question takes and gives
    /// back a lock.
    pub(super) fn begin_look(&self) -> Result<bool, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) if arm.is_idle() => arm.script("BEGIN").map(|()| true),
            Arm::Postgres(arm) if arm.is_idle() => arm.begin("REPEATABLE READ, READ ONLY").map(|()| true),
            _ => Ok(false),
        }
    }

    pub(super) fn end_look(&self) {
        // Nothing was changed, so nothing can be lost.
        _ = self.commit();
    }

    /// Says that much is about to be read once, or no longer.
    pub(super) fn set_passing(&self, is_passing: bool) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.set_passing(is_passing),
            // The server has one memory for all who ask, and minds it itself.
            Arm::Postgres(_) => Ok(()),
        }
    }

    /// Says that batches are about to be written, or no longer.
    pub(super) fn set_batches(&self, are_written: bool) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.set_batches(are_written),
            Arm::Postgres(_) => Ok(()),
        }
    }

    /// Runs a statement that gives no rows, and says how many rows it touched.
    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.execute(sql, values),
            Arm::Postgres(arm) => arm.execute(sql, values),
        }
    }

    /// Runs one statement for many rows of values.
    pub(super) fn bulk<'v>(&self, sql: &str, rows: impl IntoIterator<Item = Vec<Value<'v>>>) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.bulk(sql, rows),
            Arm::Postgres(arm) => arm.bulk(sql, rows),
        }
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
        match &self.arm {
            Arm::Sqlite(arm) => arm.each(sql, values, take),
            Arm::Postgres(arm) => arm
                .query(sql, values)?
                .iter()
                .try_for_each(|row| take(&Row::Postgres(row))),
        }
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
        match &self.arm {
            Arm::Sqlite(arm) => arm.script(sql),
            Arm::Postgres(arm) => arm.script(sql),
        }
    }

    /// Does `work` wholly or not at all.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.script("BEGIN IMMEDIATE")?,
            Arm::Postgres(arm) => arm.begin("READ COMMITTED")?,
        }
        let mut open = Open {
            engine: self,
            is_committed: false,
        };
        let done = work(self)?;
        self.commit()?;
        open.is_committed = true;
        Ok(done)
    }

    fn commit(&self) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.script("COMMIT"),
            Arm::Postgres(arm) => arm.commit(),
        }
    }

    /// What failed is told elsewhere; that there was nothing to take back any more is not.
    fn roll_back(&self) {
        _ = match &self.arm {
            Arm::Sqlite(arm) if arm.is_idle() => Ok(()),
            Arm::Sqlite(arm) => arm.script(ROLLBACK),
            Arm::Postgres(arm) => arm.end(ROLLBACK),
        };
    }

    /// Puts this engine's words into a text of the schema.
    pub(super) fn dialect(&self, ddl: &str) -> String {
        match self.arm {
            Arm::Sqlite(_) => Sqlite::dialect(ddl),
            Arm::Postgres(_) => Postgres::dialect(ddl),
        }
    }

    /// Lets nobody else bring the schema to another step until the transaction ends.
    pub(super) fn lock_schema(&self) -> Result<(), StoreError> {
        match &self.arm {
            // Whoever writes to the file is alone.
            Arm::Sqlite(_) => Ok(()),
            Arm::Postgres(arm) => arm.lock_schema(),
        }
    }

    /// What an engine has beside the tables that both have, made where it is not there.
    pub(super) fn furnish(&self) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(_) => Ok(()),
            Arm::Postgres(arm) => arm.furnish(),
        }
    }

    /// By what the database finds frames itself.
    pub(super) fn index(&self) -> Result<Index, StoreError> {
        match &self.arm {
            Arm::Sqlite(_) => Ok(Index::None),
            Arm::Postgres(arm) => arm.index(),
        }
    }

    /// Shows the frames whose words are those sought, by the database's own index: the session, the part, and the number.
    pub(super) fn each_with(
        &self,
        sought: &Sought,
        among: Option<&[&str]>,
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(_) => Ok(()),
            Arm::Postgres(arm) => arm
                .with_words(sought, among)?
                .iter()
                .try_for_each(|row| take(&Row::Postgres(row))),
        }
    }

    /// Makes the roles of those who own, write and read, where the database knows any.
    pub(super) fn make_roles(&self) -> Result<Vec<&'static str>, StoreError> {
        match &self.arm {
            Arm::Sqlite(_) => Ok(Vec::new()),
            Arm::Postgres(arm) => arm.make_roles(),
        }
    }

    /// Whether a table is there: a store that is only read is not brought to the newest step.
    pub(super) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.has_table(name),
            Arm::Postgres(arm) => arm.has_table(name),
        }
    }

    /// Which step of the schema the database is at.
    pub(super) fn version(&self) -> Result<i64, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.version(),
            Arm::Postgres(arm) => arm.version(),
        }
    }

    pub(super) fn floor(&self) -> Result<i64, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.floor(),
            Arm::Postgres(_) => Ok(0),
        }
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.set_version(version),
            Arm::Postgres(arm) => arm.set_version(version),
        }
    }

    /// Lets the database forget what was deleted. Says whether nothing of it is left in its files.
    pub(super) fn scrub(&self) -> Result<bool, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.scrub(),
            Arm::Postgres(arm) => arm.scrub(),
        }
    }

    /// Empties the write-ahead log into the file. Says whether it is empty: a reader may be in the way.
    pub(super) fn empty_log(&self) -> Result<bool, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.empty_log(),
            // The server's log is its own, and it sees to it.
            Arm::Postgres(_) => Ok(true),
        }
    }

    /// What the database itself finds wrong with its files.
    pub(super) fn check(&self) -> Result<Vec<String>, StoreError> {
        match &self.arm {
            Arm::Sqlite(arm) => arm.check(),
            // A server that answers looks after its files itself, and its keys hold at any time.
            Arm::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// What the tables take on the server's disk, frames apart; none where the database is a file.
    pub(super) fn sizes(&self) -> Result<Option<(u64, u64)>, StoreError> {
        match &self.arm {
            Arm::Sqlite(_) => Ok(None),
            Arm::Postgres(arm) => arm.sizes().map(Some),
        }
    }
}

impl Row<'_> {
    pub(super) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.int_opt(column)?.ok_or_else(|| self.is_null(column))
    }

    pub(super) fn int_opt(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite::int_opt(row, column),
            Self::Postgres(row) => row.int_opt(column),
        }
    }

    /// A number that is never negative.
    pub(super) fn count(&self, column: usize) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.int(column)?).unwrap_or_default())
    }

    pub(super) fn text(&self, column: usize) -> Result<String, StoreError> {
        Ok(self.text_ref(column)?.to_owned())
    }

    pub(super) fn text_opt(&self, column: usize) -> Result<Option<String>, StoreError> {
        Ok(self.text_ref_opt(column)?.map(str::to_owned))
    }

    /// Text that is looked at and not kept.
    pub(super) fn text_ref(&self, column: usize) -> Result<&str, StoreError> {
        self.text_ref_opt(column)?.ok_or_else(|| self.is_null(column))
    }

    pub(super) fn text_ref_opt(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite::text_ref_opt(row, column),
            Self::Postgres(row) => row.text_opt(column),
        }
    }

    /// Bytes that are looked at and not kept.
    pub(super) fn blob_ref(&self, column: usize) -> Result<&[u8], StoreError> {
        self.blob_ref_opt(column)?.ok_or_else(|| self.is_null(column))
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

    fn is_null(&self, column: usize) -> StoreError {
        match self {
            Self::Sqlite(row) => sqlite::is_null(row, column),
            Self::Postgres(_) => ServerError::value(column).into(),
        }
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
