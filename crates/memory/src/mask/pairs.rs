//! Where in a text windows of three bytes may stand, asked pair by pair. Knows nothing of what a window is for.
//!
//! A window stands in two neighbouring pairs of a text: it begins with the first byte of a pair and ends with the first of the next,
//! or it begins with the second byte and ends with a whole pair. A table tells of each pair which windows it begins and which it
//! ends, each in one of eight groups: a window can only stand where two pairs agree on a group. That is asked of eight pairs at once without a
//! branch, for a processor guesses wrongly in every text.

use std::array;

/// So many pairs are asked together, and so many places they are.
const PAIRS: usize = 8;
pub(super) const PLACES: usize = 2 * PAIRS;
/// The last windows end behind their pairs.
const BYTES: usize = PLACES + 2;

/// A window, and the bytes that stand beside it, in both ways to write them; none where any byte may.
pub(super) struct Window {
    pub(super) bytes: [u8; 3],
    pub(super) before: Option<[u8; 2]>,
    pub(super) behind: Option<[u8; 2]>,
}

/// For each pair the groups of the windows that it begins, and above those of the windows that it ends. Windows that begin with the second byte of
/// a pair have eight groups of their own.
#[derive(Debug)]
pub(super) struct Pairs(Box<[u32; 1 << 16]>);

/// On which groups pairs agree with their neighbours.
pub(super) struct Agreed([u32; PAIRS]);

impl Pairs {
    pub(super) fn of(windows: impl Iterator<Item = Window>) -> Pairs {
        let mut pairs: Box<[u32; 1 << 16]> = vec![0; 1 << 16].try_into().expect("it has that length");
        // What any pair tells that begins or ends with a byte.
        let (mut begins, mut ends) = ([0; 256], [0; 256]);
        for Window { bytes, before, behind } in windows {
            let [first, second, third] = bytes;
            let all = u32::from_le_bytes([first, second, third, 0]);
            let mut add = |first: u8, second: u8, groups: u32| pairs[pair(first, second)] |= groups;
            // Where any byte may stand beside them, windows with the same byte there share a group.
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

    /// Whether windows may stand at the first places of these bytes.
    #[inline]
    pub(super) fn agree(&self, bytes: &[u8; BYTES]) -> Option<Agreed> {
        // Four pairs are read at once.
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
    /// The places at which windows may stand.
    #[inline]
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..PLACES).filter(move |place| self.0[place / 2] & (0xff << (place % 2 * 8)) != 0)
    }
}

/// Rows of a table are pairs with the same second byte.
fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_le_bytes([first, second]))
}

fn group(number: u32) -> u32 {
    1 << (number.wrapping_mul(0x9E37_79B1) >> 15 & 7)
}
