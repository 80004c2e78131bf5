//! One fixture for each generation of the format, from the oldest to the newest.

use insta::assert_snapshot;

use super::{fixture, print_reading};

#[test]
fn the_first_generation_is_one_object_over_many_lines() {
    assert_snapshot!(print_reading(&fixture("g0.json")), @"
    codex:0a0a0a0a-0000-4000-8000-000000000000 - - - - -
    2 - lifecycle harness - | session started
    13 1 user_msg human! - | list the files
    22 1 tool_call agent shell ok exit 0 100 ms | ls -a
    29 1 tool_result tool shell ok exit 0 | README.md
    38 1 assistant_msg agent - | There is one file.
    turn 1 13..43 events 4 calls 1 errors 0
    ");
}

#[test]
fn a_bare_log_has_a_header_and_no_times() {
    assert_snapshot!(print_reading(&fixture("g1.jsonl")), @"
    codex:1a1a1a1a-0000-4000-8000-000000000001 - - - - -
    1 - lifecycle harness - | session started
    2 1 lifecycle harness - | <user_instructions>⏎⏎Be brief.⏎⏎</user_instructions>
    3 1 user_msg human! - | run the tests
    4 1 thinking agent - | Run them with cargo.
    5 1 test_run+tool_call agent shell failed exit 101 2500 ms | cargo test
    6 1 error+tool_result tool shell failed exit 101 | 1 failed
    7 1 edit+tool_call agent shell ok exit 0 [src/login.rs] [src/session.rs] | src/login.rs (edit) and 1 more
    8 1 tool_result tool shell ok exit 0 | Success.
    9 1 retry+test_run+tool_call agent shell failed 1500 ms | cargo test
    10 1 human_intervention+tool_result tool shell failed | aborted by user after 1.5s
    11 2 user_msg human! - | never mind the tests
    12 2 assistant_msg agent - | As you wish.
    turn 1 3..10 events 8 calls 3 errors 1
    turn 2 11..12 events 2 calls 0 errors 0
    ");
}

#[test]
fn a_bare_log_of_summer_has_states_between() {
    assert_snapshot!(print_reading(&fixture("g2.jsonl")), @"
    codex:2a2a2a2a-0000-4000-8000-000000000002 - - - /home/ada/app -
    1 - lifecycle harness - | session started
    3 1 lifecycle harness - | <environment_context>⏎  <cwd>/home/ada/app</cwd>⏎  <shell>zsh</shell>⏎</environment_context>
    5 1 user_msg human! - | what does it do?
    6 1 thinking agent - | Read the readme.
    7 1 tool_call agent local_shell ok exit 0 200 ms | cat 'READ ME.md'
    8 1 tool_result tool local_shell ok exit 0 | It greets.
    9 1 edit+tool_call agent apply_patch failed [src/login.rs] [src/session.rs] | src/login.rs (edit) and 1 more
    10 1 error+tool_result tool apply_patch failed | apply_patch verification failed: no such file
    11 1 assistant_msg agent - | It greets.
    turn 1 5..11 events 7 calls 2 errors 1
    ");
}

#[test]
fn wrapped_records_contain_their_text_twice() {
    assert_snapshot!(print_reading(&fixture("g3.jsonl")), @"
    codex:01990000-0000-7000-8000-000000000003 codex_cli_rs 0.34.0 - /home/ada/app -
    1 - lifecycle harness - | session started: codex_cli_rs 0.34.0
    2 1 lifecycle harness - | <environment_context>⏎  <cwd>/home/ada/app</cwd>⏎  <shell>zsh</shell>⏎</environment_context>
    3 1 user_msg human! - | say hello
    5 1 thinking agent - 110 tokens | **Greet them**
    7 1 assistant_msg agent - | Hello.
    11 2 user_msg human! - | and goodbye
    12 2 assistant_msg agent - 160 tokens | Goodbye.
    turn 1 3..10 events 3 calls 0 errors 0
    turn 2 11..13 events 2 calls 0 errors 0
    ");
}

#[test]
fn contexts_and_interrupts_give_events() {
    assert_snapshot!(print_reading(&fixture("g4.jsonl")), @"
    codex:01990000-0000-7000-8000-000000000004 codex_vscode 0.63.0 gpt-5.4 /home/ada/app -
    1 - lifecycle harness - | session started: codex_vscode 0.63.0
    2 1 lifecycle harness - | # AGENTS.md instructions for /home/ada/app⏎⏎<INSTRUCTIONS>⏎Be brief.⏎</INSTRUCTIONS>
    3 1 lifecycle harness - | <environment_context>⏎  <cwd>/home/ada/app</cwd>⏎  <shell>zsh</shell>⏎</environment_context>
    4 1 user_msg human! - | fix the login
    6 1 lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    9 1 thinking agent - 110 tokens | **Look**
    12 1 test_run+tool_call agent shell_command failed exit 101 2500 ms | cargo test
    13 1 error+tool_result tool shell_command failed exit 101 | 1 failed⏎
    16 1 thinking agent - 220 tokens | **Patch**
    19 1 edit+tool_call agent apply_patch ok exit 0 1000 ms [src/login.rs] [src/session.rs] | src/login.rs (edit) and 1 more
    20 1 tool_result tool apply_patch ok exit 0 | Success.
    21 1 retry+test_run+tool_call agent shell_command failed 1000 ms | cargo test
    22 1 human_intervention+tool_result human shell_command failed | exec command rejected by user
    23 1 human_intervention+lifecycle human - | interrupted by the user
    24 2 user_msg human! - | push it
    26 2 lifecycle harness - | model gpt-5.4, effort high, approval never, sandbox danger-full-access, cwd /home/ada/app
    27 2 tool_call agent web_search ok 99 tokens | git push
    28 2 assistant_msg agent - | Pushed.
    31 2 lifecycle harness - | context compacted: They fixed the login.
    turn 1 4..23 events 10 calls 3 errors 1
    turn 2 24..32 events 3 calls 1 errors 0
    ");
}

#[test]
fn turns_have_a_start_and_an_end() {
    assert_snapshot!(print_reading(&fixture("g5.jsonl")), @"
    codex:01990000-0000-7000-8000-000000000005 codex-tui 0.118.0 gpt-5.5 /home/ada/app Login and logout
    1 - lifecycle harness - | session started: codex-tui 0.118.0
    2 1 lifecycle harness - | turn started
    3 1 lifecycle harness - | <permissions instructions>⏎Ask first.
    4 1 lifecycle harness - | <environment_context>⏎  <cwd>/home/ada/app</cwd>⏎  <shell>zsh</shell>⏎</environment_context>
    5 1 lifecycle harness - | model gpt-5.4, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    6 1 user_msg human! - | fix the login
    9 1 test_run+tool_call agent exec_command failed exit 101 3010 ms 110 tokens | cargo test -p app
    11 1 tool_result tool exec_command | Chunk ID: a1b2c3⏎Wall time: 10.0 seconds⏎Process running with session ID 7⏎Output:⏎
    12 1 tool_call agent write_stdin failed exit 101 5000 ms 220 tokens | chars: , session_id: 7
    13 1 error+tool_result tool write_stdin failed exit 101 | 1 failed⏎
    15 2 human_intervention+user_msg human! - | look at the session, too
    17 2 edit+tool_call agent apply_patch ok 2000 ms 330 tokens [src/login.rs] [src/session.rs] | src/login.rs (edit) and 1 more
    19 2 tool_result tool apply_patch ok | Success. Updated the following files:⏎M src/login.rs⏎
    20 2 test_run+tool_call agent exec_command ok exit 0 3500 ms | cargo test -p app
    22 2 tool_result tool exec_command ok exit 0 | ok
    23 2 assistant_msg agent - | Fixed.
    26 2 completion harness - ok 9000 ms | turn complete
    27 3 lifecycle harness - | turn started
    29 3 user_msg human! - | and the logout
    31 3 human_intervention+lifecycle human - | interrupted by the user
    33 3 human_intervention+user_msg human - | ! git status
    34 4 lifecycle harness - | turn started
    35 4 lifecycle harness - | <environment_context>⏎  <cwd>/home/ada/app</cwd>⏎  <shell>zsh</shell>⏎</environment_context>
    36 4 lifecycle harness - | model gpt-5.5, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    37 4 user_msg human! - | go on
    39 4 assistant_msg agent - 210 tokens | Done.
    42 4 completion harness - ok | turn complete
    turn 1 6..14 events 5 calls 2 errors 1
    turn 2 15..26 events 7 calls 2 errors 0
    turn 3 29..33 events 3 calls 0 errors 0
    turn 4 37..43 events 3 calls 0 errors 0
    ");
}

#[test]
fn other_threads_and_ends_of_tools_give_events() {
    assert_snapshot!(print_reading(&fixture("g6.jsonl")), @r#"
    codex:01990000-0000-7000-8000-000000000006 codex_exec 0.142.0 gpt-5.6-sol /home/ada/app -
    subagent codex:01990000-0000-7000-8000-000000000006 -> codex:01990000-0000-7000-8000-000000000061 explorer
    subagent codex:01990000-0000-7000-8000-000000000006 -> codex:01990000-0000-7000-8000-000000000062 /lead/b
    1 - lifecycle harness - | session started: codex_exec 0.142.0
    2 1 lifecycle harness - | turn started
    3 1 lifecycle harness - | model gpt-5.6-sol, approval never, cwd /home/ada/app
    4 1 lifecycle harness - | <skills_instructions>⏎…
    5 1 lifecycle harness - | model gpt-5.6-sol, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    7 1 user_msg human! - | ask the others
    9 1 tool_call agent spawn_agent ok 2000 ms 110 tokens | [explorer] look around
    11 1 tool_result tool spawn_agent ok | {"agent_id": "01990000-0000-7000-8000-000000000061", "nickname": "Turing"}
    13 1 user_msg other_agent - | <subagent_notification>{"agent_path":"/lead/a","status":"completed"}</subagent_notification>
    14 1 lifecycle harness - | subagent /lead/b started
    15 1 test_run+tool_call agent exec ok 2000 ms 220 tokens | cargo test
    16 1 tool_result tool exec ok | ok
    17 1 edit+tool_call agent apply_patch failed [src/a.rs] [src/b.rs] [src/c.rs] | src/a.rs (edit) and 2 more
    17 1 error+tool_result tool apply_patch failed | no such file
    18 1 tool_call agent search ok 1000 ms | q: login
    20 1 tool_result tool search ok | two pages
    21 1 tool_call agent mcp__docs__read failed 5 ms | page: 2
    21 1 error+tool_result tool mcp__docs__read failed | not found
    22 1 tool_call agent tool_search ok 1000 ms | query: browser
    23 1 tool_result tool tool_search ok | open, click
    24 1 assistant_msg agent - | They found nothing.
    27 1 error+completion harness - failed | turn failed: usage limit reached
    turn 1 7..27 events 16 calls 6 errors 3
    "#);
}

#[test]
fn a_paginated_log_has_items() {
    assert_snapshot!(print_reading(&fixture("g7.jsonl")), @"
    codex:01990000-0000-7000-8000-000000000007 codex-tui 0.149.0 gpt-5.6-sol /home/ada/app -
    subagent codex:01990000-0000-7000-8000-000000000007 -> codex:01990000-0000-7000-8000-000000000071 /lead/a
    1 - lifecycle harness - | session started: codex-tui 0.149.0
    2 1 lifecycle harness - | turn started
    3 1 lifecycle harness - | <permissions instructions>
    4 1 lifecycle harness - | # AGENTS.md instructions for /home/ada/app⏎⏎<INSTRUCTIONS>⏎Be brief.⏎</INSTRUCTIONS>
    5 1 lifecycle harness - | model gpt-5.6-sol, effort high, approval on-request, sandbox workspace-write, cwd /home/ada/app
    6 1 user_msg human! - | fix the login
    8 1 thinking agent - 110 tokens | **Look**
    10 1 tool_call agent exec ok 3000 ms | cargo test
    11 1 test_run+tool_call agent exec_command failed exit 101 2000 ms | cargo test
    11 1 error+tool_result tool exec_command failed exit 101 | 1 failed
    12 1 edit+tool_call agent apply_patch ok [src/login.rs] | src/login.rs (edit)
    12 1 tool_result tool apply_patch ok | 
    13 1 tool_result tool exec ok | 1 failed
    15 2 human_intervention+user_msg human! - | and be quick
    16 2 tool_call agent exec_command failed 220 tokens | rm -rf target
    16 2 human_intervention+tool_result human exec_command failed | 
    17 2 human_intervention+user_msg human - exit 0 | ! git status
    18 2 tool_call agent mcp__docs__search ok 1 ms | q: x
    18 2 tool_result tool mcp__docs__search ok | found
    19 2 tool_call agent beep failed | 
    19 2 error+tool_result tool beep failed | no sound
    20 2 tool_call agent spawn_agent ok | look around
    20 2 tool_result tool spawn_agent ok | 
    21 2 lifecycle harness - | subagent /lead/a started
    22 2 lifecycle harness - | format it first
    23 2 assistant_msg agent - | 1. fix⏎2. test
    24 2 tool_call agent web_search | login
    24 2 tool_result tool web_search | 
    25 2 tool_call agent view_image | /home/ada/a.png
    25 2 tool_result tool view_image | 
    26 2 lifecycle harness - | review started: current changes
    27 2 lifecycle harness - | review ended: looks good
    28 2 lifecycle harness - | context compacted
    29 2 tool_call agent extension | sleep
    29 2 tool_result tool extension | 
    31 2 assistant_msg agent - | Fixed.
    34 2 completion harness - ok | turn complete
    turn 1 6..14 events 8 calls 3 errors 1
    turn 2 15..34 events 19 calls 7 errors 1
    unknown 0.149.0 item_completed/Hologram 1
    ");
}
