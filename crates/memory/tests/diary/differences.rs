//! Every class of `docs/diary-differences.md`, with the result of the public tool for the same log.

use serde_json::json;

use crate::home::{Home, at, codex, event, head, item, lines, prompt, reply, with};

/// Returns the turns of a log of Claude Code.
fn claude(records: &[serde_json::Value]) -> String {
    let home = Home::new();
    home.claude("s", records);
    home.prepare();
    home.turns()
}

/// Returns the turns of a log of Codex.
fn thread(records: &[serde_json::Value]) -> String {
    let home = Home::new();
    home.codex("t", records);
    home.prepare();
    home.turns()
}

#[test]
fn every_listed_class_has_its_test() {
    let listed = include_str!("../../../../docs/diary-differences.md");
    let own = include_str!("differences.rs");
    for class in listed
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
    {
        let name = format!("fn {}()", class.replace('-', "_"));
        assert!(own.contains(&name), "{name}");
    }
}

#[test]
fn not_human() {
    // Theirs: a turn at each of the lines 1, 3, 5, 7, 9 and 11.
    let turns = claude(&[
        prompt(1, "fix the login"),
        reply(2),
        with(prompt(3, "Base directory for this skill: /x"), json!({"isMeta": true})),
        reply(4),
        with(prompt(5, "so far"), json!({"isCompactSummary": true})),
        reply(6),
        prompt(7, "<local-command-stdout>ok</local-command-stdout>"),
        reply(8),
        prompt(9, "[Request interrupted by user]"),
        reply(10),
        prompt(11, "<task-notification><task-id>b</task-id></task-notification>"),
    ]);
    assert_eq!(turns, "s 1-11");
    // Theirs: a second turn at line 3.
    let turns = thread(&[
        head("t"),
        item(1, "user", "fix the login"),
        item(
            2,
            "user",
            "<user_shell_command><command>ls</command></user_shell_command>",
        ),
        item(3, "assistant", "done"),
    ]);
    assert_eq!(turns, "t 2-4");
}

#[test]
fn queued_prompts() {
    let queue = |minute, operation: &str| json!({"type": "queue-operation", "operation": operation, "timestamp": at(minute), "sessionId": "s", "content": "use tabs"});
    // Theirs: one turn from line 1 to the end.
    let turns = claude(&[
        prompt(1, "fix"),
        reply(2),
        queue(3, "enqueue"),
        queue(4, "remove"),
        reply(5),
    ]);
    assert_eq!(turns, "s 1-3 4-5");
}

#[test]
fn denials() {
    let call = json!({"type": "assistant", "timestamp": at(2), "uuid": "c", "message": {"id": "m", "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm x"}}]}});
    let told = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nkeep the file";
    let denial = json!({"type": "user", "timestamp": at(3), "uuid": "d", "sourceToolAssistantUUID": "c",
        "toolUseResult": "User rejected tool use",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": told}]}});
    // Theirs: one turn from line 1 to the end.
    assert_eq!(claude(&[prompt(1, "tidy up"), call, denial, reply(4)]), "s 1-2 3-4");
}

#[test]
fn adjacent_prompts() {
    // Theirs: `1-2 3-4`.
    assert_eq!(
        claude(&[prompt(1, "one"), prompt(2, "two"), prompt(3, "three"), reply(4)]),
        "s 1-1 2-2 3-4"
    );
}

#[test]
fn echoes() {
    let context = codex(1, "turn_context", json!({"cwd": "/home/ada/app"}));
    // Theirs: a second turn at line 4.
    let turns = thread(&[
        head("t"),
        item(1, "user", "fix it"),
        context,
        event(1, "user_message", "fix it"),
        item(2, "assistant", "ok"),
    ]);
    assert_eq!(turns, "t 2-5");
}

#[test]
fn agents_md() {
    // Theirs: no session at all.
    assert_eq!(
        thread(&[
            head("t"),
            item(1, "user", "# AGENTS.md needs a word on tests"),
            item(2, "assistant", "ok")
        ]),
        "t 2-3"
    );
}

#[test]
fn copied_records() {
    let turns = claude(&[prompt(1, "fix"), reply(2), prompt(1, "fix"), reply(3)]);
    // Theirs: a second turn at line 3.
    assert_eq!(turns, "s 1-4");
}

#[test]
fn reactions() {
    // Theirs: the first turn ends at line 3.
    let turns = thread(&[
        head("t"),
        event(1, "user_message", "one"),
        item(2, "assistant", "ok"),
        item(3, "user", "<turn_aborted>"),
        codex(4, "turn_context", json!({})),
        event(5, "user_message", "two"),
    ]);
    assert_eq!(turns, "t 2-4 6-6");
}

#[test]
fn set_up() {
    // Theirs: the first turn ends at line 5.
    let turns = thread(&[
        head("t"),
        event(1, "user_message", "one"),
        item(2, "assistant", "ok"),
        head("t"),
        codex(4, "event_msg", json!({"type": "token_count", "info": null})),
        codex(4, "turn_context", json!({})),
        event(5, "user_message", "two"),
    ]);
    assert_eq!(turns, "t 2-3 7-7");
}

const OWN: &str = "019d4700-0000-7000-8000-00000000c0de";
const OTHER: &str = "019d4700-0000-7000-8000-00000000cafe";

#[test]
fn forks() {
    let home = Home::new();
    home.codex(
        "t",
        &[
            codex(
                1,
                "session_meta",
                json!({"id": OWN, "cwd": "/home/ada/app", "forked_from_id": OTHER}),
            ),
            codex(1, "session_meta", json!({"id": OTHER, "cwd": "/home/ada/elsewhere"})),
            item(1, "user", "from another thread"),
            item(1, "assistant", "done"),
            event(30, "user_message", "from this one"),
            item(31, "assistant", "done"),
        ],
    );
    home.prepare();
    // Theirs: session `OTHER` of `elsewhere`, with a turn at line 3 as well.
    assert_eq!(home.turns(), format!("{OWN} 5-6"));
    assert_eq!(home.audit()["sessions"][0]["canonical_project_root"], "/home/ada/app");
}

#[test]
fn inline_sidechain() {
    // Theirs: no session at all.
    let side = with(prompt(3, "look around"), json!({"isSidechain": true}));
    assert_eq!(claude(&[prompt(1, "fix"), reply(2), side, reply(4)]), "s 1-4");
}

#[test]
fn task_tool() {
    let home = Home::new();
    let call = json!({"type": "assistant", "timestamp": at(2), "uuid": "c", "message": {"id": "m", "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "Task", "input": {"subagent_type": "explore", "prompt": "x"}}]}});
    let result = json!({"type": "user", "timestamp": at(3), "uuid": "r", "sourceToolAssistantUUID": "c",
        "toolUseResult": {"agentId": "a0123", "status": "completed"},
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}});
    home.claude("s", &[prompt(1, "look"), call, result, reply(4)]);
    let child = json!({"type": "user", "timestamp": at(2), "isSidechain": true, "agentId": "a0123", "sessionId": "s",
        "message": {"role": "user", "content": "x"}});
    home.claude("s/subagents/agent-a0123", &[child]);
    home.prepare();
    // Theirs: no spawn line and no role.
    let child = &home.rows()[0]["turns"][0]["target_subagents"][0];
    assert_eq!(
        (&child["parent_spawn_line"], &child["agent_role"]),
        (&json!(2), &json!("explore"))
    );
}

#[test]
fn physical_lines() {
    // Theirs: `1-4 5-5`, and 5 lines with 4 malformed ones.
    let turns = claude(&[prompt(1, "fix\u{2028}it"), prompt(2, "one\u{85}two"), reply(3)]);
    assert_eq!(turns, "s 1-1 2-3");
}

#[test]
fn blank_lines() {
    let home = Home::new();
    let text = format!("\n{}\n\n{}", lines(&[prompt(1, "fix")]), lines(&[reply(2)]));
    home.write("claude/projects/p/s.jsonl", text);
    home.prepare();
    assert_eq!(home.turns(), "s 2-5");
    // Theirs: 3.
    assert_eq!(home.audit()["sessions"][0]["malformed_line_count"], 0);
}

#[test]
fn mended_lines() {
    let home = Home::new();
    let glued = format!("{}{}\n", reply(2), prompt(3, "and this"));
    home.write(
        "claude/projects/p/s.jsonl",
        format!("{}{glued}{}", lines(&[prompt(1, "fix")]), lines(&[reply(4)])),
    );
    home.prepare();
    // Theirs: one turn from line 1 to the end.
    assert_eq!(home.turns(), "s 1-1 2-3");
    assert_eq!(home.audit()["sessions"][0]["malformed_line_count"], 1);
}

#[test]
fn byte_order_mark() {
    let home = Home::new();
    home.write(
        "claude/projects/p/s.jsonl",
        format!("\u{feff}{}", lines(&[prompt(1, "fix"), reply(2)])),
    );
    home.prepare();
    // Theirs: no session at all.
    assert_eq!(home.turns(), "s 1-2");
    assert_eq!(home.audit()["sessions"][0]["malformed_line_count"], 0);
}

#[test]
fn timestamps() {
    let small = with(
        prompt(1, "small"),
        json!({"timestamp": at(1).to_lowercase().replace('t', "T")}),
    );
    let number = with(prompt(3, "number"), json!({"timestamp": 1_778_587_200_000_u64}));
    // Theirs: no session at all.
    assert_eq!(claude(&[small, reply(2), number, reply(4)]), "s 1-2 3-4");
}

#[test]
fn refused_days() {
    let home = Home::new();
    home.write("claude/projects/p/s.jsonl", lines(&[prompt(1, "one")]));
    home.write("claude/projects/q/s.jsonl", lines(&[prompt(2, "two")]));
    // Theirs: an error, and half a workspace.
    let made = home.prepare();
    assert_eq!((made.sessions, made.notes.renamed.len()), (2, 1));
    let renamed = &made.notes.renamed[0];
    assert!(renamed.source_path.ends_with("q/s.jsonl"), "{renamed:?}");
    assert!(home.workspace().join(&renamed.workspace_path).is_file(), "{renamed:?}");
}
