//! Many hooks at once: the memory has every session that a hook named as soon as no note waits.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::{Sandbox, names_in};

fn store(sandbox: &Sandbox) -> PathBuf {
    sandbox.home.join(".local/share/boswell")
}

fn id(number: usize) -> String {
    format!("5e550000-0000-4000-8000-{number:012}")
}

fn log(number: usize) -> String {
    format!(".claude/projects/-home-ada-app/{}.jsonl", id(number))
}

fn write_log(sandbox: &Sandbox, number: usize) {
    let text = ClaudeLog::new(&id(number))
        .at("2026-04-01T08:55:00Z")
        .prompt(&format!("task {number}"))
        .reply("Done.");
    sandbox.write(&log(number), &text.jsonl());
}

/// Returns a home with hooks, a store, and no session.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("hooks install claude");
    sandbox.run("sweep");
    sandbox
}

/// Starts a hook as Claude Code does when a session ends.
fn start_hook(sandbox: &Sandbox, number: usize) -> Child {
    start_call(sandbox, "claude", &id(number), &sandbox.path(&log(number)))
}

fn start_call(sandbox: &Sandbox, agent: &str, id: &str, log: &str) -> Child {
    let mut command = sandbox.command("hook");
    command
        .args([agent, "--home"])
        .arg(store(sandbox))
        .stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let payload =
        format!(r#"{{"session_id":"{id}","transcript_path":"{log}","hook_event_name":"SessionEnd","reason":"clear"}}"#);
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    child
}

fn call(sandbox: &Sandbox, agent: &str, id: &str, log: &str) {
    assert!(start_call(sandbox, agent, id, log).wait().unwrap().success());
}

fn hook(sandbox: &Sandbox, number: usize) {
    assert!(start_hook(sandbox, number).wait().unwrap().success());
}

fn notes(sandbox: &Sandbox) -> usize {
    let names = names_in(&store(sandbox).join("spool"));
    names.iter().filter(|name| name.ends_with(".json")).count()
}

/// Waits until no note is left. Does not touch the ingest lock, because taking it could stop the ingest.
fn wait_until_taken_in(sandbox: &Sandbox) {
    let (_sender, receiver) = channel::<()>();
    for _ in 0..6_000 {
        if notes(sandbox) == 0 {
            return;
        }
        _ = receiver.recv_timeout(Duration::from_millis(20));
    }
    panic!("{} notes still wait", notes(sandbox));
}

/// Returns the numbers of the sessions in memory, without reading any log.
fn sessions(sandbox: &Sandbox) -> Vec<usize> {
    let output = sandbox
        .command("sessions --json --no-sweep --limit 0")
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let number = |session: &Value| {
        let uid = session["session_uid"].as_str().unwrap();
        uid.rsplit('-').next().unwrap().parse().unwrap()
    };
    let mut numbers: Vec<usize> = told["sessions"].as_array().unwrap().iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn hold(path: PathBuf) -> File {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn every_session_of_fifty_hooks_at_once_is_read() {
    let sandbox = home();
    (0..50).for_each(|number| write_log(&sandbox, number));
    thread::scope(|scope| {
        for number in 0..50 {
            let sandbox = &sandbox;
            scope.spawn(move || hook(sandbox, number));
        }
    });
    wait_until_taken_in(&sandbox);
    assert_eq!(sessions(&sandbox), (0..50).collect::<Vec<_>>());
}

/// Waits until another process waits for the lock that `file` holds. In `/proc/locks`, `->` marks a waiting process,
/// and the inode identifies the lock.
#[cfg(target_os = "linux")]
fn wait_for_a_waiting_process(file: &File) {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    let (_sender, receiver) = channel::<()>();
    for _ in 0..6_000 {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        if locks.lines().any(|line| line.contains("-> ") && line.contains(&inode)) {
            return;
        }
        _ = receiver.recv_timeout(Duration::from_millis(20));
    }
    panic!("no process waits for the lock");
}

#[test]
#[cfg(target_os = "linux")]
fn an_ingest_leaves_the_note_of_a_hook_that_comes_after_it_listed_its_logs() {
    let sandbox = home();
    (0..2).for_each(|number| write_log(&sandbox, number));
    let writing = hold(store(&sandbox).join("lock"));
    hook(&sandbox, 0);
    // The ingest of the first hook has listed the logs it reads, and waits for this test before it writes.
    wait_for_a_waiting_process(&writing);
    hook(&sandbox, 1);
    assert_eq!(notes(&sandbox), 2);
    drop(writing);
    // The ingest deletes a note only if it read the log in the note. The second note therefore waits for the next sweep
    // of the same ingest.
    wait_until_taken_in(&sandbox);
    assert_eq!(sessions(&sandbox), [0, 1]);
}

#[test]
fn a_sweep_leaves_notes_that_arrive_after_its_walk() {
    let sandbox = home();
    write_log(&sandbox, 0);
    let writing = hold(store(&sandbox).join("lock"));
    let mut sweep = sandbox.command("sweep");
    let mut sweep = sweep.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A sweep that waits for the lock has already walked the roots.
    let mut lines = BufReader::new(sweep.stderr.take().unwrap()).lines();
    let waiting = lines.next().unwrap().unwrap();
    assert!(waiting.contains("Waiting"), "{waiting}");
    // Prevents other processes from reading the notes meanwhile.
    let ingest = hold(store(&sandbox).join("spool/ingest.lock"));
    for number in 1..5 {
        write_log(&sandbox, number);
        hook(&sandbox, number);
    }
    drop(writing);
    lines.for_each(drop);
    assert!(sweep.wait().unwrap().success());
    assert_eq!((sessions(&sandbox), notes(&sandbox)), (vec![0], 4));
    drop(ingest);
    write_log(&sandbox, 5);
    hook(&sandbox, 5);
    wait_until_taken_in(&sandbox);
    assert_eq!(sessions(&sandbox), (0..6).collect::<Vec<_>>());
}

#[test]
fn a_log_that_cannot_be_read_does_not_keep_the_ingest_running() {
    let sandbox = home();
    sandbox.run("hooks install codex");
    write_log(&sandbox, 0);
    // A file with the extension of zstd that is not zstd.
    let broken = format!(
        ".codex/sessions/2026/04/01/rollout-2026-04-01T08-55-00-{}.jsonl.zst",
        id(1)
    );
    sandbox.write(&broken, "this is not zstd");
    call(&sandbox, "codex", &id(1), &sandbox.path(&broken));
    hook(&sandbox, 0);
    // The ingest ends, although a note is left.
    drop(hold(store(&sandbox).join("spool/ingest.lock")));
    assert_eq!((sessions(&sandbox), notes(&sandbox)), (vec![0], 1));
    // The log no longer exists for the next full sweep, which deletes the note.
    fs::remove_file(sandbox.home.join(&broken)).unwrap();
    sandbox.run("sweep");
    assert_eq!((sessions(&sandbox), notes(&sandbox)), (vec![0], 0));
}
