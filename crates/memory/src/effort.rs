//! How long a session took, and how often the user intervened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a session took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct SessionTime {
    /// From the first event to the last.
    pub wall_s: u64,
    /// Without gaps between events of more than `idle_after_s`: see [`crate::active`].
    pub active_s: u64,
    pub idle_after_s: u64,
    /// The number of such gaps during which no tool was running, and the longest of them.
    pub pauses: u32,
    pub longest_pause_s: u64,
}

/// How often a human intervened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Interventions {
    pub interrupts: u32,
    pub denials: u32,
    pub steerings: u32,
    pub rewinds: u32,
}

impl Interventions {
    /// Returns the number of all interventions.
    pub fn total(&self) -> u32 {
        self.interrupts + self.denials + self.steerings + self.rewinds
    }
}
