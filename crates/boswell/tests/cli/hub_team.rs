//! A memory that a team shares: removals, hostile text of others, messages of a server, `hub status`, and the writer of
//! each session.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use serde_json::Value;
use testkit::logs::ClaudeLog;
use testkit::postgres::Postgres;

use crate::sandbox::Sandbox;

const ID: &str = "5e550001-0000-4000-8000-000000000000";
const STORES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/stores");

fn home() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    sandbox.set("USER", "ada");
    let log = ClaudeLog::new(ID)
        .at("2026-03-31T09:00:00Z")
        .cwd("/home/ada/app")
        .prompt("let the canary sing")
        .reply("Done.");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{ID}.jsonl"), &log.jsonl());
    sandbox
}

fn deliver_to(sandbox: &Sandbox, url: &str) {
    sandbox.write_user_config(&format!(
        "[store]\nmachine = \"desk\"\n[hub]\nurl = \"{url}\"\nshare = \"full\"\n"
    ));
}

fn json(sandbox: &Sandbox, line: &str) -> Value {
    let told = sandbox.run(&format!("{line} --json"));
    serde_json::from_str(told.lines().next().unwrap_or_default()).unwrap_or_else(|_| panic!("{line}: {told}"))
}

fn database(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

#[test]
fn what_is_taken_away_or_forgotten_here_is_taken_away_there_by_the_next_push() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    deliver_to(&sandbox, &url);
    sandbox.run("sweep");
    for line in ["tag last canary", "name last canary", "note last canary", "keep last"] {
        sandbox.run(line);
    }
    assert_eq!(json(&sandbox, "hub push")["beside"], 4);
    for line in ["tag last canary --remove", "keep last --undo"] {
        sandbox.run(line);
    }
    for verb in ["name", "note"] {
        sandbox.run_args(&[verb, "last", ""]);
    }
    let pushed = json(&sandbox, "hub push");
    assert_eq!((&pushed["taken_back"], &pushed["forgotten"]), (&4.into(), &0.into()));
    let said = "SELECT count(*) FROM tags, annotations, keeps";
    assert_eq!(server.run_in(database(&url), said), "0");
    // `forget` reports that the server still has the session, until a push removes it there.
    let told = sandbox.run(&format!("forget {ID} --yes"));
    assert!(told.contains("`boswell hub push` takes it away there"), "{told}");
    let told = sandbox.run("hub push");
    assert!(
        told.contains("Taken away there, as here: 1 session and 0 words"),
        "{told}"
    );
    for table in [
        "sessions", "frames", "tails", "words", "turns", "views", "digests", "calls",
    ] {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(server.run_in(database(&url), &count), "0", "{table}");
    }
    let again = json(&sandbox, "hub push");
    assert_eq!(
        (&again["sessions"], &again["left"], &again["forgotten"]),
        (&0.into(), &1.into(), &0.into())
    );
}

/// Control characters, and text that looks like an error of ours.
const EVIL: &str = "chr(27) || '[31mred' || chr(155) || '2J' || chr(8238) || chr(10) || 'error: not ours' || chr(7)";

#[test]
fn what_others_wrote_into_a_shared_memory_cannot_speak_to_the_terminal() {
    let Some(server) = Postgres::shared() else { return };
    let (mut sandbox, url) = (home(), server.database());
    sandbox.set("BOSWELL_STORE", &url);
    sandbox.run("sweep");
    for line in [
        "tag last word",
        "name last words",
        "note last words",
        "decide --session last words",
    ] {
        sandbox.run(line);
    }
    sandbox.run("render last --to md -o page.md");
    for (table, column) in [
        ("sessions", "machine"),
        ("sessions", "user_name"),
        ("operations", "command"),
        ("operations", "sentence"),
        ("tags", "tag"),
        ("annotations", "text"),
        ("decisions", "text"),
        ("copies", "kind"),
        ("cursors", "root"),
        ("views", "title"),
        ("views", "repo"),
        ("views", "cwd"),
        ("views", "branch"),
        ("turns", "prompt"),
        ("calls", "model"),
    ] {
        let sql = format!("UPDATE {table} SET {column} = {column} || {EVIL} WHERE {column} IS NOT NULL");
        server.run_in(database(&url), &sql);
    }
    server.run_in(
        database(&url),
        &format!("UPDATE sessions SET user_name = {EVIL}, machine = {EVIL}"),
    );
    server.run_in(database(&url), "DELETE FROM packed_calls");
    let (mut is_told, mut spoken) = (false, Vec::new());
    for line in [
        "sessions",
        "show last",
        "digest last",
        "usage --by user",
        "usage --by machine,user",
        "usage --by user --csv",
        "usage model",
        "usage project",
        "usage session",
        "stats",
        "signals",
        "decisions",
        "journal",
        "status",
        "hub status",
        "search canary",
        "days",
        "why src/main.rs",
        "tag last",
        "name last",
        "note last",
        "forget last --dry-run",
        "evict --dry-run",
        "resume last --print",
        "restore last --dry-run -o out",
        "doctor",
        "statusline",
        "secrets",
    ] {
        let output = sandbox.command(&format!("{line} --no-sweep")).output().unwrap();
        for stream in [output.stdout, output.stderr] {
            let told = String::from_utf8(stream).unwrap();
            let is_hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
            // A note may have several lines, and so may a cell of CSV.
            let has_lines = line.starts_with("note") || line.contains("--csv");
            let is_spoofed = told.contains("\nerror: not ours") && !has_lines;
            if told.contains(is_hidden) || is_spoofed {
                spoken.push(format!("{line}: {told:?}"));
            }
            is_told |= told.contains("[31mred");
        }
    }
    assert_eq!(spoken, Vec::<String>::new());
    assert!(is_told, "nothing of it is shown at all");
}

#[test]
fn numbers_that_no_log_could_tell_stop_no_command() {
    let Some(server) = Postgres::shared() else { return };
    let (mut sandbox, url) = (home(), server.database());
    for number in 2..5 {
        let id = ID.replace("0001-", &format!("000{number}-"));
        let log = ClaudeLog::new(&id).at("2026-03-31T10:00:00Z").cwd("/home/ada/app");
        let log = log.prompt("sing").reply("Done.").prompt("again").reply("Done.");
        sandbox.write(&format!(".claude/projects/-home-ada-app/{id}.jsonl"), &log.jsonl());
    }
    sandbox.set("BOSWELL_STORE", &url);
    sandbox.run("sweep");
    let columns = "SELECT table_name || '.' || column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type = 'bigint' AND table_name IN ('sessions', 'calls', 'turns', 'views', 'tails',
        'frames', 'cursors', 'tags', 'operations', 'digests', 'filters', 'events')
        AND column_name NOT IN ('call_key', 'frame_no', 'page', 'turn', 'operation_id', 'generation')
        AND column_name NOT LIKE 'evict%' AND column_name NOT LIKE 'is_%'";
    let columns = server.run_in(database(&url), columns);
    server.run_in(database(&url), "DELETE FROM packed_calls");
    let mut failed = Vec::new();
    for number in ["9223372036854775807", "-9223372036854775808", "-1"] {
        for column in columns.lines() {
            let (table, column) = column.split_once('.').unwrap();
            let sql = format!("UPDATE {table} SET {column} = {number}");
            server.run_in(database(&url), &sql);
        }
        for line in [
            "sessions",
            "show last",
            "digest last",
            "usage",
            "usage blocks",
            "usage --by user",
            "stats",
            "signals",
            "journal",
            "status",
            "hub status",
            "search sing",
            "days",
            "statusline",
            "evict --dry-run",
            "doctor --deep",
            "export --to csv -o out",
            "prepare --date 2026-03-31 --force",
            "report --date 2026-03-31",
            "sweep",
            "rebuild",
        ] {
            let told = sandbox.run(&format!("{line} --no-sweep"));
            if told.contains("boswell stopped") || told.contains("killed") {
                failed.push(format!("{line} with {number}: {told}"));
            }
        }
    }
    assert_eq!(failed, Vec::<String>::new());
}

/// Starts a server that refuses every connection with a message of its choice.
fn refusing_server(words: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            _ = stream.read(&mut [0; 1024]);
            let told = format!("SFATAL\0C28000\0M{words}\0\0");
            let length = u32::try_from(told.len() + 4).unwrap();
            _ = stream.write_all(&[b"E".as_slice(), &length.to_be_bytes(), told.as_bytes()].concat());
        }
    });
    format!("postgres://ada@127.0.0.1:{port}/memory")
}

#[test]
fn what_a_server_says_is_one_line_and_plain() {
    let sandbox = home();
    sandbox.run("sweep");
    deliver_to(
        &sandbox,
        &refusing_server("no\u{1b}[2J\r\nerror: not ours\u{9b}31m\u{202e}"),
    );
    for line in [
        "hub status",
        "hub push",
        "hub init",
        "sweep --config hub.push_on_sweep=yes",
    ] {
        let told = sandbox.run(line);
        assert!(told.contains("error: not ours"), "{line}: {told}");
        assert!(!told.contains("\nerror: not ours"), "{line}: {told}");
        let is_hidden = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!told.contains(is_hidden), "{line}: {told:?}");
    }
    deliver_to(
        &sandbox,
        &refusing_server(Box::leak("long ".repeat(10_000).into_boxed_str())),
    );
    let told = sandbox.run("hub status");
    assert!(told.len() < 1_000, "{}", told.len());
}

#[test]
fn hub_status_says_what_is_where_and_what_to_do_next() {
    let Some(server) = Postgres::shared() else { return };
    let (sandbox, url) = (home(), server.database());
    let told = sandbox.run("hub status");
    assert!(
        told.contains("no memory yet") && told.contains("no shared memory is configured"),
        "{told}"
    );
    deliver_to(&sandbox, &url);
    let told = sandbox.run("hub status");
    assert!(told.contains("`boswell hub init` makes the tables"), "{told}");
    assert_eq!(json(&sandbox, "hub status")["places"][1]["is_made"], false);
    sandbox.run("sweep");
    sandbox.run("hub push");
    let told = sandbox.run("hub status");
    assert!(
        told.contains("1 session, 1 with raw text") && !told.contains("Hint"),
        "{told}"
    );
    // A server that cannot be reached differs from one that refuses, and neither is an empty memory.
    deliver_to(&sandbox, "postgres://ada@127.0.0.1:1/memory");
    let status = json(&sandbox, "hub status");
    assert_eq!(status["places"][1]["is_away"], true);
    assert!(sandbox.run("hub status").contains("cannot be reached"));
    deliver_to(&sandbox, &url.replace(database(&url), "nowhere"));
    let place = &json(&sandbox, "hub status")["places"][1];
    assert_eq!((&place["is_away"], &place["sessions"]), (&false.into(), &Value::Null));
    assert!(place["error"].as_str().unwrap().contains("does not exist"), "{place}");
    assert!(sandbox.run("hub status").contains("cannot be asked"));
}

#[test]
fn no_part_of_a_password_is_told_where_a_url_is_wrong() {
    for url in [
        "postgres://ada:open@sesame@127.0.0.1:1/memory",
        "postgres://ada:open@se/sesame@127.0.0.1:1/memory",
        "postgres://ada:open@se?sesame=x@127.0.0.1:1/memory",
        "postgres://ada:open?sesame@127.0.0.1:1/memory",
        "postgres://ada:sesame@127.0.0.1:one/memory",
        "postgers://ada:sesame@127.0.0.1:1/memory",
        "ada:sesame@127.0.0.1",
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.write_user_config(&format!("[hub]\nurl = \"{url}\"\n"));
        for line in ["hub status", "hub push", "config show", "config show --json", "sweep"] {
            let told = sandbox.run(line);
            assert!(!told.contains("sesame"), "{line} with {url}: {told}");
        }
        sandbox.write_user_config(&format!("[hub]\nurl = [\"{url}\"]\n"));
        assert!(!sandbox.run("hub status").contains("sesame"), "{url}");
        sandbox.write_user_config("");
        let told = sandbox.run(&format!("hub move {url}"));
        assert!(!told.contains("sesame"), "{url}: {told}");
        sandbox.set("BOSWELL_STORE", url);
        assert!(!sandbox.run("sessions").contains("sesame"), "{url}");
    }
}

#[cfg(unix)]
#[test]
fn who_writes_is_known_where_no_variable_says_so() {
    let sandbox = Sandbox::new();
    let log = ClaudeLog::new(ID).prompt("word").reply("Done.");
    sandbox.write(&format!(".claude/projects/-home-ada-app/{ID}.jsonl"), &log.jsonl());
    sandbox.run("sweep");
    let id = |flag: &str| {
        let output = Command::new("id").arg(flag).output().unwrap();
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let name = id("-un").unwrap_or_else(|| format!("uid {}", id("-u").unwrap()));
    let usage = json(&sandbox, "usage --by user --no-sweep");
    let users: Vec<&Value> = usage["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["user"])
        .collect();
    assert_eq!(users, [name.as_str()]);
}

#[cfg(unix)]
#[test]
fn a_memory_that_an_older_version_wrote_is_delivered_and_moved() {
    let Some(server) = Postgres::shared() else { return };
    for version in [1, 3, 6] {
        let sandbox = Sandbox::new();
        let packed = format!("{STORES}/{version}.tar.gz");
        let unpacked = Command::new("tar")
            .args(["-xzf", &packed, "-C"])
            .arg(&sandbox.home)
            .status();
        assert!(unpacked.unwrap().success());
        let (url, other) = (server.database(), server.database());
        fs::create_dir_all(sandbox.home.join(".config/boswell")).unwrap();
        deliver_to(&sandbox, &url);
        let pushed = json(&sandbox, "hub push");
        assert!(
            pushed["sessions"].as_u64().is_some_and(|sessions| sessions > 1),
            "{version}: {pushed}"
        );
        let moved = json(&sandbox, &format!("hub move {other}"));
        assert_eq!(moved["sessions"], pushed["sessions"], "{version}: {moved}");
    }
}
