//! Errors of the store. They say what failed; the caller decides what the user should do.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{ServerError, ServerErrorKind};

/// An error of the store.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("database error: {0}")]
    Database(rusqlite::Error),
    #[error("database server error: {0}")]
    Server(ServerError),
    #[error("cannot use {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("unknown {what} in the store: `{word}`")]
    Unknown { what: &'static str, word: String },
    #[error("the target memory already has other sessions: {sessions}")]
    HasOthers { sessions: u64 },
    #[error("the copy differs from the original: {what}")]
    Differs { what: String },
    #[error("the database is missing, but its packs exist")]
    Headless,
    #[error(
        "the memory was written by a newer boswell: it requires version {needs}, and this boswell supports version {knows}"
    )]
    TooNew { needs: i64, knows: i64 },
    #[error("another boswell process is writing")]
    Busy,
    #[error("a row of {session_uid} in `{table}` is damaged")]
    DamagedRow { session_uid: String, table: &'static str },
    #[error("frame {frame_no} of part `{part}` of {session_uid} is damaged: {reason}")]
    DamagedFrame {
        session_uid: String,
        part: String,
        frame_no: u64,
        reason: String,
    },
}

/// Why a database operation failed, as far as the database reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The disk is full.
    DiskFull,
    /// The files are not writable.
    NotWritable,
    /// The disk reports an I/O error.
    DiskError,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // On a slow disk, another process may hold the file longer than the timeout.
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Database(error),
        }
    }
}

impl StoreError {
    /// Returns the reason of a database error, if it is one of [`FailureCause`].
    pub fn failure_cause(&self) -> Option<FailureCause> {
        let error = match self {
            Self::Database(error) => error,
            Self::Server(error) if error.kind() == ServerErrorKind::DiskFull => return Some(FailureCause::DiskFull),
            _ => return None,
        };
        match error.sqlite_error_code()? {
            rusqlite::ErrorCode::DiskFull => Some(FailureCause::DiskFull),
            rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::PermissionDenied => Some(FailureCause::NotWritable),
            rusqlite::ErrorCode::SystemIoFailure | rusqlite::ErrorCode::CannotOpen => Some(FailureCause::DiskError),
            _ => None,
        }
    }

    /// Returns `true` if the database file is damaged or missing.
    pub fn is_damage(&self) -> bool {
        let error = match self {
            Self::Database(error) => error,
            other => return matches!(other, Self::Headless),
        };
        let code = error.sqlite_error_code();
        matches!(
            code,
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
        )
    }
}
