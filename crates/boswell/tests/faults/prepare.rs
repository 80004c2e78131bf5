//! A day is prepared even if a log cannot be read, because the disk fails or another user owns the log.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use testkit::faults::{Fault, FileEvent, Running};

use crate::home::{Home, LIMIT, claude_log, story};

const GOOD: &str = "5e550000-0000-4000-8000-00000000600d";
const BAD: &str = "5e550000-0000-4000-8000-000000000bad";

/// Returns a home with two sessions of one day.
fn home() -> Home {
    let home = Home::empty();
    for session in [GOOD, BAD] {
        home.write(&claude_log(session), story(session, 40).jsonl());
    }
    home
}

/// Returns the command that prepares the day of the sessions.
fn prepare(home: &Home) -> String {
    let log = fs::read_to_string(home.path.join(claude_log(GOOD))).unwrap();
    let at = log.find("\"timestamp\":\"").unwrap() + "\"timestamp\":\"".len();
    format!("prepare --json --date {}", &log[at..at + "2026-04-01".len()])
}

/// Checks that the answer names the bad log with the reason and contains the good one.
fn assert_is_whole(stdout: &str, reason: &str) {
    let answer: serde_json::Value = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert_eq!(answer["sessions"], 1, "{answer}");
    let skipped = answer["notes"]["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 1, "{answer}");
    assert!(
        skipped[0]["what"].as_str().unwrap().ends_with(&format!("{BAD}.jsonl")),
        "{answer}"
    );
    assert!(skipped[0]["reason"].as_str().unwrap().contains(reason), "{answer}");
    let index = fs::read_dir(format!("{}/projects", answer["workspace"].as_str().unwrap())).unwrap();
    let index = index.map(|project| fs::read_to_string(project.unwrap().path().join("sessions.index.jsonl")).unwrap());
    let index: String = index.collect();
    assert!(index.contains(GOOD) && !index.contains(BAD), "{index}");
}

#[test]
fn a_log_on_a_failing_disk_costs_itself() {
    let home = home();
    let fault = Fault::WhileRead {
        path: home.path.join(claude_log(BAD)),
        at: 1,
        event: FileEvent::Broken,
    };
    let (ended, calls) = home.run_with(&prepare(&home), &fault);
    assert!(calls.iter().any(|call| call.name == "happens"), "it was never read");
    assert!(ended.status.success(), "{ended:?}");
    assert_is_whole(&ended.stdout, "cannot be read: Input/output error");
}

#[test]
fn a_log_that_we_may_not_read_costs_itself() {
    let home = home();
    let line = prepare(&home);
    let bad = home.path.join(claude_log(BAD));
    fs::set_permissions(&bad, fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = home.command(&line);
    if fs::File::open(&bad).is_ok() {
        // Root may open any file, so the command runs as another user who owns the rest of the home.
        let given = Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(home.path.parent().unwrap())
            .status();
        let program = home.beside("boswell");
        fs::copy(env!("CARGO_BIN_EXE_boswell"), &program).unwrap();
        command = home.command_of("setpriv".as_ref(), "--reuid=65534 --regid=65534 --clear-groups");
        command.arg(&program).args(line.split_whitespace());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        if Command::new("setpriv").arg("--version").output().is_err() || !given.is_ok_and(|given| given.success()) {
            eprintln!("skipped: root cannot become somebody else here, so every log can be read");
            return;
        }
        fs::set_permissions(&bad, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let ended = Running::start(&mut command).end(LIMIT);
    assert!(ended.status.success(), "{ended:?}");
    assert_is_whole(&ended.stdout, "cannot be read: Permission denied");
}
