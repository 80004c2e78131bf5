//! Parses any bytes as a stored state: it is rejected, or reading continues with it. An accepted state serializes to
//! the same state.

#![no_main]

use libfuzzer_sys::fuzz_target;
use transcript::{Agent, Lines, Origin, PartKind, Reading, State};

/// Lines that touch every part of the state: graph, tools, bills, queue, turns, titles, modes.
const LOG: &str = include_str!("state.jsonl");

fuzz_target!(|bytes: &[u8]| {
    go_on(bytes);
    // The same bytes after the current version number, because most mutations would otherwise fail at the version.
    let fresh = State::new(Agent::Claude, Origin::default());
    let version = &fresh.to_bytes()[..2];
    go_on(&[version, bytes].concat());
});

fn go_on(bytes: &[u8]) {
    let Ok(mut state) = State::from_bytes(bytes) else {
        return;
    };
    let again = State::from_bytes(&state.to_bytes());
    assert_eq!(again.as_ref(), Ok(&state), "a state reads back what it wrote");
    let mut reading = Reading::default();
    let mut lines = Lines::resume(LOG.as_bytes(), state.lines(PartKind::Log), 0);
    reading.apply(
        state
            .read_unmasked(PartKind::Log, &mut lines)
            .expect("bytes in memory can be read"),
    );
    reading.settle();
    assert_eq!(reading.fates.lines(), LOG.lines().count() as u64);
}
