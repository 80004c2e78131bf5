//! Synthetic logs of Claude Code and their pages.

use jiff::tz::TimeZone;
use render::{PageOptions, Transcript, html};
use serde_json::{Value, json};
use transcript::Agent;

/// Builds a log record by record.
#[derive(Default)]
pub struct Log {
    lines: Vec<String>,
    calls: usize,
}

impl Log {
    fn push(&mut self, kind: &str, message: Value) -> &mut Self {
        let number = self.lines.len();
        let parent = number.checked_sub(1).map(|number| format!("u{number}"));
        let line = json!({
            "type": kind,
            "uuid": format!("u{number}"),
            "parentUuid": parent,
            "sessionId": "5e550a00-0000-4000-8000-000000000001",
            "cwd": "/home/ada/app",
            "gitBranch": "main",
            "version": "2.1.0",
            "timestamp": format!("2026-04-01T09:{:02}:{:02}Z", number / 60 % 60, number % 60),
            "message": message,
        });
        self.lines.push(line.to_string());
        self
    }

    pub fn prompt(&mut self, text: &str) -> &mut Self {
        self.push("user", json!({ "role": "user", "content": text }))
    }

    pub fn blocks(&mut self, kind: &str, content: Value) -> &mut Self {
        let id = format!("m{}", self.lines.len());
        self.push(kind, json!({ "id": id, "model": "claude-made-up", "content": content }))
    }

    pub fn answer(&mut self, text: &str) -> &mut Self {
        self.blocks("assistant", json!([{ "type": "text", "text": text }]))
    }

    pub fn thought(&mut self, text: &str) -> &mut Self {
        self.blocks("assistant", json!([{ "type": "thinking", "thinking": text }]))
    }

    pub fn call(&mut self, tool: &str, input: Value, result: &str, is_error: bool) -> &mut Self {
        self.calls += 1;
        let id = format!("t{}", self.calls);
        self.blocks(
            "assistant",
            json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]),
        );
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error }]);
        self.push("user", json!({ "role": "user", "content": result }))
    }

    pub fn line(&mut self, line: Value) -> &mut Self {
        self.lines.push(line.to_string());
        self
    }

    pub fn transcript(&self) -> Transcript {
        let bytes = self.lines.join("\n") + "\n";
        let path = "5e550a00-0000-4000-8000-000000000001.jsonl";
        Transcript::from_log(Agent::Claude, path, bytes.as_bytes(), TimeZone::UTC)
            .unwrap()
            .unwrap()
    }

    pub fn page(&self) -> Vec<u8> {
        page(&self.transcript())
    }
}

pub fn page(transcript: &Transcript) -> Vec<u8> {
    let mut out = Vec::new();
    html(transcript, &PageOptions::default(), &mut out).unwrap();
    out
}
