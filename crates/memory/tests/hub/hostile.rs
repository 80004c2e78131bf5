//! A shared memory to which malicious machines write, and one whose move back is interrupted.

use jiff::Timestamp;
use memory::hub;
use memory::store::{CopyRow, Store, StoreError};
use testkit::logs::ClaudeLog;
use testkit::postgres::Postgres;

use super::world::{Machine, WAIT, assert_same, database};

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const UID: &str = "claude:5e550000-0000-4000-8000-000000000001";
const LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";

/// Returns a log that fills several frames, so that the session has a pack.
fn log(word: &str) -> String {
    let mut log = ClaudeLog::new(SESSION);
    for number in 0..24 {
        log = log.prompt(&format!("{word} {number} {}", "x".repeat(100_000)));
    }
    log.jsonl()
}

fn kept(store: &Store) -> String {
    let mut bytes = Vec::new();
    memory::kept::write_part(store, UID, "log", &mut bytes)
        .unwrap()
        .unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn pack_names_of_a_shared_memory_never_name_local_files() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (Machine::new("desk"), server.database());
    machine.write(LOG, log("word"));
    machine.sweep(&machine.at(&url)).unwrap();
    let outside = machine.path("outside");
    server.run_in(
        database(&url),
        "UPDATE frames SET pack = '../../outside' WHERE frame_no = 0; UPDATE frames SET pack = '/dev/null/x' WHERE frame_no = 1",
    );
    let there = Store::open(machine.at(&url)).unwrap();
    let mut back = Store::open(machine.local()).unwrap();
    hub::move_store(&there, &mut back, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert!(!outside.exists());
    assert_eq!(kept(&back), log("word"));
    assert_same(&there, &back);
}

#[test]
fn an_interrupted_move_back_leaves_the_old_memory_readable() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (Machine::new("desk"), server.database());
    machine.write(LOG, log("before"));
    machine.sweep(&machine.local()).unwrap();
    machine.write(LOG, log("since then"));
    machine.sweep(&machine.at(&url)).unwrap();
    let there = Store::open(machine.at(&url)).unwrap();
    let mut back = Store::open(machine.local()).unwrap();
    // The frames can be written, but their rows cannot.
    let other = rusqlite::Connection::open(machine.path("store").join(Store::DATABASE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let cut = hub::move_store(&there, &mut back, Timestamp::now(), WAIT, &|_, _| {});
    assert!(matches!(cut, Err(StoreError::Busy)), "{cut:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(kept(&back), log("before"));
    hub::move_store(&there, &mut back, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert_eq!(kept(&back), log("since then"));
    // The replaced packs are deleted from the disk.
    let files = walk(&machine.path("store/packs"));
    assert_eq!(files, back.reads().packs_of(UID).unwrap().len());
}

fn walk(directory: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn a_session_of_another_machine_is_never_read_from_a_local_file() {
    let Some(server) = Postgres::shared() else { return };
    let (desk, lap, url) = (Machine::new("desk"), Machine::new("lap"), server.database());
    desk.write(LOG, ClaudeLog::new(SESSION).prompt("word").jsonl());
    desk.sweep(&desk.at(&url)).unwrap();
    let copy = CopyRow {
        session_uid: UID.to_owned(),
        path: "/home/ada/page.html".to_owned(),
        kind: "page".to_owned(),
    };
    let mut there = Store::open(desk.at(&url)).unwrap();
    let (lock, now) = (there.lock(WAIT).unwrap(), Timestamp::now());
    let noted = there.write(&lock, now, "render", |tx| {
        tx.note_copy(&copy, now)?;
        Ok(((), "made a page".to_owned()))
    });
    noted.unwrap();
    drop(lock);
    server.run_in(
        database(&url),
        &format!("INSERT INTO copies (session_uid, path, kind, at) VALUES ('{UID}', '/home/ada/.netrc', 'page', 1)"),
    );
    assert_eq!(there.reads().copies_of(UID).unwrap(), std::slice::from_ref(&copy));
    let other = Store::open(lap.at(&url)).unwrap();
    assert_eq!(other.reads().copies_of(UID).unwrap(), []);
    // A moved session still names the machine that created it.
    let mut back = Store::open(desk.local()).unwrap();
    server.run_in(database(&url), "DELETE FROM copies WHERE at = 1");
    hub::move_store(&there, &mut back, now, WAIT, &|_, _| {}).unwrap();
    assert_eq!(back.reads().copies_of(UID).unwrap(), [copy]);
    let mut back = Store::open(lap.local()).unwrap();
    hub::move_store(&other, &mut back, now, WAIT, &|_, _| {}).unwrap();
    assert_eq!(back.reads().copies_of(UID).unwrap(), []);
}
