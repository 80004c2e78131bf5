//! `boswell setup`: the first run as a conversation.

use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::finder::Terminal;
use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let log = ClaudeLog::new("5e550000-0000-4000-8000-000000000001")
        .at("2026-03-31T09:00:00Z")
        .prompt("make the tests green")
        .reply("Done.")
        .jsonl();
    sandbox.write(
        ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl",
        &log,
    );
    sandbox
}

fn kept(sandbox: &Sandbox) -> usize {
    let told: Value = serde_json::from_str(&sandbox.run("sessions --no-sweep --json")).unwrap();
    told["sessions"].as_array().map_or(0, Vec::len)
}

#[test]
fn where_nobody_answers_it_says_how_to_go_on_and_changes_nothing() {
    let sandbox = sandbox();
    let told = sandbox.run("setup");
    assert!(told.contains("1 file to read"), "{told}");
    assert!(told.contains("`boswell setup --yes`"), "{told}");
    assert!(told.ends_with("--- exit 2 ---\n"), "{told}");
    assert!(!sandbox.home.join(".local").exists());
}

#[test]
fn without_questions_it_reads_and_leaves_the_agents_settings_alone() {
    let mut sandbox = sandbox();
    // No scheduler of this machine is found.
    let nothing = sandbox.path("nothing");
    sandbox.set("PATH", &nothing);
    let told = sandbox.run("setup --yes");
    assert!(told.contains("Ready:"), "{told}");
    assert!(told.contains("`boswell hooks install` does it later"), "{told}");
    assert_eq!(kept(&sandbox), 1);
    assert!(!sandbox.home.join(".claude/settings.json").exists());
}

#[test]
fn on_a_terminal_each_answer_is_asked_for() {
    let sandbox = sandbox();
    let home = sandbox.home.clone();
    let Some(terminal) = Terminal::open(sandbox) else {
        return;
    };
    terminal.write("clear; \"$BOSWELL\" setup; echo ended $?");
    terminal.press(&["Enter"]);
    for (question, answer) in [
        ("Read them now? [y/N]", "y"),
        ("Sweep by schedule", "n"),
        ("Let the agents tell", "y"),
    ] {
        terminal.wait_for(question);
        terminal.write(answer);
        terminal.press(&["Enter"]);
    }
    let screen = terminal.wait_for("ended 0");
    assert!(screen.contains("Ready:"), "{screen}");
    assert!(home.join(".local/share/boswell/store.db").exists());
    let settings = std::fs::read_to_string(home.join(".claude/settings.json")).unwrap();
    assert!(settings.contains("hook claude"), "{settings}");
}
