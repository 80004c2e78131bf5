//! `boswell digest`, `signals`, `decide` and `decisions`: a session on one page, its signals, and recorded decisions.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::{ClaudeLog, Usage};

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

fn log() -> ClaudeLog {
    let bash = |command: &str| json!({ "command": command });
    let usage = Usage {
        input: 1_200,
        output: 340,
        cache_read: 56_000,
        ..Usage::default()
    };
    let edit = json!({"file_path": "/home/ada/app/src/parser.rs", "old_string": "a", "new_string": "b"});
    ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .branch("feat/APP-7-parser")
        .title("Mend the parser")
        .prompt("the parser drops the last line, please mend it")
        .failed_tool(
            "Bash",
            bash("cargo test"),
            "Exit code 101\ntest result: FAILED. 2 passed; 1 failed",
        )
        .tool("Edit", edit, "The file has been updated.")
        .tool("Bash", bash("cargo test"), "test result: ok. 3 passed; 0 failed")
        .tool("Bash", bash("git commit -qam 'parser: keep the last line'"), "")
        .reply("The parser keeps the last line now.")
        .usage(usage)
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(
        &format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"),
        &log().jsonl(),
    );
    sandbox
}

fn json_of(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

#[test]
fn a_sweep_writes_digests_and_says_so() {
    let sandbox = sandbox();
    let told = json_of(&sandbox.run("sweep --json"));
    assert_eq!(told["digests"], 1);
    assert_eq!(json_of(&sandbox.run("sweep --json"))["digests"], 0);
    assert_snapshot!(sandbox.run("journal"), @"
    2026-04-01 09:00:00  sweep  read 7684 new bytes of 1 transcript, and wrote 1 digest
    ");
}

#[test]
fn a_digest_is_a_page_that_one_likes_to_read() {
    let sandbox = sandbox();
    sandbox.run("sweep");
    sandbox.run_args(&["decide", "the lexer stays as it is", "--session", "last"]);
    assert_snapshot!(sandbox.run("digest last"), @"
    claude:5e550000-0000-4000-8000-000000000001  Mend the parser
      app on feat/APP-7-parser · APP-7 · claude-opus-5 · 2026-03-31 09:00:00

      asked       the parser drops the last line, please mend it (line 2)
      answered    The parser keeps the last line now. (line 11)
      outcome     success: tests passed (sure)
                  line 7: cargo test
                  line 9: git commit -qam 'parser: keep the last line'

      time        9.0 s active of 9.0 s
      turns       1 turn, 10 events, 4 tool calls
      tokens      1,240 in, 420 out, 56,000 cached, in 5 calls of claude-opus-5
      cost        $0.04
      tools       Bash 3 (1 failed), Edit 1
      commands    cargo test 2 (1 failed), git commit 1
      files       src/parser.rs 1
      tests       1 passed, 1 failed; the last passed (line 7): cargo test
      commit      parser: keep the last line (line 9)
      errors      1 error, 1 resolved
                  1× Exit code 101 test result: FAILED. 2 passed; 1 failed (line 3)
      decided     the lexer stays as it is

    Signals
      recovery            tests failed once and passed in the last run
                    line 3  cargo test
                    line 7  cargo test
    ");
}

#[test]
fn a_digest_fits_a_budget_as_text_and_as_json_and_says_what_it_left_out() {
    let sandbox = sandbox();
    sandbox.run("sweep");
    sandbox.run_args(&["decide", "the lexer stays as it is", "--session", "last"]);
    for most in [50, 100, 200] {
        let page = sandbox.run(&format!("digest last --max-tokens {most}"));
        assert!(page.chars().count().div_ceil(4) <= most, "{most}: {page}");
        let answer = sandbox.run(&format!("digest last --json --max-tokens {most}"));
        assert!(answer.chars().count().div_ceil(4) <= most, "{most}: {answer}");
        let answer = json_of(&answer);
        assert_eq!(answer["outcome"], "success", "{answer}");
        assert!(
            page.contains("left out") && !answer["left_out_to_fit"].is_null(),
            "{page}{answer}"
        );
    }
    let whole = json_of(&sandbox.run("digest last --json --max-tokens 5000"));
    assert_eq!(whole, json_of(&sandbox.run("digest last --json")));
    assert_eq!(whole["decisions"][0]["text"], "the lexer stays as it is");
    // Decisions are left out later than details.
    let some = json_of(&sandbox.run("digest last --json --max-tokens 350"));
    assert_eq!(some["decisions"][0]["text"], "the lexer stays as it is", "{some}");
    assert!(some["left_out_to_fit"]["signals"].as_u64().unwrap() > 0, "{some}");
}

#[test]
fn what_was_decided_stands_in_session_and_digest_whatever_becomes_of_the_raw_text() {
    let sandbox = sandbox();
    sandbox.run("sweep");
    sandbox.run_args(&["decide", "before it went", "--session", "last"]);
    sandbox.run("evict --config session_memory.retention.raw_soft_cap_bytes=1");
    sandbox.run_args(&["decide", "and after", "--session", SESSION]);
    let show = sandbox.run(&format!("show {SESSION}"));
    assert!(show.contains("raw text evicted on "), "{show}");
    let digest = sandbox.run(&format!("digest {SESSION}"));
    for (told, word) in [(show, "decided: "), (digest, "decided ")] {
        let decided: Vec<&str> = told
            .lines()
            .filter(|line| line.trim_start().starts_with(word))
            .collect();
        assert_eq!(decided.len(), 2, "{told}");
        assert!(
            decided[0].ends_with("before it went") && decided[1].ends_with("and after"),
            "{told}"
        );
    }
    let texts = |answer: &Value| -> Vec<String> {
        let decisions = answer.as_array().unwrap().iter();
        decisions.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    let show = json_of(&sandbox.run(&format!("show {SESSION} --json")));
    let digest = json_of(&sandbox.run(&format!("digest {SESSION} --json")));
    assert_eq!(texts(&show["session"]["decisions"]), ["before it went", "and after"]);
    assert_eq!(texts(&digest["decisions"]), ["before it went", "and after"]);
}

#[test]
fn a_digest_for_programs_has_its_evidence_and_its_domain() {
    let sandbox = sandbox();
    sandbox.write_user_config("[session_memory.domains]\napp = \"tools\"\n");
    sandbox.run("sweep");
    let told = json_of(&sandbox.run("digest last --json"));
    assert_eq!(told["schema"], "boswell.digest/1");
    assert_eq!(
        (&told["outcome"], &told["reason"]),
        (&"success".into(), &"tests_passed".into())
    );
    assert_eq!((&told["task_ref"], &told["domain"]), (&"APP-7".into(), &"tools".into()));
    assert_eq!(told["evidence"][0]["text"], "cargo test");
    assert_eq!(told["tests"]["last"]["passed"], true);
    assert_eq!(
        json_of(&sandbox.run("digest last --json --subagents"))["rolled_up"]["sessions"],
        1
    );
}

#[test]
fn while_somebody_may_be_at_work_nothing_is_decided() {
    let mut sandbox = sandbox();
    sandbox.set("BOSWELL_NOW", "2026-03-31T09:05:00Z");
    sandbox.run("sweep");
    let told = json_of(&sandbox.run("digest last --json"));
    assert_eq!(
        (&told["outcome"], &told["reason"]),
        (&"unknown".into(), &"recent".into())
    );
}

#[test]
fn signals_are_told_with_their_evidence() {
    let sandbox = sandbox();
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("signals last"), @"
    recovery            tests failed once and passed in the last run
                  line 3  cargo test
                  line 7  cargo test
    ");
    let told = json_of(&sandbox.run("signals --json"));
    assert_eq!(told["counts"]["recovery"], 1);
    assert_eq!(told["sessions"][0]["signals"][0]["signal"], "recovery");
    assert_snapshot!(sandbox.run("signals --signal denial"), @"
    --- stderr ---
    No signals
    --- exit 1 ---
    ");
    assert!(
        sandbox
            .run("signals --signal nonsense")
            .contains("signals are: retry_storm")
    );
}

#[test]
fn decisions_are_kept_masked_and_shown_with_their_session() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("decisions"), @"
    --- stderr ---
    error: there is no memory yet
    Hint: `boswell setup` reads the agents' logs and creates it
    --- exit 1 ---
    ");
    sandbox.run("sweep");
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>());
    let told = sandbox.run_args(&["decide", &format!("the token is {secret}")]);
    assert!(told.contains("[REDACTED:") && !told.contains(&secret), "{told}");
    sandbox.run_args(&["decide", "one file,\nbecause it is easy to copy", "--session", "5e55"]);
    let told = json_of(&sandbox.run("decisions --json"));
    assert_eq!(
        (told["total"].clone(), told["decisions"][0]["decision_id"].clone()),
        (json!(2), json!(2))
    );
    assert_snapshot!(sandbox.run("decisions --session last"), @"
    2026-04-01 09:00:00  claude:5e550000-0000-4000-8000-000000000001
      one file,
      because it is easy to copy
    ");
    assert!(
        sandbox
            .run("show last")
            .contains("  decided: one file, because it is easy to copy\n")
    );
    assert_eq!(
        json_of(&sandbox.run("show last --json"))["session"]["decisions"][0]["decision_id"],
        2
    );
    assert_snapshot!(sandbox.run_args(&["decide", " "]), @"
    --- stderr ---
    error: a decision cannot be empty
    --- exit 2 ---
    ");
}

#[test]
fn each_new_digest_and_decision_is_a_file_where_the_settings_say_so() {
    let sandbox = sandbox();
    sandbox.write_user_config("[session_memory.surface]\ndir = \"~/hub\"\n");
    sandbox.run("sweep");
    sandbox.run_args(&["decide", "one file", "--session", "last"]);
    sandbox.run_args(&["decide", "of nobody's session"]);
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(sandbox.home.join("hub").join(name)).unwrap()).unwrap()
    };
    let digest = || read(&format!("digests/claude-{SESSION}.json"));
    assert_eq!(digest()["outcome"], "success");
    assert_eq!(read("decisions/1.json")["text"], "one file");
    // The digest's file includes decisions recorded after it was written.
    let decided = || digest()["decisions"].as_array().unwrap().len();
    assert_eq!((decided(), &digest()["decisions"][0]["text"]), (1, &"one file".into()));
    sandbox.run_args(&["decide", "and one more", "--session", "last"]);
    assert_eq!(decided(), 2);
}

#[test]
fn the_digest_of_a_log_that_is_not_kept_says_the_same_and_writes_nothing() {
    let sandbox = sandbox();
    let log = format!(".claude/projects/-home-ada-app/{SESSION}.jsonl");
    let mut bare = json_of(&sandbox.run(&format!("digest {log} --subagents --json")));
    assert_eq!(bare["session_uid"], format!("claude:{SESSION}"), "{bare}");
    assert!(!sandbox.home.join(".local/share/boswell").exists());
    assert!(sandbox.run(&format!("digest {log}")).contains("Mend the parser"));
    sandbox.run("sweep");
    assert_eq!(bare["text_from"], "source");
    bare["text_from"] = "memory".into();
    assert_eq!(json_of(&sandbox.run("digest last --subagents --json")), bare);
    assert!(sandbox.run("digest nowhere.jsonl").contains("--- exit 1 ---"));
}

#[test]
fn a_digest_has_every_commit_as_git_printed_it() {
    let bash = |command: &str| json!({ "command": command });
    let mut log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("commit a lot");
    for number in 0..16 {
        let command = format!("cargo fmt && git commit -m 'step {number}' && git push");
        let output = format!(
            "{}\n[main 1a2b3{number:02}] step {number}\n 1 file changed",
            "hook ".repeat(40)
        );
        log = match number % 2 {
            0 => log.tool("Bash", bash(&command), &output),
            // The commit succeeded although the push failed.
            _ => log.failed_tool("Bash", bash(&command), &output),
        };
    }
    let log = log
        .failed_tool(
            "Bash",
            bash("git commit -m 'never'"),
            "Exit code 1\nnothing to commit, working tree clean",
        )
        .tool(
            "Bash",
            bash("git commit -qm \"$(cat <<'EOF'\nquietly\n\nBody.\nEOF\n)\""),
            "",
        )
        .tool("Bash", bash("git log --oneline"), "1a2b300 [main 9999999] not a commit")
        .reply("Done.");
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"), &log.jsonl());
    sandbox.run("sweep");
    let digest = json_of(&sandbox.run("digest last --json"));
    assert_eq!(digest["commits_total"], 17, "{digest}");
    let commits = digest["commits"].as_array().unwrap();
    let told: Vec<String> = commits
        .iter()
        .map(|commit| format!("{} {}", commit["hash"], commit["subject"]))
        .collect();
    assert_eq!(told[0], "\"1a2b300\" \"step 0\"");
    assert_eq!(told[15], "\"1a2b315\" \"step 15\"");
    assert_eq!(told[16], "null \"quietly\"");
    let page = sandbox.run("digest last");
    assert!(
        page.contains("1a2b300 step 0 (line ") && page.contains("and 7 more commits"),
        "{page}"
    );
}

#[test]
fn a_night_inside_a_tool_call_is_not_active_time() {
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-30T22:00:00Z")
        .prompt("run it all")
        .tool_call("Bash", json!({ "command": "./all" }))
        .wait_s(14 * 3600)
        .result("ok")
        .reply("Done.");
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"), &log.jsonl());
    sandbox.run("sweep");
    let digest = json_of(&sandbox.run("digest last --json"));
    let active = digest["time"]["active_s"].as_u64().unwrap();
    assert!(active < 10, "{digest}");
    assert!(digest["time"]["wall_s"].as_u64().unwrap() > 14 * 3600, "{digest}");
    let day = json_of(&sandbox.run("report --date 2026-03-30 --json"));
    assert!(day["totals"]["active_s"].as_u64().unwrap() <= active, "{day}");
}
