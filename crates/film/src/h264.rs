//! An H.264 encoder for screen text, limited to the constrained baseline profile, which every player supports.
//!
//! Terminals change little. An unchanged macroblock is skipped, a scrolled one is copied with a motion vector, and only new content
//! is intra-coded. No motion search is needed, a still frame takes a dozen bytes, and text stays sharp for as long as it is visible.
//! The encoder uses integers, one thread and no clock, so the same frames give the same bytes on every machine. It knows nothing
//! about films, files or text.

mod bits;
mod cavlc;
mod intra;
mod transform;

use self::bits::BitWriter;
use self::intra::DC;
use self::transform::QuantizationParameter;

/// NAL unit headers, including `nal_ref_idc`.
const NAL_KEY_SLICE: u8 = 0x65;
const NAL_SLICE: u8 = 0x41;
const NAL_SEQUENCE_PARAMETERS: u8 = 0x67;
const NAL_PICTURE_PARAMETERS: u8 = 0x68;
/// The largest scroll distance that is coded as motion: the vertical vector range of the lowest level that we use.
const SCROLL_MAX: i32 = 480;

/// The luma or one chroma plane of a frame.
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

/// Returns the planes of a black frame, padded to whole macroblocks. Chroma has half the resolution of luma.
pub(crate) fn blank_planes(width: usize, height: usize) -> [Plane; 3] {
    let (width, height) = (width.next_multiple_of(16), height.next_multiple_of(16));
    [
        Plane::new(width, height),
        Plane::new(width / 2, height / 2),
        Plane::new(width / 2, height / 2),
    ]
}

/// A number per 4×4 block.
#[derive(Debug, Clone)]
struct BlockGrid {
    columns: usize,
    numbers: Vec<u8>,
}

impl BlockGrid {
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

/// Encodes frames in display order.
#[derive(Debug)]
pub(crate) struct H264Encoder {
    width: usize,
    height: usize,
    fps: u32,
    qp: QuantizationParameter,
    /// The current frame as a decoder reconstructs it.
    current: [Plane; 3],
    /// The previous frame as a decoder reconstructed it.
    previous: [Plane; 3],
    /// The previous frame before encoding, which tells whether content is unchanged.
    source: [Plane; 3],
    /// The number of non-zero coefficients of each 4×4 block.
    coefficient_counts: [BlockGrid; 3],
    /// The intra prediction mode of each 4×4 luma block.
    modes: BlockGrid,
    /// The vertical motion of each macroblock in lines, or `None` if it was intra-coded.
    motions: Vec<Option<i32>>,
    frame_number: u32,
    key_number: u32,
}

impl H264Encoder {
    /// `qp` is the quantization parameter, from 0 for the best quality to 51 for the smallest size.
    pub(crate) fn new(width: usize, height: usize, fps: u32, qp: u8) -> Self {
        let planes = blank_planes(width, height);
        let (columns, rows) = (planes[0].width / 16, planes[0].height() / 16);
        Self {
            width,
            height,
            fps,
            qp: QuantizationParameter(qp.min(51)),
            current: planes.clone(),
            previous: planes.clone(),
            source: planes,
            coefficient_counts: [
                BlockGrid::new(columns * 4, rows * 4, 0),
                BlockGrid::new(columns * 2, rows * 2, 0),
                BlockGrid::new(columns * 2, rows * 2, 0),
            ],
            modes: BlockGrid::new(columns * 4, rows * 4, DC),
            motions: vec![None; columns * rows],
            frame_number: 0,
            key_number: 0,
        }
    }

    fn columns(&self) -> usize {
        self.current[0].width / 16
    }

    fn rows(&self) -> usize {
        self.current[0].height() / 16
    }

    /// Encodes a key frame.
    pub(crate) fn encode_key_frame(&mut self, frame: &[Plane; 3]) -> Vec<u8> {
        self.frame_number = 0;
        let mut bits = self.slice_header(7);
        for row in 0..self.rows() {
            for column in 0..self.columns() {
                self.reset_macroblock(column, row, None);
                self.write_intra(&mut bits, frame, column, row, 0);
            }
        }
        // Consecutive key frames must have different `idr_pic_id`s.
        self.key_number = (self.key_number + 1) % 16;
        self.store_source(frame);
        bits.finish_nal_unit(NAL_KEY_SLICE)
    }

    /// Encodes a frame relative to the previous one. `scrolled` is the number of lines by which parts of it moved up.
    pub(crate) fn encode_frame(&mut self, frame: &[Plane; 3], scrolled: usize) -> Vec<u8> {
        self.frame_number = (self.frame_number + 1) % 256;
        // Chroma has half the resolution, so an odd number of lines would need interpolation.
        let scrolled = i32::try_from(scrolled)
            .ok()
            .filter(|lines| *lines <= SCROLL_MAX && lines % 2 == 0);
        for plane in 0..3 {
            self.previous[plane].bytes.copy_from_slice(&self.current[plane].bytes);
        }
        let mut bits = self.slice_header(5);
        let mut skipped = 0;
        for row in 0..self.rows() {
            for column in 0..self.columns() {
                let skip = self.skip_motion(column, row);
                // In the order of their cost: a skipped macroblock takes a fraction of a bit.
                let candidates = [Some(skip), Some(0), scrolled];
                let found = candidates
                    .into_iter()
                    .flatten()
                    .find(|lines| self.is_same(frame, column, row, *lines));
                match found {
                    Some(lines) if lines == skip => {
                        skipped += 1;
                        self.copy_macroblock(column, row, lines);
                    }
                    Some(lines) => {
                        bits.ue(skipped);
                        skipped = 0;
                        bits.ue(0);
                        bits.se(0);
                        // Vectors are counted in quarter samples.
                        bits.se((lines - self.predicted_motion(column, row)) * 4);
                        // No residual.
                        bits.ue(0);
                        self.copy_macroblock(column, row, lines);
                    }
                    None => {
                        bits.ue(skipped);
                        skipped = 0;
                        self.reset_macroblock(column, row, None);
                        self.write_intra(&mut bits, frame, column, row, 5);
                    }
                }
            }
        }
        if skipped > 0 {
            bits.ue(skipped);
        }
        self.store_source(frame);
        bits.finish_nal_unit(NAL_SLICE)
    }

    /// Encodes a frame that equals the previous one.
    pub(crate) fn encode_unchanged_frame(&mut self) -> Vec<u8> {
        self.frame_number = (self.frame_number + 1) % 256;
        let mut bits = self.slice_header(5);
        bits.ue(u32::try_from(self.motions.len()).unwrap_or(u32::MAX));
        bits.finish_nal_unit(NAL_SLICE)
    }

    fn store_source(&mut self, frame: &[Plane; 3]) {
        for (kept, plane) in self.source.iter_mut().zip(frame) {
            kept.bytes.copy_from_slice(&plane.bytes);
        }
    }

    /// Whether a macroblock equals the previous frame `lines` further down.
    fn is_same(&self, frame: &[Plane; 3], column: usize, row: usize, lines: i32) -> bool {
        (0..3).all(|plane| {
            let size = if plane == 0 { 16 } else { 8 };
            let lines = if plane == 0 { lines } else { lines / 2 };
            let (x, y) = (column * size, row * size);
            let Some(from) = y.checked_add_signed(lines as isize) else {
                return false;
            };
            from + size <= self.source[plane].height()
                && (0..size)
                    .all(|line| frame[plane].line(x, y + line, size) == self.source[plane].line(x, from + line, size))
        })
    }

    /// Copies a macroblock from the previous frame.
    fn copy_macroblock(&mut self, column: usize, row: usize, lines: i32) {
        self.reset_macroblock(column, row, Some(lines));
        for plane in 0..3 {
            let size = if plane == 0 { 16 } else { 8 };
            let lines = if plane == 0 { lines } else { lines / 2 };
            let (x, y) = (column * size, row * size);
            let from = y.saturating_add_signed(lines as isize);
            for line in 0..size {
                let to = (y + line) * self.current[plane].width + x;
                let taken = self.previous[plane].line(x, from + line, size);
                self.current[plane].bytes[to..to + size].copy_from_slice(taken);
            }
        }
    }

    /// Clears the stored coefficients and modes of a macroblock.
    fn reset_macroblock(&mut self, column: usize, row: usize, taken: Option<i32>) {
        self.coefficient_counts[0].fill(column * 4, row * 4, 4, 0);
        self.coefficient_counts[1].fill(column * 2, row * 2, 2, 0);
        self.coefficient_counts[2].fill(column * 2, row * 2, 2, 0);
        self.modes.fill(column * 4, row * 4, 4, DC);
        let columns = self.columns();
        self.motions[row * columns + column] = taken;
    }

    /// Returns the motion of a neighbour: `None` outside the frame, `Some(None)` if it was intra-coded.
    fn neighbour_motion(&self, column: Option<usize>, row: Option<usize>) -> Option<Option<i32>> {
        let (column, row) = (column.filter(|column| *column < self.columns())?, row?);
        Some(self.motions[row * self.columns() + column])
    }

    /// Predicts the motion of a macroblock from its neighbours, as the standard prescribes (8.4.1.3).
    fn predicted_motion(&self, column: usize, row: usize) -> i32 {
        let (left, above) = (column.checked_sub(1), row.checked_sub(1));
        let beside = self.neighbour_motion(left, Some(row));
        let over = self.neighbour_motion(Some(column), above);
        let corner = self
            .neighbour_motion(Some(column + 1), above)
            .or_else(|| self.neighbour_motion(left, above));
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

    /// Returns the motion of a skipped macroblock (8.4.1.1).
    fn skip_motion(&self, column: usize, row: usize) -> i32 {
        let beside = self.neighbour_motion(column.checked_sub(1), Some(row));
        let over = self.neighbour_motion(Some(column), row.checked_sub(1));
        // The standard infers zero motion if a neighbour is missing or did not move.
        let rests = |side: Option<Option<i32>>| side.is_none_or(|taken| taken == Some(0));
        if rests(beside) || rests(over) {
            return 0;
        }
        self.predicted_motion(column, row)
    }

    /// Returns the header of a slice that contains a whole frame. `kind` is 7 for an I slice and 5 for a P slice.
    fn slice_header(&self, kind: u32) -> BitWriter {
        let is_key = kind == 7;
        let mut bits = BitWriter::default();
        bits.ue(0);
        bits.ue(kind);
        bits.ue(0);
        bits.put(self.frame_number, 8);
        if is_key {
            bits.ue(self.key_number);
            // `no_output_of_prior_pics_flag` and `long_term_reference_flag`.
            bits.put(0, 2);
        } else {
            // No override of the reference count, no reordering, sliding window.
            bits.put(0, 3);
        }
        bits.se(0);
        // No deblocking filter, because it would blur copied text more with every frame.
        bits.ue(1);
        bits
    }

    /// Returns the sequence parameter set.
    pub(crate) fn sequence_parameter_set(&self) -> Vec<u8> {
        let mut bits = BitWriter::default();
        // Constrained baseline profile.
        bits.put(66, 8);
        bits.put(0b1100_0000, 8);
        bits.put(u32::from(self.level()), 8);
        bits.ue(0);
        // Frame numbers of eight bits, output order equal to decoding order, one reference frame.
        bits.ue(4);
        bits.ue(2);
        bits.ue(1);
        bits.flag(false);
        let number = |number: usize| u32::try_from(number).unwrap_or(0);
        bits.ue(number(self.columns() - 1));
        bits.ue(number(self.rows() - 1));
        bits.flag(true);
        bits.flag(true);
        let (right, below) = (
            self.current[0].width - self.width,
            self.current[0].height() - self.height,
        );
        bits.flag(right + below > 0);
        if right + below > 0 {
            for cut in [0, right / 2, 0, below / 2] {
                bits.ue(number(cut));
            }
        }
        self.write_vui(&mut bits);
        bits.finish_nal_unit(NAL_SEQUENCE_PARAMETERS)
    }

    /// Writes the video usability information: colours, frame rate, and no frame reordering.
    fn write_vui(&self, bits: &mut BitWriter) {
        bits.flag(true);
        // Square pixels, no overscan.
        bits.flag(true);
        bits.put(1, 8);
        bits.flag(false);
        // BT.709 colours in the limited range, which players expect.
        bits.flag(true);
        bits.put(5, 3);
        bits.flag(false);
        bits.flag(true);
        [1, 1, 1].into_iter().for_each(|code| bits.put(code, 8));
        bits.flag(false);
        bits.flag(true);
        bits.put(1, 32);
        // H.264 counts fields, so the rate is twice the frame rate.
        bits.put(self.fps * 2, 32);
        bits.flag(true);
        // No buffer models, no picture structure.
        bits.put(0, 3);
        bits.flag(true);
        bits.flag(true);
        for limit in [0, 0, 16, 16, 0, 1] {
            bits.ue(limit);
        }
    }

    pub(crate) fn picture_parameter_set(&self) -> Vec<u8> {
        let mut bits = BitWriter::default();
        bits.ue(0);
        bits.ue(0);
        bits.put(0, 2);
        bits.ue(0);
        bits.ue(0);
        bits.ue(0);
        bits.put(0, 3);
        bits.se(i32::from(self.qp.0) - 26);
        bits.se(0);
        bits.se(0);
        // Each slice states whether it is deblocked.
        bits.put(0b100, 3);
        bits.finish_nal_unit(NAL_PICTURE_PARAMETERS)
    }

    /// Returns the lowest level that allows this frame size and rate, starting at the lowest whose vector range covers [`SCROLL_MAX`].
    pub(crate) fn level(&self) -> u8 {
        // Level, maximum frame size and maximum rate, in macroblocks (table A-1).
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
        let rate = blocks * usize::try_from(self.fps).unwrap_or(1);
        let fits = |(_, size, speed): &&(u8, usize, usize)| blocks <= *size && rate <= *speed;
        LEVELS.iter().find(fits).map_or(62, |(level, ..)| *level)
    }
}

#[cfg(test)]
mod tests;
