//! `boswell setup`: the guided first run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

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

fn count_sessions(sandbox: &Sandbox) -> usize {
    let printed: Value = serde_json::from_str(&sandbox.run("sessions --no-sweep --json")).unwrap();
    printed["sessions"].as_array().map_or(0, Vec::len)
}

/// A `crontab` that keeps its table in the home.
const CRONTAB: &str = r#"#!/bin/sh
case "$1" in
-l) /bin/cat "$HOME/table" 2>/dev/null || exit 0 ;;
*) /bin/cat >"$HOME/table" ;;
esac
"#;

/// Gives a home its own scheduler, regardless of the machine: a `crontab`, and a `systemctl` that fails.
pub fn add_scheduler(sandbox: &mut Sandbox) {
    for (name, script) in [("crontab", CRONTAB), ("systemctl", "#!/bin/sh\nexit 1\n")] {
        let program = sandbox.home.join("programs").join(name);
        sandbox.write(&format!("programs/{name}"), script);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", sandbox.path("programs"), std::env::var("PATH").unwrap());
    sandbox.set("PATH", &path);
}

/// Starts setup on a terminal in a home with a scheduler, and answers each question.
fn answer(mut sandbox: Sandbox, answers: &[(&str, &str)]) -> Option<(Terminal, String)> {
    add_scheduler(&mut sandbox);
    answer_to(sandbox, "\"$BOSWELL\" setup", answers)
}

fn answer_to(sandbox: Sandbox, command: &str, answers: &[(&str, &str)]) -> Option<(Terminal, String)> {
    let terminal = Terminal::open(sandbox)?;
    terminal.write(&format!("clear; {command}; echo ended $?"));
    terminal.press(&["Enter"]);
    for (question, answer) in answers {
        terminal.wait_for(question);
        terminal.write(answer);
        terminal.press(&["Enter"]);
    }
    let screen = terminal.wait_for("ended 0");
    Some((terminal, screen))
}

#[test]
fn without_a_terminal_setup_explains_how_to_continue_and_changes_nothing() {
    let sandbox = sandbox();
    let printed = sandbox.run("setup");
    for text in [
        "1 file to read",
        "up to 45 days after it was last read, and up to 4.0 GiB",
        "Claude Code deletes its own logs after 30 days",
        "`boswell setup --yes`",
    ] {
        assert!(printed.contains(text), "{text} in {printed}");
    }
    assert!(printed.ends_with("--- exit 2 ---\n"), "{printed}");
    assert!(!sandbox.home.join(".local").exists());
}

#[test]
fn setup_counts_sessions_and_subagents_as_status_does() {
    let mut sandbox = sandbox();
    let subagent = ClaudeLog::subagent("5e550000-0000-4000-8000-000000000001", "a0ada5e55")
        .at("2026-03-31T09:01:00Z")
        .prompt("look for the slow test")
        .reply("It is the third one.")
        .jsonl();
    sandbox.write(
        ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/subagents/agent-a0ada5e55.jsonl",
        &subagent,
    );
    let nothing = sandbox.path("nothing");
    sandbox.set("PATH", &nothing);
    let printed = sandbox.run("setup --yes");
    assert!(
        printed.contains("Read 2 files: 1 new session and 1 subagent, "),
        "{printed}"
    );
    let status = sandbox.run("status");
    assert!(status.contains("1 session and 1 subagent"), "{status}");
    let swept = sandbox.run("sweep");
    assert!(swept.contains("0 sessions new"), "{swept}");
}

#[test]
fn json_is_one_object_and_asks_nothing() {
    let mut sandbox = sandbox();
    let refused = sandbox.run("setup --json");
    assert!(refused.contains("needs `--yes`"), "{refused}");
    assert!(refused.ends_with("--- exit 2 ---\n"), "{refused}");
    assert!(!sandbox.home.join(".local").exists());
    let nothing = sandbox.path("nothing");
    sandbox.set("PATH", &nothing);
    let output = sandbox.command("setup --yes --json").output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(answer["schema"], "boswell.setup/1");
    assert_eq!(answer["sweep"]["sessions_new"], 1, "{answer}");
    // There is no scheduler in `PATH`, and the command line does not request hooks.
    assert_eq!(answer["schedule"]["is_installed"], false, "{answer}");
    assert!(
        answer["schedule"]["error"].is_string() && answer["hooks"].is_null(),
        "{answer}"
    );
}

#[test]
fn the_explanation_of_retention_has_the_numbers_of_the_configuration() {
    let sandbox = sandbox();
    sandbox.write_user_config(
        "[session_memory.retention]\nraw_max_age_days = 7\nraw_soft_cap_bytes = \"1GiB\"\nraw_hard_cap_bytes = \"2GiB\"\n",
    );
    sandbox.write(".claude/settings.json", "{\"cleanupPeriodDays\": 90}");
    let printed = sandbox.run("setup");
    assert!(
        printed.contains("up to 7 days after it was last read, and up to 1.0 GiB"),
        "{printed}"
    );
    assert!(printed.contains("its own logs after 90 days"), "{printed}");
}

#[test]
fn without_questions_it_reads_and_leaves_the_agents_settings_alone() {
    let mut sandbox = sandbox();
    // There is no scheduler in `PATH`.
    let nothing = sandbox.path("nothing");
    sandbox.set("PATH", &nothing);
    let printed = sandbox.run("setup --yes");
    assert!(printed.contains("Ready."), "{printed}");
    assert!(printed.contains("`boswell hooks install`"), "{printed}");
    assert_eq!(count_sessions(&sandbox), 1);
    assert!(!sandbox.home.join(".claude/settings.json").exists());
}

#[test]
fn the_last_week_is_shown_with_agent_prompt_outcome_and_cost() {
    let mut sandbox = sandbox();
    let nothing = sandbox.path("nothing");
    sandbox.set("PATH", &nothing);
    let printed = sandbox.run("setup --yes");
    assert!(printed.contains("The last week: 1 session, <$0.01"), "{printed}");
    let row = printed.lines().find(|line| line.contains("make the tests green"));
    let row = row.unwrap_or_else(|| panic!("{printed}"));
    for text in ["Tue 31 Mar", "claude", "unknown", "$"] {
        assert!(row.contains(text), "{text} in {row}");
    }
    sandbox.set("BOSWELL_NOW", "2026-05-01T09:00:00Z");
    let printed = sandbox.run("setup --yes");
    assert!(
        printed.contains("No sessions in the last week; the newest are"),
        "{printed}"
    );
    assert!(printed.contains("nothing new to read"), "{printed}");
}

#[test]
fn enter_three_times_gives_a_working_memory() {
    let sandbox = sandbox();
    let home = sandbox.home.clone();
    let questions = [
        ("Keep raw text for 45 days and up to 4.0 GiB? [Y/n]", ""),
        ("Read the logs now? [Y/n]", ""),
        ("Read new sessions on a schedule (daily)? [Y/n]", ""),
    ];
    let Some((_terminal, screen)) = answer(sandbox, &questions) else {
        return;
    };
    assert!(screen.contains("Ready. Type `boswell`"), "{screen}");
    assert!(screen.contains("make the tests green"), "{screen}");
    assert!(home.join(".local/share/boswell/store.db").exists());
    assert!(
        !home.join(".claude/settings.json").exists(),
        "hooks need a yes of their own"
    );
    let table = fs::read_to_string(home.join("table")).unwrap();
    assert!(table.contains("sweep --scheduled"), "{table}");
}

#[test]
fn without_a_scheduler_setup_does_not_ask_for_a_schedule() {
    let questions = [
        ("Keep raw text for 45 days and up to 4.0 GiB? [Y/n]", ""),
        ("Read the logs now? [Y/n]", ""),
    ];
    let Some((_terminal, screen)) = answer_to(sandbox(), "PATH=/nowhere \"$BOSWELL\" setup", &questions) else {
        return;
    };
    assert!(screen.contains("no scheduler found"), "{screen}");
    assert!(screen.contains("`boswell sweep --scheduled` once an hour"), "{screen}");
    assert!(!screen.contains("warning"), "{screen}");
    assert!(!screen.contains("on a schedule (daily)?"), "{screen}");
}

#[test]
fn other_limits_are_asked_for_until_they_are_valid_and_written_to_the_configuration() {
    let sandbox = sandbox();
    let config = sandbox.user_config();
    let home = sandbox.home.clone();
    let questions = [
        ("4.0 GiB? [Y/n]", "n"),
        ("how many days, or `never`? [45]", "soon"),
        ("expected a number of days from 1, or `never`", ""),
        ("may there be? [4.0GiB]", "much"),
        ("expected a size such as", "10GiB"),
        ("Read the logs now? [Y/n]", "n"),
        ("on a schedule (daily)? [Y/n]", "n"),
    ];
    let Some((_terminal, screen)) = answer(sandbox, &questions) else {
        return;
    };
    let written = std::fs::read_to_string(config).unwrap();
    assert!(written.contains("raw_max_age_days = 45"), "{written}");
    assert!(written.contains("raw_soft_cap_bytes = \"10GiB\""), "{written}");
    assert!(written.contains("raw_hard_cap_bytes = "), "{written}");
    assert!(screen.contains("`boswell sweep` reads them later"), "{screen}");
    assert!(!home.join(".local/share/boswell/store.db").exists());
}
