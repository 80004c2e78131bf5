//! The store: one private directory with a database and packs, or a database on a server that many machines share. The only SQL stands below this file, and
//! each table is written by one file of it.
//!
//! Their text we tolerate and count; our store we never: its first error stops the command.

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

pub use annotations::{Annotation, Annotations};
pub use calls::kept_calls;
pub use catalog::{Counted, Listed, Status};
pub use copies::CopyRow;
pub use cursors::{Cursor, Stat};
pub use decisions::Decision;
pub use derived::{PackedState, derived_version};
pub use digests::{DigestRow, FreshDigest, Growth};
pub use engine::{ServerError, ServerErrorKind};
pub use error::{Lack, StoreError};
pub use events::{FreshEvents, FreshPages, kept_events};
pub use facts::Fact;
pub(crate) use facts::SLACK;
pub use filters::{FilterRow, Index, TAIL_NO, Whose};
pub use frames::{FrameRow, PackedTail, Tail};
pub use lock::{Patience, RetentionLock, WriteLock};
pub use moving::{Load, SessionLoad};
pub use operations::Operation;
pub use place::{Place, Server, UrlError, Writer};
pub use prompts::{PromptFile, PromptRow, PromptSource, PromptsOnly};
pub use retention::Candidate;
pub use said::Said;
pub use salvage::Salvaged;
pub use sessions::{SHORT_ID_CHARS, SessionRow, agent_of, stand_in};
pub use turns::{kept_session, kept_turn, works_for};

use self::engine::{Access, Engine};
use crate::packs::Packs;

const DATABASE: &str = "store.db";
const PACKS: &str = "packs";
const LOCK: &str = "lock";
const WALKED: &str = "walked";
const SCRUB: &str = "scrub";

/// An open store.
pub struct Store {
    engine: Engine,
    place: Place,
    /// The sentence that this opening of the store left in the journal.
    operation: Option<i64>,
    /// Held where writers have to wait for this reader: see [`Store::open_existing`].
    _still: Option<fs::File>,
}

/// How much of a session its stand-in takes the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Lines, cursors and what was made of them.
    Whole,
    /// What was made of the lines.
    Derived,
}

impl Store {
    /// The name of the database in the store's directory.
    pub const DATABASE: &str = DATABASE;

    /// Opens the store at `place`, making it if it is not there.
    pub fn open(place: impl Into<Place>) -> Result<Self, StoreError> {
        let place = place.into();
        make_private(&place)?;
        let mut engine = match place.server() {
            Some(server) => Engine::connect(server, Access::ReadWrite, place.writer())?,
            None => {
                make_private(&place.join(PACKS))?;
                let database = place.join(DATABASE);
                if is_empty(&database) && has_packs(&place) && is_empty(&database) {
                    return Err(StoreError::Headless);
                }
                // Asked without the right to write: what we do not know is not touched.
                // What a crash left cannot always be read without that right, and is none of a newer version's.
                let known = Engine::open(&database, Access::ReadOnly, place.writer());
                if let Err(error @ StoreError::TooNew { .. }) = known.and_then(|engine| schema::must_be_known(&engine))
                {
                    return Err(error);
                }
                // The files that SQLite makes beside it have its mode.
                if !database.exists() {
                    drop(open_private(&database)?);
                }
                Engine::open(&database, Access::ReadWrite, place.writer())?
            }
        };
        schema::migrate(&mut engine)?;
        Ok(Self::new(engine, place, None))
    }

    /// Opens a store that is there, for reading only. None where there is none.
    pub fn open_existing(place: impl Into<Place>) -> Result<Option<Self>, StoreError> {
        let place = place.into();
        if let Some(server) = place.server() {
            let engine = Engine::connect(server, Access::ReadOnly, place.writer())?;
            let is_there = engine.version()? > 0;
            return Ok(is_there.then(|| Self::new(engine, place, None)));
        }
        let database = place.join(DATABASE);
        // Packs are looked for first: whoever makes a memory makes its database before them.
        if is_empty(&database) {
            let is_headless = has_packs(&place) && is_empty(&database);
            return if is_headless {
                Err(StoreError::Headless)
            } else {
                Ok(None)
            };
        }
        let open = |access| open_probed(&database, access, place.writer());
        match open(Access::ReadOnly) {
            Ok(engine) => Self::if_made(engine, place, None),
            Err(error) if is_cannot_open(&error) => {
                // Nothing can be made here: a copy, a medium that is read-only, another user's store. While a writer
                // is here its files are, too, and the way above was the right one. Else we keep it out by its own lock.
                let still = fs::File::open(place.join(LOCK)).ok();
                if let Some(lock) = &still {
                    _ = lock.lock_shared();
                }
                match open(Access::ReadOnly) {
                    Ok(engine) => Self::if_made(engine, place, None),
                    Err(_) if !has_write_ahead_log(&database) => {
                        let engine = open(Access::Still)?;
                        Self::if_made(engine, place, still)
                    }
                    Err(_) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// A store whose tables are there. None where somebody is making them just now, or died before he had.
    fn if_made(engine: Engine, place: Place, still: Option<fs::File>) -> Result<Option<Self>, StoreError> {
        if engine.version()? > 0 || engine.has_table("sessions")? {
            return Ok(Some(Self::new(engine, place, still)));
        }
        match has_packs(&place) {
            true => Err(StoreError::Headless),
            false => Ok(None),
        }
    }

    /// A memory that lies nowhere and is gone with its end, to make rows in and compare them.
    pub fn scratch() -> Result<(Self, WriteLock), StoreError> {
        let place = Place::from(PathBuf::new());
        let mut engine = Engine::open(Path::new(":memory:"), Access::ReadWrite, place.writer())?;
        schema::migrate(&mut engine)?;
        Ok((Self::new(engine, place, None), WriteLock::of_scratch()))
    }

    fn new(engine: Engine, place: Place, still: Option<fs::File>) -> Self {
        Self {
            engine,
            place,
            operation: None,
            _still: still,
        }
    }

    /// The directory of this machine's own files, and where packs lie that are files.
    pub fn directory(&self) -> &Path {
        &self.place
    }

    /// Where it lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Makes the roles of those who own, write and read a memory on a server, and gives them what they need. Gives their names; none
    /// where the memory is a directory.
    pub fn make_roles(&self) -> Result<Vec<&'static str>, StoreError> {
        self.engine.make_roles()
    }

    /// When somebody last looked through the agents' roots, as [`Store::note_walk`] was told.
    pub fn last_walk(directory: &Path) -> Option<Timestamp> {
        let metadata = fs::metadata(directory.join(WALKED)).ok()?;
        Timestamp::try_from(metadata.modified().ok()?).ok()
    }

    /// Notes that the agents' roots were looked through. It is no change of the memory, so it is no row and
    /// has no sentence: the time of an empty file says it.
    pub fn note_walk(&self, at: Timestamp) -> Result<(), StoreError> {
        let path = self.place.join(WALKED);
        let file = open_private(&path)?;
        let noted = file.set_modified(at.into());
        noted.map_err(|source| StoreError::Io { path, source })
    }

    /// Where packs lie.
    pub fn packs(&self) -> Packs {
        match self.engine.rows() {
            Some(rows) => Packs::Rows(Arc::new(move |frame, packed| rows.read(frame, packed))),
            None => Packs::Files(self.place.join(PACKS)),
        }
    }

    /// Does `work` wholly or not at all, and leaves its sentence in the journal. What one opening of the store
    /// does in several steps has one sentence: the last.
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
            let operation = operations::put(engine, before, at, command, &sentence)?;
            Ok((done, operation))
        })?;
        self.operation = Some(operation);
        Ok(done)
    }

    /// The same with a sentence of its own, beside that of the command: for what nobody may overlook.
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

    /// Says that batches are about to be written, or no longer.
    pub fn set_batches(&self, are_written: bool) -> Result<(), StoreError> {
        self.engine.set_batches(are_written)
    }

    /// Questions to the store.
    pub fn reads(&self) -> Reads<'_> {
        Reads { engine: &self.engine }
    }

    /// Writes the database anew, so that no page of it remembers what was dropped, and gives the room back. Says
    /// whether that is so: a reader in the middle of a question holds on to what it reads.
    pub fn scrub(&self, _lock: &WriteLock) -> Result<bool, StoreError> {
        // What was set aside in the directory beside a server is of another memory.
        if !self.engine.is_shared() {
            self.drop_damaged()?;
        }
        self.engine.scrub()
    }

    /// Gives the room of the write-ahead log back, where no reader is in the way.
    pub fn empty_log(&self, _lock: &WriteLock) -> Result<bool, StoreError> {
        self.engine.empty_log()
    }

    /// Notes that text is about to be dropped: whoever writes next scrubs if we do not come to it.
    pub fn mark_scrub(&self) -> Result<(), StoreError> {
        let path = self.place.join(SCRUB);
        let noted = open_private(&path)?.sync_all();
        noted.map_err(|source| StoreError::Io { path, source })
    }

    /// Notes that nothing is left that was dropped.
    pub fn unmark_scrub(&self) -> Result<(), StoreError> {
        let path = self.place.join(SCRUB);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::Io { path, source }),
            _ => Ok(()),
        }
    }

    /// Whether something was dropped and may still stand on a page that is in no use.
    pub fn is_scrub_due(&self) -> bool {
        self.place.join(SCRUB).exists()
    }
}

/// Questions. They are added where their tables are.
pub struct Reads<'s> {
    engine: &'s Engine,
}

/// A look at one state of the store, which ends with it. Questions inside of it are faster, and agree with each other.
pub struct Look<'s> {
    engine: &'s Engine,
    is_own: bool,
}

impl Store {
    /// Begins a look. It must not last: what was deleted meanwhile keeps its room until its end.
    pub fn look(&self) -> Result<Look<'_>, StoreError> {
        Ok(Look {
            engine: &self.engine,
            is_own: self.engine.begin_look()?,
        })
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        if self.is_own {
            self.engine.end_look();
        }
    }
}

/// A time in which most of the store is read once, as a search does: little of it is kept in memory, which is new to the process and costs as
/// much as reading.
pub struct Passage<'s> {
    engine: &'s Engine,
}

impl Store {
    /// Begins a passage.
    pub fn passage(&self) -> Result<Passage<'_>, StoreError> {
        self.engine.set_passing(true)?;
        Ok(Passage { engine: &self.engine })
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        // It is about time alone: what cannot be had back is not missed.
        _ = self.engine.set_passing(false);
    }
}

/// Changes, inside of a transaction.
pub struct Tx<'s> {
    engine: &'s Engine,
}

impl Tx<'_> {
    /// Questions inside of the transaction.
    pub fn reads(&self) -> Reads<'_> {
        Reads { engine: self.engine }
    }

    /// Lets what was made anew take the place of what the store has of a session.
    /// `at` is when it grew; none where only we got better.
    pub fn promote(&self, session_uid: &str, extent: Extent, at: Option<Timestamp>) -> Result<(), StoreError> {
        let from = stand_in(session_uid);
        self.clear_derived(session_uid)?;
        self.move_derived(&from, session_uid)?;
        if extent == Extent::Whole {
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
    /// What frames and all else take on the disk of a server; none where the store is a directory.
    pub fn sizes(&self) -> Result<Option<(u64, u64)>, StoreError> {
        self.engine.sizes()
    }

    /// What the database finds wrong with its own file.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.engine.check()
    }
}

/// Opens a database and asks it something.
fn open_probed(database: &Path, access: Access, writer: &Writer) -> Result<Engine, StoreError> {
    let engine = Engine::open(database, access, writer)?;
    engine.probe()?;
    schema::must_be_known(&engine)?;
    Ok(engine)
}

/// Whether nobody ever wrote to a database file.
fn is_empty(database: &Path) -> bool {
    fs::metadata(database).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |file| file.len() == 0)
}

/// Whether packs lie in a store's directory.
fn has_packs(directory: &Path) -> bool {
    let folders = fs::read_dir(directory.join(PACKS)).into_iter().flatten().flatten();
    let mut files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
    files.next().is_some()
}

/// Whether the files beside the database could not be made or opened.
fn is_cannot_open(error: &StoreError) -> bool {
    let StoreError::Database(error) = error else {
        return false;
    };
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly)
    )
}

/// Whether something is written that is not yet in the database's own file.
fn has_write_ahead_log(database: &Path) -> bool {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}

/// Makes a directory that only its owner can look into, from its first moment on.
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

/// Opens a file for writing that only its owner can look into, from its first moment on; makes it where there is none.
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

/// Times as the store keeps them.
fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// A time as it comes back from a row.
fn kept_time(at: Option<Timestamp>) -> Option<Timestamp> {
    at.and_then(|at| Timestamp::from_microsecond(micros(at)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_whose_tables_somebody_is_still_making_is_none_yet() {
        let home = tempfile::tempdir().unwrap();
        let database = rusqlite::Connection::open(home.path().join(DATABASE)).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        assert!(!is_empty(&home.path().join(DATABASE)));
        assert!(Store::open_existing(home.path()).unwrap().is_none());
        let pack = home.path().join(PACKS).join("00").join("a.pack");
        fs::create_dir_all(pack.parent().unwrap()).unwrap();
        fs::write(pack, "lines").unwrap();
        assert!(matches!(Store::open_existing(home.path()), Err(StoreError::Headless)));
    }
}
