//! Builds logs of Claude Code: one JSON object per line, linked by `uuid` and `parentUuid`.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Usage, fnv};

/// A Claude Code log under construction. Every method appends what the agent would append.
///
/// ```
/// use serde_json::json;
/// use testkit::logs::{ClaudeLog, Usage};
///
/// let log = ClaudeLog::new("5e551000-0000-4000-8000-000000000001")
///     .at("2026-04-01T09:00:00Z")
///     .prompt("fix the login")
///     .tool("Bash", json!({"command": "cargo test"}), "1 passed")
///     .reply("done")
///     .usage(Usage { input: 12, output: 340, ..Usage::default() })
///     .jsonl();
/// assert_eq!(log.lines().count(), 4);
/// ```
#[derive(Clone, Debug)]
pub struct ClaudeLog {
    session: String,
    agent: Option<String>,
    cwd: String,
    branch: String,
    version: String,
    model: String,
    now: Timestamp,
    step: SignedDuration,
    parent: Option<String>,
    prompt: Option<String>,
    /// The number of records and calls so far, from which ids derive.
    serial: u64,
    /// The prefix of all ids, which differs between logs.
    family: u32,
    lines: Vec<Line>,
    line_end: &'static str,
    final_line_end: bool,
}

/// The default usage of a call.
const SOME_USAGE: Usage = Usage {
    input: 10,
    output: 20,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
};

#[derive(Clone, Debug)]
enum Line {
    Record(Value),
    Raw(String),
}

/// Session, time and place.
impl ClaudeLog {
    /// Starts the main log of a session.
    pub fn new(session: &str) -> ClaudeLog {
        ClaudeLog {
            session: session.to_owned(),
            agent: None,
            cwd: "/home/ada/app".to_owned(),
            branch: "main".to_owned(),
            version: "2.1.230".to_owned(),
            model: "claude-opus-5".to_owned(),
            now: "2026-04-01T09:00:00Z".parse().expect("a literal time"),
            step: SignedDuration::from_secs(1),
            parent: None,
            prompt: None,
            serial: 0,
            family: fnv(session),
            lines: Vec::new(),
            line_end: "\n",
            final_line_end: true,
        }
    }

    /// Starts the log of a subagent, which has the session id of its parent and its own agent id.
    pub fn subagent(session: &str, agent: &str) -> ClaudeLog {
        let mut log = ClaudeLog::new(session);
        log.agent = Some(agent.to_owned());
        log.family = fnv(&format!("{session}/{agent}"));
        log
    }

    /// Sets the time of the next record. Each record advances it by [`step_ms`](Self::step_ms).
    ///
    /// # Panics
    /// If `time` is not RFC 3339.
    pub fn at(mut self, time: &str) -> ClaudeLog {
        self.now = time.parse().expect("a time in RFC 3339");
        self
    }

    /// Advances the time without a record.
    pub fn wait_s(mut self, seconds: i64) -> ClaudeLog {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    /// Sets how far each record advances the time. The default is one second.
    pub fn step_ms(mut self, milliseconds: i64) -> ClaudeLog {
        self.step = SignedDuration::from_millis(milliseconds);
        self
    }

    /// Sets the working directory of all following records.
    pub fn cwd(mut self, cwd: &str) -> ClaudeLog {
        cwd.clone_into(&mut self.cwd);
        self
    }

    /// Sets the git branch of all following records.
    pub fn branch(mut self, branch: &str) -> ClaudeLog {
        branch.clone_into(&mut self.branch);
        self
    }

    /// Sets the version of Claude Code in all following records.
    pub fn version(mut self, version: &str) -> ClaudeLog {
        version.clone_into(&mut self.version);
        self
    }

    /// Sets the model of all following calls.
    pub fn model(mut self, model: &str) -> ClaudeLog {
        model.clone_into(&mut self.model);
        self
    }

    /// Ends every line with CR LF.
    pub fn crlf(mut self) -> ClaudeLog {
        self.line_end = "\r\n";
        self
    }

    /// Omits the line break of the last line.
    pub fn no_final_newline(mut self) -> ClaudeLog {
        self.final_line_end = false;
        self
    }
}

/// Records of the user and the harness.
impl ClaudeLog {
    /// Appends a prompt that the user typed.
    pub fn prompt(mut self, text: &str) -> ClaudeLog {
        self.serial += 1;
        self.prompt = Some(self.uuid_of(self.serial));
        let by_human = self.agent.is_none();
        self = self.user(json!(text));
        if by_human {
            self.with("promptSource", "typed")
                .with("origin", json!({"kind": "human"}))
        } else {
            self
        }
    }

    /// Appends a `user` record with any content: a string or blocks.
    pub fn user(mut self, content: impl Into<Value>) -> ClaudeLog {
        let mut record = self.envelope("user");
        record["message"] = json!({"role": "user", "content": content.into()});
        if let Some(prompt) = &self.prompt {
            record["promptId"] = json!(prompt);
        }
        self.push(record);
        self
    }

    /// Appends a `user` record that the harness wrote.
    pub fn meta(self, text: &str) -> ClaudeLog {
        self.user(text).with("isMeta", true)
    }

    /// Appends a slash command such as `/review src`.
    pub fn command(self, name: &str, args: &str) -> ClaudeLog {
        self.user(format!(
            "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n<command-args>{args}</command-args>"
        ))
    }

    /// Appends a shell command that the user ran with `!`, and its output.
    pub fn bang(self, command: &str, stdout: &str) -> ClaudeLog {
        self.user(format!("<bash-input>{command}</bash-input>")).user(format!(
            "<bash-stdout>{stdout}</bash-stdout><bash-stderr></bash-stderr>"
        ))
    }

    /// Appends a prompt that the user typed while the agent worked.
    pub fn queued(mut self, text: &str) -> ClaudeLog {
        let time = self.tick();
        let session = self.session.clone();
        self.lines.push(Line::Record(json!({
            "type": "queue-operation", "operation": "enqueue", "timestamp": time, "sessionId": session, "content": text,
        })));
        self.attachment(json!({"type": "queued_command", "prompt": text, "commandMode": "prompt"}))
            .without("uuid")
    }

    /// Appends an interrupt by the user.
    pub fn interrupt(self) -> ClaudeLog {
        self.user(json!([{"type": "text", "text": "[Request interrupted by user]"}]))
    }

    /// Appends a `system` record with additional `fields`.
    pub fn system(mut self, subtype: &str, fields: Value) -> ClaudeLog {
        let mut record = self.envelope("system");
        record["subtype"] = json!(subtype);
        merge(&mut record, fields);
        self.push(record);
        self
    }

    /// Appends an `attachment` record.
    pub fn attachment(mut self, attachment: Value) -> ClaudeLog {
        let mut record = self.envelope("attachment");
        record["attachment"] = attachment;
        self.push(record);
        self
    }

    /// Appends a compaction: the boundary and the summary.
    pub fn compact(mut self, summary: &str) -> ClaudeLog {
        let before = self.parent.take();
        self.system(
            "compact_boundary",
            json!({
                "content": "Conversation compacted", "logicalParentUuid": before,
                "compactMetadata": {"trigger": "auto", "preTokens": 150_000},
            }),
        )
        .user(format!(
            "This session is being continued from a previous conversation. {summary}"
        ))
        .with("isCompactSummary", true)
    }

    /// Appends a title that the agent chose.
    pub fn title(self, title: &str) -> ClaudeLog {
        let session = self.session.clone();
        self.record(json!({"type": "ai-title", "aiTitle": title, "sessionId": session}))
    }
}

/// Messages and tool calls of the model. Each method appends one API call.
impl ClaudeLog {
    /// Appends a text answer.
    pub fn reply(self, text: &str) -> ClaudeLog {
        self.call([json!({"type": "text", "text": text})])
    }

    /// Appends a thinking block.
    pub fn think(self, text: &str) -> ClaudeLog {
        self.call([json!({"type": "thinking", "thinking": text, "signature": "c2lnbmVk"})])
    }

    /// Appends a tool call and its result.
    pub fn tool(self, name: &str, input: Value, output: &str) -> ClaudeLog {
        self.tool_call(name, input).result(output)
    }

    /// Appends a tool call that fails.
    pub fn failed_tool(self, name: &str, input: Value, output: &str) -> ClaudeLog {
        self.tool_call(name, input).result(output).error()
    }

    /// Appends a tool call that the user denies, with the reason.
    pub fn denied_tool(self, name: &str, input: Value, words: &str) -> ClaudeLog {
        self.tool_call(name, input)
            .result(&format!(
                "The user doesn't want to proceed with this tool use. The tool use was rejected. \
                 To tell you how to proceed, the user said:\n{words}"
            ))
            .error()
            .with("toolUseResult", "User rejected tool use")
            .with("toolDenialKind", "user-rejected")
    }

    /// Appends a tool call without its result.
    pub fn tool_call(self, name: &str, input: Value) -> ClaudeLog {
        let id = format!("toolu_01{:08x}{:08}", self.family, self.serial + 1);
        self.call([json!({"type": "tool_use", "id": id, "name": name, "input": input})])
    }

    /// Appends the result of the last tool call.
    ///
    /// # Panics
    /// If no tool was called.
    pub fn result(self, output: &str) -> ClaudeLog {
        let call = self
            .records()
            .rev()
            .find_map(tool_use_of)
            .expect("a tool was called before");
        let result = json!([{"type": "tool_result", "tool_use_id": call.0, "content": output}]);
        self.user(result).with("sourceToolAssistantUUID", call.1).with(
            "toolUseResult",
            json!({"stdout": output, "stderr": "", "interrupted": false}),
        )
    }

    /// Appends one API call with several content blocks. Claude Code writes a record per block.
    pub fn call(mut self, blocks: impl IntoIterator<Item = Value>) -> ClaudeLog {
        self.serial += 1;
        let (message, request) = self.ids_of(self.serial);
        for block in blocks {
            let stop = if block["type"] == "tool_use" {
                "tool_use"
            } else {
                "end_turn"
            };
            let mut record = self.envelope("assistant");
            record["requestId"] = json!(request);
            record["message"] = json!({
                "id": message, "type": "message", "role": "assistant", "model": self.model, "content": [block],
                "stop_reason": stop, "stop_sequence": null, "usage": Value::from(SOME_USAGE),
            });
            self.push(record);
        }
        self
    }

    /// Sets the usage of the last API call in all its records: a [`Usage`] or any JSON.
    ///
    /// # Panics
    /// If there was no call.
    pub fn usage(mut self, usage: impl Into<Value>) -> ClaudeLog {
        let usage = usage.into();
        let call = self
            .records()
            .rev()
            .find(|record| record["type"] == "assistant")
            .expect("a call came before");
        let id = call["message"]["id"].clone();
        for line in &mut self.lines {
            if let Line::Record(record) = line
                && record["message"]["id"] == id
            {
                record["message"]["usage"] = usage.clone();
            }
        }
        self
    }
}

/// Anything that the other methods do not support.
impl ClaudeLog {
    /// Sets a field of the last record.
    ///
    /// # Panics
    /// If there is no record yet.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> ClaudeLog {
        self.last_mut()[field] = value.into();
        self
    }

    /// Removes a field of the last record.
    ///
    /// # Panics
    /// If there is no record yet.
    pub fn without(mut self, field: &str) -> ClaudeLog {
        self.last_mut()
            .as_object_mut()
            .expect("records are objects")
            .remove(field);
        self
    }

    /// Appends a record without an envelope. The time does not advance.
    pub fn record(mut self, record: Value) -> ClaudeLog {
        self.lines.push(Line::Record(record));
        self
    }

    /// Appends a line unchanged, which need not be valid.
    pub fn raw(mut self, line: &str) -> ClaudeLog {
        self.lines.push(Line::Raw(line.to_owned()));
        self
    }

    /// Rewinds the conversation: the next record is a child of `uuid`. The records after `uuid` stay in the log.
    pub fn rewind_to(mut self, uuid: &str) -> ClaudeLog {
        self.parent = Some(uuid.to_owned());
        self
    }

    /// Returns a fork: a new session with a copy of all records that have a `uuid`. Only their `sessionId` changes. Later ids differ from
    /// those of the parent.
    pub fn fork(&self, session: &str) -> ClaudeLog {
        let mut log = self.clone();
        session.clone_into(&mut log.session);
        log.family = fnv(session);
        log.lines
            .retain(|line| matches!(line, Line::Record(record) if record.get("uuid").is_some()));
        for line in &mut log.lines {
            if let Line::Record(record) = line {
                record["sessionId"] = json!(session);
            }
        }
        log
    }

    /// Returns the `uuid` of the last record that has one, for [`rewind_to`](Self::rewind_to).
    pub fn last_uuid(&self) -> Option<&str> {
        self.records().rev().find_map(|record| record["uuid"].as_str())
    }

    /// Returns the time of the next record.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the path relative to the agent's root: `projects/<project>/…`.
    pub fn path(&self) -> String {
        let project: String = self
            .cwd
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        match &self.agent {
            None => format!("projects/{project}/{}.jsonl", self.session),
            Some(agent) => format!("projects/{project}/{}/subagents/agent-{agent}.jsonl", self.session),
        }
    }

    /// Returns the content of the log file.
    pub fn jsonl(&self) -> String {
        self.to_string()
    }

    /// Returns the envelope of the next record, whose parent is the last record, and advances the time.
    pub(crate) fn envelope(&mut self, kind: &str) -> Value {
        self.serial += 1;
        let time = self.tick();
        let mut record = json!({
            "type": kind, "uuid": self.uuid_of(self.serial), "parentUuid": self.parent, "sessionId": self.session,
            "timestamp": time, "cwd": self.cwd, "gitBranch": self.branch, "version": self.version,
            "entrypoint": "cli", "userType": "external", "isSidechain": self.agent.is_some(),
        });
        if let Some(agent) = &self.agent {
            record["agentId"] = json!(agent);
        }
        record
    }

    /// Appends a record. If it has a `uuid`, it becomes the parent of the next one.
    pub(crate) fn push(&mut self, record: Value) {
        if let Some(uuid) = record["uuid"].as_str() {
            self.parent = Some(uuid.to_owned());
        }
        self.lines.push(Line::Record(record));
    }

    /// Appends a line unchanged.
    pub(crate) fn push_raw(&mut self, line: String) {
        self.lines.push(Line::Raw(line));
    }

    fn error(mut self) -> ClaudeLog {
        self.last_mut()["message"]["content"][0]["is_error"] = json!(true);
        self
    }

    fn tick(&mut self) -> String {
        let time = format!("{:.3}", self.now);
        self.now += self.step;
        time
    }

    fn records(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.lines.iter().filter_map(|line| match line {
            Line::Record(record) => Some(record),
            Line::Raw(_) => None,
        })
    }

    fn last_mut(&mut self) -> &mut Value {
        match self.lines.last_mut() {
            Some(Line::Record(record)) => record,
            _ => panic!("the last line is not a record"),
        }
    }

    fn uuid_of(&self, serial: u64) -> String {
        format!("{:08x}-0000-4000-8000-{serial:012x}", self.family)
    }

    fn ids_of(&self, serial: u64) -> (String, String) {
        (
            format!("msg_01{:08x}{serial:08}", self.family),
            format!("req_011C{:08x}{serial:08}", self.family),
        )
    }
}

impl fmt::Display for ClaudeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines.iter().enumerate() {
            match line {
                Line::Record(record) => write!(f, "{record}")?,
                Line::Raw(raw) => f.write_str(raw)?,
            }
            if self.final_line_end || index + 1 < self.lines.len() {
                f.write_str(self.line_end)?;
            }
        }
        Ok(())
    }
}

/// Returns the id of the tool call in a record and the record's `uuid`.
fn tool_use_of(record: &Value) -> Option<(Value, Value)> {
    let blocks = record["message"]["content"].as_array()?;
    let block = blocks.iter().rev().find(|block| block["type"] == "tool_use")?;
    Some((block["id"].clone(), record["uuid"].clone()))
}

fn merge(record: &mut Value, fields: Value) {
    if let (Value::Object(record), Value::Object(fields)) = (record, fields) {
        record.extend(fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "5e551000-0000-4000-8000-000000000001";

    fn parsed(log: &ClaudeLog) -> Vec<Value> {
        log.jsonl()
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record per line"))
            .collect()
    }

    #[test]
    fn records_are_chained_and_their_times_advance() {
        let log = ClaudeLog::new(SESSION)
            .prompt("fix the login")
            .tool("Bash", json!({"command": "ls"}), "a")
            .reply("done");
        let records = parsed(&log);
        let kinds: Vec<_> = records
            .iter()
            .map(|record| record["type"].as_str().unwrap_or(""))
            .collect();
        assert_eq!(kinds, ["user", "assistant", "user", "assistant"]);
        for pair in records.windows(2) {
            assert_eq!(pair[1]["parentUuid"], pair[0]["uuid"]);
            assert!(pair[1]["timestamp"].as_str() > pair[0]["timestamp"].as_str());
        }
        assert_eq!(records[0]["timestamp"], "2026-04-01T09:00:00.000Z");
        assert_eq!(
            records[2]["message"]["content"][0]["tool_use_id"],
            records[1]["message"]["content"][0]["id"]
        );
    }

    #[test]
    fn the_same_calls_give_the_same_bytes_and_sessions_have_different_ids() {
        let build = |session| ClaudeLog::new(session).prompt("a").reply("b").jsonl();
        assert_eq!(build(SESSION), build(SESSION));
        let other = ClaudeLog::new("other").prompt("a").reply("b");
        assert_ne!(
            parsed(&other)[1]["message"]["id"],
            parsed(&ClaudeLog::new(SESSION).prompt("a").reply("b"))[1]["message"]["id"]
        );
    }

    #[test]
    fn usage_is_set_in_every_row_of_the_last_call_only() {
        let blocks = [
            json!({"type": "text", "text": "a"}),
            json!({"type": "text", "text": "b"}),
        ];
        let log = ClaudeLog::new(SESSION).reply("first").call(blocks).usage(Usage {
            output: 7,
            ..Usage::default()
        });
        let outputs: Vec<_> = parsed(&log)
            .iter()
            .map(|record| record["message"]["usage"]["output_tokens"].clone())
            .collect();
        assert_eq!(outputs, [20, 7, 7]);
    }

    #[test]
    fn a_fork_keeps_the_history_and_changes_only_the_session() {
        let log = ClaudeLog::new(SESSION).prompt("a").reply("b").title("not copied");
        let fork = log.fork("fork").reply("c");
        let (old, new) = (parsed(&log), parsed(&fork));
        assert_eq!(new.len(), 3);
        let mut first = new[0].clone();
        first["sessionId"] = json!(SESSION);
        assert_eq!(first, old[0]);
        assert_ne!(new[2]["message"]["id"], new[1]["message"]["id"]);
    }

    #[test]
    fn line_endings_follow_the_options() {
        let log = ClaudeLog::new(SESSION).raw("{\"torn").raw("").crlf().no_final_newline();
        assert_eq!(log.jsonl(), "{\"torn\r\n");
    }
}
