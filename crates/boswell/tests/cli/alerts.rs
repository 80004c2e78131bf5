//! Alerts of background runs: lost text and distilled memory above its cap, in `status`, in `doctor`,
//! once on the next terminal, and in the log of background runs.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::finder::Terminal;
use crate::sandbox::Sandbox;

const ID: &str = "5e550001-0000-4000-8000-000000000000";

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = ClaudeLog::new(ID)
        .at("2026-03-31T09:00:00Z")
        .prompt("do it")
        .reply("Done.");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{ID}.jsonl"), &log.jsonl());
    sandbox
}

fn json(sandbox: &Sandbox, line: &str) -> Value {
    let output = sandbox.command(line).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn store(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    sandbox.home.join(".local/share/boswell").join(name)
}

fn assert_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn distilled_memory_above_its_cap_is_reported_everywhere_and_never_dropped() {
    let sandbox = sandbox();
    sandbox.write_user_config("[session_memory.retention]\ndistilled_cap_bytes = 1\n");
    assert_eq!(sandbox.run("sweep --scheduled --quiet"), "");
    for verb in ["status", "doctor"] {
        let told = sandbox.run(verb);
        assert!(told.contains("warning: distilled memory is above its cap"), "{told}");
        let alerts = &json(&sandbox, &format!("{verb} --json"))["alerts"];
        assert_eq!(alerts[0]["kind"], "distilled_over_cap", "{alerts}");
    }
    assert!(json(&sandbox, "status --json")["store"]["tier2_bytes"].as_u64() > Some(1));
    sandbox.write_user_config("");
    assert_eq!(json(&sandbox, "status --json")["alerts"], Value::Array(Vec::new()));
}

#[test]
fn the_next_command_on_a_terminal_warns_once() {
    let sandbox = sandbox();
    sandbox.write_user_config("[session_memory.retention]\ndistilled_cap_bytes = 1\n");
    sandbox.run("sweep --scheduled --quiet");
    // This sweep sees the same event, which no terminal has shown yet.
    sandbox.run("sweep --quiet");
    assert_private(&store(&sandbox, "alerts.json"));
    let Some(terminal) = Terminal::open(sandbox) else {
        return;
    };
    let run = |line: &str, end: &str| {
        terminal.write(&format!("clear; \"$BOSWELL\" {line}; echo {end}:$?"));
        terminal.press(&["Enter"]);
        terminal.wait_for(&format!("{end}:0"))
    };
    let first = run("sessions", "first");
    assert_eq!(
        first.matches("warning: distilled memory is above").count(),
        1,
        "{first}"
    );
    let second = run("sessions", "second");
    assert!(!second.contains("warning: distilled"), "{second}");
    // A state that lasts is not a new event.
    let third = run("sweep --scheduled; \"$BOSWELL\" sessions", "third");
    assert!(!third.contains("warning: distilled"), "{third}");
}

#[cfg(unix)]
#[test]
fn a_loss_of_a_background_sweep_is_in_the_log_in_status_and_in_doctor() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let log = ClaudeLog::new(ID)
        .at("2026-04-01T08:59:00Z")
        .prompt("do it")
        .reply("Done.");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{ID}.jsonl"), &log.jsonl());
    sandbox.run("sweep");
    crate::evict::damage(&sandbox);
    sandbox.write_user_config("[session_memory.retention]\nraw_soft_cap_bytes = 1\nraw_hard_cap_bytes = 2\n");
    let told = sandbox.run("sweep --scheduled --quiet");
    assert_eq!(told, "--- exit 3 ---\n");
    for verb in ["status", "doctor"] {
        let told = sandbox.run(verb);
        assert!(
            told.contains("warning: DATA LOSS on 2026-04-01 09:00:00: lost "),
            "{told}"
        );
        let alerts = &json(&sandbox, &format!("{verb} --json"))["alerts"];
        assert_eq!(
            (&alerts[0]["kind"], &alerts[0]["at"]),
            (&"data_loss".into(), &"2026-04-01T09:00:00Z".into())
        );
    }
    let unseen = fs::read_to_string(store(&sandbox, "alerts.json")).unwrap();
    assert!(unseen.contains("DATA LOSS"), "{unseen}");
    let log = fs::read_to_string(store(&sandbox, "background.log")).unwrap();
    assert!(
        log.starts_with("2026-04-01T09:00:00Z scheduled sweep\n") && log.contains("  warning: DATA LOSS: "),
        "{log}"
    );
    assert_private(&store(&sandbox, "background.log"));
    let path = store(&sandbox, "background.log").display().to_string();
    assert_eq!(json(&sandbox, "schedule status --json")["log"], path);
    assert_eq!(json(&sandbox, "status --json")["log"], path);
    assert!(sandbox.run("schedule status").contains("background.log"));
    assert!(sandbox.run("status").contains("background.log"));
}

#[test]
fn an_eviction_by_age_says_so() {
    let mut sandbox = sandbox();
    sandbox.run("sweep");
    sandbox.set("BOSWELL_NOW", "2026-06-01T09:00:00Z");
    let told = sandbox.run("sweep");
    assert!(told.contains(" of 1 session evicted (by age)"), "{told}");
    let journal = sandbox.run("journal --limit 1");
    assert!(journal.contains(" of raw text of 1 session (by age)"), "{journal}");
    let mut sandbox = crate::alerts::sandbox();
    sandbox.run("sweep");
    sandbox.set("BOSWELL_NOW", "2026-06-01T09:00:00Z");
    let told = json(&sandbox, "evict --json");
    assert_eq!(told["by_reason"]["age"], 1, "{told}");
}
