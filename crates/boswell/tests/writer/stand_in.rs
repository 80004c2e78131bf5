//! The stand-in: an agent without a model. It is this test program, which `boswell report --writer` starts again; it
//! reads its prompt, starts the MCP server, and behaves as `STAND_IN` says.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Returns the stand-in as an argument of `--writer`.
pub fn writer() -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "'{}' stand_in::the_stand_in_writes --exact --nocapture",
        program.display()
    )
}

/// The process of the agent. As an ordinary test it does nothing, because `STAND_IN` is not set.
#[test]
fn the_stand_in_writes() {
    let Ok(manner) = std::env::var("STAND_IN") else { return };
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).unwrap();
    let line = std::env::var("BOSWELL_MCP").unwrap_or_default();
    behave(&manner, &prompt, &line);
}

/// Behaves like an agent of the given manner.
pub fn behave(manner: &str, prompt: &str, server: &str) {
    let task = Task::of(prompt);
    note(&format!("{} {}", task.phase, task.session));
    note(&format!("prompt {}", json!(prompt)));
    match manner {
        "lazy" => std::io::stderr().write_all(b"nothing to do, says the model\n").unwrap(),
        "waits" => wait_with_a_child(),
        "crashes" => {
            let mut client = Client::start(server);
            write(&mut client, &task, Some(1));
            // Crashes after one turn of evidence.
            std::process::abort();
        }
        "lies" => {
            let mut client = Client::start(server);
            lie(&mut client, &task);
            write(&mut client, &task, None);
        }
        "only lies" => lie(&mut Client::start(server), &task),
        "breaks out" => {
            let mut client = Client::start(server);
            break_out(&mut client, &task);
            write(&mut client, &task, None);
        }
        "works" => write(&mut Client::start(server), &task, None),
        other => panic!("no such manner: {other}"),
    }
}

/// Records an event for the test.
fn note(what: &str) {
    let Ok(path) = std::env::var("STAND_IN_NOTES") else {
        return;
    };
    let mut notes = OpenOptions::new().create(true).append(true).open(path).unwrap();
    // One write for the whole line, because other processes append to the same file.
    notes.write_all(format!("{what}\n").as_bytes()).unwrap();
}

/// The task in a prompt.
struct Task {
    phase: &'static str,
    project: String,
    session: String,
    turns: Vec<String>,
}

impl Task {
    fn of(prompt: &str) -> Self {
        let field = |name: &str| {
            let line = prompt.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let turns = field("turns without evidence:");
        let phase = match () {
            () if !turns.is_empty() => "evidence",
            () if prompt.contains("turns that no piece covers:") => "project",
            () => "daily",
        };
        Self {
            phase,
            project: field("project_key:"),
            session: field("session_ref:"),
            turns: turns.split(", ").map(str::to_owned).collect(),
        }
    }
}

/// A client of the protocol, written by hand so that the test does not use the server's own library.
pub struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    pub fn start(line: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("exec {line}")]);
        Self::spawn(command)
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut client = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            id: 0,
        };
        let me = json!({"name": "stand-in", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me});
        let answer = client.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "boswell", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server closed");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Calls a tool. Returns whether it refused, and its answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        assert!(text.len() < 64 << 10, "{tool} gave {} bytes", text.len());
        (result["isError"] == true, serde_json::from_str(text).unwrap())
    }

    /// Closes the connection and waits for the server to exit.
    pub fn end(self) -> std::process::ExitStatus {
        let Self { mut child, input, .. } = self;
        drop(input);
        child.wait().unwrap()
    }
}

/// Does a task. Delivers evidence turn by turn, for at most `most` turns.
fn write(client: &mut Client, task: &Task, most: Option<usize>) {
    match task.phase {
        "evidence" => {
            for turn in task.turns.iter().take(most.unwrap_or(usize::MAX)) {
                let (first, last) = read(client, task, turn);
                let (refused, told) = client.call("write_evidence", &evidence(task, turn, first, last));
                note(&format!(
                    "wrote {turn}: {}",
                    if refused { told.to_string() } else { "taken".to_owned() }
                ));
            }
        }
        "project" => {
            let (_, told) = client.call("read_evidence", &json!({"project_key": task.project}));
            let turns = told["turns"].as_array().unwrap().clone();
            let (refused, told) = client.call("write_works", &works(task, &turns));
            assert!(!refused, "{told}");
        }
        _ => {
            let (_, told) = client.call("read_works", &json!({}));
            let first = told["works"][0]["asked"][0]["citations"][0].clone();
            let claim = |text: &str| json!({"text": text, "citations": [first]});
            let day = json!({
                "headline": claim("A day about the login"),
                "summary": [claim("The login was mended; `cargo test` says so.")],
                "worked": [claim("One prompt was enough.")],
            });
            let (refused, told) = client.call("write_day", &day);
            assert!(!refused, "{told}");
        }
    }
}

/// Reads a turn to its end, records it, and returns its first and last line.
fn read(client: &mut Client, task: &Task, turn: &str) -> (u64, u64) {
    let mut cursor = Value::Null;
    loop {
        let asked = json!({
            "project_key": task.project, "session_ref": task.session, "turn_ref": turn, "mode": "full", "cursor": cursor,
        });
        let (refused, page) = client.call("read_turn", &asked);
        assert!(!refused, "{page}");
        note(&format!("read {page}"));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return (
                page["first_line"].as_u64().unwrap(),
                page["last_line"].as_u64().unwrap(),
            );
        }
    }
}

/// Returns valid evidence of one turn.
fn evidence(task: &Task, turn: &str, first: u64, last: u64) -> Value {
    json!({"project_key": task.project, "session_ref": task.session, "turns": [{
        "turn_ref": turn,
        "asked": {"text": format!("{turn} asked for something"), "lines": [first.to_string()]},
        "reactions": [{"text": "The agent went to work.", "lines": [format!("{first}-{last}")]}],
        "outcomes": [{"kind": "code", "text": "It works again.", "lines": [last.to_string()]}],
        "end": {"kind": "material_result", "text": "It ended well.", "lines": [last.to_string()]},
        "materiality": "material",
    }]})
}

/// Returns one piece of work that covers all turns of a project.
fn works(task: &Task, turns: &[Value]) -> Value {
    let covers: Vec<Value> = turns
        .iter()
        .map(|turn| json!({"session_ref": turn["session_ref"], "turn_ref": turn["turn_ref"]}))
        .collect();
    let citation = json!({
        "session_ref": turns[0]["session_ref"], "turn_ref": turns[0]["turn_ref"], "lines": turns[0]["asked"]["lines"][0],
    });
    let claim = |text: &str| json!({"text": text, "citations": [citation]});
    json!({"project_key": task.project, "works": [{
        "work_ref": "W0001",
        "kind": "material",
        "title": "The login <b>works</b> again",
        "covers": covers,
        "asked": [claim("Asked to mend the login")],
        "done": [claim("Edited `src/login.rs`")],
        "disposition": {"kind": "completed", "text": "the tests pass", "citations": [citation]},
    }]})
}

/// Delivers false evidence, and records how the server refuses it.
fn lie(client: &mut Client, task: &Task) {
    let Some(turn) = task.turns.first().filter(|_| task.phase == "evidence") else {
        return;
    };
    let mut wrong = evidence(task, turn, 1, 999_999);
    wrong["turns"][0]["outcomes"][0]["kind"] = "miracle".into();
    wrong["turns"][0]["asked"]["lines"][0] = "7-3".into();
    wrong["turns"][0]["end"]["text"] = "x".repeat(5_000).into();
    let (refused, told) = client.call("write_evidence", &wrong);
    assert!(refused, "{told}");
    for error in told["errors"].as_array().unwrap() {
        let of = |name: &str| error[name].as_str().unwrap();
        note(&format!("refused {}: {}; {}", of("path"), of("message"), of("hint")));
    }
    let mut unknown = evidence(task, "T9999", 1, 1);
    let (refused, told) = client.call("write_evidence", &unknown);
    assert!(refused, "{told}");
    note(&format!("refused {}", told["errors"][0]["path"].as_str().unwrap()));
    unknown["session_ref"] = "S9999".into();
    assert!(client.call("write_evidence", &unknown).0);
}

/// Tries to reach files outside of the workspace.
fn break_out(client: &mut Client, task: &Task) {
    for name in ["../../x", "..", "/etc/passwd", "a\u{0}b", "S0001/../../../x", "con", ""] {
        let mut by_session = evidence(task, "T0001", 1, 1);
        by_session["session_ref"] = name.into();
        let mut by_project = evidence(task, "T0001", 1, 1);
        by_project["project_key"] = name.into();
        for wrong in [by_session, by_project] {
            let (refused, told) = client.call("write_evidence", &wrong);
            assert!(refused, "{name:?}: {told}");
        }
        let asked = json!({"project_key": name, "session_ref": name, "turn_ref": name});
        assert!(client.call("read_turn", &asked).0, "{name:?}");
        assert!(
            client.call("write_works", &json!({"project_key": name, "works": []})).0,
            "{name:?}"
        );
    }
    note("stayed inside");
}

/// Starts a child that would far outlive its parent, and waits for it.
fn wait_with_a_child() {
    let mut child = Command::new("/bin/sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    fs::write(std::env::var("STAND_IN_CHILD").unwrap(), child.id().to_string()).unwrap();
    child.wait().unwrap();
}
