//! A macroblock that is written anew: guessed from what stands above and beside it, and what the guess lacks.
//!
//! Text on a plain ground is mostly edges, up, down and across: three of the standard's nine guesses for small blocks serve
//! it, and where a whole macroblock is plain one guess serves all of it.

use super::bits::Bits;
use super::cavlc::{self, Around};
use super::transform::{self, Block, ZIGZAG};
use super::{Encoder, Plane};

/// Where the sixteen blocks of a macroblock stand, in the order in which they are written.
pub(super) const PLACES: [(usize, usize); 16] = [
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
/// The guesses, with the same numbers for small and for large blocks.
const DOWN: u8 = 0;
const ACROSS: u8 = 1;
pub(super) const MEAN: u8 = 2;
/// Which blocks hold anything is written by how often that is so: the number of a pattern is its place here.
const PATTERNS: [u8; 48] = [
    47, 31, 15, 0, 23, 27, 29, 30, 7, 11, 13, 14, 39, 43, 45, 46, 16, 3, 5, 10, 12, 19, 21, 26, 28, 35, 37, 42, 44, 1,
    2, 4, 8, 17, 18, 20, 24, 6, 9, 22, 25, 32, 33, 34, 36, 40, 38, 41,
];
/// Up to so far off per macroblock one guess serves for all of it.
const PLAIN_OFF_MAX: u32 = 192;

/// The colours of a macroblock, coded.
struct Colors {
    guess: u8,
    means: [[i32; 4]; 2],
    rest: [[Block; 4]; 2],
    /// 0: nothing, 1: the means alone, 2: all.
    pattern: u8,
}

impl Encoder {
    /// Writes a macroblock whose text is new. `offset` is how many types stand before these in a slice of this sort.
    pub(super) fn intra(&mut self, bits: &mut Bits, source: &[Plane; 3], column: usize, row: usize, offset: u32) {
        let (x, y) = (column * 16, row * 16);
        let (guess, off) = self.large_guess(source, x, y);
        // Colours do not depend on brightness: they are coded first, since the type of a macroblock tells of them.
        let colors = self.colors(source, x / 2, y / 2);
        if off <= PLAIN_OFF_MAX {
            self.large(bits, source, (x, y), guess, &colors, offset);
        } else {
            self.small(bits, source, (x, y), &colors, offset);
        }
        self.write_colors(bits, x / 8, y / 8, &colors);
    }

    /// The best guess for a whole macroblock, and by how much it is off.
    fn large_guess(&self, source: &[Plane; 3], x: usize, y: usize) -> (u8, u32) {
        let guesses = [MEAN, DOWN, ACROSS];
        let possible = guesses.into_iter().filter(|guess| is_possible(*guess, x, y));
        let off = |guess: u8| {
            let guessed = self.now[0].guess::<16>(guess, x, y);
            let mut off = 0;
            for (line, guessed) in guessed.iter().enumerate() {
                let real = source[0].line(x, y + line, 16);
                off += real
                    .iter()
                    .zip(guessed)
                    .map(|(a, b)| u32::from(a.abs_diff(*b)))
                    .sum::<u32>();
            }
            (off, guess)
        };
        let (off, guess) = possible.map(off).min().unwrap_or((0, MEAN));
        (guess, off)
    }

    fn large(
        &mut self,
        bits: &mut Bits,
        source: &[Plane; 3],
        at: (usize, usize),
        guess: u8,
        colors: &Colors,
        offset: u32,
    ) {
        let (x, y) = at;
        let guessed = self.now[0].guess::<16>(guess, x, y);
        let mut means: Block = [0; 16];
        let mut blocks = [[0; 16]; 16];
        for (bx, by) in PLACES {
            let block = &mut blocks[by * 4 + bx];
            *block = std::array::from_fn(|at| {
                let (px, py) = (bx * 4 + at % 4, by * 4 + at / 4);
                i32::from(source[0].at(x + px, y + py)) - i32::from(guessed[py][px])
            });
            transform::forward(block);
            means[by * 4 + bx] = block[0];
            transform::quantize(block, 1, self.coarseness);
        }
        transform::means_forward(&mut means, self.coarseness);
        let has_rest = blocks.iter().any(|block| block[1..].iter().any(|number| *number != 0));
        let kind = 1 + u32::from(guess) + 4 * u32::from(colors.pattern) + if has_rest { 12 } else { 0 };
        bits.ue(offset + kind);
        bits.ue(u32::from(colors.guess));
        bits.se(0);
        let around = self.around(0, x / 4, y / 4);
        cavlc::write(bits, &ZIGZAG.map(|at| means[at]), around);
        for (bx, by) in PLACES {
            let (cx, cy) = (x / 4 + bx, y / 4 + by);
            let around = self.around(0, cx, cy);
            let block = &blocks[by * 4 + bx];
            let rest: [i32; 15] = std::array::from_fn(|at| block[ZIGZAG[at + 1]]);
            let count = if has_rest { cavlc::write(bits, &rest, around) } else { 0 };
            self.counts[0].set(cx, cy, count);
        }
        transform::means_back(&mut means, self.coarseness);
        for (bx, by) in PLACES {
            let mut block = blocks[by * 4 + bx];
            transform::rescale(&mut block, 1, self.coarseness);
            block[0] = means[by * 4 + bx];
            transform::back(&mut block);
            self.now[0].add(x + bx * 4, y + by * 4, &block, |px, py| {
                guessed[by * 4 + py][bx * 4 + px]
            });
        }
    }

    fn small(&mut self, bits: &mut Bits, source: &[Plane; 3], at: (usize, usize), colors: &Colors, offset: u32) {
        let (x, y) = at;
        let mut blocks = [[0; 16]; 16];
        let mut modes = [MEAN; 16];
        for (number, (bx, by)) in PLACES.into_iter().enumerate() {
            let (px, py) = (x + bx * 4, y + by * 4);
            let expected = self.expected_mode(px / 4, py / 4);
            let (mode, block) = self.small_block(source, px, py, expected);
            self.modes.set(px / 4, py / 4, mode);
            modes[number] = mode;
            blocks[number] = block;
        }
        let is_full = |eighth: &[Block]| eighth.iter().flatten().any(|number| *number != 0);
        let mut pattern = colors.pattern << 4;
        for (at, eighth) in blocks.chunks(4).enumerate() {
            pattern |= u8::from(is_full(eighth)) << at;
        }
        bits.ue(offset);
        for (number, (bx, by)) in PLACES.into_iter().enumerate() {
            let expected = self.expected_mode(x / 4 + bx, y / 4 + by);
            let mode = modes[number];
            bits.flag(mode == expected);
            if mode != expected {
                bits.put(u32::from(mode - u8::from(mode > expected)), 3);
            }
        }
        bits.ue(u32::from(colors.guess));
        let number = PATTERNS.iter().position(|known| *known == pattern).unwrap_or(0);
        bits.ue(u32::try_from(number).unwrap_or(0));
        if pattern > 0 {
            bits.se(0);
        }
        for (number, (bx, by)) in PLACES.into_iter().enumerate() {
            let (cx, cy) = (x / 4 + bx, y / 4 + by);
            let around = self.around(0, cx, cy);
            let is_written = pattern & 1 << (number / 4) != 0;
            let numbers = ZIGZAG.map(|at| blocks[number][at]);
            let count = if is_written {
                cavlc::write(bits, &numbers, around)
            } else {
                0
            };
            self.counts[0].set(cx, cy, count);
        }
    }

    /// Codes one small block by its best guess.
    fn small_block(&mut self, source: &[Plane; 3], x: usize, y: usize, expected: u8) -> (u8, Block) {
        let mut best = (u32::MAX, MEAN, [[0; 4]; 4]);
        for mode in [MEAN, DOWN, ACROSS] {
            if !is_possible(mode, x, y) {
                continue;
            }
            let guessed = self.now[0].guess::<4>(mode, x, y);
            let mut off = if mode == expected { 0 } else { 6 };
            for (line, guessed) in guessed.iter().enumerate() {
                let real = source[0].line(x, y + line, 4);
                off += real
                    .iter()
                    .zip(guessed)
                    .map(|(a, b)| u32::from(a.abs_diff(*b)))
                    .sum::<u32>();
            }
            if off < best.0 {
                best = (off, mode, guessed);
            }
        }
        let (_, mode, guessed) = best;
        let mut block: Block = std::array::from_fn(|at| {
            let (px, py) = (at % 4, at / 4);
            i32::from(source[0].at(x + px, y + py)) - i32::from(guessed[py][px])
        });
        transform::forward(&mut block);
        transform::quantize(&mut block, 0, self.coarseness);
        let coarse = block;
        transform::rescale(&mut block, 0, self.coarseness);
        transform::back(&mut block);
        self.now[0].add(x, y, &block, |px, py| guessed[py][px]);
        (mode, coarse)
    }

    /// The guess that a decoder expects for a small block: the lower one of its neighbours'.
    fn expected_mode(&self, cx: usize, cy: usize) -> u8 {
        match (cx.checked_sub(1), cy.checked_sub(1)) {
            (Some(left), Some(above)) => self.modes.get(left, cy).min(self.modes.get(cx, above)),
            _ => MEAN,
        }
    }

    fn colors(&mut self, source: &[Plane; 3], x: usize, y: usize) -> Colors {
        let coarseness = transform::of_colors(self.coarseness);
        let guess = self.color_guess(source, x, y);
        let mut colors = Colors {
            guess,
            means: [[0; 4]; 2],
            rest: [[[0; 16]; 4]; 2],
            pattern: 0,
        };
        for plane in 0..2 {
            let guessed = self.now[plane + 1].color_guess(guess, x, y);
            for (at, block) in colors.rest[plane].iter_mut().enumerate() {
                let (bx, by) = (at % 2 * 4, at / 2 * 4);
                *block = std::array::from_fn(|at| {
                    let (px, py) = (bx + at % 4, by + at / 4);
                    i32::from(source[plane + 1].at(x + px, y + py)) - i32::from(guessed[py][px])
                });
                transform::forward(block);
                colors.means[plane][at] = block[0];
                transform::quantize(block, 1, coarseness);
            }
            colors.means[plane] = transform::colors_forward(colors.means[plane], coarseness);
            let means = transform::colors_back(colors.means[plane], coarseness);
            for (at, coarse) in colors.rest[plane].iter().enumerate() {
                let (bx, by) = (at % 2 * 4, at / 2 * 4);
                let mut block = *coarse;
                transform::rescale(&mut block, 1, coarseness);
                block[0] = means[at];
                transform::back(&mut block);
                self.now[plane + 1].add(x + bx, y + by, &block, |px, py| guessed[by + py][bx + px]);
            }
        }
        let has_rest = |block: &Block| block[1..].iter().any(|number| *number != 0);
        colors.pattern = match () {
            () if colors.rest.iter().flatten().any(has_rest) => 2,
            () => u8::from(colors.means.iter().flatten().any(|number| *number != 0)),
        };
        colors
    }

    /// The best guess for both colours. Its numbers are others than those for brightness.
    fn color_guess(&self, source: &[Plane; 3], x: usize, y: usize) -> u8 {
        let possible = [0, 1, 2]
            .into_iter()
            .filter(|guess| (*guess != 1 || x > 0) && (*guess != 2 || y > 0));
        let off = |guess: u8| {
            let mut off = 0;
            for (now, source) in self.now.iter().zip(source).skip(1) {
                let guessed = now.color_guess(guess, x, y);
                for (line, guessed) in guessed.iter().enumerate() {
                    let real = source.line(x, y + line, 8);
                    off += real
                        .iter()
                        .zip(guessed)
                        .map(|(a, b)| u32::from(a.abs_diff(*b)))
                        .sum::<u32>();
                }
            }
            (off, guess)
        };
        possible.map(off).min().map_or(0, |(_, guess)| guess)
    }

    fn write_colors(&mut self, bits: &mut Bits, cx: usize, cy: usize, colors: &Colors) {
        if colors.pattern > 0 {
            for means in &colors.means {
                cavlc::write(bits, means, Around::Colors);
            }
        }
        for plane in 0..2 {
            for (at, block) in colors.rest[plane].iter().enumerate() {
                let (bx, by) = (cx + at % 2, cy + at / 2);
                let around = self.around(plane + 1, bx, by);
                let rest: [i32; 15] = std::array::from_fn(|at| block[ZIGZAG[at + 1]]);
                let count = if colors.pattern == 2 {
                    cavlc::write(bits, &rest, around)
                } else {
                    0
                };
                self.counts[plane + 1].set(bx, by, count);
            }
        }
    }

    /// How many numbers are not 0 in the blocks beside one and above it.
    fn around(&self, plane: usize, cx: usize, cy: usize) -> Around {
        let left = cx.checked_sub(1).map(|left| self.counts[plane].get(left, cy));
        let above = cy.checked_sub(1).map(|above| self.counts[plane].get(cx, above));
        Around::Blocks(match (left, above) {
            (Some(left), Some(above)) => (left + above).div_ceil(2),
            (one, other) => one.or(other).unwrap_or(0),
        })
    }
}

fn is_possible(guess: u8, x: usize, y: usize) -> bool {
    match guess {
        DOWN => y > 0,
        ACROSS => x > 0,
        _ => true,
    }
}

impl Plane {
    /// What a square is taken to look like by what stands above and beside it.
    fn guess<const N: usize>(&self, guess: u8, x: usize, y: usize) -> [[u8; N]; N] {
        let above = || -> [u8; N] { std::array::from_fn(|at| self.at(x + at, y - 1)) };
        let left = || -> [u8; N] { std::array::from_fn(|at| self.at(x - 1, y + at)) };
        match guess {
            DOWN => [above(); N],
            ACROSS => left().map(|one| [one; N]),
            _ => {
                let mut sides = [0; 32];
                let mut count = 0;
                for side in [(y > 0).then(above), (x > 0).then(left)].into_iter().flatten() {
                    sides[count..count + N].copy_from_slice(&side);
                    count += N;
                }
                [[mean(&sides[..count]); N]; N]
            }
        }
    }

    /// The same for a colour: 0 is the mean of each quarter, 1 across, 2 down.
    fn color_guess(&self, guess: u8, x: usize, y: usize) -> [[u8; 8]; 8] {
        match guess {
            1 => self.guess::<8>(ACROSS, x, y),
            2 => self.guess::<8>(DOWN, x, y),
            _ => {
                let mut all = [[0; 8]; 8];
                for quarter in 0..4 {
                    let (bx, by) = (quarter % 2 * 4, quarter / 2 * 4);
                    let above = || -> [u8; 4] { std::array::from_fn(|at| self.at(x + bx + at, y - 1)) };
                    let left = || -> [u8; 4] { std::array::from_fn(|at| self.at(x - 1, y + by + at)) };
                    let (above, left) = ((y > 0).then(above), (x > 0).then(left));
                    // The two quarters at the corners look at both sides, the others at their nearer one first.
                    let shade = match (quarter, above, left) {
                        (1, Some(side), _) | (2, None, Some(side)) => mean(&side),
                        (2, _, Some(side)) | (1, None, Some(side)) => mean(&side),
                        (_, Some(above), Some(left)) => mean(&[above, left].concat()),
                        (_, Some(side), None) | (_, None, Some(side)) => mean(&side),
                        (_, None, None) => mean(&[]),
                    };
                    for line in &mut all[by..by + 4] {
                        line[bx..bx + 4].fill(shade);
                    }
                }
                all
            }
        }
    }

    /// Puts a square where it belongs: what was guessed, and what the guess lacked.
    fn add(&mut self, x: usize, y: usize, block: &Block, guessed: impl Fn(usize, usize) -> u8) {
        for py in 0..4 {
            for px in 0..4 {
                let shade = i32::from(guessed(px, py)) + block[py * 4 + px];
                let at = (y + py) * self.width + x + px;
                self.bytes[at] = u8::try_from(shade.clamp(0, 255)).unwrap_or(0);
            }
        }
    }
}

/// The rounded mean of some shades; grey where there are none.
fn mean(shades: &[u8]) -> u8 {
    let count = u32::try_from(shades.len()).unwrap_or(1);
    let sum: u32 = shades.iter().map(|shade| u32::from(*shade)).sum();
    match count {
        0 => 128,
        _ => u8::try_from((sum + count / 2) / count).unwrap_or(128),
    }
}
