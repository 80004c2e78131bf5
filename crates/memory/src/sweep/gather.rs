//! Lines that are masked and read, gathered until they are worth a frame or a commit.

use std::cell::RefCell;
use std::io::{self, Read};

use transcript::{Delta, Line, PartKind, State};

use super::ends::Ends;
use super::marking::Marking;
use super::piece::Searched;
use crate::mask::Hit;
use crate::packs::{self, FRAME_BYTES, Frame};
use crate::search::Marks;
use crate::store::Tail;

thread_local! {
    /// Memory of lines that were handed over, for the next ones: fresh memory costs as much as copying them.
    static IDLE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Longer ones are not kept for the next lines, nor more of them.
const IDLE_BYTES_MAX: usize = 2 * FRAME_BYTES;
const IDLE_MAX: usize = 4;

fn idle() -> Vec<u8> {
    let idle = IDLE.with_borrow_mut(Vec::pop);
    // It does not grow step by step: what nobody writes to costs nothing.
    idle.unwrap_or_else(|| Vec::with_capacity(FRAME_BYTES + FRAME_BYTES / 8))
}

/// Lines that are masked and read and not yet handed over.
pub(super) struct Gathered {
    marking: Marking,
    pub(super) tail: Tail,
    pub(super) frames: Vec<Frame>,
    /// Whether lines stay at hand when they are a frame.
    pub(super) stays_at_hand: bool,
    at_hand: Vec<Tail>,
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
            tail.bytes = idle();
        }
        Self {
            marking: Marking::new(searched),
            tail,
            frames: Vec::new(),
            stays_at_hand: false,
            at_hand: Vec::new(),
            delta: Delta::default(),
            found: Vec::new(),
            ends,
            read_to,
            lines,
            ends_mid_line: false,
            bytes_read: 0,
        }
    }

    /// Reads the masked line that is kept next.
    pub(super) fn read(&mut self, state: &mut State, kind: PartKind, line: &Line<'_>) {
        match self.marking.next_line(&self.tail.bytes) {
            Some(makers) => state.take_telling(kind, line, &mut self.delta, Some(&mut |text| makers.add(text))),
            None => state.take(kind, line, &mut self.delta),
        }
    }

    /// Keeps a masked line that was `raw_length` bytes long.
    pub(super) fn keep(&mut self, number: u64, masked: &[u8], raw_length: u64, terminated: bool) -> io::Result<()> {
        self.tail.bytes.extend_from_slice(masked);
        if terminated {
            self.tail.bytes.push(b'\n');
            self.ends.push(b"\n");
        }
        self.marking.line_over(self.tail.bytes.len());
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

    /// Makes a frame of the tail.
    pub(super) fn cut_frame(&mut self) -> io::Result<()> {
        if !self.tail.bytes.is_empty() {
            let mut frame = packs::compress(self.tail.first_line, self.tail.lines, &self.tail.bytes)?;
            frame.marks = self.marking.marks(&self.tail.bytes);
            self.marking.clear();
            self.frames.push(frame);
            let next = Tail {
                first_line: self.lines + 1,
                lines: 0,
                bytes: idle(),
            };
            let cut = std::mem::replace(&mut self.tail, next);
            if self.stays_at_hand {
                self.at_hand.push(cut);
            } else {
                lay_by(cut.bytes);
            }
        }
        Ok(())
    }

    /// The lines that stayed at hand, and the tail: from which on, how many, and their bytes.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (u64, u64, &[u8])> {
        let all = self.at_hand.iter().chain([&self.tail]);
        all.map(|lines| (lines.first_line, lines.lines, lines.bytes.as_slice()))
    }

    /// What is kept beside what does not fill a frame yet.
    pub(super) fn tail_marks(&mut self) -> Marks {
        self.marking.marks(&self.tail.bytes)
    }

    /// The last line had no break when it was read: says whether one came. What else comes is no new line.
    pub(super) fn finish_line(&mut self, source: &mut dyn Read) -> io::Result<bool> {
        let mut byte = [0];
        if source.read(&mut byte)? == 0 {
            return Ok(false);
        }
        // That the line did not go on was seen when the ends were compared.
        self.tail.bytes.push(b'\n');
        self.ends.push(b"\n");
        self.read_to += 1;
        self.bytes_read += 1;
        Ok(true)
    }
}

/// Keeps memory for the next lines.
fn lay_by(mut bytes: Vec<u8>) {
    bytes.clear();
    IDLE.with_borrow_mut(|idle| {
        if bytes.capacity() <= IDLE_BYTES_MAX && idle.len() < IDLE_MAX {
            idle.push(bytes);
        }
    });
}

impl Drop for Gathered {
    fn drop(&mut self) {
        let cut = std::mem::take(&mut self.at_hand);
        let tail = std::mem::take(&mut self.tail);
        cut.into_iter().chain([tail]).for_each(|lines| lay_by(lines.bytes));
    }
}
