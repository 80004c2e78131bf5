//! Prompts that wait while the agent works: each gives one event, at the line where it reached the agent, in every
//! version.

use insta::assert_snapshot;

use super::{check, check_bytes, events};

#[test]
fn a_removed_prompt_was_inserted_into_the_running_turn() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-10T09:00:05Z","sessionId":"s","content":"and the logout"}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"on it"}]}}
{"type":"queue-operation","operation":"remove","timestamp":"2026-01-10T09:00:09Z","sessionId":"s"}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"content":[{"type":"text","text":"both"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t1 assistant_msg agent "on it"
    4 t2 human_intervention+user_msg human! "and the logout" → words of line 2
    5 t2 assistant_msg agent "both" ^3
    turn 1 lines 1-3 "fix the login": 2 events, 0 tool calls, 0 errors
    turn 2 lines 4-5 "and the logout": 2 events, 0 tool calls, 0 errors
    lines: 4 event, 1 skipped
    "#);
}

#[test]
fn the_attachment_that_repeats_a_removed_prompt_is_its_echo() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"and the logout"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"attachment","uuid":"q1","parentUuid":"u1","attachment":{"type":"queued_command","prompt":"and the logout","commandMode":"prompt"}}
{"type":"assistant","uuid":"a1","parentUuid":"q1","message":{"content":[{"type":"text","text":"both"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t2 human_intervention+user_msg human! "and the logout" → words of line 2
    5 t2 assistant_msg agent "both"
    turn 1 lines 1-2 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 3-5 "and the logout": 2 events, 0 tool calls, 0 errors
    lines: 3 event, 2 skipped
    "#);
}

#[test]
fn an_attachment_alone_is_the_steering_prompt() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"and the logout"}
{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"and the logout"},{"type":"image"}],"commandMode":"prompt"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t2 human_intervention+user_msg human! "and the logout"
    turn 1 lines 1-2 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 3-3 "and the logout": 1 events, 0 tool calls, 0 errors
    lines: 2 event, 1 skipped
    "#);
}

#[test]
fn a_dequeued_prompt_is_counted_at_its_own_record() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"and the logout"}
{"type":"system","subtype":"turn_duration","uuid":"d1","parentUuid":"u1","durationMs":5}
{"type":"queue-operation","operation":"dequeue","sessionId":"s"}
{"type":"user","uuid":"u2","parentUuid":"d1","message":{"role":"user","content":"and the logout"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t1 completion+lifecycle harness "turn finished" → 5 ms
    5 t2 user_msg human! "and the logout"
    turn 1 lines 1-4 "fix the login": 2 events, 0 tool calls, 0 errors
    turn 2 lines 5-5 "and the logout": 1 events, 0 tool calls, 0 errors
    lines: 3 event, 2 skipped
    "#);
}

#[test]
fn the_same_words_typed_after_a_steering_prompt_are_a_new_prompt() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"continue"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"half of it"}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":"continue"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t2 human_intervention+user_msg human! "continue" → words of line 2
    4 t2 assistant_msg agent "half of it" ^1
    5 t3 user_msg human! "continue"
    turn 1 lines 1-2 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 3-4 "continue": 2 events, 0 tool calls, 0 errors
    turn 3 lines 5-5 "continue": 1 events, 0 tool calls, 0 errors
    lines: 4 event, 1 skipped
    "#);
}

#[test]
fn a_prompt_withdrawn_or_never_delivered_gives_no_event() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"no, wait"}
{"type":"queue-operation","operation":"popAll","sessionId":"s","content":"no, wait"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"too late"}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    turn 1 lines 1-5 "fix the login": 1 events, 0 tool calls, 0 errors
    lines: 1 event, 4 skipped
    "#);
}

#[test]
fn a_queued_picture_is_a_trigger_without_text_in_the_log() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t2 human_intervention+user_msg human! "[queued prompt whose text the log does not hold]" → words of line 2
    turn 1 lines 1-2 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 3-3 "[queued prompt whose text the log does not hold]": 1 events, 0 tool calls, 0 errors
    lines: 2 event, 1 skipped
    "#);
}

#[test]
fn notifications_and_tasks_in_the_queue_are_not_human() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"{\"task_id\":\"a1b2c3\",\"tool_use_id\":\"toolu_9\",\"description\":\"Count files\",\"task_type\":\"local_agent\"}"}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"<task-notification>\n<task-id>b1</task-id>\n</task-notification>"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"attachment","uuid":"q1","parentUuid":"u1","attachment":{"type":"queued_command","prompt":"<task-notification>\n<task-id>b1</task-id>\n</task-notification>","commandMode":"task-notification"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    turn 1 lines 1-6 "fix the login": 1 events, 0 tool calls, 0 errors
    lines: 1 event, 5 skipped
    "#);
}

#[test]
fn a_humans_words_leave_the_queue_before_notifications_do() {
    let log = r#"
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"<task-notification>\n<task-id>b1</task-id>\n</task-notification>"}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
"#;
    assert_snapshot!(events(log), @r#"3 t1 human_intervention+user_msg human! "use tabs" → words of line 2"#);
}

#[test]
fn two_prompts_removed_at_one_instant_are_two_turns() {
    let log = r#"
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"and no semicolons"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
"#;
    assert_snapshot!(check(log), @r#"
    3 t1 human_intervention+user_msg human! "use tabs" → words of line 1
    4 t2 human_intervention+user_msg human! "and no semicolons" → words of line 2
    turn 1 lines 3-3 "use tabs": 1 events, 0 tool calls, 0 errors
    turn 2 lines 4-4 "and no semicolons": 1 events, 0 tool calls, 0 errors
    lines: 2 event, 2 skipped
    "#);
}

#[test]
fn a_remove_that_names_its_text_removes_that_one() {
    let log = r#"
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"and no semicolons"}
{"type":"queue-operation","operation":"remove","sessionId":"s","content":"and no semicolons"}
"#;
    assert_snapshot!(events(log), @r#"3 t1 human_intervention+user_msg human! "and no semicolons" → words of line 2"#);
}

#[test]
fn a_queued_local_command_that_ran_no_longer_waits() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"/theme"}
{"type":"queue-operation","operation":"dequeue","sessionId":"s"}
{"type":"user","uuid":"c1","parentUuid":"u1","message":{"role":"user","content":"<command-name>/theme</command-name>\n            <command-message>theme</command-message>\n            <command-args></command-args>"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "fix the login"
    4 t1 user_msg human "/theme"
    6 t2 human_intervention+user_msg human! "use tabs" → words of line 5
    "#);
}

#[test]
fn a_dequeued_prompt_whose_record_differs_no_longer_waits() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"like this [Pasted text #1]"}
{"type":"queue-operation","operation":"dequeue","sessionId":"s"}
{"type":"user","uuid":"u2","parentUuid":"u1","message":{"role":"user","content":"like this fn main() {}"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "fix the login"
    4 t2 user_msg human! "like this fn main() {}"
    6 t3 human_intervention+user_msg human! "use tabs" → words of line 5
    "#);
}

#[test]
fn a_local_command_inserted_into_the_turn_is_human_and_no_trigger() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"/model opus"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t1 human_intervention+user_msg human "/model opus" → words of line 2
    turn 1 lines 1-3 "fix the login": 2 events, 0 tool calls, 0 errors
    lines: 2 event, 1 skipped
    "#);
}

#[test]
fn a_log_that_begins_with_a_dequeue_begins_with_its_prompt() {
    let log = r#"
{"type":"queue-operation","operation":"dequeue","timestamp":"2025-12-01T09:00:00Z","sessionId":"s"}
{"type":"file-history-snapshot","messageId":"u1","snapshot":{"messageId":"u1","trackedFileBackups":{}}}
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
"#;
    assert_snapshot!(check(log), @r#"
    2 - lifecycle harness "snapshot of changed files"
    3 t1 user_msg human! "fix the login" ^root
    turn 1 lines 3-3 "fix the login": 1 events, 0 tool calls, 0 errors
    lines: 2 event, 1 skipped
    "#);
}

#[test]
fn a_queue_in_a_subagents_log_is_not_a_humans() {
    let log = r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"attachment","uuid":"q1","attachment":{"type":"queued_command","prompt":"use spaces","commandMode":"prompt"}}
"#;
    assert_snapshot!(check_bytes("p/5e55/subagents/agent-a1.jsonl", log.as_bytes()), @"lines: 3 skipped");
}

#[test]
fn a_prompt_right_after_a_steering_one_is_no_rewind() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"on it"}]}}
{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"use tabs"}
{"type":"queue-operation","operation":"remove","sessionId":"s"}
{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":"and no semicolons"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 assistant_msg agent "on it"
    4 t2 human_intervention+user_msg human! "use tabs" → words of line 3
    5 t3 user_msg human! "and no semicolons" ^2
    turn 1 lines 1-3 "fix the login": 2 events, 0 tool calls, 0 errors
    turn 2 lines 4-4 "use tabs": 1 events, 0 tool calls, 0 errors
    turn 3 lines 5-5 "and no semicolons": 1 events, 0 tool calls, 0 errors
    lines: 4 event, 1 skipped
    "#);
}
