//! `boswell secrets`: prints where secrets are, and never their values.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const PROJECT: &str = ".claude/projects/-home-ada-app";

/// Returns a secret, assembled here so that no scanner reports this test as a leak.
fn token(letter: char) -> String {
    format!(
        "ghp_{}",
        format!("{letter}1B2c3D4e5")
            .repeat(4)
            .chars()
            .take(36)
            .collect::<String>()
    )
}

/// Returns a home with two secrets in a log, and one of them in a spilled result and in the history.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt(&format!("push with {0}, I repeat: {0}", token('a')))
        .reply("No.")
        .prompt(&format!("then with {}", token('b')));
    sandbox.write(&format!("{PROJECT}/{SESSION}.jsonl"), &log.jsonl());
    sandbox.write(
        &format!("{PROJECT}/{SESSION}/tool-results/big.txt"),
        &format!("one\ntwo\n{}\n", token('a')),
    );
    sandbox.write(
        ".claude/history.jsonl",
        &format!("{}\n", json!({ "display": token('a') })),
    );
    // A file without the name of a log or a companion is not opened.
    sandbox.write(
        ".claude/.credentials.json",
        &format!("{}\n", json!({ "token": token('c') })),
    );
    sandbox
}

/// Replaces fingerprints, because they depend on the key of the machine.
fn still(told: &str, fingerprints: &[String]) -> String {
    let mut told = told.to_owned();
    for (at, fingerprint) in fingerprints.iter().enumerate() {
        told = told.replace(fingerprint, &format!("fingerprint-{at}"));
    }
    told
}

fn found(sandbox: &Sandbox, flags: &str) -> Value {
    serde_json::from_str(sandbox.run(&format!("secrets --json {flags}")).lines().next().unwrap()).unwrap()
}

#[test]
fn one_secret_in_many_places_is_told_once_and_never_shown() {
    let sandbox = sandbox();
    let json = found(&sandbox, "");
    let fingerprints: Vec<String> = json["secrets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| secret["fingerprint"].as_str().unwrap().to_owned())
        .collect();
    assert_snapshot!(still(&sandbox.run("secrets"), &fingerprints), @"
    github-token  fingerprint-0  3 places
      [HOME]/.claude/history.jsonl:1
      [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/tool-results/big.txt:3
      [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl:1
    github-token  fingerprint-1  1 place
      [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl:3
    --- stderr ---
    2 secrets in 4 places; looked into 3 files, 1.9 KiB
    Hint: replace secrets that are still valid; Boswell does not change the agents' logs
    Hint: list false alarms in `session_memory.masking.allow`
    ");
    assert_snapshot!(still(&sandbox.run("secrets --all -q"), &fingerprints), @"
    [HOME]/.claude/history.jsonl:1  github-token  fingerprint-0
    [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/tool-results/big.txt:3  github-token  fingerprint-0
    [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl:1  github-token  fingerprint-0
    [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl:3  github-token  fingerprint-1
    ");
    for told in [sandbox.run("secrets"), sandbox.run("secrets --all"), json.to_string()] {
        for letter in ['a', 'b', 'c'] {
            assert!(!told.contains(&token(letter)), "{told}");
        }
    }
    // The fingerprint is the one in the tag that replaced the secret.
    sandbox.run("sweep");
    let kept = sandbox.run("cat 5e55");
    assert!(kept.contains(&format!(":{}]", fingerprints[0])), "{kept}");
}

#[test]
fn the_answer_for_programs_has_its_fields() {
    let sandbox = sandbox();
    let json = found(&sandbox, "");
    assert_eq!(json["schema"], "boswell.secrets/1");
    assert_eq!((&json["total"], &json["files"]), (&json!(4), &json!(3)), "{json}");
    let first = &json["secrets"][0];
    assert_eq!(first["count"], 3);
    let places: Vec<(&str, u64)> = first["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| {
            (
                place["path"].as_str().unwrap().rsplit('/').next().unwrap(),
                place["line"].as_u64().unwrap(),
            )
        })
        .collect();
    let log = format!("{SESSION}.jsonl");
    assert_eq!(places, [("history.jsonl", 1), ("big.txt", 3), (log.as_str(), 1)]);
    assert_eq!(first["places"][0]["agent"], "claude");
}

#[test]
fn agent_since_and_paths_choose_the_files() {
    let mut sandbox = sandbox();
    assert_eq!(found(&sandbox, "--agent codex")["files"], 0);
    assert_eq!(
        found(&sandbox, &format!("{PROJECT}/{SESSION}/tool-results/big.txt"))["total"],
        1
    );
    assert_eq!(found(&sandbox, ".claude/projects")["total"], 3);
    assert_eq!(found(&sandbox, "--since 1970-01-02")["files"], 3);
    // Two days after anything this test writes.
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(48);
    sandbox.set("BOSWELL_NOW", &later.to_string());
    assert_eq!(found(&sandbox, "--since 12h")["files"], 0);
    assert_eq!(found(&sandbox, "--since 72h")["files"], 3);
}

#[test]
fn where_there_is_none_the_exit_code_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write(
        &format!("{PROJECT}/{SESSION}.jsonl"),
        &ClaudeLog::new(SESSION).prompt("hello").jsonl(),
    );
    assert_snapshot!(sandbox.run("secrets"), @"
    --- stderr ---
    0 secrets in 0 places; looked into 1 file, 435 B
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("secrets missing.txt"), @"
    --- stderr ---
    error: cannot read [HOME]/missing.txt: No such file or directory (os error 2)
    --- exit 2 ---
    ");
}
