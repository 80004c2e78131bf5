//! Made-up logs, written the way an agent writes them, so that a test reads as a story.
//!
//! Ids and times follow from the session's name and from the number of records before: the same calls give the same
//! bytes. No clock, no disk. The shapes are those of real logs; the words are ours. What a builder does not know, a test
//! says with [`ClaudeLog::with`], [`ClaudeLog::record`] or [`ClaudeLog::raw`].

mod claude;

use serde_json::{Value, json};

pub use claude::ClaudeLog;

/// What one API call reports. Becomes the `usage` object of today's Claude Code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read anew.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Tokens written to the cache for one hour.
    pub cache_write_1h: u64,
}

impl From<Usage> for Value {
    fn from(usage: Usage) -> Value {
        json!({
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.cache_write_5m,
                "ephemeral_1h_input_tokens": usage.cache_write_1h,
            },
            "service_tier": "standard",
        })
    }
}

/// FNV-1a: enough to tell two names apart.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
