//! Invented sessions, event by event.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use transcript::{Agent, Kind, bodies, detect};

use super::{fixture, print_reading, print_session};

#[test]
fn a_session_with_tools_hooks_out_of_order_and_events() {
    let (reading, _) = fixture(1).read();
    assert_snapshot!(print_reading(&reading), @r#"
    3 user_msg human TRIGGER t1: Fix the failing test in calc.py
    5 thinking agent t1: Let me look at the file first.
    6 assistant_msg agent t1: I'll read the file.
    7 tool_call agent t1 read_file ok ms=10: calc.py
    9 tool_result tool t1 read_file ok: 1→def add(a, b): return a - b⏎
    10 test_run+tool_call agent t1 run_terminal_command failed exit=1 ms=1900: pytest -q # Run the tests
    12 error+tool_result tool t1 run_terminal_command failed exit=1: 1 failed, naïve⏎�
    13 edit+tool_call agent t1 search_replace ok ms=2000 [/home/ada/app/calc.py]: calc.py (edit)
    15 tool_result tool t1 search_replace ok: The file calc.py has been updated.
    16 retry+test_run+tool_call agent t1 run_terminal_command ok exit=0 ms=2500: pytest -q # Run the tests
    17 tool_result tool t1 run_terminal_command ok exit=0: 1 passed⏎
    18 tool_call agent t1 list_dir ok ms=1000: target_directory: docs
    19 tool_result tool t1 list_dir ok: - docs/⏎  - a.md
    20 tool_call agent t1 read_file failed ms=1000: gone.py
    21 error+tool_result tool t1 read_file failed: no such file: gone.py
    22 assistant_msg agent t1: The test passes now: 
    24 assistant_msg agent t1: `add` subtracted.
    25 completion+lifecycle harness t1 ms=18000 out=300: turn finished
    events15 lifecycle human t1: approve everything: on
    events16 error+lifecycle harness t1 failed: MCP server docs failed: no answer
    events17 lifecycle harness t1: goal verified: achieved
    events19 human_intervention+lifecycle human t1 web_fetch: refused: web_fetch
    turn 1: lines 3-27, 18 events, 6 calls, 2 errors
    call grok-4-fast: in 2000 out 20 read 0 write 0 thought 0, 6890500 ticks
    call grok-4.6-build: in 7500 out 280 read 20000 write 500 thought 120, 120000000 ticks
    unknown 1.0 events/an_event_of_tomorrow: 1
    fates: 22 events, 25 skipped, 1 unknown, 0 faults, 0 blank
    "#);
    assert_snapshot!(print_session(&reading), @r#"
    grok:0199a000-0000-7000-8000-000000000001
    cwd: /home/ada/app
    branch: main
    model: grok-4.6
    title: Fix the calc test
    version: 2026-09-01T00:00:00Z
    started: 2026-09-21T13:33:20Z
    ended: 2026-09-21T13:50:00Z
    "#);
}

#[test]
fn every_kind_of_update_is_known() {
    let (reading, _) = fixture(2).read();
    assert_snapshot!(print_reading(&reading), @"
    2 lifecycle harness: mode: plan
    4 user_msg human TRIGGER t1: Migrate the database
    5 lifecycle harness t1: plan: 1 of 2 steps done
    6 error+retry+lifecycle harness t1 failed: API error, retry 1 of 5: 503 overloaded
    7 error+lifecycle harness t1 failed: API error, gave up: 503 overloaded
    8 error+retry+lifecycle harness t1 failed: API error, retry 1 of 3: lost connection
    9 error+lifecycle harness t1 failed: API error, gave up: lost connection
    11 lifecycle harness t1: conversation compacted (180000 to 20000 tokens)
    12 error+lifecycle harness t1 failed: compaction failed: too long
    13 human_intervention+lifecycle human t1: compaction cancelled
    16 lifecycle harness t1: subagent started: Count the tables
    18 lifecycle harness t1 ms=4000: subagent completed
    19 error+lifecycle harness t1 failed: subagent failed: ran out of turns
    20 lifecycle harness t1: subagent: bash denied
    21 lifecycle harness t1: model: grok-4.7
    22 lifecycle harness t1: model: grok-4.6
    23 lifecycle harness t1: scheduled: every hour
    24 lifecycle harness t1: scheduled task fired
    25 lifecycle harness t1: scheduled task deleted
    26 lifecycle harness t1: monitor: build is green
    27 lifecycle harness t1: goal active: migrate
    28 lifecycle harness t1: workflow ship: running
    29 lifecycle harness t1: recap: halfway
    54 lifecycle harness t1: pre_tool_use hook blocked: not on Fridays
    55 error+lifecycle harness t1 failed: post_tool_use hook failed: exit 2
    57 test_run+tool_call agent t1 run_terminal_command failed exit=101 ms=7500: cargo test
    58 lifecycle harness t1: in the background: cargo test
    59 tool_result tool t1 run_terminal_command ok: running in the background
    60 error+lifecycle harness t1 failed exit=101 ms=7500: background command ended: cargo test
    61 test_run+tool_call agent t1 run_terminal_command failed ms=3000: npm test
    64 error+tool_result tool t1 run_terminal_command failed: killed
    66 tool_call agent t1 grep ok ms=0: /TODO/ in src
    66 tool_result tool t1 grep ok: src/a:1
    67 tool_result tool t1 ok: whose?
    70 error+lifecycle harness t1 failed: turn failed: context window exceeded
    turn 1: lines 4-70, 18 events, 3 calls, 10 errors
    unknown - some_future_kind: 1
    unknown - x.ai/other: 1
    fates: 34 events, 34 skipped, 2 unknown, 0 faults, 0 blank
    ");
    assert_snapshot!(print_session(&reading), @r#"
    grok:0199a000-0000-7000-8000-000000000002
    cwd: /home/ada/app
    branch: main
    model: grok-4.6
    title: Database migration
    started: 2026-09-21T13:33:20Z
    ended: 2026-09-21T13:50:00Z
    subagent: grok:0199a000-0000-7000-8000-000000000002 -> grok:0199a000-0000-7000-8000-000000000004 (Count the tables) at line 16
    subagent: grok:0199a000-0000-7000-8000-000000000002 -> grok:0199a000-0000-7000-8000-000000000044 at line 19
    "#);
}

#[test]
fn human_actions_and_what_only_looks_like_them() {
    let (reading, _) = fixture(3).read();
    assert_snapshot!(print_reading(&reading), @"
    1 user_msg human TRIGGER t1: Write a parser
    2 assistant_msg agent t1: Done.
    3 completion+lifecycle harness t1 out=10: turn finished
    4 user_msg human TRIGGER t2: Now make it fast
    5 assistant_msg agent t2: Working
    6 human_intervention+user_msg human TRIGGER t3: use a table, not regexes
    8 tool_call agent t3 run_terminal_command failed ms=0: rm -rf build
    9 human_intervention+tool_result human t3 run_terminal_command failed: The user rejected this tool call.
    10 human_intervention+lifecycle human t3 out=20: turn cancelled
    11 human_intervention+lifecycle human t3: went back to prompt 2
    12 user_msg human TRIGGER t4: Make it fast with a table
    13 assistant_msg agent t4: Ok.
    14 completion+lifecycle harness t4 out=30: turn finished
    15 user_msg human t4: ! git status
    16 tool_call human t4 run_terminal_command ok exit=0 ms=0: git status
    16 tool_result tool t4 run_terminal_command ok exit=0: clean⏎
    17 user_msg human t4: /context
    18 lifecycle harness t4: Context: 12 %
    19 lifecycle harness t4: <system-reminder>tests are red</system-reminder>
    20 assistant_msg agent t4: I see.
    22 lifecycle harness t4: check the build
    23 assistant_msg agent t4: Green.
    24 lifecycle harness t4: nightly
    25 user_msg human TRIGGER t5: /ship minor
    26 assistant_msg agent t5: Shipped.
    27 completion+lifecycle harness t5: turn finished
    turn 1: lines 1-3, 3 events, 0 calls, 0 errors
    turn 2: lines 4-5, 2 events, 0 calls, 0 errors, rewound
    turn 3: lines 6-11, 5 events, 1 calls, 0 errors, rewound
    turn 4: lines 12-24, 9 events, 1 calls, 0 errors
    turn 5: lines 25-27, 3 events, 0 calls, 0 errors
    call m: in 100 out 10 read 0 write 0 thought 0
    call m: in 200 out 20 read 0 write 0 thought 0
    call m: in 300 out 30 read 0 write 0 thought 0
    fates: 25 events, 6 skipped, 0 unknown, 0 faults, 0 blank
    ");
}

#[test]
fn a_subagents_session_has_no_human_in_it() {
    let (reading, _) = fixture(4).read();
    assert_snapshot!(print_reading(&reading), @r#"
    1 user_msg agent: Count the tables and report
    2 assistant_msg agent: There are 7.
    3 completion+lifecycle harness: turn finished
    fates: 3 events, 0 skipped, 0 unknown, 0 faults, 0 blank
    "#);
    assert_snapshot!(print_session(&reading), @r#"
    grok:0199a000-0000-7000-8000-000000000004
    cwd: /home/ada/app
    branch: main
    model: grok-4.6
    title: A session
    started: 2026-09-21T13:33:20Z
    ended: 2026-09-21T13:50:00Z
    hidden: yes
    subagent: grok:0199a000-0000-7000-8000-000000000002 -> grok:0199a000-0000-7000-8000-000000000004
    "#);
}

#[test]
fn a_fork_does_not_repeat_its_parents_work() {
    let (reading, _) = fixture(5).read();
    assert_snapshot!(print_reading(&reading), @r#"
    1 user_msg human: Write a parser
    2 assistant_msg agent: Done.
    3 completion+lifecycle harness: turn finished
    4 user_msg human TRIGGER t1: Write it in Zig instead
    5 assistant_msg agent t1: Done.
    6 completion+lifecycle harness t1 out=5: turn finished
    turn 1: lines 4-6, 3 events, 0 calls, 0 errors
    call m: in 50 out 5 read 0 write 0 thought 0
    fates: 6 events, 0 skipped, 0 unknown, 0 faults, 0 blank
    "#);
    assert_snapshot!(print_session(&reading), @r#"
    grok:0199a000-0000-7000-8000-000000000005
    cwd: /home/ada/app
    branch: main
    model: grok-4.6
    title: A session
    started: 2026-09-21T13:34:00Z
    ended: 2026-09-21T13:50:00Z
    inherited: lines 1-3 by event_id
    fork: grok:0199a000-0000-7000-8000-000000000003 -> grok:0199a000-0000-7000-8000-000000000005
    "#);
}

#[test]
fn a_noninteractive_session_has_no_human_prompts() {
    let (reading, _) = fixture(6).read();
    assert_snapshot!(print_reading(&reading), @r#"
    1 user_msg harness: Summarize the changes
    2 assistant_msg agent: None.
    3 lifecycle harness: turn cancelled
    fates: 3 events, 0 skipped, 0 unknown, 0 faults, 0 blank
    "#);
    assert_snapshot!(print_session(&reading), @r#"
    grok:0199a000-0000-7000-8000-000000000006
    cwd: /home/ada/app
    branch: main
    model: grok-4.6
    title: A session
    entrypoint: headless
    started: 2026-09-21T13:33:20Z
    ended: 2026-09-21T13:50:00Z
    "#);
}

#[test]
fn the_models_context_replaces_a_missing_log() {
    let (reading, _) = fixture(7).read();
    assert_snapshot!(print_reading(&reading), @r#"
    chat_history2 lifecycle harness: <user_info>⏎OS: linux⏎</user_info>
    chat_history3 lifecycle harness: policy
    chat_history4 user_msg human TRIGGER t1: Review the parser
    chat_history5 thinking agent t1: Read it first
    chat_history6 tool_call agent t1 web_search ok: query: pratt parser, type: search
    chat_history7 assistant_msg agent t1: Reading.
    chat_history7 tool_call agent t1 read_file: src/parse.rs
    chat_history7 test_run+tool_call agent t1 run_terminal_cmd failed ms=700: cargo test
    chat_history8 tool_result tool t1 read_file: fn parse() {}
    chat_history9 tool_result tool t1 run_terminal_cmd: ok
    chat_history10 human_intervention+user_msg human TRIGGER t2: mind the lexer
    chat_history11 user_msg other_agent t2: report back
    chat_history12 assistant_msg agent t2: Fine.
    chat_history13 human_intervention+user_msg human TRIGGER t3: [image]
    events3 human_intervention+lifecycle human: turn cancelled
    events4 error+lifecycle harness failed: turn failed
    turn 1: lines 4-9, 8 events, 3 calls, 0 errors
    turn 2: lines 10-12, 3 events, 0 calls, 0 errors
    turn 3: lines 13-14, 1 events, 0 calls, 0 errors
    unknown - chat_history/item_of_tomorrow: 1
    fates: 14 events, 3 skipped, 1 unknown, 0 faults, 0 blank
    "#);
}

#[test]
fn the_old_format_of_the_context_gives_the_same_result() {
    let (reading, _) = fixture(8).read();
    assert_snapshot!(print_reading(&reading), @r#"
    chat_history2 user_msg human TRIGGER t1: Review the parser
    chat_history3 thinking agent t1: Look first
    chat_history3 assistant_msg agent t1: Reading.
    chat_history3 tool_call agent t1 read_file: src/parse.rs
    chat_history4 tool_result tool t1 read_file: fn parse() {}
    chat_history5 assistant_msg agent t1: Fine.
    turn 1: lines 2-5, 6 events, 1 calls, 0 errors
    fates: 4 events, 1 skipped, 0 unknown, 0 faults, 0 blank
    "#);
}

#[test]
fn damage_loses_the_damaged_lines_and_nothing_else() {
    let (reading, _) = fixture(9).read();
    assert_snapshot!(print_reading(&reading), @r#"
    1 user_msg human TRIGGER t1: Fix it
    4 assistant_msg agent t1: Two.
    6 assistant_msg agent t1: Three.
    6 assistant_msg agent t1: Four �.
    8 assistant_msg agent t1: Five.
    10 completion+lifecycle harness t1: turn finished
    turn 1: lines 1-11, 6 events, 0 calls, 0 errors
    fault 2: EOF while parsing an object at line 1 column 60
    fault 4: torn record skipped: expected `:` at line 1 column 73 (mended)
    fault 6: mended: invalid unicode code point at line 1 column 198 (mended)
    fault 7: expected a JSON object
    fault 9: expected a JSON object
    fault 11: EOF while parsing a string at line 1 column 40
    fates: 5 events, 0 skipped, 0 unknown, 4 faults, 2 blank
    "#);
}

#[test]
fn without_usage_the_growth_of_the_context_is_the_estimate() {
    let (reading, _) = fixture(10).read();
    assert_snapshot!(print_reading(&reading), @r#"
    1 user_msg human TRIGGER t1: Old times
    2 thinking agent t1 out=0: Hm.
    3 assistant_msg agent t1: Yes.
    4 completion+lifecycle harness t1: turn finished
    5 user_msg human TRIGGER t2: More
    6 assistant_msg agent t2: Compacted.
    7 assistant_msg agent t2 out=0: Done.
    8 completion+lifecycle harness t2: turn finished
    turn 1: lines 1-4, 4 events, 0 calls, 0 errors
    turn 2: lines 5-8, 4 events, 0 calls, 0 errors
    call -: in 9400 out 0 read 0 write 0 thought 0
    call -: in 600 out 0 read 0 write 0 thought 0
    fates: 8 events, 0 skipped, 0 unknown, 0 faults, 0 blank
    "#);
}

#[test]
fn chunks_of_one_message_are_its_blocks_and_every_event_has_a_unique_id() {
    let (reading, _) = fixture(1).read();
    let messages: Vec<&str> = reading
        .events
        .iter()
        .filter(|event| event.kinds.has(Kind::AssistantMsg))
        .map(|event| event.id.rsplit_once("000000000001-").map_or("", |(_, id)| id))
        .collect();
    // The row of a hook between them does not split the answer.
    assert_eq!(messages, ["7#0", "40#0", "40#1"]);
    for number in 1..=14 {
        let (reading, _) = fixture(number).read();
        let ids: BTreeSet<&str> = reading.events.iter().map(|event| &*event.id).collect();
        assert_eq!(ids.len(), reading.events.len(), "session {number}");
    }
}

#[test]
fn a_grok_log_is_detected_by_its_keys() {
    for number in 1..=14 {
        for (part, bytes) in &fixture(number).lines {
            assert_eq!(detect(bytes), Some(Agent::Grok), "session {number}, {}", part.as_str());
        }
    }
}

#[test]
fn tool_outputs_and_human_texts_are_found_at_their_lines() {
    let directory = fixture(1);
    let lines: Vec<&[u8]> = directory.lines[0].1.split(|byte| *byte == b'\n').collect();
    let text = |number: usize| bodies(Agent::Grok, lines[number - 1]).remove(0).text;
    assert_eq!(text(3), "Fix the failing test in calc.py");
    assert_eq!(text(12), "1 failed, naïve\n\u{fffd}");
    assert_eq!(text(15), "The file calc.py has been updated.");
}
