//! `boswell sweep`, `boswell cat` and `boswell rebuild`: swept lines are kept.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

fn log_path() -> String {
    format!(".claude/projects/-home-ada-app/{SESSION}.jsonl")
}

fn sandbox_with(log: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    // An hour after anything this test writes, so the log is quiet.
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    sandbox.set("BOSWELL_NOW", &later.to_string());
    sandbox.write(&log_path(), log);
    sandbox
}

fn session() -> String {
    ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("make the tests green")
        .reply("Done.")
        .jsonl()
}

fn json(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

#[test]
fn a_sweep_keeps_a_session_and_cat_gives_it_back() {
    let sandbox = sandbox_with(&session());
    assert_snapshot!(sandbox.run("sweep").lines().take(4).collect::<Vec<_>>().join("\n"), @"
    1 file of 1 read, 0 unchanged
      1.2 KiB of logs
      1 session new, 0 updated, 2 events
      0 secrets masked, 0 faults
    ");
    assert_eq!(sandbox.run("cat 5e55"), session());
    let again = json(&sandbox.run("sweep --json"));
    assert_eq!(
        (&again["files_read"], &again["bytes_read"]),
        (&0.into(), &0.into()),
        "{again}"
    );
    assert_snapshot!(sandbox.run("rebuild"), @"
    --- stderr ---
    Rebuilt: 1 session
    ");
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let sandbox = sandbox_with(&session());
    let before = tree(&sandbox);
    let told = json(&sandbox.run("sweep --dry-run --json"));
    assert_eq!(told["files_read"], 1, "{told}");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn without_a_memory_cat_says_how_to_make_one() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("cat 5e55"), @"
    --- stderr ---
    error: there is no memory yet
    Hint: `boswell setup` reads the agents' logs and creates it
    --- exit 1 ---
    ");
    let sandbox = sandbox_with(&session());
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("cat nothing-like-it"), @"
    --- stderr ---
    error: no session in the memory begins with: `nothing-like-it`
    Hint: `boswell sweep` reads what is new
    --- exit 1 ---
    ");
}

#[test]
fn a_secret_reaches_neither_the_disk_nor_the_terminal() {
    // Assembled here so that no scanner reports this test as a leak.
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>());
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt(&format!("push with {secret}, please"))
        .tool(
            "Bash",
            serde_json::json!({"command": format!("export GH_TOKEN={secret}")}),
            &format!("ok\n{secret}\n"),
        )
        .jsonl();
    let sandbox = sandbox_with(&log);
    let told = json(&sandbox.run("sweep --json"));
    assert!(told["redactions"].as_u64().unwrap() >= 3, "{told}");
    for shown in [
        sandbox.run("cat 5e55"),
        sandbox.run(&format!("read {} --full", log_path())),
        sandbox.run(&format!("read {} --json --full", log_path())),
    ] {
        assert!(shown.contains("[REDACTED:") && !shown.contains(&secret), "{shown}");
    }
    let store = sandbox.home.join(".local/share/boswell");
    for path in files(&store) {
        let bytes = fs::read(&path).unwrap();
        assert!(
            !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
            "{}",
            path.display()
        );
    }
}

fn files(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            found.push(path)
        }
    }
    found.sort();
    found
}

/// Returns every file of the home with its bytes.
fn tree(sandbox: &Sandbox) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    files(&sandbox.home)
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}
