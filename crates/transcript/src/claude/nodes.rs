//! The graph of records: which event precedes a record, and which records were read before.
//!
//! Claude Code links records by `uuid` and `parentUuid`, including records that give no event. A parent may be
//! missing, or be written after its child.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{OptionalSeq, from_entries, hash, in_order};

/// A known record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RecordNode {
    /// The last event of the record, or of its nearest ancestor that has one.
    seq: OptionalSeq,
    /// Distinguishes a copy of the record from another record with the same id.
    stamp: u32,
}

/// All known records, by hash of their `uuid`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RecordGraph(FxHashMap<u64, RecordNode>);

impl RecordGraph {
    /// Returns the last event at or above the record `uuid`: `None` if the record is unknown, `Some(None)` at a root.
    pub(super) fn seq(&self, uuid: &str) -> Option<Option<u64>> {
        self.0.get(&hash(uuid)).map(|node| node.seq.into())
    }

    /// Returns `true` if the same record was read before.
    pub(super) fn is_copy(&self, uuid: &str, stamp: u32) -> bool {
        self.0.get(&hash(uuid)).is_some_and(|node| node.stamp == stamp)
    }

    /// Adds a record.
    pub(super) fn add(&mut self, uuid: &str, seq: Option<u64>, stamp: u32) {
        let seq = seq.into();
        self.0.insert(hash(uuid), RecordNode { seq, stamp });
    }
}

impl Serialize for RecordGraph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        in_order(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for RecordGraph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_entries(deserializer).map(Self)
    }
}
