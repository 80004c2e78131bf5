//! One memory on a server: the same answers as from a directory, moved and delivered to, and no password anywhere.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::postgres::Postgres;
use testkit::truth;

use crate::sandbox::Sandbox;

/// Questions, each asked of both memories. What is shown of sizes on disk and of places differs by nature.
const QUESTIONS: &[&str] = &[
    "sessions --json",
    "sessions --agent grok --json",
    "search session --json",
    "search ma* --limit 5 --json",
    "usage --json",
    "usage --by model --json",
    "stats --json",
    "show last --json",
    "digest last --json",
    "signals --json",
    "decisions --json",
    "days --json",
    "journal --json",
    "cat last",
    "evict --dry-run --json",
];

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, bytes) in truth::claude(1, 6).files {
        sandbox.write(&format!(".claude/{path}"), &String::from_utf8_lossy(&bytes));
    }
    for (path, bytes) in truth::grok(1, 3).files {
        sandbox.write(&format!(".grok/{path}"), &String::from_utf8_lossy(&bytes));
    }
    sandbox
}

/// Runs a command with the memory in a directory of this name, or at a URL beside it.
fn ask(sandbox: &Sandbox, store: Option<&str>, line: &str) -> String {
    let mut command: Command = sandbox.command(line);
    command.env("BOSWELL_HOME", sandbox.path("memory"));
    if let Some(url) = store {
        command
            .env("BOSWELL_HOME", sandbox.path("beside"))
            .env("BOSWELL_STORE", url);
    }
    let output = command.output().unwrap();
    let told = format!(
        "{}\n{:?}\n{}",
        String::from_utf8_lossy(&output.stdout),
        output.status.code(),
        String::from_utf8_lossy(&output.stderr)
    );
    // How long a search took is the one thing that may differ.
    match told.split_once("\"took_ms\":") {
        Some((before, after)) => before.to_owned() + after.trim_start_matches(|digit: char| digit.is_ascii_digit()),
        None => told,
    }
}

#[test]
fn a_memory_on_a_server_answers_as_one_in_a_directory() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    for store in [None, Some(url.as_str())] {
        let told = ask(&sandbox, store, "sweep");
        assert!(told.contains("Some(0)"), "{told}");
        ask(&sandbox, store, "tag last mine");
        ask(&sandbox, store, "decide --session last we-keep-it");
    }
    for question in QUESTIONS {
        let question = format!("{question} --no-sweep");
        let (here, there) = (ask(&sandbox, None, &question), ask(&sandbox, Some(&url), &question));
        assert_eq!(here, there, "{question}");
        assert!(!here.starts_with('\n'), "{question} says nothing: {here}");
    }
    for (store, name) in [(None, "here"), (Some(url.as_str()), "there")] {
        ask(&sandbox, store, &format!("export --to jsonl -o {name} --no-sweep"));
    }
    let table = |directory: &str, name: &str| fs::read_to_string(sandbox.home.join(directory).join(name)).unwrap();
    for name in [
        "sessions.jsonl",
        "turns.jsonl",
        "events.jsonl",
        "calls.jsonl",
        "digests.jsonl",
    ] {
        assert_eq!(table("here", name), table("there", name), "{name}");
        assert!(!table("here", name).is_empty(), "{name}");
    }
}

#[test]
fn no_password_is_ever_told() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_STORE", "postgres://ada:open-sesame@127.0.0.1:1/memory");
    sandbox.write_user_config("[store]\nurl = \"postgres://ada:other-sesame@127.0.0.1:1/memory\"\n");
    for line in [
        "status",
        "sessions --json",
        "config show",
        "config show --json",
        "doctor",
        "hub status",
        "hub push",
        "hub move postgres://ada:third-sesame@127.0.0.1:1/memory",
        "sweep --json",
    ] {
        let told = sandbox.run(line);
        assert!(!told.contains("sesame"), "{line}: {told}");
    }
    assert!(sandbox.run("sessions --json").contains("store-away"));
}

#[test]
fn a_memory_is_moved_and_moved_back_and_delivered() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    ask(&sandbox, None, "sweep");
    let json = |told: &str| serde_json::from_str::<Value>(told.lines().next().unwrap()).unwrap();
    let moved = json(&ask(&sandbox, None, &format!("hub move {url} --json")));
    assert_eq!(moved["unchanged"], 0, "{moved}");
    assert!(moved["sessions"].as_u64().unwrap() > 5, "{moved}");
    let again = json(&ask(&sandbox, None, &format!("hub move {url} --json")));
    assert_eq!(
        (&again["sessions"], &again["unchanged"]),
        (&0.into(), &moved["sessions"])
    );
    let other = server.database();
    sandbox.write_user_config(&format!("[hub]\nurl = \"{other}\"\n"));
    let pushed = json(&ask(&sandbox, None, "hub push --json"));
    assert_eq!(pushed["sessions"], moved["sessions"]);
    let status = json(&ask(&sandbox, None, "hub status --json"));
    assert_eq!(status["places"][1]["with_raw_text"], 0, "{status}");
    let away = json(&ask(
        &{
            sandbox.write_user_config("[hub]\nurl = \"postgres://ada@127.0.0.1:1/memory\"\n");
            sandbox
        },
        None,
        "hub push --json",
    ));
    assert_eq!(away["is_away"], true);
}
