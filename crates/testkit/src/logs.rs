//! Builders of synthetic logs, so that a test reads like the session it describes.
//!
//! Ids and times derive from the session's name and the number of records, so the same calls give the same bytes. Records have the
//! format of real logs. A test can add what a builder does not support with [`ClaudeLog::with`], [`ClaudeLog::record`] or
//! [`ClaudeLog::raw`].

mod claude;

use serde_json::{Value, json};

pub use claude::ClaudeLog;

/// The token usage of one API call. Becomes the `usage` object of current versions of Claude Code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that were not cached.
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

/// The FNV-1a hash, which is good enough to distinguish names.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
