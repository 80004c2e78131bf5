//! `boswell tag`, `note` and `name`: the user's annotations of sessions.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

fn log_path() -> String {
    format!(".claude/projects/-home-ada-app/{SESSION}.jsonl")
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("make the tests green")
        .reply("Done.");
    sandbox.write(&log_path(), &log.jsonl());
    sandbox.run("sweep");
    sandbox
}

/// Runs the binary with a last argument that contains spaces.
fn run(sandbox: &Sandbox, line: &str, text: &str) -> String {
    sandbox.told(&sandbox.command(line).arg(text).output().unwrap())
}

fn json_of(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

#[test]
fn tags_come_and_go_and_are_shown() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("tag last"), @"
    --- stderr ---
    No tags: claude:5e550000-0000-4000-8000-000000000001
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("tag last Urgent #parser 日本"), @"
    parser
    urgent
    日本
    ");
    assert_snapshot!(sandbox.run("tag last urgent --remove --json"), @r#"{"schema":"boswell.tag/1","session_uid":"claude:5e550000-0000-4000-8000-000000000001","tags":["parser","日本"]}"#);
    assert_snapshot!(sandbox.run("sessions"), @"
    id        last          agent   project  turns  tokens   took     size  status  title or first prompt
    5e550000  23 hours ago  claude  app          1      30  1.0 s  1.2 KiB  kept    #parser #日本 make the tests green
    ");
    assert_eq!(
        sandbox.run("sessions --tag #PARSER --tag 日本"),
        sandbox.run("sessions")
    );
    assert!(
        sandbox
            .run("sessions --tag parser --tag urgent")
            .contains("No session matches")
    );
    assert_snapshot!(sandbox.run("tag last two,words"), @"
    --- stderr ---
    error: a tag must be a single word: `two,words`
    --- exit 2 ---
    ");
}

#[test]
fn a_note_and_a_name_replace_each_other_and_go_when_empty() {
    let sandbox = sandbox();
    assert_snapshot!(run(&sandbox, "note last", "the retry hid\nthe \u{1b}[31mreal error"), @r"
    the retry hid
    the \u{1b}[31mreal error
    ");
    assert_snapshot!(run(&sandbox, "name last --json", "the parser\n rewrite"), @r#"{"name":"the parser rewrite","schema":"boswell.name/1","session_uid":"claude:5e550000-0000-4000-8000-000000000001"}"#);
    let shown = sandbox.run("show last");
    assert!(
        shown.starts_with(&format!("claude:{SESSION}  the parser rewrite\n")),
        "{shown}"
    );
    assert!(
        shown.contains("  note: the retry hid\n        the \\u{1b}[31mreal error\n"),
        "{shown}"
    );
    assert!(sandbox.run("sessions").contains("the parser rewrite"));
    assert_snapshot!(run(&sandbox, "note last", " "), @"
    --- stderr ---
    No note: claude:5e550000-0000-4000-8000-000000000001
    ");
    assert_eq!(json_of(&run(&sandbox, "name last --json", ""))["name"], Value::Null);
    assert!(sandbox.run("sessions").contains("make the tests green"));
    assert_snapshot!(sandbox.run("journal --limit 4"), @"
    2026-04-01 09:00:00  name  removed the name of claude:5e550000-0000-4000-8000-000000000001
    2026-04-01 09:00:00  note  removed the note on claude:5e550000-0000-4000-8000-000000000001
    2026-04-01 09:00:00  name  named claude:5e550000-0000-4000-8000-000000000001: the parser rewrite
    2026-04-01 09:00:00  note  set the note on claude:5e550000-0000-4000-8000-000000000001
    ");
}

#[test]
fn words_on_a_session_survive_a_rebuild_and_a_log_that_is_read_anew() {
    let sandbox = sandbox();
    sandbox.run("tag last keepme");
    run(&sandbox, "note last", "mine");
    let said = || {
        let told = json_of(&sandbox.run("show last --json"));
        (told["session"]["tags"].clone(), told["session"]["note"].clone())
    };
    let before = said();
    assert_eq!(before, (serde_json::json!(["keepme"]), "mine".into()));
    sandbox.run("rebuild");
    assert_eq!(said(), before);
    let other = ClaudeLog::new(SESSION)
        .at("2026-03-30T09:00:00Z")
        .prompt("rewritten")
        .reply("Yes.");
    sandbox.write(&log_path(), &other.jsonl());
    sandbox.run("sweep");
    assert!(sandbox.run("show last").contains("rewritten"));
    assert_eq!(said(), before);
}

#[test]
fn a_secret_in_a_note_is_masked_before_the_disk_and_refused_as_a_tag() {
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>());
    let sandbox = sandbox();
    let told = run(&sandbox, "note last", &format!("token {secret}"));
    assert!(
        told.contains("[REDACTED:") && told.contains("1 secret masked") && !told.contains(&secret),
        "{told}"
    );
    let told = run(&sandbox, "tag last", &secret);
    assert!(
        told.contains("a tag cannot contain a secret") && !told.contains(&secret),
        "{told}"
    );
    for name in ["store.db", "store.db-wal"] {
        let bytes = fs::read(sandbox.home.join(".local/share/boswell").join(name)).unwrap_or_default();
        assert!(
            !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
            "{name}"
        );
    }
}
