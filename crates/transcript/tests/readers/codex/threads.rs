//! The owner and the origin of a thread, and calls that end after their output.

use insta::assert_snapshot;
use transcript::Agent;

use super::print_reading;
use crate::read;

const THREAD: &str = "01990000-0000-7000-8000-000000000001";

fn print_log(path: &str, log: &str) -> String {
    print_reading(&read(Agent::Codex, path, log.trim().as_bytes()).0)
}

/// Returns the author of the prompts of a thread with this header, and whether a prompt is a trigger.
fn asker(head: &str) -> String {
    let log = format!(
        r#"{{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{{"id":"{THREAD}",{head}}}}}
{{"timestamp":"2026-03-01T10:00:01Z","type":"event_msg","payload":{{"type":"user_message","message":"go"}}}}"#
    );
    let (reading, _) = read(Agent::Codex, "x.jsonl", log.as_bytes());
    let event = reading.events.last().expect("a prompt is an event");
    format!("{} {}", event.actor.as_str(), event.trigger)
}

#[test]
fn only_a_humans_thread_has_triggers() {
    let cases = [
        (r#""originator":"codex_cli_rs""#, "human true"),
        (r#""originator":"codex_exec","source":"exec""#, "human true"),
        (
            r#""originator":"Codex Desktop","source":"vscode","thread_source":"user""#,
            "human true",
        ),
        (r#""originator":"Claude Code","source":"exec""#, "other_agent false"),
        (r#""originator":"codex_sdk_ts","source":"exec""#, "harness false"),
        (
            r#""originator":"codex-tui","thread_source":"automation""#,
            "harness false",
        ),
        (r#""originator":"codex-tui","thread_source":"subagent""#, "agent false"),
        (
            r#""originator":"codex-tui","source":{"subagent":"review"}"#,
            "agent false",
        ),
        (
            r#""originator":"codex-tui","source":{"internal":"guardian"}"#,
            "agent false",
        ),
        (r#""originator":"codex-tui","source":{"custom":"atlas"}"#, "human true"),
    ];
    for (head, who) in cases {
        assert_eq!(asker(head), who, "{head}");
    }
}

#[test]
fn a_revert_continues_in_a_file_of_its_own() {
    let path =
        format!("sessions/2026/08/20/rollout-2026-08-20T10-00-00-{THREAD}_01990000-0000-7000-8000-0000000000aa.jsonl");
    let log = format!(
        r#"
{{"timestamp":"2026-08-20T10:00:00Z","ordinal":41,"type":"session_meta","payload":{{"id":"{THREAD}","history_mode":"paginated","history_base":{{"thread_id":"{THREAD}","end_ordinal_exclusive":41}}}}}}
"#
    );
    assert_snapshot!(print_log(&path, &log), @"
    codex:01990000-0000-7000-8000-000000000001_01990000-0000-7000-8000-0000000000aa - - - - -
    revert codex:01990000-0000-7000-8000-000000000001 -> codex:01990000-0000-7000-8000-000000000001_01990000-0000-7000-8000-0000000000aa -
    1 - lifecycle harness - | session started
    ");
}

#[test]
fn a_subagents_copied_history_ends_where_its_header_says() {
    let log = format!(
        r#"
{{"timestamp":"2026-08-20T10:00:00Z","ordinal":0,"type":"session_meta","payload":{{"id":"{THREAD}","parent_thread_id":"01980000-0000-7000-8000-000000000001","subagent_history_start_ordinal":3}}}}
{{"timestamp":"2026-08-20T10:00:00Z","ordinal":1,"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"the parent's"}}]}}}}
{{"timestamp":"2026-08-20T10:00:00Z","ordinal":2,"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":100,"output_tokens":10}},"last_token_usage":{{"input_tokens":100,"output_tokens":10}}}}}}}}
{{"timestamp":"2026-08-20T10:00:00Z","ordinal":3,"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"its own"}}]}}}}
{{"timestamp":"2026-08-20T10:00:05Z","ordinal":4,"type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"done"}}]}}}}
{{"timestamp":"2026-08-20T10:00:05Z","ordinal":5,"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":150,"output_tokens":15}},"last_token_usage":{{"input_tokens":50,"output_tokens":5}}}}}}}}
"#
    );
    assert_snapshot!(print_log("x.jsonl", &log), @"
    codex:01990000-0000-7000-8000-000000000001 - - - - -
    copied 2..3 by ordinal
    subagent codex:01980000-0000-7000-8000-000000000001 -> codex:01990000-0000-7000-8000-000000000001 -
    1 - lifecycle harness - | session started
    2 - user_msg agent - | the parent's
    4 - user_msg agent - | its own
    5 - assistant_msg agent - 55 tokens | done
    ");
}

#[test]
fn an_event_ends_the_call_of_a_background_command() {
    let log = r#"
{"timestamp":"2026-03-01T10:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"test it"}}
{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cargo test\"}","call_id":"c1"}}
{"timestamp":"2026-03-01T10:00:11Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Wall time: 10.0 seconds\nProcess running with session ID 9\nOutput:\n"}}
{"timestamp":"2026-03-01T10:01:01Z","type":"event_msg","payload":{"type":"exec_command_end","call_id":"c1","command":["bash","-lc","cargo test"],"exit_code":101,"status":"failed"}}
"#;
    assert_snapshot!(print_log("x.jsonl", log), @"
    codex:x - - - - -
    1 1 user_msg human! - | test it
    2 1 test_run+tool_call agent exec_command failed exit 101 60000 ms | cargo test
    3 1 tool_result tool exec_command | Wall time: 10.0 seconds⏎Process running with session ID 9⏎Output:⏎
    turn 1 1..4 events 3 calls 1 errors 0
    ");
}
