//! Tests of the readers from outside: made-up logs, logs with known truth, and real ones where they are.

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
            .resume(PartKind::Log, &mut Lines::new(bytes))
            .expect("bytes in memory can be read"),
    );
    reading.settle();
    (reading, state)
}

/// How many lines a log has: a last line without a line break is one.
fn count_lines(bytes: &[u8]) -> u64 {
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    breaks + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}
