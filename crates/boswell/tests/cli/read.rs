//! `boswell read` and `boswell doctor` on synthetic logs.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

/// Returns a session with a bit of everything.
fn session() -> ClaudeLog {
    ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("make the tests green")
        .tool(
            "Bash",
            serde_json::json!({"command": "cargo test", "description": "Run them"}),
            "ok",
        )
        .failed_tool(
            "Bash",
            serde_json::json!({"command": "cargo clippy"}),
            "Exit code 101\nwarning",
        )
        .reply("Green, but clippy complains.")
        .prompt("then mend that")
        .reply("Done.")
}

fn sandbox_with(name: &str, text: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(name, text);
    sandbox
}

fn log_path() -> String {
    format!(".claude/projects/-home-ada-app/{SESSION}.jsonl")
}

#[test]
fn a_session_is_read_as_one_transcript() {
    let sandbox = sandbox_with(&log_path(), &session().jsonl());
    assert_snapshot!(sandbox.run(&format!("read {}", log_path())), @"
    claude:5e550000-0000-4000-8000-000000000001
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-31 09:00:00 – 2026-03-31 09:00:07 (7.0 s) · 2 turns · 8 events · 8 lines
      tokens: 40 in, 80 out, 0 cache read, 0 cache write · 4 calls

    Turn 1  lines 1–6, 2026-03-31 09:00:00, 5.0 s, 2 tool calls, 1 error
         1  09:00:00  you            make the tests green
         2  09:00:01  Bash           cargo test # Run them  test, 1.0 s
         4  09:00:03  Bash           cargo clippy  ✗ exit 101, 1.0 s
         6  09:00:05  agent          Green, but clippy complains.

    Turn 2  lines 7–8, 2026-03-31 09:00:06, 1.0 s
         7  09:00:06  you            then mend that
         8  09:00:07  agent          Done.
    ");
}

#[test]
fn turns_and_kinds_choose_events() {
    let sandbox = sandbox_with(&log_path(), &session().jsonl());
    assert_snapshot!(sandbox.run(&format!("read {} --turns 1 --kind error,user_msg", log_path())), @"
    claude:5e550000-0000-4000-8000-000000000001
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-31 09:00:00 – 2026-03-31 09:00:07 (7.0 s) · 2 turns · 8 events · 8 lines
      tokens: 40 in, 80 out, 0 cache read, 0 cache write · 4 calls

    Turn 1  lines 1–6, 2026-03-31 09:00:00, 5.0 s, 2 tool calls, 1 error
         1  09:00:00  you            make the tests green
         5  09:00:04    error        Exit code 101 warning
    ");
}

#[test]
fn prompts_and_answers_are_whole_and_results_are_whole_with_full_depth() {
    let long = "word ".repeat(150);
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt(long.trim())
        .tool(
            "Bash",
            serde_json::json!({"command": "true"}),
            long.trim().replace("word", "output").as_str(),
        );
    let sandbox = sandbox_with("x.jsonl", &log.jsonl());
    let count = |line: &str, word: &str| sandbox.run(line).matches(word).count();
    assert_eq!(count("read x.jsonl", "word"), 150);
    assert_eq!(count("read x.jsonl --depth prompts", "Bash"), 0);
    assert!(count("read x.jsonl --depth tools", "output") < 150);
    assert!(count("read x.jsonl --depth full", "output") >= 150);
    assert_eq!(
        sandbox.run("read x.jsonl --full"),
        sandbox.run("read x.jsonl --depth full")
    );
}

#[test]
fn a_torn_line_is_told_and_the_rest_is_shown() {
    let log = "{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}\n{\"type\":\"assist\n";
    let sandbox = sandbox_with("x.jsonl", log);
    assert_snapshot!(sandbox.run("read x.jsonl"), @"
    claude:x
      Claude Code
      1 turn · 1 event · 2 lines
      tokens: 0 in, 0 out, 0 cache read, 0 cache write · 0 calls

    Turn 1  lines 1–2
         1            you            hello

    --- stderr ---
    warning: x.jsonl:2: EOF while parsing a string at line 1 column 15
    ");
}

#[test]
fn text_from_a_log_cannot_play_tricks_on_a_terminal() {
    let log = r#"{"type":"user","message":{"content":"a\u001b[31mred\u0007\u202eback"}}"#;
    let sandbox = sandbox_with("x.jsonl", log);
    for flags in ["", "--full"] {
        let shown = sandbox.run(&format!("read x.jsonl {flags}"));
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
        assert!(shown.contains("red"), "{shown}");
    }
}

#[test]
fn what_is_no_log_is_an_error_with_a_hint() {
    let sandbox = sandbox_with("notes.md", "# Notes\nnothing here\n");
    assert_snapshot!(sandbox.run("read notes.md"), @"
    --- stderr ---
    error: notes.md is not the log of an agent we know
    Hint: name the agent with `--agent claude`, if you know that it is one
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("read missing.jsonl --json"), @r#"
    {"error":{"code":"log-unreadable","message":"cannot read missing.jsonl: No such file or directory (os error 2)","hint":null,"retryable":false}}
    --- exit 2 ---
    "#);
}

#[test]
fn an_empty_log_is_read_as_nothing() {
    let sandbox = sandbox_with("x.jsonl", "");
    let told = sandbox.run("read x.jsonl --json");
    let summary: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&summary["record"], &summary["lines"]),
        (&"summary".into(), &0.into()),
        "{told}"
    );
}

#[test]
fn a_spilled_result_is_shown_from_the_sessions_own_tree_only() {
    let spilled = |path: &str| {
        format!(
            "<persisted-output>Output too large (2 MB). Full output saved to: {path}\n\nPreview: …</persisted-output>"
        )
    };
    let log = |path: &str| {
        ClaudeLog::new(SESSION)
            .at("2026-03-31T09:00:00Z")
            .prompt("go")
            .tool("Bash", serde_json::json!({"command": "big"}), &spilled(path))
            .jsonl()
    };
    let inside = sandbox_with(&log_path(), &log("/anywhere/tool-results/b1.txt"));
    inside.write(
        &format!(".claude/projects/-home-ada-app/{SESSION}/tool-results/b1.txt"),
        "the whole result\n",
    );
    assert!(
        inside
            .run(&format!("read {} --full", log_path()))
            .contains("the whole result")
    );

    let outside = sandbox_with(&log_path(), &log("/anywhere/tool-results/../../../../secret.txt"));
    outside.write("secret.txt", "nobody's business\n");
    assert!(
        !outside
            .run(&format!("read {} --full", log_path()))
            .contains("nobody's business")
    );
}

/// Collects all keys of a JSON value, at every depth.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                // The keys of `models` are names of models, not fields.
                if key == "models" {
                    map["models"]
                        .as_object()
                        .into_iter()
                        .flatten()
                        .for_each(|(_, value)| keys(value, found));
                } else {
                    keys(value, found);
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| keys(element, found)),
        _ => {}
    }
}

/// Returns every text in code quotes on a page.
fn documented(page: &str) -> BTreeSet<String> {
    page.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_field_of_the_json_is_documented_and_every_documented_field_is_printed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.run("demo --json -o home");
    let log = ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa.jsonl";
    let torn = std::fs::read_to_string(sandbox.home.join("home").join(log)).unwrap()
        + "{\"type\":\"new\",\"version\":\"9\"}\n{\"torn\n"
        // Assembled here so that no scanner reports this test as a leak.
        + &format!("{{\"type\":\"user\",\"message\":{{\"content\":\"ghp_{}\"}}}}\n", "a1B2c3".repeat(6));
    sandbox.write(&format!("home/{log}"), &torn);
    let mut printed = BTreeSet::new();
    for line in sandbox.run(&format!("read home/{log} --json --full")).lines() {
        keys(&serde_json::from_str(line).unwrap(), &mut printed);
    }
    sandbox.set("CLAUDE_CONFIG_DIR", &sandbox.path("home/.claude"));
    keys(
        &serde_json::from_str(sandbox.run("doctor --json").lines().next().unwrap()).unwrap(),
        &mut printed,
    );
    for line in ["sweep --json", "sessions --json"] {
        let told = sandbox.run(line);
        keys(
            &serde_json::from_str(told.lines().next().unwrap()).unwrap(),
            &mut printed,
        );
    }

    let mut others = BTreeSet::new();
    sandbox.run("sweep");
    for command in [
        "doctor --deep",
        "secrets",
        "status",
        "journal",
        "sweep",
        "search --regex [a-z]",
        "usage",
        "usage blocks",
        "statusline",
        "stats",
        "export --to csv -o tables",
        "why /home/ada/shop/src/session.ts",
        "digest last --subagents",
        "signals",
        "decide because",
        "decisions",
    ] {
        let told = sandbox.run(&format!("{command} --json"));
        keys(
            &serde_json::from_str(told.lines().next().unwrap()).unwrap(),
            &mut others,
        );
    }

    let page = include_str!("../../../../docs/json.md");
    let documented = documented(page);
    let missing: Vec<_> = others.difference(&documented).collect();
    assert!(missing.is_empty(), "printed, and not in docs/json.md: {missing:?}");
    let missing: Vec<_> = printed.difference(&documented).collect();
    assert!(missing.is_empty(), "printed, and not in docs/json.md: {missing:?}");
    let first_cells = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.split('|').nth(1));
    for name in first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        // Some fields are not printed here: this home has no unread files, and logs are due only when they are old.
        let is_printed = printed.contains(name) || others.contains(name);
        assert!(is_printed, "in docs/json.md, and not printed: {name}");
    }
}

#[test]
fn fates_add_up_to_the_lines_of_the_file() {
    let log = session().jsonl() + "\n\n{\"torn\n{\"type\":\"tomorrow\"}\nlast line without an end";
    let sandbox = sandbox_with("x.jsonl", &log);
    let told = sandbox.run("read x.jsonl --json");
    let summary: Value =
        serde_json::from_str(told.lines().rfind(|line| line.contains("\"summary\"")).unwrap()).unwrap();
    let fates = summary["fates"].as_object().unwrap();
    let sum: u64 = fates.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, log.lines().count() as u64, "{summary}");
    assert_eq!(summary["lines"], sum, "{summary}");
}

#[test]
fn the_doctor_tells_what_is_here() {
    let sandbox = sandbox_with(
        &log_path(),
        &(session().jsonl() + "{\"torn\n{\"type\":\"tomorrow\",\"version\":\"9.9.9\"}\n"),
    );
    // The age of the file depends on the machine's clock; everything else is fixed.
    let told = sandbox.run("doctor");
    let told: String = told
        .lines()
        .filter(|line| !line.contains("clean-up"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_snapshot!(told, @"
    Claude Code  here
      root      [HOME]/.claude
      keeps     1 session, 0 subagents, 5.4 KiB
      versions  9.9.9
      unknown   tomorrow ×1 (9.9.9)
      faults    EOF while parsing a string ×1  [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl:9
    Codex CLI  not here
      root      [HOME]/.codex  (no such directory)
    Grok  not here
      root      [HOME]/.grok  (no such directory)
    ");
}

#[test]
fn a_directory_stands_for_all_logs_in_it() {
    let sandbox = sandbox_with(&log_path(), &session().jsonl());
    let told = sandbox.run("read .claude --json");
    assert_eq!(told.matches("\"record\":\"session\"").count(), 1, "{told}");
    assert_snapshot!(sandbox.run("read .config"), @"
    --- stderr ---
    error: cannot read .config: No such file or directory (os error 2)
    --- exit 2 ---
    ");
}
