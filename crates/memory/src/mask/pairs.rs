//! Finds the places of a text where windows of three bytes may occur, pair by pair. It does not know the purpose of a
//! window.
//!
//! A window touches two neighbouring pairs of a text: either it begins with the first byte of a pair and ends with the
//! first byte of the next, or it begins with the second byte and ends with a whole pair. A table maps each pair to the
//! windows that it can begin and those that it can end, each window in one of eight groups: a window is only possible
//! where two neighbouring pairs share a group. Eight pairs are checked at once without a branch, because a processor
//! would mispredict it in every text.

use std::array;

/// The number of pairs that are checked together, and the number of positions they cover.
const PAIRS: usize = 8;
pub(super) const PLACES: usize = 2 * PAIRS;
/// The last windows extend beyond the last pair.
const BYTES: usize = PLACES + 2;

/// A window and the bytes beside it, in both spellings; `None` if any byte is possible.
pub(super) struct Window {
    pub(super) bytes: [u8; 3],
    pub(super) before: Option<[u8; 2]>,
    pub(super) behind: Option<[u8; 2]>,
}

/// For each pair, from the lowest byte: the groups of the windows that begin with its first byte, then with its second
/// byte; then the groups of the windows of either kind that it ends.
#[derive(Debug)]
pub(super) struct Pairs(Box<[u32; 1 << 16]>);

/// The groups that each pair shares with the next.
pub(super) struct Agreed([u32; PAIRS]);

impl Pairs {
    pub(super) fn of(windows: impl Iterator<Item = Window>) -> Pairs {
        let mut pairs: Box<[u32; 1 << 16]> = vec![0; 1 << 16].try_into().expect("it has that length");
        // The groups of the windows for which one byte of the pair is arbitrary, by the other byte.
        let (mut begins, mut ends) = ([0; 256], [0; 256]);
        for Window { bytes, before, behind } in windows {
            let [first, second, third] = bytes;
            let all = u32::from_le_bytes([first, second, third, 0]);
            let mut add = |first: u8, second: u8, groups: u32| pairs[pair(first, second)] |= groups;
            // If the byte beside the window is arbitrary, all windows with the same byte next to it share a group,
            // because one row of the table is set for all of them.
            let even = group(behind.map_or(third.into(), |_| all));
            let odd = group(before.map_or(first.into(), |_| all)) << 8;
            add(first, second, even);
            add(second, third, odd << 16);
            match behind {
                Some(cases) => cases.into_iter().for_each(|behind| add(third, behind, even << 16)),
                None => begins[usize::from(third)] |= even << 16,
            }
            match before {
                Some(cases) => cases.into_iter().for_each(|before| add(before, first, odd)),
                None => ends[usize::from(first)] |= odd,
            }
        }
        for (row, ends) in pairs.chunks_exact_mut(256).zip(ends) {
            row.iter_mut()
                .zip(begins)
                .for_each(|(pair, begins)| *pair |= begins | ends);
        }
        Pairs(pairs)
    }

    /// Returns the groups in which neighbouring pairs of these bytes agree, or `None` if no window is possible here.
    #[inline]
    pub(super) fn agree(&self, bytes: &[u8; BYTES]) -> Option<Agreed> {
        // One load covers four pairs.
        let (fours, last) = bytes.as_chunks::<8>();
        let told: [u32; PAIRS + 1] = array::from_fn(|pair| {
            let pair = match fours.get(pair / 4) {
                Some(four) => (u64::from_le_bytes(*four) >> (pair % 4 * 16)) as u16,
                None => u16::from_le_bytes([last[0], last[1]]),
            };
            self.0[usize::from(pair)]
        });
        let agreed: [u32; PAIRS] = array::from_fn(|pair| told[pair] & told[pair + 1] >> 16);
        (agreed.iter().fold(0, |any, groups| any | groups) != 0).then_some(Agreed(agreed))
    }
}

impl Agreed {
    /// Returns the positions at which windows are possible.
    #[inline]
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..PLACES).filter(move |place| self.0[place / 2] & (0xff << (place % 2 * 8)) != 0)
    }
}

/// Returns the index of a pair: pairs with the same second byte form a row of the table.
fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_le_bytes([first, second]))
}

fn group(number: u32) -> u32 {
    1 << (number.wrapping_mul(0x9E37_79B1) >> 15 & 7)
}
