//! Logs that are deleted, truncated, replaced or appended to during a read. The sweep succeeds, and the next one is
//! right.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::faults::{Call, Ended, Fault, FileEvent};

use crate::home::{Home, SESSION, claude_log, difference, each, none, story, takes_all};

/// Enough for many reads, because a log is read in pieces of 256 KiB and something has to happen between any two.
const PROMPTS: usize = 700;
/// Each event happens before one in this many reads, and different events before different reads.
const READS_BETWEEN: u64 = 4;
const OTHER: &str = "5e550000-0000-4000-8000-00000000000c";

/// Returns a home with one long log and one small log.
fn home() -> Home {
    let home = Home::empty();
    home.write(&claude_log(SESSION), story(SESSION, PROMPTS).jsonl());
    home.write(&claude_log(OTHER), story(OTHER, 1).jsonl());
    home
}

/// Returns another log with the same session ID. None of its lines is in the first log.
fn other_log(prompts: usize) -> String {
    story(SESSION, prompts).jsonl().replace("push number", "pull number")
}

fn happenings(home: &Home) -> Vec<(&'static str, FileEvent)> {
    let file = |name: &str, text: String| -> PathBuf {
        let path = home.beside(name);
        fs::write(&path, text).unwrap();
        path
    };
    let log = story(SESSION, PROMPTS).jsonl();
    let middle = log[..log.len() / 2].rfind('\n').unwrap() as u64 + 1;
    let first = log.find('\n').unwrap() as u64 + 1;
    let more = story(SESSION, PROMPTS + 9).jsonl()[log.len()..].to_owned();
    vec![
        ("deleted", FileEvent::Unlink),
        ("cut to its first half", FileEvent::Truncate(middle)),
        ("cut to its first line", FileEvent::Truncate(first)),
        ("emptied", FileEvent::Truncate(0)),
        (
            "replaced by a longer one",
            FileEvent::Rename(file("longer", other_log(PROMPTS + 9))),
        ),
        (
            "replaced by a shorter one",
            FileEvent::Rename(file("shorter", other_log(3))),
        ),
        (
            "written anew, longer",
            FileEvent::Overwrite(file("anew", other_log(PROMPTS + 9))),
        ),
        (
            "written anew, shorter",
            FileEvent::Overwrite(file("short", other_log(3))),
        ),
        ("appended to", FileEvent::Append(file("more", more))),
        ("unreadable", FileEvent::Broken),
    ]
}

/// Returns the problems after an event before the `at`-th read of a log, and after one more sweep.
fn meet(home: &Home, what: usize, at: u64) -> Vec<String> {
    let home = home.copy();
    let (what, happens) = happenings(&home).remove(what);
    let is_gone = matches!(happens, FileEvent::Unlink | FileEvent::Truncate(0));
    let place = format!("{what} before read {at}");
    let mut wrongs = Vec::new();
    let (ended, calls) = read_while(&home, happens, at);
    if !calls.iter().any(|call| call.name == "happens") {
        wrongs.push(format!("{place}: it was never read so often"));
    }
    if !ended.status.success() {
        wrongs.push(format!("{place}: {ended:?}"));
    }
    let is_kept = |answer: &String| answer.contains("SessionRow") && answer.contains(OTHER);
    if !home.answers().unwrap().iter().any(is_kept) {
        wrongs.push(format!("{place}: the other log is not kept"));
    }
    home.sweep();
    wrongs.extend(home.doubts().into_iter().map(|doubt| format!("{place}: {doubt}")));
    let found = home.answers().unwrap();
    if is_gone {
        let kept = home.run(&format!("cat {SESSION}")).stdout;
        let masked = mask_free(&kept);
        if !mask_free(&story(SESSION, PROMPTS).jsonl()).starts_with(&masked) {
            wrongs.push(format!("{place}: what is kept was never written"));
        }
        return wrongs;
    }
    let expected = fresh_answers(&home);
    wrongs.extend(difference(&expected, &found).map(|told| format!("{place}: {told}")));
    wrongs
}

fn read_while(home: &Home, happens: FileEvent, at: u64) -> (Ended, Vec<Call>) {
    let path = home.path.join(claude_log(SESSION));
    home.run_with(
        "sweep",
        &Fault::WhileRead {
            path,
            at,
            event: happens,
        },
    )
}

/// Returns how often the log is read.
fn reads(home: &Home) -> u64 {
    let (_, calls) = read_while(&home.copy(), FileEvent::Unlink, u64::MAX >> 1);
    calls.iter().filter(|call| call.name == "reads").count() as u64
}

/// Returns a log without its secrets, masked or not.
fn mask_free(text: &str) -> String {
    let masked = regex::Regex::new(r"\[REDACTED:[^\]]*\]|ghp_[0-9A-Za-z]{36}").unwrap();
    masked.replace_all(text, "*").into_owned()
}

/// Returns the answers of a memory that never saw the earlier log.
fn fresh_answers(home: &Home) -> Vec<String> {
    let fresh = home.copy();
    fs::remove_dir_all(fresh.store()).unwrap();
    fresh.sweep();
    fresh.answers().unwrap()
}

/// Tries every event before every read of the log.
fn meet_all(home: &Home) {
    let reads = reads(home);
    assert!(reads > 5, "the log is read {reads} times only");
    let whats = 0..happenings(home).len();
    let all = whats.flat_map(|what| (1..=reads).map(move |at| (what, at)));
    let cases: Vec<(usize, u64)> = all
        .filter(|(what, at)| takes_all() || (*what as u64 + at).is_multiple_of(READS_BETWEEN))
        .collect();
    eprintln!(
        "{} cases of {} happenings before {reads} reads",
        cases.len(),
        happenings(home).len()
    );
    none(&each(&cases, |(what, at)| meet(home, *what, *at)));
}

#[test]
fn whatever_happens_to_a_new_log_while_it_is_read_the_next_sweep_is_right() {
    meet_all(&home());
}

#[test]
fn whatever_happens_to_a_known_log_while_it_is_read_the_next_sweep_is_right() {
    let home = home();
    // The memory knows the log up to its middle, so the sweep reads only the second half.
    home.write(&claude_log(SESSION), story(SESSION, PROMPTS / 2).jsonl());
    home.sweep();
    home.write(&claude_log(SESSION), story(SESSION, PROMPTS).jsonl());
    meet_all(&home);
}

#[test]
fn a_link_that_takes_the_place_of_a_log_while_it_is_read_is_not_followed() {
    let home = home();
    let private = home.beside("private");
    fs::write(&private, story(SESSION, 2).jsonl().replace("push", "PRIVATE")).unwrap();
    let attempts: Vec<u64> = (1..=reads(&home)).collect();
    none(&each(&attempts, |at| {
        let home = home.copy();
        let (_, calls) = read_while(&home, FileEvent::Link(private.clone()), *at);
        let mut told = Vec::new();
        if calls
            .iter()
            .any(|call| call.name == "opened" && Path::new(&call.path) == private)
        {
            told.push(format!("read {at}: the link was followed"));
        }
        home.run("sweep");
        if home.run(&format!("cat {SESSION}")).stdout.contains("PRIVATE") {
            told.push(format!("read {at}: what the link showed is kept"));
        }
        told
    }));
}
