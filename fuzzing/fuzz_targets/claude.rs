//! Any bytes as a log of Claude Code: no panic, no line without a fate, pieces equal the whole, memory in bounds.

#![no_main]

use boswell_fuzz::check;
use boswell_fuzz::heap::Counting;
use libfuzzer_sys::fuzz_target;
use transcript::Agent;

#[global_allocator]
static HEAP: Counting = Counting;

fuzz_target!(|bytes: &[u8]| check(Agent::Claude, bytes));
