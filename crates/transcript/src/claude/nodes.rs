//! The graph of records: which event a record's parent is, and which records were here before.
//!
//! Claude Code links records by `uuid` and `parentUuid`, through records that give no event as well. A
//! parent may be missing, or written after its child.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Hash of an id of the agent's, stable over versions and machines, since it is kept in a reader's state.
pub(super) fn hash(id: &str) -> u64 {
    match uuid(id) {
        Some(uuid) => (uuid >> 64) as u64 ^ uuid as u64,
        None => {
            let bytes = blake3::hash(id.as_bytes());
            u64::from_le_bytes(*bytes.as_bytes().first_chunk().expect("a hash has 32 bytes"))
        }
    }
}

/// Hash of two ids together.
pub(super) fn hash_pair(first: u64, second: u64) -> u64 {
    (first.rotate_left(23) ^ second).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The value of an id that is a UUID.
pub(super) fn uuid(id: &str) -> Option<u128> {
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

/// A record we met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    /// The last event of the record, or of the nearest record above it that has one.
    seq: Option<u64>,
    /// Tells a copy of the record from another record with the same id.
    stamp: u32,
}

/// All records met, by hash of their `uuid`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Nodes(FxHashMap<u64, Node>);

impl Nodes {
    /// The event that the record `uuid` stands for: none if it is not known, `Some(None)` at a root.
    pub(super) fn seq(&self, uuid: &str) -> Option<Option<u64>> {
        self.0.get(&hash(uuid)).map(|node| node.seq)
    }

    /// Whether the very same record was here before.
    pub(super) fn is_copy(&self, uuid: &str, stamp: u32) -> bool {
        self.0.get(&hash(uuid)).is_some_and(|node| node.stamp == stamp)
    }

    /// Remembers a record.
    pub(super) fn add(&mut self, uuid: &str, seq: Option<u64>, stamp: u32) {
        self.0.insert(hash(uuid), Node { seq, stamp });
    }
}

/// Maps are kept in order, so that equal states are equal bytes.
pub(super) fn in_order<K: Ord + Serialize, V: Serialize, S: Serializer>(
    map: &FxHashMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    entries.serialize(serializer)
}

/// Reads back what [`in_order`] wrote.
pub(super) fn from_entries<'de, K, V, D>(deserializer: D) -> Result<FxHashMap<K, V>, D::Error>
where
    K: Eq + std::hash::Hash + Deserialize<'de>,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Vec::<(K, V)>::deserialize(deserializer).map(|entries| entries.into_iter().collect())
}

impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_order(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_entries(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_is_a_uuid() {
        assert_eq!(uuid("00000000-0000-0000-0000-0000000000ff"), Some(255));
        for odd in ["", "full", "0000000000000000000000000000000000ff", "g0000000-0000-0000-0000-0000000000ff"] {
            assert_eq!(uuid(odd), None, "{odd}");
        }
    }
}
