//! The `shared_files` table: the metadata of an agent's files that concern many sessions, as of the last read. No
//! other file writes it.

use super::cursors::FileStat;
use super::engine::Value;
use super::{Reads, StoreError, Tx, paths};

impl Tx<'_> {
    /// Records that a shared file was read in its current state.
    pub fn put_shared_file(&self, path: &str, stat: FileStat) -> Result<(), StoreError> {
        let bits = |number: u64| Value::Int(number.cast_signed());
        self.engine.execute(
            "INSERT INTO shared_files (path, device, inode, size, mtime_ns, ctime_ns) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (path) DO UPDATE SET device = $2, inode = $3, size = $4, mtime_ns = $5, ctime_ns = $6",
            &[
                Value::Text(&paths::to_stored(self.engine, path)),
                bits(stat.device),
                bits(stat.inode),
                Value::count(stat.size),
                Value::Int(stat.mtime_ns),
                Value::Int(stat.ctime_ns),
            ],
        )?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns the metadata of a shared file as of the last read.
    pub fn shared_file(&self, path: &str) -> Result<Option<FileStat>, StoreError> {
        self.engine.query_opt(
            "SELECT device, inode, size, mtime_ns, ctime_ns FROM shared_files WHERE path = $1",
            &[Value::Text(&paths::to_stored(self.engine, path))],
            |row| {
                Ok(FileStat {
                    device: row.int(0)?.cast_unsigned(),
                    inode: row.int(1)?.cast_unsigned(),
                    size: row.count(2)?,
                    mtime_ns: row.int(3)?,
                    ctime_ns: row.int(4)?,
                })
            },
        )
    }
}
