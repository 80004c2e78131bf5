//! `boswell watch`: text that an agent writes is in memory a moment later.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::Value;
use testkit::json_schema::validate;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

/// Far longer than any run takes: a run that reaches it hangs.
const LIMIT: Duration = Duration::from_secs(60);
const LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn session(prompts: &[&str]) -> String {
    let mut log = ClaudeLog::new("5e550000-0000-4000-8000-000000000001").at("2026-03-31T09:00:00Z");
    for prompt in prompts {
        log = log.prompt(prompt).reply("Done.");
    }
    log.jsonl()
}

/// Watches while a log grows, and returns the reported change.
fn told_of_growth(flags: &str) -> (Sandbox, Value) {
    let sandbox = Sandbox::new();
    let before = session(&["make the tests green"]);
    sandbox.write(LOG, &before);
    let mut command = sandbox.command(&format!("watch --json --seconds 100{flags}"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = Ended(child);
    let mut said = BufReader::new(child.0.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("Watching") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended");
    }
    let (sender, lines) = channel();
    let output = BufReader::new(child.0.stdout.take().unwrap());
    std::thread::spawn(move || {
        output
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    let after = session(&["make the tests green", "and rename the frobnicator"]);
    let grown = after.strip_prefix(&before).unwrap();
    let mut log = OpenOptions::new().append(true).open(sandbox.path(LOG)).unwrap();
    log.write_all(grown.as_bytes()).unwrap();
    let told = lines.recv_timeout(LIMIT);
    let told = serde_json::from_str(&told.unwrap()).unwrap();
    let schema = serde_json::from_str(&sandbox.run("schema watch")).unwrap();
    assert_eq!(validate(&schema, &told), Vec::<String>::new());
    (sandbox, told)
}

#[test]
fn what_a_log_gains_is_told_and_found() {
    let (sandbox, told) = told_of_growth("");
    assert_eq!(told["schema"], "boswell.watch/1");
    assert_eq!(
        (&told["session_uid"], &told["turns"]),
        (&"claude:5e550000-0000-4000-8000-000000000001".into(), &2.into()),
        "{told}"
    );
    let found: Value = serde_json::from_str(&sandbox.run("search --no-sweep --json frobnicator")).unwrap();
    assert_eq!(found["hits"][0]["turn"], 2, "{found}");
}

#[test]
fn polling_finds_and_prints_what_a_log_gains() {
    let (_sandbox, told) = told_of_growth(" --poll 1");
    assert_eq!(told["turns"], 2, "{told}");
}
