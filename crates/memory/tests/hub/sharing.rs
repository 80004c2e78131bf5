//! What leaves a machine that pushes to others, and what does not.

use jiff::Timestamp;
use memory::hub::{self, PushScope, PushSummary};
use memory::store::{AnnotationKind, SessionFact, Store};
use serde_json::json;
use testkit::logs::ClaudeLog;
use testkit::postgres::Postgres;

use super::world::{Machine, WAIT, database, dump};

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const UID: &str = "claude:5e550000-0000-4000-8000-000000000001";
const LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";

/// Returns a log with the word in every place that can contain text.
fn log() -> ClaudeLog {
    ClaudeLog::new(SESSION)
        .at("2026-03-01T09:00:00Z")
        .cwd("/home/ada/app")
        .branch("main")
        .title("a canary for a title")
        .prompt("let the canary sing, see T-77")
        .think("a canary thinks")
        .reply("the canary sings")
        .tool(
            "Bash",
            json!({"command": "cargo canary --sing"}),
            "a canary in the output",
        )
        .failed_tool("Bash", json!({"command": "make canary"}), "error: no canary")
        .failed_tool("Bash", json!({"command": "make canary"}), "error: no canary")
        .tool("Bash", json!({"command": "cargo test canary"}), "test canary ... ok")
        .tool(
            "Bash",
            json!({"command": "git commit -m canary"}),
            "[main 1234567] canary",
        )
        .tool(
            "Edit",
            json!({"file_path": "/home/ada/app/canary.rs", "old_string": "canary", "new_string": "bird"}),
            "done with canary",
        )
        .tool(
            "Task",
            json!({"description": "a canary", "prompt": "canary", "subagent_type": "canary"}),
            "canary",
        )
        .denied_tool("Bash", json!({"command": "rm canary"}), "not the canary")
        .prompt("canary once more")
        .reply("the last words of a canary")
}

fn machine() -> Machine {
    let machine = Machine::new("desk");
    machine.write(LOG, log().jsonl());
    machine.sweep_and_digest(&machine.local());
    let mut local = Store::open(machine.local()).unwrap();
    let (lock, now) = (local.lock(WAIT).unwrap(), Timestamp::now());
    let written = local.write(&lock, now, "test", |tx| {
        tx.add_tag(UID, "bird", now, 1)?;
        tx.annotate(UID, AnnotationKind::Name, "my canary", now, 1)?;
        tx.annotate(UID, AnnotationKind::Note, "a note on the canary", now, 1)?;
        tx.add_decision(Some(UID), "birds are kept", now, 1)?;
        tx.add_decision(None, "no cats", now, 1)?;
        tx.keep(UID, now)?;
        let fact = SessionFact {
            session_uid: UID.to_owned(),
            key: "exit".to_owned(),
            agent: "claude".to_owned(),
            at: now,
            event: "exit".to_owned(),
            reason: Some("the canary left".to_owned()),
            error: Some("canary".to_owned()),
            exit_code: Some(3),
        };
        tx.put_fact(&fact)?;
        Ok(((), "said something".to_owned()))
    });
    written.unwrap();
    drop(lock);
    // The annotations are in the digest, too.
    machine.sweep_and_digest(&machine.local());
    machine
}

fn push(machine: &Machine, url: &str, share: PushScope) -> PushSummary {
    let local = Store::open(machine.local()).unwrap();
    let mut there = Store::open(machine.at(url)).unwrap();
    hub::push_sessions(&local, &mut there, &|_| Ok(share), Timestamp::now(), WAIT).unwrap()
}

fn count(server: &Postgres, url: &str, table: &str) -> String {
    server.run_in(database(url), &format!("SELECT count(*) FROM {table}"))
}

#[test]
fn no_text_of_a_session_pushed_as_a_digest_leaves_the_machine() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (machine(), server.database());
    let pushed = push(&machine, &url, PushScope::Digests);
    assert_eq!((pushed.sessions, pushed.beside), (1, 5));
    let all = dump(server, &url);
    let hex: String = "canary".bytes().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<&str> = all
        .lines()
        .filter(|line| line.to_lowercase().contains("canary") || line.contains(&hex) || line.contains("T-77"))
        .collect();
    assert_eq!(lines, Vec::<&str>::new());
    for table in [
        "frames",
        "tails",
        "events",
        "filters",
        "words",
        "readers",
        "faults",
        "prompts",
        "annotations",
    ] {
        assert_eq!(count(server, &url, table), "0", "{table}");
    }
    // What may be shared is there: numbers, tools, the outcome, and annotations that are meant to be found.
    let local = Store::open(machine.local()).unwrap();
    let there = Store::open(machine.at(&url)).unwrap();
    let digest = |store: &Store| store.reads().digest_of(UID).unwrap().unwrap().digest;
    let (ours, theirs) = (digest(&local), digest(&there));
    assert!(ours.texts().any(|text| text.contains("canary")));
    assert_eq!(
        (&ours.tools, &ours.tokens, ours.turns),
        (&theirs.tools, &theirs.tokens, theirs.turns)
    );
    assert_eq!(
        (ours.errors.count, ours.outcome.outcome),
        (theirs.errors.count, theirs.outcome.outcome)
    );
    assert_eq!(theirs.files[0].path, "*.rs");
    assert_eq!(local.reads().calls().unwrap(), there.reads().calls().unwrap());
    assert_eq!(there.reads().annotations_of(UID).unwrap().tags, ["bird"]);
    assert_eq!(there.reads().facts_of(UID).unwrap()[0].exit_code, Some(3));
    let decisions = there.reads().decisions().unwrap();
    let decisions: Vec<&str> = decisions.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(decisions, ["birds are kept", "no cats"]);
    assert!(there.reads().is_kept(UID).unwrap());
}

#[test]
fn a_second_push_adds_no_copy_and_updates_what_changed() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (machine(), server.database());
    let first = push(&machine, &url, PushScope::Full);
    assert_eq!((first.sessions, first.beside), (1, 7));
    let before = dump(server, &url);
    let again = push(&machine, &url, PushScope::Full);
    assert_eq!((again.sessions, again.unchanged, again.beside), (0, 1, 0));
    assert_eq!(before, dump(server, &url));
    let name = |url: &str| {
        let there = Store::open(machine.at(url)).unwrap();
        there.reads().annotations_of(UID).unwrap().name.unwrap()
    };
    assert_eq!(name(&url), "my canary");
    let mut local = Store::open(machine.local()).unwrap();
    let (lock, now) = (local.lock(WAIT).unwrap(), Timestamp::now());
    let written = local.write(&lock, now, "test", |tx| {
        tx.annotate(UID, AnnotationKind::Name, "a better name", now, 1)?;
        Ok(((), "said something".to_owned()))
    });
    written.unwrap();
    drop(lock);
    assert_eq!(push(&machine, &url, PushScope::Full).beside, 1);
    assert_eq!(name(&url), "a better name");
    // A machine that forgets a session there gets neither the session nor its annotations back.
    let mut there = Store::open(machine.at(&url)).unwrap();
    let lock = there.lock(WAIT).unwrap();
    let buried = there.write(&lock, now, "test", |tx| {
        tx.add_tombstone(UID, now)?;
        tx.drop_session(UID)?;
        tx.drop_annotations(UID)?;
        Ok(((), "forgot it".to_owned()))
    });
    buried.unwrap();
    drop(lock);
    let pushed = push(&machine, &url, PushScope::Full);
    assert_eq!((pushed.sessions, pushed.left, pushed.beside), (0, 1, 0));
}

#[test]
fn two_logs_of_one_session_with_different_beginnings_are_not_mixed() {
    let Some(server) = Postgres::shared() else { return };
    let line = |word: &str| ClaudeLog::new(SESSION).prompt(word).jsonl();
    let long = |word: &str| {
        (0..40)
            .map(|at| line(&format!("{word} {at} {}", "x".repeat(200))))
            .collect::<String>()
    };
    for (first, second) in [
        // Short logs, long ones, and one of each.
        (line("one"), line("other") + &line("two")),
        (long("one"), long("other") + &line("two")),
        (line("one"), long("other")),
    ] {
        let (desk, lap, url) = (Machine::new("desk"), Machine::new("lap"), server.database());
        desk.write(LOG, &first);
        lap.write(LOG, &second);
        desk.sweep(&desk.local()).unwrap();
        lap.sweep(&lap.local()).unwrap();
        push(&desk, &url, PushScope::Full);
        let pushed = push(&lap, &url, PushScope::Full);
        assert_eq!((pushed.sessions, pushed.apart.as_slice()), (0, &[UID.to_owned()][..]));
        let kept = |url: &str| {
            let (there, mut bytes) = (Store::open(desk.at(url)).unwrap(), Vec::new());
            memory::kept::write_part(&there, UID, "log", &mut bytes)
                .unwrap()
                .unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(kept(&url), first);
        // The same if both keep their memory there, and the difference is reported each time.
        let shared = server.database();
        desk.sweep(&desk.at(&shared)).unwrap();
        for _ in 0..2 {
            let report = lap.sweep(&lap.at(&shared)).unwrap();
            assert_eq!(report.unread.len(), 1, "{:?}", report.unread);
        }
        assert_eq!(kept(&shared), first);
        // A log that starts with the other machine's lines continues them.
        desk.write(LOG, first.clone() + &line("three"));
        assert_eq!(desk.sweep(&desk.at(&shared)).unwrap().unread.len(), 0);
        assert_eq!(kept(&shared), first.clone() + &line("three"));
        lap.write(LOG, first.clone() + &line("three") + &line("four"));
        assert_eq!(lap.sweep(&lap.at(&shared)).unwrap().unread.len(), 0);
        assert_eq!(kept(&shared), first + &line("three") + &line("four"));
    }
}
