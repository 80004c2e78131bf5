//! The bytes of one log, read from disk once: small ones are held, large ones are read again when they are needed again.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::files;
use crate::logs;

/// A log up to this size is held while it is looked at: nearly all are.
const HELD_BYTES_MAX: u64 = 32 << 20;
const PIECE_BYTES: usize = 1 << 20;
/// More than what is looked for has.
const OVERLAP_BYTES: usize = 64;

/// The bytes of a log, unpacked, as they were when it was opened.
#[derive(Debug)]
pub(super) struct Text {
    path: PathBuf,
    /// All of them, where they are few.
    held: Option<Vec<u8>>,
    /// How many there were of a plain file: what is appended meanwhile belongs to the next look.
    plain_bytes: Option<u64>,
}

impl Text {
    /// Opens a log that is a regular file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (file, metadata) = files::open(path)?;
        let plain_bytes = (!logs::is_packed(path)).then_some(metadata.len());
        let mut text = Self {
            path: path.to_owned(),
            held: None,
            plain_bytes,
        };
        if plain_bytes.is_none_or(|bytes| bytes <= HELD_BYTES_MAX) {
            let mut held = Vec::with_capacity(usize::try_from(plain_bytes.unwrap_or(0)).unwrap_or(0));
            let most = plain_bytes.unwrap_or(HELD_BYTES_MAX + 1);
            logs::unpacked(path, file)?.take(most).read_to_end(&mut held)?;
            // What unpacks to more than that is read in a stream.
            text.held = (held.len() as u64 <= HELD_BYTES_MAX).then_some(held);
        }
        Ok(text)
    }

    /// The bytes from their beginning.
    pub(super) fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        if let Some(held) = &self.held {
            return Ok(Box::new(Cursor::new(held)));
        }
        let (file, _) = files::open(&self.path)?;
        let bytes = logs::unpacked(&self.path, file)?;
        Ok(Box::new(bytes.take(self.plain_bytes.unwrap_or(u64::MAX))))
    }

    /// Whether a test holds for its bytes. What is long is tested piece by piece, each with the end of the one before.
    pub(super) fn holds(&self, test: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        if let Some(held) = &self.held {
            return Ok(test(held));
        }
        let mut reader = self.reader()?;
        let mut piece = Vec::new();
        loop {
            let kept = piece.len().min(OVERLAP_BYTES);
            piece.drain(..piece.len() - kept);
            if reader.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece)? == 0 {
                return Ok(false);
            }
            if test(&piece) {
                return Ok(true);
            }
        }
    }

    /// Whether it is written in another way than the agents write: two bytes to a letter.
    pub(super) fn is_wide(&self) -> io::Result<bool> {
        let mut mark = [0; 2];
        let mut reader = self.reader()?;
        let is_there = reader.read_exact(&mut mark).is_ok();
        Ok(is_there && matches!(mark, [0xff, 0xfe] | [0xfe, 0xff]))
    }
}
