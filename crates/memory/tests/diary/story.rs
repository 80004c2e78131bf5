//! Workspaces over time: deleted logs, secrets, and sessions of Grok.

use std::fs;

use memory::diary::{DiaryError, Prepared};
use memory::digest::DigestSettings;
use memory::retention::{self, EvictionSummary, Retention, RetentionPolicy};
use memory::store::{LockWait, Store};
use memory::sweep::{Sweep, run};
use serde_json::json;
use transcript::Agent;

use crate::home::{DATE, Home, at, event, head, lines, masker, prompt, reply, with};

#[test]
fn an_existing_workspace_stays_and_one_of_another_time_zone_is_refused() {
    let mut home = Home::new();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    home.prepare();
    home.claude("t", &[prompt(3, "more"), reply(4)]);
    assert!(matches!(home.try_prepare(DATE, None).unwrap(), Prepared::Existing(_)));
    home.zone = (jiff::tz::TimeZone::posix("CET-1").unwrap(), "Europe/Berlin".to_owned());
    let refused = home.try_prepare(DATE, None).unwrap_err();
    assert!(
        matches!(&refused, DiaryError::Mismatch { fields, .. } if fields.contains("timezone")),
        "{refused}"
    );
    home.force = true;
    assert_eq!(home.prepare().sessions, 2);
}

#[test]
fn a_day_that_was_not_over_is_prepared_again_and_its_reports_stay() {
    let mut home = Home::new();
    home.now = format!("{DATE}T12:00:00Z").parse().unwrap();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    // No log was written after the day was prepared.
    for log in walkdir::WalkDir::new(home.path.join("claude")).into_iter().flatten() {
        if log.file_type().is_file() {
            let file = fs::File::options().write(true).open(log.path()).unwrap();
            file.set_modified(home.now.into()).unwrap();
        }
    }
    home.prepare();
    let key = home.audit()["sessions"][0]["workspace_project_key"]
        .as_str()
        .unwrap()
        .to_owned();
    fs::write(home.workspace().join("report.md"), "# A day").unwrap();
    let card = home.workspace().join("projects").join(&key).join("evidence/S0001.json");
    fs::create_dir_all(card.parent().unwrap()).unwrap();
    fs::write(&card, "{}").unwrap();
    assert!(
        matches!(home.try_prepare(DATE, None).unwrap(), Prepared::Existing(_)),
        "the day still goes on"
    );
    home.now = "2026-05-13T12:00:00Z".parse().unwrap();
    home.claude("t", &[prompt(1300, "late"), reply(1301)]);
    let made = home.prepare();
    assert!(made.was_partial && made.sessions == 2);
    assert_eq!(
        fs::read_to_string(home.workspace().join("report.md")).unwrap(),
        "# A day"
    );
    assert!(card.is_file());
    // If a project is gone, the files that others wrote into it are moved beside the audit.
    fs::remove_dir_all(home.path.join("claude/projects")).unwrap();
    home.force = true;
    assert_eq!(home.prepare().projects, 0);
    assert!(home.workspace().join("report.md").is_file() && !card.exists());
    let aside = home
        .reports()
        .join("private")
        .join(DATE)
        .join("set-aside/projects")
        .join(&key);
    assert!(aside.join("evidence/S0001.json").is_file());
}

#[test]
fn leftovers_of_a_crashed_run_are_cleaned_up() {
    let home = Home::new();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    home.prepare();
    let work = home.reports().join("work");
    // The process died between the two renames, so the old workspace is the only one.
    fs::rename(work.join(DATE), work.join(format!(".{DATE}.old"))).unwrap();
    fs::create_dir(work.join(format!(".{DATE}.new"))).unwrap();
    // Runs for other days died, too.
    fs::create_dir_all(work.join(".2026-01-02.copies/3")).unwrap();
    fs::create_dir(work.join(".2026-01-03.new")).unwrap();
    assert!(matches!(home.try_prepare(DATE, None).unwrap(), Prepared::Existing(_)));
    assert_eq!(fs::read_dir(&work).unwrap().count(), 1);
    // Half a workspace does not count as one.
    fs::write(home.workspace().join("metadata.json"), "{").unwrap();
    assert_eq!(home.prepare().sessions, 1);
}

#[test]
fn a_root_that_another_run_uses_is_not_touched() {
    let home = Home::new();
    home.prepare();
    let lock = fs::OpenOptions::new()
        .write(true)
        .open(home.reports().join("private/prepare.lock"))
        .unwrap();
    lock.lock().unwrap();
    assert!(matches!(home.try_prepare(DATE, None), Err(DiaryError::Busy(_))));
}

#[test]
fn secrets_are_masked_and_lines_keep_their_numbers() {
    let mut home = Home::new();
    home.is_verbatim = false;
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    home.claude(
        "s",
        &[
            with(prompt(1, &format!("use {secret} here")), json!({"uuid": "u"})),
            reply(2),
        ],
    );
    let made = home.prepare();
    let path = home.workspace().join(&made.notes.masked[0].workspace_path);
    let text = fs::read_to_string(path).unwrap();
    assert!(!text.contains(&secret) && text.contains("[REDACTED:"), "{text}");
    assert_eq!((text.lines().count(), made.notes.masked[0].secrets), (2, 1));
    let audit = home.audit();
    let entry = &audit["sessions"][0];
    assert_ne!(entry["source_checksum_sha256"], entry["workspace_checksum_sha256"]);
    assert_eq!(audit["copies"], "masked");
}

#[test]
fn a_deleted_log_is_read_from_the_memory() {
    let home = Home::new();
    let log = home.claude("s", &[prompt(1, "fix"), reply(2), prompt(5, "again"), reply(6)]);
    let store = swept_store(&home);
    fs::remove_file(&log).unwrap();
    let made = home.prepare_with(Some(&store));
    assert_eq!(home.turns(), "s 1-2 3-4");
    let told = &made.notes.from_memory[0];
    assert_eq!(told.session_uid, "claude:s");
    assert_eq!(
        fs::read_to_string(home.workspace().join(&told.workspace_path))
            .unwrap()
            .lines()
            .count(),
        4
    );
    assert_eq!(home.audit()["from_memory"][0]["session_uid"], "claude:s");
}

#[test]
fn a_day_with_evicted_sessions_reports_those_without_logs_and_contains_the_others() {
    let home = Home::new();
    let write = |id: &str, at: &str| {
        let of = |record| with(record, json!({"sessionId": id, "timestamp": at}));
        home.claude(id, &[of(prompt(1, id)), of(reply(2))])
    };
    let gone = write("gone", &at(1));
    write("there", &at(3));
    let kept = write("kept", &at(5));
    let late = write("late", "2026-05-14T10:00:00Z");
    drop(swept_store(&home));
    evict_all_except(&home, &["claude:kept"]);
    let store = Store::open_existing(home.path.join("store")).unwrap().unwrap();
    for log in [gone, kept, late] {
        fs::remove_file(log).unwrap();
    }
    let made = home.prepare_with(Some(&store));
    assert_eq!(home.turns(), "kept 1-2\nthere 1-2", "{:?}", made.notes);
    assert_eq!(made.notes.evicted, ["claude:gone"]);
    let from_memory: Vec<&str> = made
        .notes
        .from_memory
        .iter()
        .map(|one| one.session_uid.as_str())
        .collect();
    assert_eq!(from_memory, ["claude:kept"]);
    assert_eq!(made.notes.skipped, []);
    assert_eq!(home.audit()["evicted"], json!(["claude:gone"]));
}

/// Evicts all raw text except that of the named sessions.
fn evict_all_except(home: &Home, kept: &[&str]) {
    let store = &mut Store::open(home.path.join("store")).unwrap();
    let wait = LockWait::Wait(&|| {});
    let lock = store.lock(wait).unwrap();
    let keep = store.write(&lock, home.now, "keep", |tx| {
        for uid in kept {
            tx.keep(uid, home.now)?;
        }
        Ok(((), String::new()))
    });
    keep.unwrap();
    drop(lock);
    let task_pattern = regex::Regex::new("T-[0-9]+").unwrap();
    let retention = Retention {
        policy: RetentionPolicy {
            raw_soft_cap_bytes: 0,
            raw_hard_cap_bytes: 0,
            raw_max_age_days: None,
            distilled_cap_bytes: u64::MAX,
            today_began: home.now,
        },
        digests: DigestSettings {
            now: home.now,
            task_pattern: &task_pattern,
        },
    };
    let command = retention::EvictionCommand {
        name: "evict",
        sentence: &EvictionSummary::sentence,
    };
    let mut done = EvictionSummary::default();
    retention::enforce_policy(store, wait, &retention, &command, &|_| false, &mut done).unwrap();
    retention::finish_evictions(store, wait, home.now, &command, &mut done).unwrap();
    assert!(done.is_finished && done.lost().count() == 0, "{done:?}");
}

/// Returns a store that has read all logs of a home.
fn swept_store(home: &Home) -> Store {
    let (directory, roots, masker) = (home.path.join("store"), home.roots(), masker());
    run(
        &Sweep::new(&(&directory).into(), &roots, &masker, home.now),
        LockWait::Wait(&|| {}),
    )
    .unwrap();
    Store::open_existing(&directory).unwrap().unwrap()
}

#[test]
fn a_subagent_is_copied_once_for_the_turns_that_name_it_and_an_orphan_is_reported() {
    let home = Home::new();
    let spawn = json!({"type": "response_item", "timestamp": at(2), "payload":
        {"type": "function_call", "name": "spawn_agent", "call_id": "c", "arguments": "{\"agent_type\":\"worker\"}"}});
    let spawned = json!({"type": "response_item", "timestamp": at(2), "payload":
        {"type": "function_call_output", "call_id": "c", "output": "{\"agent_id\":\"../child\"}"}});
    home.codex(
        "p",
        &[head("../parent"), event(1, "user_message", "go"), spawn, spawned],
    );
    let child = |id: &str| {
        let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "../parent"}}});
        json!({"type": "session_meta", "timestamp": at(2), "payload": {"id": id, "source": source}})
    };
    home.codex("c", &[child("../child"), event(3, "user_message", "part")]);
    home.codex("o", &[child("orphan"), event(3, "user_message", "part")]);
    let made = home.prepare();
    assert_eq!((made.sessions, made.subagents), (1, 1));
    let row = &home.rows()[0];
    let path = row["subagent_path"].as_str().unwrap();
    assert!(
        path.starts_with("sessions/codex/subagents/") && !path.contains(".."),
        "{path}"
    );
    let key = home.audit()["sessions"][0]["workspace_project_key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        home.workspace()
            .join("projects")
            .join(key)
            .join(path)
            .join("rollout-c.jsonl")
            .is_file()
    );
    assert!(
        made.notes
            .skipped
            .iter()
            .any(|skipped| skipped.what.ends_with("rollout-o.jsonl")),
        "{:?}",
        made.notes.skipped
    );
}

#[test]
fn a_compressed_log_is_copied_decompressed() {
    let home = Home::new();
    let bytes = lines(&[head("t"), event(1, "user_message", "go")]);
    home.write(
        "codex/archived_sessions/rollout-t.jsonl.zst",
        zstd::encode_all(bytes.as_bytes(), 3).unwrap(),
    );
    home.prepare();
    assert_eq!(home.rows()[0]["session_path"], "sessions/codex/rollout-t.jsonl");
    let key = home.audit()["sessions"][0]["workspace_project_key"]
        .as_str()
        .unwrap()
        .to_owned();
    let copy = home
        .workspace()
        .join("projects")
        .join(key)
        .join("sessions/codex/rollout-t.jsonl");
    assert_eq!(fs::read_to_string(copy).unwrap(), bytes);
}

#[test]
fn our_own_sessions_are_left_out_and_fallback_roots_are_used() {
    let mut home = Home::new();
    fs::create_dir_all(home.reports().join("work")).unwrap();
    let own = home.reports().join("work");
    home.claude("own", &[with(prompt(1, "write the report"), json!({"cwd": own}))]);
    home.claude("lost", &[with(prompt(1, "where am I"), json!({"cwd": null}))]);
    home.fallback_roots.insert(Agent::Claude, "/home/ada/inbox".into());
    let made = home.prepare();
    assert_eq!(home.turns(), "lost 1-1");
    assert!(
        made.notes.skipped[0].reason.contains("reports directory"),
        "{:?}",
        made.notes.skipped
    );
    let audit = home.audit();
    assert_eq!(audit["sessions"][0]["canonical_project_root"], "/home/ada/inbox");
    let specs = audit["source_specs"].as_array().unwrap();
    assert!(
        specs
            .iter()
            .any(|spec| spec["fallback_project_root"] == "/home/ada/inbox")
    );
}

const GROK: &str = "0199a2b4-0000-7000-8000-000000000001";

/// Writes a session of Grok and returns its directory.
fn grok(home: &Home) -> String {
    let id = GROK;
    let seconds: i64 = at(5).parse::<jiff::Timestamp>().unwrap().as_second();
    let row = |number: i64, kind: &str, text: &str| {
        json!({"timestamp": seconds + number, "method": "session/update", "params": {"sessionId": id,
            "update": {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "_meta": {"promptIndex": 0}},
            "_meta": {"eventId": format!("{id}-{number}"), "agentTimestampMs": (seconds + number) * 1000}}})
    };
    let base = format!("grok/sessions/%2Fhome%2Fada%2Frocket/{id}");
    home.write(
        &format!("{base}/updates.jsonl"),
        lines(&[
            row(1, "user_message_chunk", "launch it"),
            row(2, "agent_message_chunk", "done"),
        ]),
    );
    home.write(
        &format!("{base}/events.jsonl"),
        "{\"ts\":\"2026-05-12T00:05:00Z\",\"type\":\"turn_started\"}\n",
    );
    base
}

#[test]
fn companions_of_a_deleted_grok_log_are_read_from_the_memory() {
    let mut home = Home::new();
    let base = grok(&home);
    home.write(
        &format!("{base}/summary.json"),
        "{\"info\":{\"cwd\":\"/home/ada/moon\"}}",
    );
    let files = |home: &Home| -> Vec<(String, String)> {
        let key = home.audit()["sessions"][0]["workspace_project_key"]
            .as_str()
            .unwrap()
            .to_owned();
        let place = home
            .workspace()
            .join("projects")
            .join(key)
            .join(format!("sessions/grok/{GROK}"));
        let mut files: Vec<(String, String)> = fs::read_dir(place)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                (
                    path.file_name().unwrap().to_string_lossy().into_owned(),
                    fs::read_to_string(path).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    };
    home.prepare();
    let (on_disk, rows) = (files(&home), home.rows());
    assert_eq!(on_disk.len(), 3);
    let store = swept_store(&home);
    fs::remove_dir_all(home.path.join(&base)).unwrap();
    home.force = true;
    let made = home.prepare_with(Some(&store));
    assert_eq!(made.notes.from_memory.len(), 1, "{:?}", made.notes);
    assert_eq!((files(&home), home.rows()), (on_disk, rows));
    assert_eq!(home.audit()["sessions"][0]["canonical_project_root"], "/home/ada/moon");
}

#[test]
fn a_grok_session_is_copied_with_its_companions() {
    let mut home = Home::new();
    let base = grok(&home);
    let id = GROK;
    home.prepare();
    assert_eq!(home.turns(), format!("{id} 1-2"));
    let session = &home.rows()[0]["session_path"];
    assert_eq!(*session, format!("sessions/grok/{id}/updates.jsonl"));
    let audit = home.audit();
    assert_eq!(audit["sessions"][0]["canonical_project_root"], "/home/ada/rocket");
    let key = audit["sessions"][0]["workspace_project_key"]
        .as_str()
        .unwrap()
        .to_owned();
    let beside = home
        .workspace()
        .join("projects")
        .join(&key)
        .join(format!("sessions/grok/{id}/events.jsonl"));
    assert!(beside.is_file());
    // The summary overrides the directory.
    home.write(
        &format!("{base}/summary.json"),
        "{\"info\":{\"cwd\":\"/home/ada/moon\"}}",
    );
    home.force = true;
    home.prepare();
    assert_eq!(home.audit()["sessions"][0]["canonical_project_root"], "/home/ada/moon");
}

#[test]
fn a_log_larger_than_the_memory_limit_is_streamed() {
    let mut home = Home::new();
    home.is_verbatim = false;
    let old = |text: String| json!({"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": {"type": "agent_message", "message": text}});
    let mut bytes = lines(&[with(head("t"), json!({"timestamp": "2026-01-01T00:00:00Z"}))]);
    for _ in 0..3 {
        bytes += &lines(&[old("y".repeat(1 << 20))]);
    }
    // The line is longer than the parser accepts, but it is still a line.
    bytes += &lines(&[old("z".repeat(65 << 20))]);
    bytes += &lines(&[event(1, "user_message", "go"), event(2, "agent_message", "done")]);
    home.write(
        "codex/sessions/rollout-t.jsonl.zst",
        zstd::encode_all(bytes.as_bytes(), 1).unwrap(),
    );
    let made = home.prepare();
    assert_eq!(home.turns(), "t 6-7");
    assert_eq!(made.notes.masked[0].lines_left_out, 1);
    let copy = home.workspace().join(&made.notes.masked[0].workspace_path);
    assert_eq!(fs::read_to_string(copy).unwrap().lines().count(), 7);
    assert_eq!(home.audit()["sessions"][0]["malformed_line_count"], 1);
}
