//! Any bytes as a log of Claude Code: no panic, no line without a fate, pieces equal the whole, memory in bounds.

#![no_main]

use boswell_fuzz::heap::{Counting, peak_of};
use boswell_fuzz::{Input, count_lines, text_bytes};
use libfuzzer_sys::fuzz_target;
use transcript::{Agent, PartKind, bodies};

#[global_allocator]
static HEAP: Counting = Counting;

/// The state keeps a few words per record: never more than this many bytes per byte read.
const STATE_FACTOR: usize = 8;
/// Events repeat ids and cut texts of the log; each also has a name made of its line and block.
const TEXT_FACTOR: usize = 8;
const TEXT_PER_EVENT: usize = 64;
/// The heap of one reading, events included. The shortest block that is an event has 4 bytes; the event and
/// its block take some 250 each, three times that while a list grows. What is more is no longer linear.
const HEAP_FACTOR: usize = 512;
const SLACK: usize = 1 << 20;
/// A record that changes an earlier event has some dozens of bytes, and changes a few.
const BYTES_PER_AMENDMENT: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let Some(input) = Input::of(bytes) else { return };
    let size = input.log.len();
    let ((reading, state), peak) = peak_of(|| input.read_whole());
    assert_eq!(reading.fates.lines(), count_lines(input.log), "fates add up to lines");
    assert_eq!(
        state.lines(PartKind::Log),
        count_lines(input.log),
        "the state knows how many lines it read"
    );

    let state_bytes = state.to_bytes();
    assert!(
        state_bytes.len() <= STATE_FACTOR * size + 4_096,
        "state of {} bytes after {size} bytes",
        state_bytes.len()
    );
    let text = text_bytes(&reading);
    assert!(
        text <= TEXT_FACTOR * size + TEXT_PER_EVENT * reading.events.len() + 4_096,
        "{} events with {text} bytes of text from {size} bytes",
        reading.events.len()
    );
    assert!(
        peak <= HEAP_FACTOR * size + SLACK,
        "heap of {peak} bytes for {size} bytes"
    );

    let (pieces, state_after_pieces, amendments) = input.read_in_pieces();
    assert!(
        amendments <= size / BYTES_PER_AMENDMENT + 64,
        "{amendments} amendments from {size} bytes"
    );
    assert!(
        pieces == reading,
        "pieces {:?}\n{pieces:#?}\nwhole\n{reading:#?}",
        input.cuts
    );
    assert!(
        state_after_pieces.to_bytes() == state_bytes,
        "state after pieces {:?}\n{state_after_pieces:#?}\nwhole\n{state:#?}",
        input.cuts
    );

    for line in input.log.split(|byte| *byte == b'\n') {
        bodies(Agent::Claude, line);
    }
});
