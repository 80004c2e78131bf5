//! The CPU time of a process as the system reports it. Linux only; unknown elsewhere.

use std::fs;

/// The clock ticks in which Linux reports CPU time.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the CPU seconds of this process so far, over all threads.
pub fn cpu_seconds() -> Option<f64> {
    seconds_at(11)
}

/// Returns the CPU seconds of its ended children, over all their threads.
#[allow(dead_code)] // Not every bench has children.
pub fn children_cpu_seconds() -> Option<f64> {
    seconds_at(13)
}

/// Adds user and system time, which are adjacent fields.
fn seconds_at(field: usize) -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The process name may contain anything, so the fields are counted from its closing bracket.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok());
    Some((ticks(field)? + ticks(field + 1)?) / TICKS_PER_SECOND)
}
