//! Half-written settings: errors name the file, and hooks and stored data are not affected.

use std::fs;

use testkit::faults::{Fault, Running};

use crate::home::{Home, LIMIT, SESSION, each, none};

const FILE: &str = ".config/boswell/config.toml";

const SETTINGS: &str = "[session_memory]
enabled = true

[session_memory.retention]
raw_soft_cap_bytes = \"5GiB\"
raw_hard_cap_bytes = \"6GiB\"

[session_memory.ignore]
projects = [\"/home/ada/private\"]
";

#[test]
fn half_written_settings_are_told_with_their_place_and_cost_nothing() {
    let home = Home::with_logs();
    home.write(FILE, SETTINGS);
    home.sweep();
    let kept = home.answers().unwrap();
    let whole = home.run("sessions --json --no-sweep").stdout;
    assert!(whole.contains(SESSION), "{whole}");
    let ends: Vec<usize> = (0..=SETTINGS.len()).collect();
    let refused = std::sync::atomic::AtomicUsize::new(0);
    none(&each(&ends, |end| {
        let home = home.copy();
        let half = &SETTINGS[..*end];
        home.write(FILE, half);
        let mut told = Vec::new();
        let ended = home.run("sessions --json --no-sweep");
        match ended.status.code() {
            Some(0) if ended.stdout == whole => {}
            Some(2) => {
                refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let is_clear = ended.stdout.contains("\"config-") && ended.stdout.contains("config.toml");
                if !is_clear || ended.stderr.contains("panicked") {
                    told.push(format!("no clear word: {ended:?}"));
                }
            }
            _ => told.push(format!("{ended:?}")),
        }
        // A hook never reads settings, and a sweep reads them like any other command, so every eighth position is
        // enough.
        if end % 8 == 0 {
            let hook = home.run("hook claude");
            if hook.status.code() != Some(0) || !hook.stderr.is_empty() {
                told.push(format!("a hook suffers: {hook:?}"));
            }
            let sweep = home.run("sweep");
            if sweep.status.code() != ended.status.code() {
                told.push(format!("sweep: {sweep:?}"));
            }
            if home.answers().as_ref() != Ok(&kept) {
                told.push("the memory changed".to_owned());
            }
        }
        if fs::read_to_string(home.path.join(FILE)).unwrap() != half {
            told.push("the file changed".to_owned());
        }
        told.iter().map(|wrong| format!("{end} bytes: {wrong}")).collect()
    }));
    let refused = refused.into_inner();
    assert!(refused > 50, "only {refused} of {} halves are refused", ends.len());
}

#[test]
fn settings_are_written_wholly_or_not_at_all() {
    let home = Home::empty();
    home.write(FILE, SETTINGS);
    let clean = home.copy();
    let (ended, calls) = clean.run_with("config init --force", &Fault::None);
    assert!(ended.status.success(), "{ended:?}");
    let new = fs::read_to_string(clean.path.join(FILE)).unwrap();
    assert_ne!(new, SETTINGS);
    let last = calls.iter().filter_map(|call| call.number).max().unwrap();
    for at in 1..=last {
        for fault in [Fault::AbortAt(at), Fault::TornAt(at)] {
            let home = home.copy();
            home.run_with("config init --force", &fault);
            let now = fs::read_to_string(home.path.join(FILE)).unwrap_or_default();
            assert!(now == SETTINGS || now == new, "{fault:?} of {last}: {now:?}");
        }
    }
}

#[test]
fn a_key_of_masked_secrets_that_cannot_be_read_is_told_and_not_replaced() {
    let home = Home::with_logs();
    home.sweep();
    let kept = home.answers().unwrap();
    let key = home.path.join(".config/boswell/mask.key");
    fs::remove_file(&key).unwrap();
    fs::create_dir(&key).unwrap();
    let ended = home.run("sweep");
    let is_told = ended.stderr.contains("mask.key") && ended.stderr.contains("Hint: ");
    assert!(ended.status.code() == Some(2) && is_told, "{ended:?}");
    assert!(key.is_dir());
    assert_eq!(home.answers().unwrap(), kept);
}

#[test]
fn first_sweeps_beside_each_other_make_one_key() {
    for _ in 0..4 {
        let home = Home::with_logs();
        fs::remove_file(home.path.join(".config/boswell/mask.key")).unwrap();
        let sweeps: Vec<Running> = (0..4).map(|_| Running::start(&mut home.command("sweep"))).collect();
        for sweep in sweeps {
            let ended = sweep.end(LIMIT);
            assert!(ended.status.success(), "{ended:?}");
        }
        let again = home.copy();
        fs::remove_dir_all(again.store()).unwrap();
        again.sweep();
        assert_eq!(home.answers().unwrap(), again.answers().unwrap());
    }
}
