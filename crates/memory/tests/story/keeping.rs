//! Stored text stays correct: tails become frames, companions follow their logs, newer rules are applied to older text,
//! and only changes are read.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use memory::doctor::{DamageKind, examine_store, mark_damaged};
use memory::mask::{MaskKey, Masker, Tier, UserRule, UserRules};
use memory::store::Store;
use memory::sweep::{Sweep, run};

use super::home::{Home, LOG, UID, WAIT, assert_packs, full_home, prompt, run_sql};

/// Returns a log of about `bytes` bytes.
fn long_log(bytes: usize) -> String {
    let mut log = String::new();
    let mut number = 0_u64;
    while log.len() < bytes {
        number += 1;
        // Hashes, because they do not compress.
        let word = blake3::hash(&number.to_le_bytes()).to_hex();
        log += &prompt(&format!("prompt {number} {word} {}", "and so on ".repeat(200)));
    }
    log
}

#[test]
fn the_tail_of_a_quiet_session_becomes_a_frame_without_reading_the_log() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    home.sweep_at(Timestamp::now());
    assert!(home.store().reads().tail(UID, "log").unwrap().is_some());
    let report = home.sweep();
    assert_eq!(
        (report.files_read, report.bytes_read, report.files_unchanged),
        (0, 0, 1)
    );
    assert!(home.store().reads().tail(UID, "log").unwrap().is_none());
    assert_eq!(home.store().reads().frames(UID, "log").unwrap().len(), 1);
    assert_eq!(home.cat(UID), prompt("one"));
    assert_eq!(home.sweep().bytes_checked, 0);
}

#[test]
fn an_append_to_a_long_log_reads_the_new_bytes_and_its_ends() {
    let home = Home::new();
    let mut log = long_log(4 << 20);
    home.write(LOG, &log);
    home.sweep();
    let more = prompt(&"x".repeat(1000));
    log += &more;
    home.write(LOG, &log);
    let report = home.sweep();
    assert_eq!(report.bytes_read, more.len() as u64);
    assert!(report.bytes_checked <= 8 << 10, "{}", report.bytes_checked);
    assert_eq!(home.cat(UID).len(), log.len());
}

#[test]
fn a_sweep_writes_one_journal_entry_and_notes_the_walk() {
    let home = full_home();
    let now = Timestamp::now() + SignedDuration::from_hours(1);
    let report = home.sweep_at(now);
    let told = home.store().reads().operations(10).unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    let sessions = report.sessions_new + report.subagents_new;
    assert_eq!(
        told[0].sentence,
        format!("read {} new bytes of {sessions} transcripts", report.bytes_read)
    );
    home.sweep_at(now + SignedDuration::from_mins(5));
    assert_eq!(home.store().reads().operations(10).unwrap().len(), 1, "nothing was new");
    let walked = Store::last_walk(&home.path("store")).unwrap();
    assert_eq!(walked.as_second(), (now + SignedDuration::from_mins(5)).as_second());
}

const THREAD: &str = "019d4700-0000-7000-8000-00000000c0de";
const OTHER: &str = "019d4700-0000-7000-8000-00000000beef";

fn rollout(thread: &str) -> (String, String) {
    let meta = format!(
        r#"{{"timestamp":"2026-04-01T10:00:00.000Z","type":"session_meta","payload":{{"id":"{thread}","timestamp":"2026-04-01T10:00:00.000Z","cwd":"/home/ada/app","originator":"codex_cli_rs","cli_version":"0.149.0"}}}}"#
    );
    let path = format!(".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-{thread}.jsonl");
    (path, meta + "\n")
}

fn title(home: &Home, thread: &str) -> String {
    let rows = home
        .store()
        .reads()
        .derived_rows_of(&format!("codex:{thread}"))
        .unwrap();
    rows.into_iter().find(|row| row.contains(" views ")).unwrap()
}

#[test]
fn a_list_of_thread_names_is_read_once_and_changes_only_the_named_session() {
    let home = Home::new();
    for thread in [THREAD, OTHER] {
        let (path, log) = rollout(thread);
        home.write(&path, log);
    }
    home.sweep();
    let line = |thread, name| {
        format!("{{\"id\":\"{thread}\",\"thread_name\":\"{name}\",\"updated_at\":\"2026-04-01T11:00:00Z\"}}\n")
    };
    let mut index = line(THREAD, "mend the parser");
    home.write(".codex/session_index.jsonl", &index);
    let report = home.sweep();
    assert_eq!((report.sessions_updated, report.files_read), (1, 1), "{report:?}");
    assert!(title(&home, THREAD).contains("mend the parser"));
    let report = home.sweep();
    assert_eq!((report.bytes_read, report.bytes_checked), (0, 0));

    index += &line("019d4700-0000-7000-8000-000000000bad", "gone");
    home.write(".codex/session_index.jsonl", &index);
    let report = home.sweep();
    assert_eq!(report.files_read, 0, "no session here is named");
    assert_eq!(home.sweep().bytes_checked, 0, "and that is remembered");

    index += &line(OTHER, "later");
    home.write(".codex/session_index.jsonl", &index);
    assert_eq!(home.sweep().sessions_updated, 1);
    assert!(title(&home, OTHER).contains("later"));
    assert!(title(&home, THREAD).contains("mend the parser"));
}

#[test]
fn a_session_that_appears_after_its_thread_name_has_the_name() {
    let home = Home::new();
    let (path, log) = rollout(OTHER);
    home.write(&path, log);
    let index = format!("{{\"id\":\"{THREAD}\",\"thread_name\":\"early\",\"updated_at\":\"2026-04-01T11:00:00Z\"}}\n");
    home.write(".codex/session_index.jsonl", &index);
    home.sweep();
    let (path, log) = rollout(THREAD);
    home.write(&path, log);
    home.sweep();
    assert!(title(&home, THREAD).contains("early"));
}

#[test]
fn spilled_results_are_kept_small_and_large_and_follow_changes() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    let directory = LOG.trim_end_matches(".jsonl");
    let large = "a line of output\n".repeat(20_000);
    home.write(&format!("{directory}/tool-results/small.txt"), "few words\n");
    home.write(&format!("{directory}/tool-results/large.txt"), &large);
    home.sweep();
    let kept = |name: &str| home.cat_part(UID, &format!("spill:tool-results/{name}"));
    assert_eq!(kept("small.txt"), "few words\n");
    assert_eq!(kept("large.txt"), large);
    assert_eq!(home.sweep().bytes_read, 0);

    home.write(
        &format!("{directory}/tool-results/large.txt"),
        large.replace("output", "outcome"),
    );
    let report = home.sweep();
    assert_eq!(report.bytes_read, large.len() as u64 + 20_000);
    assert_eq!(kept("large.txt"), large.replace("output", "outcome"));
    assert_packs(&home.store());
}

#[test]
fn an_oversized_companion_is_reported_and_the_session_is_still_read() {
    let home = Home::new();
    home.write(LOG, prompt("one"));
    let spill = format!("{}/tool-results/huge.txt", LOG.trim_end_matches(".jsonl"));
    home.write(&spill, "");
    fs::File::options()
        .write(true)
        .open(home.path(&spill))
        .unwrap()
        .set_len(17 << 20)
        .unwrap();
    let report = home.sweep();
    assert_eq!(report.unread.len(), 1, "{:?}", report.unread);
    assert_eq!(home.cat(UID), prompt("one"));
}

#[test]
fn a_long_log_that_was_rewritten_is_replaced_at_once() {
    let home = Home::new();
    home.write(LOG, long_log(3 << 20));
    home.sweep();
    let other = long_log(18 << 20).replace("and so on", "but not so");
    home.write(LOG, &other);
    let report = home.sweep();
    assert_eq!((report.sessions_updated, report.sessions_new), (1, 0));
    assert_eq!(home.cat(UID), other);
    assert!(home.store().reads().stand_ins().unwrap().is_empty());
    let rows = home.rows();
    home.rebuild();
    assert_eq!(home.rows(), rows);
    assert_packs(&home.store());
}

/// Marks everything stored as masked by older rules.
fn mask_by_older_rules(home: &Home, sql: &str) {
    run_sql(&home.path("store"), sql);
}

#[test]
fn newer_rules_mask_stored_text_again_and_the_log_continues_at_its_cursor() {
    let mut home = full_home();
    let secret = "sesame-47-open";
    home.write(LOG, prompt(&format!("the word is {secret}")));
    home.write(
        &format!("{}/tool-results/a.txt", LOG.trim_end_matches(".jsonl")),
        secret,
    );
    home.sweep();
    assert!(home.cat(UID).contains(secret));
    let sessions = home.store().reads().sessions().unwrap().len() as u64;

    mask_by_older_rules(
        &home,
        "UPDATE frames SET mask_version = 0; UPDATE tails SET mask_version = 0",
    );
    let mut rules = UserRules::default();
    rules.rules.push(UserRule {
        name: "sesame".to_owned(),
        pattern: r"sesame-\d+-open".to_owned(),
        keywords: Vec::new(),
        tier: Tier::A,
    });
    home.masker = Masker::new(&MaskKey::new([7; 32]), &rules).unwrap();
    let report = home.sweep();
    assert_eq!((report.sessions_refreshed, report.bytes_read), (sessions, 0));
    assert!(report.redactions >= 2, "{}", report.redactions);
    assert!(!home.cat(UID).contains(secret) && home.cat(UID).contains("[REDACTED:sesame"));
    assert!(!home.cat_part(UID, "spill:tool-results/a.txt").contains(secret));
    assert!(home.rows().iter().all(|row| !row.contains(secret)));
    assert_eq!(home.sweep().sessions_refreshed, 0);

    let more = prompt("and on");
    fs::write(home.path(LOG), prompt(&format!("the word is {secret}")) + &more).unwrap();
    let report = home.sweep();
    assert_eq!(report.bytes_read, more.len() as u64, "the cursor is still right");
    assert!(home.cat(UID).ends_with(&more));
}

#[test]
fn a_line_whose_line_break_came_later_stays_one_line() {
    let home = Home::new();
    let log = prompt("one") + &prompt("two");
    home.write(LOG, log.trim_end());
    home.sweep();
    let whole = log + &prompt("three") + &prompt("four");
    home.write(LOG, &whole);
    home.sweep();
    let rows = home.rows();
    let at_once = Home::new();
    at_once.write(LOG, &whole);
    at_once.sweep();
    assert_eq!(rows, at_once.rows());
    home.rebuild();
    assert_eq!(home.rows(), rows);
    mask_by_older_rules(&home, "UPDATE frames SET mask_version = 0");
    assert_eq!(home.sweep().sessions_refreshed, 1);
    assert_eq!(home.cat(UID), whole);
    assert_eq!(home.rows(), rows);
}

#[test]
fn a_newer_reader_rebuilds_its_rows_from_stored_lines() {
    let home = full_home();
    home.sweep();
    let rows = home.rows();
    fs::remove_dir_all(home.path(".claude")).unwrap();
    mask_by_older_rules(&home, "UPDATE readers SET version = 0; UPDATE turns SET prompt = 'old'");
    assert_ne!(home.rows(), rows);
    let report = home.sweep();
    assert!(report.sessions_refreshed > 5 && report.bytes_read == 0, "{report:?}");
    assert_eq!(home.rows(), rows);
    assert_eq!(home.sweep().sessions_refreshed, 0);
}

#[test]
fn work_left_over_is_done_by_the_next_sweep() {
    let home = full_home();
    home.write(LOG, long_log(18 << 20));
    let (roots, directory) = (home.roots(), home.place());
    let asked = AtomicU64::new(0);
    let now = Timestamp::now() + SignedDuration::from_hours(1);
    let sweep = Sweep {
        is_over: &|| asked.fetch_add(1, Ordering::Relaxed) > 3,
        ..Sweep::new(&directory, &roots, &home.masker, now)
    };
    let cut = run(&sweep, WAIT).unwrap();
    assert!(cut.sessions_left > 0, "{cut:?}");
    let rest = home.sweep();
    assert!(rest.sessions_left == 0 && rest.bytes_read > 0);
    let whole = full_home();
    whole.write(LOG, long_log(18 << 20));
    let all = whole.sweep();
    assert_eq!(
        cut.bytes_read + rest.bytes_read,
        all.bytes_read,
        "nothing was read twice"
    );
    assert_eq!(home.rows(), whole.rows());
}

#[test]
fn damaged_rows_are_rebuilt_from_stored_lines() {
    let home = full_home();
    home.sweep();
    let rows = home.rows();
    mask_by_older_rules(&home, "UPDATE events SET bytes = x'00ff' WHERE page = 0");
    let health = examine_store(&home.place(), &|_, _| {}).unwrap();
    assert!(!health.is_sound() && health.damages.iter().all(|damage| damage.kind == DamageKind::Rows));
    assert!(mark_damaged(&health, Timestamp::now(), WAIT).unwrap().is_empty());
    assert!(home.sweep().sessions_refreshed > 0);
    assert!(examine_store(&home.place(), &|_, _| {}).unwrap().is_sound());
    assert_eq!(home.rows(), rows);
}
