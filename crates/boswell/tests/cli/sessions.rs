//! `boswell sessions`, and the ways to name a session.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

const FIRST: &str = "5e550000-0000-4000-8000-000000000001";
const SECOND: &str = "5e55beef-0000-4000-8000-000000000002";

fn log(id: &str) -> String {
    format!(".claude/projects/-home-ada-app/{id}.jsonl")
}

fn history(id: &str, at: &str, text: &str, project: &str) -> String {
    let at: jiff::Timestamp = at.parse().unwrap();
    let record = serde_json::json!({
        "display": text, "pastedContents": {}, "timestamp": at.as_millisecond(), "project": project, "sessionId": id,
    });
    format!("{record}\n")
}

/// Returns a home with two logs of one project, and a history that names one more session.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let session = |id: &str, at: &str, text: &str| ClaudeLog::new(id).at(at).prompt(text).reply("Done.").jsonl();
    sandbox.write(
        &log(FIRST),
        &session(FIRST, "2026-03-31T09:00:00Z", "make the tests green"),
    );
    sandbox.write(
        &log(SECOND),
        &session(SECOND, "2026-03-20T09:00:00Z", "bad \u{1b}[31m \u{202e}words"),
    );
    let lines = history(FIRST, "2026-03-31T09:00:00Z", "make the tests green", "/home/ada/app")
        + &history("90ne", "2026-02-01T09:00:00Z", "/model", "/home/ada/site")
        + &history(
            "90ne",
            "2026-02-01T09:01:00Z",
            "draw\na \u{1b}[31mhouse",
            "/home/ada/site",
        );
    sandbox.write(".claude/history.jsonl", &lines);
    sandbox.run("sweep");
    sandbox
}

fn json(told: &str) -> Value {
    serde_json::from_str(told.lines().next().unwrap()).unwrap()
}

/// Returns the uids in the list.
fn uids(sandbox: &Sandbox, flags: &str) -> Vec<String> {
    let told = json(&sandbox.run(&format!("sessions --json {flags}")));
    let sessions = told["sessions"].as_array().unwrap().iter();
    sessions
        .map(|session| session["session_uid"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn sessions_are_listed_newest_first_with_those_of_which_only_prompts_are_left() {
    let sandbox = sandbox();
    assert_snapshot!(sandbox.run("sessions"), @r"
    id        last          agent   project  turns  prompts  tokens   took     size  status        title or first prompt
    5e550000  23 hours ago  claude  app          1               30  1.0 s  1.2 KiB  kept          make the tests green
    5e55beef  11 days ago   claude  app          1               30  1.0 s  1.2 KiB  kept          bad \u{1b}[31m \u{202e}words
    90ne      58 days ago   claude  site                  2                          prompts only  draw a \u{1b}[31mhouse
    ");
}

#[test]
fn a_session_becomes_whole_when_its_log_turns_up() {
    let sandbox = sandbox();
    let status =
        |sandbox: &Sandbox| json(&sandbox.run("sessions --json --project site"))["sessions"][0]["status"].clone();
    assert_eq!(status(&sandbox), "prompts_only");
    let found = ClaudeLog::new("90ne")
        .at("2026-02-01T09:00:00Z")
        .cwd("/home/ada/site")
        .prompt("draw")
        .jsonl();
    sandbox.write(".claude/projects/-home-ada-site/90ne.jsonl", &found);
    sandbox.run("sweep");
    assert_eq!(status(&sandbox), "kept");
}

#[test]
fn as_json_each_session_has_all_fields() {
    let sandbox = sandbox();
    let told = json(&sandbox.run("sessions --json --limit 1"));
    assert_snapshot!(serde_json::to_string_pretty(&told).unwrap(), @r#"
    {
      "hidden": 2,
      "next_cursor": "1774947601000000.claude:5e550000-0000-4000-8000-000000000001",
      "schema": "boswell.sessions/1",
      "sessions": [
        {
          "branch": "main",
          "bytes": 1223,
          "cwd": "/home/ada/app",
          "duration_ms": 1000,
          "ended_at": "2026-03-31T09:00:01Z",
          "events": 2,
          "first_prompt": "make the tests green",
          "flavor": "claude",
          "is_hidden": false,
          "is_subagent": false,
          "name": null,
          "native_session_id": "5e550000-0000-4000-8000-000000000001",
          "note": null,
          "outcome": "unknown",
          "project": "/home/ada/app",
          "prompts": 1,
          "repo": "app",
          "session_uid": "claude:5e550000-0000-4000-8000-000000000001",
          "started_at": "2026-03-31T09:00:00Z",
          "status": "kept",
          "tags": [],
          "title": null,
          "tokens": 30,
          "turns": 1
        }
      ],
      "total": 3
    }
    "#);
}

#[test]
fn filters_choose_by_agent_project_and_time() {
    let sandbox = sandbox();
    let (first, second, gone) = (
        format!("claude:{FIRST}"),
        format!("claude:{SECOND}"),
        "claude:90ne".to_owned(),
    );
    let check = |flags: &str, expected: &[&String]| {
        assert_eq!(uids(&sandbox, flags).iter().collect::<Vec<_>>(), expected, "{flags}");
    };
    check("", &[&first, &second, &gone]);
    check("--agent claude-code", &[&first, &second, &gone]);
    check("--agent codex", &[]);
    check("--agent codex --agent claude", &[&first, &second, &gone]);
    check("--project SITE", &[&gone]);
    check("--project /home/ada/app", &[&first, &second]);
    check("--project /home/ada/../ada", &[&first, &second, &gone]);
    check("--project /home/ad", &[]);
    check("--since yesterday", &[&first]);
    check("--since 2026-03-20 --until 2026-03-20", &[&second]);
    check("--since 30d --until 7d", &[&second]);
    check("--until 2026-03-19", &[&gone]);
    check("--since today", &[]);
    check("--limit 2", &[&first, &second]);
    check("--limit 0", &[&first, &second, &gone]);
    check("--here", &[]);
}

#[test]
fn here_is_the_repository_around_this_directory() {
    let sandbox = sandbox();
    let app = sandbox.home.join("code/app");
    fs::create_dir_all(app.join("src/deep")).unwrap();
    fs::create_dir(app.join(".git")).unwrap();
    let id = "4e4e0000-0000-4000-8000-000000000003";
    let session = ClaudeLog::new(id)
        .at("2026-03-01T09:00:00Z")
        .cwd(app.join("tests").to_str().unwrap())
        .prompt("hi");
    sandbox.write(&log(id), &session.jsonl());
    sandbox.run("sweep");
    let run = |line: &str| {
        let output = sandbox
            .command(line)
            .current_dir(app.join("src/deep"))
            .output()
            .unwrap();
        sandbox.told(&output)
    };
    let told = json(&run("sessions --here --json"));
    assert_eq!(
        (&told["total"], &told["sessions"][0]["native_session_id"]),
        (&1.into(), &id.into())
    );
    assert_eq!(run("cat here"), sandbox.hide_home(&session.jsonl()));
}

#[test]
fn nothing_found_is_said_and_is_exit_1() {
    assert_snapshot!(sandbox().run("sessions --since today"), @"
    --- stderr ---
    No session matches
    Hint: `boswell sweep` reads what is new; fewer filters find more
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox().run("sessions --agent grok --json"), @r#"
    {"hidden":0,"next_cursor":null,"schema":"boswell.sessions/1","sessions":[],"total":0}
    --- exit 1 ---
    "#);
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("sessions"), @"
    --- stderr ---
    error: there is no memory yet
    Hint: `boswell setup` reads the agents' logs and creates it
    --- exit 1 ---
    ");
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("sessions"), @"
    --- stderr ---
    No session is in the memory yet
    Hint: `boswell sweep` reads the agents' logs
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("sessions --since someday"), @"
    --- stderr ---
    error: invalid value 'someday' for '--since <WHEN>': write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`

    For more information, try '--help'.
    --- exit 2 ---
    ");
}

#[test]
fn a_session_is_named_by_uid_prefix_last_or_log() {
    let sandbox = sandbox();
    let kept = fs::read_to_string(sandbox.home.join(log(FIRST))).unwrap();
    for name in [
        format!("claude:{FIRST}"),
        FIRST.to_owned(),
        "5e550".to_owned(),
        "claude:5e550".to_owned(),
        "last".to_owned(),
        log(FIRST),
        sandbox.path(&log(FIRST)),
    ] {
        assert_eq!(sandbox.run(&format!("cat {name}")), kept, "{name}");
    }
    assert_snapshot!(sandbox.run("cat 5e55"), @r"
    --- stderr ---
    error: several sessions begin with `5e55`:
      claude:5e550000-0000-4000-8000-000000000001  23 hours ago  make the tests green
      claude:5e55beef-0000-4000-8000-000000000002  11 days ago  bad \u{1b}[31m \u{202e}words
    Hint: name more of the id
    --- exit 2 ---
    ");
    assert_snapshot!(sandbox.run("cat 90ne"), @"
    --- stderr ---
    error: only prompts of this session are known: `claude:90ne`
    Hint: its log was deleted before the first sweep; `boswell show` prints the prompts
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("cat .claude/history.jsonl"), @"
    --- stderr ---
    error: the memory holds nothing of this log: `.claude/history.jsonl`
    Hint: `boswell sweep` reads what is new
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("cat here"), @"
    --- stderr ---
    error: there is no session of this directory in the memory
    Hint: `boswell sweep` reads what is new
    --- exit 1 ---
    ");
}

#[test]
fn subagents_are_left_out_unless_asked_for_and_never_stand_for_their_session() {
    let sandbox = sandbox();
    let agent = ClaudeLog::subagent(FIRST, "a1")
        .at("2026-03-31T10:00:00Z")
        .prompt("look")
        .reply("Seen.");
    sandbox.write(
        &format!(".claude/projects/-home-ada-app/{FIRST}/subagents/agent-a1.jsonl"),
        &agent.jsonl(),
    );
    sandbox.run("sweep");
    assert_eq!(uids(&sandbox, "--since 2d"), [format!("claude:{FIRST}")]);
    assert_eq!(
        uids(&sandbox, "--since 2d --all"),
        [format!("claude:{FIRST}/a1"), format!("claude:{FIRST}")]
    );
    assert_snapshot!(sandbox.run("sessions --since 2d"), @"
    id        last          agent   project  turns  tokens   took     size  status  title or first prompt
    5e550000  23 hours ago  claude  app          1      30  1.0 s  1.2 KiB  kept    make the tests green
    --- stderr ---
    Hint: 1 subagent left out: `--all`
    ");
    assert_snapshot!(sandbox.run("sessions --since 2026-03-31T10:00:00Z"), @"
    --- stderr ---
    No session matches
    Hint: 1 subagent left out: `--all`
    --- exit 1 ---
    ");
    let kept = fs::read_to_string(sandbox.home.join(log(FIRST))).unwrap();
    for name in ["last".to_owned(), FIRST.to_owned(), "5e550".to_owned()] {
        assert_eq!(sandbox.run(&format!("cat {name}")), kept, "{name}");
    }
}
