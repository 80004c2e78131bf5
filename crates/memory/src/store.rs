//! The store: one private directory with a database and packs. The only SQL stands below this file, and
//! each table is written by one file of it.
//!
//! Their text we tolerate and count; our store we never: its first error stops the command.

mod catalog;
mod cursors;
mod derived;
mod engine;
pub(crate) mod foreign;
mod frames;
mod operations;
mod prompts;
mod schema;
mod sessions;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use thiserror::Error;

pub use catalog::{Counted, Listed, Status};
pub use cursors::{Cursor, Stat};
pub use frames::{FrameRow, Tail};
pub use operations::Operation;
pub use prompts::{PromptFile, PromptRow, PromptSource, PromptsOnly};
pub use sessions::SessionRow;

use self::engine::{Access, Engine};

const DATABASE: &str = "store.db";
const PACKS: &str = "packs";
const LOCK: &str = "lock";

/// What can go wrong with our own files.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("cannot use {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("the store names an unknown {what}: `{word}`")]
    Unknown { what: &'static str, word: String },
    #[error("another boswell is writing")]
    Busy,
    #[error("frame {frame_no} of part `{part}` of {session_uid} is damaged: {reason}")]
    DamagedFrame {
        session_uid: String,
        part: String,
        frame_no: u64,
        reason: String,
    },
}

/// An open store.
pub struct Store {
    engine: Engine,
    directory: PathBuf,
}

/// The right to write, which a process that died no longer has.
pub struct WriteLock {
    // Held for as long as the file is open.
    _file: fs::File,
}

/// Whether to wait for another writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    Wait,
    Leave,
}

impl Store {
    /// Opens the store in `directory`, making it if it is not there.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        make_private(directory)?;
        make_private(&directory.join(PACKS))?;
        let database = directory.join(DATABASE);
        let is_new = !database.exists();
        let mut engine = Engine::open(&database, Access::ReadWrite)?;
        if is_new {
            set_private(&database, 0o600)?;
        }
        schema::migrate(&mut engine)?;
        Ok(Self {
            engine,
            directory: directory.to_owned(),
        })
    }

    /// Opens a store that is there, for reading only. None where there is none.
    pub fn open_existing(directory: &Path) -> Result<Option<Self>, StoreError> {
        let database = directory.join(DATABASE);
        if !database.exists() {
            return Ok(None);
        }
        let engine = Engine::open(&database, Access::ReadOnly)?;
        Ok(Some(Self {
            engine,
            directory: directory.to_owned(),
        }))
    }

    /// Takes the right to write, one batch long. Readers never ask for it.
    pub fn lock(&self, patience: Patience) -> Result<WriteLock, StoreError> {
        let path = self.directory.join(LOCK);
        let error = |source| StoreError::Io {
            path: path.clone(),
            source,
        };
        let is_new = !path.exists();
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(error)?;
        if is_new {
            set_private(&path, 0o600)?;
        }
        match patience {
            Patience::Wait => file.lock().map_err(error)?,
            Patience::Leave => file.try_lock().map_err(|refused| match refused {
                fs::TryLockError::WouldBlock => StoreError::Busy,
                fs::TryLockError::Error(source) => error(source),
            })?,
        }
        Ok(WriteLock { _file: file })
    }

    /// Where packs lie.
    pub fn packs(&self) -> PathBuf {
        self.directory.join(PACKS)
    }

    /// Does `work` wholly or not at all, and leaves its sentence in the journal.
    pub fn write<T>(
        &mut self,
        _lock: &WriteLock,
        at: Timestamp,
        command: &str,
        work: impl FnOnce(&Tx<'_>) -> Result<(T, String), StoreError>,
    ) -> Result<T, StoreError> {
        self.engine.transaction(|engine| {
            let tx = Tx { engine };
            let (done, sentence) = work(&tx)?;
            operations::add(engine, at, command, &sentence)?;
            Ok(done)
        })
    }

    /// Questions to the store.
    pub fn reads(&self) -> Reads<'_> {
        Reads { engine: &self.engine }
    }

    /// Gives freed room back to the disk.
    pub fn give_back(&self, _lock: &WriteLock) -> Result<(), StoreError> {
        self.engine.give_back()
    }
}

/// Questions. They are added where their tables are.
pub struct Reads<'s> {
    engine: &'s Engine,
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
}

impl Reads<'_> {
    /// What the database finds wrong with its own file.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.engine.check()
    }
}

/// Makes a directory that only its owner can look into.
fn make_private(directory: &Path) -> Result<(), StoreError> {
    let error = |source| StoreError::Io {
        path: directory.to_owned(),
        source,
    };
    if directory.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(directory).map_err(error)?;
    set_private(directory, 0o700)
}

#[cfg(unix)]
fn set_private(path: &Path, mode: u32) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        source,
    })
}

#[cfg(not(unix))]
fn set_private(_: &Path, _: u32) -> Result<(), StoreError> {
    // The user's own directories are private by their place on other systems.
    Ok(())
}

/// Times as the store keeps them.
fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}
