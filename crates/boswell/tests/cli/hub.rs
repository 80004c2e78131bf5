//! A memory on a server: the same answers as from a directory, `hub move` and `hub push`, and no password in any
//! output.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::json_schema::validate;
use testkit::postgres::Postgres;
use testkit::truth;

use crate::sandbox::Sandbox;

/// Questions for both memories. Sizes on disk and locations differ by nature and are not among them.
const QUESTIONS: &[&str] = &[
    "sessions --json",
    "sessions --agent grok --json",
    "search session --json",
    "search ma* --limit 5 --json",
    "usage --json",
    "usage --by model --json",
    "stats --json",
    "show last --json",
    "digest last --json",
    "signals --json",
    "decisions --json",
    "days --json",
    "journal --json",
    "cat last",
    "evict --dry-run --json",
];

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, bytes) in truth::claude(1, 6).files {
        sandbox.write(&format!(".claude/{path}"), &String::from_utf8_lossy(&bytes));
    }
    for (path, bytes) in truth::grok(1, 3).files {
        sandbox.write(&format!(".grok/{path}"), &String::from_utf8_lossy(&bytes));
    }
    sandbox
}

/// Runs a command with the memory in the directory `memory`, or at the URL in `store`.
fn ask(sandbox: &Sandbox, store: Option<&str>, line: &str) -> String {
    let mut command: Command = sandbox.command(line);
    command.env("BOSWELL_HOME", sandbox.path("memory"));
    if let Some(url) = store {
        command
            .env("BOSWELL_HOME", sandbox.path("beside"))
            .env("BOSWELL_STORE", url);
    }
    let output = command.output().unwrap();
    let told = format!(
        "{}\n{:?}\n{}",
        String::from_utf8_lossy(&output.stdout),
        output.status.code(),
        String::from_utf8_lossy(&output.stderr)
    );
    // Only the cost of a search may differ.
    let mut told = told;
    for name in ["took_ms", "frames_asked", "frames_read"] {
        if let Some((before, after)) = told.split_once(&format!("\"{name}\":")) {
            told = before.to_owned() + after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        }
    }
    told
}

#[test]
fn a_memory_on_a_server_answers_as_one_in_a_directory() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    for store in [None, Some(url.as_str())] {
        let told = ask(&sandbox, store, "sweep");
        assert!(told.contains("Some(0)"), "{told}");
        ask(&sandbox, store, "tag last mine");
        ask(&sandbox, store, "decide --session last we-keep-it");
    }
    for question in QUESTIONS {
        let question = format!("{question} --no-sweep");
        let (here, there) = (ask(&sandbox, None, &question), ask(&sandbox, Some(&url), &question));
        assert_eq!(here, there, "{question}");
        assert!(!here.starts_with('\n'), "{question} says nothing: {here}");
    }
    for (store, name) in [(None, "here"), (Some(url.as_str()), "there")] {
        ask(&sandbox, store, &format!("export --to jsonl -o {name} --no-sweep"));
    }
    let table = |directory: &str, name: &str| fs::read_to_string(sandbox.home.join(directory).join(name)).unwrap();
    for name in [
        "sessions.jsonl",
        "turns.jsonl",
        "events.jsonl",
        "calls.jsonl",
        "digests.jsonl",
    ] {
        assert_eq!(table("here", name), table("there", name), "{name}");
        assert!(!table("here", name).is_empty(), "{name}");
    }
}

/// Questions with users and machines, for both memories.
const WHO: &[&str] = &[
    "usage --by user --json",
    "usage --by machine,user --csv",
    "usage --by user --machine desk --json",
    "usage --user ada --json",
    "stats --user ben --json",
    "sessions --user ada --json",
    "sessions --machine desk --json",
    "search session --user ben --json",
    "signals --user ada --json",
];

#[test]
fn what_several_people_did_is_told_by_person_and_by_machine() {
    let Some(server) = Postgres::shared() else { return };
    let (mut sandbox, url) = (Sandbox::new(), server.database());
    sandbox.write_user_config("[store]\nmachine = \"desk\"\n");
    sandbox.set("BOSWELL_NOW", "2030-01-01T00:00:00Z");
    for (user, seed) in [("ada", 1), ("ben", 2)] {
        for (path, bytes) in truth::claude(seed, 4).files {
            sandbox.write(&format!(".claude/{path}"), &String::from_utf8_lossy(&bytes));
        }
        sandbox.set("USER", user);
        for store in [None, Some(url.as_str())] {
            let told = ask(&sandbox, store, "sweep");
            assert!(told.contains("Some(0)"), "{told}");
        }
    }
    for question in WHO {
        let question = format!("{question} --no-sweep");
        let (here, there) = (ask(&sandbox, None, &question), ask(&sandbox, Some(&url), &question));
        assert_eq!(here, there, "{question}");
        assert!(!here.starts_with('\n'), "{question} says nothing: {here}");
    }
    let json = |line: &str| {
        let told = ask(&sandbox, Some(&url), line);
        serde_json::from_str::<Value>(told.lines().next().unwrap()).unwrap()
    };
    let all = json("usage --by user --json --no-sweep");
    let users: Vec<&Value> = all["rows"].as_array().unwrap().iter().map(|row| &row["user"]).collect();
    assert_eq!(users.len(), 2, "{users:?}");
    let calls = |user: &str| {
        let own = json(&format!("usage --user {user} --json --no-sweep"));
        own["totals"]["calls"].as_u64().unwrap()
    };
    // The two users together make up the team.
    let team = all["totals"]["calls"].as_u64().unwrap();
    assert!(calls("ada") > 0 && calls("ben") > 0, "{all}");
    assert_eq!(calls("ada") + calls("ben"), team);
    assert!(ask(&sandbox, Some(&url), "sessions --user nobody --no-sweep").contains("Some(1)"));
    // The diary of one day, for the team and for each user.
    let sessions = |line: &str| {
        let day = json(&format!("{line} --json --no-sweep"));
        day["totals"]["sessions"]
            .as_u64()
            .unwrap_or_else(|| panic!("{line}: {day}"))
    };
    let listed = json("sessions --limit 0 --json --no-sweep");
    let days = listed["sessions"].as_array().unwrap().iter();
    let days: Vec<String> = days
        .filter_map(|one| Some(one["started_at"].as_str()?[..10].to_owned()))
        .collect();
    let mut of_users = [0, 0];
    for day in days.iter().take(4) {
        let report = format!("report --date {day} --timezone UTC");
        let own = ["ada", "ben"].map(|user| sessions(&format!("{report} --user {user}")));
        assert_eq!(own[0] + own[1], sessions(&report), "{day}");
        assert_eq!(own[0] + own[1], sessions(&format!("{report} --machine desk")), "{day}");
        assert_eq!(sessions(&format!("{report} --machine lap")), 0, "{day}");
        of_users = [of_users[0] + own[0], of_users[1] + own[1]];
    }
    assert!(of_users[0] + of_users[1] > 0);
    // A second machine with the same logs and one of its own does not change the recorded authors.
    let other = home();
    let text = "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"content\":\"mine\"}}\n";
    other.write(
        ".claude/projects/-home-eve/5e550000-0000-4000-8000-00000000000e.jsonl",
        text,
    );
    other.write_user_config("[store]\nmachine = \"lap\"\nuser = \"eve\"\n");
    for (path, bytes) in truth::claude(2, 4).files {
        other.write(&format!(".claude/{path}"), &String::from_utf8_lossy(&bytes));
    }
    let before = json("usage --by machine,user --json --no-sweep")["rows"].clone();
    let told = ask(&other, Some(&url), "sweep");
    assert!(told.contains("Some(0)"), "{told}");
    let of_lap = json("sessions --machine lap --json --no-sweep");
    assert!(
        of_lap["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["session_uid"].as_str().unwrap().ends_with("00e"))
    );
    let after = json("usage --by machine,user --machine desk --json --no-sweep")["rows"].clone();
    assert_eq!(before, after);
}

#[test]
fn no_password_is_ever_told() {
    let mut sandbox = Sandbox::new();
    sandbox.set("BOSWELL_STORE", "postgres://ada:open-sesame@127.0.0.1:1/memory");
    sandbox.write_user_config("[store]\nurl = \"postgres://ada:other-sesame@127.0.0.1:1/memory\"\n");
    for line in [
        "status",
        "sessions --json",
        "config show",
        "config show --json",
        "doctor",
        "hub status",
        "hub push",
        "hub move postgres://ada:third-sesame@127.0.0.1:1/memory",
        "sweep --json",
    ] {
        let told = sandbox.run(line);
        assert!(!told.contains("sesame"), "{line}: {told}");
    }
    assert!(sandbox.run("sessions --json").contains("store-away"));
}

#[test]
fn a_sweep_delivers_where_it_is_told_to_and_a_server_that_is_away_is_no_error() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    let configure = |url: &str| {
        sandbox.write_user_config(&format!("[hub]\nurl = \"{url}\"\npush_on_sweep = \"yes\"\n"));
    };
    configure("postgres://ada@127.0.0.1:1/memory");
    let told = ask(&sandbox, None, "sweep");
    assert!(told.contains("Some(0)") && told.contains("not delivered"), "{told}");
    configure(&url);
    let held = || {
        let told = ask(&sandbox, None, "hub status --json");
        let status: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        let sessions = |place: usize| status["places"][place]["sessions"].as_u64().unwrap();
        (sessions(0), sessions(1))
    };
    assert_eq!(held().1, 0);
    // The server has every session once.
    for _ in 0..2 {
        let told = ask(&sandbox, None, "sweep");
        assert!(told.contains("Some(0)") && !told.contains("not delivered"), "{told}");
        let (here, there) = held();
        assert!(here > 5, "{here}");
        assert_eq!(here, there);
    }
    // The sweep before a question does not push.
    let before = server.run_in(url.rsplit('/').next().unwrap(), "SELECT count(*) FROM operations");
    ask(&sandbox, None, "sessions --json");
    assert_eq!(
        server.run_in(url.rsplit('/').next().unwrap(), "SELECT count(*) FROM operations"),
        before
    );
}

/// Returns the network system calls of a command, or `None` if they cannot be traced.
fn network(sandbox: &Sandbox, line: &str, store: Option<&str>) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let strace = std::env::split_paths(&path)
        .map(|place| place.join("strace"))
        .find(|path| path.is_file())?;
    let command = sandbox.command(line);
    let trace = sandbox.path("trace");
    let mut traced = Command::new(strace);
    traced
        .args(["-f", "-qq", "-e", "trace=%network,execve", "-o", &trace])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(&sandbox.home)
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .envs(store.map(|url| ("BOSWELL_STORE", url)));
    traced.output().ok()?;
    // If tracing is not permitted, the trace does not even contain the start of the program.
    fs::read_to_string(trace).ok().filter(|seen| seen.contains("execve"))
}

#[test]
#[allow(
    clippy::print_stderr,
    reason = "whoever runs the tests has to know what was not tested"
)]
fn no_command_opens_a_socket_unless_a_server_is_named() {
    let sandbox = home();
    let away = Some("postgres://ada@127.0.0.1:1/memory");
    let Some(seen) = network(&sandbox, "sessions --no-sweep", away) else {
        eprintln!("SKIPPED: strace is not here, or may not trace");
        return;
    };
    assert!(seen.contains("socket(AF_INET") && seen.contains("connect("), "{seen}");
    for line in [
        "sweep",
        "status",
        "doctor --deep",
        "sessions",
        "search session",
        "show last",
        "why src/main.rs",
        "usage",
        "usage blocks",
        "stats",
        "statusline",
        "digest last",
        "signals",
        "decisions",
        "secrets",
        "diary",
        "prepare",
        "report",
        "days",
        "render last --to md",
        "render last --to html -o page.html",
        "cat last",
        "export --to jsonl -o out",
        "restore last --dry-run",
        "evict --dry-run",
        "keep last",
        "tag last mine",
        "note last words",
        "name last words",
        "decide words",
        "journal",
        "rebuild",
        "config show",
        "hub status",
        "hub push",
        "hooks status",
        "schedule status",
        "sweep --json",
    ] {
        let seen = network(&sandbox, line, None).unwrap();
        let asked: Vec<&str> = seen
            .lines()
            .filter(|line| !line.contains("execve(") && line.contains('('))
            .collect();
        let sockets: Vec<&&str> = asked
            .iter()
            .filter(|line| line.contains("AF_INET") || line.contains("connect(") || line.contains("bind("))
            .collect();
        assert!(sockets.is_empty(), "{line}: {sockets:?}");
    }
}

#[test]
fn a_memory_is_moved_and_moved_back_and_delivered() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    ask(&sandbox, None, "sweep");
    let schemas = ["init", "push", "move", "status"].map(|verb| {
        let told = ask(&sandbox, None, &format!("schema hub {verb} --json"));
        let schema: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        (format!("boswell.hub.{verb}/1"), schema)
    });
    let json = |told: &str| {
        let answer: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        let schema = schemas.iter().find(|(name, _)| answer["schema"] == **name);
        assert_eq!(validate(&schema.unwrap().1, &answer), Vec::<String>::new());
        answer
    };
    let made = json(&ask(&sandbox, None, &format!("hub init {url} --json")));
    assert_eq!(made["roles"][0], "boswell_owner", "{made}");
    let moved = json(&ask(&sandbox, None, &format!("hub move {url} --json")));
    assert_eq!(moved["unchanged"], 0, "{moved}");
    assert!(moved["sessions"].as_u64().unwrap() > 5, "{moved}");
    let again = json(&ask(&sandbox, None, &format!("hub move {url} --json")));
    assert_eq!(
        (&again["sessions"], &again["unchanged"]),
        (&0.into(), &moved["sessions"])
    );
    let other = server.database();
    sandbox.write_user_config(&format!("[hub]\nurl = \"{other}\"\n"));
    let pushed = json(&ask(&sandbox, None, "hub push --json"));
    assert_eq!(pushed["sessions"], moved["sessions"]);
    let status = json(&ask(&sandbox, None, "hub status --json"));
    assert_eq!(status["places"][1]["with_raw_text"], 0, "{status}");
    let away = json(&ask(
        &{
            sandbox.write_user_config("[hub]\nurl = \"postgres://ada@127.0.0.1:1/memory\"\n");
            sandbox
        },
        None,
        "hub push --json",
    ));
    assert_eq!(away["is_away"], true);
}
