//! Sessions rendered as Markdown.

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use transcript::Agent;

use super::*;

const LOG: &str = r#"
{"type":"user","uuid":"u1","sessionId":"s","cwd":"/home/ada/app","gitBranch":"main","timestamp":"2026-04-01T09:00:00Z","message":{"content":"fix the <b>login</b>\n```\nboom\n"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-04-01T09:00:05Z","message":{"id":"m1","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Looking.\n\n# Why"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test"}}]}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-04-01T09:00:08Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 101\n```\n\u001b[31mfailed\u001b[0m"}]}}
{"type":"assistant","uuid":"u4","parentUuid":"u3","sessionId":"s","timestamp":"2026-04-01T09:00:09Z","message":{"id":"m2","model":"m","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/home/ada/app/a.rs","old_string":"let a = 1;","new_string":"let a = 2;"}}]}}
{"type":"user","uuid":"u5","parentUuid":"u4","sessionId":"s","timestamp":"2026-04-01T09:00:10Z","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"done"}]}}
{"type":"user","uuid":"u6","parentUuid":"u5","sessionId":"s","timestamp":"2026-04-01T09:10:00Z","message":{"content":"thanks"}}
{"type":"assistant","uuid":"u7","parentUuid":"u6","sessionId":"s","timestamp":"2026-04-01T09:10:01Z","message":{"id":"m3","model":"m","content":[{"type":"text","text":"Any time."}]}}
"#;

fn check(depth: MarkdownDepth, max_tokens: Option<usize>) -> (String, OmittedTurns) {
    let transcript = Transcript::from_log(Agent::Claude, "s.jsonl", LOG.trim_start().as_bytes(), TimeZone::UTC);
    let mut out = Vec::new();
    let options = MarkdownOptions { depth, max_tokens };
    let left_out = markdown(&transcript.unwrap().unwrap(), &options, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), left_out)
}

#[test]
fn prompts_alone_are_quoted_and_harmless() {
    assert_snapshot!(check(MarkdownDepth::Prompts, None).0);
}

#[test]
fn depth_turns_shows_answers_and_one_line_per_call() {
    assert_snapshot!(check(MarkdownDepth::Turns, None).0);
}

#[test]
fn depth_tools_shows_calls_and_their_output() {
    assert_snapshot!(check(MarkdownDepth::Tools, None).0);
}

#[test]
fn turns_beyond_the_budget_are_omitted_with_a_note() {
    let (whole, left_out) = check(MarkdownDepth::Full, None);
    assert_eq!(left_out, OmittedTurns::default());
    let (text, left_out) = check(MarkdownDepth::Full, Some(100));
    assert!(text.chars().count() <= 400, "{text}");
    assert!(whole.chars().count() > 400);
    assert_eq!(left_out.turns, [1]);
    assert!(text.contains("… turn 1 left out"), "{text}");
    assert!(text.contains("Any time."), "{text}");
}
