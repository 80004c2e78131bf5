//! The integer transform of H.264 on blocks of 4×4, and what is left of its numbers at a given coarseness.
//!
//! Forward and back as the standard has them, in integers alone: whatever decodes a film sees what the encoder sees.

/// Sixteen numbers, row by row.
pub(crate) type Block = [i32; 16];

/// In this order numbers of a block are written, from the coarse ones to the fine ones.
pub(crate) const ZIGZAG: [usize; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];

const FORWARD: [[i32; 3]; 6] = [
    [13_107, 5_243, 8_066],
    [11_916, 4_660, 7_490],
    [10_082, 4_194, 6_554],
    [9_362, 3_647, 5_825],
    [8_192, 3_355, 5_243],
    [7_282, 2_893, 4_559],
];
const BACK: [[i32; 3]; 6] = [
    [10, 16, 13],
    [11, 18, 14],
    [13, 20, 16],
    [14, 23, 18],
    [16, 25, 20],
    [18, 29, 23],
];

/// How coarse numbers become: 0 is finest, each six more double the step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coarseness(pub(crate) u8);

impl Coarseness {
    fn six(self) -> (usize, u32) {
        (usize::from(self.0 % 6), u32::from(self.0 / 6))
    }
}

/// Which of the three factors belongs to a place.
fn class(at: usize) -> usize {
    match (at / 4 % 2, at % 2) {
        (0, 0) => 0,
        (1, 1) => 1,
        _ => 2,
    }
}

/// Differences become frequencies.
pub(crate) fn forward(block: &mut Block) {
    let pass = |block: &mut Block, first: usize, step: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| block[first + at * step]);
        let (sum, difference, middle, inner) = (a + d, a - d, b + c, b - c);
        block[first] = sum + middle;
        block[first + step] = 2 * difference + inner;
        block[first + 2 * step] = sum - middle;
        block[first + 3 * step] = difference - 2 * inner;
    };
    (0..4).for_each(|row| pass(block, row * 4, 1));
    (0..4).for_each(|column| pass(block, column, 4));
}

/// Frequencies become differences.
pub(crate) fn back(block: &mut Block) {
    let pass = |block: &mut Block, first: usize, step: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| block[first + at * step]);
        let (even, odd) = ((a + c, a - c), ((b >> 1) - d, b + (d >> 1)));
        block[first] = even.0 + odd.1;
        block[first + step] = even.1 + odd.0;
        block[first + 2 * step] = even.1 - odd.0;
        block[first + 3 * step] = even.0 - odd.1;
    };
    (0..4).for_each(|row| pass(block, row * 4, 1));
    (0..4).for_each(|column| pass(block, column, 4));
    block.iter_mut().for_each(|number| *number = (*number + 32) >> 6);
}

/// One number made coarse; `more` is 1 for numbers that were transformed twice.
fn coarse(number: i32, factor: i32, bits: u32) -> i32 {
    // A third of a step is rounded up: the usual choice for pictures that stand alone.
    let rounding = (1 << bits) / 3;
    let magnitude = (number.abs() * factor + rounding) >> bits;
    if number < 0 { -magnitude } else { magnitude }
}

/// Makes the frequencies of a block coarse, from place `first` on.
pub(crate) fn quantize(block: &mut Block, first: usize, coarseness: Coarseness) {
    let (of_six, sixes) = coarseness.six();
    for (at, number) in block.iter_mut().enumerate().skip(first) {
        *number = coarse(*number, FORWARD[of_six][class(at)], 15 + sixes);
    }
}

/// What a decoder makes of coarse frequencies, from place `first` on.
pub(crate) fn rescale(block: &mut Block, first: usize, coarseness: Coarseness) {
    let (of_six, sixes) = coarseness.six();
    for (at, number) in block.iter_mut().enumerate().skip(first) {
        *number = (*number * BACK[of_six][class(at)]) << sixes;
    }
}

/// The sixteen means of a large block, transformed once more; the same forth and back, but for a half.
fn hadamard(block: &mut Block) {
    let pass = |block: &mut Block, first: usize, step: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| block[first + at * step]);
        block[first] = a + b + c + d;
        block[first + step] = a + b - c - d;
        block[first + 2 * step] = a - b - c + d;
        block[first + 3 * step] = a - b + c - d;
    };
    (0..4).for_each(|row| pass(block, row * 4, 1));
    (0..4).for_each(|column| pass(block, column, 4));
}

pub(crate) fn means_forward(means: &mut Block, coarseness: Coarseness) {
    hadamard(means);
    let (of_six, sixes) = coarseness.six();
    for number in means {
        *number = coarse(*number / 2, FORWARD[of_six][0], 16 + sixes);
    }
}

pub(crate) fn means_back(means: &mut Block, coarseness: Coarseness) {
    hadamard(means);
    let (of_six, sixes) = coarseness.six();
    for number in means {
        let scaled = *number * BACK[of_six][0];
        *number = match sixes {
            0 | 1 => (scaled + (1 << (1 - sixes))) >> (2 - sixes),
            _ => scaled << (sixes - 2),
        };
    }
}

/// The four means of a colour.
fn hadamard_of_four([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]
}

pub(crate) fn colors_forward(means: [i32; 4], coarseness: Coarseness) -> [i32; 4] {
    let (of_six, sixes) = coarseness.six();
    hadamard_of_four(means).map(|number| coarse(number, FORWARD[of_six][0], 16 + sixes))
}

pub(crate) fn colors_back(means: [i32; 4], coarseness: Coarseness) -> [i32; 4] {
    let (of_six, sixes) = coarseness.six();
    hadamard_of_four(means).map(|number| ((number * BACK[of_six][0]) << sixes) >> 1)
}

/// How coarse colours are where brightness is so coarse.
pub(crate) fn of_colors(brightness: Coarseness) -> Coarseness {
    const FROM_THIRTY: [u8; 22] = [
        29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39,
    ];
    Coarseness(match brightness.0 {
        fine @ 0..30 => fine,
        rough => FROM_THIRTY[usize::from(rough - 30).min(21)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_forth_comes_back_nearly_the_same() {
        for (coarseness, off_by) in [(0, 1), (18, 8), (30, 30)] {
            let coarseness = Coarseness(coarseness);
            let original: Block = std::array::from_fn(|at| (at as i32 * 37) % 200 - 100);
            let mut block = original;
            forward(&mut block);
            quantize(&mut block, 0, coarseness);
            rescale(&mut block, 0, coarseness);
            back(&mut block);
            let worst = original.iter().zip(&block).map(|(a, b)| (a - b).abs()).max();
            assert!(worst <= Some(off_by), "{coarseness:?}: {original:?} {block:?}");
        }
    }
}
