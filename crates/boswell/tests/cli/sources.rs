//! Evicted sessions: read from their logs as long as these exist, then from the distilled memory.

use std::fs;

use insta::assert_snapshot;
use regex::Regex;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::evict::damage;
use crate::sandbox::Sandbox;

const EVICT_ALL: &str = "evict --config session_memory.retention.raw_soft_cap_bytes=1";

fn id(number: u32) -> String {
    format!("5e55000{number}-0000-4000-8000-000000000000")
}

fn log(number: u32) -> String {
    format!(".claude/projects/-home-ada-app/{}.jsonl", id(number))
}

fn token() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

fn write(sandbox: &Sandbox, number: u32, at: &str, word: &str) {
    let text = ClaudeLog::new(&id(number))
        .at(at)
        .prompt(&format!("mend the {word} with {}", token()))
        .tool(
            "Bash",
            serde_json::json!({"command": "cargo test"}),
            &format!("the {word} is fine"),
        )
        .prompt("and the second thing")
        .reply(&format!("The {word} is mended."));
    sandbox.write(&log(number), &text.jsonl());
}

/// Returns a home with two old sessions, of a lantern and of an anchor, swept and not yet evicted.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    write(&sandbox, 1, "2026-03-01T09:00:00Z", "lantern");
    write(&sandbox, 2, "2026-03-02T09:00:00Z", "anchor");
    sandbox.run("sweep");
    sandbox
}

/// Like [`sandbox`], with both sessions evicted and the log of the anchor deleted.
fn evicted() -> Sandbox {
    let sandbox = sandbox();
    sandbox.run(EVICT_ALL);
    fs::remove_file(sandbox.home.join(log(2))).unwrap();
    sandbox
}

fn json(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// Runs a line and replaces fingerprints of secrets, because they depend on the key of the home.
fn run(sandbox: &Sandbox, line: &str) -> String {
    let fingerprint = Regex::new(r"(\[REDACTED:[a-z-]+):[0-9a-f]{8}\]").unwrap();
    fingerprint.replace_all(&sandbox.run(line), "$1:[KEY]]").into_owned()
}

/// Returns the stdout of a run.
fn stdout(sandbox: &Sandbox, line: &str) -> String {
    let output = sandbox.command(line).output().unwrap();
    sandbox.hide_home(&String::from_utf8(output.stdout).unwrap())
}

/// Returns the messages of a run and its exit code.
fn messages(sandbox: &Sandbox, line: &str) -> String {
    let told = sandbox.run(line);
    told.split_once("--- stderr ---\n")
        .map_or(String::new(), |(_, told)| told.to_owned())
}

/// Checks that a verb prints the same before and after an eviction.
fn assert_same_after_eviction(line: &str, differs: impl Fn(&str) -> bool) {
    let sandbox = sandbox();
    let lines = |told: String| {
        let lines = told.lines().filter(|line| !differs(line)).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let before = lines(stdout(&sandbox, line));
    assert!(
        before.len() > 1 && before.iter().any(|line| line.contains("[REDACTED:")),
        "{before:?}"
    );
    sandbox.run(EVICT_ALL);
    assert_eq!(before, lines(stdout(&sandbox, line)));
    let told = messages(&sandbox, line);
    assert!(
        told.starts_with(&format!(
            "Reading its log `[HOME]/{}`: raw text was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap\n",
            log(1)
        )),
        "{told}"
    );
}

#[test]
fn show_reads_an_evicted_session_from_its_log() {
    for depth in ["prompts", "turns", "tools", "full"] {
        let is_state = |line: &str| {
            ["  kept: ", "  raw text evicted", "  its text is read"]
                .iter()
                .any(|lead| line.starts_with(lead))
        };
        assert_same_after_eviction(&format!("show 5e550001 --depth {depth}"), is_state);
    }
    let sandbox = evicted();
    assert_snapshot!(run(&sandbox, "show 5e550001 --turns 2"), @"
    claude:5e550001-0000-4000-8000-000000000000
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-01 09:00:00 – 2026-03-01 09:00:04 (4.0 s) · 2 turns · 5 events · 5 lines
      tokens: 20 in, 40 out, 0 cache read, 0 cache write · 2 calls
      raw text evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap
      its text is read from its log

    Turn 2  lines 4–5, 2026-03-01 09:00:03, 1.0 s
         4  09:00:03  you            and the second thing
         5  09:00:04  agent          The lantern is mended.
    --- stderr ---
    Reading its log `[HOME]/.claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000000.jsonl`: raw text was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap
    ");
    let told = json(&sandbox.run("show 5e550001 --json --turns 1"));
    assert_eq!(told["text_from"], "source");
    assert_eq!(told["eviction"]["reason"], "budget");
    assert_eq!(told["eviction"]["log"], format!("[HOME]/{}", log(1)));
    assert_eq!(
        (told["turns"].as_array().unwrap().len(), &told["digest"]),
        (1, &Value::Null)
    );
}

#[test]
fn show_of_an_evicted_session_without_its_log_prints_its_digest() {
    let sandbox = evicted();
    sandbox.run("tag 5e550002 harbour");
    sandbox.run("note 5e550002 rusty");
    sandbox.run("name 5e550002 chain");
    assert_snapshot!(run(&sandbox, "show 5e550002"), @"
    claude:5e550002-0000-4000-8000-000000000000  chain
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-02 09:00:00 – 2026-03-02 09:00:04 (4.0 s) · 2 turns · 5 events · 5 lines
      tokens: 20 in, 40 out, 0 cache read, 0 cache write · 2 calls
      raw text evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap
      its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
      tags: #harbour
      note: rusty

      asked       mend the anchor with [REDACTED:github-token:[KEY]] (line 1)
      last asked  and the second thing (line 4)
      answered    The anchor is mended. (line 5)
      outcome     unknown: finished, but nothing proves the result
                  line 5: The anchor is mended.

      time        4.0 s active of 4.0 s
      turns       2 turns, 5 events, 1 tool call
      tokens      20 in, 40 out, 0 cached, in 2 calls of claude-opus-5
      cost        <$0.01
      tools       Bash 1
      commands    cargo test 1
      tests       1 passed, 0 failed; the last passed (line 2): cargo test

    Signals
      secret seen         secrets found and masked on 1 line
                    line 1  github-token

    Turn 1  lines 1–3, 2026-03-02 09:00:00, 2.0 s, 1 tool call
            mend the anchor with [REDACTED:github-token:[KEY]]

    Turn 2  lines 4–5, 2026-03-02 09:00:03, 1.0 s
    ");
    let told = json(&sandbox.run("show 5e550002 --json"));
    assert_eq!(told["text_from"], "digest");
    assert_eq!(told["eviction"]["log"], Value::Null);
    assert_eq!(told["digest"]["first_prompt"]["line"], 1, "{told}");
    assert_eq!(told["turns"].as_array().unwrap().len(), 2, "{told}");
    assert_snapshot!(messages(&sandbox, "show 5e550002 --turns 2"), @"
    Hint: the text of these turns is gone; run it without `--turns` and `--part` to print what is left
    --- exit 1 ---
    ");
}

#[test]
fn json_says_that_the_text_of_a_kept_session_comes_from_the_memory() {
    let sandbox = sandbox();
    for line in [
        "show 5e550001 --json",
        "digest 5e550001 --json",
        "render 5e550001 -o page.html --json",
    ] {
        assert_eq!(json(&sandbox.run(line))["text_from"], "memory", "{line}");
    }
    assert_eq!(
        json(&sandbox.run("restore 5e550001 -o out --json"))["text_from"],
        "memory"
    );
}

#[test]
fn render_reads_an_evicted_session_from_its_log() {
    assert_same_after_eviction("render 5e550001 --to md --depth full", |_| false);
    let sandbox = evicted();
    let told = json(&sandbox.run("render 5e550001 -o page.html --json"));
    assert_eq!(
        (told["text_from"].as_str(), told["turns"].as_u64()),
        (Some("source"), Some(2))
    );
    assert!(
        !fs::read_to_string(sandbox.home.join("page.html"))
            .unwrap()
            .contains(&token())
    );
    assert_snapshot!(run(&sandbox, "render 5e550002 --to md"), @"
    --- stderr ---
    error: the raw text of `claude:5e550002-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550002-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
    assert_eq!(json(&sandbox.run("render --all -o pages --json"))["pages"], 1);
}

#[test]
fn cat_reads_an_evicted_session_from_its_log() {
    assert_same_after_eviction("cat 5e550001", |_| false);
    assert_snapshot!(evicted().run("cat 5e550002"), @"
    --- stderr ---
    error: the raw text of `claude:5e550002-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550002-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
}

#[test]
fn restore_copies_an_evicted_session_from_its_log() {
    let sandbox = sandbox();
    sandbox.run("restore 5e550001 -o before");
    sandbox.run(EVICT_ALL);
    fs::remove_file(sandbox.home.join(log(2))).unwrap();
    let told = json(&sandbox.run("restore 5e550001 -o after --json"));
    assert_eq!(
        (told["text_from"].as_str(), told["written"].as_u64()),
        (Some("source"), Some(1))
    );
    let read = |directory: &str| fs::read_to_string(sandbox.home.join(format!("{directory}/{}.jsonl", id(1)))).unwrap();
    assert_eq!(read("before"), read("after"));
    assert!(!read("after").contains(&token()));
    let in_place = sandbox.run("restore 5e550001 --in-place");
    assert!(in_place.contains("already there"), "{in_place}");
    assert_snapshot!(run(&sandbox, "restore 5e550002 -o out"), @"
    --- stderr ---
    error: the raw text of `claude:5e550002-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550002-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
}

#[test]
fn resume_needs_the_log_or_the_memory() {
    let sandbox = evicted();
    assert_snapshot!(run(&sandbox, "resume 5e550001 --print"), @"cd /home/ada/app && claude --resume 5e550001-0000-4000-8000-000000000000");
    assert_snapshot!(run(&sandbox, "resume 5e550002 --print"), @"
    --- stderr ---
    error: the raw text of `claude:5e550002-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550002-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
}

#[test]
fn digest_of_an_evicted_session_is_the_stored_one() {
    let sandbox = sandbox();
    let before = stdout(&sandbox, "digest 5e550002");
    sandbox.run(EVICT_ALL);
    fs::remove_file(sandbox.home.join(log(2))).unwrap();
    assert_eq!(sandbox.run("digest 5e550002"), before);
    assert_eq!(json(&sandbox.run("digest 5e550002 --json"))["text_from"], "digest");
}

#[test]
fn digest_is_made_from_the_log_if_an_overflow_left_none() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    // The session is still active, so the sweep makes no digest of it.
    write(&sandbox, 1, "2026-04-01T08:59:00Z", "lantern");
    sandbox.run("sweep");
    damage(&sandbox);
    let (soft, hard) = ("raw_soft_cap_bytes=1", "raw_hard_cap_bytes=2");
    let retention = "--config session_memory.retention";
    sandbox.run(&format!("evict {retention}.{soft} {retention}.{hard}"));
    let told = sandbox.run("digest 5e550001 --no-sweep");
    let (page, said) = told.split_once("--- stderr ---\n").unwrap();
    assert!(page.contains("asked       mend the lantern with [REDACTED:"), "{page}");
    assert!(page.contains("1 tool call"), "{page}");
    assert!(
        said.contains("exceeded its hard cap, before a digest could be made"),
        "{said}"
    );
    assert_eq!(
        json(&sandbox.run("digest 5e550001 --json --no-sweep"))["text_from"],
        "source"
    );
    fs::remove_file(sandbox.home.join(log(1))).unwrap();
    assert_snapshot!(run(&sandbox, "digest 5e550001 --no-sweep"), @"
    --- stderr ---
    error: the raw text of `claude:5e550001-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its hard cap, before a digest could be made, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550001-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
}

#[test]
fn prepare_takes_an_evicted_session_from_its_log() {
    let sandbox = sandbox();
    let workspace = sandbox
        .home
        .join(concat!(".local/share/boswell-reports/", "work/2026-03-01"));
    sandbox.run("prepare --date 2026-03-01");
    let before = files_in(&workspace);
    assert!(before.len() > 2, "{before:?}");
    sandbox.run(EVICT_ALL);
    fs::remove_file(sandbox.home.join(log(2))).unwrap();
    assert_snapshot!(run(&sandbox, "prepare --date 2026-03-01 --force"), @"
    [DAYS]/2026-03-01
    --- stderr ---
    Prepared 2026-03-01 (final): 1 project, 1 session, 2 turns, 0 subagents
    Masked 1 secret in the copies
    Read from its log: claude:5e550001-0000-4000-8000-000000000000; raw text was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap
    ");
    assert_eq!(files_in(&workspace), before);
    assert_snapshot!(run(&sandbox, "prepare --date 2026-03-02"), @"
    [DAYS]/2026-03-02
    --- stderr ---
    Prepared 2026-03-02 (final): 0 projects, 0 sessions, 0 turns, 0 subagents
    warning: left out: the raw text of `claude:5e550002-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell report` describes them from their digests
    ");
    let told = json(&sandbox.run("prepare --date 2026-03-01 --force --json"));
    assert_eq!(told["notes"]["from_source"][0], format!("claude:{}", id(1)), "{told}");
}

/// Returns the files below a directory and their bytes.
fn files_in(directory: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_in(&path)),
            false => files.push((path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn search_with_sources_reads_the_logs_of_evicted_sessions() {
    let sandbox = evicted();
    assert_snapshot!(run(&sandbox, "search lantern fine"), @"
    --- stderr ---
    Nothing found
    Hint: 1 evicted session still has its log; `--sources` searches it too
    --- exit 1 ---
    ");
    assert_snapshot!(run(&sandbox, "search lantern fine --sources"), @"
    5e550001  claude  app  30 days ago  evicted, found in its log
      turn 1  mend the lantern with [REDACTED:github-token:[KEY]]
        Bash: the lantern is fine
      boswell show 5e550001 --turns 1
    ");
    let told = json(&sandbox.run("search lantern --sources --json"));
    assert_eq!(told["sources_searched"], 1, "{told}");
    let hits = told["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["text_from"] == "source"), "{told}");
    // Only the digest of the other session is left.
    let told = json(&sandbox.run("search anchor --sources --json"));
    assert_eq!(told["hits"][0]["text_from"], "digest", "{told}");
    let masked = sandbox.run("search --exact ghp_ --sources");
    assert!(masked.contains("Nothing found"), "{masked}");
}

#[test]
fn a_turn_that_the_memory_has_in_a_copy_is_found_once() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let first = ClaudeLog::new(&id(1))
        .at("2026-03-01T09:00:00Z")
        .prompt("mend the lantern")
        .reply("It is mended.");
    sandbox.write(&log(1), &first.jsonl());
    let copy = first.fork(&id(2)).prompt("and the anchor").reply("Done.");
    sandbox.write(&log(2), &copy.jsonl());
    sandbox.run("sweep");
    sandbox.run("keep 5e550002");
    sandbox.run(EVICT_ALL);
    let told = json(&sandbox.run("search lantern --sources --json"));
    let hits = told["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{told}");
    assert_eq!(
        (&hits[0]["text_from"], &hits[0]["copies"]),
        (&"memory".into(), &1.into()),
        "{told}"
    );
}

#[test]
fn a_forgotten_or_ignored_session_is_never_read_from_its_log() {
    let sandbox = sandbox();
    sandbox.run(EVICT_ALL);
    sandbox.run("forget 5e550001 --yes");
    sandbox.write_user_config("[session_memory.ignore]\npaths = [\"**/5e550002-*\"]\n");
    assert!(sandbox.home.join(log(1)).is_file() && sandbox.home.join(log(2)).is_file());
    for number in [1, 2] {
        for verb in ["cat", "render --to md", "restore -o out"] {
            let told = sandbox.run(&format!("{verb} 5e55000{number}"));
            assert!(
                told.starts_with("--- stderr ---\nerror: the raw text of") && told.ends_with("--- exit 1 ---\n"),
                "{told}"
            );
        }
        assert_eq!(
            json(&sandbox.run(&format!("show 5e55000{number} --json")))["text_from"],
            "digest"
        );
    }
    assert_snapshot!(run(&sandbox, "cat 5e550001"), @"
    --- stderr ---
    error: the raw text of `claude:5e550001-0000-4000-8000-000000000000` was forgotten on 2026-04-01 09:00:00
    Hint: `boswell show claude:5e550001-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
    assert_snapshot!(run(&sandbox, "cat 5e550002"), @"
    --- stderr ---
    error: the raw text of `claude:5e550002-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and the configuration ignores its log: `[HOME]/.claude/projects/-home-ada-app/5e550002-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550002-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
    let told = json(&sandbox.run("search fine --sources --json"));
    assert_eq!(
        (&told["sources_searched"], &told["total"]),
        (&0.into(), &0.into()),
        "{told}"
    );
}

#[test]
fn a_secret_in_the_path_of_a_log_is_masked_in_messages() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = format!(".claude/projects/-home-ada-{}/{}.jsonl", token(), id(1));
    let text = ClaudeLog::new(&id(1))
        .at("2026-03-01T09:00:00Z")
        .prompt("mend it")
        .reply("Mended.");
    sandbox.write(&log, &text.jsonl());
    sandbox.run("sweep");
    sandbox.run(EVICT_ALL);
    let lines = [
        "show 5e550001",
        "cat 5e550001",
        "restore 5e550001 --output there --dry-run",
    ];
    for line in lines {
        let told = messages(&sandbox, line);
        assert!(
            told.contains("[REDACTED:github-token:") && !told.contains(&token()),
            "{line}: {told}"
        );
    }
    fs::remove_file(sandbox.home.join(&log)).unwrap();
    for line in lines {
        let told = sandbox.run(line);
        assert!(
            told.contains("[REDACTED:github-token:") && !told.contains(&token()),
            "{line}: {told}"
        );
    }
}
