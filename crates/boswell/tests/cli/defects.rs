//! Defects that users found, each with the run that showed it.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const STORE: &str = ".local/share/boswell";

fn log_path() -> String {
    format!(".claude/projects/-home-ada-app/{SESSION}.jsonl")
}

fn session() -> String {
    ClaudeLog::new(SESSION)
        .at("2026-03-31T09:00:00Z")
        .prompt("make the tests green")
        .reply("Done.")
        .jsonl()
}

fn sandbox_with(log: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&log_path(), log);
    sandbox
}

#[test]
fn a_damaged_database_is_named_with_a_way_out() {
    let sandbox = sandbox_with(&session());
    sandbox.run("sweep");
    let database = sandbox.home.join(STORE).join("store.db");
    let mut bytes = fs::read(&database).unwrap();
    bytes[..100].fill(b'x');
    fs::write(&database, &bytes).unwrap();
    assert_snapshot!(sandbox.run("cat 5e55"), @"
    --- stderr ---
    error: `[HOME]/.local/share/boswell/store.db`: the file is damaged; database error: file is not a database
    Hint: the packs and the agents' own logs are not touched by this; `boswell doctor --deep` says more, and `boswell doctor --repair` makes a new database of what can be read, of the packs and of the logs
    --- exit 2 ---
    ");
    let head = |command: &str| {
        sandbox
            .run(command)
            .lines()
            .find(|line| line.contains("store.db"))
            .map(str::to_owned)
    };
    for command in ["sweep", "rebuild", "status", "journal"] {
        assert!(
            head(command).is_some_and(|line| line.starts_with("error: ")),
            "{}",
            sandbox.run(command)
        );
    }
    let told = sandbox.run("doctor --deep");
    let told: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("Memory")).collect();
    assert_snapshot!(told.join("\n"), @"
    Memory  damaged
      store     [HOME]/.local/share/boswell
      database  file is not a database
    --- stderr ---
    warning: the memory is damaged; the agents' own logs are not touched by this
    Hint: `boswell doctor --repair` makes a new database of what can be read, of the packs and of the logs
    --- exit 2 ---
    ");
}

#[test]
fn a_deep_look_finds_a_damaged_pack_and_a_whole_memory_whole() {
    let mut sandbox = sandbox_with(&session());
    // An hour after anything this test writes, so the log is quiet and its lines are in a pack.
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    sandbox.set("BOSWELL_NOW", &later.to_string());
    sandbox.run("sweep");
    let memory = |told: String| -> String {
        let lines: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("Memory")).collect();
        lines.join("\n")
    };
    assert_snapshot!(memory(sandbox.run("doctor --deep")), @"
    Memory  whole
      store     [HOME]/.local/share/boswell
      checked   1 session, 1.2 KiB of lines
    ");
    let whole: Value = serde_json::from_str(&sandbox.run("doctor --deep --json")).unwrap();
    assert_eq!(whole["store"]["damages"], serde_json::json!([]), "{whole}");
    let packs = sandbox.home.join(STORE).join("packs");
    let pack = walk(&packs).into_iter().next().unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0xff;
    fs::write(&pack, &bytes).unwrap();
    assert_snapshot!(memory(sandbox.run("doctor --deep")), @"
    Memory  damaged
      store     [HOME]/.local/share/boswell
      checked   1 session, 0 B of lines
      damage    frame 0 of part `log` of claude:5e550000-0000-4000-8000-000000000001 is damaged: its checksum does not match
    --- stderr ---
    warning: the memory is damaged; the agents' own logs are not touched by this
    Hint: all other frames are whole; `boswell doctor --repair` reads again what the agent still has
    --- exit 2 ---
    ");
    let told = sandbox.run("doctor --deep --json");
    let damaged: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!(damaged["store"]["damages"].as_array().unwrap().len(), 1, "{damaged}");
    assert_eq!(told.lines().filter(|line| line.starts_with('{')).count(), 1, "{told}");

    let mended = sandbox.run("doctor --repair");
    assert!(mended.contains("Repaired: 1 session read again"), "{mended}");
    assert!(
        mended.contains("Memory  whole") && !mended.contains("exit 2"),
        "{mended}"
    );
    assert_eq!(sandbox.run("cat 5e55"), session());

    let pack = walk(&packs).into_iter().next().unwrap();
    fs::write(&pack, "not what was written").unwrap();
    fs::remove_file(sandbox.home.join(log_path())).unwrap();
    let told = sandbox.run("doctor --repair");
    assert!(
        told.contains("is gone: its damaged lines are lost") && told.contains("--- exit 2 ---"),
        "{told}"
    );
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let paths = entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] });
    paths.collect()
}

/// Runs the binary as a user who can read this home but cannot write to it.
#[cfg(unix)]
fn as_reader(sandbox: &Sandbox, line: &str) -> String {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let mut command = sandbox.command(line);
    // Root may do everything, so another user has to try.
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(65534).gid(65534);
    }
    sandbox.told(&command.output().unwrap())
}

/// Sets the modes of all directories and files below a directory.
#[cfg(unix)]
fn set_modes(directory: &std::path::Path, directories: u32, files: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_modes(&path, directories, files);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(files)).unwrap();
        }
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(directories)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_memory_in_a_directory_that_cannot_be_written_can_still_be_read() {
    let sandbox = sandbox_with(&session());
    // A writer removes the files beside the database when it exits, a reader leaves them.
    for before in ["sweep", "cat 5e55"] {
        sandbox.run(before);
        set_modes(&sandbox.home, 0o555, 0o444);
        let told = as_reader(&sandbox, "cat 5e55 -q");
        // Restores the modes, so that the home can be removed.
        set_modes(&sandbox.home, 0o755, 0o644);
        assert!(told.starts_with(&session()), "{before}: {told}");
        assert!(!told.contains("exit"), "{before}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn a_memory_that_cannot_be_written_is_read_as_its_writer_left_it_a_moment_ago() {
    let sandbox = sandbox_with(&session());
    sandbox.run("sweep");
    // A writer is still open, so its last write is not yet in the database file.
    let mut store = memory::store::Store::open(sandbox.home.join(STORE)).unwrap();
    let lock = store.lock(memory::store::LockWait::GiveUp).unwrap();
    let now = jiff::Timestamp::now();
    let write = store.write(&lock, now, "test", |_| Ok(((), "wrote a moment ago".to_owned())));
    write.unwrap();
    set_modes(&sandbox.home, 0o555, 0o444);
    let told = as_reader(&sandbox, "journal --limit 1 -q");
    set_modes(&sandbox.home, 0o755, 0o644);
    assert!(told.contains("wrote a moment ago"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_memory_that_others_can_look_into_is_told() {
    let sandbox = sandbox_with(&session());
    sandbox.run("sweep");
    assert!(!sandbox.run("journal").contains("warning"));
    set_modes(&sandbox.home.join(STORE), 0o755, 0o600);
    assert_snapshot!(sandbox.run("journal -q").lines().skip(1).collect::<Vec<_>>().join("\n"), @"
    --- stderr ---
    warning: others can look into the memory, its mode is 755: `[HOME]/.local/share/boswell`
    ");
    assert!(sandbox.run("sweep").contains("others can look into the memory"));
}

#[test]
fn the_doctor_masks_names_from_logs_and_paths() {
    // Assembled here so that no scanner reports this test as a leak.
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4).chars().take(36).collect::<String>());
    let sandbox = sandbox_with(&session());
    let log = format!("{{\"type\":\"{secret}\",\"version\":\"{secret}\"}}\n{{\"torn\n");
    sandbox.write(&format!(".claude/projects/-home-{secret}/x.jsonl"), &log);
    for told in [sandbox.run("doctor"), sandbox.run("doctor --json")] {
        assert!(told.contains("[REDACTED:") && !told.contains(&secret), "{told}");
    }
}

#[test]
fn several_logs_of_one_session_are_told() {
    let sandbox = sandbox_with(&session());
    sandbox.write(&format!(".claude/projects/-home-ada-copy/{SESSION}.jsonl"), &session());
    let told = sandbox.run("doctor");
    let told: Vec<&str> = told
        .lines()
        .skip_while(|line| !line.contains("copies"))
        .take(3)
        .collect();
    assert_snapshot!(told.join("\n"), @"
    copies    claude:5e550000-0000-4000-8000-000000000001 is in 2 logs, the longest is kept
              [HOME]/.claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl
              [HOME]/.claude/projects/-home-ada-copy/5e550000-0000-4000-8000-000000000001.jsonl
    ");
    let told: Value = serde_json::from_str(&sandbox.run("doctor --json")).unwrap();
    assert_eq!(
        told["agents"][0]["copies"][0]["paths"].as_array().unwrap().len(),
        2,
        "{told}"
    );
}

#[test]
fn a_transcript_mentions_records_nobody_knows() {
    let sandbox = sandbox_with(&(session() + "{\"type\":\"tomorrow\"}\n{\"type\":\"tomorrow\"}\n"));
    let told = sandbox.run(&format!("read {}", log_path()));
    assert!(
        told.contains("warning: 2 records of unknown type: tomorrow ×2\n"),
        "{told}"
    );
    assert!(
        !sandbox_with(&session())
            .run(&format!("read {}", log_path()))
            .contains("warning")
    );
}

#[test]
fn a_log_read_as_another_agents_is_told() {
    let sandbox = sandbox_with(&session());
    let told = sandbox.run(&format!("read {} --agent codex", log_path()));
    assert!(
        told.contains("was recognised as Codex CLI's; it looks like Claude Code's: leave `--agent` out"),
        "{told}"
    );
    assert!(
        !sandbox
            .run(&format!("read {} --agent claude", log_path()))
            .contains("Hint")
    );
}

#[test]
fn a_quiet_sweep_says_nothing() {
    let sandbox = sandbox_with(&session());
    assert_eq!(sandbox.run("sweep -q"), "");
    assert_eq!(sandbox.run("cat 5e55"), session());
}

#[test]
fn a_sweep_that_finds_no_log_says_where_it_looked() {
    assert_snapshot!(Sandbox::new().run("sweep"), @"
    0 files of 0 read, 0 unchanged
      0 B of logs
      0 sessions new, 0 updated, 0 events
      0 secrets masked, 0 faults
      0 B kept
    --- stderr ---
    Hint: no logs were found; looked in `[HOME]/.claude`, `[HOME]/.codex`, `[HOME]/.grok`
    Hint: `--root DIR=LABEL` names another place, and `boswell demo` shows what a sweep does
    ");
}

#[test]
fn a_sweep_has_three_names() {
    let sandbox = sandbox_with(&session());
    let read = |name: &str| {
        serde_json::from_str::<Value>(&sandbox.run(&format!("{name} --json"))).unwrap()["files_seen"].clone()
    };
    assert_eq!((read("sync"), read("ingest")), (1.into(), 1.into()));
    assert!(sandbox.run("sweep --help").is_ascii() && sandbox.run("help").contains("sweep"));
}

#[cfg(unix)]
#[test]
fn a_companion_that_is_no_file_or_too_large_is_told() {
    let sandbox = sandbox_with(&session());
    let subagents = format!(".claude/projects/-home-ada-app/{SESSION}/subagents");
    for name in ["agent-a1", "agent-a2"] {
        let log = format!(
            "{{\"type\":\"user\",\"sessionId\":\"{SESSION}\",\"agentId\":\"x\",\"message\":{{\"content\":\"hi\"}}}}\n"
        );
        sandbox.write(&format!("{subagents}/{name}.jsonl"), &log);
    }
    let fifo = sandbox.home.join(&subagents).join("agent-a1.meta.json");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|made| made.success()));
    let huge = fs::File::create(sandbox.home.join(&subagents).join("agent-a2.meta.json")).unwrap();
    huge.set_len(17 << 20).unwrap();
    for command in ["doctor", &format!("read {}", log_path())] {
        let told = sandbox.run(command);
        assert!(told.contains("agent-a1.meta.json: not a regular file"), "{told}");
        assert!(
            told.contains("agent-a2.meta.json: larger than such a file can be"),
            "{told}"
        );
    }
}

#[test]
fn a_turn_of_one_line_is_one_line() {
    let sandbox = sandbox_with(&ClaudeLog::new(SESSION).prompt("hello").jsonl());
    let told = sandbox.run(&format!("read {}", log_path()));
    assert!(told.contains("Turn 1  line 1, ") && !told.contains("1–1"), "{told}");
}

#[test]
fn standard_input_is_refused_with_a_hint() {
    assert_snapshot!(Sandbox::new().run("read -"), @"
    --- stderr ---
    error: a log cannot be read from standard input
    Hint: write it to a file and name that file: files next to a log belong to it, and `--full` reads the log twice
    --- exit 2 ---
    ");
}
