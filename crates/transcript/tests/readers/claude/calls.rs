//! API calls: counted once, and assigned to their first event.

use insta::assert_snapshot;

use super::{check, session};

#[test]
fn the_first_event_of_a_call_has_its_tokens_and_the_fullest_row_counts() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","requestId":"req_1","message":{"id":"m1","model":"claude-opus-5","stop_reason":null,"content":[{"type":"thinking","thinking":"hm"}],"usage":{"input_tokens":2,"output_tokens":3,"cache_read_input_tokens":50,"cache_creation_input_tokens":90,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":80}}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","requestId":"req_1","message":{"id":"m1","model":"claude-opus-5","stop_reason":null,"content":[{"type":"text","text":"I look"}],"usage":{"input_tokens":2,"output_tokens":3,"cache_read_input_tokens":50,"cache_creation_input_tokens":90,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":80}}}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","requestId":"req_1","message":{"id":"m1","model":"claude-opus-5","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}],"usage":{"input_tokens":2,"output_tokens":120,"cache_read_input_tokens":50,"cache_creation_input_tokens":90,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":80}}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 thinking agent "hm" → 2+50+10+80/120 tokens
    3 t1 assistant_msg agent "I look"
    4 t1 tool_call agent Read "/a"
    turn 1 lines 1-4 "fix the login": 4 events, 1 tool calls, 0 errors
    call of line 2 claude-opus-5 2+50+10+80/120 tokens
    lines: 4 event
    "#);
    assert!(
        session("x.jsonl", log).contains("input 2 output 120 cache 140 "),
        "cache is read and write"
    );
}

#[test]
fn a_call_counted_after_its_results_is_assigned_to_its_first_event() {
    let log = r#"
{"type":"assistant","uuid":"a1","message":{"id":"m1","model":"claude-opus-5","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}],"usage":{"output_tokens":1}}}
{"type":"user","uuid":"r1","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"A"}]}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"m1","model":"claude-opus-5","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/b"}}],"usage":{"output_tokens":9}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - tool_call agent Read "/a" → ok, 0/9 tokens
    2 - tool_result tool Read "A" → ok
    3 - tool_call agent Read "/b" ^1
    call of line 1 claude-opus-5 0/9 tokens before any turn
    lines: 3 event
    "#);
}

#[test]
fn synthetic_messages_cost_nothing() {
    let log = r#"
{"type":"assistant","uuid":"a1","isApiErrorMessage":true,"message":{"id":"m1","model":"<synthetic>","content":[{"type":"text","text":"API Error"}],"usage":{"input_tokens":7,"output_tokens":7}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - error+assistant_msg harness "API Error" → failed
    lines: 1 event
    "#);
}

#[test]
fn a_second_model_that_advises_is_a_call_of_its_own() {
    let log = r#"
{"type":"assistant","uuid":"a1","requestId":"req_1","message":{"id":"m1","model":"claude-sonnet-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":5,"output_tokens":6,"iterations":[{"type":"message","input_tokens":5,"output_tokens":6},{"type":"advisor_message","model":"claude-opus-5","input_tokens":100,"output_tokens":20}]}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - assistant_msg agent "done" → 5/6 tokens
    call of line 1 claude-sonnet-5 5/6 tokens before any turn
    call of line 1 claude-opus-5 100/20 tokens before any turn
    lines: 1 event
    "#);
}

#[test]
fn the_message_of_a_subagent_wrapped_in_progress_is_an_echo() {
    let log = r#"
{"type":"progress","uuid":"p1","parentToolUseID":"t1","data":{"type":"agent_progress","agentId":"a1","message":{"type":"assistant","timestamp":"2026-02-01T09:00:00Z","requestId":"req_9","message":{"id":"m9","model":"claude-haiku-4-5","content":[{"type":"text","text":"counting"}],"usage":{"input_tokens":4,"output_tokens":6}}}}}
"#;
    assert_snapshot!(check(log), @"
    call of line 1 claude-haiku-4-5 4/6 tokens sidechain echo before any turn
    lines: 1 skipped
    ");
}

#[test]
fn a_side_question_that_replays_a_message_does_not_bill_it_again() {
    let log = r#"
{"type":"assistant","uuid":"a1","requestId":"req_1","message":{"id":"m1","model":"claude-opus-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":5,"output_tokens":6}}}
{"type":"assistant","uuid":"b1","isSidechain":true,"requestId":"req_2","message":{"id":"m1","model":"claude-opus-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":5,"output_tokens":6}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - assistant_msg agent "done" → 5/6 tokens
    2 - assistant_msg agent "done" → sidechain ^root
    call of line 1 claude-opus-5 5/6 tokens before any turn
    lines: 2 event
    "#);
}

#[test]
fn a_usage_of_nulls_and_wrong_types_loses_those_fields_only() {
    let log = r#"
{"type":"assistant","uuid":"a1","message":{"id":"m1","model":"claude-opus-5","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":null,"output_tokens":6.0,"cache_read_input_tokens":"many","cache_creation":null,"cache_creation_input_tokens":8,"iterations":null,"server_tool_use":null}}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - assistant_msg agent "done" → 0+0+8+0/6 tokens
    call of line 1 claude-opus-5 0+0+8+0/6 tokens before any turn
    lines: 1 event
    "#);
}
