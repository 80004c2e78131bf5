//! The bytes of an agent's SQLite database as they would be after its write-ahead log was put into it.
//!
//! SQLite itself can take a database from memory, but not with a log beside it. Nothing is written here: the
//! agent's files stay as they are, and the image lives in memory.

use std::io;
use std::path::{Path, PathBuf};

use super::{read_whole, stat_of};
use crate::store::Stat;

/// An index larger than this is not read: it would be held in memory.
pub(super) const IMAGE_BYTES_MAX: u64 = 256 << 20;

const WAL_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The last bit says in which order the words of checksums are.
const WAL_MAGIC: u32 = 0x377f_0682;

/// A database and its log, read at one moment.
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: Stat,
    /// All zero where there is no log.
    pub(super) wal_stat: Stat,
    pub(super) bytes_read: u64,
}

/// The log beside a database.
pub(super) fn wal_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Reads a database with its log. Refuses while somebody writes to them: halves of two states fit badly.
pub(super) fn read(root: &Path, database: &Path) -> io::Result<Image> {
    let wal = wal_of(database);
    let wal_stat = stat_of(&wal).unwrap_or_default();
    let (mut bytes, stat) = read_whole(root, database, IMAGE_BYTES_MAX)?;
    let log = match wal_stat.size {
        0 => Vec::new(),
        _ => read_whole(root, &wal, IMAGE_BYTES_MAX)?.0,
    };
    if stat_of(database) != Some(stat) || stat_of(&wal).unwrap_or_default() != wal_stat {
        let reason = "somebody writes to it now; the next sweep reads it";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    if !bytes.starts_with(MAGIC) || bytes.len() < 100 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a database"));
    }
    let bytes_read = (bytes.len() + log.len()) as u64;
    fold(&mut bytes, &log);
    // Says that there is no log beside it: in memory there is none.
    bytes[18..20].copy_from_slice(&[1, 1]);
    Ok(Image {
        bytes,
        stat,
        wal_stat,
        bytes_read,
    })
}

/// Puts the pages of a log into the database, up to its last whole transaction.
fn fold(database: &mut Vec<u8>, log: &[u8]) -> Option<()> {
    let header = log.get(..WAL_HEADER_BYTES)?;
    let magic = word(header, 0)?;
    if magic & !1 != WAL_MAGIC {
        return None;
    }
    let is_big = magic & 1 == 1;
    let page_bytes = usize::try_from(word(header, 8)?).ok()?;
    if !page_bytes.is_power_of_two() || !(512..=65536).contains(&page_bytes) {
        return None;
    }
    let salts = &header[16..24];
    let mut sum = checksum(&header[..24], (0, 0), is_big);
    if sum != (word(header, 24)?, word(header, 28)?) {
        return None;
    }
    let mut waiting: Vec<(usize, &[u8])> = Vec::new();
    for frame in log[WAL_HEADER_BYTES..].chunks_exact(FRAME_HEADER_BYTES + page_bytes) {
        let (head, page) = frame.split_at(FRAME_HEADER_BYTES);
        sum = checksum(page, checksum(&head[..8], sum, is_big), is_big);
        let number = usize::try_from(word(head, 0)?).ok()?;
        // What follows is left from before the log began anew, or torn.
        if &head[8..16] != salts || sum != (word(head, 16)?, word(head, 20)?) || number == 0 {
            break;
        }
        waiting.push((number, page));
        let pages = usize::try_from(word(head, 4)?).ok()?;
        if pages > 0 {
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

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The running checksum of a write-ahead log.
fn checksum(bytes: &[u8], (mut first, mut second): (u32, u32), is_big: bool) -> (u32, u32) {
    let (pairs, _) = bytes.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in pairs {
        let of = |word| {
            if is_big {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            }
        };
        first = first.wrapping_add(of([a, b, c, d])).wrapping_add(second);
        second = second.wrapping_add(of([e, f, g, h])).wrapping_add(first);
    }
    (first, second)
}
