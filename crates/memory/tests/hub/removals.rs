//! What is removed from a memory that pushes to others is removed there, too. What other machines wrote stays.

use jiff::Timestamp;
use memory::annotations::{self, AnnotationText, Tag, TagChange};
use memory::digest::DigestSettings;
use memory::hub::{self, PushScope, PushSummary};
use memory::mask::{MaskKey, Masker, UserRules};
use memory::retention::{self, ForgetScope};
use memory::store::{AnnotationKind, Store, StoreLocation};
use serde_json::json;
use testkit::logs::ClaudeLog;
use testkit::postgres::Postgres;

use super::world::{Machine, WAIT, database, dump};

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const UID: &str = "claude:5e550000-0000-4000-8000-000000000001";
const LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";
const OTHER: &str = "claude:5e550000-0000-4000-8000-000000000002";
const OTHER_LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000002.jsonl";

fn log() -> ClaudeLog {
    ClaudeLog::new(SESSION)
        .title("a canary for a title")
        .prompt("let the canary sing")
        .tool("Bash", json!({"command": "cargo canary"}), "a canary in the output")
        .reply("the canary sings")
}

/// Creates a machine with one session that it shares with others, and one of its own.
fn machine(name: &str) -> Machine {
    let machine = Machine::new(name);
    machine.write(LOG, log().jsonl());
    machine.write(OTHER_LOG, ClaudeLog::new(OTHER).prompt("the other session").jsonl());
    machine.sweep_and_digest(&machine.local());
    machine
}

fn masker() -> Masker {
    Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap()
}

fn tag(place: &StoreLocation, word: &str, tagging: TagChange) {
    let mut store = Store::open(place).unwrap();
    let tags = [Tag::new(word, &masker()).unwrap()];
    annotations::change_tags(&mut store, WAIT, Timestamp::now(), UID, &tags, tagging).unwrap();
}

fn annotate(place: &StoreLocation, kind: AnnotationKind, text: &str) {
    let mut store = Store::open(place).unwrap();
    let text = AnnotationText::new(kind, text, &masker()).unwrap();
    annotations::annotate(&mut store, WAIT, Timestamp::now(), UID, kind, &text).unwrap();
}

/// Sets or clears the keep flag of a session, like the command.
fn keep(place: &StoreLocation, is_kept: bool) {
    let mut store = Store::open(place).unwrap();
    let (lock, now) = (store.lock(WAIT).unwrap(), Timestamp::now());
    let done = store.write(&lock, now, "keep", |tx| match is_kept {
        true => Ok((tx.keep(UID, now)?, format!("keeps {UID} for good"))),
        false => Ok((tx.drop_keep(UID)?, format!("no longer keeps {UID} for good"))),
    });
    assert!(done.unwrap());
}

fn forget(place: &StoreLocation, reach: ForgetScope) {
    let mut store = Store::open(place).unwrap();
    let remains = retention::list_remains(&store.reads(), &[UID.to_owned()]).unwrap();
    let task_pattern = regex::Regex::new("T-[0-9]+").unwrap();
    let digests = DigestSettings {
        now: Timestamp::now(),
        task_pattern: &task_pattern,
    };
    retention::forget_sessions(&mut store, WAIT, &remains, reach, &digests, "forget").unwrap();
}

fn push(machine: &Machine, url: &str) -> PushSummary {
    let local = Store::open(machine.local()).unwrap();
    let mut there = Store::open(machine.at(url)).unwrap();
    hub::push_sessions(&local, &mut there, &|_| Ok(PushScope::Full), Timestamp::now(), WAIT).unwrap()
}

fn tags(machine: &Machine, url: &str) -> Vec<String> {
    let there = Store::open(machine.at(url)).unwrap();
    there.reads().annotations_of(UID).unwrap().tags
}

#[test]
fn an_annotation_removed_here_is_removed_there_and_those_of_others_stay() {
    let Some(server) = Postgres::shared() else { return };
    let (desk, lap, url) = (machine("desk"), machine("lap"), server.database());
    tag(&desk.local(), "bird", TagChange::Add);
    tag(&desk.local(), "both", TagChange::Add);
    annotate(&desk.local(), AnnotationKind::Name, "my canary");
    annotate(&desk.local(), AnnotationKind::Note, "a note on it");
    keep(&desk.local(), true);
    push(&desk, &url);
    tag(&lap.local(), "both", TagChange::Add);
    tag(&lap.local(), "lap", TagChange::Add);
    push(&lap, &url);
    tag(&desk.at(&url), "direct", TagChange::Add);
    assert_eq!(tags(&desk, &url), ["bird", "both", "direct", "lap"]);

    for word in ["bird", "both"] {
        tag(&desk.local(), word, TagChange::Remove);
    }
    annotate(&desk.local(), AnnotationKind::Name, "");
    annotate(&desk.local(), AnnotationKind::Note, "");
    keep(&desk.local(), false);
    assert_eq!(push(&desk, &url).taken_back, 5);
    let there = Store::open(desk.at(&url)).unwrap();
    let said = there.reads().annotations_of(UID).unwrap();
    assert_eq!((said.name, said.note), (None, None));
    assert!(!there.reads().is_kept(UID).unwrap());
    assert_eq!(said.tags, ["direct", "lap"]);
    // If two machines added a tag, the other one still has it, and it is no longer ours to remove.
    assert_eq!(push(&lap, &url).beside, 1);
    assert_eq!(push(&desk, &url).taken_back, 0);
    assert_eq!(tags(&desk, &url), ["both", "direct", "lap"]);
    // If it is added again, it is back. A name that another machine has set since is not removed with ours.
    tag(&desk.local(), "bird", TagChange::Add);
    annotate(&desk.local(), AnnotationKind::Name, "mine");
    push(&desk, &url);
    annotate(&lap.local(), AnnotationKind::Name, "theirs");
    push(&lap, &url);
    annotate(&desk.local(), AnnotationKind::Name, "");
    assert_eq!(push(&desk, &url).taken_back, 0);
    assert_eq!(tags(&desk, &url), ["bird", "both", "direct", "lap"]);
    let there = Store::open(desk.at(&url)).unwrap();
    assert_eq!(there.reads().annotations_of(UID).unwrap().name.unwrap(), "theirs");
}

#[test]
fn a_memory_copied_from_the_shared_one_removes_nothing_there() {
    let Some(server) = Postgres::shared() else { return };
    let (desk, lap, url) = (machine("desk"), Machine::new("lap"), server.database());
    push(&desk, &url);
    tag(&desk.at(&url), "direct", TagChange::Add);
    let there = Store::open(desk.at(&url)).unwrap();
    let mut local = Store::open(lap.local()).unwrap();
    hub::move_store(&there, &mut local, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    drop(local);
    tag(&lap.local(), "direct", TagChange::Remove);
    assert_eq!(push(&lap, &url).taken_back, 0);
    assert_eq!(tags(&desk, &url), ["direct"]);
}

#[test]
fn a_session_forgotten_here_is_deleted_there_and_cannot_come_back() {
    let Some(server) = Postgres::shared() else { return };
    for reach in [ForgetScope::Raw, ForgetScope::WithDigest] {
        let (desk, lap, url) = (machine("desk"), machine("lap"), server.database());
        tag(&desk.local(), "canary", TagChange::Add);
        annotate(&desk.local(), AnnotationKind::Note, "a canary note");
        push(&desk, &url);
        assert!(dump(server, &url).contains("canary"));
        let before = database_rows(server, &url, OTHER);
        forget(&desk.local(), reach);
        let pushed = push(&desk, &url);
        assert_eq!(
            (pushed.forgotten, pushed.sessions, pushed.beside),
            (1, 0, 0),
            "{reach:?}"
        );
        for try_again in [false, true] {
            if try_again {
                // Neither the machine that forgot it nor one with a copy of its log can push or sweep it.
                assert_eq!(push(&desk, &url).forgotten, 0);
                push(&lap, &url);
                lap.sweep_and_digest(&lap.at(&url));
            }
            let all = dump(server, &url);
            let hex: String = "canary".bytes().map(|byte| format!("{byte:02x}")).collect();
            let contents: Vec<&str> = all
                .lines()
                .filter(|line| line.contains("canary") || line.contains(&hex))
                .collect();
            assert_eq!(contents, Vec::<&str>::new(), "{reach:?}");
            // Only the tombstone names it.
            let named = all.lines().filter(|line| line.contains(UID));
            let tables: Vec<&str> = named.filter_map(|line| line.split(' ').next()).collect();
            assert!(
                tables.iter().all(|table| ["tombstones", "operations"].contains(table)),
                "{tables:?}"
            );
            assert!(tables.contains(&"tombstones"));
        }
        assert_eq!(before, database_rows(server, &url, OTHER));
    }
}

#[test]
fn a_session_forgotten_before_a_push_is_never_pushed() {
    let Some(server) = Postgres::shared() else { return };
    let (desk, url) = (machine("desk"), server.database());
    tag(&desk.local(), "canary", TagChange::Add);
    forget(&desk.local(), ForgetScope::Raw);
    let pushed = push(&desk, &url);
    assert_eq!((pushed.sessions, pushed.left, pushed.beside), (1, 1, 0));
    let all = dump(server, &url);
    assert!(!all.contains(UID) && !all.contains("canary"), "{all}");
}

/// Returns the number of rows that mention a session, for each table.
fn database_rows(server: &Postgres, url: &str, uid: &str) -> Vec<usize> {
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table} WHERE session_uid = '{uid}'");
        server.run_in(database(url), &sql).parse().unwrap()
    };
    ["sessions", "frames", "tails", "words", "turns", "views", "digests"]
        .map(count)
        .to_vec()
}

#[test]
fn a_session_of_another_machine_stays_when_it_is_forgotten_here() {
    let Some(server) = Postgres::shared() else { return };
    let (desk, lap, url) = (machine("desk"), machine("lap"), server.database());
    lap.write(LOG, log().prompt("and on the lap").jsonl());
    lap.sweep_and_digest(&lap.local());
    push(&desk, &url);
    push(&lap, &url);
    forget(&desk.local(), ForgetScope::WithDigest);
    assert_eq!(push(&desk, &url).forgotten, 0);
    let there = Store::open(desk.at(&url)).unwrap();
    assert!(there.reads().has_raw_text(UID).unwrap());
    assert_eq!(push(&lap, &url).unchanged, 2);
}

#[test]
fn a_session_forgotten_while_the_server_is_down_is_deleted_once_it_is_back() {
    let Some(server) = Postgres::start() else { return };
    let (desk, url) = (machine("desk"), server.database());
    tag(&desk.local(), "bird", TagChange::Add);
    push(&desk, &url);
    forget(&desk.local(), ForgetScope::Raw);
    tag(&desk.local(), "bird", TagChange::Remove);
    desk.write(
        OTHER_LOG,
        ClaudeLog::new(OTHER)
            .prompt("the other session")
            .prompt("goes on")
            .jsonl(),
    );
    desk.sweep_and_digest(&desk.local());
    let cut = || {
        server.run(&format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{}'",
            database(&url)
        ));
    };
    let local = Store::open(desk.local()).unwrap();
    // Interrupted before anything was sent, and once between the two removals.
    let mut there = Store::open(desk.at(&url)).unwrap();
    let right = there.lock(WAIT).unwrap();
    cut();
    let full = |_: &str| Ok(PushScope::Full);
    assert!(hub::push_sessions(&local, &mut there, &full, Timestamp::now(), WAIT).is_err());
    drop(right);
    let halfway = |_: &str| {
        server.restart();
        Ok(PushScope::Full)
    };
    let mut there = Store::open(desk.at(&url)).unwrap();
    _ = hub::push_sessions(&local, &mut there, &halfway, Timestamp::now(), WAIT);
    push(&desk, &url);
    let there = Store::open(desk.at(&url)).unwrap();
    assert!(there.reads().has_tombstone(UID).unwrap() && !there.reads().has_session(UID).unwrap());
    assert!(!dump(&server, &url).contains("canary"));
    let turns = "SELECT count(*) FROM turns WHERE session_uid = ";
    assert_eq!(server.run_in(database(&url), &format!("{turns}'{OTHER}'")), "2");
    let again = push(&desk, &url);
    assert_eq!(
        (again.sessions, again.forgotten, again.taken_back, again.beside),
        (0, 0, 0, 0)
    );
}

#[test]
fn a_concurrent_push_or_forget_of_another_machine_is_respected() {
    let Some(server) = Postgres::shared() else { return };
    let (desk, lap) = (machine("desk"), machine("lap"));
    let longer = log().prompt("and on the lap").jsonl();
    lap.write(LOG, &longer);
    lap.sweep_and_digest(&lap.local());
    let local = Store::open(desk.local()).unwrap();
    // Another machine pushes more between our check and our push.
    let url = server.database();
    let mut there = Store::open(desk.at(&url)).unwrap();
    let meanwhile = |uid: &str| {
        if uid == UID {
            push(&lap, &url);
        }
        Ok(PushScope::Full)
    };
    let pushed = hub::push_sessions(&local, &mut there, &meanwhile, Timestamp::now(), WAIT).unwrap();
    assert_eq!((pushed.sessions, pushed.left), (0, 2), "{pushed:?}");
    let mut kept = Vec::new();
    memory::kept::write_part(&there, UID, "log", &mut kept)
        .unwrap()
        .unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), longer);
    // Another machine forgets it.
    let url = server.database();
    let mut there = Store::open(desk.at(&url)).unwrap();
    let meanwhile = |uid: &str| {
        if uid == UID {
            forget(&lap.at(&url), ForgetScope::WithDigest);
        }
        Ok(PushScope::Full)
    };
    let pushed = hub::push_sessions(&local, &mut there, &meanwhile, Timestamp::now(), WAIT).unwrap();
    assert_eq!((pushed.sessions, pushed.left), (1, 1), "{pushed:?}");
    assert!(!there.reads().has_session(UID).unwrap());
}
