//! Settings for secrets and for ignored logs, with the real binary.

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

fn log_path() -> String {
    format!(".claude/projects/-home-ada-app/{SESSION}.jsonl")
}

fn sandbox_with(prompt: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = ClaudeLog::new(SESSION).at("2026-03-31T09:00:00Z").prompt(prompt);
    sandbox.write(&log_path(), &log.jsonl());
    sandbox
}

#[test]
fn a_rule_of_the_user_masks_and_an_allowed_word_stays() {
    // Assembled here so that no scanner reports this test as a leak.
    let token = |letter: &str| {
        format!(
            "ghp_{}",
            format!("{letter}1B2c3D4e5")
                .repeat(4)
                .chars()
                .take(36)
                .collect::<String>()
        )
    };
    let (secret, known) = (token("a"), token("x"));
    let sandbox = sandbox_with(&format!("badge-123456 opens it, {secret} and {known} too"));
    let shown = |sandbox: &Sandbox| {
        sandbox.run("sweep");
        [
            sandbox.run(&format!("read {} --full", log_path())),
            sandbox.run(&format!("read {} --json", log_path())),
            sandbox.run("cat 5e55"),
        ]
    };
    sandbox.write_user_config(&format!(
        "[[session_memory.masking.rules]]\nname = \"acme-badge\"\nregex = 'badge-[0-9]{{6}}'\nkeyword = \"badge-\"\n\n\
         [session_memory.masking]\nallow = [\"{known}\"]\n"
    ));
    for told in shown(&sandbox) {
        assert!(
            told.contains("[REDACTED:acme-badge:") && !told.contains("badge-123456"),
            "{told}"
        );
        assert!(told.contains(&known) && !told.contains(&secret), "{told}");
    }
    // Without the settings, the custom rule does not mask and the known value is masked.
    sandbox.write_user_config("");
    std::fs::remove_dir_all(sandbox.home.join(".local/share/boswell")).unwrap();
    for told in shown(&sandbox) {
        assert!(told.contains("badge-123456") && !told.contains(&known), "{told}");
    }
}

#[test]
fn a_pattern_of_a_rule_that_makes_no_sense_is_told_with_its_line() {
    let sandbox = sandbox_with("hello");
    sandbox.write_user_config(
        "[session_memory.masking]\nrules = [\n  { name = \"fine\", regex = 'x+' },\n  { name = \"badge\", regex = '(' },\n]\n",
    );
    assert_snapshot!(sandbox.run("sweep"), @r#"
    --- stderr ---
    error: `session_memory.masking.rules` from [HOME]/.config/boswell/config.toml:4 must be a list where each element is a table whose `regex` is a regular expression (unclosed group), but is: { name = "badge", regex = "(" }
    --- exit 2 ---
    "#);
    sandbox.write_user_config("[[session_memory.masking.rules]]\nname = \"badge\"\nregex = 'x+'\nkeywrod = \"x\"\n");
    let told = sandbox.run("sweep --quiet");
    assert_snapshot!(told, @"
    --- stderr ---
    warning: unknown key from [HOME]/.config/boswell/config.toml:1: `session_memory.masking.rules.keywrod`
    ");
}

#[test]
fn a_project_is_ignored_by_the_directory_its_log_names() {
    let sandbox = sandbox_with("nobody's business");
    let seen = |sandbox: &Sandbox, flags: &str| -> Value {
        let told = sandbox.run(&format!("sweep --dry-run --json {flags}"));
        serde_json::from_str::<Value>(told.lines().next().unwrap()).unwrap()["files_seen"].clone()
    };
    assert_eq!(seen(&sandbox, ""), 1);
    for glob in [
        "/home/ada/app",
        "/home/ada/app/**",
        "/home/ada",
        "/home/*/app",
        "/home/**",
    ] {
        let flag = format!("--config session_memory.ignore.projects={glob}");
        assert_eq!(seen(&sandbox, &flag), 0, "{glob}");
    }
    for glob in ["/home/ada/application", "/home/ada/app/src", "/home/ada/*/app", "app"] {
        let flag = format!("--config session_memory.ignore.projects={glob}");
        assert_eq!(seen(&sandbox, &flag), 1, "{glob}");
    }
    sandbox.run("sweep --config session_memory.ignore.projects=/home/ada/app");
    assert!(sandbox.run("cat 5e55").contains("no session in the memory"));
    let told = sandbox.run("doctor --config session_memory.ignore.projects=/home/ada/app");
    assert!(told.contains("keeps     0 sessions"), "{told}");
    let told = sandbox.run("secrets --config session_memory.ignore.projects=/home/ada/app");
    assert!(told.contains("looked into 0 files"), "{told}");
}

#[test]
fn every_agent_names_the_directory_of_its_sessions() {
    let mut sandbox = Sandbox::new();
    sandbox.run("demo --json -o home");
    sandbox.set("CLAUDE_CONFIG_DIR", &sandbox.path("home/.claude"));
    sandbox.set("CODEX_HOME", &sandbox.path("home/.codex"));
    sandbox.set("GROK_HOME", &sandbox.path("home/.grok"));
    let seen = |flags: &str| -> Vec<(String, u64)> {
        let told = sandbox.run(&format!("sweep --dry-run --json {flags}"));
        let told: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        let agents = told["agents"].as_array().unwrap().iter();
        agents
            .map(|agent| {
                (
                    agent["agent"].as_str().unwrap().to_owned(),
                    agent["files_seen"].as_u64().unwrap(),
                )
            })
            .collect()
    };
    let all = [("claude", 2), ("codex", 1), ("grok", 1)].map(|(agent, files)| (agent.to_owned(), files));
    assert_eq!(seen("--config session_memory.ignore.projects=/home/ada/other"), all);
    assert_eq!(seen("--config session_memory.ignore.projects=/home/ada/shop"), []);
}

#[test]
fn a_secret_in_the_name_of_a_project_is_masked_in_the_pages_of_a_day() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .cwd(&format!("/home/ada/{secret}"))
        .prompt("mend it")
        .reply("Mended.");
    sandbox.write(&log_path(), &log.jsonl());
    sandbox.run("sweep");
    for line in ["diary 2026-03-31", "report --date 2026-03-31 --json"] {
        let told = sandbox.run(line);
        assert!(
            told.contains("REDACTED-github-token") && !told.contains(&secret),
            "{told}"
        );
    }
}
