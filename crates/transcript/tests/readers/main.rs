//! Tests of the readers from outside: invented logs, logs with known counts, and real ones if available.

mod claude;
mod codex;
mod corpus;
mod grok;
mod pieces;
mod tokens;

use transcript::{Agent, Lines, Origin, PartKind, Reading, State};

/// Reads a whole log.
fn read(agent: Agent, path: &str, bytes: &[u8]) -> (Reading, State) {
    let mut state = State::new(agent, Origin::of(path));
    let mut reading = Reading::default();
    reading.apply(
        state
            .read_unmasked(PartKind::Log, &mut Lines::new(bytes))
            .expect("bytes in memory can be read"),
    );
    reading.settle();
    (reading, state)
}

/// Returns the number of lines of a log: a last line without a line break is one.
fn count_lines(bytes: &[u8]) -> u64 {
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    breaks + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}
