//! Slow disks and failing system calls, by strace: it delays real calls of the real binary or lets them fail, reads
//! among them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use testkit::faults::{Ended, Running};

use crate::home::{Home, LIMIT, SESSION, claude_log, each, none, session, takes_all, wrongs};

/// Returns a command that runs the binary under strace, which tampers with the calls that `inject` names.
fn tampered(home: &Home, inject: &str, line: &str) -> Command {
    let calls = inject.split_once(':').map_or(inject, |(calls, _)| calls);
    let words = format!(
        "-f -qq -o {} -e trace={calls} -e inject={inject} {} {line}",
        home.beside("trace").display(),
        env!("CARGO_BIN_EXE_boswell"),
    );
    home.command_of(Path::new("strace"), &words)
}

/// Returns whether strace can tamper here. Prints why if it cannot.
fn can_tamper(home: &Home) -> bool {
    let Ok(seen) = tampered(home, "write:error=EIO:when=1", "--version").output() else {
        eprintln!("Skipped: there is no strace here");
        return false;
    };
    let trace = std::fs::read_to_string(home.beside("trace")).unwrap_or_default();
    let can = trace.contains("INJECTED");
    if !can {
        eprintln!(
            "Skipped: strace may not tamper here: {}",
            String::from_utf8_lossy(&seen.stderr).trim()
        );
    }
    can
}

/// Returns whether a command succeeded, or failed with an error that users can understand.
fn is_clear(ended: &Ended) -> bool {
    let is_told = ended.stderr.contains("error: ") || ended.stderr.contains("warning: ");
    let is_ended = match ended.status.code() {
        Some(0 | 1) => true,
        Some(2 | 3) => is_told,
        _ => false,
    };
    is_ended && !ended.is_late && !ended.stderr.contains("panicked")
}

#[test]
fn any_call_may_fail_in_the_kernel_and_the_next_sweep_is_right() {
    let home = Home::with_logs();
    home.sweep();
    home.write(&claude_log(SESSION), session(4));
    if !can_tamper(&home) {
        return;
    }
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    let calls = [
        "pread64",
        "read",
        "pwrite64",
        "write",
        "fsync",
        "fdatasync",
        "rename",
        "unlink",
        "ftruncate",
        "newfstatat",
        "openat",
    ];
    let places: &[u32] = if takes_all() {
        &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    } else {
        &[2, 7, 40]
    };
    let mut tampers = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        for (of, when) in places.iter().enumerate() {
            // The loader opens and reads first; a program cannot survive a failure there.
            let when = if matches!(*call, "openat" | "read" | "newfstatat" | "pread64") {
                when + 12
            } else {
                *when
            };
            let error = if (at + of) % 2 == 0 { "EIO" } else { "ENOSPC" };
            tampers.push(format!("{call}:error={error}:when={when}"));
        }
    }
    none(&each(&tampers, |tamper| {
        let home = home.copy();
        let ended = Running::start(&mut tampered(&home, tamper, "sweep")).end(LIMIT);
        let mut told = Vec::new();
        if !is_clear(&ended) {
            told.push(format!("{ended:?}"));
        }
        let next = home.run("sweep");
        if !next.status.success() {
            told.push(format!("the next sweep: {next:?}"));
        }
        told.extend(wrongs(&home, &expected));
        told.iter().map(|wrong| format!("{tamper}: {wrong}")).collect()
    }));
}

#[test]
fn a_slow_disk_makes_a_sweep_slow_and_nobody_else_waits() {
    let home = Home::with_logs();
    home.sweep();
    home.write(&claude_log(SESSION), session(4));
    if !can_tamper(&home) {
        return;
    }
    let before = home.run("sessions --json --no-sweep").stdout;
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    let after = clean.run("sessions --json --no-sweep").stdout;
    assert_ne!(before, after);
    // Each sync takes four seconds, so the sweep is still writing while the other commands run.
    let inject = "fsync,fdatasync:delay_enter=4000000";
    let mut slow = Running::start(&mut tampered(&home, inject, "sweep"));
    let mut is_at_work = false;
    for _ in 0..5 {
        let asked = home.run("sessions --json --no-sweep");
        let is_right = [&before, &after].contains(&&asked.stdout);
        assert!(asked.status.success() && is_right, "{asked:?}");
        let hook = home.run("hook claude");
        assert_eq!(hook.status.code(), Some(0), "{hook:?}");
        let scheduled = home.run("sweep --scheduled");
        assert_eq!(scheduled.status.code(), Some(0), "{scheduled:?}");
        is_at_work |= !slow.ends_within(Duration::from_millis(10));
    }
    assert!(is_at_work, "the disk was not slow");
    let ended = slow.end(LIMIT);
    assert!(ended.status.success() && !ended.is_late, "{ended:?}");
    none(&wrongs(&home, &expected));
}
