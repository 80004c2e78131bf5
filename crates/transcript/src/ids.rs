//! Hashes of the agents' own ids. A reader's state contains thousands of them.

use std::num::NonZeroU32;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An odd number whose bits are well distributed.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes an id. The hash is stored in readers' states, so it is our own and never changes. It needs no protection
/// against collisions because ids are not secret, and a forged collision only affects the log that contains it.
pub(crate) fn hash(id: &str) -> u64 {
    if let Some(uuid) = uuid(id) {
        return (uuid >> 64) as u64 ^ uuid as u64;
    }
    let (chunks, rest) = id.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = chunks.iter().chain([&last]).map(|chunk| u64::from_le_bytes(*chunk));
    words.fold((id.len() as u64).wrapping_mul(SPREAD), |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(SPREAD);
        mixed ^ (mixed >> 29)
    })
}

/// Hashes two hashes together.
pub(crate) fn hash_pair(first: u64, second: u64) -> u64 {
    (first.rotate_left(23) ^ second).wrapping_mul(SPREAD)
}

/// The value of each hexadecimal digit, and a marker for other bytes.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        digits[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digits[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};
const NO_DIGIT: u8 = 0xF0;

/// Parses a UUID. This runs without branches because every record has several of them.
pub(crate) fn uuid(id: &str) -> Option<u128> {
    let bytes: &[u8; 36] = id.as_bytes().try_into().ok()?;
    let mut odd = 0;
    let mut half = |at: [usize; 16]| {
        at.into_iter().fold(0u64, |value, at| {
            let digit = DIGITS[bytes[at] as usize];
            odd |= digit;
            value << 4 | u64::from(digit & 15)
        })
    };
    let high = half([0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17]);
    let low = half([19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]);
    let dashed = [8, 13, 18, 23].into_iter().all(|at| bytes[at] == b'-');
    (dashed && odd < 16).then_some(u128::from(high) << 64 | u128::from(low))
}

/// An optional `seq` in a quarter of the memory, because the state of a long log has a million of them. It is
/// serialized as an `Option<u64>`. No log has four billion events; beyond that, the value becomes `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<u64>", into = "Option<u64>")]
pub(crate) struct OptionalSeq(Option<NonZeroU32>);

impl From<Option<u64>> for OptionalSeq {
    fn from(seq: Option<u64>) -> Self {
        let above_zero = seq.and_then(|seq| u32::try_from(seq.checked_add(1)?).ok());
        Self(above_zero.and_then(NonZeroU32::new))
    }
}

impl From<OptionalSeq> for Option<u64> {
    fn from(seq: OptionalSeq) -> Self {
        seq.0.map(|above_zero| u64::from(above_zero.get() - 1))
    }
}

/// Serializes a map in the order of its keys, so that equal states are equal bytes.
pub(crate) fn in_order<K: Ord + Serialize, V: Serialize, S: Serializer>(
    map: &FxHashMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    entries.serialize(serializer)
}

/// Deserializes what [`in_order`] wrote.
pub(crate) fn from_entries<'de, K, V, D>(deserializer: D) -> Result<FxHashMap<K, V>, D::Error>
where
    K: Eq + std::hash::Hash + Deserialize<'de>,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Vec::<(K, V)>::deserialize(deserializer).map(|entries| entries.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_seq_comes_back() {
        let back = |seq| Option::<u64>::from(OptionalSeq::from(seq));
        for seq in [None, Some(0), Some(1), Some(u64::from(u32::MAX) - 1)] {
            assert_eq!(back(seq), seq);
        }
        assert_eq!(back(Some(u64::from(u32::MAX))), None);
        assert_eq!(back(Some(u64::MAX)), None);
        assert_eq!(size_of::<OptionalSeq>(), 4);
    }

    #[test]
    fn only_a_uuid_is_a_uuid() {
        assert_eq!(uuid("00000000-0000-0000-0000-0000000000ff"), Some(255));
        for odd in [
            "",
            "full",
            "0000000000000000000000000000000000ff",
            "g0000000-0000-0000-0000-0000000000ff",
        ] {
            assert_eq!(uuid(odd), None, "{odd}");
        }
    }
}
