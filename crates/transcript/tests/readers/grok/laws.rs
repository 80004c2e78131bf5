//! Pieces equal the whole, companions come in any order, and no bytes panic.

use proptest::prelude::*;
use transcript::{Lines, PartKind, Reading, State};

use super::{Directory, fixture};
use crate::pieces::places;

/// Reads a directory whose parts grow, each cut at places of its own; the state is kept as bytes in between.
fn read_in_pieces(directory: &Directory, cuts_of: &dyn Fn(&[u8]) -> Vec<usize>) -> (Reading, State) {
    let mut state = directory.state();
    let mut reading = Reading::default();
    for (part, bytes) in &directory.lines {
        let mut from = 0;
        for cut in cuts_of(bytes).into_iter().chain([bytes.len()]) {
            let whole = bytes[..cut]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            let to = if cut == bytes.len() { cut } else { whole };
            if to < from {
                continue;
            }
            state = State::from_bytes(&state.to_bytes()).expect("a state reads back what it wrote");
            let mut lines = Lines::resume(&bytes[from..to], state.lines(*part), from as u64);
            reading.apply(state.resume(*part, &mut lines).expect("bytes can be read"));
            from = to;
        }
    }
    reading.settle();
    (reading, state)
}

/// Asserts the law for one directory and one way to cut its parts.
pub(super) fn check(directory: &Directory, cuts_of: &dyn Fn(&[u8]) -> Vec<usize>) {
    let (whole, state) = directory.read();
    let (pieces, state_after_pieces) = read_in_pieces(directory, cuts_of);
    assert_eq!(whole, pieces, "{}", directory.path);
    assert_eq!(
        state.to_bytes(),
        state_after_pieces.to_bytes(),
        "state of {}",
        directory.path
    );
    assert_eq!(whole.fates.lines(), directory.count_lines(), "{}", directory.path);
}

#[test]
fn made_up_sessions_read_the_same_in_pieces() {
    for number in 1..=14 {
        let directory = fixture(number);
        let line_by_line = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect();
        check(&directory, &line_by_line);
        for seed in 1..20 {
            check(&directory, &|bytes| places(seed * 7919, 9, bytes.len()));
        }
    }
}

#[test]
fn companions_tell_the_same_before_and_after_the_lines() {
    for number in [1, 2, 3, 5, 8] {
        let directory = fixture(number);
        let (before, _) = directory.read();
        let late = Directory {
            path: directory.path.clone(),
            companions: Vec::new(),
            lines: directory.lines.clone(),
        };
        let (mut after, mut state) = late.read();
        for (part, bytes) in &directory.companions {
            state.companion(*part, bytes);
        }
        assert!(!state.is_stale(), "{}", directory.path);
        let mut delta = transcript::Delta::default();
        state.close(&mut delta);
        after.apply(delta);
        after.settle();
        assert_eq!(before, after, "{}", directory.path);
    }
}

#[test]
fn a_companion_that_changes_who_speaks_after_the_first_line_makes_the_reading_stale() {
    for number in [4, 6] {
        let directory = fixture(number);
        let log = &directory.lines[0].1;
        let (_, mut state) = Directory::of_log(&directory.path, log).read();
        for (part, bytes) in &directory.companions {
            state.companion(*part, bytes);
        }
        assert!(state.is_stale(), "{}", directory.path);
        // Given first, they make nobody's words a human's.
        let (reading, state) = directory.read();
        assert!(!state.is_stale());
        assert!(!reading.events.iter().any(|event| event.trigger), "{}", directory.path);
    }
}

/// Words that steer the reader, in any order, with any damage.
const WORDS: &[&str] = &[
    "{",
    "}",
    "\"",
    "\n",
    "\0",
    "\\ud83d",
    "null",
    "\"params\":{\"update\":{",
    "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\"",
    "\"promptIndex\":1",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"go\"},\"_meta\":{\"promptIndex\":0}}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"no\"}}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"a\"}},\"_meta\":{\"promptId\":\"p1\",\"streamStartMs\":5,\"totalTokens\":100}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"b\"}},\"_meta\":{\"promptId\":\"p2\",\"streamStartMs\":6,\"totalTokens\":150}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c1\",\"title\":\"Run it\"}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"title\":\"bash\",\"kind\":\"execute\",\"rawInput\":{\"command\":\"cargo test\"}}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c1\",\"status\":\"completed\",\"rawOutput\":{\"exit_code\":1,\"output\":[104]}}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"rewind_marker\",\"target_prompt_index\":0}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"turn_completed\",\"prompt_id\":\"p1\",\"usage\":{\"inputTokens\":9,\"outputTokens\":2}},\"_meta\":{\"eventId\":\"s-1\"}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"turn_completed\",\"prompt_id\":\"p1\",\"usage\":{\"modelUsage\":{\"a\":{\"inputTokens\":9},\"b\":{\"inputTokens\":1}}}},\"_meta\":{\"eventId\":\"s-2\"}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"text\":\"old\"}},\"_meta\":{\"eventId\":\"other-1\"}}}\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2_000 }))]

    #[test]
    fn no_bytes_panic_and_every_line_has_a_fate(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for part in [PartKind::Log, PartKind::Events, PartKind::ChatHistory] {
            let directory = Directory { path: "x/s/updates.jsonl".to_owned(), companions: Vec::new(), lines: vec![(part, bytes.clone())] };
            let (reading, _) = directory.read();
            prop_assert_eq!(reading.fates.lines(), directory.count_lines());
        }
    }

    #[test]
    fn no_heap_of_words_panics_and_pieces_equal_the_whole(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..40),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let log = words.concat().into_bytes();
        let directory = Directory::of_log("x/s/updates.jsonl", &log);
        check(&directory, &|bytes| {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            cuts
        });
    }

    #[test]
    fn no_companion_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut directory = fixture(4);
        for part in [PartKind::Summary, PartKind::PromptContext, PartKind::Signals, PartKind::Meta, PartKind::PlanMode] {
            directory.companions.push((part, bytes.clone()));
        }
        directory.read();
    }
}
