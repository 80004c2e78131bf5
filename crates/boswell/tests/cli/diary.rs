//! The verbs of the diary: a day prepared, listed and bundled.

use std::fs;
use std::io::Read;

use insta::assert_snapshot;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// The directory of all workspaces, relative to the reports root.
const WORKSPACES: &str = "work";

/// Returns the path of a file in yesterday's workspace, below the default reports root.
fn in_workspace(name: &str) -> String {
    format!(".local/share/boswell-reports/{WORKSPACES}/2026-03-31/{name}")
}

/// Runs a line and returns the output, with `[DAYS]` for the directory of the workspaces.
fn told(sandbox: &Sandbox, line: &str) -> String {
    sandbox.run(line).replace(&format!("/{WORKSPACES}/"), "/[DAYS]/")
}

/// Returns a home with a session of yesterday and one of a week ago.
fn home() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    let record = |kind: &str, at: &str, text: &str| {
        let message = format!(r#"{{"role":"{kind}","content":"{text}"}}"#);
        format!(
            r#"{{"type":"{kind}","timestamp":"{at}","cwd":"/home/ada/app","uuid":"{at}{kind}","message":{message}}}"#
        )
    };
    let log = |at: &str| {
        format!(
            "{}\n{}\n",
            record("user", at, "fix the login"),
            record("assistant", at, "done")
        )
    };
    sandbox.write(
        ".claude/projects/-home-ada-app/5e55.jsonl",
        &log("2026-03-31T10:00:00Z"),
    );
    sandbox.write(
        ".claude/projects/-home-ada-app/01d5.jsonl",
        &log("2026-03-25T10:00:00Z"),
    );
    sandbox
}

#[test]
fn a_day_is_prepared_once_and_told() {
    let sandbox = home();
    assert_snapshot!(told(&sandbox, "prepare"), @"
    [DAYS]/2026-03-31
    --- stderr ---
    Prepared 2026-03-31 (final): 1 project, 1 session, 1 turn, 0 subagents
    ");
    assert_snapshot!(told(&sandbox, "prepare --date 2026-03-31"), @"
    [DAYS]/2026-03-31
    --- stderr ---
    The workspace is there already
    Hint: `--force` prepares it again
    ");
    assert_snapshot!(told(&sandbox, "prepare --date 2026-03-31 --timezone Asia/Shanghai"), @"
    --- stderr ---
    error: the existing workspace differs in report_window_local, report_window_utc, timezone: [DAYS]/2026-03-31
    Hint: `boswell prepare --force` prepares it again; reports in it stay
    --- exit 2 ---
    ");
    let again: Value = serde_json::from_str(&sandbox.run("prepare --force --json")).unwrap();
    assert_eq!((&again["turns"], &again["is_new"]), (&1.into(), &true.into()));
    let audit = again["audit"]
        .as_str()
        .unwrap()
        .replace("[HOME]", sandbox.home.to_str().unwrap());
    let audit = fs::read_to_string(audit).unwrap();
    assert!(audit.contains("\"copies\": \"masked\""), "{audit}");
}

#[cfg(unix)]
#[test]
fn workspaces_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = home();
    sandbox.run("prepare");
    let root = sandbox.home.join(".local/share/boswell-reports");
    for place in [".", "work", "work/2026-03-31", "private/2026-03-31"] {
        let mode = fs::metadata(root.join(place)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{place}");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_the_day_is_whole() {
    let sandbox = home();
    fs::create_dir_all(sandbox.home.join(".claude/projects/x/bad.jsonl")).unwrap();
    sandbox.write(".codex/sessions/rollout-z.jsonl.zst", "no archive");
    assert_snapshot!(told(&sandbox, "prepare"), @"
    [DAYS]/2026-03-31
    --- stderr ---
    Prepared 2026-03-31 (final): 1 project, 1 session, 1 turn, 0 subagents
    warning: skipped [HOME]/.claude/projects/x/bad.jsonl: not a regular file
    warning: skipped [HOME]/.codex/sessions/rollout-z.jsonl.zst: cannot be read: Unknown frame descriptor
    ");
}

#[test]
fn days_that_make_no_sense_are_refused() {
    let sandbox = home();
    assert_snapshot!(told(&sandbox, "prepare --timezone ../x"), @"
    --- stderr ---
    error: no such time zone: `../x`
    Hint: write it like `Europe/Berlin`
    --- exit 2 ---
    ");
    assert_snapshot!(told(&sandbox, "prepare --date 2026-04-02"), @"
    --- stderr ---
    error: 2026-04-02 has not begun yet in UTC
    --- exit 2 ---
    ");
    assert_snapshot!(told(&sandbox, "prepare --date tomorrow"), @"
    --- stderr ---
    error: invalid value 'tomorrow' for '--date <DAY>': write it like `2026-05-12`, `today`, `yesterday`, `monday` or `-3d`

    For more information, try '--help'.
    --- exit 2 ---
    ");
    // The earliest possible date is a day without sessions.
    assert_snapshot!(told(&sandbox, "prepare --date 0001-01-01"), @"
    [DAYS]/0001-01-01
    --- stderr ---
    Prepared 0001-01-01 (final): 0 projects, 0 sessions, 0 turns, 0 subagents
    ");
}

#[test]
fn the_place_is_a_flag_then_variables_then_the_settings() {
    let mut sandbox = home();
    let place = |sandbox: &Sandbox, line: &str| {
        let answer: Value = serde_json::from_str(&told(sandbox, line)).unwrap();
        answer["workspace"].as_str().unwrap().to_owned()
    };
    let by_setting = format!(
        "prepare --json --config diary.reports_root={}",
        sandbox.path("by-setting")
    );
    assert_eq!(place(&sandbox, &by_setting), "[HOME]/by-setting/[DAYS]/2026-03-31");
    sandbox.set("PROMPT_DIARY_HOME", &sandbox.path("by-old-variable"));
    assert_snapshot!(told(&sandbox, "prepare"), @"
    [HOME]/by-old-variable/[DAYS]/2026-03-31
    --- stderr ---
    Hint: `PROMPT_DIARY_HOME` is honoured; `BOSWELL_REPORTS` is its name here
    Prepared 2026-03-31 (final): 1 project, 1 session, 1 turn, 0 subagents
    ");
    sandbox.set("BOSWELL_REPORTS", &sandbox.path("by-variable"));
    assert_eq!(place(&sandbox, &by_setting), "[HOME]/by-variable/[DAYS]/2026-03-31");
    let by_flag = format!("prepare --json --reports-root {}", sandbox.path("by-flag"));
    assert_eq!(place(&sandbox, &by_flag), "[HOME]/by-flag/[DAYS]/2026-03-31");
}

#[test]
fn days_are_listed_with_what_they_have() {
    let sandbox = home();
    assert_snapshot!(Sandbox::new().run("days"), @"
    --- stderr ---
    Hint: no sessions in the memory yet; `boswell sweep` reads the agents' logs
    --- exit 1 ---
    ");
    sandbox.run("sweep");
    sandbox.run("prepare");
    assert_snapshot!(sandbox.run("days"), @"
    2026-03-31      1 turn     1 session  workspace  app
    2026-03-25      1 turn     1 session  -          app
    --- stderr ---
    Hint: `boswell diary 2026-03-31` writes the page of a day
    ");
    sandbox.write(&in_workspace("report.md"), "# A day");
    assert_snapshot!(sandbox.run("days --limit 1 --json"), @r#"{"days":[{"date":"2026-03-31","has_report":true,"projects":["app"],"sessions":1,"turns":1,"workspace":"final"}],"schema":"boswell.days/1","timezone":"UTC","total":2}"#);
}

#[test]
fn a_bundle_has_no_sessions_unless_asked_and_no_secrets() {
    let sandbox = home();
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    assert_snapshot!(sandbox.run("bundle --date 2026-03-31 -o day.zip"), @"
    --- stderr ---
    error: this day has no workspace: 2026-03-31
    Hint: `boswell prepare --date 2026-03-31` makes one
    --- exit 1 ---
    ");
    sandbox.run("prepare --verbatim");
    let report = format!("# A day\n\nThe token {secret} was used in {}.\n", sandbox.path("app"));
    sandbox.write(&in_workspace("report.md"), &report);
    let said = sandbox.run("bundle --date 2026-03-31 --yes -o day.zip");
    assert!(said.contains("Left out: 1 session file"), "{said}");
    let (names, text) = unpack(&sandbox, "day.zip");
    assert_snapshot!(names.join("\n"), @"
    work/metadata.json
    work/projects/app-9cc220a352de/project.json
    work/projects/app-9cc220a352de/sessions.index.jsonl
    work/report.md
    private/audit.manifest.json
    bundle.manifest.json
    ");
    assert!(
        !text.contains(&secret) && text.contains("[REDACTED:") && !text.contains(sandbox.home.to_str().unwrap()),
        "{text}"
    );
    let said = sandbox.run("bundle --date 2026-03-31 --yes -o all.zip --raw-sessions");
    assert!(said.contains("whole sessions"), "{said}");
    assert!(
        unpack(&sandbox, "all.zip")
            .0
            .iter()
            .any(|name| name.ends_with("5e55.jsonl"))
    );
    let again = sandbox.run("bundle --date 2026-03-31 --yes -o day.zip");
    assert!(
        again.contains("nothing is overwritten") && again.contains("--- exit 2 ---"),
        "{again}"
    );
    let inside = sandbox.run(&format!("bundle --date 2026-03-31 --yes -o {}", in_workspace("x.zip")));
    assert!(inside.contains("cannot lie in the workspace"), "{inside}");
}

/// Returns the names of the files in a zip, and all their text.
fn unpack(sandbox: &Sandbox, name: &str) -> (Vec<String>, String) {
    let mut archive = zip::ZipArchive::new(fs::File::open(sandbox.home.join(name)).unwrap()).unwrap();
    let (mut names, mut text) = (Vec::new(), String::new());
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).unwrap();
        names.push(file.name().unwrap().into_owned());
        file.read_to_string(&mut text).unwrap();
    }
    (names, text)
}

#[test]
fn a_day_that_goes_on_is_prepared_again_when_a_log_has_grown() {
    let mut sandbox = home();
    let log = sandbox.home.join(".claude/projects/-home-ada-app/5e55.jsonl");
    let written_at = |time: &str| {
        let at: jiff::Timestamp = time.parse().unwrap();
        for name in ["5e55", "01d5"] {
            let path = log.with_file_name(format!("{name}.jsonl"));
            fs::File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_modified(at.into())
                .unwrap();
        }
    };
    sandbox.set("BOSWELL_NOW", "2026-03-31T12:00:00Z");
    written_at("2026-03-31T10:00:01Z");
    let turns = |sandbox: &Sandbox| {
        let told: Value = serde_json::from_str(&sandbox.run("prepare --today --json")).unwrap();
        (told["is_new"].clone(), told["turns"].clone())
    };
    assert_eq!(turns(&sandbox), (true.into(), 1.into()));
    let workspace = sandbox
        .home
        .join(concat!(".local/share/boswell-reports/", "work/2026-03-31"));
    fs::write(workspace.join("mine.md"), "mine").unwrap();
    sandbox.set("BOSWELL_NOW", "2026-03-31T13:00:00Z");
    assert_eq!(
        turns(&sandbox),
        (false.into(), Value::Null),
        "nothing was written since"
    );
    let more = fs::read_to_string(&log).unwrap().replace("T10:00:00Z", "T12:30:00Z");
    fs::write(&log, fs::read_to_string(&log).unwrap() + &more).unwrap();
    written_at("2026-03-31T12:30:01Z");
    assert_eq!(turns(&sandbox), (true.into(), 2.into()));
    assert_eq!(fs::read_to_string(workspace.join("mine.md")).unwrap(), "mine");
}
