//! A small project that three agents and a human build together: a real git repository, the agents' logs, and the known
//! writer of each line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::logs::ClaudeLog;

use crate::sandbox::Sandbox;

/// The writer of a line: a turn of a session, or `None` for the human.
pub type Writer = Option<(String, u32)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    Claude,
    Codex,
    Grok,
}

/// A change of one file that replaces some lines.
pub struct Change<'a> {
    pub file: &'a str,
    pub from: usize,
    pub to: usize,
    pub new: Vec<String>,
}

pub struct World {
    pub sandbox: Sandbox,
    pub repo: PathBuf,
    pub now: Timestamp,
    pub files: BTreeMap<String, Vec<(String, Writer)>>,
    random: u64,
    claude: Option<ClaudeLog>,
    /// The lines of the current logs of Codex and Grok.
    codex: Vec<Value>,
    grok: Vec<Value>,
    turns: BTreeMap<Agent, u32>,
    sessions: BTreeMap<Agent, u32>,
    calls: u32,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut sandbox = Sandbox::new();
        sandbox.set("TZ", "UTC");
        let repo = sandbox.home.join("app");
        fs::create_dir_all(&repo).unwrap();
        let world = Self {
            sandbox,
            repo,
            now: "2026-03-20T09:00:00Z".parse().unwrap(),
            files: BTreeMap::new(),
            random: seed,
            claude: None,
            codex: Vec::new(),
            grok: Vec::new(),
            turns: BTreeMap::new(),
            sessions: BTreeMap::new(),
            calls: 0,
        };
        world.git(&["init", "-q", "-b", "main"]);
        world
    }

    /// Returns a number below `limit` that depends only on the seed.
    pub fn random(&mut self, limit: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) as usize % limit
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Runs git in the repository with a fixed identity and the clock of this world.
    pub fn git(&self, arguments: &[&str]) -> String {
        let when = format!("{} +0000", self.now.as_second());
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=Ada",
                "-c",
                "user.email=ada@example.test",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(arguments)
            .current_dir(&self.repo)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", &when)
            .env("GIT_COMMITTER_DATE", &when)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Commits all changes, as the human.
    pub fn commit(&mut self, words: &str) {
        self.pass(5);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", words]);
        self.pass(5);
    }

    pub fn text(&self, file: &str) -> String {
        self.files[file].iter().map(|(line, _)| format!("{line}\n")).collect()
    }

    fn write(&self, file: &str) {
        let path = self.repo.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.text(file)).unwrap();
    }

    fn put(&mut self, change: &Change<'_>, writer: &Writer) {
        let lines = self.files.entry(change.file.to_owned()).or_default();
        let new = change.new.iter().map(|line| (line.clone(), writer.clone()));
        lines.splice(change.from..change.to, new);
        self.write(change.file);
    }

    /// Applies a change as the human, in an editor.
    pub fn by_human(&mut self, change: &Change<'_>) {
        self.pass(20);
        self.put(change, &None);
    }

    /// Starts another session of an agent.
    pub fn new_session(&mut self, agent: Agent) {
        self.close(agent);
        *self.sessions.entry(agent).or_default() += 1;
        self.turns.insert(agent, 0);
        let id = self.id(agent);
        let (cwd, at) = (self.repo.to_str().unwrap().to_owned(), self.now.to_string());
        match agent {
            Agent::Claude => self.claude = Some(ClaudeLog::new(&id).cwd(&cwd).at(&at)),
            Agent::Codex => {
                let meta = json!({"id": id, "session_id": id, "timestamp": at, "cwd": cwd, "originator": "codex-tui", "cli_version": "0.149.0", "source": "cli"});
                self.codex = vec![json!({"timestamp": at, "type": "session_meta", "payload": meta})];
            }
            Agent::Grok => self.grok.clear(),
        }
    }

    fn id(&self, agent: Agent) -> String {
        let number = self.sessions.get(&agent).copied().unwrap_or_default();
        let family = match agent {
            Agent::Claude => "5e551000-0000-4000-8000",
            Agent::Codex => "019d4700-0000-7000-8000",
            Agent::Grok => "019d4710-0000-7000-8000",
        };
        format!("{family}-{number:012}")
    }

    fn uid(&self, agent: Agent) -> String {
        let flavor = match agent {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Grok => "grok",
        };
        format!("{flavor}:{}", self.id(agent))
    }

    /// Writes the log of an agent's current session.
    pub fn close(&mut self, agent: Agent) {
        let id = self.id(agent);
        let lines = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        match agent {
            Agent::Claude => {
                if let Some(log) = self.claude.take() {
                    self.sandbox.write(&format!(".claude/{}", log.path()), &log.jsonl());
                    self.claude = Some(log);
                }
            }
            Agent::Codex if !self.codex.is_empty() => {
                let path = format!(".codex/sessions/2026/03/20/rollout-2026-03-20T09-00-00-{id}.jsonl");
                self.sandbox.write(&path, &lines(&self.codex));
            }
            Agent::Grok if !self.grok.is_empty() => {
                let place = format!(".grok/sessions/app/{id}");
                self.sandbox
                    .write(&format!("{place}/updates.jsonl"), &lines(&self.grok));
                let summary = json!({"info": {"id": id, "cwd": self.repo}, "chat_format_version": 1});
                self.sandbox
                    .write(&format!("{place}/summary.json"), &summary.to_string());
            }
            Agent::Codex | Agent::Grok => {}
        }
    }

    /// Sends a prompt to an agent. Returns the session and the turn.
    pub fn ask(&mut self, agent: Agent, words: &str) -> (String, u32) {
        if !self.turns.contains_key(&agent) {
            self.new_session(agent);
        }
        self.pass(10);
        let turn = self.turns.entry(agent).or_default();
        *turn += 1;
        let turn = *turn;
        match agent {
            Agent::Claude => self.claude(|log| log.prompt(words)),
            Agent::Codex => {
                let content = json!([{"type": "input_text", "text": words}]);
                self.codex_item(json!({"type": "message", "role": "user", "content": content}));
                self.codex_event(json!({"type": "user_message", "message": words, "images": []}));
            }
            Agent::Grok => self
                .grok_row(json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": words}})),
        }
        (self.uid(agent), turn)
    }

    pub fn claude(&mut self, append: impl FnOnce(ClaudeLog) -> ClaudeLog) {
        let log = self.claude.take().unwrap().at(&self.now.to_string());
        self.claude = Some(append(log));
    }

    fn codex_line(&mut self, kind: &str, payload: Value) {
        self.codex
            .push(json!({"timestamp": self.now.to_string(), "type": kind, "payload": payload}));
    }

    pub fn codex_item(&mut self, payload: Value) {
        self.codex_line("response_item", payload);
    }

    pub fn codex_event(&mut self, payload: Value) {
        self.codex_line("event_msg", payload);
    }

    pub fn grok_row(&mut self, update: Value) {
        let id = self.id(Agent::Grok);
        let event = format!("{id}-{}", self.grok.len() + 1);
        let meta = json!({"eventId": event, "agentTimestampMs": self.now.as_millisecond(), "promptId": format!("p{}", self.turns[&Agent::Grok])});
        self.grok
            .push(json!({"timestamp": self.now.as_second(), "method": "session/update",
            "params": {"sessionId": id, "update": update, "_meta": meta}}));
    }

    /// Lets an agent make a change, with one of the edit calls that its tools have.
    pub fn by_agent(&mut self, agent: Agent, words: &str, change: &Change<'_>) -> (String, u32) {
        let writer = self.ask(agent, words);
        self.pass(3);
        self.calls += 1;
        let before = self.files.get(change.file).map(|_| self.text(change.file));
        let path = self.repo.join(change.file).to_str().unwrap().to_owned();
        let way = self.random(3);
        let edit = Shape::of(&self.lines(change.file), change);
        self.put(change, &Some(writer.clone()));
        let after = self.text(change.file);
        match agent {
            Agent::Claude => self.tell_claude(&path, before, &edit, &after, way),
            Agent::Codex => self.tell_codex(&path, change.file, before.is_some(), &edit, &after, way),
            Agent::Grok => self.tell_grok(&path, before.is_some(), &edit, &after),
        }
        self.pass(3);
        writer
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let lines = self.files.get(file).into_iter().flatten();
        lines.map(|(line, _)| line.clone()).collect()
    }

    fn tell_claude(&mut self, path: &str, before: Option<String>, edit: &Shape, after: &str, way: usize) {
        let hunk = json!([{"oldStart": edit.first + 1, "oldLines": edit.old.len(), "newStart": edit.first + 1,
            "newLines": edit.new.len(), "lines": edit.rows()}]);
        let (tool, input, mut result) = match &before {
            None => (
                "Write",
                json!({"file_path": path, "content": after}),
                json!({"type": "create", "filePath": path, "content": after, "originalFile": null, "structuredPatch": []}),
            ),
            Some(before) if way == 0 => (
                "Write",
                json!({"file_path": path, "content": after}),
                json!({"type": "update", "filePath": path, "content": after, "originalFile": before, "structuredPatch": hunk}),
            ),
            Some(before) => (
                "Edit",
                json!({"file_path": path, "old_string": edit.old_text(), "new_string": edit.new_text()}),
                json!({"filePath": path, "oldString": edit.old_text(), "newString": edit.new_text(), "originalFile": before,
                    "structuredPatch": hunk, "userModified": false}),
            ),
        };
        if way == 2 {
            // Some versions do not report the file.
            result = json!("ok");
        }
        self.claude(|log| {
            log.tool(tool, input, "The file has been updated.")
                .with("toolUseResult", result)
        });
    }

    fn tell_codex(&mut self, path: &str, file: &str, is_there: bool, edit: &Shape, after: &str, way: usize) {
        let call = format!("call_{}", self.calls);
        let rows = edit.rows().join("\n");
        let patch = match is_there {
            true => format!("*** Begin Patch\n*** Update File: {file}\n@@\n{rows}\n*** End Patch"),
            false => {
                let rows: String = after.lines().map(|line| format!("+{line}\n")).collect();
                format!("*** Begin Patch\n*** Add File: {file}\n{rows}*** End Patch")
            }
        };
        let done = "{\"output\": \"Success.\", \"metadata\": {\"exit_code\": 0, \"duration_seconds\": 0.0}}";
        match way {
            0 => {
                self.codex_item(
                    json!({"type": "custom_tool_call", "call_id": call, "name": "apply_patch", "input": patch}),
                );
                self.codex_item(json!({"type": "custom_tool_call_output", "call_id": call, "output": done}));
            }
            1 => {
                let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
                let arguments = json!({"command": ["bash", "-lc", command], "workdir": self.repo}).to_string();
                self.codex_item(
                    json!({"type": "function_call", "call_id": call, "name": "shell", "arguments": arguments}),
                );
                self.codex_item(json!({"type": "function_call_output", "call_id": call, "output": done}));
            }
            _ => {
                let (outer, inner) = (format!("{call}_exec"), format!("{call}_patch"));
                let program = format!("await tools.apply_patch({});", json!(patch));
                let told = match is_there {
                    true => json!({"type": "update", "move_path": null,
                        "unified_diff": format!("@@ -{},{} +{},{} @@\n{rows}\n", edit.first + 1, edit.old.len(), edit.first + 1, edit.new.len())}),
                    false => json!({"type": "add", "content": after}),
                };
                self.codex_item(
                    json!({"type": "custom_tool_call", "call_id": outer, "name": "exec", "input": program}),
                );
                self.codex_event(
                    json!({"type": "patch_apply_end", "call_id": inner, "success": true, "status": "completed",
                    "stdout": "", "stderr": "", "changes": {path: told}}),
                );
                self.codex_item(json!({"type": "custom_tool_call_output", "call_id": outer, "output": done}));
            }
        }
    }

    fn tell_grok(&mut self, path: &str, is_there: bool, edit: &Shape, after: &str) {
        let call = format!("call-{}", self.calls);
        let (tool, input) = match is_there {
            true => (
                "search_replace",
                json!({"file_path": path, "old_string": edit.old_text(), "new_string": edit.new_text()}),
            ),
            false => ("write", json!({"file_path": path, "contents": after})),
        };
        let meta = json!({"x.ai/tool": {"name": tool, "kind": "edit"}});
        self.grok_row(json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "Edit", "kind": "edit", "status": "pending", "rawInput": input, "_meta": meta}));
        self.grok_row(json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed",
            "rawOutput": {"type": "SearchReplace", "EditsApplied": {"absolute_path": path, "old_string": edit.old_text(), "new_string": edit.new_text(),
                "tool_output_for_prompt": "updated"}}}));
    }

    /// Lets Claude commit everything, in its current turn.
    pub fn commit_by_claude(&mut self, words: &str) {
        self.pass(2);
        self.git(&["add", "-A"]);
        let told = self.git(&["commit", "--allow-empty", "-m", words]);
        let input = json!({"command": format!("git add -A && git commit -m '{words}'")});
        self.claude(|log| log.tool("Bash", input, &told));
        self.pass(5);
    }

    /// Writes all logs and sweeps.
    pub fn sweep(&mut self) {
        for agent in [Agent::Claude, Agent::Codex, Agent::Grok] {
            self.close(agent);
        }
        let told = self.sandbox.run("sweep");
        assert!(!told.contains("error"), "{told}");
    }

    /// Runs `why` inside the repository.
    pub fn why(&self, place: &str) -> (Value, Option<i32>) {
        let (told, code) = self.told(&["why", place, "--json", "--no-sweep"]);
        (
            serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}")),
            code,
        )
    }

    pub fn told(&self, arguments: &[&str]) -> (String, Option<i32>) {
        let output = self
            .sandbox
            .command("")
            .args(arguments)
            .current_dir(self.repo())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stdout).unwrap() + std::str::from_utf8(&output.stderr).unwrap();
        (self.sandbox.hide_home(&told), output.status.code())
    }

    fn repo(&self) -> &Path {
        &self.repo
    }
}

/// A change as tools report it: with context lines, so that its old text occurs once in the file.
struct Shape {
    first: usize,
    before: Vec<String>,
    old: Vec<String>,
    new: Vec<String>,
    behind: Vec<String>,
}

impl Shape {
    fn of(lines: &[String], change: &Change<'_>) -> Self {
        let mut around = 1;
        loop {
            let first = change.from.saturating_sub(around);
            let last = (change.to + around).min(lines.len());
            let before = lines[first..change.from].to_vec();
            let behind = lines[change.to..last].to_vec();
            let wanted = &lines[first..last];
            let places = lines
                .windows(wanted.len().max(1))
                .filter(|window| *window == wanted)
                .count();
            if places <= 1 || (first == 0 && last == lines.len()) {
                let with = |middle: &[String]| [&before[..], middle, &behind[..]].concat();
                return Self {
                    first,
                    old: with(&lines[change.from..change.to]),
                    new: with(&change.new),
                    before,
                    behind,
                };
            }
            around += 1;
        }
    }

    fn old_text(&self) -> String {
        self.old.join("\n")
    }

    fn new_text(&self) -> String {
        self.new.join("\n")
    }

    fn rows(&self) -> Vec<String> {
        let (head, tail) = (self.before.len(), self.behind.len());
        let signed =
            |sign: char, lines: &[String]| lines.iter().map(|line| format!("{sign}{line}")).collect::<Vec<_>>();
        [
            signed(' ', &self.before),
            signed('-', &self.old[head..self.old.len() - tail]),
            signed('+', &self.new[head..self.new.len() - tail]),
            signed(' ', &self.behind),
        ]
        .concat()
    }
}
