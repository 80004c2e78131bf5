//! The `cursors` table: how far each part of a session was read, and how its file is recognized. No other file writes
//! it.

use super::engine::{Engine, Row, Value};
use super::{Reads, StoreError, Tx, paths};

/// The metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStat {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
}

/// How far a part was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub session_uid: String,
    pub part: String,
    pub path: String,
    pub root: String,
    pub stat: FileStat,
    /// Number of bytes read. For a compressed file, of its contents.
    pub read_to: u64,
    pub lines: u64,
    /// `true` if the last line that was read has no line break yet.
    pub ends_mid_line: bool,
    /// Hash of the first 4 KiB that were read.
    pub head_hash: [u8; 32],
    /// Hash of the 4 KiB before `read_to`.
    pub tail_hash: [u8; 32],
}

/// The tail hash of a log that must be read again. No real tail has this hash.
const UNREAD: [u8; 32] = [1; 32];

impl Cursor {
    /// Returns `true` if the cursor only remembers that a copy exists, which was not read.
    pub fn marks_copy(&self) -> bool {
        self.head_hash == [0; 32]
    }

    /// Returns `true` if both cursors say that the same part was read up to the same bytes.
    pub fn has_same_position(&self, other: &Self) -> bool {
        let end = |cursor: &Self| (cursor.read_to, cursor.tail_hash);
        (&self.part, &self.path) == (&other.part, &other.path) && end(self) == end(other)
    }

    /// Returns `true` if this cursor replaces another one: of the same file, or of a part that has moved.
    pub fn replaces(&self, other: &Self) -> bool {
        self.part == other.part && (self.path == other.path || other.read_to > 0)
    }

    /// Returns `true` if the log must be read again, so that the hashes mean nothing.
    pub fn must_be_read(&self) -> bool {
        self.tail_hash == UNREAD
    }
}

const COLUMNS: &str = "session_uid, part, path, root, device, inode, size, mtime_ns, ctime_ns, read_to, lines,
    ends_mid_line, head_hash, tail_hash";

impl Tx<'_> {
    /// Stores a cursor.
    pub fn put_cursor(&self, cursor: &Cursor) -> Result<(), StoreError> {
        let path = paths::to_stored(self.engine, &cursor.path);
        // The bits of a device or inode number are stored regardless of the sign.
        let bits = |number: u64| Value::Int(number.cast_signed());
        self.engine.execute(
            "INSERT INTO cursors (session_uid, part, path, root, device, inode, size, mtime_ns, ctime_ns, read_to,
                lines, ends_mid_line, head_hash, tail_hash)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
             ON CONFLICT (session_uid, part, path) DO UPDATE SET root = $4, device = $5, inode = $6, size = $7,
                mtime_ns = $8, ctime_ns = $9, read_to = $10, lines = $11, ends_mid_line = $12, head_hash = $13,
                tail_hash = $14",
            &[
                Value::Text(&cursor.session_uid),
                Value::Text(&cursor.part),
                Value::Text(&path),
                Value::Text(&cursor.root),
                bits(cursor.stat.device),
                bits(cursor.stat.inode),
                Value::count(cursor.stat.size),
                Value::Int(cursor.stat.mtime_ns),
                Value::Int(cursor.stat.ctime_ns),
                Value::count(cursor.read_to),
                Value::count(cursor.lines),
                Value::flag(cursor.ends_mid_line),
                Value::Blob(&cursor.head_hash),
                Value::Blob(&cursor.tail_hash),
            ],
        )?;
        Ok(())
    }

    /// Deletes the cursors of a part at other paths, because it has moved.
    pub fn drop_other_cursors(&self, cursor: &Cursor) -> Result<(), StoreError> {
        let path = paths::to_stored(self.engine, &cursor.path);
        self.engine.execute(
            "DELETE FROM cursors WHERE session_uid = $1 AND part = $2 AND path <> $3 AND read_to > 0",
            &[
                Value::Text(&cursor.session_uid),
                Value::Text(&cursor.part),
                Value::Text(&path),
            ],
        )?;
        Ok(())
    }

    /// Makes the next sweep treat every log of a session as a different file and read it again from the start.
    pub fn mark_unread(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE cursors SET mtime_ns = 0, ctime_ns = 0, head_hash = tail_hash, tail_hash = $2
             WHERE session_uid = $1 AND head_hash <> $3",
            &[Value::Text(session_uid), Value::Blob(&UNREAD), Value::Blob(&[0; 32])],
        )?;
        Ok(())
    }

    /// Moves the cursors of a session to another one, which must have none.
    pub(super) fn move_cursors(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "UPDATE cursors SET session_uid = $2 WHERE session_uid = $1",
            &[Value::Text(from), Value::Text(to)],
        )?;
        Ok(())
    }

    /// Deletes the cursors of a session.
    pub fn drop_cursors(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "DELETE FROM cursors WHERE session_uid = $1",
            &[Value::Text(session_uid)],
        )?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns all cursors.
    pub fn cursors(&self) -> Result<Vec<Cursor>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM cursors
             WHERE session_uid NOT IN (SELECT session_uid FROM sessions WHERE stands_for IS NOT NULL)
             ORDER BY session_uid, part, path"
        );
        self.engine.query(&sql, &[], |row| read_cursor(self.engine, row))
    }

    /// Returns the path from which the log of a session was read, or an empty string if it is unknown. This includes
    /// a log that has been emptied since.
    pub fn log_path(&self, session_uid: &str) -> Result<String, StoreError> {
        let path = self.engine.query_opt(
            "SELECT path FROM cursors WHERE session_uid = $1 AND part IN ('log', 'chat_history')
             ORDER BY CASE WHEN read_to > 0 THEN 0 ELSE 1 END, part DESC, path LIMIT 1",
            &[Value::Text(session_uid)],
            |row| row.text(0),
        )?;
        Ok(paths::from_stored(self.engine, path.unwrap_or_default()))
    }

    /// Returns `true` if another machine wrote a cursor.
    pub fn is_elsewhere(&self, cursor: &Cursor) -> bool {
        paths::is_elsewhere(self.engine, &cursor.path)
    }

    /// Returns how far the file at `path` was read, or `None` if it was never read.
    pub fn read_to(&self, path: &str) -> Result<Option<u64>, StoreError> {
        let read = self.engine.query_opt(
            "SELECT max(read_to) FROM cursors WHERE path = $1",
            &[Value::Text(&paths::to_stored(self.engine, path))],
            |row| row.int_opt(0),
        )?;
        Ok(read.flatten().and_then(|read| u64::try_from(read).ok()))
    }

    /// Returns the cursors of a session.
    pub fn cursors_of(&self, session_uid: &str) -> Result<Vec<Cursor>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM cursors WHERE session_uid = $1 ORDER BY part, path");
        self.engine
            .query(&sql, &[Value::Text(session_uid)], |row| read_cursor(self.engine, row))
    }
}

fn read_cursor(engine: &Engine, row: &Row<'_>) -> Result<Cursor, StoreError> {
    let count = |column| row.int(column).map(|number| u64::try_from(number).unwrap_or_default());
    let bits = |column| row.int(column).map(i64::cast_unsigned);
    let hash = |column| row.blob(column).map(|bytes| bytes.try_into().unwrap_or_default());
    Ok(Cursor {
        session_uid: row.text(0)?,
        part: row.text(1)?,
        path: paths::from_stored(engine, row.text(2)?),
        root: row.text(3)?,
        stat: FileStat {
            device: bits(4)?,
            inode: bits(5)?,
            size: count(6)?,
            mtime_ns: row.int(7)?,
            ctime_ns: row.int(8)?,
        },
        read_to: count(9)?,
        lines: count(10)?,
        ends_mid_line: row.int(11)? != 0,
        head_hash: hash(12)?,
        tail_hash: hash(13)?,
    })
}
