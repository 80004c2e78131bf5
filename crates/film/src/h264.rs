//! An encoder of H.264 for pictures of text: constrained baseline, the part that every player knows.
//!
//! A terminal hardly moves. A macroblock that did not change is skipped, one that only scrolled is taken from where it stood,
//! and only what is new is written. So there is nothing to search for, a still picture costs a dozen bytes, and what was
//! written once keeps its sharpness for as long as it stands. Integers alone, one thread, no clock: the same pictures give
//! the same bytes on every machine. It knows nothing of films, files or text.

mod bits;
mod cavlc;
mod intra;
mod transform;

use self::bits::Bits;
use self::intra::MEAN;
use self::transform::Coarseness;

/// The types of units, with the mark that others refer to them.
const UNIT_KEY: u8 = 0x65;
const UNIT_NEXT: u8 = 0x41;
const UNIT_SEQUENCE: u8 = 0x67;
const UNIT_PICTURE: u8 = 0x68;
/// How far a picture may scroll and still be taken from the one before: what every level that we name allows.
const SCROLL_MAX: i32 = 480;

/// The brightness or a colour of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plane {
    pub(crate) width: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Plane {
    fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            bytes: vec![0; width * height],
        }
    }

    fn at(&self, x: usize, y: usize) -> u8 {
        self.bytes[y * self.width + x]
    }

    fn line(&self, x: usize, y: usize, count: usize) -> &[u8] {
        &self.bytes[y * self.width + x..][..count]
    }

    fn height(&self) -> usize {
        self.bytes.len() / self.width
    }
}

/// A picture: brightness, and two colours of half its size. Whole macroblocks.
pub(crate) fn blank(width: usize, height: usize) -> [Plane; 3] {
    let (width, height) = (width.next_multiple_of(16), height.next_multiple_of(16));
    [
        Plane::new(width, height),
        Plane::new(width / 2, height / 2),
        Plane::new(width / 2, height / 2),
    ]
}

/// Numbers by the places of blocks.
#[derive(Debug, Clone)]
struct Grid {
    columns: usize,
    numbers: Vec<u8>,
}

impl Grid {
    fn new(columns: usize, rows: usize, number: u8) -> Self {
        Self {
            columns,
            numbers: vec![number; columns * rows],
        }
    }

    fn get(&self, column: usize, row: usize) -> u8 {
        self.numbers[row * self.columns + column]
    }

    fn set(&mut self, column: usize, row: usize, number: u8) {
        self.numbers[row * self.columns + column] = number;
    }

    fn fill(&mut self, column: usize, row: usize, size: usize, number: u8) {
        for row in row..row + size {
            self.numbers[row * self.columns + column..][..size].fill(number);
        }
    }
}

/// Encodes pictures one after the other.
#[derive(Debug)]
pub(crate) struct Encoder {
    width: usize,
    height: usize,
    fps: u32,
    coarseness: Coarseness,
    /// What a decoder sees now, and what it saw before.
    now: [Plane; 3],
    last: [Plane; 3],
    /// What was to be seen before.
    source: [Plane; 3],
    /// How many numbers of each small block are not 0.
    counts: [Grid; 3],
    /// By which guess each small block was made.
    modes: Grid,
    /// How far each macroblock was taken from, in lines; none where it was written anew.
    moves: Vec<Option<i32>>,
    frame_number: u32,
    key_number: u32,
}

impl Encoder {
    /// `coarseness` is 0 for the finest picture and 51 for the coarsest.
    pub(crate) fn new(width: usize, height: usize, fps: u32, coarseness: u8) -> Self {
        let planes = blank(width, height);
        let (columns, rows) = (planes[0].width / 16, planes[0].height() / 16);
        Self {
            width,
            height,
            fps,
            coarseness: Coarseness(coarseness.min(51)),
            now: planes.clone(),
            last: planes.clone(),
            source: planes,
            counts: [
                Grid::new(columns * 4, rows * 4, 0),
                Grid::new(columns * 2, rows * 2, 0),
                Grid::new(columns * 2, rows * 2, 0),
            ],
            modes: Grid::new(columns * 4, rows * 4, MEAN),
            moves: vec![None; columns * rows],
            frame_number: 0,
            key_number: 0,
        }
    }

    fn columns(&self) -> usize {
        self.now[0].width / 16
    }

    fn rows(&self) -> usize {
        self.now[0].height() / 16
    }

    /// A picture that stands alone.
    pub(crate) fn key(&mut self, picture: &[Plane; 3]) -> Vec<u8> {
        self.frame_number = 0;
        let mut bits = self.slice(7);
        for row in 0..self.rows() {
            for column in 0..self.columns() {
                self.reset(column, row, None);
                self.intra(&mut bits, picture, column, row, 0);
            }
        }
        self.key_number = (self.key_number + 1) % 16;
        self.keep(picture);
        bits.unit(UNIT_KEY)
    }

    /// A picture that is told by its differences from the one before. `scrolled` is by how many lines some of it moved up.
    pub(crate) fn next(&mut self, picture: &[Plane; 3], scrolled: usize) -> Vec<u8> {
        self.frame_number = (self.frame_number + 1) % 256;
        let scrolled = i32::try_from(scrolled)
            .ok()
            .filter(|lines| *lines <= SCROLL_MAX && lines % 2 == 0);
        for plane in 0..3 {
            self.last[plane].bytes.copy_from_slice(&self.now[plane].bytes);
        }
        let mut bits = self.slice(5);
        let mut skipped = 0;
        for row in 0..self.rows() {
            for column in 0..self.columns() {
                let skip = self.skip_move(column, row);
                let candidates = [Some(skip), Some(0), scrolled];
                let found = candidates
                    .into_iter()
                    .flatten()
                    .find(|lines| self.is_same(picture, column, row, *lines));
                match found {
                    Some(lines) if lines == skip => {
                        skipped += 1;
                        self.take(column, row, lines);
                    }
                    Some(lines) => {
                        bits.ue(skipped);
                        skipped = 0;
                        bits.ue(0);
                        bits.se(0);
                        bits.se((lines - self.expected_move(column, row)) * 4);
                        // Nothing is lacking.
                        bits.ue(0);
                        self.take(column, row, lines);
                    }
                    None => {
                        bits.ue(skipped);
                        skipped = 0;
                        self.reset(column, row, None);
                        self.intra(&mut bits, picture, column, row, 5);
                    }
                }
            }
        }
        if skipped > 0 {
            bits.ue(skipped);
        }
        self.keep(picture);
        bits.unit(UNIT_NEXT)
    }

    /// A picture in which nothing moved.
    pub(crate) fn same(&mut self) -> Vec<u8> {
        self.frame_number = (self.frame_number + 1) % 256;
        let mut bits = self.slice(5);
        bits.ue(u32::try_from(self.moves.len()).unwrap_or(u32::MAX));
        bits.unit(UNIT_NEXT)
    }

    fn keep(&mut self, picture: &[Plane; 3]) {
        for (kept, plane) in self.source.iter_mut().zip(picture) {
            kept.bytes.copy_from_slice(&plane.bytes);
        }
    }

    /// Whether a macroblock looked the same so many lines further down.
    fn is_same(&self, picture: &[Plane; 3], column: usize, row: usize, lines: i32) -> bool {
        (0..3).all(|plane| {
            let size = if plane == 0 { 16 } else { 8 };
            let lines = if plane == 0 { lines } else { lines / 2 };
            let (x, y) = (column * size, row * size);
            let Some(from) = y.checked_add_signed(lines as isize) else {
                return false;
            };
            from + size <= self.source[plane].height()
                && (0..size)
                    .all(|line| picture[plane].line(x, y + line, size) == self.source[plane].line(x, from + line, size))
        })
    }

    /// Takes a macroblock from the picture before.
    fn take(&mut self, column: usize, row: usize, lines: i32) {
        self.reset(column, row, Some(lines));
        for plane in 0..3 {
            let size = if plane == 0 { 16 } else { 8 };
            let lines = if plane == 0 { lines } else { lines / 2 };
            let (x, y) = (column * size, row * size);
            let from = y.saturating_add_signed(lines as isize);
            for line in 0..size {
                let to = (y + line) * self.now[plane].width + x;
                let taken = self.last[plane].line(x, from + line, size);
                self.now[plane].bytes[to..to + size].copy_from_slice(taken);
            }
        }
    }

    /// Forgets what was known of a macroblock's inside.
    fn reset(&mut self, column: usize, row: usize, taken: Option<i32>) {
        self.counts[0].fill(column * 4, row * 4, 4, 0);
        self.counts[1].fill(column * 2, row * 2, 2, 0);
        self.counts[2].fill(column * 2, row * 2, 2, 0);
        self.modes.fill(column * 4, row * 4, 4, MEAN);
        let columns = self.columns();
        self.moves[row * columns + column] = taken;
    }

    /// How far a neighbour was taken from: none outside of the picture, `Some(None)` where it was written anew.
    fn neighbour(&self, column: Option<usize>, row: Option<usize>) -> Option<Option<i32>> {
        let (column, row) = (column.filter(|column| *column < self.columns())?, row?);
        Some(self.moves[row * self.columns() + column])
    }

    /// How far a decoder expects a macroblock to be taken from.
    fn expected_move(&self, column: usize, row: usize) -> i32 {
        let (left, above) = (column.checked_sub(1), row.checked_sub(1));
        let beside = self.neighbour(left, Some(row));
        let over = self.neighbour(Some(column), above);
        let corner = self
            .neighbour(Some(column + 1), above)
            .or_else(|| self.neighbour(left, above));
        if over.is_none() && corner.is_none() {
            return beside.flatten().unwrap_or(0);
        }
        let known = [beside, over, corner].map(Option::flatten);
        let mut taken = known.into_iter().flatten();
        match (taken.next(), taken.next()) {
            (Some(only), None) => only,
            _ => {
                let mut lines = known.map(Option::unwrap_or_default);
                lines.sort_unstable();
                lines[1]
            }
        }
    }

    /// How far a macroblock is taken from that is skipped.
    fn skip_move(&self, column: usize, row: usize) -> i32 {
        let beside = self.neighbour(column.checked_sub(1), Some(row));
        let over = self.neighbour(Some(column), row.checked_sub(1));
        let rests = |side: Option<Option<i32>>| side.is_none_or(|taken| taken == Some(0));
        if rests(beside) || rests(over) {
            return 0;
        }
        self.expected_move(column, row)
    }

    /// The beginning of a slice that is a whole picture: 7 stands alone, 5 refers to the one before.
    fn slice(&self, kind: u32) -> Bits {
        let is_key = kind == 7;
        let mut bits = Bits::default();
        bits.ue(0);
        bits.ue(kind);
        bits.ue(0);
        bits.put(self.frame_number, 8);
        if is_key {
            bits.ue(self.key_number);
            // Nothing is held back, nothing is kept for long.
            bits.put(0, 2);
        } else {
            // One picture is referred to, in its order, and goes when its time comes.
            bits.put(0, 3);
        }
        bits.se(0);
        // No smoothing over the borders of blocks: it would blur what is only taken over.
        bits.ue(1);
        bits
    }

    /// What a decoder has to know of all pictures.
    pub(crate) fn sequence_unit(&self) -> Vec<u8> {
        let mut bits = Bits::default();
        // Constrained baseline.
        bits.put(66, 8);
        bits.put(0b1100_0000, 8);
        bits.put(u32::from(self.level()), 8);
        bits.ue(0);
        // Eight bits count pictures, which are shown in the order in which they come, each referring to the one before.
        bits.ue(4);
        bits.ue(2);
        bits.ue(1);
        bits.flag(false);
        let number = |number: usize| u32::try_from(number).unwrap_or(0);
        bits.ue(number(self.columns() - 1));
        bits.ue(number(self.rows() - 1));
        bits.flag(true);
        bits.flag(true);
        let (right, below) = (self.now[0].width - self.width, self.now[0].height() - self.height);
        bits.flag(right + below > 0);
        if right + below > 0 {
            for cut in [0, right / 2, 0, below / 2] {
                bits.ue(number(cut));
            }
        }
        self.usability(&mut bits);
        bits.unit(UNIT_SEQUENCE)
    }

    /// How colours are meant, how fast pictures come, and that none has to wait for another.
    fn usability(&self, bits: &mut Bits) {
        bits.flag(true);
        // Square points, nothing of the picture hidden.
        bits.flag(true);
        bits.put(1, 8);
        bits.flag(false);
        // Colours of BT.709, with the narrow range that players expect.
        bits.flag(true);
        bits.put(5, 3);
        bits.flag(false);
        bits.flag(true);
        [1, 1, 1].into_iter().for_each(|code| bits.put(code, 8));
        bits.flag(false);
        bits.flag(true);
        bits.put(1, 32);
        bits.put(self.fps * 2, 32);
        bits.flag(true);
        // No models of buffers, no structure of pictures.
        bits.put(0, 3);
        bits.flag(true);
        bits.flag(true);
        for limit in [0, 0, 16, 16, 0, 1] {
            bits.ue(limit);
        }
    }

    pub(crate) fn picture_unit(&self) -> Vec<u8> {
        let mut bits = Bits::default();
        bits.ue(0);
        bits.ue(0);
        bits.put(0, 2);
        bits.ue(0);
        bits.ue(0);
        bits.ue(0);
        bits.put(0, 3);
        bits.se(i32::from(self.coarseness.0) - 26);
        bits.se(0);
        bits.se(0);
        // A slice says whether borders are smoothed.
        bits.put(0b100, 3);
        bits.unit(UNIT_PICTURE)
    }

    /// The lowest level that allows pictures of this size at this pace, but none that allows less scrolling than we use.
    pub(crate) fn level(&self) -> u8 {
        const LEVELS: [(u8, usize, usize); 8] = [
            (31, 3_600, 108_000),
            (32, 5_120, 216_000),
            (40, 8_192, 245_760),
            (42, 8_704, 522_240),
            (50, 22_080, 589_824),
            (51, 36_864, 983_040),
            (52, 36_864, 2_073_600),
            (62, 139_264, 16_711_680),
        ];
        let blocks = self.columns() * self.rows();
        let pace = blocks * usize::try_from(self.fps).unwrap_or(1);
        let fits = |(_, size, speed): &&(u8, usize, usize)| blocks <= *size && pace <= *speed;
        LEVELS.iter().find(fits).map_or(62, |(level, ..)| *level)
    }
}

#[cfg(test)]
mod tests;
