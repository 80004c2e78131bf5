//! Sessions of Claude Code for a generated day.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{DayState, LogText, PROJECTS};

struct Session<'w> {
    state: &'w mut DayState,
    log: LogText,
    id: String,
    cwd: Option<&'static str>,
    /// The id of the last record.
    last: String,
}

/// Writes one session with its subagents.
pub(super) fn session(state: &mut DayState) {
    let start = state.start();
    let id = state.uuid();
    let cwd = state.random.pick(&PROJECTS);
    let mut session = Session {
        state,
        log: LogText::new(start),
        id,
        cwd,
        last: String::new(),
    };
    session.preamble();
    for _ in 0..session.state.random.between(1, 5) {
        session.turn();
    }
    let bytes = session.log.bytes(session.state);
    let bytes = match session.state.trap(12) {
        true => [b"\xef\xbb\xbf".to_vec(), bytes].concat(),
        false => bytes,
    };
    let path = format!("claude/projects/-home-ada/{}.jsonl", session.id);
    session.state.files.push((path, bytes));
}

impl Session<'_> {
    /// Returns a record with the common fields.
    fn record(&mut self, kind: &str, fields: Value) -> Value {
        let at = self.log.tick(self.state);
        let uuid = self.state.uuid();
        let mut record = json!({
            "type": kind, "timestamp": at, "sessionId": self.id, "uuid": uuid, "parentUuid": self.last, "version": "2.1.150",
            "userType": "external", "isSidechain": false,
        });
        if let Some(cwd) = self.cwd {
            record["cwd"] = cwd.into();
        }
        let fields = fields.as_object().expect("fields are an object").clone();
        record.as_object_mut().expect("a record is an object").extend(fields);
        self.last = uuid;
        record
    }

    fn put(&mut self, kind: &str, fields: Value) -> u64 {
        let record = self.record(kind, fields);
        self.log.put(&record);
        self.log.lines.len() as u64
    }

    fn preamble(&mut self) {
        if self.state.random.flip() {
            self.log
                .put(&json!({"type": "permission-mode", "permissionMode": "default", "sessionId": self.id}));
        }
        if self.state.random.flip() {
            let id = self.state.uuid();
            self.log.put(
                &json!({"type": "file-history-snapshot", "messageId": id, "snapshot": {}, "isSnapshotUpdate": false}),
            );
        }
    }

    fn turn(&mut self) {
        let words = self.state.words();
        self.traps_before();
        let content = match self.state.random.below(3) {
            0 => json!([{"type": "text", "text": words}]),
            _ => json!(words),
        };
        self.put(
            "user",
            json!({"promptId": self.id, "message": {"role": "user", "content": content}}),
        );
        self.reply();
        for _ in 0..self.state.random.between(0, 5) {
            match self.state.random.below(8) {
                0 => self.subagent(),
                1 => self.companion(),
                2 => self.log.torn(),
                3 => self.late(),
                4 => self.traps_inside(),
                5 => self.reply(),
                _ => self.tool(),
            }
        }
        self.reply();
        if self.state.random.flip() {
            self.put(
                "system",
                json!({"subtype": "turn_duration", "durationMs": 1200, "isMeta": false}),
            );
        }
    }

    fn reply(&mut self) {
        let (words, id) = (self.state.words(), self.state.uuid());
        let message =
            json!({"id": id, "role": "assistant", "model": "m", "content": [{"type": "text", "text": words}]});
        self.put("assistant", json!({"message": message}));
    }

    fn call(&mut self, name: &str, input: Value) -> (String, String) {
        let (call, id) = (format!("toolu_{}", self.state.uuid()), self.state.uuid());
        let message = json!({"id": id, "role": "assistant", "model": "m",
            "content": [{"type": "tool_use", "id": call, "name": name, "input": input}]});
        self.put("assistant", json!({"message": message}));
        (call, self.last.clone())
    }

    fn result(&mut self, call: &(String, String), text: &str, tool_result: Value) {
        let message =
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.0, "content": text}]});
        self.put(
            "user",
            json!({"sourceToolAssistantUUID": call.1, "toolUseResult": tool_result, "message": message}),
        );
    }

    fn tool(&mut self) {
        let words = self.state.words();
        let call = self.call("Bash", json!({"command": format!("echo {words}")}));
        self.result(
            &call,
            &words,
            json!({"stdout": words, "stderr": "", "interrupted": false}),
        );
    }

    /// Appends a record whose time is earlier than that of the record before it.
    fn late(&mut self) {
        self.log.at -= SignedDuration::from_millis(self.state.random.between(1, 900) as i64);
        let at = self.log.current_time(self.state);
        self.log
            .put(&json!({"type": "attachment", "timestamp": at, "sessionId": self.id,
            "attachment": {"type": "hook_success", "hookName": "x"}}));
    }

    fn subagent(&mut self) {
        let id = self.state.agent_id();
        let role = self.state.random.pick(&[Some("Explore"), Some("reviewer"), None]);
        let mut input = json!({"prompt": self.state.words(), "description": "look"});
        if let Some(role) = role {
            input["subagent_type"] = role.into();
        }
        let call = self.call("Agent", input);
        let is_async = self.state.one_in(3);
        let status = if is_async { "async_launched" } else { "completed" };
        let tool_result = json!({"agentId": id, "status": status, "isAsync": is_async});
        let said = self.state.words();
        self.result(&call, &said, tool_result);
        if is_async && self.state.random.flip() {
            self.reply();
            let at = self.log.tick(self.state);
            let prompt = format!("<task-notification> agentId: {id} is done</task-notification>");
            self.log
                .put(&json!({"type": "attachment", "timestamp": at, "sessionId": self.id,
                "attachment": {"type": "queued_command", "commandMode": "task-notification", "prompt": prompt}}));
        }
        if self.state.one_in(8) {
            return;
        }
        let path = match self.state.random.below(3) {
            0 => format!("claude/projects/-home-ada/agent-{id}.jsonl"),
            _ => format!("claude/projects/-home-ada/{}/subagents/agent-{id}.jsonl", self.id),
        };
        self.write_child(&id, &path);
    }

    fn write_child(&mut self, id: &str, path: &str) {
        let mut log = LogText::new(self.log.at);
        for number in 0..self.state.random.between(1, 4) {
            let (at, words, uuid) = (log.tick(self.state), self.state.words(), self.state.uuid());
            let kind = if number % 2 == 0 { "user" } else { "assistant" };
            log.put(&json!({"type": kind, "timestamp": at, "isSidechain": true, "agentId": id, "sessionId": self.id,
                "uuid": uuid, "cwd": self.cwd, "attributionAgent": "Explore", "message": {"role": kind, "content": words}}));
        }
        let bytes = log.bytes(self.state);
        self.state.files.push((path.to_owned(), bytes));
    }

    /// Starts a Codex thread, as a plugin does.
    fn companion(&mut self) {
        let thread = self.state.uuid();
        let call = self.call("Bash", json!({"command": "node codex-companion.mjs task"}));
        let text = format!("[codex] Starting\n[codex] Thread ready ({thread}).\ndone");
        let tool_result = match self.state.random.flip() {
            true => json!({"stdout": text, "stderr": ""}),
            false => json!({"stdout": "", "stderr": ""}),
        };
        self.result(&call, &text, tool_result);
        self.state.companions.push(thread);
    }

    /// Appends records between turns that the user did not write, or that readers interpret differently.
    fn traps_before(&mut self) {
        if self.state.trap(6) {
            let text = "<local-command-stdout>ok</local-command-stdout>";
            self.put("user", json!({"message": {"role": "user", "content": text}}));
            self.reply();
        }
        if self.state.trap(6) {
            let text = "Base directory for this skill: /x";
            self.put(
                "user",
                json!({"isMeta": true, "message": {"role": "user", "content": text}}),
            );
            self.reply();
        }
        if self.state.trap(8) {
            let text = "This session is being continued from a previous conversation";
            self.put(
                "user",
                json!({"isCompactSummary": true, "message": {"role": "user", "content": text}}),
            );
            self.reply();
        }
        if self.state.trap(8) {
            let words = self.state.words();
            self.put("user", json!({"message": {"role": "user", "content": words}}));
        }
        if self.state.trap(10) {
            self.log.lines.push(String::new());
        }
    }

    fn traps_inside(&mut self) {
        if self.state.trap(4) {
            let text = "[Request interrupted by user]";
            self.put(
                "user",
                json!({"message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
            );
            self.reply();
        }
        if self.state.trap(4) {
            let text = "<task-notification><task-id>b1</task-id></task-notification>";
            self.put("user", json!({"message": {"role": "user", "content": text}}));
            self.reply();
        }
        if self.state.trap(4) {
            let words = format!("first\u{2028}second {}", self.state.words());
            self.put("assistant", json!({"message": {"role": "assistant", "content": words}}));
        }
        if self.state.trap(4) {
            let call = self.call("Bash", json!({"command": "true"}));
            let message =
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.0, "content": "x"}]});
            self.put("user", json!({"message": message}));
        }
        if self.state.trap(12) {
            let words = self.state.words();
            self.put(
                "user",
                json!({"isSidechain": true, "message": {"role": "user", "content": words}}),
            );
        }
    }
}
