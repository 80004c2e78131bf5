//! What counts of instructions are compared with, as it is kept in `benches/baseline.json`, and what is made of the comparison.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// More than this over the baseline is a loss.
const LOSS_PERCENT: u64 = 5;

/// Counts, and with what they were counted.
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

/// What a comparison comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    /// So many paths take more than they may, or are not in the baseline.
    Losses(usize),
    /// Other tools count otherwise.
    NotJudged,
}

/// Compares path by path, and tells it as a table.
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
