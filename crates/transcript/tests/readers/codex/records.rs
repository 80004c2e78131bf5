//! Fixtures with every type of record, and with copied, imported and damaged histories.

use insta::assert_snapshot;

use super::{fixture, print_reading};

#[test]
fn every_item_of_the_conversation_is_known() {
    assert_snapshot!(print_reading(&fixture("items.jsonl")), @r#"
    codex:01990000-0000-7000-8000-000000000008 Codex Desktop 0.145.0 gpt-5.4 /home/ada/app -
    1 - lifecycle harness - | session started: Codex Desktop 0.145.0
    2 1 lifecycle harness - | turn started
    3 1 lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    4 1 user_msg human! - | what is on it?
    6 1 user_msg other_agent - | /lead/a → /lead: done⏎[encrypted]
    7 1 user_msg other_agent - | /lead → /lead/a: go on
    10 1 error+tool_call agent web_search failed | https://example.test
    12 1 tool_call agent image_generation ok | a cat
    14 1 tool_call agent view_image ok 1000 ms | /home/ada/a.png
    15 1 tool_result tool view_image ok | [image]
    16 1 tool_call agent mcp__apps__forge_fetch_pr failed 1000 ms | number: 4
    17 1 error+tool_result tool mcp__apps__forge_fetch_pr failed | Error: not found
    18 1 tool_call agent update_plan ok 1000 ms | explanation: why, plan: [1]
    19 1 tool_result tool update_plan ok | Plan updated
    20 1 tool_call agent shell failed 1000 ms | not json
    21 1 error+tool_result tool shell failed | failed to parse function arguments: expected value
    22 1 tool_call agent shell failed 1000 ms | ls
    23 1 error+tool_result tool shell failed | command timed out after 1000 milliseconds
    24 1 lifecycle harness - | context compacted
    27 1 lifecycle harness - | <hook_prompt hook_run_id="1">format it first</hook_prompt>
    28 1 lifecycle harness - | Warning: apply_patch was requested via shell. Use the apply_patch tool instead.
    29 1 lifecycle harness - | <external_notes>a note</external_notes>
    30 1 lifecycle harness - | <skill>⏎<name>tidy</name>⏎</skill>
    turn 1 4..31 events 15 calls 7 errors 4
    unknown 0.145.0 flux_capacitor 1
    unknown 0.145.0 response_item/teleport 1
    "#);
}

#[test]
fn every_event_is_known() {
    assert_snapshot!(print_reading(&fixture("events.jsonl")), @"
    codex:01990000-0000-7000-8000-000000000009 Codex Desktop 0.126.0 gpt-5.4 /home/ada/app -
    1 - lifecycle harness - | session started: Codex Desktop 0.126.0
    2 1 lifecycle harness - | turn started
    3 1 lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    4 1 user_msg human! - | review it
    6 1 lifecycle harness - | review started: current changes
    7 1 thinking agent - | think hard
    8 1 tool_call agent exec_command ok exit 0 1 ms | git diff
    8 1 tool_result tool exec_command ok exit 0 | +x
    9 1 lifecycle harness - | review ended: patch is correct
    12 1 tool_call agent beep ok 2 ms | times: 2
    12 1 tool_result tool beep ok | beeped
    17 1 lifecycle harness - | goal complete: ship it
    18 1 error+lifecycle harness - failed | stream closed
    19 1 human_intervention+lifecycle human - ok | undo: Undid the last turn
    22 1 assistant_msg agent - | Fine.
    24 1 completion harness - ok | turn complete
    25 2 lifecycle harness - | turn started
    27 2 user_msg human! - | one more
    29 2 assistant_msg agent - | More.
    31 2 lifecycle harness - | turn ended: replaced
    32 3 lifecycle harness - | turn started
    34 3 user_msg human! - | a third
    36 3 assistant_msg agent - | Third.
    38 3 completion harness - ok | turn complete
    39 3 human_intervention+lifecycle human - | went back 2 turns
    40 4 lifecycle harness - | turn started
    42 4 user_msg human! - | another way
    44 4 assistant_msg agent - 110 tokens | So be it.
    47 4 lifecycle harness - | context compacted
    turn 1 4..24 events 10 calls 2 errors 1
    turn 2 27..31 events 2 calls 0 errors 0 rewound
    turn 3 34..39 events 4 calls 0 errors 0 rewound
    turn 4 42..51 events 2 calls 0 errors 0
    unknown 0.126.0 event_msg/mystery 1
    ");
}

#[test]
fn a_fork_counts_only_its_own_work() {
    assert_snapshot!(print_reading(&fixture("fork.jsonl")), @"
    codex:01990009-0000-7000-8000-000000000001 codex-tui 0.118.0 gpt-5.4 /home/ada/app -
    copied 2..10 by turn_time
    fork codex:01990000-0000-7000-8000-000000000005 -> codex:01990009-0000-7000-8000-000000000001 -
    1 - lifecycle harness - | session started: codex-tui 0.118.0
    3 - lifecycle harness - | turn started
    4 - lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    5 - user_msg human - | fix the login
    7 - assistant_msg agent - | Fixed.
    10 - completion harness - ok | turn complete
    11 1 lifecycle harness - | turn started
    13 1 user_msg human! - | try it another way
    16 1 assistant_msg agent - 210 tokens | Tried.
    19 1 completion harness - ok | turn complete
    turn 1 13..19 events 3 calls 0 errors 0
    ");
}

#[test]
fn a_subagent_has_no_human() {
    assert_snapshot!(print_reading(&fixture("subagent.jsonl")), @r#"
    codex:01990000-0000-7000-8000-000000000010 codex-tui 0.139.0 gpt-5.4 /home/ada/app -
    subagent codex:01990000-0000-7000-8000-000000000006 -> codex:01990000-0000-7000-8000-000000000010 explorer
    1 - lifecycle harness - | session started: codex-tui 0.139.0
    2 - lifecycle harness - | turn started
    3 - lifecycle harness - | <permissions instructions>
    4 - lifecycle harness - | <environment_context>⏎  <cwd>/home/ada/app</cwd>⏎  <shell>zsh</shell>⏎</environment_context>
    5 - lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    6 - user_msg agent - | look around
    8 - tool_call agent exec_command ok exit 0 100 ms 110 tokens | ls
    9 - tool_result tool exec_command ok exit 0 | Chunk ID: a⏎Wall time: 0.1 seconds⏎Process exited with code 0⏎Output:⏎
    10 - assistant_msg agent - | Nothing here.
    13 - completion harness - ok | turn complete
    "#);
}

#[test]
fn an_imported_session_is_the_work_of_another_agent() {
    assert_snapshot!(print_reading(&fixture("import.jsonl")), @"
    codex:01990000-0000-7000-8000-000000000011 codex-tui 0.146.0 gpt-5.4 /home/ada/app -
    copied 2..9 by import
    1 - lifecycle harness - | session started: codex-tui 0.146.0
    2 - lifecycle harness - | turn started
    3 - lifecycle harness - | <EXTERNAL SESSION IMPORTED>
    4 - user_msg human - | an old question
    6 - assistant_msg agent - | [external_agent_tool_call: Bash] ls
    9 - completion harness - ok | turn complete
    10 1 lifecycle harness - | turn started
    11 1 lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    12 1 user_msg human! - | and now?
    14 1 assistant_msg agent - 210 tokens | Now this.
    17 1 completion harness - ok | turn complete
    turn 1 12..17 events 3 calls 0 errors 0
    ");
}

#[test]
fn a_damaged_log_gives_what_is_whole() {
    assert_snapshot!(print_reading(&fixture("damaged.jsonl")), @r#"
    codex:01990000-0000-7000-8000-000000000012 codex-tui 0.118.0 - /home/ada/app -
    1 - lifecycle harness - | session started: codex-tui 0.118.0
    2 1 user_msg human! - | fix it
    5 1 assistant_msg agent - | one
    7 1 assistant_msg agent - | half �
    turn 1 2..11 events 3 calls 0 errors 0
    fault 4 lost
    fault 5 mended
    fault 6 lost
    fault 7 mended
    fault 8 lost
    fault 11 lost
    "#);
}

#[test]
fn other_names_of_the_same_records_are_known() {
    assert_snapshot!(print_reading(&fixture("aliases.jsonl")), @"
    codex:01990000-0000-7000-8000-0000000000a1 codex-tui 0.149.0 - /home/ada/app -
    1 - lifecycle harness - | session started: codex-tui 0.149.0
    2 1 lifecycle harness - | turn started
    3 1 user_msg human! - | draw a cat
    4 1 tool_call agent image_generation ok | 
    4 1 tool_result tool image_generation ok | 
    5 1 lifecycle harness - | context compacted
    6 1 lifecycle harness - | context compacted
    7 1 completion harness - ok | turn complete
    turn 1 3..7 events 4 calls 1 errors 0
    ");
}

#[test]
fn polling_a_command_is_no_retry_and_asking_for_permission_is_one() {
    assert_snapshot!(print_reading(&fixture("polls.jsonl")), @"
    codex:01990000-0000-7000-8000-0000000000b1 codex-tui 0.130.0 - /home/ada/app -
    1 - lifecycle harness - | session started: codex-tui 0.130.0
    2 1 lifecycle harness - | turn started
    3 1 user_msg human! - | fetch the module
    5 1 tool_call agent exec_command failed exit 1 500 ms | env GOCACHE=/tmp/cache go get example.test/deep/below/module@v2
    6 1 error+tool_result tool exec_command failed exit 1 | no such host⏎
    7 1 retry+tool_call agent exec_command failed exit 1 3000 ms | env GOCACHE=/tmp/cache go get example.test/deep/below/module@v2 # May I fetch the module from the network?
    8 1 tool_result tool exec_command | Chunk ID: a1b2c3⏎Wall time: 1.0000 seconds⏎Process running with session ID 7⏎Original token count: 0⏎Output:⏎
    9 1 tool_call agent write_stdin failed exit 1 500 ms | chars: , session_id: 7
    10 1 error+tool_result tool write_stdin failed exit 1 | no such version⏎
    11 1 tool_call agent exec_command ok exit 0 3000 ms | env GOCACHE=/tmp/cache go list -m -json example.test/deep/below/module@v2
    12 1 tool_result tool exec_command | Chunk ID: a1b2c3⏎Wall time: 1.0000 seconds⏎Process running with session ID 8⏎Original token count: 0⏎Output:⏎
    13 1 tool_call agent write_stdin ok exit 0 500 ms | chars: , session_id: 8
    14 1 tool_result tool write_stdin ok exit 0 | {}⏎
    15 1 retry+tool_call agent exec_command ok exit 0 500 ms | env GOCACHE=/tmp/cache go get example.test/deep/below/module@v2 example.test/other@v1
    16 1 tool_result tool exec_command ok exit 0 | fetched⏎
    17 1 tool_call agent exec_command failed exit 1 500 ms | sed -n 1,9p /tmp/cache/example.test/deep/below/module/one.go
    18 1 error+tool_result tool exec_command failed exit 1 | no such file⏎
    19 1 tool_call agent exec_command ok exit 0 500 ms | sed -n 1,9p /tmp/cache/example.test/deep/below/module/two.go
    20 1 tool_result tool exec_command ok exit 0 | package two⏎
    21 1 tool_call agent collab__list_agents ok 1000 ms | 
    22 1 tool_result tool collab__list_agents ok | []
    23 1 assistant_msg agent - | Fetched.
    25 1 completion harness - ok 20000 ms | turn complete
    turn 1 3..25 events 21 calls 9 errors 3
    ");
}

#[test]
fn settings_with_fewer_fields_than_the_turn_change_nothing() {
    assert_snapshot!(print_reading(&fixture("settings.jsonl")), @"
    codex:01990000-0000-7000-8000-0000000000b2 codex-tui 0.147.0 gpt-5.6-sol /home/ada/app -
    1 - lifecycle harness - | session started: codex-tui 0.147.0
    2 1 lifecycle harness - | model gpt-5.6-sol, effort high, approval on-request, cwd /home/ada/app
    3 1 lifecycle harness - | turn started
    4 1 lifecycle harness - | model gpt-5.6-sol, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    5 1 user_msg human! - | draw a cat
    7 1 thinking agent - | 
    9 1 assistant_msg agent - | A cat.
    11 1 completion harness - ok | turn complete
    13 2 lifecycle harness - | turn started
    15 2 user_msg human! - | and a dog
    17 2 assistant_msg agent - | A dog.
    18 2 completion harness - ok | turn complete
    19 3 lifecycle harness - | model gpt-5.6-sol, effort high, approval never, sandbox workspace-write, cwd /home/ada/app
    20 3 lifecycle harness - | turn started
    21 3 lifecycle harness - | model gpt-5.6-sol, approval never, sandbox workspace-write, cwd /home/ada/app
    22 3 user_msg human! - | a third
    24 3 assistant_msg agent - | A bird.
    25 3 completion harness - ok | turn complete
    turn 1 5..11 events 4 calls 0 errors 0
    turn 2 15..18 events 3 calls 0 errors 0
    turn 3 22..25 events 3 calls 0 errors 0
    ");
}
