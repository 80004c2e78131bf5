//! The baseline of instruction counts in `benches/baseline.json`, and the comparison with it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// A larger increase over the baseline is a loss.
const LOSS_PERCENT: u64 = 5;

/// Instruction counts, and the tools and processor they depend on.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Baseline {
    pub rustc: String,
    pub valgrind: String,
    pub processor: String,
    pub instructions: BTreeMap<String, u64>,
}

impl Baseline {
    pub fn tools(&self) -> String {
        format!("{}, {}, {}", self.rustc, self.valgrind, self.processor)
    }
}

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    /// This many paths take more instructions than allowed, or are not in the baseline.
    Losses(usize),
    /// The counts are not comparable, because the tools or the processor differ.
    NotJudged,
}

/// Compares the counts path by path. Returns a table and the verdict.
pub fn judge(now: &Baseline, before: &Baseline) -> (String, Verdict) {
    let mut losses = 0;
    let mut table = String::from("| path | instructions | baseline | change |\n|---|---:|---:|---:|\n");
    for (name, count) in &now.instructions {
        let Some(base) = before.instructions.get(name) else {
            losses += 1;
            _ = writeln!(table, "| {name} | {count} | none | **not in the baseline** |");
            continue;
        };
        let change = (*count as f64 / *base as f64 - 1.0) * 100.0;
        let verdict = match count * 100 {
            parts if parts > base * (100 + LOSS_PERCENT) => {
                losses += 1;
                " **loss**"
            }
            parts if parts < base * (100 - LOSS_PERCENT) => " gain: bless it",
            _ => "",
        };
        _ = writeln!(table, "| {name} | {count} | {base} | {change:+.2} %{verdict} |");
    }
    let verdict = match losses {
        _ if now.tools() != before.tools() => Verdict::NotJudged,
        0 => Verdict::Holds,
        losses => Verdict::Losses(losses),
    };
    (table, verdict)
}
