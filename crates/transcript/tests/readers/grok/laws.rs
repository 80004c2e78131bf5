//! Reading in pieces equals reading whole, companions may come in any order, and no bytes panic.

use proptest::prelude::*;
use transcript::{Lines, PartKind, Reading, State};

use super::{Directory, fixture};
use crate::pieces::places;

/// Reads a directory whose parts grow, each cut at its own offsets; the state is serialized in between.
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
            reading.apply(state.read_unmasked(*part, &mut lines).expect("bytes can be read"));
            from = to;
        }
    }
    reading.settle();
    (reading, state)
}

/// Asserts the property for one directory and one way to cut its parts.
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

/// Reads a directory whose parts grow in parallel: in each round every part is read from its last offset to a new
/// one. A reading that became stale starts again, as in the memory. Returns how often that happened.
fn read_side_by_side(directory: &Directory, seed: u64, rounds: usize) -> (Reading, State, usize) {
    let grown: Vec<Vec<usize>> = (directory.lines.iter().zip(1..))
        .map(|((_, bytes), part)| places(seed * 31 + part, rounds, bytes.len()))
        .collect();
    let (mut state, mut reading) = (directory.state(), Reading::default());
    let mut read_to = vec![0; directory.lines.len()];
    let mut stale = 0;
    for round in 0..=rounds {
        let mut ends = Vec::new();
        for ((_, bytes), places) in directory.lines.iter().zip(&grown) {
            let cut = places.get(round).copied().filter(|_| round < rounds);
            let whole = |cut| memchr::memrchr(b'\n', &bytes[..cut]).map_or(0, |at| at + 1);
            ends.push(cut.map_or(bytes.len(), whole));
        }
        loop {
            for (at, (part, bytes)) in directory.lines.iter().enumerate() {
                let piece = &bytes[read_to[at]..ends[at].max(read_to[at])];
                let mut lines = Lines::resume(piece, state.lines(*part), read_to[at] as u64);
                reading.apply(state.read_unmasked(*part, &mut lines).expect("bytes can be read"));
                read_to[at] += piece.len();
            }
            if !state.is_stale() {
                break;
            }
            stale += 1;
            (state, reading) = (directory.state(), Reading::default());
            read_to.fill(0);
        }
        state = State::from_bytes(&state.to_bytes()).expect("a state reads back what it wrote");
    }
    reading.settle();
    (reading, state, stale)
}

/// Asserts that it does not matter which part is ahead of the other. Returns how often a reading had to start again.
pub(super) fn check_side_by_side(directory: &Directory, seeds: std::ops::Range<u64>) -> usize {
    let (mut whole, state) = directory.read();
    whole
        .faults
        .sort_by(|a, b| (a.line, &a.reason).cmp(&(b.line, &b.reason)));
    let mut begun_again = 0;
    for seed in seeds {
        let (mut grown, state_of_grown, stale) = read_side_by_side(directory, seed, 6);
        grown
            .faults
            .sort_by(|a, b| (a.line, &a.reason).cmp(&(b.line, &b.reason)));
        assert_eq!(whole, grown, "{} with seed {seed}", directory.path);
        assert_eq!(
            state.to_bytes(),
            state_of_grown.to_bytes(),
            "state of {}",
            directory.path
        );
        begun_again += stale;
    }
    begun_again
}

#[test]
fn it_does_not_matter_which_part_is_ahead_of_the_other() {
    let begun_again: usize = (1..=14)
        .map(|number| check_side_by_side(&fixture(number), 1..200))
        .sum();
    assert!(
        begun_again > 0,
        "no order ever mattered: the fixtures have no refusal that both files tell"
    );
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
fn companions_give_the_same_result_before_and_after_the_lines() {
    for number in [1, 2, 3, 8] {
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
fn a_late_companion_that_changes_authors_or_copies_makes_the_reading_stale() {
    for (number, has_human) in [(4, false), (5, true), (6, false)] {
        let directory = fixture(number);
        let log = &directory.lines[0].1;
        let (_, mut state) = Directory::of_log(&directory.path, log).read();
        for (part, bytes) in &directory.companions {
            state.companion(*part, bytes);
        }
        assert!(state.is_stale(), "{}", directory.path);
        // If the companions are read first, the authors are known and the reading is not stale.
        let (reading, state) = directory.read();
        assert!(!state.is_stale());
        let has_trigger = reading.events.iter().any(|event| event.trigger);
        assert_eq!(has_trigger, has_human, "{}", directory.path);
    }
}

/// Words that control the reader, in any order, with any damage.
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

/// Rows of the log that records of `events.jsonl` refer to. `NN` is a second of their own.
const LOG_ROWS: &[&str] = &[
    r#""sessionUpdate":"user_message_chunk","content":{"type":"text","text":"go"},"_meta":{"promptIndex":NN}"#,
    r#""sessionUpdate":"tool_call","toolCallId":"c1","title":"bash","rawInput":{"command":"make"}"#,
    r#""sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","rawOutput":{"exit_code":0}"#,
    r#""sessionUpdate":"tool_call","toolCallId":"c2","title":"edit","rawInput":{"file_path":"a"}"#,
    r#""sessionUpdate":"tool_call_update","toolCallId":"c2","status":"failed","rawOutput":{"error":"The user rejected it"}"#,
    r#""sessionUpdate":"task_backgrounded","task_id":"t1","tool_call_id":"c1","command":"make""#,
    r#""sessionUpdate":"task_completed","task_snapshot":{"task_id":"t1","exit_code":1,"start_time":{"secs_since_epoch":1,"nanos_since_epoch":0},"end_time":{"secs_since_epoch":4,"nanos_since_epoch":0}}"#,
    r#""sessionUpdate":"not_known_yet""#,
];

/// Rows of `events.jsonl`.
const EVENT_ROWS: &[&str] = &[
    r#""type":"turn_started","model_id":"grok-b","schema_version":"2026-NN""#,
    r#""type":"turn_ended","outcome":"completed""#,
    r#""type":"tool_completed","tool_call_id":"c1","duration_ms":NN,"outcome":"success""#,
    r#""type":"tool_completed","tool_call_id":"c1","outcome":"error""#,
    r#""type":"tool_completed","tool_call_id":"c2","duration_ms":NN,"outcome":"success""#,
    r#""type":"permission_resolved","tool_name":"edit","decision":"deny""#,
    r#""type":"yolo_toggled","enabled":true"#,
    r#""type":"not_known_yet""#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 5_000 }))]

    #[test]
    fn files_that_grow_in_parallel_read_like_one_after_the_other(
        log in proptest::collection::vec((0..LOG_ROWS.len(), 0..60_u32), 0..14),
        beside in proptest::collection::vec((0..EVENT_ROWS.len(), 0..60_u32), 0..14),
        has_log in any::<bool>(),
    ) {
        let mut rows = [String::new(), String::new()];
        for (row, second) in log {
            let fields = LOG_ROWS[row].replace("NN", &second.to_string());
            rows[0] += &format!(r#"{{"timestamp":{second},"method":"session/update","params":{{"sessionId":"s","update":{{{fields}}}}}}}"#);
            rows[0].push('\n');
        }
        for (row, second) in beside {
            let fields = EVENT_ROWS[row].replace("NN", &second.to_string());
            rows[1] += &format!(r#"{{"ts":"1970-01-01T00:00:{second:02}Z",{fields}}}"#);
            rows[1].push('\n');
        }
        let [log, beside] = rows.map(String::into_bytes);
        let log = has_log.then_some((PartKind::Log, log));
        let directory = Directory {
            path: "sessions/%2Fapp/s/updates.jsonl".to_owned(),
            companions: Vec::new(),
            lines: log.into_iter().chain([(PartKind::Events, beside)]).collect(),
        };
        check_side_by_side(&directory, 1..6);
    }
}

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
    fn no_mix_of_words_panics_and_pieces_equal_the_whole(
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
