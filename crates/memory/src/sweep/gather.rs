//! Gathers masked and parsed lines until they fill a frame or a piece.

use std::cell::RefCell;
use std::io::{self, Read};

use transcript::{Delta, MaskedLine, PartKind, State};

use super::ends::Ends;
use super::marking::Marking;
use super::piece::Searched;
use crate::mask::Hit;
use crate::packs::{self, CompressedFrame, FRAME_BYTES};
use crate::search::FrameMarks;
use crate::store::Tail;

thread_local! {
    /// Buffers of lines that were sent, kept for the next ones, because allocating fresh memory costs as much as
    /// copying.
    static FREE_BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Limits on the kept buffers: larger ones are freed, and so are all above this number.
const FREE_BYTES_MAX: usize = 2 * FRAME_BYTES;
const FREE_BUFFERS_MAX: usize = 4;

/// Returns an empty buffer for the lines of a frame.
fn take_buffer() -> Vec<u8> {
    let buffer = FREE_BUFFERS.with_borrow_mut(Vec::pop);
    // Reserves the full size at once to avoid reallocations. Pages that are never written cost nothing.
    buffer.unwrap_or_else(|| Vec::with_capacity(FRAME_BYTES + FRAME_BYTES / 8))
}

/// Lines that are masked and parsed but not sent yet.
pub(super) struct Gathered {
    marking: Marking,
    pub(super) tail: Tail,
    pub(super) frames: Vec<CompressedFrame>,
    /// True if the lines of a frame stay in memory, because the digest of the session is made from them.
    pub(super) stays_at_hand: bool,
    frames_in_memory: Vec<Tail>,
    pub(super) delta: Delta,
    pub(super) found: Vec<Hit>,
    pub(super) ends: Ends,
    pub(super) read_to: u64,
    pub(super) lines: u64,
    pub(super) ends_mid_line: bool,
    pub(super) bytes_read: u64,
}

impl Gathered {
    pub(super) fn new(searched: Option<Searched>, mut tail: Tail, ends: Ends, lines: u64, read_to: u64) -> Self {
        if tail.bytes.is_empty() {
            tail.first_line = lines + 1;
            tail.bytes = take_buffer();
        }
        Self {
            marking: Marking::new(searched),
            tail,
            frames: Vec::new(),
            stays_at_hand: false,
            frames_in_memory: Vec::new(),
            delta: Delta::default(),
            found: Vec::new(),
            ends,
            read_to,
            lines,
            ends_mid_line: false,
            bytes_read: 0,
        }
    }

    /// Parses the masked line that is kept next.
    pub(super) fn read(&mut self, state: &mut State, kind: PartKind, line: &MaskedLine<'_>) {
        match self.marking.next_line(&self.tail.bytes) {
            Some(marks_builder) => {
                state.take_telling(kind, line, &mut self.delta, Some(&mut |text| marks_builder.add(text)))
            }
            None => state.take(kind, line, &mut self.delta),
        }
    }

    /// Keeps a masked line that was `raw_length` bytes long. Cuts a frame if the tail is long enough.
    pub(super) fn keep(&mut self, number: u64, masked: &[u8], raw_length: u64, terminated: bool) -> io::Result<()> {
        self.tail.bytes.extend_from_slice(masked);
        if terminated {
            self.tail.bytes.push(b'\n');
            self.ends.push(b"\n");
        }
        self.marking.note_line(self.tail.bytes.len());
        self.tail.lines += 1;
        self.lines = number;
        self.ends_mid_line = !terminated;
        let taken = raw_length + u64::from(terminated);
        self.read_to += taken;
        self.bytes_read += taken;
        if self.tail.bytes.len() >= FRAME_BYTES {
            self.cut_frame()
        } else {
            Ok(())
        }
    }

    /// Makes a frame from the tail, if there is one.
    pub(super) fn cut_frame(&mut self) -> io::Result<()> {
        if !self.tail.bytes.is_empty() {
            let mut frame = packs::compress_frame(self.tail.first_line, self.tail.lines, &self.tail.bytes)?;
            frame.marks = self.marking.marks(&self.tail.bytes);
            self.marking.clear();
            self.frames.push(frame);
            let next = Tail {
                first_line: self.lines + 1,
                lines: 0,
                bytes: take_buffer(),
            };
            let cut = std::mem::replace(&mut self.tail, next);
            if self.stays_at_hand {
                self.frames_in_memory.push(cut);
            } else {
                recycle_buffer(cut.bytes);
            }
        }
        Ok(())
    }

    /// Returns the lines that are still in memory, frame by frame: the number of the first line, the number of lines,
    /// and their bytes.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (u64, u64, &[u8])> {
        let all = self.frames_in_memory.iter().chain([&self.tail]);
        all.map(|lines| (lines.first_line, lines.lines, lines.bytes.as_slice()))
    }

    /// Returns the search data of the lines that do not fill a frame yet.
    pub(super) fn tail_marks(&mut self) -> FrameMarks {
        self.marking.marks(&self.tail.bytes)
    }

    /// Reads the line break that was missing when the last line was read. Returns `false` if it is still missing.
    pub(super) fn finish_line(&mut self, source: &mut dyn Read) -> io::Result<bool> {
        let mut byte = [0];
        if source.read(&mut byte)? == 0 {
            return Ok(false);
        }
        // The cursor's ends were compared before, so the next byte can only be the line break.
        self.tail.bytes.push(b'\n');
        self.ends.push(b"\n");
        self.read_to += 1;
        self.bytes_read += 1;
        Ok(true)
    }
}

/// Keeps a buffer for the next lines, unless it is too large or there are enough.
fn recycle_buffer(mut bytes: Vec<u8>) {
    bytes.clear();
    FREE_BUFFERS.with_borrow_mut(|free| {
        if bytes.capacity() <= FREE_BYTES_MAX && free.len() < FREE_BUFFERS_MAX {
            free.push(bytes);
        }
    });
}

impl Drop for Gathered {
    fn drop(&mut self) {
        let cut = std::mem::take(&mut self.frames_in_memory);
        let tail = std::mem::take(&mut self.tail);
        cut.into_iter()
            .chain([tail])
            .for_each(|lines| recycle_buffer(lines.bytes));
    }
}
