//! Properties of the Codex reader: no bytes panic, every line has a fate, and reading in pieces equals reading whole.

use proptest::prelude::*;
use transcript::{Agent, Kind, PartKind, Reading, State, bodies};

use super::FIXTURES;
use crate::pieces::check;
use crate::{count_lines, read};

#[test]
fn every_fixture_reads_the_same_line_by_line() {
    for (name, bytes) in FIXTURES {
        let every: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect();
        check(Agent::Codex, name, bytes, &every);
        let (reading, _) = read(Agent::Codex, name, bytes);
        assert_eq!(reading.fates.lines(), count_lines(bytes), "{name}");
    }
}

#[test]
fn every_event_finds_its_full_text_again() {
    for (name, bytes) in FIXTURES {
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        for event in read(Agent::Codex, name, bytes).0.events {
            // The header of the oldest logs has no text, and no line of its own.
            if name == "g0.json" && event.kind() == Kind::Lifecycle {
                continue;
            }
            let texts = bodies(Agent::Codex, lines[event.line as usize - 1]);
            assert!(
                texts.len() > event.block as usize,
                "{name}:{} block {}",
                event.line,
                event.block
            );
        }
    }
}

#[test]
fn the_texts_of_a_single_object_log_are_at_their_lines() {
    let (name, bytes) = FIXTURES[0];
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let events = read(Agent::Codex, name, bytes).0.events;
    let texts: Vec<String> = events[1..]
        .iter()
        .map(|event| bodies(Agent::Codex, lines[event.line as usize - 1]).remove(0).text)
        .collect();
    let call = "{\n  \"command\": [\n    \"ls\",\n    \"-a\"\n  ]\n}";
    assert_eq!(texts, ["list the files", call, "README.md", "There is one file."]);
}

#[test]
fn a_thread_has_the_newest_name_of_the_index_in_any_order() {
    let index = b"{\"id\":\"01990000-0000-7000-8000-000000000005\",\"thread_name\":\"Old\"}\ntorn\n\
        {\"id\":\"x\",\"thread_name\":\"Other\"}\n{\"id\":\"01990000-0000-7000-8000-000000000005\",\"thread_name\":\"Fix the login\"}\n";
    let (_, log) = FIXTURES[5];
    for before in [true, false] {
        let mut state = State::new(Agent::Codex, transcript::Origin::of("g5.jsonl"));
        if before {
            state.companion(PartKind::Index, index);
        }
        let mut reading = Reading::default();
        reading.apply(
            state
                .read_unmasked(PartKind::Log, &mut transcript::Lines::new(log))
                .unwrap(),
        );
        state.companion(PartKind::Index, index);
        let mut delta = transcript::Delta::default();
        state.close(&mut delta);
        reading.apply(delta);
        let session = reading.session.unwrap();
        assert_eq!(session.title.as_deref(), Some("Fix the login"));
    }
}

/// Words that control the reader, in any order, with any damage.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\n",
    "\\ud83d",
    "\0",
    "null",
    "-1",
    "    {\n",
    "    },\n",
    "\"payload\":{",
    "\"type\":\"event_msg\",",
    "\"type\":\"response_item\",",
    "\"timestamp\":\"2026-06-01T00:00:00Z\",",
    "{\"type\":\"session_meta\",\"timestamp\":\"2026-06-01T00:00:00Z\",\"payload\":{\"id\":\"01900000-0064-7000-8000-000000000000\"}}\n",
    "{\"type\":\"session_meta\",\"timestamp\":\"2026-06-01T00:00:00Z\",\"payload\":{\"id\":\"01900000-0001-7000-8000-000000000000\"}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\",\"turn_id\":\"01900000-00c8-7000-8000-000000000000\"}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_complete\"}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"turn_aborted\",\"reason\":\"interrupted\"}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"thread_rolled_back\",\"num_turns\":1}}\n",
    "{\"type\":\"turn_context\",\"payload\":{\"model\":\"m\",\"cwd\":\"/w\"}}\n",
    "{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"text\":\"go\"}]}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"go\"}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"agent_message\",\"message\":\"done\"}}\n",
    "{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"text\":\"done\"}]}}\n",
    "{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"name\":\"exec_command\",\"call_id\":\"c1\",\"arguments\":\"{\\\"cmd\\\":\\\"ls\\\"}\"}}\n",
    "{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"Process running with session ID 3\"}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"exec_command_end\",\"call_id\":\"c1\",\"exit_code\":1}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"input_tokens\":9},\"last_token_usage\":{\"input_tokens\":9}}}}\n",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"input_tokens\":5}}}}\n",
    "{\"type\":\"message\",\"role\":\"user\",\"content\":\"bare\"}\n",
    "{\"id\":\"h\",\"timestamp\":\"2026-06-01T00:00:00Z\",\"instructions\":null}\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3_000 }))]

    #[test]
    fn no_bytes_panic_and_every_line_has_a_fate(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (reading, _) = read(Agent::Codex, "x.jsonl", &bytes);
        prop_assert_eq!(reading.fates.lines(), count_lines(&bytes));
        bodies(Agent::Codex, &bytes);
    }

    #[test]
    fn no_mix_of_words_panics_and_pieces_equal_the_whole(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let log = words.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(log.len() + 1)).collect();
        cuts.sort_unstable();
        let (reading, _) = read(Agent::Codex, "x.jsonl", &log);
        prop_assert_eq!(reading.fates.lines(), count_lines(&log));
        check(Agent::Codex, "x.jsonl", &log, &cuts);
    }
}
