//! Sessions of Claude Code for a made-up day.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{LogText, PROJECTS, World};

struct Session<'w> {
    world: &'w mut World,
    log: LogText,
    id: String,
    cwd: Option<&'static str>,
    /// The last record's id.
    last: String,
}

/// Writes one session with its subagents.
pub(super) fn session(world: &mut World) {
    let start = world.start();
    let id = world.uuid();
    let cwd = world.dice.pick(&PROJECTS);
    let mut session = Session {
        world,
        log: LogText::new(start),
        id,
        cwd,
        last: String::new(),
    };
    session.preamble();
    for _ in 0..session.world.dice.between(1, 5) {
        session.turn();
    }
    let bytes = session.log.bytes(session.world);
    let bytes = match session.world.trap(12) {
        true => [b"\xef\xbb\xbf".to_vec(), bytes].concat(),
        false => bytes,
    };
    let path = format!("claude/projects/-home-ada/{}.jsonl", session.id);
    session.world.files.push((path, bytes));
}

impl Session<'_> {
    /// A record with the fields that all have.
    fn record(&mut self, kind: &str, fields: Value) -> Value {
        let at = self.log.tick(self.world);
        let uuid = self.world.uuid();
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
        if self.world.dice.coin() {
            self.log
                .put(&json!({"type": "permission-mode", "permissionMode": "default", "sessionId": self.id}));
        }
        if self.world.dice.coin() {
            let id = self.world.uuid();
            self.log.put(
                &json!({"type": "file-history-snapshot", "messageId": id, "snapshot": {}, "isSnapshotUpdate": false}),
            );
        }
    }

    fn turn(&mut self) {
        let words = self.world.words();
        self.traps_before();
        let content = match self.world.dice.below(3) {
            0 => json!([{"type": "text", "text": words}]),
            _ => json!(words),
        };
        self.put(
            "user",
            json!({"promptId": self.id, "message": {"role": "user", "content": content}}),
        );
        self.reply();
        for _ in 0..self.world.dice.between(0, 5) {
            match self.world.dice.below(8) {
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
        if self.world.dice.coin() {
            self.put(
                "system",
                json!({"subtype": "turn_duration", "durationMs": 1200, "isMeta": false}),
            );
        }
    }

    fn reply(&mut self) {
        let (words, id) = (self.world.words(), self.world.uuid());
        let message =
            json!({"id": id, "role": "assistant", "model": "m", "content": [{"type": "text", "text": words}]});
        self.put("assistant", json!({"message": message}));
    }

    fn call(&mut self, name: &str, input: Value) -> (String, String) {
        let (call, id) = (format!("toolu_{}", self.world.uuid()), self.world.uuid());
        let message = json!({"id": id, "role": "assistant", "model": "m",
            "content": [{"type": "tool_use", "id": call, "name": name, "input": input}]});
        self.put("assistant", json!({"message": message}));
        (call, self.last.clone())
    }

    fn result(&mut self, call: &(String, String), text: &str, told: Value) {
        let message =
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.0, "content": text}]});
        self.put(
            "user",
            json!({"sourceToolAssistantUUID": call.1, "toolUseResult": told, "message": message}),
        );
    }

    fn tool(&mut self) {
        let words = self.world.words();
        let call = self.call("Bash", json!({"command": format!("echo {words}")}));
        self.result(
            &call,
            &words,
            json!({"stdout": words, "stderr": "", "interrupted": false}),
        );
    }

    /// A record that was written after the one it stands behind, with an earlier time.
    fn late(&mut self) {
        self.log.at -= SignedDuration::from_millis(self.world.dice.between(1, 900) as i64);
        let at = self.log.told(self.world);
        self.log
            .put(&json!({"type": "attachment", "timestamp": at, "sessionId": self.id,
            "attachment": {"type": "hook_success", "hookName": "x"}}));
    }

    fn subagent(&mut self) {
        let id = self.world.agent_id();
        let role = self.world.dice.pick(&[Some("Explore"), Some("reviewer"), None]);
        let mut input = json!({"prompt": self.world.words(), "description": "look"});
        if let Some(role) = role {
            input["subagent_type"] = role.into();
        }
        let call = self.call("Agent", input);
        let is_async = self.world.one_in(3);
        let status = if is_async { "async_launched" } else { "completed" };
        let told = json!({"agentId": id, "status": status, "isAsync": is_async});
        let said = self.world.words();
        self.result(&call, &said, told);
        if is_async && self.world.dice.coin() {
            self.reply();
            let at = self.log.tick(self.world);
            let prompt = format!("<task-notification> agentId: {id} is done</task-notification>");
            self.log
                .put(&json!({"type": "attachment", "timestamp": at, "sessionId": self.id,
                "attachment": {"type": "queued_command", "commandMode": "task-notification", "prompt": prompt}}));
        }
        if self.world.one_in(8) {
            return;
        }
        let path = match self.world.dice.below(3) {
            0 => format!("claude/projects/-home-ada/agent-{id}.jsonl"),
            _ => format!("claude/projects/-home-ada/{}/subagents/agent-{id}.jsonl", self.id),
        };
        self.write_child(&id, &path);
    }

    fn write_child(&mut self, id: &str, path: &str) {
        let mut log = LogText::new(self.log.at);
        for number in 0..self.world.dice.between(1, 4) {
            let (at, words, uuid) = (log.tick(self.world), self.world.words(), self.world.uuid());
            let kind = if number % 2 == 0 { "user" } else { "assistant" };
            log.put(&json!({"type": kind, "timestamp": at, "isSidechain": true, "agentId": id, "sessionId": self.id,
                "uuid": uuid, "cwd": self.cwd, "attributionAgent": "Explore", "message": {"role": kind, "content": words}}));
        }
        let bytes = log.bytes(self.world);
        self.world.files.push((path.to_owned(), bytes));
    }

    /// A Codex thread that a plugin starts.
    fn companion(&mut self) {
        let thread = self.world.uuid();
        let call = self.call("Bash", json!({"command": "node codex-companion.mjs task"}));
        let text = format!("[codex] Starting\n[codex] Thread ready ({thread}).\ndone");
        let told = match self.world.dice.coin() {
            true => json!({"stdout": text, "stderr": ""}),
            false => json!({"stdout": "", "stderr": ""}),
        };
        self.result(&call, &text, told);
        self.world.companions.push(thread);
    }

    /// What stands between turns and is no human's, or is read otherwise by others.
    fn traps_before(&mut self) {
        if self.world.trap(6) {
            let text = "<local-command-stdout>ok</local-command-stdout>";
            self.put("user", json!({"message": {"role": "user", "content": text}}));
            self.reply();
        }
        if self.world.trap(6) {
            let text = "Base directory for this skill: /x";
            self.put(
                "user",
                json!({"isMeta": true, "message": {"role": "user", "content": text}}),
            );
            self.reply();
        }
        if self.world.trap(8) {
            let text = "This session is being continued from a previous conversation";
            self.put(
                "user",
                json!({"isCompactSummary": true, "message": {"role": "user", "content": text}}),
            );
            self.reply();
        }
        if self.world.trap(8) {
            let words = self.world.words();
            self.put("user", json!({"message": {"role": "user", "content": words}}));
        }
        if self.world.trap(10) {
            self.log.lines.push(String::new());
        }
    }

    fn traps_inside(&mut self) {
        if self.world.trap(4) {
            let text = "[Request interrupted by user]";
            self.put(
                "user",
                json!({"message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
            );
            self.reply();
        }
        if self.world.trap(4) {
            let text = "<task-notification><task-id>b1</task-id></task-notification>";
            self.put("user", json!({"message": {"role": "user", "content": text}}));
            self.reply();
        }
        if self.world.trap(4) {
            let words = format!("first\u{2028}second {}", self.world.words());
            self.put("assistant", json!({"message": {"role": "assistant", "content": words}}));
        }
        if self.world.trap(4) {
            let call = self.call("Bash", json!({"command": "true"}));
            let message =
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.0, "content": "x"}]});
            self.put("user", json!({"message": message}));
        }
        if self.world.trap(12) {
            let words = self.world.words();
            self.put(
                "user",
                json!({"isSidechain": true, "message": {"role": "user", "content": words}}),
            );
        }
    }
}
