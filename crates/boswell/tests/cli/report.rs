//! The report of a day: its text, its citations, and that no log can inject anything into its pages.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::{Sandbox, names_in};

pub const ROOT: &str = ".local/share/boswell-reports";
const LOGIN: &str = "5e550001-0000-4000-8000-000000000000";
const DOCS: &str = "5e550002-0000-4000-8000-000000000000";

fn log(id: &str) -> String {
    format!(".claude/projects/-home-ada-app/{id}.jsonl")
}

/// Reads a file of yesterday's workspace.
fn of_day(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.home.join(ROOT).join("work/2026-03-31").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn bash(command: &str) -> Value {
    json!({ "command": command })
}

/// Returns a session with a fix, a correction, a test and a commit.
fn login() -> ClaudeLog {
    let edit = json!({"file_path": "/home/ada/app/src/login.rs", "old_string": "a", "new_string": "b"});
    ClaudeLog::new(LOGIN)
        .at("2026-03-31T10:00:00Z")
        .prompt("The login is broken since the last release. Please mend it.")
        .tool(
            "Edit",
            edit.clone(),
            "The file /home/ada/app/src/login.rs has been updated.",
        )
        .failed_tool(
            "Bash",
            bash("cargo test login"),
            "Exit code 101\ntest result: FAILED. 3 passed; 1 failed",
        )
        .tool("Edit", edit, "The file /home/ada/app/src/login.rs has been updated.")
        .tool("Bash", bash("cargo test login"), "test result: ok. 4 passed; 0 failed")
        .reply("The login works again: the token was read before it was there.")
        .wait_s(120)
        .prompt("no, the old cookie must still work")
        .denied_tool(
            "Bash",
            bash("git commit -am 'mend it' && rm -rf /home/ada/app/target"),
            "leave the build alone",
        )
        .tool("Bash", bash("cargo test"), "test result: ok. 9 passed; 0 failed")
        .tool(
            "Bash",
            bash("git commit -am 'mend the login'"),
            "[main 1a2b3c4] mend the login\n 1 file changed",
        )
        .reply("Committed. Shall I push the branch to the server?")
}

/// Returns a session of the same project that changes nothing.
fn docs() -> ClaudeLog {
    ClaudeLog::new(DOCS)
        .at("2026-03-31T22:00:00Z")
        .prompt("Where is the documentation of the cookie format?")
        .tool(
            "Grep",
            json!({"pattern": "cookie", "path": "/home/ada/app/docs"}),
            "docs/cookie.md",
        )
        .reply("In docs/cookie.md.")
}

pub fn home() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.write(&log(LOGIN), &login().jsonl());
    sandbox.write(&log(DOCS), &docs().jsonl());
    sandbox
}

#[test]
fn a_day_is_told_with_the_lines_it_stands_on() {
    assert_snapshot!(home().run("report"));
}

#[test]
fn the_diary_is_yesterdays_page_and_days_and_the_index_know_it() {
    let sandbox = home();
    let page = sandbox.run("diary");
    assert!(page.starts_with("# Tuesday, 31 March 2026\n"), "{page}");
    assert_eq!(page, home().run("report --date 2026-03-31"));
    sandbox.run("sweep");
    let days = sandbox.run("days");
    assert!(days.contains("report"), "{days}");
    assert_eq!(
        names_in(&sandbox.home.join(ROOT).join("work/2026-03-31")),
        ["metadata.json", "projects", "report.html", "report.json", "report.md"]
    );
    let index = fs::read_to_string(sandbox.home.join(ROOT).join("index.html")).unwrap();
    assert!(index.contains("href=\"work/2026-03-31/report.html\""), "{index}");
    assert!(index.contains("The login is broken since the last release"), "{index}");
    let before = of_day(&sandbox, "report.md");
    sandbox.run("prepare --force");
    assert_eq!(
        of_day(&sandbox, "report.md"),
        before,
        "a workspace that is made anew keeps its reports"
    );
}

#[test]
fn a_piece_that_begins_with_something_pasted_is_called_as_its_session() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let pasted = || {
        ClaudeLog::new(LOGIN)
            .at("2026-03-31T10:00:00Z")
            .prompt("<log>\nthread main panicked at line 7\n</log>\nwhy?")
            .reply("It reads past the end.")
    };
    sandbox.write(&log(LOGIN), &pasted().title("Find the cause of the panic").jsonl());
    let page = sandbox.run("report -q");
    assert!(page.contains("### “Find the cause of the panic”\n"), "{page}");
    sandbox.write(&log(LOGIN), &pasted().jsonl());
    sandbox.run("prepare --force");
    let page = sandbox.run("report -q");
    assert!(!page.contains("Find the cause"), "{page}");
    assert!(page.contains("thread main panicked"), "{page}");
}

/// Collects all citations of a report, at every depth.
fn citations(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("turn_ref") && fields.contains_key("first_line") {
                found.push(value.clone());
            }
            fields.values().for_each(|inner| citations(inner, found));
        }
        Value::Array(all) => all.iter().for_each(|inner| citations(inner, found)),
        _ => {}
    }
}

#[test]
fn every_citation_is_of_the_index_and_every_turn_is_covered_once() {
    let sandbox = home();
    let day: Value = serde_json::from_str(&sandbox.run("report --json -q")).unwrap();
    let key = day["projects"][0]["project_key"].as_str().unwrap();
    let index = of_day(&sandbox, &format!("projects/{key}/sessions.index.jsonl"));
    let rows: Vec<Value> = index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let turns: Vec<(String, &Value)> = rows
        .iter()
        .flat_map(|row| {
            let of = row["session_ref"].as_str().unwrap();
            row["turns"]
                .as_array()
                .unwrap()
                .iter()
                .map(move |turn| (of.to_owned(), turn))
        })
        .collect();
    let mut cited = Vec::new();
    citations(&day, &mut cited);
    assert!(cited.len() > 20, "{}", cited.len());
    for one in &cited {
        let inside = turns.iter().any(|(session, turn)| {
            *session == one["session_ref"]
                && turn["turn_ref"] == one["turn_ref"]
                && turn["turn_start_line"].as_u64() <= one["first_line"].as_u64()
                && one["first_line"].as_u64() <= one["last_line"].as_u64()
                && one["last_line"].as_u64() <= turn["turn_end_line"].as_u64()
        });
        assert!(inside && one["project_key"] == key, "{one}");
    }
    let project = &day["projects"][0];
    let works = project["works"]
        .as_array()
        .unwrap()
        .iter()
        .chain(project["folded"].as_array().unwrap());
    let mut covered: Vec<String> = works
        .flat_map(|work| work["covers"].as_array().unwrap())
        .map(Value::to_string)
        .collect();
    covered.sort();
    let all = covered.len();
    covered.dedup();
    assert_eq!((all, covered.len()), (turns.len(), turns.len()));
    // Every sentence has a citation.
    fn check(value: &Value) {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("words") {
                    assert!(!fields["citations"].as_array().unwrap().is_empty(), "{value}");
                }
                fields.values().for_each(check);
            }
            Value::Array(all) => all.iter().for_each(check),
            _ => {}
        }
    }
    check(&day);
}

#[test]
fn the_same_logs_give_the_same_bytes_twice_and_elsewhere() {
    let files = |sandbox: &Sandbox| {
        sandbox.run("sweep");
        sandbox.run("report");
        let root = sandbox.home.join(ROOT);
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        [
            "work/2026-03-31/report.md",
            "work/2026-03-31/report.html",
            "work/2026-03-31/report.json",
            "index.html",
        ]
        .map(read)
    };
    let (here, mut there) = (home(), home());
    assert_ne!(here.home, there.home);
    let first = files(&here);
    assert_eq!(files(&here), first);
    // A different clock and day of writing change nothing.
    there.set("BOSWELL_NOW", "2026-05-20T20:00:00Z");
    there.run("report --date 2026-03-31");
    there.set("BOSWELL_NOW", "2026-04-01T11:00:00Z");
    assert_eq!(files(&there), first);
    for text in &first {
        assert!(
            !text.contains(here.home.to_str().unwrap()) && !text.contains("/home/ada"),
            "{text}"
        );
    }
}

#[test]
fn a_day_whose_text_was_let_go_is_told_from_digests() {
    let mut sandbox = home();
    sandbox.run("sweep");
    sandbox.set("BOSWELL_NOW", "2026-04-01T12:00:00Z");
    sandbox.run("sweep");
    let gone = sandbox.run("evict --config session_memory.retention.raw_soft_cap_bytes=1");
    for id in [LOGIN, DOCS] {
        fs::remove_file(sandbox.home.join(log(id))).unwrap();
    }
    let told = sandbox.run("report --date 2026-03-31");
    assert!(told.contains("from its digest"), "{gone}{told}");
    assert_snapshot!(told);
    let page = of_day(&sandbox, "report.html");
    assert!(
        page.contains("badge digest") && page.contains("id=\"t0-D0001-T0001\""),
        "{page}"
    );
}

#[test]
fn what_was_decided_is_told_whether_its_text_is_there_or_not() {
    let mut sandbox = home();
    sandbox.run("sweep");
    sandbox.set("BOSWELL_NOW", "2026-04-01T12:00:00Z");
    sandbox.run("sweep");
    sandbox.run_args(&["decide", "tokens stay opaque", "--session", LOGIN]);
    let decided = "Recorded decision: “tokens stay opaque”";
    assert!(sandbox.run("report --date 2026-03-31").contains(decided));
    sandbox.run("sweep");
    sandbox.run("evict --config session_memory.retention.raw_soft_cap_bytes=1");
    for id in [LOGIN, DOCS] {
        fs::remove_file(sandbox.home.join(log(id))).unwrap();
    }
    fs::remove_dir_all(sandbox.home.join(ROOT)).unwrap();
    let told = sandbox.run("report --date 2026-03-31");
    assert!(told.contains("from its digest") && told.contains(decided), "{told}");
}

#[test]
fn a_day_on_which_only_subagents_worked_says_so() {
    let sandbox = home();
    let started = r#"{"timestamp":"2026-03-27T09:00:00Z","type":"session_meta","payload":{"id":"019d4700-0000-7000-8000-00000000000a","timestamp":"2026-03-27T09:00:00Z","cwd":"/home/ada/app","cli_version":"0.130.0","source":{"subagent":"review"}}}"#;
    let said = r#"{"timestamp":"2026-03-27T09:01:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looks good."}]}}"#;
    let log = ".codex/sessions/2026/03/27/rollout-2026-03-27T09-00-00-019d4700-0000-7000-8000-00000000000a.jsonl";
    sandbox.write(log, &format!("{started}\n{said}\n"));
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("diary 2026-03-27"), @"
    --- stderr ---
    error: no sessions on 2026-03-27, only 1 subagent; the nearest day with sessions is 2026-03-31
    Hint: `boswell diary 2026-03-31`
    --- exit 1 ---
    ");
}

#[test]
fn a_day_without_sessions_has_no_page_and_the_nearest_day_is_offered() {
    let sandbox = home();
    assert_snapshot!(sandbox.run("report --date 2026-03-30"), @"
    --- stderr ---
    error: no sessions on 2026-03-30
    Hint: `boswell sweep` reads the agents' logs, `boswell days` lists the days with sessions
    --- exit 1 ---
    ");
    sandbox.run("sweep");
    assert_snapshot!(sandbox.run("diary 2026-03-28"), @"
    --- stderr ---
    error: no sessions on 2026-03-28; the nearest day with sessions is 2026-03-31
    Hint: `boswell diary 2026-03-31`
    --- exit 1 ---
    ");
    assert_snapshot!(sandbox.run("diary 2026-03-28 --json"), @r#"
    {"error":{"code":"no-sessions","message":"no sessions on 2026-03-28; the nearest day with sessions is 2026-03-31","hint":"`boswell diary 2026-03-31`","retryable":false}}
    --- exit 1 ---
    "#);
    assert_eq!(names_in(&sandbox.home.join(ROOT).join("work")), [""; 0]);
}

#[test]
fn a_day_is_named_by_a_date_a_word_a_weekday_or_a_distance() {
    let sandbox = home();
    let page = sandbox.run("diary 2026-03-31");
    assert!(page.starts_with("# Tuesday, 31 March 2026\n"), "{page}");
    for day in [
        "yesterday",
        "tuesday",
        "-1d",
        "--date tue",
        "--date -1d",
        "--date=yesterday",
    ] {
        assert_eq!(sandbox.run(&format!("diary {day}")), page, "{day}");
        let day = day.trim_start_matches("--date").trim_start_matches(['=', ' ']);
        assert_eq!(sandbox.run(&format!("report --date {day}")), page, "{day}");
        for verb in ["prepare", "days", "bundle -o day.zip --reports-root nowhere"] {
            let told = sandbox.run(&format!("{verb} --date {day}"));
            assert!(
                told.contains("2026-03-31") || told.contains("no sessions in the memory"),
                "{verb} {day}: {told}"
            );
        }
    }
    let today = sandbox.run("today");
    assert!(today.contains("no sessions on 2026-04-01"), "{today}");
    assert_eq!(today, sandbox.run("diary today"));
}

#[test]
fn several_days_are_one_report() {
    let sandbox = home();
    assert_snapshot!(sandbox.run("report --since 2026-03-30 --until yesterday"));
    let page = fs::read_to_string(sandbox.home.join(ROOT).join("ranges/2026-03-30_2026-03-31.html")).unwrap();
    assert!(page.contains(concat!("../", "work/2026-03-31/report.html")), "{page}");
    let week: Value = serde_json::from_str(&sandbox.run("report --week --json -q")).unwrap();
    assert_eq!(
        (&week["since"], &week["until"]),
        (&"2026-03-25".into(), &"2026-03-31".into())
    );
    assert_eq!(
        (week["days"].as_array().unwrap().len(), &week["totals"]["turns"]),
        (7, &4.into())
    );
    assert_snapshot!(sandbox.run("report --since 2026-04-01 --until 2026-03-01"), @"
    --- stderr ---
    error: 2026-04-01 is after 2026-03-01
    --- exit 2 ---
    ");
}

#[test]
fn days_have_as_many_hours_as_their_zone_gives_them() {
    for (date, hours, start, end) in [
        (
            "2026-03-29",
            23,
            "2026-03-29T00:00:00+01:00",
            "2026-03-30T00:00:00+02:00",
        ),
        (
            "2025-10-26",
            25,
            "2025-10-26T00:00:00+02:00",
            "2025-10-27T00:00:00+01:00",
        ),
    ] {
        let sandbox = Sandbox::new();
        let text = ClaudeLog::new(LOGIN)
            .at(&format!("{date}T21:30:00Z"))
            .prompt("a late question")
            .reply("Yes.");
        sandbox.write(&log(LOGIN), &text.jsonl());
        let run = format!("report --date {date} --timezone Europe/Berlin --json -q");
        let day: Value = serde_json::from_str(&sandbox.run(&run)).unwrap();
        assert_eq!(day["timezone"], "Europe/Berlin");
        assert_eq!(day["report_window_local"], json!({"start": start, "end": end}));
        let page = fs::read_to_string(sandbox.home.join(ROOT).join(format!("work/{date}/report.html"))).unwrap();
        let ticks = page.matches("class=\"hour\"").count();
        assert_eq!(ticks, usize::div_ceil(hours, 3), "{date}");
    }
}

#[test]
fn a_day_that_is_not_over_says_so_and_is_told_anew() {
    let mut sandbox = home();
    sandbox.write(
        &log("5e550003-0000-4000-8000-000000000000"),
        &ClaudeLog::new("5e550003-0000-4000-8000-000000000000")
            .at("2026-04-01T08:00:00Z")
            .prompt("good morning")
            .reply("Hello.")
            .jsonl(),
    );
    let told = sandbox.run("report --date today");
    assert!(told.contains("not over: as of 2026-04-01T09:00:00Z"), "{told}");
    sandbox.set("BOSWELL_NOW", "2026-04-02T09:00:00Z");
    let told = sandbox.run("report --date 2026-04-01");
    assert!(told.contains("(UTC), final"), "{told}");
}

#[test]
fn secrets_are_masked_even_where_the_workspace_is_verbatim() {
    let sandbox = Sandbox::new();
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let text = ClaudeLog::new(LOGIN)
        .at("2026-03-31T10:00:00Z")
        .prompt(&format!("use {secret} to clone"))
        .tool(
            "Bash",
            bash(&format!("git clone https://{secret}@example.com/x")),
            "done",
        )
        .reply(&format!("Cloned with {secret}."));
    sandbox.write(&log(LOGIN), &text.jsonl());
    sandbox.run("prepare --verbatim");
    let told = sandbox.run("report");
    assert!(!told.contains(&secret) && told.contains("#1\\]"), "{told}");
    for name in ["report.md", "report.html", "report.json"] {
        let text = of_day(&sandbox, name);
        assert!(!text.contains(&secret) && text.contains("REDACTED:"), "{text}");
        assert!(
            !text.contains("REDACTED:github-token:"),
            "fingerprints stay on the machine: {text}"
        );
    }
}

#[test]
fn a_report_goes_where_it_is_wanted() {
    let sandbox = home();
    assert_snapshot!(sandbox.run("report -o day.html"), @"
    --- stderr ---
    Wrote [HOME]/day.html
    ");
    assert_eq!(
        fs::read_to_string(sandbox.home.join("day.html")).unwrap(),
        of_day(&sandbox, "report.html")
    );
    sandbox.run("report --to json -o day.txt");
    assert_eq!(
        fs::read_to_string(sandbox.home.join("day.txt")).unwrap(),
        of_day(&sandbox, "report.json")
    );
    let html = sandbox.run("report --to html -q");
    assert_eq!(html, of_day(&sandbox, "report.html"));
    assert_snapshot!(sandbox.run("report -o no/such/place.md"), @"
    --- stderr ---
    error: cannot write [HOME]/no/such/place.md: No such file or directory (os error 2)
    --- exit 2 ---
    ");
}

#[cfg(unix)]
#[test]
fn finished_files_are_handed_to_a_command_of_the_users() {
    let mut sandbox = home();
    sandbox.set("PATH", "/usr/bin:/bin");
    sandbox.write(
        "take.sh",
        "printf '%s\\n' \"$@\" > arguments; cat > input; exit ${1#code-}",
    );
    let told = sandbox.run_args(&[
        "report",
        "--to",
        "html",
        "-o",
        "day.html",
        "--publish",
        "sh take.sh 'code-0' \"two words\"",
    ]);
    assert_snapshot!(told, @"
    --- stderr ---
    Wrote [HOME]/day.html
    Published by sh
    ");
    let arguments = fs::read_to_string(sandbox.home.join("arguments")).unwrap();
    assert_snapshot!(sandbox.hide_home(&arguments), @"
    code-0
    two words
    [DAYS]/2026-03-31/report.md
    [DAYS]/2026-03-31/report.html
    [DAYS]/2026-03-31/report.json
    ");
    let input: Value = serde_json::from_str(&fs::read_to_string(sandbox.home.join("input")).unwrap()).unwrap();
    assert_eq!(
        (&input["since"], &input["html"]),
        (&"2026-03-31".into(), &arguments.lines().nth(3).unwrap().into())
    );
    assert_snapshot!(sandbox.run_args(&["report", "-o", "day.md", "--publish", "sh take.sh code-3"]), @"
    --- stderr ---
    Wrote [HOME]/day.md
    error: cannot publish by `sh`: exit status: 3
    Hint: the report stays: [DAYS]/2026-03-31/report.html
    --- exit 2 ---
    ");
    assert!(!of_day(&sandbox, "report.html").is_empty());
    assert_snapshot!(sandbox.run_args(&["report", "--publish", "sh 'take"]), @"
    --- stderr ---
    error: a quotation or an escape has no end: sh 'take
    --- exit 2 ---
    ");
}

#[test]
fn every_field_of_the_report_is_documented() {
    let sandbox = home();
    let day: Value = serde_json::from_str(&sandbox.run("report --json -q")).unwrap();
    let page = include_str!("../../../../docs/json.md");
    let page = page.split("# What `boswell report --json` prints").nth(1).unwrap();
    fn check(value: &Value, page: &str) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    assert!(
                        page.contains(&format!("`{name}`")),
                        "printed, and not in docs/json.md: {name}"
                    );
                    check(inner, page);
                }
            }
            Value::Array(all) => all.iter().for_each(|inner| check(inner, page)),
            _ => {}
        }
    }
    check(&day, page);
    assert_eq!(day["schema"], "boswell.report/1");
}

#[test]
fn the_day_in_the_documentation_is_that_of_the_demo() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.run("demo --json -o demo");
    for (variable, place) in [
        ("CLAUDE_CONFIG_DIR", "demo/.claude"),
        ("CODEX_HOME", "demo/.codex"),
        ("GROK_HOME", "demo/.grok"),
    ] {
        sandbox.set(variable, &sandbox.path(place));
    }
    let told = sandbox.run("diary");
    let page = include_str!("../../../../docs/diary.md");
    let piece = page.split("```markdown\n").nth(1).unwrap().split("```").next().unwrap();
    for line in piece.lines() {
        assert!(told.lines().any(|other| other == line), "{line}\n{told}");
    }
    assert_eq!(
        told.matches("- Committed ").count(),
        1,
        "a commit that was refused is none: {told}"
    );
}

#[test]
fn a_pull_request_is_offered_and_is_no_commit() {
    let sandbox = home();
    let offered = ClaudeLog::new(LOGIN)
        .at("2026-03-31T10:00:00Z")
        .prompt("Offer what I did as a pull request.")
        .tool("Bash", bash("gh pr create --title 'Mend the login' --fill"), "")
        .reply("It is offered.");
    sandbox.write(&log(LOGIN), &offered.jsonl());
    let told = sandbox.run("report --date 2026-03-31 --writer default");
    assert!(
        told.contains("Opened or merged a pull request with `gh pr create"),
        "{told}"
    );
    assert!(!told.contains("1 commit") && !told.contains("Committed"), "{told}");
}
