//! Calls every tool of `boswell mcp` over the real protocol on the workspace of a day, with texts that an agent could
//! have written.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The number of turns of a project that get evidence.
const TURNS: usize = 4;

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    /// All answers so far.
    told: Vec<Value>,
}

impl Client {
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server closed");
        let answer: Value = serde_json::from_str(&line).unwrap();
        self.told.push(answer.clone());
        answer
    }

    /// Calls a tool. Returns whether it refused, and its answer.
    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        (result["isError"] == true, serde_json::from_str(text).unwrap())
    }
}

/// Calls all tools, and returns all answers as one text.
pub fn told(mut command: Command) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut client = Client {
        input: child.stdin.take().unwrap(),
        output: BufReader::new(child.stdout.take().unwrap()),
        child,
        id: 0,
        told: Vec::new(),
    };
    let me = json!({"name": "test", "version": "1"});
    client.ask(
        "initialize",
        &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me}),
    );
    writeln!(
        client.input,
        "{}",
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
    )
    .unwrap();
    let tools = client.ask("tools/list", &json!({}));
    let tools: Vec<String> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    let called = walk(&mut client);
    assert_eq!(called, tools, "a tool is not called");
    let Client {
        mut child, input, told, ..
    } = client;
    drop(input);
    assert!(child.wait().unwrap().success());
    told.iter().map(|one| format!("{one}\n")).collect()
}

/// Works like a writer, and returns the tools in the order of their first calls.
fn walk(client: &mut Client) -> Vec<&'static str> {
    let (_, projects) = client.call("list_projects", &json!({}));
    let key = projects["projects"][0]["project_key"].clone();
    assert!(key.is_string(), "the day has no project: {projects}");
    let of = json!({"project_key": key});
    let (_, sessions) = client.call("list_sessions", &of);
    let session = sessions["sessions"][0].clone();
    let turns = session["turns"].as_array().unwrap().clone();
    let mut is_taken = false;
    for turn in turns.iter().take(TURNS) {
        let (name, first, last) = (&turn["turn_ref"], &turn["first_line"], &turn["last_line"]);
        let place =
            json!({"project_key": key, "session_ref": session["session_ref"], "turn_ref": name, "mode": "full"});
        client.call("read_turn", &place);
        let evidence = json!({
            "turn_ref": name,
            "asked": {"text": "Somebody asked for something", "lines": [first.to_string()]},
            "outcomes": [{"kind": "code", "text": "It was done.", "lines": [last.to_string()]}],
            "end": {"kind": "material_result", "text": "It ended well.", "lines": [last.to_string()]},
            "materiality": "material",
        });
        let told = json!({"project_key": key, "session_ref": session["session_ref"], "turns": [evidence]});
        is_taken |= !client.call("write_evidence", &told).0;
    }
    assert!(is_taken, "no evidence was taken: {:?}", client.told.last());
    let (_, evidence) = client.call("read_evidence", &of);
    let first = &evidence["turns"][0];
    let cited = json!({"session_ref": first["session_ref"], "turn_ref": first["turn_ref"], "lines": first["asked"]["lines"][0]});
    let claim = json!([{"text": "Asked for something", "citations": [cited]}]);
    let work = json!({
        "work_ref": "W0001", "kind": "material", "title": "Something", "asked": claim, "done": claim,
        "covers": [{"session_ref": first["session_ref"], "turn_ref": first["turn_ref"]}],
        "disposition": {"kind": "completed", "text": "it was done", "citations": [cited]},
    });
    client.call("write_works", &json!({"project_key": key, "works": [work]}));
    client.call("read_works", &json!({}));
    // The server may refuse a day with so little evidence, if it does so for both memories.
    client.call("write_day", &json!({"headline": claim[0], "summary": claim}));
    vec![
        "list_projects",
        "list_sessions",
        "read_turn",
        "write_evidence",
        "read_evidence",
        "write_works",
        "read_works",
        "write_day",
    ]
}
