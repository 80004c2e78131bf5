//! `boswell schedule` and the sweeps it starts, with the real schedulers if the machine has them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const NOW: &str = "2026-04-08T09:23:00Z";

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.set("BOSWELL_NOW", NOW);
    for (name, place) in [
        ("CLAUDE_CONFIG_DIR", ".claude"),
        ("CODEX_HOME", ".codex"),
        ("GROK_HOME", ".grok"),
        ("BOSWELL_HOME", "memory"),
        ("XDG_CONFIG_HOME", ".config"),
    ] {
        let place = sandbox.path(place);
        sandbox.set(name, &place);
    }
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

fn json(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

/// Uses busybox's `crontab` with tables in the sandbox. Returns `None` if busybox is missing or may not do that.
fn with_crontab(sandbox: &mut Sandbox) -> Option<PathBuf> {
    let tables = PathBuf::from(sandbox.path("tables"));
    let programs = PathBuf::from(sandbox.path("programs"));
    fs::create_dir_all(&tables).unwrap();
    fs::create_dir_all(&programs).unwrap();
    let script = format!("#!/bin/sh\nexec busybox crontab -c '{}' \"$@\"\n", tables.display());
    let program = programs.join("crontab");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    sandbox.set("PATH", &path);
    let mut probe = Command::new(&program);
    let told = probe.arg("-l").stdin(Stdio::null()).output().ok()?;
    let is_there = !String::from_utf8_lossy(&told.stderr).contains("not found")
        && !String::from_utf8_lossy(&told.stderr).contains("must be");
    is_there.then_some(tables)
}

/// Returns the path and the text of the only table in a directory.
fn table(tables: &Path) -> (PathBuf, String) {
    let user = fs::read_dir(tables).unwrap().flatten().map(|entry| entry.path());
    let user = user.filter(|path| !path.ends_with("cron.update")).collect::<Vec<_>>();
    let path = user.first().cloned().unwrap_or_default();
    (path.clone(), fs::read_to_string(path).unwrap_or_default())
}

#[test]
fn a_sweep_runs_when_it_is_due_and_the_cadence_says_when() {
    let mut sandbox = sandbox();
    assert_eq!(json(&sandbox.run("schedule status --json"))["is_due"], true);
    assert_eq!(sandbox.run("sweep --scheduled --quiet"), "");
    let told = json(&sandbox.run("schedule status --json"));
    assert_eq!(
        (&told["is_due"], &told["last_sweep"]),
        (&false.into(), &NOW.into()),
        "{told}"
    );
    let kept = |sandbox: &Sandbox| {
        let told = json(&sandbox.run("sessions --json --no-sweep"));
        told["sessions"].as_array().unwrap().len()
    };
    assert_eq!(kept(&sandbox), 1);

    let second = ClaudeLog::new("5e550000-0000-4000-8000-000000000002")
        .prompt("and again")
        .jsonl();
    sandbox.write(
        ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000002.jsonl",
        &second,
    );
    sandbox.run("sweep --scheduled --quiet");
    assert_eq!(kept(&sandbox), 1, "it is not due yet");
    sandbox.set("BOSWELL_NOW", "2026-04-09T09:20:00Z");
    sandbox.run("sweep --scheduled --quiet");
    assert_eq!(kept(&sandbox), 2);

    sandbox.write_user_config("[session_memory.retention]\ncadence = \"on-hook\"\n");
    sandbox.set("BOSWELL_NOW", "2027-04-09T09:20:00Z");
    assert_eq!(json(&sandbox.run("schedule status --json"))["is_due"], false);
    let log = fs::read_to_string(sandbox.path("memory/schedule.log")).unwrap();
    assert_snapshot!(log, @"
    2026-04-08T09:23:00Z 1 file read, 1 session new, 0 updated
    2026-04-09T09:20:00Z 1 file read, 1 session new, 0 updated
    ");
}

#[test]
fn the_cadence_is_written_into_the_configuration_and_nothing_else_in_it_changes() {
    let mut sandbox = sandbox();
    if with_crontab(&mut sandbox).is_none() {
        eprintln!("no busybox: not tested");
        return;
    }
    let config = "# mine\n[session_memory.retention]\nraw_max_age_days = 9 # short\n";
    sandbox.write_user_config(config);
    let told = sandbox.run("schedule install --with cron --cadence weekly");
    assert!(told.contains("Scheduled by cron: sweeps weekly"), "{told}");
    let after = fs::read_to_string(sandbox.user_config()).unwrap();
    assert_eq!(after, format!("{config}cadence = \"weekly\"\n"));
}

#[test]
fn a_crontab_gets_one_line_and_loses_it_again() {
    let mut sandbox = sandbox();
    let Some(tables) = with_crontab(&mut sandbox) else {
        eprintln!("no busybox: not tested");
        return;
    };
    assert!(sandbox.run("schedule status").starts_with("not scheduled"));
    sandbox.run("schedule install --with cron");
    sandbox.run("schedule install --with cron");
    let (_, text) = table(&tables);
    assert_eq!(text.matches("# boswell-sweep").count(), 1, "{text}");
    assert!(
        text.contains(&format!("BOSWELL_HOME='{}'", sandbox.path("memory"))),
        "{text}"
    );
    let told = json(&sandbox.run("schedule status --json"));
    assert_eq!(told["entries"][0]["scheduler"], "cron", "{told}");
    assert_eq!(told["entries"][0]["is_current"], true, "{told}");
    sandbox.set("GROK_HOME", "/elsewhere");
    let told = json(&sandbox.run("schedule status --json"));
    assert_eq!(
        told["entries"][0]["is_current"], false,
        "it knows another place: {told}"
    );
    assert!(
        sandbox
            .run("schedule uninstall")
            .contains("No longer scheduled by cron")
    );
    assert!(!table(&tables).1.contains("boswell"));
    assert!(sandbox.run("schedule uninstall").contains("Nothing was scheduled"));
}

#[test]
fn a_real_cron_runs_the_line() {
    let mut sandbox = sandbox();
    let Some(tables) = with_crontab(&mut sandbox) else {
        eprintln!("no busybox: not tested");
        return;
    };
    sandbox.run("schedule install --with cron");
    let (path, text) = table(&tables);
    // Runs at the next minute, so that the test need not wait for the hour.
    let soon = text.replace("23 * * * *", "* * * * *");
    assert_ne!(soon, text);
    fs::write(&path, soon).unwrap();
    let daemon = Command::new("busybox")
        .args(["crond", "-f", "-L", &sandbox.path("cron.log"), "-c"])
        .arg(&tables)
        .stdin(Stdio::null())
        .spawn();
    let _daemon = Ended(daemon.unwrap());
    let log = sandbox.path("memory/schedule.log");
    let until = Instant::now() + Duration::from_secs(150);
    while Instant::now() < until && !Path::new(&log).exists() {
        std::thread::park_timeout(Duration::from_millis(200));
    }
    let told = fs::read_to_string(&log);
    assert!(
        told.as_ref().is_ok_and(|told| told.contains("1 session new")),
        "{told:?}"
    );
}

/// A process that is killed on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn units_and_launch_agents_are_what_their_readers_expect() {
    let sandbox = sandbox();
    for (scheduler, checker) in [("systemd", "systemd-analyze"), ("launchd", "plistutil")] {
        let told = json(&sandbox.run(&format!("schedule install --with {scheduler} --dry-run --json")));
        let files = told["files"].as_array().unwrap();
        let mut paths = Vec::new();
        for file in files {
            let name = Path::new(file["path"].as_str().unwrap())
                .file_name()
                .unwrap()
                .to_owned();
            let path = PathBuf::from(sandbox.path(name.to_str().unwrap()));
            fs::write(&path, file["text"].as_str().unwrap()).unwrap();
            paths.push(path);
        }
        let mut command = Command::new(checker);
        match checker {
            "systemd-analyze" => command
                .env("XDG_RUNTIME_DIR", &sandbox.home)
                .args(["verify", "--user"])
                .args(&paths),
            _ => command.arg("-i").args(&paths),
        };
        match command.output() {
            Err(_) => eprintln!("no {checker}: not tested"),
            Ok(checked) => {
                let told = String::from_utf8_lossy(&checked.stderr).into_owned();
                let about_ours: Vec<&str> = told.lines().filter(|line| line.contains("boswell")).collect();
                assert!(checked.status.success() && about_ours.is_empty(), "{scheduler}: {told}");
            }
        }
    }
    let told = sandbox.run("schedule install --with launchd --dry-run");
    assert!(told.contains("Library/LaunchAgents/io.boswell.sweep.plist"), "{told}");
}
