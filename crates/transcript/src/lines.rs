//! Numbered physical lines of a log, in bounded memory.
//!
//! A line ends at `\n` only: U+2028, form feeds and lone carriage returns are text. A line longer than
//! [`LINE_BYTES_MAX`] is measured and hashed, but never held in memory.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Read};

use memchr::memchr;

/// The longest line that is parsed.
pub const LINE_BYTES_MAX: usize = 64 << 20;

const READ_BYTES: usize = 64 << 10;

/// A larger buffer is not kept for the next log.
const SPARE_BYTES_MAX: usize = 1 << 20;

thread_local! {
    /// The buffer of the last log that this thread read, because allocating memory costs as much as reading a small
    /// log.
    static SPARE_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One physical line, without its line break.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// The offset of the line in its part.
    pub offset: u64,
    pub body: LineBody<'a>,
    /// True if a line break follows. The last line of a growing log may be incomplete.
    pub terminated: bool,
}

/// The content of a line.
#[derive(Debug, Clone, Copy)]
pub enum LineBody<'a> {
    Bytes(&'a [u8]),
    /// Too long to hold in memory.
    Oversized {
        length: u64,
        hash: blake3::Hash,
    },
}

/// One line whose secrets are masked: the only kind of line that a reader accepts.
///
/// A reader cannot check that secrets are masked, so the type records who promised it. [`MaskedLine::assume_masked`] is the only
/// constructor. Product code calls it in `memory::ingest` alone, and the tidy test fails for a call anywhere else.
#[derive(Debug)]
pub struct MaskedLine<'a> {
    number: u64,
    offset: u64,
    terminated: bool,
    body: MaskedBody<'a>,
}

#[derive(Debug)]
enum MaskedBody<'a> {
    /// Borrowed from the buffer of the line if there was nothing to mask.
    Bytes(Cow<'a, [u8]>),
    Oversized {
        length: u64,
        hash: blake3::Hash,
    },
}

impl<'a> MaskedLine<'a> {
    /// Returns `line` with its bytes replaced by what `mask` returns for them. The caller promises that no secret is left in that.
    /// An oversized line has no bytes that anyone could read, so it needs no masking.
    pub fn assume_masked(line: Line<'a>, mask: impl FnOnce(&'a [u8]) -> Cow<'a, [u8]>) -> Self {
        Self {
            number: line.number,
            offset: line.offset,
            terminated: line.terminated,
            body: match line.body {
                LineBody::Bytes(bytes) => MaskedBody::Bytes(mask(bytes)),
                LineBody::Oversized { length, hash } => MaskedBody::Oversized { length, hash },
            },
        }
    }

    /// Returns the number of the line, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the offset of the line in its part.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns `true` if a line break follows.
    pub fn is_terminated(&self) -> bool {
        self.terminated
    }

    /// Returns the masked content.
    pub fn body(&self) -> LineBody<'_> {
        match &self.body {
            MaskedBody::Bytes(bytes) => LineBody::Bytes(bytes),
            MaskedBody::Oversized { length, hash } => LineBody::Oversized {
                length: *length,
                hash: *hash,
            },
        }
    }

    /// Returns the masked bytes, or `None` if the line was too long to be held in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.body {
            MaskedBody::Bytes(bytes) => Some(bytes),
            MaskedBody::Oversized { .. } => None,
        }
    }

    /// Returns the same line with another number, for callers that count lines differently than the file does.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        Self { number, ..self }
    }
}

/// Splits a stream of bytes into lines, reusing one buffer.
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The bytes `start..end` of the buffer are read but not yet returned.
    start: usize,
    end: usize,
    number: u64,
    offset: u64,
    line_bytes_max: usize,
    at_end: bool,
}

impl<R> Drop for Lines<R> {
    fn drop(&mut self) {
        if self.buffer.len() <= SPARE_BYTES_MAX {
            SPARE_BUFFER.set(std::mem::take(&mut self.buffer));
        }
    }
}

impl<R: Read> Lines<R> {
    /// Reads `source` from its first line.
    pub fn new(source: R) -> Self {
        Self::resume(source, 0, 0)
    }

    /// Continues after `lines_before` lines and `offset` bytes; `source` starts there.
    pub fn resume(source: R, lines_before: u64, offset: u64) -> Self {
        Self {
            source,
            buffer: SPARE_BUFFER.take(),
            start: 0,
            end: 0,
            number: lines_before,
            offset,
            line_bytes_max: LINE_BYTES_MAX,
            at_end: false,
        }
    }

    /// Sets a smaller limit, for tests and small memory.
    #[must_use]
    pub fn with_line_bytes_max(mut self, line_bytes_max: usize) -> Self {
        self.line_bytes_max = line_bytes_max;
        self
    }

    /// Returns the next line, or `None` at the end of the source.
    #[expect(
        clippy::should_implement_trait,
        reason = "a line borrows the buffer of the one before"
    )]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut scanned = self.start;
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[scanned..self.end]) {
                let stop = scanned + at;
                // If the limit is smaller than one read, the buffer can contain an oversized line completely.
                if stop - self.start > self.line_bytes_max {
                    return self.oversized().map(Some);
                }
                return Ok(Some(self.take_line(stop, true)));
            }
            scanned = self.end;
            if self.end - self.start > self.line_bytes_max {
                return self.oversized().map(Some);
            }
            if self.at_end {
                let left = self.end > self.start;
                return Ok(left.then(|| self.take_line(self.end, false)));
            }
            scanned -= self.make_room();
            self.fill()?;
        }
    }

    /// Returns the bytes up to `stop` as a line.
    fn take_line(&mut self, stop: usize, terminated: bool) -> Line<'_> {
        let from = self.start;
        let offset = self.offset;
        self.number += 1;
        self.start = stop + usize::from(terminated);
        self.offset += (self.start - from) as u64;
        Line {
            number: self.number,
            offset,
            body: LineBody::Bytes(&self.buffer[from..stop]),
            terminated,
        }
    }

    /// Skips a line that is too long, keeping only its length and hash.
    fn oversized(&mut self) -> io::Result<Line<'_>> {
        let mut hasher = blake3::Hasher::new();
        let mut length = 0;
        let terminated = loop {
            let buffered = &self.buffer[self.start..self.end];
            let stop = memchr(b'\n', buffered);
            let taken = &buffered[..stop.unwrap_or(buffered.len())];
            hasher.update(taken);
            length += taken.len() as u64;
            self.start += taken.len() + usize::from(stop.is_some());
            if stop.is_some() || self.at_end {
                break stop.is_some();
            }
            (self.start, self.end) = (0, 0);
            self.fill()?;
        };
        let offset = self.offset;
        self.number += 1;
        self.offset += length + u64::from(terminated);
        let body = LineBody::Oversized {
            length,
            hash: hasher.finalize(),
        };
        Ok(Line {
            number: self.number,
            offset,
            body,
            terminated,
        })
    }

    /// Moves the remaining bytes to the front of the buffer and makes room after them. Returns how far they moved.
    fn make_room(&mut self) -> usize {
        let moved = self.start;
        if moved > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - moved);
        }
        if self.buffer.len() - self.end < READ_BYTES {
            self.buffer
                .resize((self.end + READ_BYTES).max(self.buffer.len() * 2), 0);
        }
        moved
    }

    fn fill(&mut self) -> io::Result<()> {
        loop {
            // Reads at most as much at once as fits into the processor's cache.
            let room = self.buffer.len().min(self.end + READ_BYTES);
            match self.source.read(&mut self.buffer[self.end..room]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], line_bytes_max: usize) -> Vec<String> {
        let mut lines = Lines::new(bytes).with_line_bytes_max(line_bytes_max);
        let mut out = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let end = if line.terminated { "" } else { " torn" };
            out.push(match line.body {
                LineBody::Bytes(bytes) => {
                    format!(
                        "{}@{} {:?}{end}",
                        line.number,
                        line.offset,
                        String::from_utf8_lossy(bytes)
                    )
                }
                LineBody::Oversized { length, .. } => {
                    format!("{}@{} too long: {length}{end}", line.number, line.offset)
                }
            });
        }
        out
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        assert_eq!(
            check("a\r\n\u{2028}b\n\nlast".as_bytes(), 100),
            ["1@0 \"a\\r\"", "2@3 \"\\u{2028}b\"", "3@8 \"\"", "4@9 \"last\" torn"]
        );
    }

    #[test]
    fn an_oversized_line_is_measured_and_the_next_one_is_read() {
        assert_eq!(check(b"0123456789\nok\n", 4), ["1@0 too long: 10", "2@11 \"ok\""]);
        assert_eq!(check(b"ok\n0123456789", 4), ["1@0 \"ok\"", "2@3 too long: 10 torn"]);
    }

    #[test]
    fn an_oversized_line_larger_than_the_buffer_is_hashed_in_pieces() {
        let mut log = vec![b'x'; 3 * READ_BYTES];
        log.extend_from_slice(b"\nafter\n");
        let mut lines = Lines::new(&log[..]).with_line_bytes_max(READ_BYTES);
        let first = lines.next().unwrap().unwrap();
        let LineBody::Oversized { length, hash } = first.body else {
            panic!("{first:?}")
        };
        assert_eq!(
            (length, hash),
            (3 * READ_BYTES as u64, blake3::hash(&log[..3 * READ_BYTES]))
        );
        let second = lines.next().unwrap().unwrap();
        assert!(matches!(second.body, LineBody::Bytes(b"after")), "{second:?}");
    }
}
