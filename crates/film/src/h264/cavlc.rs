//! CAVLC: writes the coefficients of a block with the variable-length codes of tables 9-5 to 9-10 of the standard.

use super::bits::BitWriter;

/// Selects the `coeff_token` table of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoefficientContext {
    /// The average number of non-zero coefficients in the neighbouring blocks.
    Neighbours(u8),
    /// The DC coefficients of a chroma plane.
    ChromaDc,
}

/// Lengths and codes by the number of non-zero coefficients and of trailing ±1.
type TokenTable = [[(u8, u8); 4]; 17];

/// Writes coefficients, low frequencies first, and returns how many are not zero.
pub(crate) fn write_block(bits: &mut BitWriter, coefficients: &[i32], context: CoefficientContext) -> u8 {
    // From the high frequencies down: the non-zero coefficients, and the number of zeros before each.
    let mut levels = [0_i32; 16];
    let mut runs = [0_usize; 16];
    let mut total = 0;
    let mut zeros = 0;
    for coefficient in coefficients.iter().rev() {
        if *coefficient != 0 {
            levels[total] = *coefficient;
            total += 1;
        } else if total > 0 {
            runs[total - 1] += 1;
            zeros += 1;
        }
    }
    let (levels, runs) = (&levels[..total], &runs[..total]);
    let ones = levels.iter().take(3).take_while(|level| level.abs() == 1).count();
    write_token(bits, total, ones, context);
    if total == 0 {
        return 0;
    }
    for level in &levels[..ones] {
        bits.flag(*level < 0);
    }
    write_levels(bits, levels, ones);
    if total < coefficients.len() {
        let (length, code) = match context {
            CoefficientContext::ChromaDc => CHROMA_DC_ZEROS[total - 1][zeros],
            CoefficientContext::Neighbours(_) => TOTAL_ZEROS[total - 1][zeros],
        };
        bits.put(u32::from(code), u32::from(length));
    }
    let mut left = zeros;
    for run in &runs[..total - 1] {
        if left == 0 {
            break;
        }
        let (length, code) = RUN_BEFORE[left.min(7) - 1][*run];
        bits.put(u32::from(code), u32::from(length));
        left -= run;
    }
    u8::try_from(total).unwrap_or(16)
}

fn write_token(bits: &mut BitWriter, total: usize, ones: usize, context: CoefficientContext) {
    let table = match context {
        CoefficientContext::ChromaDc => {
            let (length, code) = CHROMA_DC_TOKENS[total][ones];
            return bits.put(u32::from(code), u32::from(length));
        }
        CoefficientContext::Neighbours(0..2) => &TOKENS[0],
        CoefficientContext::Neighbours(2..4) => &TOKENS[1],
        CoefficientContext::Neighbours(4..8) => &TOKENS[2],
        CoefficientContext::Neighbours(_) => {
            // From a context of eight on, the code has a fixed length.
            let code = if total == 0 { 3 } else { (total - 1) << 2 | ones };
            return bits.put(u32::try_from(code).unwrap_or(3), 6);
        }
    };
    let (length, code) = table[total][ones];
    bits.put(u32::from(code), u32::from(length));
}

fn write_levels(bits: &mut BitWriter, levels: &[i32], ones: usize) {
    let mut suffix_bits = u32::from(levels.len() > 10 && ones < 3);
    for (at, level) in levels.iter().enumerate().skip(ones) {
        let magnitude = level.unsigned_abs();
        let mut code = 2 * magnitude - if *level > 0 { 2 } else { 1 };
        if at == ones && ones < 3 {
            // It cannot be ±1, or it would count as a trailing one.
            code -= 2;
        }
        // Levels above this need an escape code.
        let short = if suffix_bits == 0 { 14 } else { 15 << suffix_bits };
        if code < short {
            bits.put(1, (code >> suffix_bits) + 1);
            bits.put(code, suffix_bits);
        } else if suffix_bits == 0 && code < 30 {
            bits.put(1, 15);
            bits.put(code - 14, 4);
        } else {
            bits.put(1, 16);
            bits.put(code - if suffix_bits == 0 { 30 } else { short }, 12);
        }
        // Later levels tend to be larger, so the suffix grows with them.
        suffix_bits = suffix_bits.max(1);
        if magnitude > 3 << (suffix_bits - 1) && suffix_bits < 6 {
            suffix_bits += 1;
        }
    }
}

const N: (u8, u8) = (0, 0);

#[rustfmt::skip]
const TOKENS: [TokenTable; 3] = [
    [
        [(1, 1), N, N, N], [(6, 5), (2, 1), N, N], [(8, 7), (6, 4), (3, 1), N], [(9, 7), (8, 6), (7, 5), (5, 3)],
        [(10, 7), (9, 6), (8, 5), (6, 3)], [(11, 7), (10, 6), (9, 5), (7, 4)], [(13, 15), (11, 6), (10, 5), (8, 4)],
        [(13, 11), (13, 14), (11, 5), (9, 4)], [(13, 8), (13, 10), (13, 13), (10, 4)], [(14, 15), (14, 14), (13, 9), (11, 4)],
        [(14, 11), (14, 10), (14, 13), (13, 12)], [(15, 15), (15, 14), (14, 9), (14, 12)], [(15, 11), (15, 10), (15, 13), (14, 8)],
        [(16, 15), (15, 1), (15, 9), (15, 12)], [(16, 11), (16, 14), (16, 13), (15, 8)], [(16, 7), (16, 10), (16, 9), (16, 12)],
        [(16, 4), (16, 6), (16, 5), (16, 8)],
    ],
    [
        [(2, 3), N, N, N], [(6, 11), (2, 2), N, N], [(6, 7), (5, 7), (3, 3), N], [(7, 7), (6, 10), (6, 9), (4, 5)],
        [(8, 7), (6, 6), (6, 5), (4, 4)], [(8, 4), (7, 6), (7, 5), (5, 6)], [(9, 7), (8, 6), (8, 5), (6, 8)],
        [(11, 15), (9, 6), (9, 5), (6, 4)], [(11, 11), (11, 14), (11, 13), (7, 4)], [(12, 15), (11, 10), (11, 9), (9, 4)],
        [(12, 11), (12, 14), (12, 13), (11, 12)], [(12, 8), (12, 10), (12, 9), (11, 8)], [(13, 15), (13, 14), (13, 13), (12, 12)],
        [(13, 11), (13, 10), (13, 9), (13, 12)], [(13, 7), (14, 11), (13, 6), (13, 8)], [(14, 9), (14, 8), (14, 10), (13, 1)],
        [(14, 7), (14, 6), (14, 5), (14, 4)],
    ],
    [
        [(4, 15), N, N, N], [(6, 15), (4, 14), N, N], [(6, 11), (5, 15), (4, 13), N], [(6, 8), (5, 12), (5, 14), (4, 12)],
        [(7, 15), (5, 10), (5, 11), (4, 11)], [(7, 11), (5, 8), (5, 9), (4, 10)], [(7, 9), (6, 14), (6, 13), (4, 9)],
        [(7, 8), (6, 10), (6, 9), (4, 8)], [(8, 15), (7, 14), (7, 13), (5, 13)], [(8, 11), (8, 14), (7, 10), (6, 12)],
        [(9, 15), (8, 10), (8, 13), (7, 12)], [(9, 11), (9, 14), (8, 9), (8, 12)], [(9, 8), (9, 10), (9, 13), (8, 8)],
        [(10, 13), (9, 7), (9, 9), (9, 12)], [(10, 9), (10, 12), (10, 11), (10, 10)], [(10, 5), (10, 8), (10, 7), (10, 6)],
        [(10, 1), (10, 4), (10, 3), (10, 2)],
    ],
];

const CHROMA_DC_TOKENS: [[(u8, u8); 4]; 5] = [
    [(2, 1), N, N, N],
    [(6, 7), (1, 1), N, N],
    [(6, 4), (6, 6), (3, 1), N],
    [(6, 3), (7, 3), (7, 2), (6, 5)],
    [(6, 2), (8, 3), (8, 2), (7, 0)],
];

#[rustfmt::skip]
const TOTAL_ZEROS: [&[(u8, u8)]; 15] = [
    &[(1, 1), (3, 3), (3, 2), (4, 3), (4, 2), (5, 3), (5, 2), (6, 3), (6, 2), (7, 3), (7, 2), (8, 3), (8, 2), (9, 3), (9, 2), (9, 1)],
    &[(3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (4, 5), (4, 4), (4, 3), (4, 2), (5, 3), (5, 2), (6, 3), (6, 2), (6, 1), (6, 0)],
    &[(4, 5), (3, 7), (3, 6), (3, 5), (4, 4), (4, 3), (3, 4), (3, 3), (4, 2), (5, 3), (5, 2), (6, 1), (5, 1), (6, 0)],
    &[(5, 3), (3, 7), (4, 5), (4, 4), (3, 6), (3, 5), (3, 4), (4, 3), (3, 3), (4, 2), (5, 2), (5, 1), (5, 0)],
    &[(4, 5), (4, 4), (4, 3), (3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (4, 2), (5, 1), (4, 1), (5, 0)],
    &[(6, 1), (5, 1), (3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (3, 2), (4, 1), (3, 1), (6, 0)],
    &[(6, 1), (5, 1), (3, 5), (3, 4), (3, 3), (2, 3), (3, 2), (4, 1), (3, 1), (6, 0)],
    &[(6, 1), (4, 1), (5, 1), (3, 3), (2, 3), (2, 2), (3, 2), (3, 1), (6, 0)],
    &[(6, 1), (6, 0), (4, 1), (2, 3), (2, 2), (3, 1), (2, 1), (5, 1)],
    &[(5, 1), (5, 0), (3, 1), (2, 3), (2, 2), (2, 1), (4, 1)],
    &[(4, 0), (4, 1), (3, 1), (3, 2), (1, 1), (3, 3)],
    &[(4, 0), (4, 1), (2, 1), (1, 1), (3, 1)],
    &[(3, 0), (3, 1), (1, 1), (2, 1)],
    &[(2, 0), (2, 1), (1, 1)],
    &[(1, 0), (1, 1)],
];

const CHROMA_DC_ZEROS: [&[(u8, u8)]; 3] = [
    &[(1, 1), (2, 1), (3, 1), (3, 0)],
    &[(1, 1), (2, 1), (2, 0)],
    &[(1, 1), (1, 0)],
];

#[rustfmt::skip]
const RUN_BEFORE: [&[(u8, u8)]; 7] = [
    &[(1, 1), (1, 0)],
    &[(1, 1), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (3, 1), (3, 0)],
    &[(2, 3), (2, 2), (3, 3), (3, 2), (3, 1), (3, 0)],
    &[(2, 3), (3, 0), (3, 1), (3, 3), (3, 2), (3, 5), (3, 4)],
    &[(3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (3, 2), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1), (11, 1)],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that no code is a prefix of another.
    fn check(codes: impl Iterator<Item = (u8, u8)>) {
        let codes: Vec<String> = codes
            .filter(|(length, _)| *length > 0)
            .map(|(length, code)| format!("{code:0width$b}", width = usize::from(length)))
            .collect();
        for (at, code) in codes.iter().enumerate() {
            let others = codes.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(
                others.clone().all(|(_, other)| !other.starts_with(code.as_str())),
                "{code}"
            );
        }
    }

    #[test]
    fn every_code_table_is_prefix_free() {
        TOKENS.iter().for_each(|table| check(table.iter().flatten().copied()));
        check(CHROMA_DC_TOKENS.iter().flatten().copied());
        TOTAL_ZEROS
            .iter()
            .chain(&CHROMA_DC_ZEROS)
            .chain(&RUN_BEFORE)
            .for_each(|table| check(table.iter().copied()));
        for (at, table) in TOTAL_ZEROS.iter().enumerate() {
            assert_eq!(table.len(), 16 - at);
        }
    }
}
