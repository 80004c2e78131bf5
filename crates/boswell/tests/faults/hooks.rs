//! Hooks under faults: many at once, beside a sweep, on a full disk, and with their ingest killed. No hook fails, and
//! each event is recorded once.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use memory::spool;
use memory::store::Store;
use testkit::faults::{Call, Errno, Fault, Running};

use crate::home::{Home, LIMIT, SESSION, claude_log, each, faults, none, takes_all, worth_a_crash, wrongs};

/// Number of consecutive page writes without a crash between two that have one.
const PAGES_BETWEEN: u64 = 12;
const CALLS: usize = 1_000;
const AT_ONCE: usize = 50;

fn command(home: &Home) -> Command {
    let mut command = home.command("hook claude --home");
    command.arg(home.store());
    command
}

/// Returns the payload with which Claude Code reports the end of a session.
fn ended(home: &Home, id: &str) -> String {
    let log = home.path.join(claude_log(id));
    let log = log.display();
    format!(r#"{{"session_id":"{id}","transcript_path":"{log}","hook_event_name":"SessionEnd","reason":"clear"}}"#)
}

fn call(mut command: Command, payload: &str) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The hook may exit before it has read all of it.
    _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    child.wait_with_output().unwrap()
}

/// Returns a problem unless the hook exited with 0 and printed nothing.
fn wrong_end(output: &Output) -> Vec<String> {
    let is_quiet = output.status.code() == Some(0) && output.stdout.is_empty() && output.stderr.is_empty();
    if is_quiet {
        Vec::new()
    } else {
        vec![format!("{output:?}")]
    }
}

/// Waits until the ingest that hooks started is done: it holds a lock while it works.
fn settle(home: &Home) {
    let path = home.store().join(spool::FOLDER).join("ingest.lock");
    if let Ok(lock) = fs::File::options().write(true).open(path) {
        lock.lock().unwrap();
    }
}

/// Returns every kept fact: the session, and the event reported for it.
fn facts(home: &Home) -> Vec<String> {
    let store = Store::open_existing(home.store()).unwrap().unwrap();
    let facts = store.reads().facts().unwrap().into_iter();
    facts
        .map(|fact| format!("{} {} {:?}", fact.session_uid, fact.event, fact.reason))
        .collect()
}

fn id(n: usize) -> String {
    format!("5e550000-0000-4000-8000-{n:012}")
}

/// Calls a thousand hooks, fifty at once, and checks how every call ends.
fn thousand(home: &Home, make: &(dyn Fn() -> Command + Sync)) {
    let next = AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= CALLS {
                        return;
                    }
                    let told = wrong_end(&call(make(), &ended(home, &id(n))));
                    wrong.lock().unwrap().extend(told);
                }
            });
        }
    });
    none(&wrong.into_inner().unwrap());
}

#[test]
fn a_thousand_calls_fifty_at_once_beside_a_sweep_lose_and_double_nothing() {
    let home = Home::with_logs();
    assert!(home.run("hooks install claude").status.success());
    let clean = home.copy();
    clean.sweep();
    let expected = clean.answers().unwrap();
    let sweep = Running::start(&mut home.command("sweep"));
    thousand(&home, &|| command(&home));
    assert!(sweep.end(LIMIT).status.success());
    settle(&home);
    home.sweep();
    assert!(spool::list_notes(&home.store()).is_empty());
    assert_eq!(spool::lost_notes(&home.store()), None);
    let told = facts(&home);
    assert_eq!(told.len(), CALLS);
    for (n, fact) in told.iter().enumerate() {
        assert_eq!(*fact, format!("claude:{} session_end Some(\"clear\")", id(n)));
    }
    none(&wrongs(&home, &expected));
}

#[test]
fn on_a_full_disk_every_call_succeeds_and_what_is_lost_is_counted() {
    let home = Home::with_logs();
    assert!(home.run("hooks install claude").status.success());
    home.sweep();
    let mut lost = 0;
    for with in [Errno::NoSpace, Errno::Io] {
        for from in 1..=12 {
            let home = home.copy();
            assert!(home.run("hooks install claude").status.success());
            let mut one = command(&home);
            let fault = Fault::Fails {
                with,
                from,
                to: u64::MAX,
            };
            faults().arm(&mut one, &home.path, &fault, None);
            none(&wrong_end(&call(one, &ended(&home, SESSION))));
            settle(&home);
            home.sweep();
            let counted = spool::lost_notes(&home.store()).map_or(0, |lost| lost.count);
            let told = facts(&home).len() as u64;
            // A broken disk may lose the count as well; a full disk may not.
            let is_counted = told + counted == 1 || (with == Errno::Io && told + counted == 0);
            assert!(is_counted, "{with:?} from {from}: {told} told, {counted} lost");
            lost += counted;
        }
    }
    assert!(lost > 1, "the disk was never full");
}

#[test]
fn a_thousand_calls_on_a_full_disk_succeed_and_each_is_told_or_counted() {
    let home = Home::with_logs();
    assert!(home.run("hooks install claude").status.success());
    home.sweep();
    let full = Fault::Fails {
        with: Errno::NoSpace,
        from: 1,
        to: u64::MAX,
    };
    thousand(&home, &|| {
        let mut one = command(&home);
        faults().arm(&mut one, &home.path, &full, None);
        one
    });
    settle(&home);
    home.sweep();
    let lost = spool::lost_notes(&home.store()).map_or(0, |lost| lost.count);
    assert_eq!(
        facts(&home).len() as u64 + lost,
        CALLS as u64,
        "{lost} were counted as lost"
    );
    assert!(lost > 0, "the disk was never full");
}

/// Returns a home with waiting notes and unread logs.
fn with_notes() -> Home {
    let home = Home::with_logs();
    assert!(home.run("hooks install claude").status.success());
    for n in 0..5 {
        let note = spool::HookNote {
            agent: transcript::Agent::Claude,
            session_id: if n == 0 { SESSION.to_owned() } else { id(n) },
            event: "session_end".to_owned(),
            log: Some(home.path.join(claude_log(SESSION))),
            subagent_log: None,
            reason: Some("clear".to_owned()),
            error: None,
            exit_code: None,
            at: home.now.parse().unwrap(),
        };
        spool::write_note(&home.store(), &format!("{n:016x}"), &note).unwrap();
    }
    home
}

fn ingest(home: &Home) -> String {
    format!("hook ingest --home {}", home.store().display())
}

#[test]
fn an_ingest_may_die_at_any_call() {
    let home = with_notes();
    let clean = home.copy();
    let (ended, calls) = clean.run_with(&ingest(&clean), &Fault::None);
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
    let told = facts(&clean);
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(spool::list_notes(&clean.store()).is_empty());
    clean.sweep();
    let expected = clean.answers().unwrap();
    let counted: Vec<&Call> = calls.iter().filter(|call| call.number.is_some()).collect();
    assert!(counted.len() > 20, "few calls were seen: {calls:?}");
    let stride = if takes_all() { 1 } else { 5 };
    let crashes: Vec<u64> = worth_a_crash(&counted, PAGES_BETWEEN)
        .map(|(n, _)| n)
        .step_by(stride)
        .collect();
    eprintln!("{} crashes of {} calls", crashes.len(), counted.len());
    let killed = AtomicUsize::new(0);
    none(&each(&crashes, |n| {
        let home = home.copy();
        let (ended, _) = home.run_with(&ingest(&home), &Fault::AbortAt(*n));
        killed.fetch_add(usize::from(ended.status.code().is_none()), Ordering::Relaxed);
        home.sweep();
        let mut wrong = wrongs(&home, &expected);
        if facts(&home) != told || spool::has_notes(&home.store()) {
            wrong.push(format!("facts: {:?}", facts(&home)));
        }
        wrong.iter().map(|wrong| format!("at {n}: {wrong}")).collect()
    }));
    assert!(
        killed.into_inner() * 2 > crashes.len(),
        "few of {} crashes came in time",
        crashes.len()
    );
}

#[test]
fn an_ingest_that_is_killed_at_any_moment_is_made_up_for_by_the_next() {
    let home = with_notes();
    let clean = home.copy();
    clean.sweep();
    let (expected, told) = (clean.answers().unwrap(), facts(&clean));
    for moment in [1, 30, 200, 330, 360, 400, 450, 600, 1_500] {
        let home = home.copy();
        let mut running = Running::start(&mut home.command(&ingest(&home)));
        running.ends_within(Duration::from_millis(moment));
        running.kill();
        home.sweep();
        none(&wrongs(&home, &expected));
        assert_eq!(facts(&home), told, "killed after {moment} ms");
    }
}

/// Returns a home with six unread logs.
fn with_six_logs() -> Home {
    let home = Home::with_logs();
    for n in 0..6 {
        let text = testkit::logs::ClaudeLog::new(&id(n))
            .at("2026-04-02T08:00:00Z")
            .prompt("do it");
        home.write(&claude_log(&id(n)), text.reply("Done.").jsonl());
    }
    home
}

/// Copies a home with six logs and adds a note for each log. Notes are written to the copy, because they contain
/// absolute paths.
fn copy_with_notes(home: &Home) -> Home {
    let home = home.copy();
    assert!(home.run("hooks install claude").status.success());
    for n in 0..6 {
        let note = spool::HookNote {
            agent: transcript::Agent::Claude,
            session_id: id(n),
            event: "session_end".to_owned(),
            log: Some(home.path.join(claude_log(&id(n)))),
            subagent_log: None,
            reason: Some("clear".to_owned()),
            error: None,
            exit_code: None,
            at: home.now.parse().unwrap(),
        };
        spool::write_note(&home.store(), &format!("{n:016x}"), &note).unwrap();
    }
    home
}

#[test]
fn the_next_ingest_reads_every_session_that_a_killed_one_left() {
    let home = with_six_logs();
    let clean = copy_with_notes(&home);
    let (_, calls) = clean.run_with(&ingest(&clean), &Fault::None);
    let counted = calls.iter().filter(|call| call.number.is_some()).count() as u64;
    let points = if takes_all() { 60 } else { 10 };
    let crashes: Vec<u64> = (1..=points).map(|point| 1 + counted * point / (points + 1)).collect();
    let killed = AtomicUsize::new(0);
    none(&each(&crashes, |n| {
        let home = copy_with_notes(&home);
        let (ended, _) = home.run_with(&ingest(&home), &Fault::AbortAt(*n));
        killed.fetch_add(usize::from(ended.status.code().is_none()), Ordering::Relaxed);
        // Starts the ingest with the next hook, because a sweep would read all logs anyway.
        none(&wrong_end(&call(command(&home), &self::ended(&home, &id(0)))));
        settle(&home);
        let store = Store::open_existing(home.store()).unwrap().unwrap();
        let known = |n: usize| store.reads().has_session(&format!("claude:{}", id(n))).unwrap();
        let missing: Vec<usize> = (0..6).filter(|n| !known(*n)).collect();
        let (told, waits) = (facts(&home).len(), spool::has_notes(&home.store()));
        match (missing.is_empty(), told >= 6, waits) {
            (true, true, false) => Vec::new(),
            _ => vec![format!("killed at {n}: {told} facts, {waits}, missing {missing:?}")],
        }
    }));
    assert!(killed.into_inner() > crashes.len() / 2, "few crashes came in time");
}
