//! Reads any bytes as a log of Claude Code: no panic, every line has a fate, reading in pieces equals reading whole,
//! and memory is bounded.

#![no_main]

use boswell_fuzz::check;
use boswell_fuzz::heap::Counting;
use libfuzzer_sys::fuzz_target;
use transcript::Agent;

#[global_allocator]
static HEAP: Counting = Counting;

fuzz_target!(|bytes: &[u8]| check(Agent::Claude, bytes));
