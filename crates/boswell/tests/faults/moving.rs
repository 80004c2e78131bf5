//! Logs that are deleted, cut, replaced or appended to while they are read. The sweep ends well; the next one is right.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::faults::{Fault, Happening};

use crate::home::{Home, SESSION, claude_log, difference, story};

/// More than one read, so that something can happen between two.
const PROMPTS: usize = 400;
const OTHER: &str = "5e550000-0000-4000-8000-00000000000c";

/// A home with one long log and a small one.
fn home() -> Home {
    let home = Home::empty();
    home.write(&claude_log(SESSION), story(SESSION, PROMPTS).jsonl());
    home.write(&claude_log(OTHER), story(OTHER, 1).jsonl());
    home
}

/// Another log under the same id: none of its lines is one of the first's.
fn other_log(prompts: usize) -> String {
    story(SESSION, prompts).jsonl().replace("push number", "pull number")
}

fn happenings(home: &Home) -> Vec<(&'static str, Happening)> {
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
        ("deleted", Happening::Unlink),
        ("cut to its first half", Happening::Truncate(middle)),
        ("cut to its first line", Happening::Truncate(first)),
        ("emptied", Happening::Truncate(0)),
        ("replaced by a longer one", Happening::Rename(file("longer", other_log(PROMPTS + 9)))),
        ("replaced by a shorter one", Happening::Rename(file("shorter", other_log(3)))),
        ("written anew, longer", Happening::Overwrite(file("anew", other_log(PROMPTS + 9)))),
        ("written anew, shorter", Happening::Overwrite(file("short", other_log(3)))),
        ("appended to", Happening::Append(file("more", more))),
        ("unreadable", Happening::Broken),
    ]
}

/// What is wrong after something happened before the `at`-th read of a log, and after one more sweep.
fn meet(known: bool, what: &str, happens: Happening, at: u64) -> Option<Vec<String>> {
    let home = home();
    if known {
        // The log is known up to its middle, so that only its second half is read.
        home.write(&claude_log(SESSION), story(SESSION, PROMPTS / 2).jsonl());
        home.sweep();
        home.write(&claude_log(SESSION), story(SESSION, PROMPTS).jsonl());
    }
    let log = home.path.join(claude_log(SESSION));
    let is_gone = matches!(happens, Happening::Unlink | Happening::Truncate(0));
    let path = log.clone();
    let (ended, calls) = home.run_with("sweep", &Fault::WhileRead { path, at, happens });
    if !calls.iter().any(|call| call.name == "happens" || what == "unreadable") {
        return None;
    }
    let place = format!("{what} before read {at}{}", if known { ", known before" } else { "" });
    let mut wrongs = Vec::new();
    if !ended.status.success() {
        wrongs.push(format!("{place}: {ended:?}"));
    }
    if !home.run(&format!("cat {OTHER}")).status.success() {
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
        return Some(wrongs);
    }
    let expected = fresh_answers(&home);
    wrongs.extend(difference(&expected, &found).map(|told| format!("{place}: {told}")));
    Some(wrongs)
}

/// A log without its secrets, masked or not.
fn mask_free(text: &str) -> String {
    let masked = regex::Regex::new(r"\[REDACTED:[^\]]*\]|ghp_[0-9A-Za-z]{36}").unwrap();
    masked.replace_all(text, "*").into_owned()
}

/// What a memory answers that never saw what was before.
fn fresh_answers(home: &Home) -> Vec<String> {
    let fresh = home.copy();
    fs::remove_dir_all(fresh.store()).unwrap();
    fresh.sweep();
    fresh.answers().unwrap()
}

fn meet_all(known: bool) {
    let mut wrongs = Vec::new();
    let names: Vec<&str> = happenings(&home()).into_iter().map(|(name, _)| name).collect();
    for (index, what) in names.iter().enumerate() {
        let mut met = 0;
        for at in 1..60 {
            let home = home();
            let (_, happens) = happenings(&home).remove(index);
            let Some(told) = meet(known, what, happens, at) else {
                break;
            };
            met += 1;
            wrongs.extend(told);
        }
        assert!(met >= 3, "{what}: only {met} reads were met");
    }
    assert!(wrongs.is_empty(), "{} wrongs:\n{}", wrongs.len(), wrongs.join("\n"));
}

#[test]
fn whatever_happens_to_a_new_log_while_it_is_read_the_next_sweep_is_right() {
    meet_all(false);
}

#[test]
fn whatever_happens_to_a_known_log_while_it_is_read_the_next_sweep_is_right() {
    meet_all(true);
}

#[test]
fn a_link_that_takes_the_place_of_a_log_while_it_is_read_is_not_followed() {
    let home = home();
    let private = home.beside("private");
    fs::write(&private, story(SESSION, 2).jsonl().replace("push", "PRIVATE")).unwrap();
    for at in 1..60 {
        let home = home.copy();
        let fault = Fault::WhileRead {
            path: home.path.join(claude_log(SESSION)),
            at,
            happens: Happening::Link(private.clone()),
        };
        let (_, calls) = home.run_with("sweep", &fault);
        if !calls.iter().any(|call| call.name == "happens") {
            assert!(at > 3, "only {at} reads were met");
            return;
        }
        let opened = calls.iter().any(|call| call.name == "opened" && Path::new(&call.path) == private);
        assert!(!opened, "read {at}: the link was followed");
        home.run("sweep");
        let kept = home.run(&format!("cat {SESSION}")).stdout;
        assert!(!kept.contains("PRIVATE"), "read {at}: what the link showed is kept");
    }
}
