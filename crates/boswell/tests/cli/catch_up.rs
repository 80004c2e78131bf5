//! Commands that answer from memory sweep first, and report if they could not.

use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";

fn log(prompts: &[&str]) -> String {
    let log = ClaudeLog::new("5e550000-0000-4000-8000-000000000001");
    prompts.iter().fold(log, |log, prompt| log.prompt(prompt)).jsonl()
}

#[test]
fn what_is_new_is_in_the_answer_once_a_minute_has_passed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_NOW", "2027-04-01T09:00:00Z");
    sandbox.write(LOG, &log(&["one"]));
    sandbox.run("sweep");
    sandbox.write(LOG, &log(&["one", "two"]));
    assert_eq!(sandbox.run("cat 5e55"), log(&["one"]), "the last look is young");
    sandbox.set("BOSWELL_NOW", "2027-04-01T09:01:01Z");
    assert_eq!(sandbox.run("cat 5e55 --no-sweep"), log(&["one"]));
    assert_eq!(sandbox.run("cat 5e55"), log(&["one", "two"]));
    sandbox.write(LOG, &log(&["one", "two", "three"]));
    sandbox.set("BOSWELL_NOW", "2026-04-01T09:00:00Z");
    assert_eq!(
        sandbox.run("cat 5e55"),
        log(&["one", "two", "three"]),
        "a clock that was set back"
    );
}

#[test]
fn an_answer_without_a_look_says_that_it_may_be_stale() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_NOW", "2027-04-01T09:00:00Z");
    sandbox.write(LOG, &log(&["one"]));
    sandbox.run("sweep");
    assert!(!sandbox.run("sessions --json").contains("stale"));
    assert!(sandbox.run("sessions --json --no-sweep").contains("\"stale\":true"));
    // Another process holds the lock of the memory, and commands do not wait for it.
    let lock = std::fs::File::options()
        .write(true)
        .open(sandbox.home.join(".local/share/boswell/lock"))
        .unwrap();
    lock.lock().unwrap();
    sandbox.set("BOSWELL_NOW", "2027-04-01T10:00:00Z");
    assert!(sandbox.run("sessions --json").contains("\"stale\":true"));
    drop(lock);
    assert!(!sandbox.run("sessions --json").contains("stale"));
}

#[test]
fn a_question_makes_no_memory() {
    let sandbox = Sandbox::new();
    sandbox.write(LOG, &log(&["one"]));
    assert!(sandbox.run("sessions").contains("there is no memory yet"));
    assert!(!sandbox.home.join(".local/share/boswell").exists());
}

/// A sweep that has to wait for another one prints that, and continues when the other one is done.
#[test]
fn a_sweep_that_waits_says_so() {
    use std::io::{BufRead, BufReader, Read};
    let sandbox = Sandbox::new();
    sandbox.write(LOG, &log(&["one"]));
    sandbox.run("sweep");
    let lock = std::fs::File::options()
        .write(true)
        .open(sandbox.home.join(".local/share/boswell/lock"))
        .unwrap();
    lock.lock().unwrap();
    let mut waiting = sandbox
        .command("sweep")
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(waiting.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "Waiting for another boswell that is writing\n");
    drop(lock);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(waiting.wait().unwrap().success(), "{rest}");
}
