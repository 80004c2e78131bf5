//! `boswell evict`, `keep` and `forget`: what they remove, and what stays.

use std::fs;

use insta::assert_snapshot;
use regex::Regex;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const CAPS: &str = "--config session_memory.retention.raw_soft_cap_bytes=1";

fn id(number: u32) -> String {
    format!("5e55000{number}-0000-4000-8000-000000000000")
}

fn log(number: u32) -> String {
    format!(".claude/projects/-home-ada-app/{}.jsonl", id(number))
}

fn write(sandbox: &Sandbox, number: u32, at: &str) {
    let words = (0..200).map(|n| format!("{number}{n} ")).collect::<String>();
    let text = ClaudeLog::new(&id(number))
        .at(at)
        .prompt(&format!("mend number {number}"))
        .tool("Bash", serde_json::json!({"command": "cargo test"}), &words)
        .prompt("and the second thing")
        .reply("Done.")
        .prompt("thanks")
        .reply("You are welcome.");
    sandbox.write(&log(number), &text.jsonl());
}

/// Returns a home with two old sessions and one of today.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    write(&sandbox, 1, "2026-03-01T09:00:00Z");
    write(&sandbox, 2, "2026-03-02T09:00:00Z");
    write(&sandbox, 3, "2026-04-01T08:00:00Z");
    sandbox.run("sweep");
    sandbox
}

/// Replaces sizes, because they depend on the length of this home's path.
fn sized(told: &str) -> String {
    let size = Regex::new(r" *[0-9.]+ (B|KiB|bytes?)\b").unwrap();
    size.replace_all(told, " [SIZE]").into_owned()
}

fn json(told: &str) -> Value {
    serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {told}"))
}

#[test]
fn evict_shows_what_would_go_and_lets_it_go_only_when_told() {
    let sandbox = sandbox();
    assert_snapshot!(sized(&sandbox.run("evict --dry-run")), @"
    --- stderr ---
    Nothing to evict: 3 sessions with [SIZE] left
    ");
    assert_snapshot!(sized(&sandbox.run(&format!("evict --dry-run {CAPS}"))), @"
    budget (over the soft cap)
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000
     [SIZE]  claude:5e550002-0000-4000-8000-000000000000
    --- stderr ---
    Would evict [SIZE] of 2 sessions (by budget); 1 session with [SIZE] left
    Hint: run again without `--dry-run` to evict them
    ");
    let plan = json(&sandbox.run(&format!("evict --dry-run --json {CAPS}")));
    assert_eq!(
        (plan["dry_run"].as_bool(), plan["drops"].as_array().unwrap().len()),
        (Some(true), 2),
        "{plan}"
    );
    assert_snapshot!(sized(&sandbox.run(&format!("evict {CAPS}"))), @"
    budget (over the soft cap)
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000
     [SIZE]  claude:5e550002-0000-4000-8000-000000000000
    --- stderr ---
    Evicted [SIZE] of 2 sessions (by budget); 1 session with [SIZE] left
    ");
    assert_snapshot!(sized(&sandbox.run(&format!("evict {CAPS}"))), @"
    --- stderr ---
    Nothing to evict: 1 session with [SIZE] left
    ");
    let journal = sandbox.run("journal");
    assert!(journal.contains("evict  evicted "), "{journal}");
    let told = json(&sandbox.run("sessions --json --no-sweep"));
    let told: Vec<&str> = told["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["status"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["kept", "evicted", "evicted"]);
}

#[test]
fn an_evicted_session_says_what_is_left_and_why() {
    let sandbox = sandbox();
    sandbox.run(&format!("sweep {CAPS}"));
    fs::remove_file(sandbox.home.join(log(1))).unwrap();
    assert_snapshot!(sized(&sandbox.run("show 5e550001")), @"
    claude:5e550001-0000-4000-8000-000000000000
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-01 09:00:00 – 2026-03-01 09:00:06 (6.0 s) · 3 turns · 7 events · 7 lines
      tokens: 30 in, 60 out, 0 cache read, 0 cache write · 3 calls
      raw text evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap
      its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000000.jsonl`

      asked       mend number 1 (line 1)
      last asked  thanks (line 6)
      answered    You are welcome. (line 7)
      outcome     unknown: finished, but nothing proves the result
                  line 7: You are welcome.

      time        6.0 s active of 6.0 s
      turns       3 turns, 7 events, 1 tool call
      tokens      30 in, 60 out, 0 cached, in 3 calls of claude-opus-5
      cost        <$0.01
      tools       Bash 1
      commands    cargo test 1
      tests       1 passed, 0 failed; the last passed (line 2): cargo test

    Turn 1  lines 1–3, 2026-03-01 09:00:00, 2.0 s, 1 tool call
            mend number 1

    Turn 2  lines 4–5, 2026-03-01 09:00:03, 1.0 s

    Turn 3  lines 6–7, 2026-03-01 09:00:05, 1.0 s
    ");
    assert_snapshot!(sandbox.run("cat 5e550001"), @"
    --- stderr ---
    error: the raw text of `claude:5e550001-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550001-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("restore 5e550001 -o out"), @"
    --- stderr ---
    error: the raw text of `claude:5e550001-0000-4000-8000-000000000000` was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its soft cap, and its log no longer exists: `[HOME]/.claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000000.jsonl`
    Hint: `boswell show claude:5e550001-0000-4000-8000-000000000000` prints what is left
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("search mend"), @"
    5e550003  claude  app  59 minutes ago
      turn 1  mend number 3
        prompt: mend number 3
      boswell show 5e550003 --turns 1

    5e550002  claude  app  29 days ago
        digest: mend number 2
      boswell show 5e550002

    5e550001  claude  app  30 days ago
        digest: mend number 1
      boswell show 5e550001
    ");
    assert_snapshot!(sandbox.run("rebuild"), @"
    --- stderr ---
    Rebuilt: 1 session
    ");
    let doctor = sandbox.run("doctor --deep");
    assert!(!doctor.contains("damage") && !doctor.contains("exit"), "{doctor}");
}

#[test]
fn a_question_lets_nothing_go_and_a_sweep_does() {
    let mut sandbox = sandbox();
    sandbox.set("BOSWELL_SESSION_MEMORY_RETENTION_RAW_SOFT_CAP_BYTES", "1");
    sandbox.set("BOSWELL_NOW", "2026-04-02T09:00:00Z");
    assert!(!sandbox.run("sessions").contains("evicted"));
    let told = json(&sandbox.run("sweep --json"));
    assert_eq!(
        (told["sessions_evicted"].as_u64(), told["sessions_lost"].as_u64()),
        (Some(3), Some(0)),
        "{told}"
    );
    assert!(
        sandbox.run("journal --limit 1").contains("evicted "),
        "{}",
        sandbox.run("journal")
    );
}

#[test]
fn what_is_kept_for_good_never_goes() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("keep 5e550001"), @"
    --- stderr ---
    Kept for good: claude:5e550001-0000-4000-8000-000000000000
    ");
    assert_snapshot!(sandbox.run("keep 5e550001 --json"), @r#"{"is_kept":true,"is_news":false,"schema":"boswell.keep/1","session_uid":"claude:5e550001-0000-4000-8000-000000000000"}"#);
    assert_snapshot!(sized(&sandbox.run(&format!("evict {CAPS}"))), @"
    budget (over the soft cap)
     [SIZE]  claude:5e550002-0000-4000-8000-000000000000
    --- stderr ---
    Evicted [SIZE] of 1 session (by budget); 2 sessions with [SIZE] left, 1 of them kept
    ");
    assert_snapshot!(sandbox.run("keep 5e550002"), @"
    --- stderr ---
    error: there is no raw text of this session to keep: `claude:5e550002-0000-4000-8000-000000000000`
    Hint: `boswell show` says what is left
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("keep 5e550001 --undo"), @"
    --- stderr ---
    Can be evicted again: claude:5e550001-0000-4000-8000-000000000000
    ");
    assert_snapshot!(sized(&sandbox.run(&format!("evict {CAPS}"))), @"
    budget (over the soft cap)
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000
    --- stderr ---
    Evicted [SIZE] of 1 session (by budget); 1 session with [SIZE] left
    ");
    assert_snapshot!(sized(&sandbox.run("journal")), @"
    2026-04-01 09:00:00  evict  evicted [SIZE] of raw text of 1 session (by budget)
    2026-04-01 09:00:00  keep   no longer keeps claude:5e550001-0000-4000-8000-000000000000 for good
    2026-04-01 09:00:00  evict  evicted [SIZE] of raw text of 1 session (by budget)
    2026-04-01 09:00:00  keep   keeps claude:5e550001-0000-4000-8000-000000000000 for good
    2026-04-01 09:00:00  sweep  read 18579 new bytes of 3 transcripts, and wrote 3 digests
    ");
}

#[test]
fn what_is_forgotten_stays_forgotten() {
    let mut sandbox = sandbox();
    sandbox.run("restore 5e550001 -o out");
    assert_snapshot!(sized(&sandbox.run("forget 5e550001 --dry-run")), @"
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000  its digest stays
                2026-03-01 09:00:00  mend number 1
          copy  [HOME]/out/5e550001-0000-4000-8000-000000000000.jsonl  restored of claude:5e550001-0000-4000-8000-000000000000
    --- stderr ---
    Would forget: 1 session
    Hint: run again without `--dry-run` to forget them
    Hint: `--copies` deletes the copies, too
    ");
    assert_snapshot!(sized(&sandbox.run("forget 5e550001 --yes")), @"
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000  its digest stays
                2026-03-01 09:00:00  mend number 1
          copy  [HOME]/out/5e550001-0000-4000-8000-000000000000.jsonl  restored of claude:5e550001-0000-4000-8000-000000000000
    --- stderr ---
    Forgotten: 1 session
    Hint: `--copies` deletes the copies, too
    ");
    assert!(sandbox.home.join("out").exists());
    assert_snapshot!(sized(&sandbox.run("forget 5e550001 --with-digest --copies --yes")), @"
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000  with its digest
                2026-03-01 09:00:00  mend number 1
          copy  [HOME]/out/5e550001-0000-4000-8000-000000000000.jsonl  restored of claude:5e550001-0000-4000-8000-000000000000
    --- stderr ---
    Forgotten: 1 session
    Deleted: 1 copy
    ");
    let mut left = walk(&sandbox.home.join("out"));
    left.retain(|path| path.contains("5e550001"));
    assert_eq!(left, [""; 0]);
    sandbox.set("BOSWELL_NOW", "2026-04-02T09:00:00Z");
    write(&sandbox, 1, "2026-04-01T09:00:00Z");
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("show 5e550001"), @"
    --- stderr ---
    error: no session begins with this, and none made or mentions such a commit: `5e550001`
    Hint: `boswell sweep` reads what is new
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("forget"), @"
    --- stderr ---
    error: no session and no filter given
    Hint: `boswell forget SESSION`, or `boswell forget --project NAME`
    --- exit 2 ---
    ");
    assert_snapshot!(sized(&sandbox.run("forget --until 2026-03-03 --yes")), @"
     [SIZE]  claude:5e550002-0000-4000-8000-000000000000  its digest stays
                2026-03-02 09:00:00  mend number 2
    --- stderr ---
    Forgotten: 1 session
    ");
    assert_snapshot!(sandbox.run("forget --project nowhere"), @"
    --- stderr ---
    No session matches
    --- exit 1 ---
    ");
    assert_snapshot!(sized(&sandbox.run("show 5e550002")), @"
    claude:5e550002-0000-4000-8000-000000000000
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-03-02 09:00:00 – 2026-03-02 09:00:06 (6.0 s) · 3 turns · 7 events · 7 lines
      tokens: 30 in, 60 out, 0 cache read, 0 cache write · 3 calls
      raw text forgotten on 2026-04-02 09:00:00
      a forgotten session is not read from its log

      asked       mend number 2 (line 1)
      last asked  thanks (line 6)
      answered    You are welcome. (line 7)
      outcome     unknown: finished, but nothing proves the result
                  line 7: You are welcome.

      time        6.0 s active of 6.0 s
      turns       3 turns, 7 events, 1 tool call
      tokens      30 in, 60 out, 0 cached, in 3 calls of claude-opus-5
      cost        <$0.01
      tools       Bash 1
      commands    cargo test 1
      tests       1 passed, 0 failed; the last passed (line 2): cargo test

    Turn 1  lines 1–3, 2026-03-02 09:00:00, 2.0 s, 1 tool call
            mend number 2

    Turn 2  lines 4–5, 2026-03-02 09:00:03, 1.0 s

    Turn 3  lines 6–7, 2026-03-02 09:00:05, 1.0 s
    ");
}

fn walk(directory: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries {
        match entry.path().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path().display().to_string()),
        }
    }
    found
}

/// Corrupts every compressed row of the database, so that no digest can be made from it.
pub fn damage(sandbox: &Sandbox) {
    let path = sandbox.home.join(".local/share/boswell/store.db");
    let mut bytes = fs::read(&path).unwrap();
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let places: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..*at + 4] == magic).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 0xff;
    }
    fs::write(&path, bytes).unwrap();
}

#[cfg(unix)]
#[test]
fn a_loss_is_told_loudly_to_everybody() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    // The session is still active, so the sweep does not make its digest.
    write(&sandbox, 1, "2026-04-01T08:59:00Z");
    sandbox.run("sweep");
    damage(&sandbox);
    let notify = format!(
        "session_memory.notify.command=[\"/usr/bin/tee\", \"{}\"]",
        sandbox.path("event.json")
    );
    let hard = "session_memory.retention.raw_hard_cap_bytes=2";
    let soft = "session_memory.retention.raw_soft_cap_bytes=1";
    let told = sandbox.run_args(&["evict", "--config", &notify, "--config", hard, "--config", soft]);
    assert_snapshot!(sized(&told), @"
    overflow (over the hard cap, no digest)
     [SIZE]  claude:5e550001-0000-4000-8000-000000000000
    --- stderr ---
    Evicted [SIZE] of 1 session (by overflow); 0 sessions with [SIZE] left
    warning: DATA LOSS: [SIZE] of 1 session evicted without a digest, because raw text was over its hard cap of [SIZE]
    warning: lost: claude:5e550001-0000-4000-8000-000000000000
    Hint: raise `session_memory.retention.raw_hard_cap_bytes`, or run `boswell doctor --deep` to see what is damaged
    --- exit 3 ---
    ");
    let event = json(&fs::read_to_string(sandbox.home.join("event.json")).unwrap());
    assert_eq!(event["event"], "session_memory.data_loss", "{event}");
    assert_eq!(
        event["sessions"][0]["session_uid"],
        format!("claude:{}", id(1)),
        "{event}"
    );
    let journal = sandbox.run("journal");
    assert!(journal.contains("session_memory.data_loss  lost "), "{journal}");
    assert_snapshot!(sized(&sandbox.run("show 5e550001 --no-sweep")), @"
    claude:5e550001-0000-4000-8000-000000000000
      Claude Code 2.1.230 · claude-opus-5 · app on main · /home/ada/app
      2026-04-01 08:59:00 – 2026-04-01 08:59:06 (6.0 s) · 3 turns · 7 events · 7 lines
      tokens: 30 in, 60 out, 0 cache read, 0 cache write · 3 calls
      raw text evicted on 2026-04-01 09:00:00 because the raw cache exceeded its hard cap, before a digest could be made
      its text is read from its log

    Turn 1  lines 1–3, 2026-04-01 08:59:00, 2.0 s, 1 tool call
         1  08:59:00  you            mend number 1
         2  08:59:01  Bash           cargo test  test, 1.0 s

    Turn 2  lines 4–5, 2026-04-01 08:59:03, 1.0 s
         4  08:59:03  you            and the second thing
         5  08:59:04  agent          Done.

    Turn 3  lines 6–7, 2026-04-01 08:59:05, 1.0 s
         6  08:59:05  you            thanks
         7  08:59:06  agent          You are welcome.
    --- stderr ---
    Reading its log `[HOME]/.claude/projects/-home-ada-app/5e550001-0000-4000-8000-000000000000.jsonl`: raw text was evicted on 2026-04-01 09:00:00 because the raw cache exceeded its hard cap, before a digest could be made
    ");
}
