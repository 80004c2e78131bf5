//! How a log is known again: by the first and the last bytes that were read of it.
//!
//! They are taken from the very bytes that were read, never from the file afterwards: it may be another one
//! by then.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::files;
use crate::logs;
use crate::store::Cursor;

/// How much is remembered at either end.
const END_BYTES: usize = 4 << 10;
/// So much of the end is held: it is not moved for every line.
const TAIL_BYTES_MAX: usize = 4 * END_BYTES;

/// The first and the last bytes of what was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    head: Vec<u8>,
    /// They are its own last bytes: what is before them goes from time to time.
    tail: Vec<u8>,
}

impl Ends {
    /// Of a file that was read whole.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut ends = Self::default();
        ends.push(bytes);
        ends
    }

    /// Takes the next bytes.
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

    /// Takes a line that was too long to hold: its hash stands for it. A log that ends or begins with such a
    /// line is not known again, and read anew when it grows.
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

/// The hashes of both ends of the first `read_to` bytes of a file.
pub(crate) fn hashes(path: &Path, read_to: u64) -> io::Result<([u8; 32], [u8; 32])> {
    let (ends, _) = plain(files::open(path)?.0, read_to)?;
    Ok((ends.head_hash(), ends.tail_hash()))
}

/// Whether so many bytes have a head that does not change when more are read.
pub(crate) fn is_whole_head(read_to: u64) -> bool {
    read_to >= END_BYTES as u64
}

/// What a look at the ends of a file told.
pub(crate) struct Look {
    /// Of the file, where it begins with what was read up to the cursor.
    pub(crate) ends: Option<Ends>,
    /// Bytes that were read for it.
    pub(super) bytes: u64,
}

/// Looks whether a file begins with what was read up to the cursor. Its name is only asked how it is packed.
pub(crate) fn look(path: &Path, file: &File, cursor: &Cursor) -> io::Result<Look> {
    let mut file = file.try_clone()?;
    let metadata = file.metadata()?;
    let is_packed = logs::is_packed(path);
    let differs = |bytes| Ok(Look { ends: None, bytes });
    if !is_packed && metadata.len() < cursor.read_to {
        return differs(0);
    }
    if cursor.ends_mid_line && !is_packed && metadata.len() > cursor.read_to {
        file.seek(SeekFrom::Start(cursor.read_to))?;
        let mut byte = [0];
        if file.read(&mut byte)? == 1 && byte[0] != b'\n' {
            return differs(1);
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let (ends, bytes) = if is_packed {
        (packed(path, file, cursor.read_to)?, cursor.read_to)
    } else {
        plain(file, cursor.read_to)?
    };
    let fits = (ends.head_hash(), ends.tail_hash()) == (cursor.head_hash, cursor.tail_hash);
    Ok(Look {
        ends: fits.then_some(ends),
        bytes,
    })
}

fn plain(mut file: File, read_to: u64) -> io::Result<(Ends, u64)> {
    let mut ends = Ends::default();
    let end = END_BYTES as u64;
    file.by_ref().take(read_to.min(end)).read_to_end(&mut ends.head)?;
    let from = read_to.saturating_sub(end);
    file.seek(SeekFrom::Start(from))?;
    file.take(read_to - from).read_to_end(&mut ends.tail)?;
    let bytes = (ends.head.len() + ends.tail.len()) as u64;
    Ok((ends, bytes))
}

/// Whether a file of `size` bytes is the beginning of a longer one, as far as its ends tell, and how many
/// bytes were read to see it. Of a compressed one nothing is said.
pub(super) fn same_beginning(longer: &Path, shorter: &Path, size: u64) -> io::Result<(bool, u64)> {
    if logs::is_packed(longer) || logs::is_packed(shorter) {
        return Ok((true, 0));
    }
    let (ours, read) = plain(files::open(longer)?.0, size)?;
    let (theirs, more) = plain(files::open(shorter)?.0, size)?;
    let same = (ours.head_hash(), ours.tail_hash()) == (theirs.head_hash(), theirs.tail_hash());
    Ok((same, read + more))
}

/// Compressed bytes have to be gone through up to the place.
fn packed(path: &Path, file: File, read_to: u64) -> io::Result<Ends> {
    let mut source = logs::unpacked(path, file)?.take(read_to);
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
