//! Recognises a log by the first and the last bytes that were read from it.
//!
//! The hashes are computed from the very bytes that were read, never from the file afterwards, because the path may
//! name another file by then.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::files;
use crate::ingest;
use crate::store::Cursor;

/// Number of bytes hashed at either end.
const END_BYTES: usize = 4 << 10;
/// The buffer of the tail may grow to this size before it is cut, so that its bytes are not moved for every line.
const TAIL_BYTES_MAX: usize = 4 * END_BYTES;

/// The first and the last bytes that were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    head: Vec<u8>,
    /// Ends with the last [`END_BYTES`] bytes. Older bytes before them are removed from time to time.
    tail: Vec<u8>,
}

impl Ends {
    /// Returns the ends of a file that was read completely.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut ends = Self::default();
        ends.push(bytes);
        ends
    }

    /// Adds the next bytes of the file.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let missing = END_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(missing)]);
        let last = &bytes[bytes.len().saturating_sub(END_BYTES)..];
        if self.tail.capacity() == 0 {
            self.tail.reserve_exact(TAIL_BYTES_MAX);
        }
        if self.tail.len() + last.len() > TAIL_BYTES_MAX {
            let excess = (self.tail.len() + last.len() - END_BYTES).min(self.tail.len());
            self.tail.drain(..excess);
        }
        self.tail.extend_from_slice(last);
    }

    /// Adds the hash of a line that was too long to hold in memory. If a log starts or ends with such a line, its ends
    /// do not match later, so it is read again from the beginning when it grows.
    pub(super) fn push_hash(&mut self, hash: &blake3::Hash) {
        self.push(hash.as_bytes());
    }

    pub(super) fn head_hash(&self) -> [u8; 32] {
        *blake3::hash(&self.head).as_bytes()
    }

    pub(super) fn tail_hash(&self) -> [u8; 32] {
        let last = &self.tail[self.tail.len().saturating_sub(END_BYTES)..];
        *blake3::hash(last).as_bytes()
    }
}

/// Returns the hashes of both ends of the first `read_to` bytes of a file.
pub(crate) fn hashes(path: &Path, read_to: u64) -> io::Result<([u8; 32], [u8; 32])> {
    let (ends, _) = read_ends(files::open_regular(path)?.0, read_to)?;
    Ok((ends.head_hash(), ends.tail_hash()))
}

/// Returns `true` if the hash of the head does not change when more than `read_to` bytes are read.
pub(crate) fn is_whole_head(read_to: u64) -> bool {
    read_to >= END_BYTES as u64
}

/// The result of comparing the ends of a file with a cursor.
pub(crate) struct Look {
    /// The ends of the file, or `None` if it does not begin with the bytes that were read up to the cursor.
    pub(crate) ends: Option<Ends>,
    /// Bytes that were read for the comparison.
    pub(super) bytes: u64,
}

/// Checks if a file begins with the bytes that were read up to the cursor. The path only decides how the file is
/// decompressed.
pub(crate) fn look(path: &Path, file: &File, cursor: &Cursor) -> io::Result<Look> {
    let mut file = file.try_clone()?;
    let metadata = file.metadata()?;
    let is_packed = ingest::is_packed(path);
    let differs = |bytes| Ok(Look { ends: None, bytes });
    if !is_packed && metadata.len() < cursor.read_to {
        return differs(0);
    }
    if cursor.ends_mid_line && !is_packed && metadata.len() > cursor.read_to {
        file.seek(SeekFrom::Start(cursor.read_to))?;
        let mut byte = [0];
        // The unterminated line has grown, so what was read of it was not a line.
        if file.read(&mut byte)? == 1 && byte[0] != b'\n' {
            return differs(1);
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let (ends, bytes) = if is_packed {
        (read_compressed_ends(path, file, cursor.read_to)?, cursor.read_to)
    } else {
        read_ends(file, cursor.read_to)?
    };
    let fits = (ends.head_hash(), ends.tail_hash()) == (cursor.head_hash, cursor.tail_hash);
    Ok(Look {
        ends: fits.then_some(ends),
        bytes,
    })
}

/// Returns the ends of the first `read_to` bytes of an uncompressed file, and how many bytes were read for that.
fn read_ends(mut file: File, read_to: u64) -> io::Result<(Ends, u64)> {
    let mut ends = Ends::default();
    let end = END_BYTES as u64;
    file.by_ref().take(read_to.min(end)).read_to_end(&mut ends.head)?;
    let from = read_to.saturating_sub(end);
    file.seek(SeekFrom::Start(from))?;
    file.take(read_to - from).read_to_end(&mut ends.tail)?;
    let bytes = (ends.head.len() + ends.tail.len()) as u64;
    Ok((ends, bytes))
}

/// Returns `true` if the file `shorter`, which is `size` bytes long, has the same ends as the first `size` bytes of
/// `longer`, and how many bytes were read for that. Compressed files are not compared and count as the same.
pub(super) fn same_beginning(longer: &Path, shorter: &Path, size: u64) -> io::Result<(bool, u64)> {
    if ingest::is_packed(longer) || ingest::is_packed(shorter) {
        return Ok((true, 0));
    }
    let (ours, read) = read_ends(files::open_regular(longer)?.0, size)?;
    let (theirs, more) = read_ends(files::open_regular(shorter)?.0, size)?;
    let same = (ours.head_hash(), ours.tail_hash()) == (theirs.head_hash(), theirs.tail_hash());
    Ok((same, read + more))
}

/// Returns the ends of a compressed file, which has to be decompressed up to `read_to`.
fn read_compressed_ends(path: &Path, file: File, read_to: u64) -> io::Result<Ends> {
    let mut source = ingest::unpacked(path, file)?.take(read_to);
    let mut ends = Ends::default();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            return Ok(ends);
        }
        ends.push(&buffer[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_the_same_in_whatever_pieces_the_bytes_come() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|at| (at * 7 % 251) as u8).collect();
        let whole = Ends::of(&bytes);
        assert_eq!(
            (whole.head.as_slice(), whole.tail.as_slice()),
            (&bytes[..4096], &bytes[20_000 - 4096..])
        );
        for size in [1, 3, 4095, 4096, 4097, 19_999] {
            let mut ends = Ends::default();
            bytes.chunks(size).for_each(|piece| ends.push(piece));
            assert_eq!(
                (ends.head_hash(), ends.tail_hash()),
                (whole.head_hash(), whole.tail_hash()),
                "{size}"
            );
        }
    }
}
