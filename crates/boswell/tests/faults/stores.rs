//! Memories written by older versions of this program, one for each version of the schema: the current binary upgrades
//! them and loses nothing. One was written by a newer version.
//!
//! `fixtures/stores/N.tar.gz` is a home with logs, a key, and the memory that a binary with schema N wrote for them.
//! For versions that were never built, the fixture was made from the one before it by the migration steps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use memory::store::Store;

use crate::home::{Home, none};

/// The newest version. A change that adds a migration step adds a fixture.
const NEWEST: u32 = 10;
const STORES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/stores");
const LATER: &str = "2026-04-03T09:00:00Z";

/// Returns a home as an older version left it.
fn home_of(version: u32) -> Home {
    unpacked(&Path::new(STORES).join(format!("{version}.tar.gz")))
}

fn unpacked(packed: &Path) -> Home {
    let mut home = Home::empty();
    fs::remove_dir_all(&home.path).unwrap();
    fs::create_dir_all(&home.path).unwrap();
    let unpacked = Command::new("tar")
        .arg("-xzf")
        .arg(packed)
        .arg("-C")
        .arg(&home.path)
        .status();
    assert!(unpacked.unwrap().success());
    home.now = LATER.to_owned();
    home
}

/// Returns the schema version in the header of the database file.
fn version(home: &Home) -> u32 {
    let bytes = fs::read(home.store().join("store.db")).unwrap();
    u32::from_be_bytes(bytes[60..64].try_into().unwrap())
}

/// Returns kept lines by session and part, and rows that are derived from lines.
fn kept(home: &Home) -> BTreeMap<String, Vec<String>> {
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for answer in home.answers().unwrap() {
        if answer.starts_with("SessionRow") {
            continue;
        }
        let (name, text) = answer.split_once('\n').unwrap_or(("rows", &answer));
        // The version that wrote the row may not have known a field that is null.
        let text = text.replace(",\"rate_limits\":null", "");
        kept.entry(name.to_owned()).or_default().push(text);
    }
    kept
}

/// Returns answers to common questions, without the values that depend on when the logs were read.
fn asked(home: &Home) -> Vec<String> {
    [
        "sessions --json --no-sweep",
        "usage --json --no-sweep",
        "search orchard --json --no-sweep",
    ]
    .iter()
    .map(|line| {
        let ended = home.run(line);
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{line}: {ended:?}");
        ended.stdout
    })
    .collect()
}

#[test]
fn a_memory_of_every_older_version_is_taken_over_whole() {
    for of in 1..=NEWEST {
        let home = home_of(of);
        assert_eq!(version(&home), of, "the fixture");
        let old = Store::open_existing(home.store())
            .unwrap()
            .unwrap()
            .reads()
            .sessions()
            .unwrap();
        // Reading changes nothing, and the questions are answered.
        let sessions = home.run("sessions --json --no-sweep");
        assert!(sessions.status.success() && old.len() > 3, "{of}: {sessions:?}");
        assert_eq!(version(&home), of, "asking is no reason to change a file");

        let fresh = home.copy();
        fs::remove_dir_all(fresh.store()).unwrap();
        fresh.sweep();
        let without_logs = home.copy();
        for root in [".claude", ".codex", ".grok"] {
            fs::remove_dir_all(without_logs.path.join(root)).unwrap();
        }
        let expected = kept(&fresh);
        assert!(expected.len() > 5, "{of}: {:?}", expected.keys());
        for (home, with_logs) in [(&home, true), (&without_logs, false)] {
            home.sweep();
            assert_eq!(version(home), NEWEST, "{of}");
            let deep = home.run("doctor --deep");
            assert!(deep.status.success(), "{of}, logs: {with_logs}: {deep:?}");
            let now = kept(home);
            let wrong: Vec<String> = expected
                .iter()
                .filter(|(name, text)| now.get(*name) != Some(text))
                .map(|(name, _)| format!("schema {of}, logs: {with_logs}: {name}"))
                .collect();
            none(&wrong);
            let sessions = Store::open_existing(home.store())
                .unwrap()
                .unwrap()
                .reads()
                .sessions()
                .unwrap();
            let first = |rows: &[memory::store::SessionRow]| -> Vec<(String, i64)> {
                rows.iter()
                    .map(|row| (row.session_uid.clone(), row.discovered_at))
                    .collect()
            };
            assert_eq!(first(&sessions), first(&old), "{of}: since when sessions are known");
        }
        let (taken_over, new) = (asked(&home), asked(&fresh));
        assert_eq!(taken_over[1], new[1], "{of}: what was used");
        let hits = |told: &str| told.matches("orchard").count();
        assert!(
            hits(&new[2]) > 0 && hits(&taken_over[2]) == hits(&new[2]),
            "{of}: what is found"
        );
    }
}

/// A session can be exported to a server without an upgrade, because the memory may be read-only.
#[test]
fn what_the_version_before_wrote_can_be_carried_as_it_is() {
    let home = home_of(NEWEST - 1);
    let store = Store::open_existing(home.store()).unwrap().unwrap();
    for session in store.reads().sessions().unwrap() {
        let load = store.reads().export_session(&session.session_uid).unwrap();
        assert!(load.has_text(), "{}", session.session_uid);
    }
    assert_eq!(version(&home), NEWEST - 1);
}

#[test]
fn the_users_own_words_come_over() {
    let home = home_of(7);
    home.sweep();
    let told = ["decisions --json", "sessions --json --no-sweep --tag harvest"].map(|line| home.run(line).stdout);
    assert!(told[0].contains("rye before barley"), "{}", told[0]);
    assert!(told[1].contains("harvest"), "{}", told[1]);
}

/// Changes two numbers in the header of a database file.
fn set_numbers(home: &Home, version: u32, needs: u32) {
    let database = home.store().join("store.db");
    let mut bytes = fs::read(&database).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    bytes[68..72].copy_from_slice(&needs.to_be_bytes());
    fs::write(database, bytes).unwrap();
}

/// Returns how often a text occurs in the database file.
fn count(home: &Home, text: &str) -> usize {
    let bytes = fs::read(home.store().join("store.db")).unwrap();
    bytes
        .windows(text.len())
        .filter(|window| *window == text.as_bytes())
        .count()
}

/// `fixtures/stores/newer.tar.gz` has a table, a column, and rows in both that this version does not know.
#[test]
fn a_memory_of_a_newer_version_is_used_and_what_is_new_in_it_stays() {
    let packed = Path::new(STORES).join("newer.tar.gz");
    let home = unpacked(&packed);
    assert_eq!(version(&home), NEWEST + 1);
    let (in_table, in_column) = (count(&home, "mood-in-a-table"), count(&home, "mood-in-a-column"));
    assert!(in_table > 0 && in_column > 3, "{in_table} {in_column}");
    home.sweep();
    let before = kept(&home);
    assert!(home.run("doctor --deep").status.success());
    assert!(home.run("rebuild").status.success());
    home.sweep();
    assert_eq!(kept(&home), before);
    assert_eq!(
        version(&home),
        NEWEST + 1,
        "an older binary does not say that it made the newer one"
    );
    assert_eq!(count(&home, "mood-in-a-table"), in_table);
    assert!(count(&home, "mood-in-a-column") >= in_column);
}

#[test]
fn a_memory_that_needs_a_newer_version_is_refused_with_a_clear_word_and_not_touched() {
    let home = home_of(NEWEST);
    home.sweep();
    set_numbers(&home, NEWEST + 1, NEWEST + 1);
    let before = fs::read(home.store().join("store.db")).unwrap();
    for line in [
        "sweep",
        "sessions",
        "sessions --no-sweep",
        "doctor --deep",
        "doctor --repair",
        "rebuild",
        "evict",
        "status",
    ] {
        let ended = home.run(line);
        let needed = format!("requires version {}", NEWEST + 1);
        let is_told = ended.stderr.contains(&needed) && ended.stderr.contains("Hint: update");
        assert!(ended.status.code() == Some(2) && is_told, "{line}: {ended:?}");
        assert!(
            fs::read(home.store().join("store.db")).unwrap() == before,
            "{line} changed it"
        );
    }
    assert!(home.run("hook claude").status.success());
}
