//! Locks that allow one writing process at a time: a file lock, or an advisory lock of the server if several machines
//! write. Both are released if the process dies.

use std::fs;
use std::path::Path;

use super::engine::{HeldLock, Right};
use super::{LOCK, Store, StoreError, open_private};

/// The exclusive right to write.
pub struct WriteLock {
    // Held as long as the file, or the connection, is open.
    _file: Option<fs::File>,
    _held: Option<HeldLock>,
}

/// The right to evict raw text, which one machine has at a time.
pub struct RetentionLock {
    _held: Option<HeldLock>,
}

/// Whether to wait for another writer.
#[derive(Clone, Copy)]
pub enum LockWait<'a> {
    /// Waits, and calls the function first so that it can tell the user.
    Wait(&'a dyn Fn()),
    GiveUp,
}

impl WriteLock {
    /// Returns a lock for a scratch store, which no other process can see.
    pub(super) fn of_scratch() -> Self {
        Self {
            _file: None,
            _held: None,
        }
    }

    /// Acquires the write lock of a store in a directory, whatever state its database is in.
    pub fn of_directory(directory: &Path, patience: LockWait<'_>) -> Result<Self, StoreError> {
        let path = directory.join(LOCK);
        let error = |source| StoreError::Io {
            path: path.clone(),
            source,
        };
        let file = open_private(&path)?;
        match (file.try_lock(), patience) {
            (Ok(()), _) => {}
            (Err(fs::TryLockError::Error(source)), _) => return Err(error(source)),
            (Err(fs::TryLockError::WouldBlock), LockWait::GiveUp) => return Err(StoreError::Busy),
            (Err(fs::TryLockError::WouldBlock), LockWait::Wait(say)) => {
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
    /// Acquires the write lock for one batch. Readers never need it.
    pub fn lock(&self, patience: LockWait<'_>) -> Result<WriteLock, StoreError> {
        if self.engine.is_shared() {
            let held = match (self.engine.acquire(Right::Write, false)?, patience) {
                (None, LockWait::GiveUp) => return Err(StoreError::Busy),
                (None, LockWait::Wait(say)) => {
                    say();
                    self.engine.acquire(Right::Write, true)?
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

    /// Acquires the right to evict raw text. Returns `None` if another machine holds it.
    pub fn lock_retention(&self) -> Result<Option<RetentionLock>, StoreError> {
        if !self.engine.is_shared() {
            return Ok(Some(RetentionLock { _held: None }));
        }
        let held = self.engine.acquire(Right::Retention, false)?;
        Ok(held.map(|held| RetentionLock { _held: Some(held) }))
    }
}
