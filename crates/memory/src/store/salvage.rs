//! Salvages a damaged database: copies the rows that can still be read to a new database, which then replaces it.
//! Rows are copied unchanged. Other modules derive the rest from packs and logs.
//!
//! Nothing is destroyed: the damaged file stays beside the new one until text is evicted or a session is forgotten,
//! because then no copy may remain. After a crash, the database is either the old or the new file, and the repair can
//! be repeated.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::engine::{Access, Engine, Row, Value};
use super::lock::WriteLock;
use super::moving::{
    ColumnValue, FRAMES_TABLE, OTHER_TABLES, SESSION_TABLES, Table, columns, insert_statement, read_columns,
};
use super::{DATABASE, Reads, Store, StoreError, StoreLocation, Tx, make_private, open_private, schema};

/// The damaged file after a repair.
pub(super) const DAMAGED: &str = "store.db.damaged";
const NEW: &str = "store.db.new";
/// Directory for packs without a known owner.
const LOST_PACKS: &str = "lost";
/// Size of the header that identifies a database file and describes its pages.
const HEADER_BYTES: usize = 100;

/// What was salvaged from a damaged database.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SalvageResult {
    pub rows: u64,
    /// Tables with rows that could not be read.
    pub lost: BTreeSet<&'static str>,
    /// Sessions whose own row was lost, but which other rows name.
    pub restored: BTreeSet<String>,
}

impl Store {
    /// Creates a new database beside a damaged one, with all rows that can be read. It is not used until
    /// [`Store::replace_database`].
    pub fn salvage(
        place: &StoreLocation,
        lock: &WriteLock,
        at: Timestamp,
    ) -> Result<(Self, SalvageResult), StoreError> {
        make_private(place)?;
        let path = place.join(NEW);
        remove_database(&path)?;
        drop(open_private(&path)?);
        let mut engine = Engine::open(&path, Access::ReadWrite, place.writer())?;
        schema::migrate(&mut engine)?;
        engine.empty_log()?;
        let mut store = Self::new(engine, place.clone(), None);
        let mut salvaged = SalvageResult::default();
        let old = open_damaged(place, &path);
        store.write(lock, at, "doctor", |tx| {
            match &old {
                Some(old) => copy_tables(old, tx, at, &mut salvaged)?,
                None => salvaged.lost.extend(tables().map(|table| table.0)),
            }
            let sentence = format!(
                "created a new database with {} rows from the damaged one",
                salvaged.rows
            );
            Ok(((), sentence))
        })?;
        Ok((store, salvaged))
    }

    /// Replaces the damaged database with this new one. Returns the new path of the damaged file.
    pub fn replace_database(self, _lock: &WriteLock) -> Result<Option<PathBuf>, StoreError> {
        self.engine.empty_log()?;
        let place = self.place.clone();
        drop(self);
        let (old, new, aside) = (place.join(DATABASE), place.join(NEW), place.join(DAMAGED));
        let io = |path: &Path, done: io::Result<()>| {
            done.map_err(|source| StoreError::Io {
                path: path.to_owned(),
                source,
            })
        };
        if fs::metadata(&old).is_ok_and(|metadata| metadata.len() > 0) {
            remove_database(&aside)?;
            io(&old, fs::rename(&old, &aside))?;
            let log = with_suffix(&old, "-wal");
            if log.exists() {
                io(&log, fs::rename(&log, with_suffix(&aside, "-wal")))?;
            }
        }
        remove_database(&old)?;
        remove_file(&with_suffix(&new, "-shm"))?;
        remove_file(&with_suffix(&new, "-wal"))?;
        io(&new, fs::rename(&new, &old))?;
        #[cfg(unix)]
        io(&place, fs::File::open(&*place).and_then(|folder| folder.sync_all()))?;
        Ok(aside.exists().then_some(aside))
    }

    /// Deletes what a repair set aside, because it may contain text that is being deleted.
    pub(super) fn drop_damaged(&self) -> Result<(), StoreError> {
        remove_database(&self.place.join(DAMAGED))?;
        let path = self.place.join(LOST_PACKS);
        match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::Io { path, source }),
            _ => Ok(()),
        }
    }

    /// Moves a pack out of the packs directory, so that it is not deleted as an orphan. Returns its new path.
    pub fn quarantine_pack(&self, pack: &str) -> Result<PathBuf, StoreError> {
        let folder = self.place.join(LOST_PACKS);
        make_private(&folder)?;
        let (from, to) = (self.packs().path(pack), folder.join(pack.replace('/', "-")));
        match fs::rename(&from, &to) {
            Ok(()) => Ok(to),
            Err(source) => Err(StoreError::Io { path: from, source }),
        }
    }
}

impl Reads<'_> {
    /// Returns the tables that belong to no session and have a row that cannot be read or is not valid text. Reads
    /// every row.
    pub fn unreadable(&self) -> Result<Vec<&'static str>, StoreError> {
        let mut found = Vec::new();
        // A server checks its own pages.
        for table in OTHER_TABLES.iter().filter(|_| !self.engine.is_shared()) {
            if !self.engine.has_table(table.0)? {
                continue;
            }
            let columns = present_columns(self.engine, table);
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let mut is_sound = true;
            let sql = format!("SELECT {} FROM {}", names.join(", "), table.0);
            self.engine.each(&sql, &[], |row| {
                is_sound &= read_columns(self.engine, row, &columns).is_ok();
                Ok(())
            })?;
            if !is_sound {
                found.push(table.0);
            }
        }
        Ok(found)
    }
}

fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Deletes a database and the files beside it.
fn remove_database(path: &Path) -> Result<(), StoreError> {
    ["", "-wal", "-shm"]
        .iter()
        .try_for_each(|ending| remove_file(&with_suffix(path, ending)))
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::Io {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Opens a damaged database, or returns `None` if nothing in it can be read. `new` is an intact database.
fn open_damaged(place: &StoreLocation, new: &Path) -> Option<Engine> {
    let open = |path: &Path| {
        let engine = Engine::open(path, Access::ReadOnly, place.writer())?;
        engine.probe().map(|()| engine)
    };
    let there = |name: &&&str| fs::metadata(place.join(name)).is_ok_and(|metadata| metadata.len() > 0);
    // An interrupted repair has already renamed it.
    let path = place.join([DATABASE, DAMAGED].iter().find(there)?);
    match open(&path) {
        Ok(engine) => Some(engine),
        Err(error) if error.is_damage() => {
            copy_header(&path, new).ok()?;
            open(&path).ok()
        }
        Err(_) => None,
    }
}

/// Replaces the destroyed header of a database file with that of an intact one. Its tables can then be read if the
/// list of tables is intact.
fn copy_header(path: &Path, sound: &Path) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    fs::File::open(sound)?.read_exact(&mut header)?;
    let page_bytes = u64::from(u16::from_be_bytes([header[16], header[17]]));
    let pages = fs::metadata(path)?.len() / page_bytes.max(1);
    header[28..32].copy_from_slice(&u32::try_from(pages).unwrap_or_default().to_be_bytes());
    // The free pages are unknown, so the header says that there are none.
    header[32..40].fill(0);
    fs::File::options().write(true).open(path)?.write_all(&header)
}

fn tables() -> impl Iterator<Item = &'static Table> {
    OTHER_TABLES.iter().chain(SESSION_TABLES).chain([&FRAMES_TABLE])
}

/// Copies every row that can be read: from the start of a table, then backwards from its end if a row is damaged, and
/// then session by session.
fn copy_tables(old: &Engine, tx: &Tx<'_>, at: Timestamp, salvaged: &mut SalvageResult) -> Result<(), StoreError> {
    let mut sink = RowSink {
        tx,
        at,
        known: HashSet::new(),
        salvaged,
    };
    for table in tables() {
        let columns = present_columns(old, table);
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), table.0);
        let is_whole = sink.copy_rows(old, table, &columns, &select, &[])?;
        if !is_whole {
            sink.salvaged.lost.insert(table.0);
            let key = primary_key(tx.engine, table)?.join(" DESC, ");
            sink.copy_rows(old, table, &columns, &format!("{select} ORDER BY {key} DESC"), &[])?;
        }
    }
    let known: Vec<String> = sink.known.iter().cloned().collect();
    for table in SESSION_TABLES.iter().chain([&FRAMES_TABLE]) {
        if !sink.salvaged.lost.contains(table.0) {
            continue;
        }
        let columns = present_columns(old, table);
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let select = format!("SELECT {} FROM {} WHERE session_uid = $1", names.join(", "), table.0);
        for uid in &known {
            sink.copy_rows(old, table, &columns, &select, &[Value::Text(uid)])?;
        }
    }
    Ok(())
}

/// Returns the columns that a table of the damaged database has, because it may be of an older version.
fn present_columns(old: &Engine, table: &Table) -> Vec<(&'static str, char)> {
    let sql = "SELECT name FROM pragma_table_info($1)";
    let names = old.query(sql, &[Value::Text(table.0)], |row| row.text(0));
    let names = names.unwrap_or_default();
    columns(table)
        .filter(|(name, _)| names.is_empty() || names.iter().any(|present| present == name))
        .collect()
}

fn primary_key(engine: &Engine, table: &Table) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk";
    engine.query(sql, &[Value::Text(table.0)], |row| row.text(0))
}

/// The new database into which rows are copied.
struct RowSink<'s> {
    tx: &'s Tx<'s>,
    at: Timestamp,
    known: HashSet<String>,
    salvaged: &'s mut SalvageResult,
}

impl RowSink<'_> {
    /// Copies every row of a query. Returns `true` if the query completed and all rows were readable.
    fn copy_rows(
        &mut self,
        old: &Engine,
        table: &Table,
        columns: &[(&'static str, char)],
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<bool, StoreError> {
        let mut is_whole = true;
        let mut failed = None;
        let ended = old.each(sql, values, |row| {
            match self.insert_row(old, table, columns, row) {
                Ok(true) => {}
                Ok(false) => is_whole = false,
                Err(error) => failed = Some(error),
            }
            Ok(())
        });
        match (failed, ended) {
            (Some(error), _) => Err(error),
            (None, Err(error)) if error.failure_cause().is_some() => Err(error),
            // A table that did not exist yet has lost nothing.
            (None, Err(error)) => Ok(schema::is_older_than(old, table.0, &error)),
            (None, Ok(())) => Ok(is_whole),
        }
    }

    /// Inserts one row unless it exists. Returns `false` if the row makes no sense.
    fn insert_row(
        &mut self,
        old: &Engine,
        table: &Table,
        columns: &[(&'static str, char)],
        row: &Row<'_>,
    ) -> Result<bool, StoreError> {
        let Ok(values) = read_columns(old, row, columns) else {
            return Ok(false);
        };
        let uid = columns.iter().position(|(name, _)| *name == "session_uid");
        let uid = uid.and_then(|at| match &values[at] {
            ColumnValue::Text(uid) => Some(uid.as_str()),
            _ => None,
        });
        let is_of_session = !OTHER_TABLES.iter().any(|other| other.0 == table.0);
        if let Some(uid) = uid.filter(|_| is_of_session) {
            // A session that was being derived again will be derived from the start.
            if uid.starts_with('~') {
                return Ok(true);
            }
            if super::agent_of(uid).is_err() {
                return Ok(false);
            }
            if table.0 != "sessions" && !self.known.contains(uid) {
                self.tx.restore_session(uid, self.at)?;
                self.salvaged.restored.insert(uid.to_owned());
            }
            self.known.insert(uid.to_owned());
        }
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let sql = format!("{} ON CONFLICT DO NOTHING", insert_statement(table.0, &names));
        let as_values: Vec<Value<'_>> = values.iter().map(ColumnValue::as_value).collect();
        match self.tx.engine.execute(&sql, &as_values) {
            Ok(added) => {
                self.salvaged.rows += added as u64;
                Ok(true)
            }
            Err(error) if error.failure_cause().is_some() => Err(error),
            Err(_) => Ok(false),
        }
    }
}
