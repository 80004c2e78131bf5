//! `boswell show`: a session from memory, while its log is gone or still growing.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const SHA: &str = "1a2b3c4";

fn log_path() -> String {
    format!(".claude/projects/-home-ada-app/{SESSION}.jsonl")
}

fn session() -> ClaudeLog {
    ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .title("Parser")
        .prompt("make the tests green")
        .think("where to begin")
        .tool("Bash", json!({"command": "cargo test"}), "ok")
        .failed_tool("Bash", json!({"command": "cargo clippy"}), "Exit code 101\nwarning")
        .reply("Green, but clippy complains.\nI mend it.")
        .prompt("then commit")
        .tool(
            "Bash",
            json!({"command": "git add -A && git commit -m 'lines: keep the last one'"}),
            &format!("[main {SHA}] lines: keep the last one\n 1 file changed"),
        )
        .reply("Done.")
        .prompt("what did it change?")
        .tool(
            "Bash",
            json!({"command": "git log --oneline"}),
            &format!("bbb1234 other\n{SHA} lines\n"),
        )
        .reply("日本語の答え: the last line is kept.")
}

fn sandbox_with(log: &ClaudeLog) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&log_path(), &log.jsonl());
    sandbox.run("sweep");
    sandbox
}

fn json_of(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

#[test]
fn a_session_is_shown_from_memory_when_its_log_is_gone() {
    let sandbox = sandbox_with(&session());
    fs::remove_file(sandbox.home.join(log_path())).unwrap();
    assert_snapshot!(sandbox.run("show last"), @"
    claude:5e550000-0000-4000-8000-000000000001  Parser
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-31 09:00:00 – 2026-03-31 09:00:14 (14.0 s) · 3 turns · 15 events · 16 lines
      tokens: 80 in, 160 out, 0 cache read, 0 cache write · 8 calls
      kept: 10.6 KiB of logs

    Turn 1  lines 2–8, 2026-03-31 09:00:00, 6.0 s, 2 tool calls, 1 error
         2  09:00:00  you            make the tests green
         4  09:00:02  Bash           cargo test  test, 1.0 s
         6  09:00:04  Bash           cargo clippy  ✗ exit 101, 1.0 s
         8  09:00:06  agent
            Green, but clippy complains.
            I mend it.

    Turn 2  lines 9–12, 2026-03-31 09:00:07, 3.0 s, 1 tool call
         9  09:00:07  you            then commit
        10  09:00:08  Bash           git add -A && git commit -m 'lines: keep the last one'  1.0 s
        12  09:00:10  agent          Done.

    Turn 3  lines 13–16, 2026-03-31 09:00:11, 3.0 s, 1 tool call
        13  09:00:11  you            what did it change?
        14  09:00:12  Bash           git log --oneline  1.0 s
        16  09:00:14  agent          日本語の答え: the last line is kept.
    ");
}

#[test]
fn depth_says_how_much_of_each_turn_is_shown() {
    let sandbox = sandbox_with(&session());
    let lines = |depth: &str| {
        let told = sandbox.run(&format!("show 5e55 --turns 1 --depth {depth}"));
        told.lines().skip(7).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(lines("prompts"), @"     2  09:00:00  you            make the tests green");
    assert_snapshot!(lines("tools"), @"
    2  09:00:00  you            make the tests green
    3  09:00:01  thinking       where to begin
    4  09:00:02  Bash           cargo test  test, 1.0 s
    5  09:00:03    result       ok
    6  09:00:04  Bash           cargo clippy  ✗ exit 101, 1.0 s
    7  09:00:05    error        Exit code 101 warning
    8  09:00:06  agent
       Green, but clippy complains.
       I mend it.
    ");
    assert_snapshot!(lines("full"), @r#"
    2  09:00:00  you            make the tests green
    3  09:00:01  thinking       where to begin
    4  09:00:02  Bash           cargo test  test, 1.0 s
       {
         "command": "cargo test"
       }
    5  09:00:03    result       ok
    6  09:00:04  Bash           cargo clippy  ✗ exit 101, 1.0 s
       {
         "command": "cargo clippy"
       }
    7  09:00:05    error        Exit code 101 warning
       Exit code 101
       warning
    8  09:00:06  agent
       Green, but clippy complains.
       I mend it.
    "#);
}

#[test]
fn turns_that_are_not_there_are_nothing_found() {
    let sandbox = sandbox_with(&session());
    assert_snapshot!(sandbox.run("show 5e55 --turns 9 -q"), @"
    claude:5e550000-0000-4000-8000-000000000001  Parser
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-31 09:00:00 – 2026-03-31 09:00:14 (14.0 s) · 3 turns · 15 events · 16 lines
      tokens: 80 in, 160 out, 0 cache read, 0 cache write · 8 calls
      kept: 10.6 KiB of logs
    --- exit 1 ---
    ");
    assert!(sandbox.run("show 5e55 --turns 9").contains("it has 3 turns"));
}

#[test]
fn a_commit_is_found_by_the_turn_that_made_it() {
    let sandbox = sandbox_with(&session());
    let full = format!("{SHA}00112233445566778899aabbccddeeff0");
    let told = sandbox.run(&format!("show {SHA}"));
    assert_snapshot!(told, @"
    claude:5e550000-0000-4000-8000-000000000001  Parser
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-31 09:00:00 – 2026-03-31 09:00:14 (14.0 s) · 3 turns · 15 events · 16 lines
      tokens: 80 in, 160 out, 0 cache read, 0 cache write · 8 calls
      kept: 10.6 KiB of logs
      commit 1a2b3c4 was made in turn 2, line 10: git add -A && git commit -m 'lines: keep the last one'

    Turn 2  lines 9–12, 2026-03-31 09:00:07, 3.0 s, 1 tool call
         9  09:00:07  you            then commit
        10  09:00:08  Bash           git add -A && git commit -m 'lines: keep the last one'  1.0 s
        12  09:00:10  agent          Done.
    ");
    assert_eq!(sandbox.run(&format!("show {full}")), told);
    let told = json_of(&sandbox.run(&format!("show {SHA} --json")));
    assert_eq!(
        (&told["commit"]["turn"], &told["commit"]["sha"]),
        (&2.into(), &SHA.into()),
        "{told}"
    );
}

#[test]
fn a_commit_that_is_only_mentioned_is_said_to_be() {
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt(&format!("what is in {SHA}?"))
        .tool(
            "Bash",
            json!({"command": format!("git show {SHA}")}),
            &format!("commit {SHA}def\n"),
        )
        .reply("Words.");
    let sandbox = sandbox_with(&log);
    assert_snapshot!(sandbox.run(&format!("show {SHA}")), @"
    No session in the memory made commit 1a2b3c4; it is mentioned in 3 places:
      boswell show claude:5e550000-0000-4000-8000-000000000001 --turns 1  what is in 1a2b3c4?
      boswell show claude:5e550000-0000-4000-8000-000000000001 --turns 1  git show 1a2b3c4
      boswell show claude:5e550000-0000-4000-8000-000000000001 --turns 1  commit 1a2b3c4def
    ");
    assert_snapshot!(sandbox.run("show beef777"), @"
    --- stderr ---
    error: no session begins with this, and none made or mentions such a commit: `beef777`
    Hint: `boswell sweep` reads what is new
    --- exit 1 ---
    ");
}

#[test]
fn a_commit_that_git_names_after_it_was_made_is_found_too() {
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("commit it")
        .tool("Bash", json!({"command": "git commit -q -m x"}), "")
        .tool(
            "Bash",
            json!({"command": "git rev-parse HEAD"}),
            &format!("{SHA}00112233445566778899aabbccddeeff0\n"),
        )
        .reply("Done.");
    let told = json_of(&sandbox_with(&log).run(&format!("show {SHA} --json")));
    assert_eq!(
        (&told["commit"]["turn"], &told["commit"]["line"]),
        (&1.into(), &2.into()),
        "{told}"
    );
}

#[test]
fn a_commit_of_codex_is_found_as_well() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let id = "019d4700-0000-7000-8000-00000000c0de";
    let line = |second: u32, kind: &str, payload: Value| {
        let at = format!("2026-03-31T10:00:{second:02}.000Z");
        json!({"timestamp": at, "type": kind, "payload": payload}).to_string() + "\n"
    };
    let arguments = json!({"command": ["bash", "-lc", "git commit -am x"]}).to_string();
    let output = json!({"output": format!("[main {SHA}] x\n"), "metadata": {"exit_code": 0}}).to_string();
    let words = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "commit it"}]});
    let log = line(
        0,
        "session_meta",
        json!({"id": id, "timestamp": "2026-03-31T10:00:00Z", "cwd": "/home/ada/app", "cli_version": "0.98.0"}),
    ) + &line(1, "response_item", words)
        + &line(1, "event_msg", json!({"type": "user_message", "message": "commit it"}))
        + &line(
            2,
            "response_item",
            json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": arguments}),
        )
        + &line(
            3,
            "response_item",
            json!({"type": "function_call_output", "call_id": "c1", "output": output}),
        );
    sandbox.write(
        &format!(".codex/sessions/2026/03/31/rollout-2026-03-31T10-00-00-{id}.jsonl"),
        &log,
    );
    sandbox.run("sweep");
    let told = json_of(&sandbox.run(&format!("show {SHA} --json")));
    assert_eq!(
        (&told["commit"]["turn"], &told["commit"]["line"]),
        (&1.into(), &4.into()),
        "{told}"
    );
    let told = sandbox.run("resume last --print");
    assert_eq!(told, format!("cd /home/ada/app && codex resume {id}\n"));
}

#[test]
fn an_answer_fits_its_budget_and_says_what_it_left_out() {
    let mut log = ClaudeLog::new(SESSION).at("2026-03-31T09:00:00Z");
    for turn in 1..=30 {
        log = log
            .prompt(&format!("step {turn}: {}", "words ".repeat(20)))
            .reply(&"answer ".repeat(400));
    }
    let sandbox = sandbox_with(&log);
    for max in [100_usize, 200, 500, 2_000] {
        for flags in ["", "--depth full", "--depth full --json", "--json"] {
            let line = format!("show 5e55 --max-tokens {max} {flags}");
            let told = sandbox.run(&line);
            // The fields around the turns of a JSON answer have a minimum size.
            let is_bound = !flags.contains("json") || max >= 500;
            assert!(
                !is_bound || told.chars().count() <= max * 4,
                "{line}: {}\n{told}",
                told.chars().count()
            );
            assert_eq!(told, sandbox.run(&line));
        }
    }
    let told = sandbox.run("show 5e55 --max-tokens 500");
    assert!(told.contains("step 1:") && told.contains("step 30:"), "{told}");
    assert!(
        told.contains(" left out, about ") && told.contains(" --turns "),
        "{told}"
    );
    let told = json_of(&sandbox.run("show 5e55 --max-tokens 2000 --json"));
    let (turns, left) = (
        told["turns"].as_array().unwrap(),
        told["left_out"]["turns"].as_array().unwrap(),
    );
    assert_eq!(turns.len() + left.len(), 30, "{told}");
    let whole = json_of(&sandbox.run("show 5e55 --max-tokens 90000 --json"));
    assert_eq!(whole["left_out"]["events"], 0);
}

#[test]
fn a_session_of_which_only_prompts_are_left_shows_them() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let record = |at: i64, text: &str| {
        let record = json!({"display": text, "pastedContents": {}, "timestamp": at, "project": "/home/ada/site", "sessionId": "90ne"});
        format!("{record}\n")
    };
    let history = record(1_769_936_400_000, "draw\na \u{1b}[31mhouse") + &record(1_769_936_460_000, "and a tree");
    sandbox.write(".claude/history.jsonl", &history);
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("show 90ne"), @r"
    claude:90ne
      Claude Code · site · /home/ada/site
      2 prompts
      prompts only: its log was deleted before the first sweep

    2026-02-01 09:00:00  draw
                         a \u{1b}[31mhouse
    2026-02-01 09:01:00  and a tree
    ");
    let told = json_of(&sandbox.run("show 90ne --json"));
    assert_eq!(told["session"]["status"], "prompts_only");
    assert_eq!(told["prompts"][1]["text"], "and a tree");
}

#[test]
fn subagents_are_listed_with_how_to_open_them_and_spilled_results_are_whole() {
    let sandbox = sandbox_with(&session());
    let agent = ClaudeLog::subagent(SESSION, "a1")
        .at("2026-03-31T10:00:00Z")
        .prompt("look")
        .reply("Seen.");
    let tree = format!(".claude/projects/-home-ada-app/{SESSION}");
    sandbox.write(&format!("{tree}/subagents/agent-a1.jsonl"), &agent.jsonl());
    sandbox.write(&format!("{tree}/tool-results/b2.txt"), "all of it\n");
    sandbox.run("sweep");
    let told = sandbox.run("show 5e55 --depth prompts");
    assert!(
        told.ends_with(&format!("\nSubagents\n  boswell show claude:{SESSION}/a1\n")),
        "{told}"
    );
    let child = sandbox.run(&format!("show claude:{SESSION}/a1"));
    assert!(child.contains("Seen."), "{child}");
    assert_snapshot!(sandbox.run("show 5e55 --part spill:tool-results/b2.txt"), @"all of it");
    assert_snapshot!(sandbox.run("show 5e55 --part nothing"), @"
    --- stderr ---
    error: this session has no such part: `nothing`
    Hint: it has `log`, `spill:tool-results/b2.txt`
    --- exit 1 ---
    ");
}

#[test]
fn json_is_one_object_with_session_turns_and_events() {
    let sandbox = sandbox_with(&session());
    let told = json_of(&sandbox.run("show 5e55 --json --depth full --turns 2"));
    let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "commit",
            "digest",
            "events",
            "eviction",
            "left_out",
            "prompts",
            "schema",
            "session",
            "subagents",
            "text_from",
            "turns"
        ]
    );
    assert_eq!(told["schema"], "boswell.show/1");
    assert_eq!(told["session"]["cost"]["output_tokens"], 160);
    assert_eq!(told["turns"].as_array().unwrap().len(), 1);
    let texts: Vec<&str> = told["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts[0], "then commit");
    assert!(texts[2].starts_with("[main 1a2b3c4]"), "{texts:?}");
    let page = include_str!("../../../../docs/json.md");
    let page = page.split("# What `boswell show --json` prints").nth(1).unwrap();
    for key in told["session"].as_object().unwrap().keys().chain(keys) {
        assert!(
            page.contains(&format!("`{key}`")) || page.contains("as `boswell read`"),
            "{key}"
        );
    }
    for key in [
        "status",
        "name",
        "note",
        "tags",
        "lines",
        "events",
        "faults",
        "left_out",
        "commit",
        "mentioned",
    ] {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn a_running_session_is_followed_as_its_log_grows() {
    let sandbox = sandbox_with(&session());
    let mut child = sandbox
        .command("show 5e55 --turns 3- --follow")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("the last line is kept")));
    let grown = session()
        .prompt("one more thing")
        .failed_tool("Bash", json!({"command": "false"}), "Exit code 1")
        .jsonl();
    let known = session().jsonl().len();
    let mut log = OpenOptions::new()
        .append(true)
        .open(sandbox.home.join(log_path()))
        .unwrap();
    log.write_all(&grown.as_bytes()[known..]).unwrap();
    let told: Vec<String> = lines.by_ref().take(5).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_snapshot!(told.join("\n"), @"

    Turn 4  lines 17–19, 2026-03-31 09:00:15, 2.0 s, 1 tool call, 1 error
        17  09:00:15  you            one more thing
        18  09:00:16  Bash           false  ✗ exit 1, 1.0 s
        19  09:00:17    error        Exit code 1
    ");
    // Following wrote nothing to the memory, so the new turn is missing there.
    assert!(!sandbox.run("show 5e55").contains("one more thing"));
}

#[test]
fn words_of_a_log_cannot_play_tricks_on_a_terminal() {
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .title("a\u{1b}[31mred")
        .prompt("b\u{7}\u{202e}back")
        .reply("c\u{9b}31m\nd\u{1b}]0;x\u{7}");
    let sandbox = sandbox_with(&log);
    for flags in ["", "--depth full", "--max-tokens 100", "--depth prompts"] {
        let shown = sandbox.run(&format!("show 5e55 {flags}"));
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{shown:?}");
    }
}

#[test]
fn only_the_frames_of_the_turns_that_are_asked_for_are_read() {
    let mut log = ClaudeLog::new(SESSION).at("2026-03-31T09:00:00Z");
    for turn in 1..=4 {
        log = log
            .prompt(&format!("step {turn}"))
            .reply(&format!("{turn} ").repeat(800_000));
    }
    let sandbox = sandbox_with(&log);
    // The first frame is damaged, which only a command that reads it can notice.
    let packs = sandbox.home.join(".local/share/boswell/packs");
    let pack = fs::read_dir(&packs)
        .unwrap()
        .flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
    let pack = pack.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    bytes[20] ^= 0xff;
    fs::write(&pack, bytes).unwrap();
    let shown = |turn: u32| sandbox.run(&format!("show 5e55 --turns {turn} --depth full -q"));
    assert!(shown(1).contains("is damaged"), "{}", &shown(1)[..200]);
    assert!(!shown(3).contains("is damaged") && shown(3).matches("3 ").count() > 700_000);
}

#[test]
fn filters_choose_among_sessions_and_among_those_that_made_a_commit() {
    let sandbox = sandbox_with(&session());
    let told = sandbox.run(&format!("show {SHA} --agent codex"));
    assert!(
        told.contains("none made or mentions") && told.contains("fewer filters"),
        "{told}"
    );
    assert!(
        sandbox
            .run(&format!("show {SHA} --agent claude"))
            .contains("was made in turn 2")
    );
    assert!(
        sandbox
            .run("show last --agent grok")
            .contains("no session in the memory matches")
    );
}
