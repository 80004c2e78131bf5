//! A sweep may be aborted at any system call: the next sweep repairs everything.

use std::collections::BTreeSet;

use testkit::faults::{Call, Fault};

use crate::home::{Home, SESSION, claude_log, difference, each, none, secret, session, worth_a_crash, wrongs};

/// Number of consecutive page writes without a crash between two that have one.
const PAGES_BETWEEN: u64 = 6;

/// Aborts `line` at each call in a new copy of `home`, sweeps again, and returns every problem found.
fn crash_everywhere(home: &Home, line: &str, expected: &[String]) -> Vec<String> {
    let (ended, calls) = home.copy().run_with(line, &Fault::None);
    assert!(ended.status.success(), "{ended:?}");
    let counted: Vec<&Call> = calls.iter().filter(|call| call.number.is_some()).collect();
    assert!(counted.len() > 20, "few calls were seen: {calls:?}");
    let mut crashes = Vec::new();
    for (n, call) in worth_a_crash(&counted, PAGES_BETWEEN) {
        crashes.push((Fault::AbortAt(n), call));
        if call.name.contains("write") {
            crashes.push((Fault::TornAt(n), call));
        }
    }
    eprintln!("`{line}`: {} crashes of {} calls", crashes.len(), counted.len());
    each(&crashes, |(fault, call)| {
        let place = call.path.rsplit('/').next().unwrap_or_default();
        let told = crash(home, line, fault, expected);
        told.into_iter()
            .map(|wrong| format!("{fault:?} ({} {place}): {wrong}", call.name))
            .collect()
    })
}

/// Runs `line` with one crash and returns the problems left after the next sweep.
fn crash(home: &Home, line: &str, fault: &Fault, expected: &[String]) -> Vec<String> {
    let home = home.copy();
    let (ended, _) = home.run_with(line, fault);
    // The work is spread over threads, so a run may make fewer calls than the counted one and never reach the fault.
    let was_killed = ended.status.code().is_none();
    if ended.is_late || !(was_killed || ended.status.success()) {
        return vec![format!("{ended:?}")];
    }
    let mut told = home.leaks();
    let again = home.run("sweep");
    if !again.status.success() {
        told.push(format!("the next sweep: {}", again.stderr));
        return told;
    }
    told.extend(wrongs(&home, expected));
    told
}

#[test]
fn a_first_sweep_may_die_at_any_call() {
    let home = Home::with_logs();
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    none(&wrongs(&clean, &expected));
    assert!(expected.len() > 100, "{}", expected.len());
    none(&crash_everywhere(&home, "sweep", &expected));
}

#[test]
fn a_later_sweep_may_die_at_any_call() {
    let home = grown_home();
    let clean = home.copy();
    clean.sweep();
    none(&crash_everywhere(&home, "sweep", &clean.answers().unwrap()));
}

#[test]
fn a_later_sweep_answers_like_a_first_one() {
    let home = grown_home();
    home.sweep();
    let fresh = home.copy();
    std::fs::remove_dir_all(fresh.store()).unwrap();
    fresh.sweep();
    let told = difference(&fresh.answers().unwrap(), &home.answers().unwrap());
    none(&Vec::from_iter(told));
}

/// The other tests compare results of the library, but users see the output of the binary.
#[test]
fn cat_prints_what_is_compared_here() {
    let home = Home::with_logs();
    home.sweep();
    let answers = home.answers().unwrap();
    let kept = answers.iter().filter_map(|answer| answer.strip_prefix("kept "));
    let kept: Vec<(&str, &str)> = kept.filter_map(|answer| answer.split_once('\n')).collect();
    assert!(kept.len() > 6, "{}", kept.len());
    for (name, text) in kept {
        let (session, part) = name.split_once(' ').unwrap();
        assert_eq!(home.run(&format!("cat {session} --part {part}")).stdout, text, "{name}");
    }
}

/// A crash of the machine keeps only synced data: a row may be written only after its pack and the pack's name are
/// synced.
#[test]
fn packs_are_on_disk_before_the_rows_that_name_them() {
    let mut packs = 0;
    for home in [Home::with_logs(), grown_home()] {
        let (_, calls) = home.run_with("sweep", &Fault::None);
        packs += writes_to_synced_packs(&calls);
    }
    assert!(packs > 3, "{packs} writes to packs");
}

fn writes_to_synced_packs(calls: &[Call]) -> usize {
    let mut waiting = BTreeSet::new();
    let mut packs = 0;
    for call in calls.iter().filter(|call| call.number.is_some()) {
        let folder = call.path.rsplit_once('/').unwrap_or_default().0;
        let is_pack = call.path.contains("/packs/");
        match call.name.as_str() {
            "create" | "mkdir" if is_pack => {
                waiting.insert(folder);
            }
            "write" if is_pack => {
                packs += 1;
                waiting.insert(&call.path);
            }
            "fsync" | "fdatasync" => {
                waiting.remove(call.path.as_str());
            }
            "pwrite" if call.path.ends_with("-wal") => {
                assert_eq!(waiting, BTreeSet::new(), "not synced before call {:?}", call.number);
            }
            _ => {}
        }
    }
    packs
}

#[test]
fn rebuilding_may_die_at_any_call() {
    let home = Home::with_logs();
    home.sweep();
    let expected = home.answers().unwrap();
    none(&crash_everywhere(&home, "rebuild", &expected));
}

#[test]
fn the_first_key_of_masked_secrets_is_whole_or_absent() {
    let home = Home::empty();
    home.write(&claude_log(SESSION), session(1));
    std::fs::remove_dir_all(home.path.join(".config")).unwrap();
    let (_, calls) = home.copy().run_with("sweep", &Fault::None);
    let of_key = |call: &&Call| call.number.is_some() && call.path.contains("/.config");
    let last = calls.iter().filter(of_key).filter_map(|call| call.number).max();
    for n in 1..=last.unwrap() + 1 {
        for fault in [Fault::AbortAt(n), Fault::TornAt(n)] {
            let home = home.copy();
            home.run_with("sweep", &fault);
            home.sweep();
            let kept = home.run(&format!("cat {SESSION}")).stdout;
            assert!(
                kept.contains("[REDACTED:") && !kept.contains(&secret()),
                "{fault:?}: {kept}"
            );
        }
    }
}

/// Returns a home whose logs changed after the sweep: one grew, three were replaced, one is new, one is gone.
fn grown_home() -> Home {
    let home = Home::with_logs();
    home.sweep();
    home.write(&claude_log(SESSION), session(5));
    home.write(
        &claude_log("5e550000-0000-4000-8000-00000000000b"),
        session(1).replace("00a\"", "00b\""),
    );
    let mut gone = true;
    for path in home.files(".") {
        let name = path.strip_prefix(&home.path).unwrap().to_str().unwrap().to_owned();
        let is_replaced = name.ends_with("updates.jsonl") || name.contains("rollout-") || name.contains("/agent-");
        if is_replaced && name.ends_with(".jsonl") {
            let text = std::fs::read_to_string(&path).unwrap();
            let kept: Vec<&str> = text.lines().collect();
            // The log is shorter than before and differs from its first line on.
            home.write(
                &name,
                kept[..kept.len() - 1]
                    .join("\n")
                    .replace("\"timestamp\"", "\"timestamp\" ")
                    + "\n",
            );
            home.touch(&path, "2026-04-01T13:00:00Z");
        } else if name.ends_with("summary.json") {
            home.append(&name, "\n");
        } else if gone && name.starts_with(".claude/projects") && !name.contains("-home-ada-app") {
            std::fs::remove_file(&path).unwrap();
            gone = false;
        }
    }
    home
}
