//! The graph of records: parents, rewinds, compactions, copies, two records on one line.

use insta::assert_snapshot;

use super::{check, events, session};

#[test]
fn parallel_calls_are_a_chain_and_their_results_side_leaves() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"look"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}]}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/b"}}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"A"}]}}
{"type":"user","uuid":"r2","parentUuid":"a2","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"B"}]}}
{"type":"assistant","uuid":"a3","parentUuid":"r2","message":{"content":[{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "look"
    2 t1 tool_call agent Read "/a" → ok
    3 t1 tool_call agent Read "/b" → ok
    4 t1 tool_result tool Read "A" → ok ^2
    5 t1 tool_result tool Read "B" → ok ^3
    6 t1 assistant_msg agent "done"
    "#);
}

#[test]
fn a_chain_runs_through_records_that_give_no_event() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"look"}}
{"type":"attachment","uuid":"x1","parentUuid":"u1","attachment":{"type":"file","filename":"/a"}}
{"type":"progress","uuid":"x2","parentUuid":"x1","data":{"type":"hook_progress"}}
{"type":"permission-mode","permissionMode":"plan"}
{"type":"assistant","uuid":"a1","parentUuid":"x2","message":{"content":[{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "look"
    4 t1 lifecycle harness "permission mode: plan"
    5 t1 assistant_msg agent "done" ^1
    "#);
}

#[test]
fn a_missing_parent_is_replaced_by_the_previous_event() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":"not-in-this-copy","message":{"content":"look"}}
{"type":"user","uuid":"u2","parentUuid":null,"message":{"content":"a new root"}}
{"type":"assistant","uuid":"a1","parentUuid":"not-in-this-copy-either","message":{"content":[{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "look"
    2 t2 user_msg human! "a new root" ^root
    3 t2 assistant_msg agent "done"
    "#);
}

#[test]
fn a_prompt_edited_before_the_reply_is_a_rewind() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"done"}]}}
{"type":"system","subtype":"turn_duration","uuid":"d1","parentUuid":"a1","durationMs":9}
{"type":"user","uuid":"u2","parentUuid":"d1","promptId":"p2","message":{"content":"now"}}
{"type":"attachment","uuid":"x1","parentUuid":"u2","attachment":{"type":"task_reminder"}}
{"type":"user","uuid":"u3","parentUuid":"d1","promptId":"p3","message":{"content":"now the logout"}}
{"type":"assistant","uuid":"a3","parentUuid":"u3","message":{"content":[{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 assistant_msg agent "done"
    3 t1 completion+lifecycle harness "turn finished" → 9 ms
    4 t2 user_msg human! "now"
    6 t3 human_intervention+user_msg human! "now the logout" ^3
    7 t3 assistant_msg agent "done"
    turn 1 lines 1-3 "fix the login": 3 events, 0 tool calls, 0 errors
    turn 2 lines 4-5 "now": 1 events, 0 tool calls, 0 errors, rewound
    turn 3 lines 6-7 "now the logout": 2 events, 0 tool calls, 0 errors
    lines: 6 event, 1 skipped
    "#);
}

#[test]
fn a_rewind_marks_every_later_turn() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"one"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"1"}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","message":{"content":"two"}}
{"type":"assistant","uuid":"a2","parentUuid":"u2","message":{"content":[{"type":"text","text":"2"}]}}
{"type":"user","uuid":"u3","parentUuid":"a2","message":{"content":"three"}}
{"type":"user","uuid":"u4","parentUuid":"a1","message":{"content":"two again"}}
{"type":"user","uuid":"u5","parentUuid":"u4","message":{"content":"three again"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "one"
    2 t1 assistant_msg agent "1"
    3 t2 user_msg human! "two"
    4 t2 assistant_msg agent "2"
    5 t3 user_msg human! "three"
    6 t4 human_intervention+user_msg human! "two again" ^2
    7 t5 user_msg human! "three again"
    turn 1 lines 1-2 "one": 2 events, 0 tool calls, 0 errors
    turn 2 lines 3-4 "two": 2 events, 0 tool calls, 0 errors, rewound
    turn 3 lines 5-5 "three": 1 events, 0 tool calls, 0 errors, rewound
    turn 4 lines 6-6 "two again": 1 events, 0 tool calls, 0 errors
    turn 5 lines 7-7 "three again": 1 events, 0 tool calls, 0 errors
    lines: 7 event
    "#);
}

#[test]
fn a_rewind_by_a_skill_is_one_too() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"one"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"1"}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","message":{"content":"two"}}
{"type":"user","uuid":"u3","parentUuid":"a1","message":{"content":"<command-message>ship</command-message>\n<command-name>/ship</command-name>"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "one"
    2 t1 assistant_msg agent "1"
    3 t2 user_msg human! "two"
    4 t3 human_intervention+user_msg human! "/ship" ^2
    turn 1 lines 1-2 "one": 2 events, 0 tool calls, 0 errors
    turn 2 lines 3-3 "two": 1 events, 0 tool calls, 0 errors, rewound
    turn 3 lines 4-4 "/ship": 1 events, 0 tool calls, 0 errors
    lines: 4 event
    "#);
}

#[test]
fn a_compaction_follows_what_it_replaces_and_is_no_rewind() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"text","text":"done"}]}}
{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"logicalParentUuid":"a1","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":150000,"postTokens":9000}}
{"type":"user","uuid":"s1","parentUuid":"b1","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"This session is being continued from a previous conversation that ran out of context."}}
{"type":"user","uuid":"u2","parentUuid":"s1","message":{"content":"now the logout"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 assistant_msg agent "done"
    3 t1 lifecycle harness "conversation compacted (auto, 150000 to 9000 tokens)"
    4 t1 lifecycle harness "This session is being continued from a previous conversation…"
    5 t2 user_msg human! "now the logout"
    turn 1 lines 1-4 "fix the login": 2 events, 0 tool calls, 0 errors
    turn 2 lines 5-5 "now the logout": 1 events, 0 tool calls, 0 errors
    lines: 5 event
    "#);
}

#[test]
fn a_manual_compaction_precedes_its_command() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"logicalParentUuid":"u1","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":50000}}
{"type":"user","uuid":"s1","parentUuid":"b1","isCompactSummary":true,"message":{"content":"This session is being continued"}}
{"type":"user","uuid":"c1","parentUuid":"s1","isMeta":true,"message":{"content":"<local-command-caveat>Caveat: The messages below were generated by the user while running local commands.</local-command-caveat>"}}
{"type":"user","uuid":"c2","parentUuid":"c1","message":{"content":"<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            <command-args>keep the names</command-args>"}}
{"type":"user","uuid":"c3","parentUuid":"c2","message":{"content":"<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 lifecycle harness "conversation compacted (manual, 50000 tokens)"
    3 t1 lifecycle harness "This session is being continued"
    4 t1 lifecycle harness "<local-command-caveat>Caveat: The messages below were genera…"
    5 t1 user_msg human "/compact keep the names"
    6 t1 lifecycle harness "<local-command-stdout>Compacted (ctrl+o to see full summary)…"
    turn 1 lines 1-6 "fix the login": 2 events, 0 tool calls, 0 errors
    lines: 6 event
    "#);
}

#[test]
fn a_record_written_twice_counts_once_even_if_other_fields_differ() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-01-01T09:00:00Z","cwd":"/home/ada/app","version":"2.1.7","message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-01-01T09:00:02Z","cwd":"/home/ada/app","version":"2.1.7","message":{"content":[{"type":"text","text":"done"}]}}{"type":"summary","summary":"Login fixed","leafUuid":"a1"}
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-01-01T09:00:00Z","cwd":"/home/ada/app","version":"2.1.7","message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-01-01T09:00:02Z","cwd":"/home/bob/app","version":"2.1.12","message":{"content":[{"type":"text","text":"done"}]}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 assistant_msg agent "done"
    turn 1 lines 1-4 "fix the login": 2 events, 0 tool calls, 0 errors
    lines: 2 event, 2 skipped
    "#);
}

#[test]
fn records_that_share_an_id_and_nothing_else_are_all_kept() {
    let log = r#"
{"type":"user","uuid":"[id]","timestamp":"2026-01-01T09:00:00Z","message":{"content":"one"}}
{"type":"assistant","uuid":"[id]","timestamp":"2026-01-01T09:00:02Z","message":{"content":[{"type":"text","text":"1"}]}}
{"type":"user","uuid":"[id]","timestamp":"[time]","message":{"content":"two, without a time"}}
{"type":"user","uuid":"[id]","timestamp":"[time]","message":{"content":"three, without a time"}}
"#;
    assert_snapshot!(check(log), @r#"
    1 t1 user_msg human! "one"
    2 t1 assistant_msg agent "1" ^root
    3 t2 user_msg human! "two, without a time" ^root
    4 t3 user_msg human! "three, without a time" ^root
    turn 1 lines 1-2 "one": 2 events, 0 tool calls, 0 errors
    turn 2 lines 3-3 "two, without a time": 1 events, 0 tool calls, 0 errors
    turn 3 lines 4-4 "three, without a time": 1 events, 0 tool calls, 0 errors
    lines: 4 event
    "#);
}

#[test]
fn two_records_on_one_line_are_both_read_and_keep_their_own_ids() {
    let glued = r#"{"type":"user","uuid":"u1","message":{"content":"one"}}{"type":"user","uuid":"u2","parentUuid":"u1","message":{"content":[{"type":"text","text":"two"}]}}"#;
    assert_snapshot!(check(glued), @r#"
    1 t1 user_msg human! "one"
    1#1 t2 user_msg human! "two"
    turn 1 lines 1-1 "one": 1 events, 0 tool calls, 0 errors
    turn 2 lines 1-1 "two": 1 events, 0 tool calls, 0 errors
    lines: 1 event
    "#);
    let (reading, _) = crate::read(transcript::Agent::Claude, "x.jsonl", glued.as_bytes());
    let ids: Vec<&str> = reading.events.iter().map(|event| &*event.id).collect();
    assert_eq!(ids, ["u1#0", "u2#0"]);
}

#[test]
fn two_live_processes_write_into_one_log_and_both_are_read() {
    let log = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}]}}
{"type":"user","uuid":"v1","parentUuid":"u1","message":{"content":"from the other terminal"}}
{"type":"user","uuid":"r1","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"A"}]}}
{"type":"assistant","uuid":"b1","parentUuid":"v1","message":{"content":[{"type":"text","text":"hello"}]}}
"#;
    assert_snapshot!(events(log), @r#"
    1 t1 user_msg human! "fix the login"
    2 t1 tool_call agent Read "/a" → ok
    3 t2 user_msg human! "from the other terminal" ^1
    4 t2 tool_result tool Read "A" → ok ^2
    5 t2 assistant_msg agent "hello" ^3
    "#);
}

#[test]
fn the_title_is_the_humans_then_the_agents_then_the_summary_of_this_log() {
    let lines = [
        r#"{"type":"summary","summary":"Another session's","leafUuid":"not-here"}"#,
        r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"fix the login"}}"#,
        r#"{"type":"summary","summary":"Login fixed","leafUuid":"u1"}"#,
        r#"{"type":"ai-title","aiTitle":"Fix the login","sessionId":"s"}"#,
        r#"{"type":"system","subtype":"local_command","uuid":"c1","content":"<command-name>/rename</command-name>\n<command-message>rename</command-message>\n<command-args>logins</command-args>"}"#,
        r#"{"type":"custom-title","customTitle":"login work","sessionId":"s"}"#,
    ];
    let titles: Vec<String> = (1..=lines.len())
        .map(|n| session("x.jsonl", &lines[..n].join("\n")))
        .map(|printed| {
            printed
                .lines()
                .find(|line| line.starts_with("title"))
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(
        titles,
        [
            r#"title """#,
            r#"title """#,
            r#"title "Login fixed""#,
            r#"title "Fix the login""#,
            r#"title "logins""#,
            r#"title "login work""#
        ]
    );
}

#[test]
fn a_prompt_whose_parent_precedes_the_first_one_rewinds_to_the_start() {
    let log = r#"{"type":"attachment","uuid":"h1","parentUuid":null,"attachment":{"type":"hook_success"}}
{"type":"user","uuid":"a1","parentUuid":"h1","message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"content":[{"type":"text","text":"done"}]}}
{"type":"user","uuid":"b1","parentUuid":"h1","message":{"content":"rather fix the logout"}}
"#;
    let (reading, _) = crate::read(transcript::Agent::Claude, "x.jsonl", log.as_bytes());
    assert_eq!(
        reading.turns.iter().map(|turn| turn.rewound).collect::<Vec<_>>(),
        [true, false]
    );
    assert!(reading.events[2].kinds.has(transcript::Kind::HumanIntervention));
}

#[test]
fn a_prompt_without_a_parent_rewinds_to_the_first_one() {
    let rewound = |log: &str| -> Vec<bool> {
        let (reading, _) = crate::read(transcript::Agent::Claude, "x.jsonl", log.as_bytes());
        reading.turns.iter().map(|turn| turn.rewound).collect()
    };
    let first = r#"{"type":"user","uuid":"a1","parentUuid":null,"message":{"content":"fix the login"}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"content":[{"type":"text","text":"done"}]}}
{"type":"user","uuid":"a3","parentUuid":"a2","message":{"content":"test it"}}
"#;
    let root = r#"{"type":"user","uuid":"b1","parentUuid":null,"message":{"content":"rather fix the logout"}}"#;
    assert_eq!(rewound(&format!("{first}{root}")), [true, true, false]);
    // A missing key means nothing, and a summary is not a prompt.
    assert_eq!(
        rewound(&format!("{first}{}", root.replace(r#""parentUuid":null,"#, ""))),
        [false, false, false]
    );
    let summary = root.replace(r#""uuid""#, r#""isCompactSummary":true,"uuid""#);
    assert_eq!(rewound(&format!("{first}{summary}")), [false, false]);
    // If the first prompt has a parent, a prompt without one comes from elsewhere.
    let hook = r#"{"type":"attachment","uuid":"h1","parentUuid":null,"attachment":{"type":"hook_success"}}"#;
    let below = first.replace(r#""parentUuid":null"#, r#""parentUuid":"h1""#);
    assert_eq!(rewound(&format!("{hook}\n{below}{root}")), [false, false, false]);
}
