//! Intra coding: predicts a macroblock from its neighbours above and to the left, and codes the residual.
//!
//! Text consists mostly of horizontal and vertical edges, so three of the nine prediction modes for 4×4 blocks are enough. A plain
//! macroblock is predicted as a whole.

use super::bits::BitWriter;
use super::cavlc::{self, CoefficientContext};
use super::transform::{self, Block4x4, ZIGZAG};
use super::{H264Encoder, Plane};

/// The positions of the sixteen 4×4 blocks of a macroblock, in coding order.
pub(super) const BLOCK_POSITIONS: [(usize, usize); 16] = [
    (0, 0),
    (1, 0),
    (0, 1),
    (1, 1),
    (2, 0),
    (3, 0),
    (2, 1),
    (3, 1),
    (0, 2),
    (1, 2),
    (0, 3),
    (1, 3),
    (2, 2),
    (3, 2),
    (2, 3),
    (3, 3),
];
/// The prediction modes. They have the same numbers for 4×4 and 16×16 blocks.
const VERTICAL: u8 = 0;
const HORIZONTAL: u8 = 1;
pub(super) const DC: u8 = 2;
/// The coded block patterns of intra macroblocks, ordered by their code number (table 9-4).
const CODED_BLOCK_PATTERNS: [u8; 48] = [
    47, 31, 15, 0, 23, 27, 29, 30, 7, 11, 13, 14, 39, 43, 45, 46, 16, 3, 5, 10, 12, 19, 21, 26, 28, 35, 37, 42, 44, 1,
    2, 4, 8, 17, 18, 20, 24, 6, 9, 22, 25, 32, 33, 34, 36, 40, 38, 41,
];
/// If the prediction of the whole macroblock has at most this error, it is coded as 16×16.
const INTRA16_ERROR_MAX: u32 = 192;

/// The coded chroma of a macroblock.
struct ChromaBlocks {
    mode: u8,
    dc: [[i32; 4]; 2],
    ac: [[Block4x4; 4]; 2],
    /// 0: no coefficients, 1: only DC, 2: all.
    pattern: u8,
}

impl H264Encoder {
    /// Writes an intra-coded macroblock. `offset` is the number of macroblock types that precede the intra types in this kind of slice.
    pub(super) fn write_intra(
        &mut self,
        bits: &mut BitWriter,
        source: &[Plane; 3],
        column: usize,
        row: usize,
        offset: u32,
    ) {
        let (x, y) = (column * 16, row * 16);
        let (mode, error) = self.best_intra16_mode(source, x, y);
        // Code chroma first, because the macroblock type contains its pattern.
        let chroma = self.code_chroma(source, x / 2, y / 2);
        if error <= INTRA16_ERROR_MAX {
            self.write_intra16(bits, source, (x, y), mode, &chroma, offset);
        } else {
            self.write_intra4(bits, source, (x, y), &chroma, offset);
        }
        self.write_chroma(bits, x / 8, y / 8, &chroma);
    }

    /// Returns the best 16×16 prediction mode and its error.
    fn best_intra16_mode(&self, source: &[Plane; 3], x: usize, y: usize) -> (u8, u32) {
        let modes = [DC, VERTICAL, HORIZONTAL];
        let possible = modes.into_iter().filter(|mode| is_available(*mode, x, y));
        let error = |mode: u8| {
            let predicted = self.current[0].predict::<16>(mode, x, y);
            let mut error = 0;
            for (line, predicted) in predicted.iter().enumerate() {
                let real = source[0].line(x, y + line, 16);
                error += real
                    .iter()
                    .zip(predicted)
                    .map(|(a, b)| u32::from(a.abs_diff(*b)))
                    .sum::<u32>();
            }
            (error, mode)
        };
        let (error, mode) = possible.map(error).min().unwrap_or((0, DC));
        (mode, error)
    }

    fn write_intra16(
        &mut self,
        bits: &mut BitWriter,
        source: &[Plane; 3],
        at: (usize, usize),
        mode: u8,
        chroma: &ChromaBlocks,
        offset: u32,
    ) {
        let (x, y) = at;
        let predicted = self.current[0].predict::<16>(mode, x, y);
        let mut dc: Block4x4 = [0; 16];
        let mut blocks = [[0; 16]; 16];
        for (bx, by) in BLOCK_POSITIONS {
            let block = &mut blocks[by * 4 + bx];
            *block = std::array::from_fn(|at| {
                let (px, py) = (bx * 4 + at % 4, by * 4 + at / 4);
                i32::from(source[0].at(x + px, y + py)) - i32::from(predicted[py][px])
            });
            transform::forward_transform(block);
            dc[by * 4 + bx] = block[0];
            transform::quantize(block, 1, self.qp);
        }
        transform::quantize_luma_dc(&mut dc, self.qp);
        let has_ac = blocks.iter().any(|block| block[1..].iter().any(|number| *number != 0));
        let kind = 1 + u32::from(mode) + 4 * u32::from(chroma.pattern) + if has_ac { 12 } else { 0 };
        bits.ue(offset + kind);
        bits.ue(u32::from(chroma.mode));
        bits.se(0);
        let context = self.coefficient_context(0, x / 4, y / 4);
        cavlc::write_block(bits, &ZIGZAG.map(|at| dc[at]), context);
        for (bx, by) in BLOCK_POSITIONS {
            let (cx, cy) = (x / 4 + bx, y / 4 + by);
            let context = self.coefficient_context(0, cx, cy);
            let block = &blocks[by * 4 + bx];
            let ac: [i32; 15] = std::array::from_fn(|at| block[ZIGZAG[at + 1]]);
            let count = if has_ac {
                cavlc::write_block(bits, &ac, context)
            } else {
                0
            };
            self.coefficient_counts[0].set(cx, cy, count);
        }
        transform::dequantize_luma_dc(&mut dc, self.qp);
        for (bx, by) in BLOCK_POSITIONS {
            let mut block = blocks[by * 4 + bx];
            transform::dequantize(&mut block, 1, self.qp);
            block[0] = dc[by * 4 + bx];
            transform::inverse_transform(&mut block);
            self.current[0].add_residual(x + bx * 4, y + by * 4, &block, |px, py| {
                predicted[by * 4 + py][bx * 4 + px]
            });
        }
    }

    fn write_intra4(
        &mut self,
        bits: &mut BitWriter,
        source: &[Plane; 3],
        at: (usize, usize),
        chroma: &ChromaBlocks,
        offset: u32,
    ) {
        let (x, y) = at;
        let mut blocks = [[0; 16]; 16];
        let mut modes = [DC; 16];
        for (number, (bx, by)) in BLOCK_POSITIONS.into_iter().enumerate() {
            let (px, py) = (x + bx * 4, y + by * 4);
            let expected = self.predicted_mode(px / 4, py / 4);
            let (mode, block) = self.code_intra4_block(source, px, py, expected);
            self.modes.set(px / 4, py / 4, mode);
            modes[number] = mode;
            blocks[number] = block;
        }
        let is_full = |eighth: &[Block4x4]| eighth.iter().flatten().any(|number| *number != 0);
        let mut pattern = chroma.pattern << 4;
        for (at, eighth) in blocks.chunks(4).enumerate() {
            pattern |= u8::from(is_full(eighth)) << at;
        }
        bits.ue(offset);
        for (number, (bx, by)) in BLOCK_POSITIONS.into_iter().enumerate() {
            let expected = self.predicted_mode(x / 4 + bx, y / 4 + by);
            let mode = modes[number];
            bits.flag(mode == expected);
            if mode != expected {
                // The predicted mode has no number here, so larger ones move down by one.
                bits.put(u32::from(mode - u8::from(mode > expected)), 3);
            }
        }
        bits.ue(u32::from(chroma.mode));
        let number = CODED_BLOCK_PATTERNS
            .iter()
            .position(|known| *known == pattern)
            .unwrap_or(0);
        bits.ue(u32::try_from(number).unwrap_or(0));
        // `mb_qp_delta` is present only if there are coefficients.
        if pattern > 0 {
            bits.se(0);
        }
        for (number, (bx, by)) in BLOCK_POSITIONS.into_iter().enumerate() {
            let (cx, cy) = (x / 4 + bx, y / 4 + by);
            let context = self.coefficient_context(0, cx, cy);
            let is_written = pattern & 1 << (number / 4) != 0;
            let numbers = ZIGZAG.map(|at| blocks[number][at]);
            let count = if is_written {
                cavlc::write_block(bits, &numbers, context)
            } else {
                0
            };
            self.coefficient_counts[0].set(cx, cy, count);
        }
    }

    /// Codes one 4×4 block with its best prediction mode.
    fn code_intra4_block(&mut self, source: &[Plane; 3], x: usize, y: usize, expected: u8) -> (u8, Block4x4) {
        let mut best = (u32::MAX, DC, [[0; 4]; 4]);
        for mode in [DC, VERTICAL, HORIZONTAL] {
            if !is_available(mode, x, y) {
                continue;
            }
            let predicted = self.current[0].predict::<4>(mode, x, y);
            // A mode other than the predicted one takes three more bits, which are worth about this much error.
            let mut error = if mode == expected { 0 } else { 6 };
            for (line, predicted) in predicted.iter().enumerate() {
                let real = source[0].line(x, y + line, 4);
                error += real
                    .iter()
                    .zip(predicted)
                    .map(|(a, b)| u32::from(a.abs_diff(*b)))
                    .sum::<u32>();
            }
            if error < best.0 {
                best = (error, mode, predicted);
            }
        }
        let (_, mode, predicted) = best;
        let mut block: Block4x4 = std::array::from_fn(|at| {
            let (px, py) = (at % 4, at / 4);
            i32::from(source[0].at(x + px, y + py)) - i32::from(predicted[py][px])
        });
        transform::forward_transform(&mut block);
        transform::quantize(&mut block, 0, self.qp);
        // The next block is predicted from reconstructed samples, so this one is reconstructed at once.
        let quantized = block;
        transform::dequantize(&mut block, 0, self.qp);
        transform::inverse_transform(&mut block);
        self.current[0].add_residual(x, y, &block, |px, py| predicted[py][px]);
        (mode, quantized)
    }

    /// Returns the predicted mode of a 4×4 block: the lower one of its neighbours' modes.
    fn predicted_mode(&self, cx: usize, cy: usize) -> u8 {
        match (cx.checked_sub(1), cy.checked_sub(1)) {
            (Some(left), Some(above)) => self.modes.get(left, cy).min(self.modes.get(cx, above)),
            _ => DC,
        }
    }

    fn code_chroma(&mut self, source: &[Plane; 3], x: usize, y: usize) -> ChromaBlocks {
        let qp = transform::chroma_qp(self.qp);
        let mode = self.best_chroma_mode(source, x, y);
        let mut chroma = ChromaBlocks {
            mode,
            dc: [[0; 4]; 2],
            ac: [[[0; 16]; 4]; 2],
            pattern: 0,
        };
        for plane in 0..2 {
            let predicted = self.current[plane + 1].predict_chroma(mode, x, y);
            for (at, block) in chroma.ac[plane].iter_mut().enumerate() {
                let (bx, by) = (at % 2 * 4, at / 2 * 4);
                *block = std::array::from_fn(|at| {
                    let (px, py) = (bx + at % 4, by + at / 4);
                    i32::from(source[plane + 1].at(x + px, y + py)) - i32::from(predicted[py][px])
                });
                transform::forward_transform(block);
                chroma.dc[plane][at] = block[0];
                transform::quantize(block, 1, qp);
            }
            chroma.dc[plane] = transform::quantize_chroma_dc(chroma.dc[plane], qp);
            let dc = transform::dequantize_chroma_dc(chroma.dc[plane], qp);
            for (at, quantized) in chroma.ac[plane].iter().enumerate() {
                let (bx, by) = (at % 2 * 4, at / 2 * 4);
                let mut block = *quantized;
                transform::dequantize(&mut block, 1, qp);
                block[0] = dc[at];
                transform::inverse_transform(&mut block);
                self.current[plane + 1].add_residual(x + bx, y + by, &block, |px, py| predicted[by + py][bx + px]);
            }
        }
        let has_ac = |block: &Block4x4| block[1..].iter().any(|number| *number != 0);
        chroma.pattern = match () {
            () if chroma.ac.iter().flatten().any(has_ac) => 2,
            () => u8::from(chroma.dc.iter().flatten().any(|number| *number != 0)),
        };
        chroma
    }

    /// Returns the best prediction mode for both chroma planes. The mode numbers differ from those of luma.
    fn best_chroma_mode(&self, source: &[Plane; 3], x: usize, y: usize) -> u8 {
        let possible = [0, 1, 2]
            .into_iter()
            .filter(|mode| (*mode != 1 || x > 0) && (*mode != 2 || y > 0));
        let error = |mode: u8| {
            let mut error = 0;
            for (current, source) in self.current.iter().zip(source).skip(1) {
                let predicted = current.predict_chroma(mode, x, y);
                for (line, predicted) in predicted.iter().enumerate() {
                    let real = source.line(x, y + line, 8);
                    error += real
                        .iter()
                        .zip(predicted)
                        .map(|(a, b)| u32::from(a.abs_diff(*b)))
                        .sum::<u32>();
                }
            }
            (error, mode)
        };
        possible.map(error).min().map_or(0, |(_, mode)| mode)
    }

    fn write_chroma(&mut self, bits: &mut BitWriter, cx: usize, cy: usize, chroma: &ChromaBlocks) {
        if chroma.pattern > 0 {
            for dc in &chroma.dc {
                cavlc::write_block(bits, dc, CoefficientContext::ChromaDc);
            }
        }
        for plane in 0..2 {
            for (at, block) in chroma.ac[plane].iter().enumerate() {
                let (bx, by) = (cx + at % 2, cy + at / 2);
                let context = self.coefficient_context(plane + 1, bx, by);
                let ac: [i32; 15] = std::array::from_fn(|at| block[ZIGZAG[at + 1]]);
                let count = if chroma.pattern == 2 {
                    cavlc::write_block(bits, &ac, context)
                } else {
                    0
                };
                self.coefficient_counts[plane + 1].set(bx, by, count);
            }
        }
    }

    /// Returns the coefficient context from the blocks to the left and above.
    fn coefficient_context(&self, plane: usize, cx: usize, cy: usize) -> CoefficientContext {
        let left = cx
            .checked_sub(1)
            .map(|left| self.coefficient_counts[plane].get(left, cy));
        let above = cy
            .checked_sub(1)
            .map(|above| self.coefficient_counts[plane].get(cx, above));
        CoefficientContext::Neighbours(match (left, above) {
            (Some(left), Some(above)) => (left + above).div_ceil(2),
            (one, other) => one.or(other).unwrap_or(0),
        })
    }
}

fn is_available(mode: u8, x: usize, y: usize) -> bool {
    match mode {
        VERTICAL => y > 0,
        HORIZONTAL => x > 0,
        _ => true,
    }
}

impl Plane {
    /// Predicts a square from the samples above and to the left.
    fn predict<const N: usize>(&self, mode: u8, x: usize, y: usize) -> [[u8; N]; N] {
        let above = || -> [u8; N] { std::array::from_fn(|at| self.at(x + at, y - 1)) };
        let left = || -> [u8; N] { std::array::from_fn(|at| self.at(x - 1, y + at)) };
        match mode {
            VERTICAL => [above(); N],
            HORIZONTAL => left().map(|one| [one; N]),
            _ => {
                let mut sides = [0; 32];
                let mut count = 0;
                for side in [(y > 0).then(above), (x > 0).then(left)].into_iter().flatten() {
                    sides[count..count + N].copy_from_slice(&side);
                    count += N;
                }
                [[rounded_mean(&sides[..count]); N]; N]
            }
        }
    }

    /// Predicts a chroma block: mode 0 is the mean of each quarter, 1 horizontal, 2 vertical.
    fn predict_chroma(&self, mode: u8, x: usize, y: usize) -> [[u8; 8]; 8] {
        match mode {
            1 => self.predict::<8>(HORIZONTAL, x, y),
            2 => self.predict::<8>(VERTICAL, x, y),
            _ => {
                let mut all = [[0; 8]; 8];
                for quarter in 0..4 {
                    let (bx, by) = (quarter % 2 * 4, quarter / 2 * 4);
                    let above = || -> [u8; 4] { std::array::from_fn(|at| self.at(x + bx + at, y - 1)) };
                    let left = || -> [u8; 4] { std::array::from_fn(|at| self.at(x - 1, y + by + at)) };
                    let (above, left) = ((y > 0).then(above), (x > 0).then(left));
                    // The quarters on the main diagonal use both sides, the others prefer their nearer side.
                    let sample = match (quarter, above, left) {
                        (1, Some(side), _) | (2, None, Some(side)) => rounded_mean(&side),
                        (2, _, Some(side)) | (1, None, Some(side)) => rounded_mean(&side),
                        (_, Some(above), Some(left)) => rounded_mean(&[above, left].concat()),
                        (_, Some(side), None) | (_, None, Some(side)) => rounded_mean(&side),
                        (_, None, None) => rounded_mean(&[]),
                    };
                    for line in &mut all[by..by + 4] {
                        line[bx..bx + 4].fill(sample);
                    }
                }
                all
            }
        }
    }

    /// Writes a reconstructed 4×4 block: prediction plus residual.
    fn add_residual(&mut self, x: usize, y: usize, block: &Block4x4, predicted: impl Fn(usize, usize) -> u8) {
        for py in 0..4 {
            for px in 0..4 {
                let sample = i32::from(predicted(px, py)) + block[py * 4 + px];
                let at = (y + py) * self.width + x + px;
                self.bytes[at] = u8::try_from(sample.clamp(0, 255)).unwrap_or(0);
            }
        }
    }
}

/// Returns the rounded mean of some samples, or mid-grey if there are none.
fn rounded_mean(samples: &[u8]) -> u8 {
    let count = u32::try_from(samples.len()).unwrap_or(1);
    let sum: u32 = samples.iter().map(|sample| u32::from(*sample)).sum();
    match count {
        0 => 128,
        _ => u8::try_from((sum + count / 2) / count).unwrap_or(128),
    }
}
