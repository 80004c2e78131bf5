//! `boswell forget` with copies of sessions outside of the memory, and its confirmation for many sessions.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::finder::Terminal;
use crate::sandbox::Sandbox;

const DAY: &str = concat!(".local/share/boswell-reports/", "work/2026-03-31");
/// A text that occurs in one session only.
const CANARY: &str = "the heron stands in the reeds";

fn id(number: u32) -> String {
    format!("5e55000{number}-0000-4000-8000-000000000000")
}

fn write(sandbox: &Sandbox, number: u32, prompt: &str) {
    let log = ClaudeLog::new(&id(number))
        .at("2026-03-31T09:00:00Z")
        .prompt(prompt)
        .reply("Done.");
    sandbox.write(
        &format!(".claude/projects/-home-ada-app/{}.jsonl", id(number)),
        &log.jsonl(),
    );
}

/// Returns a home with two sessions of yesterday. The first one contains [`CANARY`].
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    write(&sandbox, 1, CANARY);
    write(&sandbox, 2, "mend the parser");
    sandbox.run("sweep");
    sandbox
}

/// Runs a line and replaces sizes, because they depend on the length of this home's path.
fn told(sandbox: &Sandbox, line: &str) -> String {
    let size = regex::Regex::new(r" *[0-9.]+ (B|KiB|bytes?)\b").unwrap();
    let told = sandbox
        .run(line)
        .replace("[DAYS]/2026-03-31", "[DAY]")
        .replace("work/2026-03-31", "[DAY]")
        .replace(&id(1), "[1]")
        .replace(&id(2), "[2]");
    size.replace_all(&told, " [SIZE]").into_owned()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

/// Returns the files of this home that contain a text, except the logs of the agent.
fn holding(sandbox: &Sandbox, words: &str) -> Vec<String> {
    let own = files(&sandbox.home).into_iter().filter(|path| {
        !path.starts_with(sandbox.home.join(".claude"))
            && fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(words))
    });
    own.map(|path| sandbox.hide_home(path.to_str().unwrap())).collect()
}

#[test]
fn days_reports_bundles_and_tables_are_listed_and_deleted_with_a_session() {
    let sandbox = sandbox();
    sandbox.run("prepare");
    sandbox.write(&format!("{DAY}/report.md"), &format!("# A day\n\n{CANARY}\n"));
    sandbox.run("bundle --date 2026-03-31 -o day.zip");
    sandbox.run("export --to jsonl -o tables --tables turns,events");
    let before = files(&sandbox.home).len();
    assert_snapshot!(told(&sandbox, "forget 5e550001 --copies --dry-run"), @"
     [SIZE]  claude:[1]  its digest stays
                2026-03-31 09:00:00  the heron stands in the reeds
          copy  [DAY]  workspace of claude:[1]
          copy  [DAY]/report.md  report of claude:[1]
          copy  [HOME]/day.zip  bundle of claude:[1]
          copy  [HOME]/tables/events.jsonl  table of claude:[1]
          copy  [HOME]/tables/turns.jsonl  table of claude:[1]
    --- stderr ---
    Would forget: 1 session
    Hint: run again without `--dry-run` to forget them
    Would delete: 5 copies
    Hint: whole days of the diary are deleted; `boswell prepare --date 2026-03-31` prepares one again without these sessions
    ");
    assert_eq!(files(&sandbox.home).len(), before);
    assert_snapshot!(told(&sandbox, "forget 5e550001 --copies --with-digest --yes"), @"
     [SIZE]  claude:[1]  with its digest
                2026-03-31 09:00:00  the heron stands in the reeds
          copy  [DAY]  workspace of claude:[1]
          copy  [DAY]/report.md  report of claude:[1]
          copy  [HOME]/day.zip  bundle of claude:[1]
          copy  [HOME]/tables/events.jsonl  table of claude:[1]
          copy  [HOME]/tables/turns.jsonl  table of claude:[1]
    --- stderr ---
    Forgotten: 1 session
    Deleted: 5 copies
    Hint: whole days of the diary are deleted; `boswell prepare --date 2026-03-31` prepares one again without these sessions
    ");
    assert_eq!(holding(&sandbox, CANARY), [""; 0]);
    assert_eq!(
        holding(&sandbox, &id(1)),
        ["[HOME]/.local/share/boswell/store.db"],
        "the tombstone, and nothing else"
    );
    assert!(!sandbox.home.join("day.zip").exists() && !sandbox.home.join(DAY).exists());
    // The day is prepared again without the session, although its log still exists.
    assert_snapshot!(told(&sandbox, "prepare"), @"
    [DAY]
    --- stderr ---
    Prepared 2026-03-31 (final): 1 project, 1 session, 1 turn, 0 subagents
    warning: skipped [HOME]/.claude/projects/-home-ada-app/[1].jsonl: was forgotten
    ");
    assert_eq!(holding(&sandbox, CANARY), [""; 0]);
    assert_snapshot!(told(&sandbox, "forget 5e550001 --copies --yes"), @"
     [SIZE]  claude:[1]  no digest
    --- stderr ---
    Forgotten: 1 session
    ");
}

#[test]
fn copies_that_were_left_can_be_deleted_when_nothing_else_is_known_of_the_session() {
    let sandbox = sandbox();
    sandbox.run("restore 5e550001 -o out");
    sandbox.run("prepare --reports-root elsewhere");
    sandbox.run("forget 5e550001 --with-digest --yes");
    assert_snapshot!(told(&sandbox, "forget 5e550001 --copies --reports-root elsewhere --yes"), @"
     [SIZE]  claude:[1]  no digest
          copy  [HOME]/elsewhere/[DAY]  workspace of claude:[1]
          copy  [HOME]/out/[1].jsonl  restored of claude:[1]
    --- stderr ---
    Forgotten: 1 session
    Deleted: 2 copies
    Hint: whole days of the diary are deleted; `boswell prepare --date 2026-03-31` prepares one again without these sessions
    ");
    assert_eq!(holding(&sandbox, CANARY), [""; 0]);
    let nobody = sandbox.run("forget 5e55ffff --copies");
    assert!(nobody.contains("no session in the memory begins with"), "{nobody}");
}

#[test]
fn a_subagent_lies_in_the_day_of_the_session_it_worked_for() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let agent = json!({"description": "look", "prompt": "look", "subagent_type": "general-purpose"});
    let log = ClaudeLog::new(&id(1))
        .at("2026-03-31T09:00:00Z")
        .prompt("look for it")
        .tool("Agent", agent, "found")
        .with("toolUseResult", json!({"agentId": "a1", "status": "completed"}))
        .reply("Done.");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{}.jsonl", id(1)), &log.jsonl());
    let child = ClaudeLog::subagent(&id(1), "a1")
        .at("2026-03-31T09:00:01Z")
        .prompt(CANARY)
        .reply("found");
    sandbox.write(
        &format!(".claude/projects/-home-ada-app/{}/subagents/agent-a1.jsonl", id(1)),
        &child.jsonl(),
    );
    sandbox.run("sweep");
    let prepared = sandbox.run("prepare");
    assert!(prepared.contains("1 subagent"), "{prepared}");
    let uid = format!("claude:{}/a1", id(1));
    let answer: Value = serde_json::from_str(&sandbox.run(&format!("forget {uid} --copies --json --yes"))).unwrap();
    assert_eq!(answer["copies"][0]["session_uid"], uid, "{answer}");
    assert_eq!(
        (&answer["copies"][0]["kind"], &answer["copies_deleted"]),
        (&"workspace".into(), &true.into())
    );
    assert_eq!(holding(&sandbox, CANARY), [""; 0]);
    // The day still has the session itself, without the subagent.
    assert_snapshot!(told(&sandbox, "prepare"), @"
    [DAY]
    --- stderr ---
    Prepared 2026-03-31 (final): 1 project, 1 session, 1 turn, 0 subagents
    warning: skipped [HOME]/.claude/projects/-home-ada-app/[1]/subagents/agent-a1.jsonl: was forgotten
    warning: skipped claude-code a1: was forgotten
    ");
    let left = holding(&sandbox, "look for it");
    assert!(
        left.iter().any(|path| path.contains("/2026-03-31/projects/")),
        "{left:?}"
    );
}

#[test]
fn what_is_surfaced_goes_with_the_digest() {
    let sandbox = sandbox();
    sandbox.write_user_config("[session_memory.surface]\ndir = \"~/hub\"\n");
    sandbox.run("digest 5e550001");
    sandbox.run_args(&["decide", "reeds stay uncut", "--session", "5e550001"]);
    let surfaced = || files(&sandbox.home.join("hub")).len();
    assert_eq!(surfaced(), 2);
    let told = sandbox.run("forget 5e550001 --copies --yes");
    assert!(
        !told.contains("surfaced"),
        "the digest stays, and so does its file: {told}"
    );
    assert_eq!(surfaced(), 2);
    sandbox.run("forget 5e550001 --copies --with-digest --yes");
    assert_eq!(surfaced(), 0);
}

#[test]
fn nothing_is_forgotten_while_a_copy_cannot_go() {
    let sandbox = sandbox();
    sandbox.run("prepare");
    let lock = sandbox.home.join(".local/share/boswell-reports/private/prepare.lock");
    let lock = fs::OpenOptions::new().write(true).open(lock).unwrap();
    lock.lock().unwrap();
    let told = sandbox.run("forget 5e550001 --copies --with-digest --yes");
    assert!(
        told.contains("another run is preparing") && told.contains("--- exit 2 ---"),
        "{told}"
    );
    assert!(sandbox.run("show 5e550001").contains(CANARY));
    lock.unlock().unwrap();
    sandbox.run("forget 5e550001 --copies --with-digest --yes");
    assert_eq!(holding(&sandbox, CANARY), [""; 0]);
}

#[test]
fn what_filters_take_is_forgotten_only_by_whoever_says_yes() {
    let sandbox = sandbox();
    assert_snapshot!(told(&sandbox, "forget --project app"), @"
     [SIZE]  claude:[1]  its digest stays
                2026-03-31 09:00:00  the heron stands in the reeds
     [SIZE]  claude:[2]  its digest stays
                2026-03-31 09:00:00  mend the parser
    --- stderr ---
    error: forgetting 2 sessions needs `--yes` where Boswell cannot ask
    Hint: `--dry-run` shows what would be deleted
    --- exit 2 ---
    ");
    assert_snapshot!(told(&sandbox, "forget --project app --json"), @r#"
    {"error":{"code":"usage","message":"forgetting 2 sessions needs `--yes` where Boswell cannot ask","hint":"`--dry-run` shows what would be deleted","retryable":false}}
    --- exit 2 ---
    "#);
    assert!(sandbox.run("cat 5e550001").contains(CANARY));
    let dry = told(&sandbox, "forget --project app --dry-run");
    assert!(
        dry.contains("Would forget: 2 sessions") && !dry.contains("exit"),
        "{dry}"
    );
    assert_snapshot!(told(&sandbox, "forget --project app --yes"), @"
     [SIZE]  claude:[1]  its digest stays
                2026-03-31 09:00:00  the heron stands in the reeds
     [SIZE]  claude:[2]  its digest stays
                2026-03-31 09:00:00  mend the parser
    --- stderr ---
    Forgotten: 2 sessions
    ");
    assert_eq!(told(&sandbox, "forget --project nowhere").matches("exit 1").count(), 1);
}

#[test]
fn a_named_session_is_forgotten_only_with_yes_without_a_terminal() {
    let sandbox = sandbox();
    for line in ["forget 5e550001", "forget last", "forget 5e550001 --json"] {
        let refused = sandbox.run(line);
        assert!(
            refused.contains("needs `--yes`") && refused.ends_with("--- exit 2 ---\n"),
            "{line}: {refused}"
        );
    }
    assert!(sandbox.run("cat 5e550001").contains(CANARY));
    assert!(sandbox.run("forget 5e550001 --yes").contains("Forgotten: 1 session"));
}

#[test]
fn filters_leave_out_sessions_that_are_kept() {
    let sandbox = sandbox();
    sandbox.run("keep 5e550001");
    assert_snapshot!(told(&sandbox, "forget --project app --yes"), @"
     [SIZE]  claude:[2]  its digest stays
                2026-03-31 09:00:00  mend the parser
    --- stderr ---
    Left out: 1 session protected by `keep`
    Forgotten: 1 session
    ");
    let answer: Value = serde_json::from_str(&sandbox.run("forget --agent claude --dry-run --json")).unwrap();
    assert_eq!(answer["sessions_kept"], 1, "{answer}");
    assert!(sandbox.run("cat 5e550001").contains(CANARY));
    // The ID of a session protected by `keep` is enough to forget it.
    assert!(sandbox.run("forget 5e550001 --yes").contains("Forgotten: 1 session"));
}

#[test]
fn somebody_at_a_terminal_sees_the_list_and_is_asked() {
    let Some(terminal) = Terminal::open(sandbox()) else {
        return;
    };
    let ask = |answer: &str, last: &str| {
        // Clears the screen, so that the wait below does not match the previous question.
        terminal.write("clear");
        terminal.press(&["Enter"]);
        terminal.wait("an empty screen", |screen| !screen.contains("orget"));
        terminal.write("\"$BOSWELL\" forget --project app; echo ended $?");
        terminal.press(&["Enter"]);
        let asked = terminal.wait_for("for good? [y/N]");
        assert!(asked.contains(&id(1)) && asked.contains(&id(2)), "{asked}");
        terminal.write(answer);
        terminal.press(&["Enter"]);
        let screen = terminal.wait_for("ended 0");
        assert!(screen.contains(last), "{screen}");
    };
    ask("", "Nothing forgotten");
    ask("no", "Nothing forgotten");
    ask("y", "Forgotten: 2 sessions");
}

#[test]
fn a_named_session_is_shown_with_its_title_and_time_before_it_is_forgotten() {
    let Some(terminal) = Terminal::open(sandbox()) else {
        return;
    };
    terminal.write("clear; \"$BOSWELL\" forget 5e550001; echo ended $?");
    terminal.press(&["Enter"]);
    let asked = terminal.wait_for("for good? [y/N]");
    for shown in [id(1).as_str(), CANARY, "2026-03-31 09:00:00", "Forget 1 session ("] {
        assert!(asked.contains(shown), "{shown}: {asked}");
    }
    terminal.write("n");
    terminal.press(&["Enter"]);
    let screen = terminal.wait_for("ended 0");
    assert!(screen.contains("Nothing forgotten"), "{screen}");
}
