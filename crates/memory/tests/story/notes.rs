//! Which notes of hooks a sweep may remove: those whose logs it has read, and those about logs that it never reads.

use std::fs;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use memory::spool::{self, HookNote};
use memory::sweep::{Sweep, SweepReport, run};
use testkit::logs::ClaudeLog;
use transcript::Agent;

use super::home::{Home, WAIT};

const NOW: Timestamp = Timestamp::constant(1_775_034_000, 0);

fn log(id: &str) -> String {
    format!(".claude/projects/app/{id}.jsonl")
}

fn write_log(home: &Home, id: &str) {
    let text = ClaudeLog::new(id)
        .at("2026-04-01T08:55:00Z")
        .prompt("do it")
        .reply("Done.");
    home.write(&log(id), text.jsonl());
}

fn put(home: &Home, id: &str, log: Option<PathBuf>) {
    put_of(home, Agent::Claude, id, log);
}

fn put_of(home: &Home, agent: Agent, id: &str, log: Option<PathBuf>) {
    let note = HookNote {
        agent,
        session_id: id.to_owned(),
        event: "session_end".to_owned(),
        log,
        subagent_log: None,
        reason: None,
        error: None,
        exit_code: None,
        at: NOW,
    };
    spool::write_note(&home.path("store"), id, &note).unwrap();
}

/// Returns the sessions with waiting notes.
fn waiting(home: &Home) -> Vec<String> {
    let notes = spool::list_notes(&home.path("store")).into_iter();
    notes.map(|one| one.name.replace(".json", "")).collect()
}

fn sweep(home: &Home, change: impl Fn(&mut Sweep<'_>)) -> SweepReport {
    let (roots, place) = (home.roots(), home.place());
    let mut sweep = Sweep::new(&place, &roots, &home.masker, NOW);
    change(&mut sweep);
    run(&sweep, WAIT).unwrap()
}

#[test]
fn a_sweep_of_some_logs_leaves_the_notes_of_others() {
    let home = Home::new();
    for id in ["a", "b"] {
        write_log(&home, id);
        put(&home, id, Some(home.path(&log(id))));
    }
    put(&home, "c", None);
    put(&home, "d", Some(home.path(&log("d"))));
    let only = [home.path(&log("a")), home.path(&log("d"))];
    let (roots, place) = (home.roots(), home.place());
    let some = Sweep {
        only: Some(&only),
        ..Sweep::new(&place, &roots, &home.masker, NOW)
    };
    let report = run(&some, WAIT).unwrap();
    // The log of `d` does not exist.
    assert_eq!(
        (report.facts, waiting(&home)),
        (2, vec!["b".to_owned(), "c".to_owned()])
    );
    let report = home.sweep_at(NOW);
    assert_eq!((report.facts, waiting(&home)), (2, Vec::new()));
    assert_eq!(home.store().reads().sessions().unwrap().len(), 2);
}

#[test]
fn a_sweep_of_one_agent_leaves_the_notes_of_others() {
    let home = Home::new();
    write_log(&home, "a");
    put(&home, "a", Some(home.path(&log("a"))));
    put(&home, "outside", Some("/elsewhere/outside.jsonl".into()));
    put_of(&home, Agent::Codex, "codex", None);
    let (roots, place) = (home.roots(), home.place());
    let claude = Sweep {
        has_only_some_roots: true,
        ..Sweep::new(&place, &roots[..1], &home.masker, NOW)
    };
    run(&claude, WAIT).unwrap();
    assert_eq!(waiting(&home), ["codex", "outside"]);
    // They are not given up after a day either, because this sweep does not know their logs.
    let later = Sweep {
        now: NOW + SignedDuration::from_hours(25),
        ..claude
    };
    run(&later, WAIT).unwrap();
    assert_eq!(waiting(&home), ["codex", "outside"]);
    // No sweep ever reads a log outside of all roots.
    home.sweep_at(NOW);
    assert!(waiting(&home).is_empty());
}

#[test]
fn a_note_waits_while_its_log_is_left_to_a_later_sweep() {
    let home = Home::new();
    for id in ["a", "b"] {
        write_log(&home, id);
        put(&home, id, (id == "a").then(|| home.path(&log(id))));
    }
    let report = sweep(&home, |sweep| sweep.session_bytes_max = 1);
    assert_eq!((report.sessions_left, waiting(&home).len()), (2, 2));
    sweep(&home, |sweep| sweep.is_over = &|| true);
    assert_eq!(waiting(&home).len(), 2);
    sweep(&home, |_| {});
    assert!(waiting(&home).is_empty());
    assert_eq!(home.store().reads().facts().unwrap().len(), 2);
}

#[test]
fn notes_of_ignored_or_forgotten_sessions_do_not_wait() {
    let home = Home::new();
    write_log(&home, "a");
    home.sweep_at(NOW);
    put(&home, "a", Some(home.path(&log("a"))));
    put(&home, "b", Some(home.path(&log("b"))));
    let only: [PathBuf; 0] = [];
    let (roots, place) = (home.roots(), home.place());
    let none = Sweep {
        only: Some(&only),
        is_ignored: &|_| true,
        ..Sweep::new(&place, &roots, &home.masker, NOW)
    };
    run(&none, WAIT).unwrap();
    assert!(waiting(&home).is_empty());
    assert!(home.store().reads().facts().unwrap().is_empty());
}

#[test]
fn a_damaged_note_is_counted_as_lost_once() {
    let home = Home::new();
    put(&home, "a", None);
    fs::write(home.path("store/spool/half.json"), "{\"agent\":").unwrap();
    home.sweep_at(NOW);
    home.sweep_at(NOW);
    assert!(waiting(&home).is_empty());
    assert_eq!(spool::lost_notes(&home.path("store")).map(|lost| lost.count), Some(1));
}

#[test]
fn a_note_of_a_log_that_cannot_be_read_is_given_up_after_a_day() {
    let home = Home::new();
    // A file that is not zstd despite its name.
    let broken = ".codex/sessions/2026/04/01/rollout-2026-04-01T08-55-00-c0de.jsonl.zst";
    home.write(broken, "this is not zstd");
    put_of(&home, Agent::Codex, "c0de", Some(home.path(broken)));
    let report = home.sweep_at(NOW);
    assert_eq!((report.unread.len(), waiting(&home).len()), (1, 1), "{report:?}");
    home.sweep_at(NOW + SignedDuration::from_hours(23));
    assert_eq!(waiting(&home).len(), 1);
    let report = home.sweep_at(NOW + SignedDuration::from_hours(25));
    assert_eq!((report.facts, waiting(&home).len()), (1, 0));
}
