//! Everything that can break a cursor of path, size, time and offset: each hazard of the agents' logs, with a real
//! store.

use std::fs;
use std::path::Path;

use testkit::truth;
use transcript::{Call, counted};

use super::home::{Home, LOG, UID, full_home, prompt};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
const DAY: &str = ".codex/sessions/2026/03/01";

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(FIXTURES).join(name)).unwrap()
}

fn uids(home: &Home) -> Vec<String> {
    let sessions = home.store().reads().sessions().unwrap();
    sessions.into_iter().map(|session| session.session_uid).collect()
}

/// The same session at a new path: archived, moved with its directory, or moved to another project.
#[test]
fn a_moved_session_is_recognised_and_not_read_again() {
    let home = full_home();
    let rollout = "rollout-2026-03-01T10-00-00-01990000-0000-7000-8000-000000000011.jsonl";
    home.write(&format!("{DAY}/{rollout}"), fixture("codex/import.jsonl"));
    home.write(LOG, prompt("one"));
    home.sweep();
    let (rows, known) = (home.rows(), uids(&home));

    fs::create_dir_all(home.path(".codex/archived_sessions")).unwrap();
    fs::rename(
        home.path(&format!("{DAY}/{rollout}")),
        home.path(&format!(".codex/archived_sessions/{rollout}")),
    )
    .unwrap();
    let (from, to) = (home.path(".grok/sessions"), home.path(".grok/aside"));
    fs::rename(&from, &to).unwrap();
    fs::create_dir_all(&from).unwrap();
    let entry = fs::read_dir(&to).unwrap().next().unwrap().unwrap();
    fs::rename(entry.path(), from.join("%2Fhome%2Fada%2Felsewhere")).unwrap();
    let elsewhere = LOG.replace("-home-ada-app", "-home-ada-other");
    fs::create_dir_all(home.path(&elsewhere).parent().unwrap()).unwrap();
    fs::rename(home.path(LOG), home.path(&elsewhere)).unwrap();

    let report = home.sweep();
    assert_eq!((report.bytes_read, report.sessions_new), (0, 0), "{report:?}");
    assert_eq!(uids(&home), known);
    assert_eq!(home.rows(), rows);
    assert_eq!(home.sweep().bytes_checked, 0, "the new places are remembered");
}

/// The same path with different bytes: replaced by a rename, or truncated and written again.
#[test]
fn a_replaced_or_rewritten_log_is_read_from_the_beginning() {
    let home = Home::new();
    let rollout = format!("{DAY}/rollout-2026-03-01T10-00-00-01990000-0000-7000-8000-000000000011.jsonl");
    home.write(&rollout, fixture("codex/import.jsonl"));
    home.write(LOG, prompt("one") + &prompt("two"));
    home.sweep();
    let shorter = prompt("another") + &prompt("story") + &prompt("with more lines");
    home.write(LOG, &shorter);
    let migrated = [
        fixture("codex/import.jsonl"),
        b"{\"type\":\"compacted\",\"payload\":{}}\n".to_vec(),
    ]
    .concat();
    let migrated = String::from_utf8(migrated)
        .unwrap()
        .replace("an old question", "an other question");
    home.write("aside", &migrated);
    fs::rename(home.path("aside"), home.path(&rollout)).unwrap();
    home.sweep();
    assert_eq!(home.cat(UID), shorter);
    assert_eq!(home.cat("codex:01990000-0000-7000-8000-000000000011"), migrated);
}

/// An old directory with new bytes: a resumed thread grows in the directory of the day on which it started.
#[test]
fn a_thread_resumed_after_months_grows_in_its_first_directory() {
    let home = Home::new();
    let old = "01990000-0000-7000-8000-000000000011";
    let path = format!("{DAY}/rollout-2026-03-01T10-00-00-{old}.jsonl");
    home.write(&path, fixture("codex/import.jsonl"));
    home.write(
        ".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-01990000-0000-7000-8000-000000000099.jsonl",
        fixture("codex/g5.jsonl"),
    );
    home.sweep();
    let more = "{\"timestamp\":\"2026-11-02T10:00:00.000Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"months later\"}}\n";
    let log = String::from_utf8(fixture("codex/import.jsonl")).unwrap() + more;
    home.write(&path, &log);
    let report = home.sweep();
    assert_eq!((report.files_read, report.bytes_read), (1, more.len() as u64));
    assert_eq!(home.cat(&format!("codex:{old}")), log);
}

/// Copied history: forks, replays and subagents repeat calls. Each call counts once, whichever log was read first.
#[test]
fn copied_history_is_counted_once() {
    let home = Home::new();
    let claude = truth::claude(3, 12);
    for (path, bytes) in &claude.files {
        home.write(&format!(".claude/{path}"), bytes);
    }
    home.sweep();
    let calls: Vec<Call> = home
        .store()
        .reads()
        .calls()
        .unwrap()
        .into_iter()
        .map(|(_, call)| call)
        .collect();
    let calls: Vec<&Call> = calls.iter().collect();
    let ours: u64 = calls
        .iter()
        .zip(counted(&calls))
        .filter(|(_, counts)| *counts)
        .map(|(call, _)| call.tokens.output)
        .sum();
    let all: u64 = calls.iter().map(|call| call.tokens.output).sum();
    let truth: u64 = claude.truth.all.values().map(|tokens| tokens.output).sum();
    assert_eq!(ours, truth);
    assert!(all > ours, "the corpus has copies");
}

/// One file is not one session: a subagent's log contains the id of its parent but is a session of its own.
#[test]
fn a_subagent_is_its_own_session_even_if_its_records_contain_another_id() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    let parent = UID.strip_prefix("claude:").unwrap();
    let line = format!(
        "{{\"type\":\"user\",\"isSidechain\":true,\"agentId\":\"a1\",\"sessionId\":\"{parent}\",\"message\":{{\"content\":\"sub\"}}}}\n"
    );
    home.write(
        &format!("{}/subagents/agent-a1.jsonl", LOG.trim_end_matches(".jsonl")),
        &line,
    );
    home.sweep();
    assert_eq!(uids(&home), [UID.to_owned(), format!("{UID}/a1")]);
    assert_eq!(home.cat(UID), prompt("one"));
    assert_eq!(home.cat(&format!("{UID}/a1")), line);
}

/// Imported copies: a session that Codex imported from another agent is linked to it.
#[test]
fn an_imported_session_is_linked_as_an_import() {
    let home = Home::new();
    let path = format!("{DAY}/rollout-2026-03-01T10-00-00-01990000-0000-7000-8000-000000000011.jsonl");
    home.write(&path, fixture("codex/import.jsonl"));
    home.sweep();
    let rows = home.rows();
    let view = rows.iter().find(|row| row.contains(" views ")).unwrap();
    assert!(view.contains("\"import\""), "{view}");
}

/// The oldest threads are a single JSON object, in a file with another extension.
#[test]
fn threads_in_the_oldest_format_are_found_and_stored() {
    let home = Home::new();
    home.write(
        ".codex/sessions/rollout-2025-05-01-01960000-0000-7000-8000-000000000000.json",
        fixture("codex/g0.json"),
    );
    let report = home.sweep();
    assert!(report.sessions_new == 1 && report.events > 0, "{report:?}");
    let uid = uids(&home).remove(0);
    assert_eq!(home.cat(&uid).as_bytes(), fixture("codex/g0.json"));
    assert_eq!(home.sweep().bytes_read, 0);
}
