//! Damaged logs: a bad line loses at most itself, and gives a reason.

use insta::assert_snapshot;

use super::{check, check_bytes};

const GOOD: &str = r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"content":"fix the login"}}"#;

fn bytes(log: &[u8]) -> String {
    check_bytes("x.jsonl", log)
}

#[test]
fn a_torn_line_gives_one_fault_and_loses_nothing_else() {
    let log = r#"
{"type":"user","uuid":"u1","message":{"content":"fix the login"}}
{"type":"assist
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t1 assistant_msg agent "done"
    turn 1 lines 1-3 "fix the login": 2 events, 0 tool calls, 0 errors
    fault 2: EOF while parsing a string at line 1 column 15
    lines: 2 event, 1 fault
    "#);
}

#[test]
fn the_whole_record_after_a_torn_one_is_read() {
    let torn = r#"{"type":"assistant","uuid":"a0","message":{"content":[{"type":"text","text":"I wi"#;
    assert_snapshot!(check(&format!("{torn}{GOOD}\n")), @r#"
    1 t1 user_msg human! "fix the login"
    turn 1 lines 1-1 "fix the login": 1 events, 0 tool calls, 0 errors
    fault 1: torn record skipped: expected `,` or `}` at line 1 column 84 (mended)
    lines: 1 event
    "#);
}

#[test]
fn marks_and_line_ends_of_other_systems_are_not_part_of_a_line() {
    let log = format!("\u{feff}{GOOD}\r\n\r\n{}\r\n", GOOD.replace("u1", "u2"));
    assert_snapshot!(bytes(log.as_bytes()), @r#"
    1 t1 user_msg human! "fix the login"
    3 t2 user_msg human! "fix the login" ^root
    turn 1 lines 1-2 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 3-3 "fix the login": 1 events, 0 tool calls, 0 errors
    lines: 2 event, 1 blank
    "#);
}

#[test]
fn zero_bytes_around_a_record_are_no_fault_and_inside_it_are_repaired() {
    let mut log = b"\0\0\0\0".to_vec();
    log.extend_from_slice(GOOD.as_bytes());
    log.extend_from_slice(b"\n\0\0\0\n");
    log.extend_from_slice(GOOD.replace("u1", "u2").replace("the", "th\0e").as_bytes());
    assert_snapshot!(bytes(&log), @r#"
    1 t1 user_msg human! "fix the login"
    3 t2 user_msg human! "fix th\0e login" ^root
    turn 1 lines 1-2 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 3-3 "fix th\0e login": 1 events, 0 tool calls, 0 errors
    fault 3: mended: control character (\u0000-\u001F) found while parsing a string at line 1 column 72 (mended)
    lines: 2 event, 1 blank
    "#);
}

#[test]
fn invalid_bytes_are_replaced_and_the_rest_of_the_line_is_read() {
    let mut log = br#"{"type":"user","uuid":"u1","message":{"content":"caf"#.to_vec();
    log.extend_from_slice(b"\xe9 and \xff\xfe\"}}\n");
    assert_snapshot!(bytes(&log), @r#"
    1 t1 user_msg human! "caf� and ��"
    turn 1 lines 1-1 "caf� and ��": 1 events, 0 tool calls, 0 errors
    fault 1: mended: invalid unicode code point at line 1 column 53 (mended)
    lines: 1 event
    "#);
}

#[test]
fn half_a_pair_of_surrogates_is_replaced() {
    let log = r#"
{"type":"user","uuid":"u1","message":{"content":"smile \ud83d and \ud83d\ude00"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "smile � and 😀"
    turn 1 lines 1-1 "smile � and 😀": 1 events, 0 tool calls, 0 errors
    fault 1: mended: unexpected end of hex escape at line 1 column 62 (mended)
    lines: 1 event
    "#);
}

#[test]
fn unicode_separators_and_lone_carriage_returns_end_no_line() {
    let log =
        "{\"type\":\"user\",\"uuid\":\"u1\",\"message\":{\"content\":\"one\u{2028}two\u{2029}three\u{85}four\"}}\n";
    assert_snapshot!(bytes(log.as_bytes()), @r#"
    1 t1 user_msg human! "one\u{2028}two\u{2029}three\u{85}four"
    turn 1 lines 1-1 "one\u{2028}two\u{2029}three\u{85}four": 1 events, 0 tool calls, 0 errors
    lines: 1 event
    "#);
    let log = "{\"type\":\"user\",\r\"uuid\":\"u1\",\"message\":{\"content\":\"one\"}}\n";
    assert_snapshot!(bytes(log.as_bytes()), @r#"
    1 t1 user_msg human! "one"
    turn 1 lines 1-1 "one": 1 events, 0 tool calls, 0 errors
    lines: 1 event
    "#);
}

#[test]
fn control_characters_inside_a_string_are_repaired() {
    assert_snapshot!(bytes(b"{\"type\":\"user\",\"uuid\":\"u1\",\"message\":{\"content\":\"bell \x07 tab \x09 esc \x1b\"}}"), @r#"
    1 t1 user_msg human! "bell \u{7} tab \t esc \u{1b}"
    turn 1 lines 1-1 "bell \u{7} tab \t esc \u{1b}": 1 events, 0 tool calls, 0 errors
    fault 1: mended: control character (\u0000-\u001F) found while parsing a string at line 1 column 55 (mended)
    lines: 1 event
    "#);
}

#[test]
fn a_line_without_an_object_is_a_fault_even_if_it_is_repaired() {
    let mut log = b"plain words\n[1,2]\n\"text\"\n17\nnull\n\n   \n".to_vec();
    log.extend_from_slice(b"\"caf\xe9\"\n[\"\xff\"]\n{}\n");
    assert_snapshot!(bytes(&log), @"
    fault 1: expected a JSON object
    fault 2: expected a JSON object
    fault 3: expected a JSON object
    fault 4: expected a JSON object
    fault 5: expected a JSON object
    fault 8: expected a JSON object
    fault 9: expected a JSON object
    unknown (no type) in no version: 1
    lines: 1 unknown, 7 fault, 2 blank
    ");
}

#[test]
fn a_record_before_garbage_is_kept() {
    assert_snapshot!(check(&format!("{GOOD} trailing rubbish\n{} ]\n", GOOD.replace("u1", "u2"))), @r#"
    1 t1 user_msg human! "fix the login"
    2 t2 user_msg human! "fix the login" ^root
    turn 1 lines 1-1 "fix the login": 1 events, 0 tool calls, 0 errors
    turn 2 lines 2-2 "fix the login": 1 events, 0 tool calls, 0 errors
    fault 1: expected a JSON object (mended)
    fault 2: expected a JSON object (mended)
    lines: 2 event
    "#);
}

#[test]
fn deep_nesting_neither_overflows_nor_stops_the_log() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let blocks = format!(
        "{}1{}",
        r#"[{"type":"tool_result","content":"#.repeat(10_000),
        "}]".repeat(10_000)
    );
    let ignored = GOOD.replace(
        r#""sessionId":"s""#,
        &format!(r#""toolUseResult":{deep},"sessionId":"s","extra":{objects}"#),
    );
    let input = format!(
        r#"{{"type":"assistant","uuid":"a1","message":{{"content":[{{"type":"tool_use","id":"t1","name":"Odd","input":{objects}}}]}}}}"#
    );
    let content = format!(r#"{{"type":"user","uuid":"u3","message":{{"content":{blocks}}}}}"#);
    let last = GOOD.replace("u1", "u9");
    let log = [deep, ignored, input, content, last].join("\n");
    assert_snapshot!(bytes(log.as_bytes()), @r#"
    2 t1 user_msg human! "fix the login"
    3 t1 tool_call agent Odd "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":…" ^root
    5 t2 user_msg human! "fix the login" ^root
    turn 1 lines 2-4 "fix the login": 2 events, 1 tool calls, 0 errors
    turn 2 lines 5-5 "fix the login": 1 events, 0 tool calls, 0 errors
    fault 1: expected a JSON object
    fault 4: recursion limit exceeded at line 1 column 2096
    lines: 3 event, 2 fault
    "#);
}

#[test]
fn huge_numbers_lose_at_most_their_line() {
    let log = r#"
{"type":"system","subtype":"turn_duration","uuid":"d1","durationMs":18446744073709551616}
{"type":"system","subtype":"turn_duration","uuid":"d2","durationMs":-5}
{"type":"system","subtype":"turn_duration","uuid":"d3","durationMs":18446744073709551615}
{"type":"system","subtype":"turn_duration","uuid":"d4","durationMs":7,"ignored":1e999}
{"type":"system","subtype":"turn_duration","uuid":"d5","durationMs":1e999}
{"type":"assistant","uuid":"a1","message":{"id":"m1","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":18446744073709551615,"output_tokens":18446744073709551615,"cache_read_input_tokens":18446744073709551615}}}
{"type":"assistant","uuid":"a2","message":{"id":"m2","content":[{"type":"text","text":"y"}],"usage":{"input_tokens":18446744073709551615,"output_tokens":1e15}}}
{"type":"user","uuid":"u1","timestamp":"9999-12-31T23:59:59Z","message":{"content":"late"}}
{"type":"user","uuid":"u2","timestamp":"-009999-01-01T00:00:00Z","message":{"content":"early"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - completion+lifecycle harness "turn finished"
    2 - completion+lifecycle harness "turn finished" ^root
    3 - completion+lifecycle harness "turn finished" → 18446744073709551615 ms ^root
    4 - completion+lifecycle harness "turn finished" → 7 ms ^root
    6 - assistant_msg agent "x" → 18446744073709551615+18446744073709551615+0+0/18446744073709551615 tokens ^root
    7 - assistant_msg agent "y" → 18446744073709551615/1000000000000000 tokens ^root
    8 t1 user_msg human! "late" ^root
    9 t2 user_msg human! "early" ^root
    turn 1 lines 8-8 "late": 1 events, 0 tool calls, 0 errors
    turn 2 lines 9-9 "early": 1 events, 0 tool calls, 0 errors
    call of line 6 - 18446744073709551615+18446744073709551615+0+0/18446744073709551615 tokens before any turn
    call of line 7 - 18446744073709551615/1000000000000000 tokens before any turn
    fault 5: number out of range at line 1 column 73
    lines: 8 event, 1 fault
    "#);
}

#[test]
fn the_last_of_equal_keys_counts() {
    let log = r#"
{"type":"assistant","type":"user","uuid":"u1","uuid":"u2","message":{"content":"first"},"message":{"content":"first","content":"second"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "second"
    turn 1 lines 1-1 "second": 1 events, 0 tool calls, 0 errors
    lines: 1 event
    "#);
}

#[test]
fn a_wrong_type_loses_the_field_and_never_the_row() {
    let log = r#"
{"type":"user","uuid":7,"parentUuid":{},"sessionId":[],"timestamp":1775034000000,"cwd":null,"version":2,"isSidechain":"no","isMeta":0,"origin":"human","promptSource":[],"toolUseResult":[1],"message":{"role":5,"content":"still said"}}
{"type":"user","uuid":"u2","message":"not an object"}
{"type":"user","uuid":"u3","message":{"content":17}}
{"type":"user","uuid":"u4","message":{"content":{"type":"text","text":"a block on its own"}}}
{"type":"user","uuid":"u5","message":{"content":["a bare string",5,null,[],{"type":"text","text":8},{"type":null}]}}
{"type":"assistant","uuid":"a1","message":{"id":9,"model":false,"content":"a bare string","stop_reason":3,"usage":"none"}}
{"type":"assistant","uuid":"a2","message":{"content":[{"type":"tool_use","id":1,"name":2,"input":"x"}],"usage":[]}}
{"type":"system","subtype":4,"content":{}}
{"type":"attachment","attachment":"x"}
{"type":"progress","data":[]}
{"type":"queue-operation","operation":[],"content":{}}
{"type":5}
{"type":null,"sessionId":"s"}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "still said"
    4 t2 user_msg human! "a block on its own" ^root
    5 t3 user_msg human! "a bare string" ^root
    6 t3 assistant_msg agent "a bare string" ^root
    7 t3 tool_call agent "x" ^root
    turn 1 lines 1-3 "still said": 1 events, 0 tool calls, 0 errors
    turn 2 lines 4-4 "a block on its own": 1 events, 0 tool calls, 0 errors
    turn 3 lines 5-13 "a bare string": 3 events, 1 tool calls, 0 errors
    unknown (no type) in no version: 2
    unknown attachment/ in no version: 1
    unknown system/ in no version: 1
    unknown user/block/ in no version: 4
    lines: 5 event, 4 skipped, 4 unknown
    "#);
}

/// Returns the full texts that the events of a log have on their lines.
fn texts(log: &str) -> Vec<String> {
    let (reading, _) = crate::read(transcript::Agent::Claude, "x.jsonl", log.as_bytes());
    let lines: Vec<&str> = log.lines().collect();
    let text = |event: &transcript::SessionEvent| {
        let bodies = transcript::bodies(transcript::Agent::Claude, lines[event.line as usize - 1].as_bytes());
        bodies
            .get(event.block as usize)
            .map(|body| body.text.clone())
            .unwrap_or_else(|| "(lost)".to_owned())
    };
    reading.events.iter().map(text).collect()
}

#[test]
fn the_full_text_of_an_event_is_found_on_a_damaged_line_too() {
    let torn = r#"{"type":"assistant","uuid":"a0","message":{"content":[{"type":"text","text":"I wi"#;
    assert_eq!(texts(&format!("{torn}{GOOD}")), ["fix the login"]);
    let second = GOOD.replace("u1", "u2").replace("login", "logout");
    assert_eq!(texts(&format!("{GOOD}{second}")), ["fix the login", "fix the logout"]);
    assert_eq!(
        texts(&format!("{GOOD}{torn}{second}")),
        ["fix the login", "fix the logout"]
    );
    assert_eq!(texts(&GOOD.replace("the", "\\ud800")), ["fix \u{fffd} login"]);
}

#[test]
fn only_a_denial_contains_words_of_a_human() {
    let words = |line: &str| {
        let bodies = transcript::bodies(transcript::Agent::Claude, line.as_bytes());
        bodies.into_iter().map(|body| body.words).collect::<Vec<_>>()
    };
    let said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\\nno";
    let denial = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"{said}"}}]}}}}"#
    );
    assert_eq!(words(&denial), [Some("no".to_owned())]);
    let quoted = format!(r#"{{"type":"user","message":{{"content":"I quote: {said}"}}}}"#);
    assert_eq!(words(&quoted), [None]);
    let printed = denial.replace("true", "false");
    assert_eq!(words(&printed), [None]);
}
