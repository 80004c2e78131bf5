//! What a process costs: its CPU time, as the system tells it. Linux only; elsewhere unknown.

use std::fs;

/// Ticks of the clock by which Linux tells CPU time to programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of CPU that this process took so far, over all threads.
pub fn cpu_seconds() -> Option<f64> {
    seconds_at(11)
}

/// Seconds of CPU that its children took which have ended, over all their threads.
#[allow(dead_code)] // Not every bench has children.
pub fn children_cpu_seconds() -> Option<f64> {
    seconds_at(13)
}

/// Time in the program and in the kernel stand side by side.
fn seconds_at(field: usize) -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name may hold anything; what follows its last bracket may not.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok());
    Some((ticks(field)? + ticks(field + 1)?) / TICKS_PER_SECOND)
}
