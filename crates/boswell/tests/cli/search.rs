//! What people ask the memory, through the binary.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

fn path(id: u32) -> String {
    format!(".claude/projects/-home-ada-app/5e55000{id}-0000-4000-8000-000000000001.jsonl")
}

fn log(id: u32) -> ClaudeLog {
    ClaudeLog::new(&format!("5e55000{id}-0000-4000-8000-000000000001")).cwd("/home/ada/app")
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let first = log(1)
        .at("2026-03-31T09:00:00Z")
        .prompt("why does the login time out?")
        .tool(
            "Bash",
            json!({"command": "cargo test parse_config"}),
            "error[E0502]: cannot borrow\n文件不存在",
        )
        .reply("The retry loop never sleeps.")
        .prompt("mend it, please");
    let second = log(2)
        .at("2026-03-30T09:00:00Z")
        .prompt("write a migration for the sessions table")
        .reply("Done: see migrations/0007.sql");
    sandbox.write(&path(1), &first.jsonl());
    sandbox.write(&path(2), &second.jsonl());
    sandbox.run("sweep");
    sandbox
}

#[test]
fn words_of_one_turn_are_found_wherever_they_stand() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("search login borrow"), @"
    5e550001  claude  app  23 hours ago
      turn 1  why does the login time out?
        prompt: why does the login time out?
      boswell show 5e550001 --turns 1
    ");
    assert_snapshot!(sandbox.run("search login mend"), @"
    --- stderr ---
    Nothing found
    --- exit 1 ---
    ");
    for question in [
        "config",
        "parse_config",
        "E0502",
        "不存在",
        "migrat*",
        "\"never sleeps\"",
        "tool:Bash borrow",
    ] {
        assert!(
            sandbox.run_args(&["search", question]).contains("boswell show"),
            "{question}"
        );
    }
    assert!(sandbox.run("search sessions -migration").contains("Nothing found"));
}

#[test]
fn any_characters_and_expressions_are_found_and_wrong_ones_are_told() {
    let sandbox = sandbox();
    assert!(sandbox.run_args(&["search", "--exact", "r[E05"]).contains("turn 1"));
    assert!(
        sandbox
            .run_args(&["search", "--regex", "E0[0-9]{3}"])
            .contains("turn 1")
    );
    assert_snapshot!(sandbox.run_args(&["search", "--regex", "E0[0-9"]), @"
    --- stderr ---
    error: not a regular expression, at character 3: unclosed character class
    Hint: `--exact` takes every character as it is
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("search kind:nonsense x"), @"
    --- stderr ---
    error: unknown value for `kind:`: nonsense
    Hint: one of: human_intervention, error, retry, edit, test_run, decision, user_msg, assistant_msg, thinking, tool_call, tool_result, completion, lifecycle
    --- exit 2 ---
    ");
}

#[test]
fn programs_get_every_hit_with_its_place() {
    let sandbox = sandbox();
    let told: Value = serde_json::from_str(sandbox.run("search borrow --json").lines().next().unwrap()).unwrap();
    let hit = &told["hits"][0];
    assert_eq!(hit["session_uid"], "claude:5e550001-0000-4000-8000-000000000001");
    assert_eq!(
        (&hit["turn"], &hit["tool"], &hit["field"]),
        (&json!(1), &json!("Bash"), &json!("output"))
    );
    let (text, mark) = (hit["snippet"].as_str().unwrap(), &hit["marks"][0]);
    let range = mark[0].as_u64().unwrap() as usize..mark[1].as_u64().unwrap() as usize;
    assert_eq!(&text[range], "borrow");
    assert!(sandbox.run("search nowhere --json").contains("\"hits\":[]"));
}

#[test]
fn filters_hide_and_say_so_and_a_copied_turn_is_one_hit() {
    let sandbox = sandbox();
    let told = sandbox.run("search borrow --until 2026-03-30");
    assert!(
        told.contains("Nothing found") && told.contains("1 session not asked because of the filters"),
        "{told}"
    );
    let fork = log(1)
        .at("2026-03-31T09:00:00Z")
        .prompt("why does the login time out?")
        .tool(
            "Bash",
            json!({"command": "cargo test parse_config"}),
            "error[E0502]: cannot borrow\n文件不存在",
        )
        .fork("5e550009-0000-4000-8000-000000000001")
        .prompt("another way");
    sandbox.write(&path(9), &fork.jsonl());
    sandbox.run("sweep");
    let told: Value = serde_json::from_str(sandbox.run("search borrow --json").lines().next().unwrap()).unwrap();
    assert_eq!(
        (&told["total"], &told["hits"][0]["copies"]),
        (&json!(1), &json!(1)),
        "{told}"
    );
}
