//! Which sessions a workspace contains, and the removal of a day because of one of them.

use std::collections::BTreeSet;
use std::fs;

use memory::diary::{DiaryError, find_traces, remove_days, workspace_sessions};
use serde_json::json;

use crate::home::{DATE, Home, at, event, head, prompt, reply};

fn codex_with_child(home: &Home) {
    let spawn = json!({"type": "response_item", "timestamp": at(2), "payload":
        {"type": "function_call", "name": "spawn_agent", "call_id": "c", "arguments": "{}"}});
    let spawned = json!({"type": "response_item", "timestamp": at(2), "payload":
        {"type": "function_call_output", "call_id": "c", "output": "{\"agent_id\":\"child\"}"}});
    home.codex("p", &[head("parent"), event(1, "user_message", "go"), spawn, spawned]);
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "parent"}}});
    let child = json!({"type": "session_meta", "timestamp": at(2), "payload": {"id": "child", "source": source}});
    home.codex("c", &[child, event(3, "user_message", "part")]);
}

#[test]
fn a_workspace_lists_its_sessions_and_their_subagents() {
    let home = Home::new();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    codex_with_child(&home);
    assert_eq!(home.prepare().subagents, 1);
    let known = workspace_sessions(&home.workspace());
    for uid in ["claude:s", "codex:parent", "codex:child"] {
        assert!(known.contains(uid), "{uid} of {known:?}");
        let found = find_traces(&home.reports(), &|asked| asked == uid);
        assert_eq!((found.len(), found[0].date.to_string().as_str()), (1, DATE), "{uid}");
        assert_eq!(
            (found[0].session_uids.as_slice(), &found[0].reports),
            ([uid.to_owned()].as_slice(), &vec![])
        );
    }
    assert_eq!(find_traces(&home.reports(), &|uid| uid == "claude:other"), []);
    assert_eq!(find_traces(&home.path.join("nowhere"), &|_| true), []);
    // A torn row of an index only loses that row.
    let index = home.workspace().join("projects");
    let index = fs::read_dir(index)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("sessions.index.jsonl");
    fs::write(&index, format!("{{\"torn\n{}", fs::read_to_string(&index).unwrap())).unwrap();
    assert_eq!(workspace_sessions(&home.workspace()), known);
}

#[test]
fn a_day_is_removed_completely_with_the_leftovers_of_crashed_runs() {
    let home = Home::new();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    home.prepare();
    let (work, private) = (home.reports().join("work"), home.reports().join("private"));
    fs::write(home.workspace().join("report.md"), "# A day").unwrap();
    fs::create_dir_all(private.join(DATE).join("set-aside")).unwrap();
    fs::create_dir_all(work.join(".2026-05-11.copies")).unwrap();
    fs::create_dir_all(work.join("2026-05-10")).unwrap();
    let found = find_traces(&home.reports(), &|uid| uid == "claude:s");
    assert_eq!(found[0].reports, [home.workspace().join("report.md")]);
    remove_days(&home.reports(), &[found[0].date]).unwrap();
    let names = |directory: &std::path::Path| -> BTreeSet<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert_eq!(names(&work), ["2026-05-10".to_owned()].into());
    assert_eq!(names(&private), ["prepare.lock".to_owned()].into());
    assert_eq!(home.prepare().sessions, 1);
}

#[test]
fn a_workspace_renamed_by_a_crashed_run_is_found_and_removed() {
    let home = Home::new();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    home.prepare();
    let work = home.reports().join("work");
    fs::rename(work.join(DATE), work.join(format!(".{DATE}.old"))).unwrap();
    let found = find_traces(&home.reports(), &|uid| uid == "claude:s");
    assert_eq!(found.len(), 1);
    remove_days(&home.reports(), &[found[0].date]).unwrap();
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

#[test]
fn a_day_that_is_being_prepared_is_not_removed() {
    let home = Home::new();
    home.claude("s", &[prompt(1, "fix"), reply(2)]);
    home.prepare();
    let lock = fs::OpenOptions::new()
        .write(true)
        .open(home.reports().join("private/prepare.lock"))
        .unwrap();
    lock.lock().unwrap();
    let refused = remove_days(&home.reports(), &[DATE.parse().unwrap()]);
    assert!(matches!(refused, Err(DiaryError::Busy(_))));
    assert!(home.workspace().is_dir());
}
