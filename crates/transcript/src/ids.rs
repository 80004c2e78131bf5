//! Ids of the agents' own, kept as hashes: a reader's state knows thousands of them.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Hash of an id of the agent's, stable over versions and machines, since it is kept in a reader's state.
pub(crate) fn hash(id: &str) -> u64 {
    match uuid(id) {
        Some(uuid) => (uuid >> 64) as u64 ^ uuid as u64,
        None => {
            let bytes = blake3::hash(id.as_bytes());
            u64::from_le_bytes(*bytes.as_bytes().first_chunk().expect("a hash has 32 bytes"))
        }
    }
}

/// Hash of two ids together.
pub(crate) fn hash_pair(first: u64, second: u64) -> u64 {
    (first.rotate_left(23) ^ second).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The value of an id that is a UUID.
pub(crate) fn uuid(id: &str) -> Option<u128> {
    let bytes = id.as_bytes();
    if bytes.len() != 36 {
        return None;
    }
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let digit = match byte {
            _ if matches!(at, 8 | 13 | 18 | 23) => match byte {
                b'-' => continue,
                _ => return None,
            },
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        value = value << 4 | u128::from(digit);
    }
    Some(value)
}

/// Maps are kept in order, so that equal states are equal bytes.
pub(crate) fn in_order<K: Ord + Serialize, V: Serialize, S: Serializer>(
    map: &FxHashMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    entries.serialize(serializer)
}

/// Reads back what [`in_order`] wrote.
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
