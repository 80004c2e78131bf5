//! The store: one private directory with a database and packs, or a database on a server that several machines share.
//! All SQL is in the modules below this file, and each table is written by only one of them.
//!
//! Errors in the agents' logs are tolerated and counted. An error in our own store stops the command.

mod annotations;
mod calls;
mod catalog;
mod copies;
mod cursors;
mod decisions;
mod derived;
mod digests;
mod engine;
mod error;
mod events;
mod facts;
mod filters;
pub(crate) mod foreign;
mod frames;
mod lock;
mod moving;
mod names;
mod operations;
mod overview;
mod packed_calls;
mod paths;
mod place;
mod prompts;
mod retention;
mod said;
mod salvage;
mod schema;
mod sessions;
mod shared;
mod turns;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

pub use annotations::{AnnotationKind, Annotations};
pub use calls::stored_calls;
pub use catalog::{ListedSession, SessionCounts, SessionStatus};
pub use copies::CopyRow;
pub use cursors::{Cursor, FileStat};
pub use decisions::Decision;
pub use derived::{PackedState, derived_version};
pub use digests::{DigestRow, FreshDigest, SessionGrowth};
pub use engine::{ServerError, ServerErrorKind};
pub use error::{FailureCause, StoreError};
pub use events::{FreshEvents, FreshPages, stored_events};
pub(crate) use facts::SLACK;
pub use facts::SessionFact;
pub use filters::{FilterRow, SessionScope, TAIL_NO, WordIndex};
pub use frames::{FrameRow, PackedTail, Tail};
pub use lock::{LockWait, RetentionLock, WriteLock};
pub use moving::{SessionRows, TableRows};
pub use operations::Operation;
pub use place::{DatabaseServer, DatabaseUrlError, StoreLocation, WriterIdentity};
pub use prompts::{PromptFile, PromptRow, PromptSource, PromptsOnly};
pub use retention::EvictionCandidate;
pub use said::AnnotationRef;
pub use salvage::SalvageResult;
pub use sessions::{SHORT_ID_CHARS, SessionRow, agent_of, stand_in};
pub use turns::{find_parents, stored_session, stored_turn};

use self::engine::{Access, Engine};
use crate::packs::PackStorage;

const DATABASE: &str = "store.db";
const PACKS: &str = "packs";
const LOCK: &str = "lock";
const WALKED: &str = "walked";
const SCRUB: &str = "scrub";

/// An open store.
pub struct Store {
    engine: Engine,
    place: StoreLocation,
    /// The journal entry of this instance, which later transactions update.
    operation: Option<i64>,
    /// A shared lock that keeps writers out while this reader exists; see [`Store::open_existing`].
    _shared_lock: Option<fs::File>,
}

/// The rows of a session that its temporary copy replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceScope {
    /// Lines, cursors and the rows derived from them.
    Whole,
    /// Only the rows derived from the lines.
    Derived,
}

impl Store {
    /// The file name of the database in the store's directory.
    pub const DATABASE: &str = DATABASE;

    /// Opens the store at `place`, and creates it if it does not exist.
    pub fn open(place: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        let place = place.into();
        make_private(&place)?;
        let mut engine = match place.server() {
            Some(server) => Engine::connect(server, Access::ReadWrite, place.writer())?,
            None => {
                make_private(&place.join(PACKS))?;
                let database = place.join(DATABASE);
                if is_missing_or_empty(&database) && has_packs(&place) && is_missing_or_empty(&database) {
                    return Err(StoreError::Headless);
                }
                // The version is checked with a read-only connection first, because a database of a newer version
                // must not be changed. Other errors are ignored here: after a crash, a database cannot always be read
                // without write access, and such a database is not newer.
                let known = Engine::open(&database, Access::ReadOnly, place.writer());
                if let Err(error @ StoreError::TooNew { .. }) =
                    known.and_then(|engine| schema::check_required_version(&engine))
                {
                    return Err(error);
                }
                // SQLite creates the files beside the database with the same mode.
                if !database.exists() {
                    drop(open_private(&database)?);
                }
                Engine::open(&database, Access::ReadWrite, place.writer())?
            }
        };
        schema::migrate(&mut engine)?;
        Ok(Self::new(engine, place, None))
    }

    /// Opens an existing store for reading. Returns `None` if there is none.
    pub fn open_existing(place: impl Into<StoreLocation>) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        if let Some(server) = place.server() {
            let engine = Engine::connect(server, Access::ReadOnly, place.writer())?;
            let is_there = engine.version()? > 0;
            return Ok(is_there.then(|| Self::new(engine, place, None)));
        }
        let database = place.join(DATABASE);
        // The packs are checked before the database is checked again, because a new store gets its database first.
        if is_missing_or_empty(&database) {
            let is_headless = has_packs(&place) && is_missing_or_empty(&database);
            return if is_headless {
                Err(StoreError::Headless)
            } else {
                Ok(None)
            };
        }
        let open = |access| open_and_check(&database, access, place.writer());
        match open(Access::ReadOnly) {
            Ok(engine) => Self::if_migrated(engine, place, None),
            Err(error) if is_open_failure(&error) => {
                // SQLite cannot create its files here: the store is a copy, on a read-only medium, or belongs to
                // another user. If a writer is active, these files exist and the second attempt succeeds. Otherwise
                // we keep writers out with their own lock.
                let shared_lock = fs::File::open(place.join(LOCK)).ok();
                if let Some(lock) = &shared_lock {
                    _ = lock.lock_shared();
                }
                match open(Access::ReadOnly) {
                    Ok(engine) => Self::if_migrated(engine, place, None),
                    Err(_) if !has_write_ahead_log(&database) => {
                        let engine = open(Access::Immutable)?;
                        Self::if_migrated(engine, place, shared_lock)
                    }
                    Err(_) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the store if its tables exist, or `None` if another process is creating them or crashed before it had.
    fn if_migrated(
        engine: Engine,
        place: StoreLocation,
        shared_lock: Option<fs::File>,
    ) -> Result<Option<Self>, StoreError> {
        if engine.version()? > 0 || engine.has_table("sessions")? {
            return Ok(Some(Self::new(engine, place, shared_lock)));
        }
        match has_packs(&place) {
            true => Err(StoreError::Headless),
            false => Ok(None),
        }
    }

    /// Creates a store in memory, in which rows can be derived for comparison.
    pub fn scratch() -> Result<(Self, WriteLock), StoreError> {
        let place = StoreLocation::from(PathBuf::new());
        let mut engine = Engine::open(Path::new(":memory:"), Access::ReadWrite, place.writer())?;
        schema::migrate(&mut engine)?;
        Ok((Self::new(engine, place, None), WriteLock::of_scratch()))
    }

    fn new(engine: Engine, place: StoreLocation, shared_lock: Option<fs::File>) -> Self {
        Self {
            engine,
            place,
            operation: None,
            _shared_lock: shared_lock,
        }
    }

    /// The directory of this machine's own files, and of packs that are files.
    pub fn directory(&self) -> &Path {
        &self.place
    }

    /// The location of the store.
    pub fn place(&self) -> &StoreLocation {
        &self.place
    }

    /// Creates the roles of owners, writers and readers on a server and grants their privileges. Returns their names,
    /// or nothing if the store is a directory.
    pub fn make_roles(&self) -> Result<Vec<&'static str>, StoreError> {
        self.engine.make_roles()
    }

    /// Returns when the agents' roots were last walked, as recorded by [`Store::note_walk`].
    pub fn last_walk(directory: &Path) -> Option<Timestamp> {
        let metadata = fs::metadata(directory.join(WALKED)).ok()?;
        Timestamp::try_from(metadata.modified().ok()?).ok()
    }

    /// Records that the agents' roots were walked. This does not change the store, so it has no row and no journal
    /// entry, only the modification time of an empty file.
    pub fn note_walk(&self, at: Timestamp) -> Result<(), StoreError> {
        let path = self.place.join(WALKED);
        let file = open_private(&path)?;
        let noted = file.set_modified(at.into());
        noted.map_err(|source| StoreError::Io { path, source })
    }

    /// Returns where packs are stored.
    pub fn packs(&self) -> PackStorage {
        match self.engine.rows() {
            Some(rows) => PackStorage::Rows(Arc::new(move |frame, packed| rows.read(frame, packed))),
            None => PackStorage::Files(self.place.join(PACKS)),
        }
    }

    /// Runs `work` in a transaction and records its sentence in the journal. All transactions of one `Store` share
    /// one entry, which contains the last sentence.
    pub fn write<T>(
        &mut self,
        _lock: &WriteLock,
        at: Timestamp,
        command: &str,
        work: impl FnOnce(&Tx<'_>) -> Result<(T, String), StoreError>,
    ) -> Result<T, StoreError> {
        let before = self.operation;
        let (done, operation) = self.engine.transaction(|engine| {
            let tx = Tx { engine };
            let (done, sentence) = work(&tx)?;
            let operation = operations::put_operation(engine, before, at, command, &sentence)?;
            Ok((done, operation))
        })?;
        self.operation = Some(operation);
        Ok(done)
    }

    /// Like [`Store::write`], but with a journal entry of its own, for what users must not overlook.
    pub fn write_apart<T>(
        &mut self,
        lock: &WriteLock,
        at: Timestamp,
        command: &str,
        work: impl FnOnce(&Tx<'_>) -> Result<(T, String), StoreError>,
    ) -> Result<T, StoreError> {
        let before = self.operation.take();
        let done = self.write(lock, at, command, work);
        self.operation = before;
        done
    }

    /// Starts or ends a series of batch writes.
    pub fn set_batches(&self, are_written: bool) -> Result<(), StoreError> {
        self.engine.set_batches(are_written)
    }

    /// Returns the queries on the store.
    pub fn reads(&self) -> Reads<'_> {
        Reads { engine: &self.engine }
    }

    /// Rewrites the database so that free pages lose deleted text, and frees their space. Returns `false` if a reader
    /// that is in the middle of a query prevented it.
    pub fn scrub(&self, _lock: &WriteLock) -> Result<bool, StoreError> {
        // On a server this does not apply: a file set aside in its local directory belongs to another store.
        if !self.engine.is_shared() {
            self.drop_damaged()?;
        }
        self.engine.scrub()
    }

    /// Empties the write-ahead log. Returns `false` if a reader prevented it.
    pub fn empty_log(&self, _lock: &WriteLock) -> Result<bool, StoreError> {
        self.engine.empty_log()
    }

    /// Records that text is about to be deleted. If we do not complete it, the next writer scrubs the database.
    pub fn mark_scrub(&self) -> Result<(), StoreError> {
        let path = self.place.join(SCRUB);
        let noted = open_private(&path)?.sync_all();
        noted.map_err(|source| StoreError::Io { path, source })
    }

    /// Records that no deleted text is left.
    pub fn unmark_scrub(&self) -> Result<(), StoreError> {
        let path = self.place.join(SCRUB);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::Io { path, source }),
            _ => Ok(()),
        }
    }

    /// Returns `true` if deleted text may still be on free pages.
    pub fn is_scrub_due(&self) -> bool {
        self.place.join(SCRUB).exists()
    }
}

/// Queries on the store. Each module adds those on its table.
pub struct Reads<'s> {
    engine: &'s Engine,
}

/// A snapshot of the store, which ends when this value is dropped. Queries within it are faster and consistent with
/// each other.
pub struct Snapshot<'s> {
    engine: &'s Engine,
    is_own: bool,
}

impl Store {
    /// Begins a snapshot. Keep it short, because the space of rows deleted in the meantime is freed only after it
    /// ends.
    pub fn look(&self) -> Result<Snapshot<'_>, StoreError> {
        Ok(Snapshot {
            engine: &self.engine,
            is_own: self.engine.begin_snapshot()?,
        })
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if self.is_own {
            self.engine.end_snapshot();
        }
    }
}

/// A phase in which most of the store is read once, as a search does. The page cache is kept small, because filling
/// fresh memory costs as much as reading.
pub struct SequentialRead<'s> {
    engine: &'s Engine,
}

impl Store {
    /// Begins such a phase.
    pub fn begin_sequential_read(&self) -> Result<SequentialRead<'_>, StoreError> {
        self.engine.set_sequential(true)?;
        Ok(SequentialRead { engine: &self.engine })
    }
}

impl Drop for SequentialRead<'_> {
    fn drop(&mut self) {
        // This affects only speed, so an error is ignored.
        _ = self.engine.set_sequential(false);
    }
}

/// Changes within a transaction.
pub struct Tx<'s> {
    engine: &'s Engine,
}

impl Tx<'_> {
    /// Returns the queries within the transaction.
    pub fn reads(&self) -> Reads<'_> {
        Reads { engine: self.engine }
    }

    /// Replaces the rows of a session with those of its temporary copy. `at` is when the session grew, or `None` if
    /// only our rules changed.
    pub fn promote_stand_in(
        &self,
        session_uid: &str,
        extent: ReplaceScope,
        at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let from = stand_in(session_uid);
        self.clear_derived(session_uid)?;
        self.move_derived(&from, session_uid)?;
        if extent == ReplaceScope::Whole {
            self.drop_frames(session_uid)?;
            self.drop_cursors(session_uid)?;
            self.move_frames(&from, session_uid)?;
            self.move_cursors(&from, session_uid)?;
        }
        if at.is_some() {
            self.unseal_digest(session_uid)?;
        }
        self.touch_session(session_uid, at)?;
        self.drop_session(&from)
    }
}

impl Reads<'_> {
    /// Returns the disk usage of frames and of everything else on a server, or `None` if the store is a directory.
    pub fn sizes(&self) -> Result<Option<(u64, u64)>, StoreError> {
        self.engine.sizes()
    }

    /// Returns the errors that the database finds in its own file.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.engine.check()
    }
}

/// Opens a database and checks that it can be read.
fn open_and_check(database: &Path, access: Access, writer: &WriterIdentity) -> Result<Engine, StoreError> {
    let engine = Engine::open(database, access, writer)?;
    engine.probe()?;
    schema::check_required_version(&engine)?;
    Ok(engine)
}

/// Returns `true` if the database file does not exist or was never written.
fn is_missing_or_empty(database: &Path) -> bool {
    fs::metadata(database).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |file| file.len() == 0)
}

/// Returns `true` if the store's directory contains packs.
fn has_packs(directory: &Path) -> bool {
    let folders = fs::read_dir(directory.join(PACKS)).into_iter().flatten().flatten();
    let mut files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
    files.next().is_some()
}

/// Returns `true` if the files beside the database could not be created or opened.
fn is_open_failure(error: &StoreError) -> bool {
    let StoreError::Database(error) = error else {
        return false;
    };
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly)
    )
}

/// Returns `true` if the write-ahead log contains data that may not be in the database file yet.
fn has_write_ahead_log(database: &Path) -> bool {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}

/// Creates a directory that only its owner can access, from its creation on.
pub(crate) fn make_private(directory: &Path) -> Result<(), StoreError> {
    if directory.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|source| StoreError::Io {
        path: directory.to_owned(),
        source,
    })
}

/// Opens a file for writing that only its owner can access, and creates it if it does not exist.
pub(crate) fn open_private(path: &Path) -> Result<fs::File, StoreError> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Converts a time to microseconds, as the store keeps it.
fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// Returns a time with the precision that it has in a row.
fn kept_time(at: Option<Timestamp>) -> Option<Timestamp> {
    at.and_then(|at| Timestamp::from_microsecond(micros(at)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_without_tables_is_not_a_store_yet() {
        let home = tempfile::tempdir().unwrap();
        let database = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        assert!(!is_missing_or_empty(&home.path().join(DATABASE)));
        assert!(Store::open_existing(home.path()).unwrap().is_none());
        let pack = home.path().join(PACKS).join("00").join("a.pack");
        fs::create_dir_all(pack.parent().unwrap()).unwrap();
        fs::write(pack, "lines").unwrap();
        assert!(matches!(Store::open_existing(home.path()), Err(StoreError::Headless)));
    }
}
