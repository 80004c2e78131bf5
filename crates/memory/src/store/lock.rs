//! Who may write: one process at a time, by a lock on a file, or by one of the server's where many machines write. A process that died
//! has neither any more.

use std::fs;
use std::path::Path;

use super::engine::{HeldLock, Right};
use super::{LOCK, Store, StoreError, open_private};

/// The right to write, which a process that died no longer has.
pub struct WriteLock {
    // Held for as long as the file is open, or the connection.
    _file: Option<fs::File>,
    _held: Option<HeldLock>,
}

/// The right to let go of raw text, which one machine has at a time.
pub struct RetentionLock {
    _held: Option<HeldLock>,
}

/// Whether to wait for another writer.
#[derive(Clone, Copy)]
pub enum Patience<'a> {
    /// Wait, and say so first.
    Wait(&'a dyn Fn()),
    Leave,
}

impl WriteLock {
    /// The right to write to what nobody else can see.
    pub(super) fn of_scratch() -> Self {
        Self {
            _file: None,
            _held: None,
        }
    }

    /// Takes the right to write to a memory in a directory, whatever state its database is in.
    pub fn of_directory(directory: &Path, patience: Patience<'_>) -> Result<Self, StoreError> {
        let path = directory.join(LOCK);
        let error = |source| StoreError::Io {
            path: path.clone(),
            source,
        };
        let file = open_private(&path)?;
        match (file.try_lock(), patience) {
            (Ok(()), _) => {}
            (Err(fs::TryLockError::Error(source)), _) => return Err(error(source)),
            (Err(fs::TryLockError::WouldBlock), Patience::Leave) => return Err(StoreError::Busy),
            (Err(fs::TryLockError::WouldBlock), Patience::Wait(say)) => {
                say();
                file.lock().map_err(error)?;
            }
        }
        Ok(Self {
            _file: Some(file),
            _held: None,
        })
    }
}

impl Store {
    /// Takes the right to write, one batch long. Readers never ask for it.
    pub fn lock(&self, patience: Patience<'_>) -> Result<WriteLock, StoreError> {
        if self.engine.is_shared() {
            let held = match (self.engine.take(Right::Write, false)?, patience) {
                (None, Patience::Leave) => return Err(StoreError::Busy),
                (None, Patience::Wait(say)) => {
                    say();
                    self.engine.take(Right::Write, true)?
                }
                (held, _) => held,
            };
            return Ok(WriteLock {
                _file: None,
                _held: held,
            });
        }
        WriteLock::of_directory(&self.place, patience)
    }

    /// Takes the right to let go of raw text. None where another machine does so just now: one is enough.
    pub fn lock_retention(&self) -> Result<Option<RetentionLock>, StoreError> {
        if !self.engine.is_shared() {
            return Ok(Some(RetentionLock { _held: None }));
        }
        let held = self.engine.take(Right::Retention, false)?;
        Ok(held.map(|held| RetentionLock { _held: Some(held) }))
    }
}
