//! `boswell restore` and `boswell resume`: kept sessions return to their original place.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const PROJECT: &str = ".claude/projects/-home-ada-app";

/// Returns a swept home: a session with a subagent, its companion and a spilled result.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let app = sandbox.path("code/app");
    fs::create_dir_all(&app).unwrap();
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>());
    let log = ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .cwd(&app)
        .prompt(&format!("push with {secret}"))
        .reply("Done.");
    let agent = ClaudeLog::subagent(SESSION, "a1")
        .at("2026-03-31T09:10:00Z")
        .cwd(&app)
        .prompt("look")
        .reply("Seen.");
    sandbox.write(&format!("{PROJECT}/{SESSION}.jsonl"), &log.jsonl());
    sandbox.write(&format!("{PROJECT}/{SESSION}/subagents/agent-a1.jsonl"), &agent.jsonl());
    sandbox.write(
        &format!("{PROJECT}/{SESSION}/subagents/agent-a1.meta.json"),
        "{\"agentType\":\"Explore\"}",
    );
    sandbox.write(&format!("{PROJECT}/{SESSION}/tool-results/b2.txt"), "all of it\n");
    sandbox.run("sweep");
    sandbox
}

/// Returns every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn json_of(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

#[test]
fn a_session_is_given_back_with_all_its_parts_equal_to_cat() {
    let sandbox = sandbox();
    fs::remove_dir_all(sandbox.home.join(".claude")).unwrap();
    assert_snapshot!(sandbox.run("restore last -o out --dry-run"), @"
       1.2 KiB  would restore  [HOME]/out/5e550000-0000-4000-8000-000000000001/subagents/agent-a1.jsonl
          23 B  would restore  [HOME]/out/5e550000-0000-4000-8000-000000000001/subagents/agent-a1.meta.json
          10 B  would restore  [HOME]/out/5e550000-0000-4000-8000-000000000001/tool-results/b2.txt
       1.2 KiB  would restore  [HOME]/out/5e550000-0000-4000-8000-000000000001.jsonl
    --- stderr ---
    These files differ from what the agent wrote: they hold 1 masked secret
    ");
    assert_eq!(files(&sandbox.home.join("out")), Vec::<PathBuf>::new());
    assert_snapshot!(sandbox.run("restore last -o out"), @"
       1.2 KiB  restored       [HOME]/out/5e550000-0000-4000-8000-000000000001/subagents/agent-a1.jsonl
          23 B  restored       [HOME]/out/5e550000-0000-4000-8000-000000000001/subagents/agent-a1.meta.json
          10 B  restored       [HOME]/out/5e550000-0000-4000-8000-000000000001/tool-results/b2.txt
       1.2 KiB  restored       [HOME]/out/5e550000-0000-4000-8000-000000000001.jsonl
    --- stderr ---
    These files differ from what the agent wrote: they hold 1 masked secret
    ");
    let told = json_of(&sandbox.run("restore last -o other --json"));
    for file in told["files"].as_array().unwrap() {
        let (uid, part) = (file["session_uid"].as_str().unwrap(), file["part"].as_str().unwrap());
        let path = file["path"].as_str().unwrap().strip_prefix("[HOME]/").unwrap();
        let restored = fs::read_to_string(sandbox.home.join(path)).unwrap();
        assert_eq!(
            sandbox.hide_home(&restored),
            sandbox.run(&format!("cat {uid} --part {part}")),
            "{file}"
        );
    }
    assert_eq!(told["written"], 4);
}

#[cfg(unix)]
#[test]
fn restored_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    sandbox.run("restore last -o out");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in files(&sandbox.home.join("out")) {
        assert_eq!(
            (mode(&file), mode(file.parent().unwrap())),
            (0o600, 0o700),
            "{}",
            file.display()
        );
    }
}

#[test]
fn what_is_there_is_never_overwritten() {
    let sandbox = sandbox();
    let log = sandbox.home.join(format!("{PROJECT}/{SESSION}.jsonl"));
    fs::write(&log, "another one\n").unwrap();
    fs::remove_file(sandbox.home.join(format!("{PROJECT}/{SESSION}/tool-results/b2.txt"))).unwrap();
    assert_snapshot!(sandbox.run("restore last --in-place"), @"
       10 B  restored       [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/tool-results/b2.txt
    1.2 KiB  already there  [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/subagents/agent-a1.jsonl
       23 B  already there  [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001/subagents/agent-a1.meta.json
    1.2 KiB  already there  [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl
    ");
    assert_eq!(fs::read_to_string(&log).unwrap(), "another one\n");
    let spilled = sandbox.home.join(format!("{PROJECT}/{SESSION}/tool-results/b2.txt"));
    assert_eq!(fs::read_to_string(spilled).unwrap(), "all of it\n");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_target_is_not_followed() {
    let sandbox = sandbox();
    fs::remove_dir_all(sandbox.home.join(".claude")).unwrap();
    fs::create_dir_all(sandbox.home.join("elsewhere")).unwrap();
    fs::create_dir_all(sandbox.home.join("out")).unwrap();
    std::os::unix::fs::symlink(
        sandbox.home.join("elsewhere"),
        sandbox.home.join(format!("out/{SESSION}")),
    )
    .unwrap();
    let told = sandbox.run("restore last -o out");
    assert!(told.contains("--- exit 2 ---"), "{told}");
    assert_eq!(files(&sandbox.home.join("elsewhere")), Vec::<PathBuf>::new());
}

#[test]
fn a_restored_session_is_no_new_work() {
    let sandbox = sandbox();
    let before = sandbox.run("sessions --all");
    fs::remove_dir_all(sandbox.home.join(".claude")).unwrap();
    sandbox.run("sweep");
    sandbox.run("restore last --in-place");
    sandbox.run("sweep");
    let turns = |told: &str| {
        told.lines()
            .map(|line| line.split_whitespace().nth(5).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(turns(&sandbox.run("sessions --all")), turns(&before));
}

#[test]
fn resume_says_how_or_why_not() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("resume last --print"), @"cd [HOME]/code/app && claude --resume 5e550000-0000-4000-8000-000000000001");
    assert_snapshot!(sandbox.run("resume last"), @"
    --- stderr ---
    error: the agent's program is not on this machine: `claude`
    Hint: install it, or put its directory into `PATH`
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run(&format!("resume claude:{SESSION}/a1")), @"
    --- stderr ---
    error: a subagent goes on with its session only: `claude:5e550000-0000-4000-8000-000000000001/a1`
    Hint: `boswell resume claude:5e550000-0000-4000-8000-000000000001`
    --- exit 2 ---
    ");
    fs::remove_dir_all(sandbox.home.join("code")).unwrap();
    assert_snapshot!(sandbox.run("resume last"), @"
    --- stderr ---
    error: the directory of this session is no longer there: `[HOME]/code/app`
    Hint: create it again, or run `boswell resume SESSION --print` for the command to run elsewhere
    --- exit 2 ---
    ");
}

#[cfg(unix)]
#[test]
fn resume_restores_a_log_that_is_gone_and_starts_the_agent_in_its_directory() {
    use std::os::unix::fs::PermissionsExt;
    let mut sandbox = sandbox();
    fs::remove_dir_all(sandbox.home.join(".claude")).unwrap();
    sandbox.write("bin/claude", "#!/bin/sh\necho \"$# $1 $2\"\npwd\n");
    fs::set_permissions(sandbox.home.join("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin"));
    sandbox.set("PATH", &path);
    let told = json_of(&sandbox.run("resume last --json"));
    assert_eq!(
        (&told["log_is_gone"], &told["command"]),
        (&true.into(), &json!(["claude", "--resume", SESSION]))
    );
    assert!(
        files(&sandbox.home.join(".claude")).is_empty(),
        "printing writes nothing"
    );
    assert_snapshot!(sandbox.run("resume last"), @"
    2 --resume 5e550000-0000-4000-8000-000000000001
    [HOME]/code/app
    --- stderr ---
    Restored: 4 files
    These files differ from what the agent wrote: they hold 1 masked secret
    Going on: cd [HOME]/code/app && claude --resume 5e550000-0000-4000-8000-000000000001
    ");
    assert_eq!(files(&sandbox.home.join(".claude")).len(), 4);
}
