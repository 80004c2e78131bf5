//! Sessions of Codex CLI for a generated day.

use serde_json::{Value, json};

use super::{DayState, LogText, PROJECTS};

struct Thread<'w> {
    state: &'w mut DayState,
    log: LogText,
    id: String,
    cwd: Option<&'static str>,
}

/// Writes one thread with its subagents.
pub(super) fn session(state: &mut DayState) {
    let start = state.start();
    let id = state.uuid();
    let cwd = state.random.pick(&PROJECTS);
    let mut thread = Thread {
        state,
        log: LogText::new(start),
        id,
        cwd,
    };
    thread.head(json!({"originator": "codex_cli_rs", "source": "cli"}));
    if thread.state.trap(6) {
        thread.forked();
    }
    for _ in 0..thread.state.random.between(1, 5) {
        thread.turn();
    }
    thread.write();
}

/// Writes a thread that a Claude session started.
pub(super) fn companion(state: &mut DayState, id: &str) {
    let start = state.start();
    let mut thread = Thread {
        state,
        log: LogText::new(start),
        id: id.to_owned(),
        cwd: Some("/home/ada/atlas"),
    };
    thread.head(json!({"originator": "Claude Code", "source": "cli"}));
    thread.turn();
    thread.write();
}

impl Thread<'_> {
    fn put(&mut self, kind: &str, payload: &Value) {
        let at = self.log.tick(self.state);
        self.log
            .put(&json!({"timestamp": at, "type": kind, "payload": payload}));
    }

    fn item(&mut self, role: &str, text: &str) {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        let content = json!([{"type": kind, "text": text}]);
        self.put(
            "response_item",
            &json!({"type": "message", "role": role, "content": content}),
        );
    }

    fn head(&mut self, fields: Value) {
        let at = self.log.tick(self.state);
        let mut payload = json!({"id": self.id, "timestamp": at, "cli_version": "0.144.0", "instructions": null});
        // Some threads name their working directory only in their first turn.
        if let Some(cwd) = self.cwd.filter(|_| !self.state.one_in(6)) {
            payload["cwd"] = cwd.into();
        }
        let fields = fields.as_object().expect("fields are an object").clone();
        payload.as_object_mut().expect("a payload is an object").extend(fields);
        self.log
            .put(&json!({"timestamp": at, "type": "session_meta", "payload": payload}));
    }

    fn turn(&mut self) {
        let words = self.state.words();
        self.set_up();
        // The prompt is an item, an event, or both in succession.
        match self.state.random.below(5) {
            0 => self.item("user", &words),
            1 => self.put("event_msg", &json!({"type": "user_message", "message": words})),
            _ => {
                self.item("user", &words);
                if self.state.trap(4) {
                    self.put("turn_context", &json!({"cwd": self.cwd, "model": "m"}));
                }
                self.put("event_msg", &json!({"type": "user_message", "message": words}));
            }
        }
        self.put("event_msg", &json!({"type": "token_count", "info": null}));
        for _ in 0..self.state.random.between(0, 4) {
            match self.state.random.below(6) {
                0 => self.subagent(),
                1 => self.log.torn(),
                2 => self.traps_inside(),
                _ => self.tool(),
            }
        }
        let reply = self.state.words();
        self.item("assistant", &reply);
        self.put("event_msg", &json!({"type": "agent_message", "message": reply}));
        if self.state.trap(5) {
            self.item("user", "<turn_aborted>\nThe user interrupted</turn_aborted>");
        } else if !self.state.one_in(5) {
            self.put(
                "event_msg",
                &json!({"type": "task_complete", "last_agent_message": reply}),
            );
        }
    }

    /// Writes the records before a prompt.
    fn set_up(&mut self) {
        if self.state.trap(8) {
            self.head(json!({"originator": "codex_cli_rs", "source": "cli"}));
        }
        if self.state.trap(8) {
            self.log.lines.push(String::new());
        }
        if !self.state.one_in(4) {
            self.put("event_msg", &json!({"type": "task_started", "turn_id": "t"}));
        }
        if self.state.trap(8) {
            self.put("event_msg", &json!({"type": "token_count", "info": null}));
        }
        if self.state.random.flip() {
            self.item(
                "developer",
                "<permissions instructions>be careful</permissions instructions>",
            );
        }
        if self.state.random.flip() {
            let text = "<environment_context>\n  <shell>bash</shell>\n</environment_context>";
            self.item("user", text);
        }
        if self.state.one_in(4) {
            self.item(
                "user",
                "# AGENTS.md instructions for /home/ada\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>",
            );
        }
        if !self.state.one_in(5) {
            self.put(
                "turn_context",
                &json!({"cwd": self.cwd, "model": "m", "approval_policy": "never"}),
            );
        }
    }

    fn tool(&mut self) {
        let (call, words) = (format!("call_{}", self.state.uuid()), self.state.words());
        let arguments = json!({"command": ["echo", words]}).to_string();
        self.put(
            "response_item",
            &json!({"type": "function_call", "name": "shell", "call_id": call, "arguments": arguments}),
        );
        let output = json!({"output": words, "metadata": {"exit_code": 0}}).to_string();
        self.put(
            "response_item",
            &json!({"type": "function_call_output", "call_id": call, "output": output}),
        );
    }

    fn subagent(&mut self) {
        let (child, call) = (self.state.uuid(), format!("call_{}", self.state.uuid()));
        let role = self.state.random.pick(&[Some("worker"), None]);
        let mut arguments = json!({"message": self.state.words()});
        if let Some(role) = role {
            arguments["agent_type"] = role.into();
        }
        let arguments = arguments.to_string();
        self.put(
            "response_item",
            &json!({"type": "function_call", "name": "spawn_agent", "call_id": call, "arguments": arguments}),
        );
        let output = json!({"agent_id": child, "nickname": "Ada"}).to_string();
        self.put(
            "response_item",
            &json!({"type": "function_call_output", "call_id": call, "output": output}),
        );
        for _ in 0..self.state.random.between(0, 2) {
            let call = format!("call_{}", self.state.uuid());
            let arguments = json!({"ids": [child]}).to_string();
            self.put(
                "response_item",
                &json!({"type": "function_call", "name": "wait", "call_id": call, "arguments": arguments}),
            );
            let status = match self.state.one_in(4) {
                true => json!("running"),
                false => json!({"completed": self.state.words()}),
            };
            let output = json!({"status": {child.as_str(): status}, "timed_out": false}).to_string();
            self.put(
                "response_item",
                &json!({"type": "function_call_output", "call_id": call, "output": output}),
            );
        }
        if self.state.one_in(8) {
            return;
        }
        let (parent, at) = (self.id.clone(), self.log.at);
        let mut thread = Thread {
            state: self.state,
            log: LogText::new(at),
            id: child,
            cwd: self.cwd,
        };
        let spawn = json!({"parent_thread_id": parent, "depth": 1, "agent_nickname": "Ada", "agent_role": "explorer"});
        let source = json!({"subagent": {"thread_spawn": spawn}});
        thread.head(json!({"originator": "codex_cli_rs", "thread_source": "subagent", "source": source}));
        thread.item("user", "do this part");
        thread.item("assistant", "done");
        thread.write();
    }

    /// Copies the history of another thread after the header.
    fn forked(&mut self) {
        let other = self.state.uuid();
        let at = self.log.current_time(self.state);
        let payload = json!({"id": other, "timestamp": at, "cwd": "/home/ada/elsewhere", "cli_version": "0.144.0"});
        self.log
            .put(&json!({"timestamp": at, "type": "session_meta", "payload": payload}));
        for _ in 0..2 {
            let words = self.state.words();
            let content = json!([{"type": "input_text", "text": words}]);
            self.log
                .put(&json!({"timestamp": at, "type": "response_item", "payload":
                {"type": "message", "role": "user", "content": content}}));
            let content = json!([{"type": "output_text", "text": words}]);
            self.log
                .put(&json!({"timestamp": at, "type": "response_item", "payload":
                {"type": "message", "role": "assistant", "content": content}}));
        }
    }

    fn traps_inside(&mut self) {
        if self.state.trap(4) {
            self.item(
                "user",
                "<user_shell_command><command>ls</command><result>x</result></user_shell_command>",
            );
        }
        if self.state.trap(4) {
            self.item(
                "user",
                "<subagent_notification>{\"agent_id\":\"x\"}</subagent_notification>",
            );
        }
        if self.state.trap(4) {
            let words = self.state.words();
            self.put("event_msg", &json!({"type": "user_message", "message": words}));
            self.item("user", &words);
        }
        if self.state.trap(6) {
            let words = self.state.words();
            self.item("user", &format!("# AGENTS.md needs a word on {words}"));
        }
    }

    fn write(self) {
        let at = self.log.at.strftime("%Y-%m-%dT%H-%M-%S").to_string();
        let day = self.log.at.strftime("%Y/%m/%d").to_string();
        let bytes = self.log.bytes(self.state);
        let path = format!("codex/sessions/{day}/rollout-{at}-{}.jsonl", self.id);
        self.state.files.push((path, bytes));
    }
}
