//! Logs whose token counts are known before anybody reads them.
//!
//! [`claude`] writes session files full of the traps that make readers count wrong, and keeps the books while it writes:
//! [`Truth`] is what was planted, not what was read back. Same seed, same bytes. No clock, no disk, no other generator.
//! The rules are those of `docs/tokens.md`; where a real log leaves two readings open, nothing is planted.

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

/// Files and what they add up to.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// Path under the agent's home, and bytes; an original stands before its forks.
    pub files: Vec<(String, Vec<u8>)>,
    /// Small files beside the logs that say what kind of session it is: path and bytes.
    pub companions: Vec<(String, Vec<u8>)>,
    /// What was planted.
    pub truth: Truth,
}

/// Tokens per model; `None` where the log names no model.
pub type Totals = BTreeMap<Option<String>, Tokens>;

/// The books.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every call once.
    pub all: Totals,
    /// Every call once, in the session that made it: adds up to `all`.
    pub sessions: BTreeMap<String, Totals>,
    /// Each session (its log and its subagents) as if there were no other: forks hold what they copied.
    pub alone: BTreeMap<String, Totals>,
    /// Each file as if there were no other.
    pub files: BTreeMap<String, Totals>,
    /// Every call once, by day (UTC) of the row that counts.
    pub days: BTreeMap<String, Tokens>,
    /// How often each trap was planted.
    pub traps: BTreeMap<&'static str, u64>,
}

/// Sums over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// API calls.
    pub calls: u64,
    /// Of these, calls at `speed: "fast"`.
    pub fast_calls: u64,
    /// Tokens read anew.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache for five minutes, and all writes of logs that do not tell.
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

/// The sum over all models.
pub fn sum(totals: &Totals) -> Tokens {
    totals.values().fold(Tokens::default(), |mut sum, tokens| {
        sum += *tokens;
        sum
    })
}

/// One API call as it must be counted.
#[derive(Clone, Debug)]
struct Bill {
    model: Option<String>,
    tokens: Tokens,
    day: String,
}

impl Truth {
    fn in_file(&mut self, path: &str, bill: &Bill) {
        enter(self.files.entry(path.to_owned()).or_default(), bill);
    }

    fn in_session(&mut self, session: &str, bill: &Bill) {
        enter(self.alone.entry(session.to_owned()).or_default(), bill);
    }

    fn once(&mut self, session: &str, bill: &Bill) {
        enter(&mut self.all, bill);
        enter(self.sessions.entry(session.to_owned()).or_default(), bill);
        *self.days.entry(bill.day.clone()).or_default() += bill.tokens;
    }
}

fn enter(totals: &mut Totals, bill: &Bill) {
    *totals.entry(bill.model.clone()).or_default() += bill.tokens;
}

/// A seeded source of numbers (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll() % (high - low + 1)
    }

    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.roll() % count as u64).expect("below a usize")
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.roll() & 1 == 1
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
