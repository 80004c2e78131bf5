//! Several sweeps at once: each succeeds, and the memory equals the one after a single sweep.

use std::fs::File;
use std::time::Duration;

use testkit::faults::Running;

use crate::home::{Home, LIMIT, takes_all, wrongs};

#[test]
fn sweeps_beside_each_other_leave_what_one_leaves() {
    let home = Home::with_logs();
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    for round in 0..if takes_all() { 100 } else { 12 } {
        let home = home.copy();
        let sweeps = 2 + round % 3;
        let running: Vec<Running> = (0..sweeps)
            .map(|_| Running::start(&mut home.command("sweep")))
            .collect();
        for running in running {
            let ended = running.end(LIMIT);
            assert!(ended.status.success(), "round {round} of {sweeps} sweeps: {ended:?}");
        }
        let told = wrongs(&home, &expected);
        assert!(told.is_empty(), "round {round} of {sweeps} sweeps: {}", told.join("\n"));
    }
}

#[test]
fn a_sweep_and_a_rebuild_beside_each_other_leave_what_a_sweep_leaves() {
    let home = Home::with_logs();
    home.sweep();
    let expected = home.answers().unwrap();
    for round in 0..if takes_all() { 50 } else { 6 } {
        let home = home.copy();
        let lines = ["sweep", "rebuild", "rebuild"];
        let running = lines.map(|line| Running::start(&mut home.command(line)));
        for running in running {
            let ended = running.end(LIMIT);
            assert!(ended.status.success(), "round {round}: {ended:?}");
        }
        // A rebuild leaves the digests to the next sweep.
        home.sweep();
        let told = wrongs(&home, &expected);
        assert!(told.is_empty(), "round {round}: {}", told.join("\n"));
    }
}

#[test]
fn a_scheduled_sweep_leaves_quietly_while_another_writes_and_a_manual_one_waits() {
    let home = Home::with_logs();
    home.sweep();
    let before = home.answers().unwrap();
    let log = home.files(".claude").pop().unwrap();
    let name = log.strip_prefix(&home.path).unwrap().to_str().unwrap().to_owned();
    let last = std::fs::read_to_string(&log).unwrap();
    home.append(&name, last.lines().last().unwrap().to_owned() + "\n");

    let lock = File::options().write(true).open(home.store().join("lock")).unwrap();
    lock.lock().unwrap();
    let ended = home.run("sweep --scheduled");
    assert!(!ended.is_late && ended.status.success(), "{ended:?}");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    assert_eq!(home.answers().unwrap(), before);

    let mut manual = Running::start(&mut home.command("sweep"));
    assert!(!manual.ends_within(Duration::from_millis(500)), "it did not wait");
    drop(lock);
    let ended = manual.end(LIMIT);
    assert!(ended.status.success(), "{ended:?}");
    assert_ne!(home.answers().unwrap(), before);
}
