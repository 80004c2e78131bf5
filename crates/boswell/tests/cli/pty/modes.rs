//! Runs every verb on a narrow terminal without colour, while another process writes to the memory: readers answer, and
//! writers print that they wait and finish when the other process is done.

use std::fs::File;
use std::path::PathBuf;

use testkit::home::{FixtureHome, LogSource};
use testkit::verbs::{Exit, Invocation, Output, invocations};

use super::screen::Screen;
use super::terminal::{TerminalRun, find, run_with};
use super::{LIMIT, LIMIT_AFTER_A_HANG, PANICS};

const COLUMNS: u16 = 30;

/// The message of a writer before it waits. A narrow terminal may wrap it.
const WAITING: &str = "Waiting for another";

/// Holds the lock of the memory like another writer.
fn hold_lock(home: &FixtureHome) -> File {
    let path = home.path().join(".local/share/boswell/lock");
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap();
    file.lock().unwrap();
    file
}

/// Returns the first sequence that sets a colour or a style. A full screen resets them even if it sets none.
fn colour(invocation: &Invocation, bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\u{1b}[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !('0'..='?').contains(&c))?;
        rest[end..].starts_with('m').then(|| &rest[..end])
    });
    let is_reset = |one: &str| matches!(one, "" | "0" | "39" | "49" | "59");
    let is_style = |one: &str| matches!(one, "1" | "2" | "3" | "4" | "7" | "22" | "23" | "24" | "27");
    let is_allowed = |one: &str| invocation.output == Output::Screen && (is_reset(one) || is_style(one));
    { sequences }
        .find(|sequence| !sequence.split(';').all(is_allowed))
        .map(str::to_owned)
}

fn check(invocation: &Invocation, run: &TerminalRun) -> Vec<String> {
    let mut problems = Vec::new();
    match run.exit {
        Exit::TimedOut => problems.push(format!("hangs after {:?}", String::from_utf8_lossy(&run.bytes))),
        exit if !invocation.exit.allows(exit) => {
            problems.push(format!("exits with {exit}: {:?}", String::from_utf8_lossy(&run.bytes)));
        }
        _ => {}
    }
    problems.extend(colour(invocation, &run.bytes).map(|sequence| format!("sets a colour: \\e[{sequence}m")));
    let lines = Screen::parse(&run.bytes).lines();
    let panics = lines
        .iter()
        .filter(|line| PANICS.iter().any(|panic| line.starts_with(panic)));
    problems.extend(panics.map(|line| format!("panics: {line}")));
    problems
        .iter()
        .map(|problem| format!("boswell {}: {problem}", invocation.line))
        .collect()
}

#[test]
fn every_verb_ends_on_a_narrow_terminal_without_colour_beside_a_writer() {
    let place = tempfile::tempdir().unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_boswell"));
    let (home, runs) = FixtureHome::prepare(place.path(), &binary, LogSource::MadeUp).unwrap();
    assert!(runs.iter().all(|run| run.output.status.success()), "{runs:?}");
    let mut limit = LIMIT;
    let mut problems = Vec::new();
    for invocation in invocations() {
        // A quiet command prints nothing while it waits, so the test does not hold the lock.
        let is_quiet = invocation.line.split(' ').any(|word| word == "--quiet");
        let mut held = (!is_quiet).then(|| hold_lock(&home));
        let mut release = |bytes: &[u8]| {
            if find(bytes, WAITING).is_some() {
                held = None;
            }
        };
        let run = run_with(&home, &invocation, COLUMNS, limit, &[("NO_COLOR", "1")], &mut release);
        if run.exit == Exit::TimedOut {
            limit = LIMIT_AFTER_A_HANG;
        }
        problems.extend(check(&invocation, &run));
        drop(held);
        home.reset().unwrap();
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
