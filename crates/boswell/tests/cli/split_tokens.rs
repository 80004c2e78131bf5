//! A token that a log holds in two pieces is masked wherever the log is shown: split over two streamed records, in a
//! compressed log, and where the log breaks off.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::render::text_of;
use crate::sandbox::Sandbox;

const CLAUDE: &str = "5e550000-0000-4000-8000-000000000001";
const CODEX: &str = "c0de0000-0000-7000-8000-000000000001";
const GROK: &str = "01a10000-0000-7000-8000-000000000001";
const SMALL: &str = "--size 320x180 --fps 2 --speed 8";
const REPORTS: &str = ".local/share/boswell-reports";

/// No piece of the token with this many characters may be shown.
const SHOWN_CHARS_MAX: usize = 10;

/// Returns a token, assembled here so that no scanner finds it in the repository.
fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

/// Returns the two pieces of the token in a log.
fn split_halves() -> (String, String) {
    let token = token();
    let (begin, rest) = token.split_at(20);
    (begin.to_owned(), rest.to_owned())
}

/// A log that holds the token in two pieces.
struct Case {
    name: &'static str,
    uid: String,
    path: String,
    /// The bytes that are written first. `rest` may come while the session is followed.
    begin: Vec<u8>,
    rest: Vec<u8>,
    /// Whether the sandbox starts with `rest` as well. Otherwise the log breaks off within the token.
    is_streamed: bool,
    is_packed: bool,
}

fn lines(records: &[Value]) -> Vec<u8> {
    records
        .iter()
        .map(|record| format!("{record}\n"))
        .collect::<String>()
        .into_bytes()
}

fn grok() -> Case {
    let (begin, rest) = split_halves();
    let update = |second: u32, kind: &str, text: &str| {
        let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
        let at = 1_774_947_600 + second;
        json!({ "timestamp": at, "method": "session/update", "params": { "sessionId": GROK, "update": update } })
    };
    let first = [
        update(0, "user_message_chunk", "what opens the door?"),
        update(1, "agent_message_chunk", &format!("It is {begin}")),
        update(2, "agent_thought_chunk", "let me think of the rest"),
    ];
    let second = [
        update(3, "agent_message_chunk", &format!("{rest} and no other.")),
        update(4, "user_message_chunk", "thank you"),
    ];
    Case {
        name: "grok-chunks",
        uid: format!("grok:{GROK}"),
        path: format!(".grok/sessions/%2Fhome%2Fada%2Fapp/{GROK}/updates.jsonl"),
        begin: lines(&first),
        rest: lines(&second),
        is_streamed: true,
        is_packed: false,
    }
}

fn codex() -> Case {
    let (begin, rest) = split_halves();
    let record = |second: u32, kind: &str, payload: Value| json!({ "timestamp": format!("2026-03-31T09:00:{second:02}Z"), "type": kind, "payload": payload });
    let delta =
        |second: u32, kind: &str, text: &str| record(second, "event_msg", json!({ "type": kind, "delta": text }));
    let said =
        |second: u32, kind: &str, text: &str| record(second, "event_msg", json!({ "type": kind, "message": text }));
    let first = [
        record(0, "session_meta", json!({ "id": CODEX, "cwd": "/home/ada/app" })),
        said(1, "user_message", "what opens the door?"),
        delta(2, "agent_message_delta", &format!("It is {begin}")),
        delta(3, "agent_reasoning_delta", "let me think of the rest"),
    ];
    let second = [
        delta(4, "agent_message_delta", &format!("{rest} and no other.")),
        said(5, "agent_message", "It is what I said."),
        said(6, "user_message", "thank you"),
    ];
    Case {
        name: "codex-deltas",
        uid: format!("codex:{CODEX}"),
        path: format!(".codex/sessions/2026/03/31/rollout-2026-03-31T09-00-00-{CODEX}.jsonl"),
        begin: lines(&first),
        rest: lines(&second),
        is_streamed: true,
        is_packed: false,
    }
}

/// Returns the log of [`codex`] as a whole, compressed.
fn packed() -> Case {
    let case = codex();
    let log = [case.begin, case.rest].concat();
    Case {
        name: "codex-zst",
        path: case.path + ".zst",
        begin: zstd::encode_all(log.as_slice(), 3).unwrap(),
        rest: Vec::new(),
        is_packed: true,
        ..codex()
    }
}

/// Returns a log whose last line ends within the token, without a line break.
fn torn() -> Case {
    let log = ClaudeLog::new(CLAUDE)
        .at("2026-03-31T09:00:00Z")
        .prompt("what opens the door?");
    let log = log
        .reply(&format!("It is {} and no other.", token()))
        .prompt("thank you")
        .jsonl();
    let cut = log.find(&token()).unwrap() + 20;
    Case {
        name: "torn-tail",
        uid: format!("claude:{CLAUDE}"),
        path: format!(".claude/projects/-home-ada-app/{CLAUDE}.jsonl"),
        begin: log.as_bytes()[..cut].to_vec(),
        rest: log.as_bytes()[cut..].to_vec(),
        is_streamed: false,
        is_packed: false,
    }
}

fn cases() -> [Case; 4] {
    [grok(), codex(), packed(), torn()]
}

impl Case {
    fn sandbox(&self) -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.set("TZ", "UTC");
        self.append(&sandbox, &self.begin);
        if self.is_streamed {
            self.append(&sandbox, &self.rest);
        }
        sandbox
    }

    fn append(&self, sandbox: &Sandbox, bytes: &[u8]) {
        let path = sandbox.home.join(&self.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut log = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        log.write_all(bytes).unwrap();
        // The log is quiet, so that a last line without a line break is read, too.
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1_774_947_700);
        log.set_modified(old).unwrap();
    }

    /// Checks that the output of `what` contains no piece of the token.
    fn check(&self, what: &str, shown: &[u8]) {
        let token = token();
        for from in 0..=token.len() - SHOWN_CHARS_MAX {
            let piece = &token[from..from + SHOWN_CHARS_MAX];
            let is_there = memchr::memmem::find(shown, piece.as_bytes()).is_some();
            let shown = String::from_utf8_lossy(shown);
            assert!(!is_there, "{}: `{what}` shows `{piece}`:\n{shown}", self.name);
        }
    }

    fn run(&self, sandbox: &Sandbox, line: &str) -> String {
        let told = sandbox.run(line);
        self.check(line, told.as_bytes());
        told
    }
}

/// Collects every file below a directory, with its bytes.
fn files_below(directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn a_bare_log_shows_no_piece_of_it() {
    for case in cases() {
        let sandbox = case.sandbox();
        let path = &case.path;
        let read = case.run(&sandbox, &format!("read {path} --full"));
        assert!(read.contains("what opens the door?"), "{}: {read}", case.name);
        case.run(&sandbox, &format!("read {path} --full --json"));
        case.run(&sandbox, &format!("digest {path} --json"));
        case.run(&sandbox, &format!("search --in {} --json door", sandbox.home.display()));
        case.run(&sandbox, "doctor --json");
        let secrets = case.run(&sandbox, &format!("secrets {path} --json"));
        let secrets: Value = serde_json::from_str(secrets.split("--- stderr").next().unwrap()).unwrap();
        assert_eq!(
            secrets["secrets"][0]["rule"], "github-token",
            "{}: {secrets}",
            case.name
        );
        for form in ["html", "md", "cast", "mp4"] {
            let size = if form == "mp4" { SMALL } else { "" };
            case.run(&sandbox, &format!("render {path} --to {form} -o page.{form} {size}"));
            let page = sandbox.home.join(format!("page.{form}"));
            case.check(form, &fs::read(&page).unwrap());
            if form == "html" {
                case.check(form, text_of(&page).as_bytes());
            }
        }
    }
}

#[test]
fn the_memory_holds_no_piece_of_it() {
    for case in cases() {
        let sandbox = case.sandbox();
        case.run(&sandbox, "sweep");
        let uid = &case.uid;
        let kept = case.run(&sandbox, &format!("cat {uid}"));
        assert!(kept.contains("[REDACTED:github-token:"), "{}: {kept}", case.name);
        for line in [
            format!("show {uid} --depth full"),
            format!("show {uid} --depth full --json"),
            format!("digest {uid} --json"),
            "search --json door".to_owned(),
            "sessions --json".to_owned(),
            format!("render {uid} --to md -o -"),
        ] {
            case.run(&sandbox, &line);
        }
        // The first sweep sees only the beginning of the log, and the second one sees the rest.
        let grown = Case {
            is_streamed: false,
            ..case
        };
        let sandbox = grown.sandbox();
        grown.run(&sandbox, "sweep");
        grown.run(&sandbox, &format!("cat {}", grown.uid));
        if !grown.is_packed {
            grown.append(&sandbox, &grown.rest);
            grown.run(&sandbox, "sweep");
            let kept = grown.run(&sandbox, &format!("cat {}", grown.uid));
            assert!(kept.contains("thank you"), "{}: {kept}", grown.name);
        }
        // Frames are compressed, so this search covers only the uncompressed data of the store.
        let mut files = Vec::new();
        files_below(&sandbox.home.join(".local/share/boswell"), &mut files);
        for (path, bytes) in files {
            grown.check(&path, &bytes);
        }
    }
}

#[test]
fn a_day_holds_no_piece_of_it() {
    for case in cases() {
        let sandbox = case.sandbox();
        case.run(&sandbox, "prepare --date 2026-03-31");
        let mut files = Vec::new();
        files_below(&sandbox.home.join(".local/share/boswell-reports"), &mut files);
        let copies: Vec<_> = files.iter().filter(|(path, _)| path.contains("/sessions/")).collect();
        assert!(!copies.is_empty(), "{}: {files:?}", case.name);
        for (path, bytes) in &files {
            case.check(path, bytes);
        }
        case.run(&sandbox, "report --date 2026-03-31 --to json");
        case.run(&sandbox, "bundle --date 2026-03-31 -o day.zip --raw-sessions");
        let mut archive = zip::ZipArchive::new(fs::File::open(sandbox.home.join("day.zip")).unwrap()).unwrap();
        for at in 0..archive.len() {
            let mut bytes = Vec::new();
            archive.by_index(at).unwrap().read_to_end(&mut bytes).unwrap();
            case.check("bundle", &bytes);
        }
        let turn = read_turn_by_mcp(&sandbox);
        assert!(turn.contains("what opens the door?"), "{}: {turn}", case.name);
        case.check("mcp", turn.as_bytes());
    }
}

/// A workspace of an older version may hold a token in two pieces, so the bundle masks its text again.
#[test]
fn a_bundle_masks_what_the_workspace_does_not() {
    for case in [grok(), codex(), torn()] {
        let sandbox = case.sandbox();
        sandbox.run("prepare --date 2026-03-31 --verbatim");
        let refused = case.run(&sandbox, "bundle --date 2026-03-31 -o no.zip --raw-sessions");
        assert!(
            refused.contains("needs `--yes`") && !sandbox.home.join("no.zip").exists(),
            "{refused}"
        );
        case.run(&sandbox, "bundle --date 2026-03-31 -o day.zip --raw-sessions --yes");
        let mut archive = zip::ZipArchive::new(fs::File::open(sandbox.home.join("day.zip")).unwrap()).unwrap();
        for at in 0..archive.len() {
            let mut bytes = Vec::new();
            archive.by_index(at).unwrap().read_to_end(&mut bytes).unwrap();
            case.check("bundle of a verbatim workspace", &bytes);
        }
    }
}

/// Returns the first turn as the MCP server of a workspace reads it.
fn read_turn_by_mcp(sandbox: &Sandbox) -> String {
    let mut command = sandbox.command(&format!(
        "mcp --workspace {}",
        sandbox.path(&[REPORTS, "work", "2026-03-31"].join("/"))
    ));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (
        child.stdin.take().unwrap(),
        BufReader::new(child.stdout.take().unwrap()),
    );
    let mut ask = |message: Value| {
        writeln!(input, "{message}").unwrap();
        let mut answer = String::new();
        if message["id"].is_number() {
            output.read_line(&mut answer).unwrap();
        }
        answer
    };
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let call = |id: u32, tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let projects = ask(call(2, "list_projects", json!({})));
    let told: Value = serde_json::from_str(&projects).unwrap();
    let told: Value = serde_json::from_str(told["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    let key = &told["projects"][0]["project_key"];
    let turn = json!({ "project_key": key, "session_ref": "S0001", "turn_ref": "T0001" });
    let turn = ask(call(3, "read_turn", turn));
    drop(input);
    child.wait().unwrap();
    turn
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Starts a command, lets the log grow after it printed `begin`, and returns its output up to `end`.
fn while_it_grows(case: &Case, sandbox: &Sandbox, line: &str, begin: &str, end: &str) -> String {
    let mut command = sandbox.command("");
    command.args(["-c", &format!("exec \"$0\" {line} 2>&1"), env!("CARGO_BIN_EXE_boswell")]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(command.get_args()).current_dir(&sandbox.home).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut child = Ended(child);
    let mut lines = BufReader::new(child.0.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut shown = String::new();
    let mut until = |word: &str| {
        let started = Instant::now();
        for line in lines.by_ref() {
            shown += &format!("{line}\n");
            if line.contains(word) {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{shown}");
        }
        panic!("it ended without `{word}`: {shown}");
    };
    until(begin);
    case.append(sandbox, &case.rest);
    until(end);
    shown
}

#[cfg(unix)]
#[test]
fn a_session_that_is_followed_shows_no_piece_of_it() {
    for case in [grok(), codex(), torn()] {
        let case = Case {
            is_streamed: false,
            ..case
        };
        let sandbox = case.sandbox();
        sandbox.run("sweep");
        let line = format!("show {} --depth full --follow", case.uid);
        let shown = while_it_grows(&case, &sandbox, &line, "what opens the door?", "thank you");
        case.check("show --follow", shown.as_bytes());
    }
}

#[cfg(unix)]
#[test]
fn a_session_that_is_watched_shows_no_piece_of_it() {
    for case in [grok(), codex(), torn()] {
        let case = Case {
            is_streamed: false,
            ..case
        };
        let sandbox = case.sandbox();
        let shown = while_it_grows(
            &case,
            &sandbox,
            "watch --json --poll 1 --seconds 100",
            "Watching",
            "session_uid",
        );
        case.check("watch", shown.as_bytes());
        let kept = case.run(&sandbox, &format!("cat {}", case.uid));
        assert!(kept.contains("thank you"), "{}: {kept}", case.name);
        case.run(&sandbox, &format!("show {} --depth full", case.uid));
    }
}
