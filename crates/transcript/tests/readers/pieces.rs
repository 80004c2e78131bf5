//! Reading in pieces equals reading whole, wherever the pieces are cut.

use proptest::prelude::*;
use testkit::truth;
use transcript::{Agent, Lines, Origin, PartKind, Reading, State};

use crate::{count_lines, read};

/// Reads a log cut at `cuts`, like one that grows: an incomplete last line waits for the next piece, and the state is
/// serialized in between.
pub(crate) fn read_in_pieces(agent: Agent, path: &str, bytes: &[u8], cuts: &[usize]) -> (Reading, State) {
    let mut state = State::new(agent, Origin::of(path));
    let mut reading = Reading::default();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let is_last = cut == bytes.len();
        let whole = bytes[..cut]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let to = if is_last { cut } else { whole };
        if to < from {
            continue;
        }
        state = State::from_bytes(&state.to_bytes()).expect("a state reads back what it wrote");
        let mut lines = Lines::resume(&bytes[from..to], state.lines(PartKind::Log), from as u64);
        reading.apply(
            state
                .read_unmasked(PartKind::Log, &mut lines)
                .expect("bytes in memory can be read"),
        );
        from = to;
    }
    reading.settle();
    (reading, state)
}

/// Asserts the property for one log and one way to cut it.
pub(crate) fn check(agent: Agent, path: &str, bytes: &[u8], cuts: &[usize]) {
    let (whole, state) = read(agent, path, bytes);
    let (pieces, state_after_pieces) = read_in_pieces(agent, path, bytes, cuts);
    assert_eq!(whole, pieces, "{path} cut at {cuts:?}");
    assert_eq!(
        state.to_bytes(),
        state_after_pieces.to_bytes(),
        "state of {path} cut at {cuts:?}"
    );
}

/// Returns `n` offsets in a log, by a deterministic generator so that a failure can be repeated.
pub(crate) fn places(seed: u64, n: usize, length: usize) -> Vec<usize> {
    let mut x = seed | 1;
    let mut places: Vec<usize> = (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x % (length as u64 + 1)) as usize
        })
        .collect();
    places.sort_unstable();
    places
}

#[test]
fn logs_with_every_trap_read_the_same_in_pieces() {
    let corpus = truth::claude(7, 12);
    for (n, (path, bytes)) in corpus.files.iter().enumerate() {
        check(Agent::Claude, path, bytes, &places(n as u64 + 1, 20, bytes.len()));
    }
}

#[test]
fn a_log_read_line_by_line_reads_the_same() {
    let corpus = truth::claude(3, 2);
    for (path, bytes) in &corpus.files {
        let every: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect();
        check(Agent::Claude, path, bytes, &every);
    }
}

/// Words that control a reader, in any order, with any damage.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\n",
    "\\",
    "\\ud83d",
    "\u{2028}",
    "\0",
    "null",
    "1e999",
    "-1",
    "\"type\":\"user\"",
    "\"type\":\"assistant\"",
    "\"type\":\"system\"",
    "\"type\":\"attachment\"",
    "\"type\":\"queue-operation\"",
    "\"operation\":\"enqueue\"",
    "\"operation\":\"remove\"",
    "\"content\":",
    "\"message\":{",
    "\"uuid\":\"u1\"",
    "\"parentUuid\":\"u1\"",
    "\"usage\":{\"output_tokens\":5}",
    "\"id\":\"m1\"",
    "{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"u1\",\"message\":{\"content\":\"go\"}}\n",
    "{\"type\":\"assistant\",\"uuid\":\"u1\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}],\"usage\":{\"output_tokens\":3}}}\n",
    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,\"content\":\"Exit code 1\"}]}}\n",
    "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"also this\"}\n",
    "{\"type\":\"queue-operation\",\"operation\":\"remove\"}\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3_000 }))]

    #[test]
    fn no_bytes_panic_and_every_line_has_a_fate(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (reading, _) = read(Agent::Claude, "x.jsonl", &bytes);
        prop_assert_eq!(reading.fates.lines(), count_lines(&bytes));
    }

    #[test]
    fn no_mix_of_words_panics_and_pieces_equal_the_whole(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let log = words.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(log.len() + 1)).collect();
        cuts.sort_unstable();
        let (reading, _) = read(Agent::Claude, "x.jsonl", &log);
        prop_assert_eq!(reading.fates.lines(), count_lines(&log));
        check(Agent::Claude, "x.jsonl", &log, &cuts);
    }

    #[test]
    fn a_damaged_state_is_rejected_or_read_but_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(mut state) = State::from_bytes(&bytes) {
            let log = b"{\"type\":\"user\",\"message\":{\"content\":\"go on\"}}\n";
            let mut lines = Lines::resume(&log[..], state.lines(PartKind::Log), 0);
            state.read_unmasked(PartKind::Log, &mut lines).expect("bytes in memory can be read");
        }
    }
}
