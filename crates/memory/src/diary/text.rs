//! The bytes of one log, read from disk once: small ones are held, large ones are read again when they are needed again.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use memchr::memchr;
use transcript::{Line, LineBody, Lines};

use crate::files;
use crate::logs;

/// A log up to this size is held while it is looked at: nearly all are. No line of it is too long to be parsed.
const HELD_BYTES_MAX: u64 = 32 << 20;
const PIECE_BYTES: usize = 1 << 20;
/// More than what is looked for has.
const OVERLAP_BYTES: usize = 64;

/// The bytes of a log, unpacked, as they were when it was opened.
#[derive(Debug)]
pub(super) struct Text<'b> {
    path: PathBuf,
    /// All of them, where they are few.
    held: Option<&'b [u8]>,
    /// How many there were of a plain file: what is appended meanwhile belongs to the next look.
    plain_bytes: Option<u64>,
}

impl<'b> Text<'b> {
    /// Opens a log that is a regular file. `room` is where its bytes are held: whoever opens many uses it again.
    pub(super) fn open(path: &Path, room: &'b mut Vec<u8>) -> io::Result<Self> {
        let (file, metadata) = files::open(path)?;
        let plain_bytes = (!logs::is_packed(path)).then_some(metadata.len());
        room.clear();
        match plain_bytes {
            Some(bytes) if bytes > HELD_BYTES_MAX => {}
            // Straight from the file: nothing has to be zeroed before it is read into.
            Some(bytes) => {
                room.reserve_exact(usize::try_from(bytes).unwrap_or(0));
                file.take(bytes).read_to_end(room)?;
            }
            None => {
                let unpacked = logs::unpacked(path, file)?;
                unpacked.take(HELD_BYTES_MAX + 1).read_to_end(room)?;
            }
        }
        // What unpacks to more than that is read in a stream.
        let is_held = plain_bytes.is_none_or(|bytes| bytes <= HELD_BYTES_MAX) && room.len() as u64 <= HELD_BYTES_MAX;
        Ok(Self {
            path: path.to_owned(),
            held: is_held.then_some(room.as_slice()),
            plain_bytes,
        })
    }

    /// All bytes, where they are held.
    pub(super) fn held(&self) -> Option<&'b [u8]> {
        self.held
    }

    /// Gives the lines one by one as long as `more` of them are wanted.
    pub(super) fn each_line(&self, mut more: impl FnMut(&Line<'_>) -> bool) -> io::Result<()> {
        let Some(held) = self.held else {
            let mut lines = Lines::new(self.reader()?);
            while let Some(line) = lines.next()? {
                if !more(&line) {
                    break;
                }
            }
            return Ok(());
        };
        let (mut number, mut offset) = (0, 0);
        while let Some(rest) = held.get(offset..).filter(|rest| !rest.is_empty()) {
            let end = memchr(b'\n', rest);
            let body = &rest[..end.unwrap_or(rest.len())];
            number += 1;
            let line = Line {
                number,
                offset: offset as u64,
                body: LineBody::Bytes(body),
                terminated: end.is_some(),
            };
            if !more(&line) {
                break;
            }
            offset += body.len() + 1;
        }
        Ok(())
    }

    /// The bytes from their beginning.
    pub(super) fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        if let Some(held) = self.held {
            return Ok(Box::new(Cursor::new(held)));
        }
        let (file, _) = files::open(&self.path)?;
        let bytes = logs::unpacked(&self.path, file)?;
        Ok(Box::new(bytes.take(self.plain_bytes.unwrap_or(u64::MAX))))
    }

    /// Whether a test holds for its bytes. What is long is tested piece by piece, each with the end of the one before.
    pub(super) fn holds(&self, test: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        if let Some(held) = self.held {
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
