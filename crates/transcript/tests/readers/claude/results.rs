//! Tool calls and their results: joined, classified, and searched for the words of a human.

use insta::assert_snapshot;

use super::{check, events};

/// Returns a log in which the tool `name` returned `result`, a record's `message.content` and its other fields.
fn called(name: &str, input: &str, result: &str, fields: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-04-01T09:00:00Z","message":{{"role":"user","content":"fix the login"}}}}
{{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-04-01T09:00:01Z","message":{{"content":[{{"type":"tool_use","id":"t1","name":"{name}","input":{input}}}]}}}}
{{"type":"user","uuid":"r1","parentUuid":"a1","timestamp":"2026-04-01T09:00:04Z","message":{{"role":"user","content":{result}}},"sourceToolAssistantUUID":"a1"{fields}}}
"#
    )
}

fn bash(result: &str, fields: &str) -> String {
    called("Bash", r#"{"command":"make"}"#, result, fields)
}

#[test]
fn a_shell_that_worked_has_exit_code_zero_and_its_call_the_time_it_took() {
    let log = bash(
        r#"[{"type":"tool_result","tool_use_id":"t1","content":"built","is_error":false}]"#,
        r#","toolUseResult":{"stdout":"built","stderr":"","interrupted":false}"#,
    );
    assert_snapshot!(check(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms
    3 t1 tool_result tool Bash "built" → ok, exit 0
    turn 1 lines 1-3 "fix the login": 3 events, 1 tool calls, 0 errors
    lines: 3 event
    "#);
}

#[test]
fn a_failed_shell_has_its_exit_code() {
    let result =
        r#"[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 2\nmake: *** no rule","is_error":true}]"#;
    let log = bash(result, r#","toolUseResult":"Error: Exit code 2\nmake: *** no rule""#);
    assert_snapshot!(check(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, exit 2, 3000 ms
    3 t1 error+tool_result tool Bash "Exit code 2\nmake: *** no rule" → failed, exit 2
    turn 1 lines 1-3 "fix the login": 3 events, 1 tool calls, 1 errors
    lines: 3 event
    "#);
}

#[test]
fn old_versions_write_the_exit_code_after_the_word_error() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"Error: Exit code 127","is_error":true}]"#;
    assert_snapshot!(events(&bash(result, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, exit 127, 3000 ms
    3 t1 error+tool_result tool Bash "Error: Exit code 127" → failed, exit 127
    "#);
}

#[test]
fn a_shell_sent_to_the_background_has_no_exit_code_yet() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"Command running in background with ID: b1"}]"#;
    let log = bash(
        result,
        r#","toolUseResult":{"stdout":"","interrupted":false,"backgroundTaskId":"b1"}"#,
    );
    assert_snapshot!(events(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, 3000 ms
    3 t1 tool_result tool Bash "Command running in background with ID: b1" → ok
    "#);
}

#[test]
fn a_shell_cut_off_has_no_exit_code_and_is_no_success() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"half"}]"#;
    let log = bash(result, r#","toolUseResult":{"stdout":"half","interrupted":true}"#);
    assert_snapshot!(events(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t1 tool_result tool Bash "half" → failed
    "#);
}

#[test]
fn a_result_before_its_call_is_joined_too() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-04-01T09:00:00Z","message":{"role":"user","content":"fix the login"}}
{"type":"user","uuid":"r1","parentUuid":"a1","timestamp":"2026-04-01T09:00:04Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"built"}]},"toolUseResult":{"stdout":"built","stderr":"","interrupted":false}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-04-01T09:00:01Z","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_result tool Bash "built" → ok, exit 0 ^3
    3 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms ^1
    turn 1 lines 1-3 "fix the login": 3 events, 1 tool calls, 0 errors
    lines: 3 event
    "#);
}

#[test]
fn a_result_without_a_link_follows_its_call() {
    let log = r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}]}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/b"}}]}}
{"type":"user","uuid":"r1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"A"}]}}
{"type":"user","uuid":"r2","parentUuid":"nobody-wrote-it","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"B"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 - tool_call agent Read "/a" → ok
    2 - tool_call agent Read "/b" → ok
    3 - tool_result tool Read "A" → ok ^1
    4 - tool_result tool Read "B" → ok ^2
    "#);
}

#[test]
fn results_of_one_record_are_siblings() {
    let log = r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/b"}}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"A"},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"B"},{"type":"text","text":"C"}]}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 - tool_call agent Read "/a" → ok
    1#1 - tool_call agent Read "/b" → ok
    2 - tool_result tool Read "A" → ok
    2#1 - tool_result tool Read "B\nC" → ok ^1#1
    "#);
}

#[test]
fn the_words_of_a_denial_begin_a_turn() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse ninja instead\n\nNote: The user's next message may contain a correction or preference. Pay close attention."}]"#;
    let log = bash(
        result,
        r#","toolUseResult":"User rejected tool use","toolDenialKind":"user-rejected""#,
    );
    assert_snapshot!(check(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t2 human_intervention+tool_result human Bash "The user doesn't want to proceed with this tool use. The too…" → failed
    3.words t2 human_intervention+user_msg human! "use ninja instead"
    turn 1 lines 1-2 "fix the login": 2 events, 1 tool calls, 0 errors
    turn 2 lines 3-3 "use ninja instead": 2 events, 0 tool calls, 0 errors
    lines: 3 event
    "#);
}

#[test]
fn a_denial_without_words_is_human_and_no_trigger() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."}]"#;
    let marker = r#"{"type":"user","uuid":"i1","parentUuid":"r1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#;
    let log = format!("{}{marker}\n", bash(result, ""));
    assert_snapshot!(check(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t1 human_intervention+tool_result human Bash "The user doesn't want to proceed with this tool use. The too…" → failed
    4 t1 human_intervention+lifecycle human "interrupted by the user"
    turn 1 lines 1-4 "fix the login": 4 events, 1 tool calls, 0 errors
    lines: 4 event
    "#);
}

#[test]
fn a_denial_to_clarify_questions_is_human_and_no_trigger() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nThe user wants to clarify these questions.\n    This means they may have additional information.\n(No answer provided)"}]"#;
    let log = called("AskUserQuestion", r#"{"questions":[]}"#, result, "");
    assert_snapshot!(events(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent AskUserQuestion "questions: [0]" → failed, 3000 ms
    3 t1 human_intervention+tool_result human AskUserQuestion "The user doesn't want to proceed with this tool use. The too…" → failed
    3.words t1 human_intervention+user_msg human "The user wants to clarify these questions.\n    This means th…"
    "#);
}

#[test]
fn a_rule_of_the_settings_that_denies_is_an_error_and_not_human() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Permission to use Bash with command make has been denied."}]"#;
    assert_snapshot!(events(&bash(result, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t1 error+tool_result tool Bash "Permission to use Bash with command make has been denied." → failed
    "#);
}

#[test]
fn a_denial_in_a_noninteractive_session_is_an_error_and_not_human() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Permission for this tool use was denied. It requires approval, and this session has no approval surface."}]"#;
    assert_snapshot!(events(&bash(result, r#","toolDenialKind":"no-approval-surface""#)), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t1 error+tool_result tool Bash "Permission for this tool use was denied. It requires approva…" → failed
    "#);
}

#[test]
fn a_result_that_only_says_it_was_interrupted_is_no_error() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"[Request interrupted by user for tool use]"}]"#;
    let marker = r#"{"type":"user","uuid":"i1","parentUuid":"r1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#;
    let log = format!("{}{marker}\n", bash(result, ""));
    assert_snapshot!(events(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t1 tool_result tool Bash "[Request interrupted by user for tool use]" → failed
    4 t1 human_intervention+lifecycle human "interrupted by the user"
    "#);
}

#[test]
fn words_beside_a_result_are_the_humans_and_begin_a_turn() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"built"},{"type":"text","text":"also rename the file"}]"#;
    assert_snapshot!(check(&bash(result, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms
    3 t2 tool_result tool Bash "built" → ok, exit 0
    3#1 t2 user_msg human! "also rename the file"
    turn 1 lines 1-2 "fix the login": 2 events, 1 tool calls, 0 errors
    turn 2 lines 3-3 "also rename the file": 2 events, 0 tool calls, 0 errors
    lines: 3 event
    "#);
}

#[test]
fn a_reminder_or_a_picture_beside_a_result_is_not_a_prompt() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"built"},{"type":"text","text":"<system-reminder>be brief</system-reminder>"}]"#;
    assert_snapshot!(events(&bash(result, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms
    3 t1 tool_result tool Bash "built" → ok, exit 0
    3#1 t1 lifecycle harness "<system-reminder>be brief</system-reminder>"
    "#);
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"built"},{"type":"image","source":{"type":"base64","data":"aGk="}}]"#;
    assert_snapshot!(events(&bash(result, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms
    3 t1 tool_result tool Bash "built" → ok, exit 0
    "#);
}

#[test]
fn answers_to_questions_are_human_by_the_call_in_either_wording() {
    let answered = |text: &str| {
        let result = format!(r#"[{{"type":"tool_result","tool_use_id":"t1","content":"{text}"}}]"#);
        let fields = r#","toolUseResult":{"questions":[],"answers":{"Which store?":"SQLite","Which port?":"8080"}}"#;
        called(
            "AskUserQuestion",
            r#"{"questions":[{"question":"Which store?"}]}"#,
            &result,
            fields,
        )
    };
    let old = answered(r#"User has answered your questions: \"Which store?\"=\"SQLite\". You can now continue."#);
    assert_snapshot!(events(&old), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent AskUserQuestion "questions: [1]" → ok, 3000 ms
    3 t1 tool_result tool AskUserQuestion "User has answered your questions: \"Which store?\"=\"SQLite\". Y…" → ok
    3.words t1 user_msg human "SQLite; 8080"
    "#);
    let new = answered(r#"Your questions have been answered: \"Which store?\"=\"SQLite\"."#);
    assert_snapshot!(events(&new), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent AskUserQuestion "questions: [1]" → ok, 3000 ms
    3 t1 tool_result tool AskUserQuestion "Your questions have been answered: \"Which store?\"=\"SQLite\"." → ok
    3.words t1 user_msg human "SQLite; 8080"
    "#);
}

#[test]
fn a_question_that_failed_was_not_answered() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"<tool_use_error>InputValidationError: questions is missing</tool_use_error>"}]"#;
    let log = called(
        "AskUserQuestion",
        "{}",
        result,
        r#","toolUseResult":"InputValidationError: questions is missing""#,
    );
    assert_snapshot!(events(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent AskUserQuestion "" → failed, 3000 ms
    3 t1 error+tool_result tool AskUserQuestion "InputValidationError: questions is missing" → failed
    "#);
}

#[test]
fn a_tool_whose_result_has_answers_of_its_own_is_not_a_human() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"two found"}]"#;
    for answers in [r#"{"1":"a","2":"b"}"#, "null", "[1]"] {
        let log = called(
            "mcp__faq__find",
            "{}",
            result,
            &format!(r#","toolUseResult":{{"answers":{answers}}}"#),
        );
        assert_eq!(events(&log).lines().count(), 3, "{answers}");
    }
}

#[test]
fn a_plan_approved_is_human_and_a_plan_refused_too() {
    let approved = r#"[{"type":"tool_result","tool_use_id":"t1","content":"User has approved your plan. You can now start coding."}]"#;
    assert_snapshot!(events(&called("ExitPlanMode", r##"{"plan":"# Login"}"##, approved, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent ExitPlanMode "plan: # Login" → ok, 3000 ms
    3 t1 tool_result tool ExitPlanMode "User has approved your plan. You can now start coding." → ok
    3.words t1 user_msg human "approved the plan"
    "#);
    let refused = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"The agent proposed a plan that was rejected by the user. The user chose to stay in plan mode rather than proceed with implementation.\n\nRejected plan:\n# Login"}]"#;
    assert_snapshot!(events(&called("ExitPlanMode", r##"{"plan":"# Login"}"##, refused, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent ExitPlanMode "plan: # Login" → failed, 3000 ms
    3 t1 human_intervention+tool_result human ExitPlanMode "The agent proposed a plan that was rejected by the user. The…" → failed
    "#);
}

#[test]
fn a_shell_that_prints_the_words_of_an_approval_approves_nothing() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"User has approved your plan"}]"#;
    assert_snapshot!(events(&bash(result, "")), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms
    3 t1 tool_result tool Bash "User has approved your plan" → ok, exit 0
    "#);
}

#[test]
fn a_spilled_result_names_a_file_of_the_session_only() {
    let spilled = |path: &str| {
        let fields = format!(
            r#","sessionId":"5e551000-0000-4000-8000-000000000001","toolUseResult":{{"stdout":"","persistedOutputPath":"{path}","persistedOutputSize":70000}}"#
        );
        let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"<persisted-output>\nOutput too large (68.4KB). Preview (first 2KB):\n…\n</persisted-output>"}]"#;
        let log = bash(result, &fields);
        let printed = events(&log);
        printed
            .rsplit_once("spilled to ")
            .map_or("-".to_owned(), |(_, name)| name.to_owned())
    };
    let tree = "/home/ada/.claude/projects/-home-ada-app/5e551000-0000-4000-8000-000000000001/tool-results";
    assert_eq!(spilled(&format!("{tree}/b1.txt")), "b1.txt");
    let windows = r"C:\\Users\\ada\\.claude\\projects\\app\\5e551000-0000-4000-8000-000000000001\\tool-results\\b1.txt";
    assert_eq!(spilled(windows), "b1.txt");
    assert_eq!(
        spilled("/mnt/copy/tool-results/b1.txt"),
        "b1.txt",
        "it is looked for in the tree of this log alone"
    );
    let outside = [
        "/etc/passwd",
        "/home/ada/.claude/projects/-home-ada-app/5e551000-0000-4000-8000-000000000009/tool-results/b1.txt",
        &format!("{tree}/.."),
        &format!("{tree}/../../../.credentials.json"),
        &format!("{tree}/"),
        &format!("{tree}s/b1.txt"),
        "b1.txt",
    ];
    for path in outside {
        assert_eq!(spilled(path), "-", "{path}");
    }
}

#[test]
fn a_spilled_result_named_only_in_its_text_is_found_too() {
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"<persisted-output>\nOutput too large (68.4KB). Full output saved to: /home/ada/.claude/projects/-home-ada-app/5e551000-0000-4000-8000-000000000001/tool-results/toolu_1.txt\n\nPreview (first 2KB):\n…\n</persisted-output>"}]"#;
    assert_snapshot!(events(&bash(result, r#","sessionId":"5e551000-0000-4000-8000-000000000001""#)), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → ok, exit 0, 3000 ms
    3 t1 tool_result tool Bash "<persisted-output>\nOutput too large (68.4KB). Full output sa…" → ok, exit 0, spilled to toolu_1.txt
    "#);
}

/// Returns calls of a shell with their results, or a prompt between them.
fn tries(tries: &[(&str, bool)]) -> String {
    let mut log = String::new();
    for (n, (command, works)) in tries.iter().enumerate() {
        let records = match *command {
            "" => format!(r#"{{"type":"user","uuid":"u{n}","message":{{"content":"go on"}}}}"#),
            _ => format!(
                r#"{{"type":"assistant","uuid":"a{n}","message":{{"content":[{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":"{command}"}}}}]}}}}
{{"type":"user","uuid":"r{n}","parentUuid":"a{n}","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{n}","is_error":{},"content":"Exit code 1"}}]}}}}"#,
                !works
            ),
        };
        log.push_str(&records);
        log.push('\n');
    }
    let printed = events(&log);
    let calls: Vec<&str> = printed.lines().filter(|line| !line.contains("tool_result")).collect();
    calls.join("\n").replace(" ^root", "")
}

#[test]
fn an_equal_call_after_an_error_is_a_retry_until_it_works_or_a_prompt_comes() {
    let make = ("make all", false);
    let log = tries(&[make, make, ("ls", true), ("make all", true), make, ("", true), make]);
    assert_snapshot!(log, @r#"
    1 - tool_call agent Bash "make all" → failed, exit 1
    3 - retry+tool_call agent Bash "make all" → failed, exit 1
    5 - tool_call agent Bash "ls" → ok, exit 0
    7 - retry+tool_call agent Bash "make all" → ok, exit 0
    9 - tool_call agent Bash "make all" → failed, exit 1
    11 t1 user_msg human! "go on"
    12 t1 tool_call agent Bash "make all" → failed, exit 1
    "#);
}

#[test]
fn a_nearly_equal_call_after_an_error_is_a_retry_and_another_one_is_not() {
    let log = tries(&[
        ("cargo test -p app --lib login", false),
        ("cargo test -p app --lib login -- --nocapture", false),
        ("cargo build", true),
        ("git status", true),
    ]);
    assert_snapshot!(log, @r#"
    1 - test_run+tool_call agent Bash "cargo test -p app --lib login" → failed, exit 1
    3 - retry+test_run+tool_call agent Bash "cargo test -p app --lib login -- --nocapture" → failed, exit 1
    5 - tool_call agent Bash "cargo build" → ok, exit 0
    7 - tool_call agent Bash "git status" → ok, exit 0
    "#);
}

#[test]
fn a_call_the_human_denied_did_not_fail_and_is_not_retried() {
    let denied = r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing"}]"#;
    let again = r#"{"type":"assistant","uuid":"a2","message":{"content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make"}}]}}"#;
    let log = format!("{}{again}\n", bash(denied, ""));
    assert_snapshot!(events(&log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Bash "make" → failed, 3000 ms
    3 t1 human_intervention+tool_result human Bash "The user doesn't want to proceed with this tool use. The too…" → failed
    4 t1 tool_call agent Bash "make" ^root
    "#);
}

#[test]
fn a_call_without_an_id_and_a_result_without_a_call_are_kept() {
    let log = r#"
{"type":"assistant","uuid":"a1","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"make"}}]}}
{"type":"user","uuid":"r1","message":{"content":[{"type":"tool_result","content":"built"}]}}
{"type":"user","uuid":"r2","message":{"content":[{"type":"tool_result","tool_use_id":"t9","content":"built","is_error":true}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - tool_call agent Bash "make"
    2 - tool_result tool "built" → ok ^root
    3 - error+tool_result tool "built" → failed ^root
    lines: 3 event
    "#);
}

#[test]
fn tools_of_the_server_are_joined_inside_their_message() {
    let log = r#"
{"type":"assistant","uuid":"a1","message":{"content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rust lint"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"x"}]},{"type":"text","text":"found"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 - tool_call agent web_search "query: rust lint" → ok
    1#1 - tool_result tool web_search "" → ok
    1#2 - assistant_msg agent "found"
    lines: 1 event
    "#);
}
