//! `boswell status` and `boswell journal`: the memory on one screen, and the log of its operations.

use std::fs;

use insta::assert_snapshot;
use regex::Regex;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("hello")
        .reply("Hi.");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"), &log.jsonl());
    sandbox
}

/// Removes sizes: those on disk depend on the file system, and those of kept text on the length of this home's path.
fn without_sizes(told: &str) -> String {
    let lines = told.lines().filter(|line| !line.contains("on disk"));
    let told: String = lines.map(|line| format!("{line}\n")).collect();
    let size = Regex::new(r"[0-9.]+ (B|KiB)( of|[)])").unwrap();
    size.replace_all(&told, "[SIZE]$2").into_owned()
}

#[test]
fn without_a_memory_the_status_says_what_waits() {
    assert_snapshot!(sandbox().run("status"), @"
    Memory  not here yet
      store     [HOME]/.local/share/boswell
    Logs  1 session new or grown
      waiting   1.2 KiB of 1 log
    --- stderr ---
    Hint: `boswell sweep` keeps what is waiting
    ");
    assert_snapshot!(Sandbox::new().run("status"), @"
    Memory  not here yet
      store     [HOME]/.local/share/boswell
    Logs  nothing waits
      waiting   0 B of 0 logs
    --- stderr ---
    Hint: no agent has written logs here; `boswell demo` shows what Boswell does
    ");
    assert_snapshot!(Sandbox::new().run("journal"), @"
    --- stderr ---
    error: there is no memory yet
    Hint: `boswell setup` reads the agents' logs and creates it
    --- exit 1 ---
    ");
}

#[test]
fn the_status_tells_what_is_kept_and_what_is_not() {
    let sandbox = sandbox();
    sandbox.run("sweep");
    assert_snapshot!(without_sizes(&sandbox.run("status")), @"
    Memory  here
      store     [HOME]/.local/share/boswell
      keeps     Claude Code: 1 session
      sessions  from 2026-03-31 09:00:00 to 2026-03-31 09:00:01
      sweep     last wrote just now, 2026-04-01 09:00:00
      raw text  [#...................] [SIZE] of 4.0 GiB (hard cap 6.0 GiB), evicted 45 days after it was last read
      distilled [#...................] [SIZE] of 1.0 GiB, never dropped
      next      claude:5e550000-0000-4000-8000-000000000001 ([SIZE]) is evicted in 45 days, 2026-05-16 09:00:00 by age (`raw_max_age_days`)
    Logs  nothing waits
      waiting   [SIZE] of 1 log
    ");
    let caps = "--config session_memory.retention.raw_soft_cap_bytes=10";
    let told = sandbox.run(&format!("status {caps}"));
    assert!(
        told.contains("warning: raw text is above its soft cap: ") && told.contains(" > 10 B"),
        "{told}"
    );
    let log = ClaudeLog::new("5e550000-0000-4000-8000-000000000002")
        .prompt("more")
        .jsonl();
    sandbox.write(
        ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000002.jsonl",
        &log,
    );
    let told: Value = serde_json::from_str(&sandbox.run("status --json")).unwrap();
    assert_eq!(told["waiting"]["files_read"], 1, "{told}");
    assert_eq!(told["waiting"]["bytes_read"], log.len(), "{told}");
    assert_eq!(told["store"]["agents"][0]["sessions"], 1, "{told}");
    assert!(told["store"]["database_bytes"].as_u64().unwrap() > 0, "{told}");
    assert_eq!(told["store"]["last_sweep"]["at"], "2026-04-01T09:00:00Z", "{told}");
    assert_eq!(told["store"]["oldest"], "2026-03-31T09:00:00Z", "{told}");
}

#[test]
fn the_status_tells_what_goes_next_and_what_claude_deletes_before_we_have_it() {
    let sandbox = sandbox();
    let log = format!(".claude/projects/-home-ada-app/{SESSION}.jsonl");
    let at: jiff::Timestamp = "2026-03-04T09:00:00Z".parse().unwrap();
    let touch = |name: &str| {
        let file = fs::File::options().write(true).open(sandbox.home.join(name)).unwrap();
        file.set_modified(at.into()).unwrap();
    };
    touch(&log);
    sandbox.run("sweep");
    let other = log.replace("0001.jsonl", "0002.jsonl");
    sandbox.write(
        &other,
        &ClaudeLog::new("5e550000-0000-4000-8000-000000000002")
            .prompt("new")
            .jsonl(),
    );
    touch(&other);
    let told = sandbox.run("status");
    let lines: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("next") || line.contains("0002") || line.contains("claude "))
        .collect();
    assert_snapshot!(without_sizes(&lines.join("\n")), @"
    next      claude:5e550000-0000-4000-8000-000000000001 ([SIZE]) is evicted in 45 days, 2026-05-16 09:00:00 by age (`raw_max_age_days`)
    claude    deletes 2 logs from 2026-04-03 09:00:00 on; 1 not in the memory
              2026-04-03 09:00:00  [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000002.jsonl
    ");
    let told: Value = serde_json::from_str(&sandbox.run("status --json")).unwrap();
    assert_eq!(
        (&told["next"]["reason"], &told["next"]["at"]),
        (&"age".into(), &"2026-05-16T09:00:00Z".into()),
        "{told}"
    );
    assert_eq!(told["claude_deletes"]["logs"], 2, "{told}");
    assert_eq!(told["claude_deletes"]["missing"].as_array().unwrap().len(), 1, "{told}");
    assert!(told["store"]["tier2_bytes"].as_u64().unwrap() > 0, "{told}");
    let due = "--config session_memory.retention.raw_soft_cap_bytes=1";
    let told = sandbox.run(&format!("status {due}"));
    assert!(
        told.contains("is evicted with the next sweep by budget (`raw_soft_cap_bytes`)"),
        "{told}"
    );
}

#[test]
fn the_journal_has_a_sentence_for_every_change() {
    let sandbox = sandbox();
    sandbox.run("sweep");
    sandbox.run("rebuild");
    assert_snapshot!(sandbox.run("journal"), @"
    2026-04-01 09:00:00  rebuild  rebuilt the rows of 1 session
    2026-04-01 09:00:00  sweep    read 1206 new bytes of 1 transcript, and wrote 1 digest
    ");
    let told: Value = serde_json::from_str(&sandbox.run("journal --limit 1 --json")).unwrap();
    assert_eq!(told["operations"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["operations"][0]["command"], "rebuild", "{told}");
}

#[test]
fn lines_that_only_have_to_be_packed_are_not_unread() {
    let mut sandbox = sandbox();
    let log = sandbox
        .home
        .join(format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"));
    let at: jiff::Timestamp = "2026-04-01T08:59:00Z".parse().unwrap();
    let file = fs::File::options().write(true).open(log).unwrap();
    file.set_modified(at.into()).unwrap();
    sandbox.run("sweep");
    // The log is quiet by now: its last lines, which are kept already, become a frame.
    sandbox.set("BOSWELL_NOW", "2026-04-01T09:30:00Z");
    let told: Value = serde_json::from_str(&sandbox.run("status --json")).unwrap();
    assert_eq!(told["waiting"]["files_read"], 0, "{told}");
    assert_eq!(told["waiting"]["bytes_read"], 0, "{told}");
}

#[test]
fn what_kept_a_scheduled_sweep_from_starting_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.run("sweep");
    assert!(!sandbox.run("status").contains("background.log"));
    sandbox.write(
        ".local/share/boswell/background.log",
        "/bin/sh: 1: /nowhere/boswell: not found\n\n",
    );
    let printed = sandbox.run("status");
    assert!(
        printed.contains("            it ends with: /bin/sh: 1: /nowhere/boswell: not found\n"),
        "{printed}"
    );
}
