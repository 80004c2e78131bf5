//! How a log is known again: by hashes at either end of what was read of it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::files;
use crate::logs;
use crate::store::Cursor;

/// How much is hashed at either end.
const ANCHOR_BYTES: u64 = 4 << 10;

/// Whether the file at `path` begins with what was read up to the cursor.
pub(super) fn goes_on(path: &Path, cursor: &Cursor) -> io::Result<bool> {
    let (file, metadata) = files::open(path)?;
    let is_packed = logs::is_packed(path);
    if !is_packed && metadata.len() < cursor.read_to {
        return Ok(false);
    }
    if cursor.ends_mid_line && !is_packed && metadata.len() > cursor.read_to {
        let mut file = file;
        file.seek(SeekFrom::Start(cursor.read_to))?;
        let mut byte = [0];
        if file.read(&mut byte)? == 1 && byte[0] != b'\n' {
            return Ok(false);
        }
    }
    Ok(anchors(path, cursor.read_to)? == (cursor.head_hash, cursor.tail_hash))
}

/// Hashes of the first 4 KiB of what was read, and of the last.
pub(crate) fn anchors(path: &Path, read_to: u64) -> io::Result<([u8; 32], [u8; 32])> {
    let (file, _) = files::open(path)?;
    let head_bytes = read_to.min(ANCHOR_BYTES);
    let from = read_to.saturating_sub(ANCHOR_BYTES);
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    if logs::is_packed(path) {
        let mut source = logs::unpacked(path, file)?.take(read_to);
        source.by_ref().take(head_bytes).read_to_end(&mut head)?;
        tail.clone_from(&head);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = source.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            tail.extend_from_slice(&buffer[..read]);
            let excess = tail.len().saturating_sub(ANCHOR_BYTES as usize);
            tail.drain(..excess);
        }
    } else {
        let mut file: File = file;
        file.by_ref().take(head_bytes).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(from))?;
        file.take(read_to - from).read_to_end(&mut tail)?;
    }
    Ok((*blake3::hash(&head).as_bytes(), *blake3::hash(&tail).as_bytes()))
}
