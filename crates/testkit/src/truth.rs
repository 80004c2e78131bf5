//! Generates logs whose token counts are known.
//!
//! The logs contain traps that make readers count wrong. [`Truth`] is computed while they are written, not by reading them back. The
//! same seed gives the same bytes. The rules are those of `docs/tokens.md`; if a form is ambiguous in real logs, it is not generated.

mod claude;
mod codex;
mod grok;
#[cfg(test)]
mod recount;

use std::collections::BTreeMap;
use std::ops::AddAssign;

pub use claude::claude;
pub use codex::codex;
pub use grok::grok;

/// Generated files and their expected counts.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// Path relative to the agent's root, and content. An original precedes its forks.
    pub files: Vec<(String, Vec<u8>)>,
    /// Small files beside the logs that state the kind of a session: path and content.
    pub companions: Vec<(String, Vec<u8>)>,
    /// The expected counts.
    pub truth: Truth,
}

/// Tokens per model. The key is `None` if the log names no model.
pub type Totals = BTreeMap<Option<String>, Tokens>;

/// The expected counts of a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// All calls, each counted once.
    pub all: Totals,
    /// All calls by the session that made them. Adds up to `all`.
    pub sessions: BTreeMap<String, Totals>,
    /// Each session, with its subagents, counted on its own, so that forks include what they copied.
    pub alone: BTreeMap<String, Totals>,
    /// Each file counted on its own.
    pub files: BTreeMap<String, Totals>,
    /// All calls by the UTC day of the record that counts.
    pub days: BTreeMap<String, Tokens>,
    /// How often each trap occurs.
    pub traps: BTreeMap<&'static str, u64>,
}

/// Token sums over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// API calls.
    pub calls: u64,
    /// Number of these with `speed: "fast"`.
    pub fast_calls: u64,
    /// Input tokens that were not cached.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache for five minutes, and all cache writes without a stated duration.
    pub cache_write_5m: u64,
    /// Tokens written to the cache for one hour.
    pub cache_write_1h: u64,
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.calls += other.calls;
        self.fast_calls += other.fast_calls;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write_5m += other.cache_write_5m;
        self.cache_write_1h += other.cache_write_1h;
    }
}

/// Returns the sum over all models.
pub fn sum(totals: &Totals) -> Tokens {
    totals.values().fold(Tokens::default(), |mut sum, tokens| {
        sum += *tokens;
        sum
    })
}

/// One API call as it must be counted.
#[derive(Clone, Debug)]
struct CountedCall {
    model: Option<String>,
    tokens: Tokens,
    day: String,
}

impl Truth {
    fn in_file(&mut self, path: &str, call: &CountedCall) {
        enter(self.files.entry(path.to_owned()).or_default(), call);
    }

    fn in_session(&mut self, session: &str, call: &CountedCall) {
        enter(self.alone.entry(session.to_owned()).or_default(), call);
    }

    fn once(&mut self, session: &str, call: &CountedCall) {
        enter(&mut self.all, call);
        enter(self.sessions.entry(session.to_owned()).or_default(), call);
        *self.days.entry(call.day.clone()).or_default() += call.tokens;
    }
}

fn enter(totals: &mut Totals, call: &CountedCall) {
    *totals.entry(call.model.clone()).or_default() += call.tokens;
}

/// A seeded random number generator (splitmix64).
pub(crate) struct SeededRandom(pub(crate) u64);

impl SeededRandom {
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next_u64() % (high - low + 1)
    }

    /// Returns a number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next_u64() % count as u64).expect("below a usize")
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.next_u64() & 1 == 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.between(0, last as u64);
            items.swap(last, usize::try_from(other).expect("an index"));
        }
    }
}
