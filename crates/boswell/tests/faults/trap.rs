//! A trap for programs that open credential files: each is a pipe on which an open hangs. Every opened path is recorded
//! as well.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use testkit::faults::{Call, Fault, Running};

use crate::home::{Home, LIMIT, SESSION, claude_log};

/// Files that agents and users keep beside the logs.
const CREDENTIALS: &[&str] = &[
    ".claude/.credentials.json",
    ".claude/projects/-home-ada-app/.credentials.json",
    ".codex/auth.json",
    ".codex/sessions/auth.json",
    ".grok/auth.json",
    ".grok/credentials.json",
    ".grok/sessions/auth.json",
    ".ssh/id_ed25519",
    ".ssh/id_rsa",
    "app/.env",
    ".env",
];

/// Names that would be read if they were not links.
const LINKS: &[&str] = &[
    ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-00000000dead.jsonl",
    ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-00000000000a.meta.json",
    ".codex/sessions/rollout-2026-04-01T10-00-00-019d4700-0000-7000-8000-00000000dead.jsonl",
    ".codex/session_index.jsonl",
];

const COMMANDS: &[&str] = &[
    "sweep --dry-run",
    "sweep",
    "doctor",
    "rebuild",
    "read LOG",
    "cat SESSION",
];

fn line(home: &Home, command: &str) -> String {
    let log = home.path.join(claude_log(SESSION));
    command
        .replace("LOG", log.to_str().unwrap())
        .replace("SESSION", SESSION)
}

fn home_with_pipes() -> Home {
    let home = Home::with_logs();
    for name in CREDENTIALS {
        let path = home.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
    }
    home
}

/// Returns a home with a file of private text, and links to it at names that are read.
fn home_with_links() -> Home {
    let home = Home::with_logs();
    home.write(
        ".claude/.credentials.json",
        "{\"type\":\"user\",\"message\":{\"content\":\"PRIVATE\"}}\n",
    );
    let grok = home
        .files(".grok")
        .into_iter()
        .find(|path| path.ends_with("summary.json"));
    let grok = grok.unwrap();
    let grok = grok.strip_prefix(&home.path).unwrap().to_str().unwrap();
    for name in LINKS.iter().copied().chain([grok]) {
        let path = home.path.join(name);
        _ = fs::remove_file(&path);
        symlink(home.path.join(".claude/.credentials.json"), &path).unwrap();
    }
    home
}

/// Returns the forbidden calls of a run.
fn trespasses(home: &Home, calls: &[Call]) -> Vec<String> {
    let is_source = |path: &str| {
        [".claude", ".codex", ".grok"]
            .iter()
            .any(|root| Path::new(path).starts_with(home.path.join(root)))
    };
    let is_credential = |path: &str| CREDENTIALS.iter().any(|name| Path::new(path) == home.path.join(name));
    let wrong = |call: &&Call| {
        let opens = call.name == "opens" || call.name == "opened";
        let changes = call.number.is_some() || opens && call.detail == "writes";
        opens && is_credential(&call.path) || changes && is_source(&call.path)
    };
    calls
        .iter()
        .filter(wrong)
        .map(|call| format!("{} {} {}", call.name, call.path, call.detail))
        .collect()
}

#[test]
fn no_credential_file_is_opened_and_no_source_is_changed() {
    let home = home_with_pipes();
    let before = home.sources();
    assert!(before.len() > 15, "{before:?}");
    for command in COMMANDS {
        let (ended, calls) = home.run_with(&line(&home, command), &Fault::None);
        assert!(!ended.is_late, "`{command}` hangs in {:?}", calls.last());
        assert!(ended.status.success(), "{command}: {ended:?}");
        let read = calls
            .iter()
            .any(|call| call.name == "opened" && call.path.ends_with(".jsonl"));
        assert!(
            read || *command == "cat SESSION" || *command == "rebuild",
            "`{command}` opened no log"
        );
        assert_eq!(trespasses(&home, &calls), [""; 0], "{command}");
        assert_eq!(home.sources(), before, "{command}");
    }
}

#[test]
fn a_link_named_like_a_log_or_its_companion_is_not_followed() {
    let home = home_with_links();
    let before = home.sources();
    let mut told = Vec::new();
    for command in COMMANDS {
        let (ended, calls) = home.run_with(&line(&home, command), &Fault::None);
        assert!(!ended.is_late && ended.status.success(), "{command}: {ended:?}");
        told.extend(
            trespasses(&home, &calls)
                .into_iter()
                .map(|what| format!("{command}: {what}")),
        );
        assert_eq!(home.sources(), before, "{command}");
    }
    let kept = home.answers().unwrap().iter().any(|answer| answer.contains("PRIVATE"));
    assert!(!kept, "what a link showed is kept\n{}", told.join("\n"));
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// The same check with strace, because a preloaded library sees only the calls that go through it.
#[test]
fn the_kernel_says_the_same() {
    let home = home_with_pipes();
    let trace = home.beside("trace");
    for command in COMMANDS {
        let words = format!(
            "-f -qq -s 4096 -e trace=open,openat,openat2,creat -o {} {} {}",
            trace.display(),
            env!("CARGO_BIN_EXE_boswell"),
            line(&home, command)
        );
        if Command::new("strace").arg("-V").output().is_err() {
            eprintln!("Skipped: there is no strace here");
            return;
        }
        let ended = Running::start(&mut home.command_of(Path::new("strace"), &words)).end(LIMIT);
        let seen = fs::read_to_string(&trace).unwrap_or_default();
        if !seen.contains("open") {
            eprintln!("Skipped: strace may not trace here: {}", ended.stderr.trim());
            return;
        }
        assert!(!ended.is_late && ended.status.success(), "{command}: {ended:?}");
        for name in CREDENTIALS {
            let path = home.path.join(name).display().to_string();
            assert!(!seen.contains(&format!("\"{path}\"")), "{command} opens {path}");
        }
        let roots = [".claude", ".codex", ".grok"].map(|root| home.path.join(root).display().to_string());
        let writes = |line: &&str| {
            let is_source = roots.iter().any(|root| line.contains(&format!("\"{root}")));
            is_source && (line.contains("O_WRONLY") || line.contains("O_RDWR") || line.contains("O_CREAT"))
        };
        let found: Vec<&str> = seen.lines().filter(writes).collect();
        assert_eq!(found, [""; 0], "{command}");
    }
    eprintln!("Traced by strace");
}
