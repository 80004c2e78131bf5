//! Records outside of the conversation: state, hooks, API errors, and unknown types.

use insta::assert_snapshot;

use super::{check, events, session};

#[test]
fn a_scheduled_wake_up_is_no_reaction_to_the_last_prompt() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-04-01T09:00:00Z","message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-04-01T09:00:05Z","message":{"content":[{"type":"text","text":"done"}]}}
{"type":"system","subtype":"away_summary","uuid":"w1","parentUuid":"a1","timestamp":"2026-04-01T12:00:00Z","content":"You fixed the login."}
{"type":"file-history-snapshot","messageId":"u2","snapshot":{"messageId":"u2","trackedFileBackups":{}}}
{"type":"permission-mode","permissionMode":"plan","sessionId":"s"}
{"type":"user","uuid":"u2","parentUuid":"w1","timestamp":"2026-04-01T12:00:10Z","message":{"content":"now the logout"}}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 assistant_msg agent "done"
    3 t1 lifecycle harness "You fixed the login."
    4 t1 lifecycle harness "snapshot of changed files"
    5 t1 lifecycle harness "permission mode: plan"
    6 t2 user_msg human! "now the logout" ^3
    "#);
}

#[test]
fn an_edit_gives_one_event_though_the_file_is_copied_before() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-04-01T09:00:00Z","message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-04-01T09:00:05Z","message":{"content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/home/ada/app/src/login.rs","old_string":"a","new_string":"b"}}]}}
{"type":"file-history-delta","messageId":"a1","snapshotMessageId":"u1","trackingPath":"src/login.rs","backup":{"backupFileName":"0123@v1","version":1,"backupTime":"2026-04-01T09:00:06Z"},"timestamp":"2026-04-01T09:00:06Z"}
{"type":"user","uuid":"r1","parentUuid":"a1","timestamp":"2026-04-01T09:00:07Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"updated"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 edit+tool_call agent Edit "/home/ada/app/src/login.rs (edit)" → ok, 2000 ms, writes /home/ada/app/src/login.rs
    4 t1 tool_result tool Edit "updated" → ok
    turn 1 lines 1-4 "fix the login": 3 events, 1 tool calls, 0 errors
    lines: 3 event, 1 skipped
    "#);
}

#[test]
fn a_mode_that_does_not_change_gives_one_event() {
    let log = r#"
{"type":"permission-mode","permissionMode":"default","sessionId":"s"}
{"type":"permission-mode","permissionMode":"default","sessionId":"s"}
{"type":"permission-mode","permissionMode":"acceptEdits","sessionId":"s"}
{"type":"mode","mode":"normal","sessionId":"s"}
{"type":"mode","mode":"normal","sessionId":"s"}
{"type":"mode","sessionId":"s"}
"#;
    assert_snapshot!(check(log), @r#"
    1 - lifecycle harness "permission mode: default"
    3 - lifecycle harness "permission mode: acceptEdits"
    4 - lifecycle harness "mode: normal"
    lines: 3 event, 3 skipped
    "#);
}

#[test]
fn each_retry_after_an_api_error_is_a_retry() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"system","subtype":"api_error","uuid":"e1","parentUuid":"u1","level":"error","error":{"status":529,"headers":{}},"retryInMs":600,"retryAttempt":1,"maxRetries":10}
{"type":"system","subtype":"api_error","uuid":"e2","parentUuid":"e1","level":"error","error":{"cause":{"code":"ECONNRESET"}},"retryInMs":1200,"retryAttempt":2}
{"type":"assistant","uuid":"a1","parentUuid":"e2","isApiErrorMessage":true,"error":"overloaded","apiErrorStatus":529,"message":{"id":"m1","model":"<synthetic>","stop_reason":"stop_sequence","content":[{"type":"text","text":"API Error: 529 overloaded"}],"usage":{"input_tokens":0,"output_tokens":0}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 error+retry+lifecycle harness "API error 529, retry 1 of 10" → failed
    3 t1 error+retry+lifecycle harness "API error, retry 2" → failed
    4 t1 error+assistant_msg harness "API Error: 529 overloaded" → failed
    turn 1 lines 1-4 "fix the login": 4 events, 0 tool calls, 3 errors
    lines: 4 event
    "#);
    let cost = session("x.jsonl", log);
    assert!(cost.contains("turns 1 retries 2"), "{cost}");
}

#[test]
fn a_reply_cut_by_the_human_is_an_intervention_whatever_it_held() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","isAbortedMidStream":true,"message":{"content":[{"type":"text","text":"I will"}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","message":{"content":"go on"}}
{"type":"assistant","uuid":"a2","parentUuid":"u2","isAbortedMidStream":true,"message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 human_intervention+assistant_msg agent "I will"
    3 t2 user_msg human! "go on"
    4 t2 human_intervention+tool_call agent Bash "make"
    "#);
}

#[test]
fn a_synthetic_reply_is_the_harness() {
    let log = r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"message":{"model":"<synthetic>","stop_reason":"end_turn","content":[{"type":"text","text":"No response requested."}]}}
"#;
    assert_snapshot!(events(log), @r#"1 - assistant_msg harness "No response requested.""#);
}

#[test]
fn only_text_that_ends_the_turn_completes_it() {
    let log = r#"
{"type":"assistant","uuid":"a1","message":{"id":"m1","model":"claude-opus-5","stop_reason":null,"content":[{"type":"text","text":"first"}]}}
{"type":"assistant","uuid":"a2","message":{"id":"m1","model":"claude-opus-5","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}]}}
{"type":"assistant","uuid":"a3","message":{"id":"m2","model":"claude-opus-5","stop_reason":"end_turn","content":[{"type":"thinking","thinking":"","signature":"c2ln"}]}}
{"type":"assistant","uuid":"a4","message":{"id":"m2","model":"claude-opus-5","stop_reason":"end_turn","content":[{"type":"text","text":"last"}]}}
{"type":"assistant","uuid":"a5","message":{"id":"m3","model":"claude-opus-5","stop_reason":"max_tokens","content":[{"type":"text","text":"cut"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 - assistant_msg agent "first"
    2 - tool_call agent Read "/a" ^root
    3 - thinking agent "" ^root
    4 - assistant_msg+completion agent "last" ^root
    5 - assistant_msg agent "cut" ^root
    "#);
}

#[test]
fn a_model_fallback_gives_an_event() {
    let log = r#"
{"type":"system","subtype":"model_fallback","uuid":"f1","originalModel":"claude-opus-5","fallbackModel":"claude-sonnet-5","trigger":"overloaded"}
{"type":"assistant","uuid":"a1","parentUuid":"f1","message":{"model":"claude-sonnet-5","content":[{"type":"fallback","from":{"model":"claude-opus-5"},"to":{"model":"claude-sonnet-5"}},{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 - lifecycle harness "model fallback: claude-sonnet-5"
    2 - lifecycle harness "model fallback: claude-sonnet-5"
    2#1 - assistant_msg agent "done"
    "#);
    assert!(session("x.jsonl", log).contains("claude-sonnet-5 in"));
}

#[test]
fn failed_hooks_report_their_name_and_reason() {
    let log = r#"
{"type":"attachment","uuid":"h1","attachment":{"type":"hook_non_blocking_error","hookName":"UserPromptSubmit","hookEvent":"UserPromptSubmit","stderr":"no such file","exitCode":1,"durationMs":12}}
{"type":"attachment","uuid":"h2","attachment":{"type":"hook_blocking_error","hookName":"PreToolUse:Bash","toolUseID":"t1","hookEvent":"PreToolUse","blockingError":{"blockingError":"[guard]: no rm","command":"guard"}}}
{"type":"attachment","uuid":"h3","attachment":{"type":"hook_blocking_error","hookEvent":"Stop"}}
"#;
    assert_snapshot!(events(log), @r#"
    1 - error+lifecycle harness "UserPromptSubmit: no such file" → failed
    2 - error+lifecycle harness "PreToolUse:Bash: [guard]: no rm" → failed ^root
    3 - error+lifecycle harness "Stop: hook_blocking_error" → failed ^root
    "#);
}

#[test]
fn stopping_agents_is_an_intervention() {
    let log = r#"
{"type":"system","subtype":"agents_killed","uuid":"k1","content":"2 agents stopped"}
"#;
    assert_snapshot!(events(log), @r#"1 - human_intervention+lifecycle human "agents stopped by the user""#);
}

#[test]
fn a_command_whose_dialog_was_dismissed_is_human_once_per_act() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"<command-name>/mcp</command-name>\n            <command-message>mcp</command-message>\n            <command-args></command-args>"}}
{"type":"system","subtype":"local_command","uuid":"s1","parentUuid":"u1","content":"<command-name>/mcp</command-name>\n            <command-message>mcp</command-message>\n            <command-args></command-args>","level":"info"}
{"type":"system","subtype":"local_command","uuid":"s2","parentUuid":"s1","content":"<local-command-stdout>MCP dialog dismissed</local-command-stdout>","level":"info"}
"#;
    assert_snapshot!(events(log), @r#"
    1 - user_msg human "/mcp"
    2 - user_msg human "/mcp"
    3 - lifecycle harness "<local-command-stdout>MCP dialog dismissed</local-command-st…"
    "#);
}

#[test]
fn unknown_types_are_counted_by_agent_version() {
    let log = r#"
{"type":"user","uuid":"u1","version":"2.1.400","message":{"content":[{"type":"text","text":"look"},{"type":"hologram","data":"x"}]}}
{"type":"weather","sessionId":"s"}
{"type":"weather","sessionId":"s"}
{"type":"system","subtype":"moonrise","uuid":"s1","version":"2.1.400"}
{"type":"attachment","uuid":"x1","version":"2.1.400","attachment":{"type":"scent"}}
{"type":"assistant","uuid":"a1","version":"2.1.401","message":{"content":[{"type":"dance"}]}}
{"sessionId":"s"}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "look"
    turn 1 lines 1-7 "look": 1 events, 0 tool calls, 0 errors
    unknown attachment/scent in 2.1.400: 1
    unknown system/moonrise in 2.1.400: 1
    unknown user/block/hologram in 2.1.400: 1
    unknown weather in 2.1.400: 2
    unknown (no type) in 2.1.401: 1
    unknown assistant/block/dance in 2.1.401: 1
    lines: 1 event, 6 unknown
    "#);
}

#[test]
fn a_line_of_the_prompt_history_is_known_and_skipped() {
    let log = r#"
{"display":"fix the login","pastedContents":{},"timestamp":1775034000000,"project":"/home/ada/app","sessionId":"s"}
"#;
    assert_snapshot!(check(log), @"lines: 1 skipped");
}

#[test]
fn the_session_has_its_id_directory_and_times() {
    let log = r#"
{"type":"user","uuid":"u1","sessionId":"5e551000-0000-4000-8000-000000000001","timestamp":"2026-04-01T09:00:00Z","cwd":"/home/ada/app","gitBranch":"main","version":"2.1.229","entrypoint":"cli","message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-04-01T09:00:10.900Z","cwd":"/home/ada/app/web","gitBranch":"login","version":"2.1.230","message":{"id":"m1","model":"claude-opus-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":3,"output_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":11}}}
"#;
    assert_snapshot!(session("p/-home-ada-app/5e551000-0000-4000-8000-000000000001.jsonl", log), @r#"
    claude:5e551000-0000-4000-8000-000000000001 subagent: false
    claude-opus-5 in /home/ada/app (app) on login version 2.1.230 from cli
    2026-04-01T09:00:00Z to 2026-04-01T09:00:10.9Z
    title ""
    input 3 output 5 cache 18 wall 10 s turns 1 retries 0
    "#);
}

#[test]
fn the_file_names_the_session_unless_its_name_is_no_uuid() {
    let log =
        r#"{"type":"user","uuid":"u1","sessionId":"5e551000-0000-4000-8000-000000000001","message":{"content":"x"}}"#;
    let uid = |path: &str| session(path, log).lines().next().unwrap_or_default().to_owned();
    let told = "claude:5e551000-0000-4000-8000-000000000001 subagent: false";
    assert_eq!(uid("copy of yesterday.jsonl"), told);
    assert_eq!(uid("5e551000-0000-4000-8000-000000000001.jsonl"), told);
    let other = "claude:5e551000-0000-4000-8000-000000000002 subagent: false";
    assert_eq!(uid("5e551000-0000-4000-8000-000000000002.jsonl"), other);
}

#[test]
fn a_failed_stop_hook_is_an_error_and_reported_once() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","content":[{"type":"text","text":"done"}]}}
{"type":"system","subtype":"stop_hook_summary","uuid":"s1","parentUuid":"a1","toolUseID":"h1","hookCount":2,"hookErrors":["tidy: command not found",null,"exit 3"],"preventedContinuation":false}
{"type":"user","uuid":"u2","parentUuid":"s1","message":{"content":"now the logout"}}
{"type":"attachment","uuid":"h2","parentUuid":"u2","attachment":{"type":"hook_non_blocking_error","hookName":"Stop","hookEvent":"Stop","toolUseID":"h2","stderr":"tidy: command not found"}}
{"type":"system","subtype":"stop_hook_summary","uuid":"s2","parentUuid":"h2","toolUseID":"h2","hookCount":1,"hookErrors":["tidy: command not found"]}
{"type":"system","subtype":"stop_hook_summary","uuid":"s3","parentUuid":"s2","toolUseID":"h3","hookCount":1,"hookErrors":["tidy: command not found"]}
{"type":"system","subtype":"stop_hook_summary","uuid":"s4","parentUuid":"s3","hookErrors":"none"}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 assistant_msg agent "done"
    3 t1 error+lifecycle harness "Stop: tidy: command not found\nexit 3" → failed
    4 t2 user_msg human! "now the logout"
    5 t2 error+lifecycle harness "Stop: tidy: command not found" → failed
    7 t2 error+lifecycle harness "Stop: tidy: command not found" → failed
    turn 1 lines 1-3 "fix the login": 3 events, 0 tool calls, 1 errors
    turn 2 lines 4-8 "now the logout": 3 events, 0 tool calls, 2 errors
    lines: 6 event, 2 skipped
    "#);
}
