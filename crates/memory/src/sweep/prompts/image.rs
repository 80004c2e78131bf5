//! Returns the bytes that an agent's SQLite database would have after a checkpoint of its write-ahead log.
//!
//! SQLite can open a database from memory, but without its write-ahead log. The agent's files are never written; the
//! image exists only in memory.

use std::io;
use std::path::{Path, PathBuf};

use super::{read_stat, read_whole};
use crate::store::FileStat;

/// An index larger than this is not read, because it is held in memory.
pub(super) const IMAGE_BYTES_MAX: u64 = 256 << 20;

const WAL_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The last bit is set if the words of checksums are big-endian.
const WAL_MAGIC: u32 = 0x377f_0682;

/// A database and its write-ahead log, read at one moment.
pub(super) struct DatabaseImage {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: FileStat,
    /// All zero if there is no write-ahead log.
    pub(super) wal_stat: FileStat,
    pub(super) bytes_read: u64,
}

/// Returns the path of the write-ahead log of a database.
pub(super) fn wal_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Reads a database with its write-ahead log. Returns an error if another process writes to them meanwhile, because the
/// two files would not match.
pub(super) fn read(root: &Path, database: &Path) -> io::Result<DatabaseImage> {
    let wal = wal_path(database);
    let wal_stat = read_stat(&wal).unwrap_or_default();
    let (mut bytes, stat) = read_whole(root, database, IMAGE_BYTES_MAX)?;
    let log = match wal_stat.size {
        0 => Vec::new(),
        _ => read_whole(root, &wal, IMAGE_BYTES_MAX)?.0,
    };
    if read_stat(database) != Some(stat) || read_stat(&wal).unwrap_or_default() != wal_stat {
        let reason = "another process is writing to it; the next sweep reads it";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    if !bytes.starts_with(MAGIC) || bytes.len() < 100 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a database"));
    }
    let bytes_read = (bytes.len() + log.len()) as u64;
    apply_wal(&mut bytes, &log);
    // The format version for a database without a write-ahead log: there is none in memory.
    bytes[18..20].copy_from_slice(&[1, 1]);
    Ok(DatabaseImage {
        bytes,
        stat,
        wal_stat,
        bytes_read,
    })
}

/// Copies the pages of a write-ahead log into the database, up to the last complete transaction. Returns `None` if the
/// log is invalid.
fn apply_wal(database: &mut Vec<u8>, log: &[u8]) -> Option<()> {
    let header = log.get(..WAL_HEADER_BYTES)?;
    let magic = read_word(header, 0)?;
    if magic & !1 != WAL_MAGIC {
        return None;
    }
    let is_big = magic & 1 == 1;
    let page_bytes = usize::try_from(read_word(header, 8)?).ok()?;
    if !page_bytes.is_power_of_two() || !(512..=65536).contains(&page_bytes) {
        return None;
    }
    let salts = &header[16..24];
    let mut sum = checksum(&header[..24], (0, 0), is_big);
    if sum != (read_word(header, 24)?, read_word(header, 28)?) {
        return None;
    }
    let mut waiting: Vec<(usize, &[u8])> = Vec::new();
    for frame in log[WAL_HEADER_BYTES..].chunks_exact(FRAME_HEADER_BYTES + page_bytes) {
        let (head, page) = frame.split_at(FRAME_HEADER_BYTES);
        sum = checksum(page, checksum(&head[..8], sum, is_big), is_big);
        let number = usize::try_from(read_word(head, 0)?).ok()?;
        // Later frames are left over from before the log was restarted, or torn.
        if &head[8..16] != salts || sum != (read_word(head, 16)?, read_word(head, 20)?) || number == 0 {
            break;
        }
        waiting.push((number, page));
        let pages = usize::try_from(read_word(head, 4)?).ok()?;
        if pages > 0 {
            // The size comes from a stranger's file and must not exhaust memory.
            if (pages as u64).saturating_mul(page_bytes as u64) > IMAGE_BYTES_MAX {
                break;
            }
            database.resize(pages * page_bytes, 0);
            for (number, page) in waiting.drain(..) {
                let at = (number - 1).checked_mul(page_bytes)?;
                if let Some(place) = database.get_mut(at..at + page_bytes) {
                    place.copy_from_slice(page);
                }
            }
        }
    }
    Some(())
}

fn read_word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Returns the running checksum of a write-ahead log after some more bytes.
fn checksum(bytes: &[u8], (mut first, mut second): (u32, u32), is_big: bool) -> (u32, u32) {
    let (pairs, _) = bytes.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in pairs {
        let decode = |word| {
            if is_big {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            }
        };
        first = first.wrapping_add(decode([a, b, c, d])).wrapping_add(second);
        second = second.wrapping_add(decode([e, f, g, h])).wrapping_add(first);
    }
    (first, second)
}
