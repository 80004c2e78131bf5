//! The 4×4 integer transform of H.264 and the quantization of its coefficients.
//!
//! Forward and inverse follow the standard exactly and use integers only, so that every decoder reconstructs what the encoder does.

/// A 4×4 block of samples or coefficients, row by row.
pub(crate) type Block4x4 = [i32; 16];

/// The order in which coefficients are written, from low to high frequencies.
pub(crate) const ZIGZAG: [usize; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];

const QUANTIZE_FACTORS: [[i32; 3]; 6] = [
    [13_107, 5_243, 8_066],
    [11_916, 4_660, 7_490],
    [10_082, 4_194, 6_554],
    [9_362, 3_647, 5_825],
    [8_192, 3_355, 5_243],
    [7_282, 2_893, 4_559],
];
const DEQUANTIZE_FACTORS: [[i32; 3]; 6] = [
    [10, 16, 13],
    [11, 18, 14],
    [13, 20, 16],
    [14, 23, 18],
    [16, 25, 20],
    [18, 29, 23],
];

/// The quantization parameter. The quantizer step doubles with every six.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuantizationParameter(pub(crate) u8);

impl QuantizationParameter {
    fn split_by_six(self) -> (usize, u32) {
        (usize::from(self.0 % 6), u32::from(self.0 / 6))
    }
}

/// Returns which of the three scaling factors applies at a position.
fn factor_class(at: usize) -> usize {
    match (at / 4 % 2, at % 2) {
        (0, 0) => 0,
        (1, 1) => 1,
        _ => 2,
    }
}

/// Transforms residuals to coefficients.
pub(crate) fn forward_transform(block: &mut Block4x4) {
    let pass = |block: &mut Block4x4, first: usize, step: usize| {
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

/// Transforms coefficients to residuals.
pub(crate) fn inverse_transform(block: &mut Block4x4) {
    let pass = |block: &mut Block4x4, first: usize, step: usize| {
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

/// Quantizes one coefficient.
fn quantize_one(number: i32, factor: i32, bits: u32) -> i32 {
    // Round up from two thirds of a step on, the usual choice for intra-coded blocks.
    let rounding = (1 << bits) / 3;
    let magnitude = (number.abs() * factor + rounding) >> bits;
    if number < 0 { -magnitude } else { magnitude }
}

/// Quantizes the coefficients of a block, starting at position `first`.
pub(crate) fn quantize(block: &mut Block4x4, first: usize, qp: QuantizationParameter) {
    let (of_six, sixes) = qp.split_by_six();
    for (at, number) in block.iter_mut().enumerate().skip(first) {
        *number = quantize_one(*number, QUANTIZE_FACTORS[of_six][factor_class(at)], 15 + sixes);
    }
}

/// Rescales quantized coefficients as a decoder does, starting at position `first`.
pub(crate) fn dequantize(block: &mut Block4x4, first: usize, qp: QuantizationParameter) {
    let (of_six, sixes) = qp.split_by_six();
    for (at, number) in block.iter_mut().enumerate().skip(first) {
        *number = (*number * DEQUANTIZE_FACTORS[of_six][factor_class(at)]) << sixes;
    }
}

/// The Hadamard transform of the sixteen luma DC coefficients. It is its own inverse up to scaling.
fn hadamard(block: &mut Block4x4) {
    let pass = |block: &mut Block4x4, first: usize, step: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| block[first + at * step]);
        block[first] = a + b + c + d;
        block[first + step] = a + b - c - d;
        block[first + 2 * step] = a - b - c + d;
        block[first + 3 * step] = a - b + c - d;
    };
    (0..4).for_each(|row| pass(block, row * 4, 1));
    (0..4).for_each(|column| pass(block, column, 4));
}

pub(crate) fn quantize_luma_dc(dc: &mut Block4x4, qp: QuantizationParameter) {
    hadamard(dc);
    let (of_six, sixes) = qp.split_by_six();
    for number in dc {
        *number = quantize_one(*number / 2, QUANTIZE_FACTORS[of_six][0], 16 + sixes);
    }
}

pub(crate) fn dequantize_luma_dc(dc: &mut Block4x4, qp: QuantizationParameter) {
    hadamard(dc);
    let (of_six, sixes) = qp.split_by_six();
    for number in dc {
        let scaled = *number * DEQUANTIZE_FACTORS[of_six][0];
        *number = match sixes {
            0 | 1 => (scaled + (1 << (1 - sixes))) >> (2 - sixes),
            _ => scaled << (sixes - 2),
        };
    }
}

/// The Hadamard transform of the four chroma DC coefficients.
fn hadamard_2x2([a, b, c, d]: [i32; 4]) -> [i32; 4] {
    [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]
}

pub(crate) fn quantize_chroma_dc(dc: [i32; 4], qp: QuantizationParameter) -> [i32; 4] {
    let (of_six, sixes) = qp.split_by_six();
    hadamard_2x2(dc).map(|number| quantize_one(number, QUANTIZE_FACTORS[of_six][0], 16 + sixes))
}

pub(crate) fn dequantize_chroma_dc(dc: [i32; 4], qp: QuantizationParameter) -> [i32; 4] {
    let (of_six, sixes) = qp.split_by_six();
    hadamard_2x2(dc).map(|number| ((number * DEQUANTIZE_FACTORS[of_six][0]) << sixes) >> 1)
}

/// Returns the quantization parameter of chroma for one of luma (table 8-15).
pub(crate) fn chroma_qp(luma_qp: QuantizationParameter) -> QuantizationParameter {
    const FROM_THIRTY: [u8; 22] = [
        29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39,
    ];
    QuantizationParameter(match luma_qp.0 {
        fine @ 0..30 => fine,
        rough => FROM_THIRTY[usize::from(rough - 30).min(21)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantization_loses_little() {
        for (qp, off_by) in [(0, 1), (18, 8), (30, 30)] {
            let qp = QuantizationParameter(qp);
            let original: Block4x4 = std::array::from_fn(|at| (at as i32 * 37) % 200 - 100);
            let mut block = original;
            forward_transform(&mut block);
            quantize(&mut block, 0, qp);
            dequantize(&mut block, 0, qp);
            inverse_transform(&mut block);
            let worst = original.iter().zip(&block).map(|(a, b)| (a - b).abs()).max();
            assert!(worst <= Some(off_by), "{qp:?}: {original:?} {block:?}");
        }
    }
}
