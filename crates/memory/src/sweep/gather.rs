//! Lines that are masked and read, gathered until they are worth a frame or a commit.

use std::cell::RefCell;
use std::io::{self, Read};

use transcript::Delta;

use super::ends::Ends;
use super::piece::Searched;
use crate::mask::Hit;
use crate::packs::{self, FRAME_BYTES, Frame};
use crate::search::{self, Marks, Vocabulary, filter::Builder};
use crate::store::Tail;

thread_local! {
    /// Two megabytes that every frame of a worker shares.
    static BUILDER: RefCell<(Builder, Vocabulary)> = RefCell::default();
}

/// What is kept beside some lines; nothing where the part is not searched.
pub(crate) fn marks_of(searched: Option<Searched>, lines: &[u8]) -> Marks {
    let Some(Searched { form, with_words }) = searched.filter(|_| !lines.is_empty()) else {
        return Marks::default();
    };
    BUILDER.with_borrow_mut(|(builder, words)| match with_words {
        true => search::marks_of(form, lines, builder, words),
        false => Marks {
            filter: search::filter_of(form, lines, builder),
            words: None,
        },
    })
}

/// Lines that are masked and read and not yet handed over.
pub(super) struct Gathered {
    searched: Option<Searched>,
    pub(super) tail: Tail,
    pub(super) frames: Vec<Frame>,
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
        }
        Self {
            searched,
            tail,
            frames: Vec::new(),
            delta: Delta::default(),
            found: Vec::new(),
            ends,
            read_to,
            lines,
            ends_mid_line: false,
            bytes_read: 0,
        }
    }

    /// Keeps a masked line that was `raw_length` bytes long.
    pub(super) fn keep(&mut self, number: u64, masked: &[u8], raw_length: u64, terminated: bool) -> io::Result<()> {
        self.tail.bytes.extend_from_slice(masked);
        if terminated {
            self.tail.bytes.push(b'\n');
            self.ends.push(b"\n");
        }
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
            frame.marks = marks_of(self.searched, &self.tail.bytes);
            self.frames.push(frame);
            self.tail = Tail {
                first_line: self.lines + 1,
                lines: 0,
                bytes: Vec::new(),
            };
        }
        Ok(())
    }

    /// What is kept beside what does not fill a frame yet.
    pub(super) fn tail_marks(&self) -> Marks {
        marks_of(self.searched, &self.tail.bytes)
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
