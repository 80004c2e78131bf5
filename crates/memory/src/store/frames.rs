//! The `frames` and `tails` tables: the position of each frame of a part, and the lines that are not in a frame yet.
//! No other file writes them.

use std::io;

use super::engine::{Row, Value};
use super::filters::{self, SessionScope, TAIL_NO};
use super::{Reads, StoreError, Tx};
use crate::mask::MaskVersion;
pub use crate::packs::FrameRow;
use crate::squeeze;

/// A tail is compressed again whenever it grows, so a fast level is used: it makes the tail 6 % larger than a frame,
/// in less than two thirds of the time.
const TAIL_ZSTD_LEVEL: i32 = 1;

/// The last lines of a part, which do not fill a frame yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    pub first_line: u64,
    pub lines: u64,
    pub bytes: Vec<u8>,
}

impl Tail {
    /// Compresses it. A worker thread calls this, because the single writer thread has no time for it.
    pub fn pack(&self) -> io::Result<PackedTail> {
        let bytes = match self.bytes.is_empty() {
            true => Vec::new(),
            false => squeeze::compress(&self.bytes, TAIL_ZSTD_LEVEL)?,
        };
        Ok(PackedTail {
            first_line: self.first_line,
            lines: self.lines,
            raw_bytes: self.bytes.len() as u64,
            bytes,
        })
    }
}

/// A compressed tail, as its row stores it. An empty one has no row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackedTail {
    first_line: u64,
    lines: u64,
    raw_bytes: u64,
    bytes: Vec<u8>,
}

impl PackedTail {
    /// Returns the compressed size.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

impl Tx<'_> {
    /// Adds a frame. `bytes` must be set if packs are rows.
    pub fn add_frame(
        &self,
        session_uid: &str,
        part: &str,
        frame: &FrameRow,
        bytes: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        self.engine.execute(
            "INSERT INTO frames (session_uid, part, frame_no, first_line, lines, raw_bytes, pack, start, length,
                checksum, mask_version, bytes)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            &[
                Value::Text(session_uid),
                Value::Text(part),
                Value::count(frame.frame_no),
                Value::count(frame.first_line),
                Value::count(frame.lines),
                Value::count(frame.raw_bytes),
                Value::Text(&frame.pack),
                Value::count(frame.start),
                Value::count(frame.length),
                Value::Blob(&frame.checksum),
                Value::Int(frame.mask_version.to_int()),
                bytes.map_or(Value::Null, Value::Blob),
            ],
        )?;
        Ok(())
    }

    /// Replaces the tail of a part. An empty one deletes the row.
    pub fn put_tail(
        &self,
        session_uid: &str,
        part: &str,
        tail: &PackedTail,
        mask_version: MaskVersion,
    ) -> Result<(), StoreError> {
        let key = [Value::Text(session_uid), Value::Text(part)];
        if tail.raw_bytes == 0 {
            self.engine
                .execute("DELETE FROM tails WHERE session_uid = $1 AND part = $2", &key)?;
            return Ok(());
        }
        self.engine.execute(
            "INSERT INTO tails (session_uid, part, first_line, lines, raw_bytes, bytes, mask_version)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (session_uid, part) DO UPDATE SET first_line = $3, lines = $4, raw_bytes = $5, bytes = $6,
                mask_version = $7",
            &[
                key[0],
                key[1],
                Value::count(tail.first_line),
                Value::count(tail.lines),
                Value::count(tail.raw_bytes),
                Value::Blob(&tail.bytes),
                Value::Int(mask_version.to_int()),
            ],
        )?;
        Ok(())
    }

    /// Deletes the frames and tails of a session. The caller deletes their packs.
    pub fn drop_frames(&self, session_uid: &str) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM frames WHERE session_uid = $1",
            "DELETE FROM tails WHERE session_uid = $1",
        ] {
            self.engine.execute(sql, &[Value::Text(session_uid)])?;
        }
        Ok(())
    }

    /// Deletes the frames and the tail of one part.
    pub fn drop_part(&self, session_uid: &str, part: &str) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM frames WHERE session_uid = $1 AND part = $2",
            "DELETE FROM tails WHERE session_uid = $1 AND part = $2",
        ] {
            self.engine
                .execute(sql, &[Value::Text(session_uid), Value::Text(part)])?;
        }
        filters::drop_part(self.engine, session_uid, part)
    }

    /// Moves the frames and tails of a session to another one, which must have none.
    pub(super) fn move_frames(&self, from: &str, to: &str) -> Result<(), StoreError> {
        for sql in [
            "UPDATE frames SET session_uid = $2 WHERE session_uid = $1",
            "UPDATE tails SET session_uid = $2 WHERE session_uid = $1",
        ] {
            self.engine.execute(sql, &[Value::Text(from), Value::Text(to)])?;
        }
        Ok(())
    }
}

const COLUMNS: &str = "frame_no, first_line, lines, raw_bytes, pack, start, length, checksum, mask_version";

impl Reads<'_> {
    /// Returns the frames of a part, in order.
    pub fn frames(&self, session_uid: &str, part: &str) -> Result<Vec<FrameRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM frames WHERE session_uid = $1 AND part = $2 ORDER BY frame_no");
        self.engine
            .query(&sql, &[Value::Text(session_uid), Value::Text(part)], read_frame_row)
    }

    /// Returns frames in the order of their lines: the session, the part, and the frame.
    pub fn frames_of(&self, whose: SessionScope<'_>) -> Result<Vec<(String, String, FrameRow)>, StoreError> {
        let (clause, values) = whose.clause();
        let sql =
            format!("SELECT {COLUMNS}, session_uid, part FROM frames{clause} ORDER BY session_uid, part, frame_no");
        self.engine.query(&sql, &values, |row| {
            Ok((row.text(9)?, row.text(10)?, read_frame_row(row)?))
        })
    }

    /// Returns tails without their bytes: the session, the part, the first line, and the number of lines.
    pub fn tails_of(&self, whose: SessionScope<'_>) -> Result<Vec<(String, String, u64, u64)>, StoreError> {
        let (clause, values) = whose.clause();
        let sql = format!("SELECT session_uid, part, first_line, lines FROM tails{clause} ORDER BY session_uid, part");
        self.engine.query(&sql, &values, |row| {
            Ok((row.text(0)?, row.text(1)?, row.count(2)?, row.count(3)?))
        })
    }

    /// Passes the names of frames and tails to `take`, in any order: the session, the part, and the number.
    pub fn each_frame_name(
        &self,
        whose: SessionScope<'_>,
        take: &mut dyn FnMut(&str, &str, i64),
    ) -> Result<(), StoreError> {
        let (clause, values) = whose.clause();
        let frames = format!("SELECT session_uid, part, frame_no FROM frames{clause}");
        self.engine.each(&frames, &values, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, row.int(2)?);
            Ok(())
        })?;
        let tails = format!("SELECT session_uid, part FROM tails{clause}");
        self.engine.each(&tails, &values, |row| {
            take(row.text_ref(0)?, row.text_ref(1)?, TAIL_NO);
            Ok(())
        })
    }

    /// Returns the parts of a session that are not empty, in order.
    pub fn parts(&self, session_uid: &str) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT part FROM frames WHERE session_uid = $1 UNION SELECT part FROM tails WHERE session_uid = $1
             ORDER BY part",
            &[Value::Text(session_uid)],
            |row| row.text(0),
        )
    }

    /// Returns the tail of a part.
    pub fn tail(&self, session_uid: &str, part: &str) -> Result<Option<Tail>, StoreError> {
        self.engine.query_opt(
            "SELECT first_line, lines, raw_bytes, bytes FROM tails WHERE session_uid = $1 AND part = $2",
            &[Value::Text(session_uid), Value::Text(part)],
            |row| {
                let raw_bytes = usize::try_from(row.count(2)?).unwrap_or_default();
                let bytes = squeeze::decompress(&row.blob(3)?, raw_bytes).map_err(|_| damaged_tail(session_uid))?;
                Ok(Tail {
                    first_line: row.count(0)?,
                    lines: row.count(1)?,
                    bytes,
                })
            },
        )
    }

    /// Returns the parts that have a tail, each with its session.
    pub fn tails(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.engine.query(
            "SELECT session_uid, part FROM tails ORDER BY session_uid, part",
            &[],
            |row| Ok((row.text(0)?, row.text(1)?)),
        )
    }

    /// Returns the sessions with text that was masked by older rules, or by other rules of the user, newest first.
    pub fn masked_otherwise(&self, version: MaskVersion) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT sessions.session_uid FROM sessions
             LEFT JOIN views ON views.session_uid = sessions.session_uid
             WHERE stands_for IS NULL AND (
                EXISTS (SELECT 1 FROM frames WHERE frames.session_uid = sessions.session_uid
                    AND mask_version <> $1 AND mask_version < $2)
                OR EXISTS (SELECT 1 FROM tails WHERE tails.session_uid = sessions.session_uid
                    AND mask_version <> $1 AND mask_version < $2))
             ORDER BY coalesce(ended_at, 0) DESC, sessions.session_uid",
            &[Value::Int(version.to_int()), Value::Int(version.next_rules())],
            |row| row.text(0),
        )
    }

    /// Returns the packs of a session.
    pub fn packs_of(&self, session_uid: &str) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT DISTINCT pack FROM frames WHERE session_uid = $1 ORDER BY pack",
            &[Value::Text(session_uid)],
            |row| row.text(0),
        )
    }

    /// Returns the packs of a part.
    pub fn packs_of_part(&self, session_uid: &str, part: &str) -> Result<Vec<String>, StoreError> {
        self.engine.query(
            "SELECT DISTINCT pack FROM frames WHERE session_uid = $1 AND part = $2 ORDER BY pack",
            &[Value::Text(session_uid), Value::Text(part)],
            |row| row.text(0),
        )
    }

    /// Returns where the next frame of a part goes: the name of the pack, the number of the frame, and its offset.
    pub fn pack_end(&self, session_uid: &str, part: &str) -> Result<Option<(String, u64, u64)>, StoreError> {
        self.engine.query_opt(
            "SELECT pack, frame_no + 1, start + length FROM frames WHERE session_uid = $1 AND part = $2
             ORDER BY frame_no DESC LIMIT 1",
            &[Value::Text(session_uid), Value::Text(part)],
            |row| Ok((row.text(0)?, row.count(1)?, row.count(2)?)),
        )
    }

    /// Returns the packs that contain committed frames, each with its committed length.
    pub fn packs_in_use(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.engine.query(
            "SELECT pack, max(start + length) FROM frames GROUP BY pack ORDER BY pack",
            &[],
            |row| Ok((row.text(0)?, row.count(1)?)),
        )
    }
}

fn damaged_tail(session_uid: &str) -> StoreError {
    StoreError::DamagedRow {
        session_uid: session_uid.to_owned(),
        table: "tails",
    }
}

fn read_frame_row(row: &Row<'_>) -> Result<FrameRow, StoreError> {
    Ok(FrameRow {
        frame_no: row.count(0)?,
        first_line: row.count(1)?,
        lines: row.count(2)?,
        raw_bytes: row.count(3)?,
        pack: row.text(4)?,
        start: row.count(5)?,
        length: row.count(6)?,
        checksum: row.blob(7)?.try_into().unwrap_or_default(),
        mask_version: MaskVersion::of_int(row.int(8)?),
    })
}
