//! Finds the lines of a session that start a subagent or report its end.
//!
//! Most lines do neither, so each line is first searched for the few keywords that such lines contain.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;
use serde_json::Value;
use transcript::Agent;

/// A subagent as described by its parent's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChildLink {
    /// The agent that ran the child.
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) role: Option<String>,
    pub(super) spawn_line: Option<u64>,
    pub(super) result_line: Option<u64>,
}

impl ChildLink {
    /// Returns `true` if a turn started the child or received its result.
    pub(super) fn touches(&self, first_line: u64, last_line: u64) -> bool {
        let is_inside = |line: Option<u64>| line.is_some_and(|line| (first_line..=last_line).contains(&line));
        is_inside(self.spawn_line) || is_inside(self.result_line)
    }

    /// Returns the native id of the child. Claude's subagents are named below their parent, so the id in the log is
    /// only its second half.
    pub(super) fn native_id(&self, parent: &str) -> String {
        match self.agent {
            Agent::Claude => format!("{parent}/{}", self.id),
            Agent::Codex | Agent::Grok => self.id.clone(),
        }
    }

    /// Returns the sort key: children are ordered by the line at which they first appear.
    pub(super) fn order(&self) -> (u64, &str) {
        (self.spawn_line.or(self.result_line).unwrap_or(0), &self.id)
    }
}

/// Collects the links of one log line by line.
#[derive(Debug)]
pub(super) struct ChildLinks {
    agent: Agent,
    links: Vec<ChildLink>,
    at: HashMap<String, usize>,
    /// Searchers for the ids of the known children.
    ids: Vec<memmem::Finder<'static>>,
    /// Calls that start a child, by call id, with their line and the requested role.
    calls: HashMap<String, (u64, Option<String>)>,
}

/// Limits the memory that a hostile log can make us use.
const LINKS_MAX: usize = 2_000;
const CALLS_MAX: usize = 100_000;
/// Prefix of the line in which the Codex companion prints the id of its thread.
const COMPANION_PREFIX: &str = "[codex]";
const UUID_CHARS: usize = 36;

/// Matches the keywords of all lines that can contain a link, in one pass.
static CLAUDE: LazyLock<Regex> =
    LazyLock::new(|| compile_keywords(r#""Agent"|"Task"|"agentId"|codex-companion\.mjs|Thread ready \("#));
static CODEX: LazyLock<Regex> = LazyLock::new(|| compile_keywords("spawn_agent|function_call_output"));

fn compile_keywords(keywords: &str) -> Regex {
    Regex::new(keywords).expect("the keywords are a valid expression")
}

impl ChildLinks {
    pub(super) fn new(agent: Agent) -> Self {
        Self {
            agent,
            links: Vec::new(),
            at: HashMap::new(),
            ids: Vec::new(),
            calls: HashMap::new(),
        }
    }

    /// Reads the next line.
    pub(super) fn read_line(&mut self, number: u64, line: &[u8]) {
        if !self.may_have_link(line) {
            return;
        }
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        match self.agent {
            Agent::Claude => self.read_claude(number, &record),
            Agent::Codex => self.read_codex(number, &record["payload"]),
            Agent::Grok => self.read_grok(number, &record["params"]["update"]),
        }
    }

    /// Returns the links in the order in which the children first appear.
    pub(super) fn finish(mut self) -> Vec<ChildLink> {
        self.links.sort_by(|a, b| a.order().cmp(&b.order()));
        self.links
    }

    fn may_have_link(&self, line: &[u8]) -> bool {
        let has = |word: &str| memmem::find(line, word.as_bytes()).is_some();
        match self.agent {
            Agent::Claude => CLAUDE.is_match(line) || self.ids.iter().any(|id| id.find(line).is_some()),
            Agent::Codex => CODEX.is_match(line) && (has("spawn_agent") || (has("agent_id") || has("completed"))),
            Agent::Grok => has("child_session_id"),
        }
    }

    /// Returns the link of a child, which is added if it is new.
    fn link_mut(&mut self, agent: Agent, id: &str) -> Option<&mut ChildLink> {
        let at = match self.at.get(id) {
            Some(at) => *at,
            None if self.links.len() == LINKS_MAX || id.is_empty() => return None,
            None => {
                self.links.push(ChildLink {
                    agent,
                    id: id.to_owned(),
                    role: None,
                    spawn_line: None,
                    result_line: None,
                });
                self.at.insert(id.to_owned(), self.links.len() - 1);
                self.ids.push(memmem::Finder::new(id).into_owned());
                self.links.len() - 1
            }
        };
        self.links.get_mut(at)
    }

    fn add_call(&mut self, id: &Value, line: u64, role: &Value) {
        if let Some(id) = id.as_str().filter(|_| self.calls.len() < CALLS_MAX) {
            self.calls
                .insert(id.to_owned(), (line, role.as_str().map(str::to_owned)));
        }
    }

    /// Records the start of a child: the result of a call names the child that the call started.
    fn add_spawn(&mut self, agent: Agent, id: &str, call: Option<&str>) -> Option<&mut ChildLink> {
        let call = call.and_then(|call| self.calls.get(call).cloned());
        let link = self.link_mut(agent, id)?;
        if let Some((line, role)) = call {
            link.spawn_line = Some(line);
            link.role = role.or(link.role.take());
        }
        Some(link)
    }

    fn read_codex(&mut self, number: u64, payload: &Value) {
        match payload["type"].as_str() {
            Some("function_call") if payload["name"] == "spawn_agent" => {
                let arguments_text = payload["arguments"].as_str().unwrap_or_default();
                let arguments: Value = serde_json::from_str(arguments_text).unwrap_or_default();
                self.add_call(&payload["call_id"], number, &arguments["agent_type"]);
            }
            Some("function_call_output") => {
                let output_text = payload["output"].as_str().unwrap_or_default();
                let output: Value = serde_json::from_str(output_text).unwrap_or_default();
                let call = payload["call_id"]
                    .as_str()
                    .filter(|call| self.calls.contains_key(*call));
                if let (Some(id), Some(call)) = (output["agent_id"].as_str(), call) {
                    self.add_spawn(Agent::Codex, id, Some(call));
                }
                for (id, status) in output["status"].as_object().into_iter().flatten() {
                    if status.get("completed").is_some()
                        && let Some(link) = self.link_mut(Agent::Codex, id)
                    {
                        link.result_line = Some(number);
                    }
                }
            }
            _ => {}
        }
    }

    fn read_claude(&mut self, number: u64, record: &Value) {
        let content = &record["message"]["content"];
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let (name, input) = (block["name"].as_str().unwrap_or_default(), &block["input"]);
            let is_companion = || {
                let command = input["command"].as_str().unwrap_or_default();
                name == "Bash" && command.contains("codex-companion.mjs")
            };
            match name {
                // `Agent` was named `Task` in earlier versions.
                "Agent" | "Task" => self.add_call(&block["id"], number, &input["subagent_type"]),
                _ if is_companion() => self.add_call(&block["id"], number, &Value::Null),
                _ => {}
            }
        }
        let result = &record["toolUseResult"];
        let call = blocks.iter().find_map(|block| block["tool_use_id"].as_str());
        if let Some(id) = result["agentId"].as_str() {
            let is_over = result["status"] == "completed";
            if let Some(link) = self.add_spawn(Agent::Claude, id, call)
                && is_over
            {
                link.result_line = Some(number);
            }
            return;
        }
        let is_result = record["sourceToolAssistantUUID"]
            .as_str()
            .is_some_and(|id| !id.trim().is_empty());
        if is_result
            && let Some(id) = find_companion_thread(result).or_else(|| find_companion_thread(&record["message"]))
        {
            if let Some(link) = self.add_spawn(Agent::Codex, &id, call) {
                link.role = Some("codex".to_owned());
                link.result_line = Some(number);
            }
            return;
        }
        self.read_mention(number, record, content);
    }

    /// Handles a line that names a known child in its text, because such a line contains the child's answer.
    fn read_mention(&mut self, number: u64, record: &Value, content: &Value) {
        let attachment = &record["attachment"];
        let notice = attachment["prompt"]
            .as_str()
            .filter(|_| attachment["commandMode"] == "task-notification");
        let is_mentioned = |id: &str| match notice {
            Some(prompt) => prompt.contains(&format!("agentId: {id}")),
            None => record.get("toolUseResult").is_none_or(Value::is_null) && contains_text(content, id),
        };
        for link in self.links.iter_mut().filter(|link| link.agent == Agent::Claude) {
            if is_mentioned(&link.id) {
                link.result_line = Some(number);
            }
        }
    }

    fn read_grok(&mut self, number: u64, update: &Value) {
        let Some(id) = update["child_session_id"].as_str() else {
            return;
        };
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let role = update["subagent_type"].as_str().map(str::to_owned);
        let Some(link) = self.link_mut(Agent::Grok, id) else {
            return;
        };
        link.role = link.role.take().or(role);
        match kind {
            "subagent_spawned" => link.spawn_line = Some(number),
            "subagent_finished" => link.result_line = Some(number),
            _ => {}
        }
    }
}

/// Returns `true` if the text of a message contains `text`.
fn contains_text(content: &Value, text: &str) -> bool {
    match content {
        Value::String(words) => words.contains(text),
        Value::Array(blocks) => blocks
            .iter()
            .any(|block| block["text"].as_str().is_some_and(|words| words.contains(text))),
        _ => false,
    }
}

/// Returns the thread id that a companion printed, searched in all strings of a value.
fn find_companion_thread(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.split(COMPANION_PREFIX).skip(1).find_map(parse_thread_id),
        Value::Array(values) => values.iter().find_map(find_companion_thread),
        Value::Object(fields) => fields.values().find_map(find_companion_thread),
        _ => None,
    }
}

/// Parses the id in ` Thread ready (<id>)`.
fn parse_thread_id(text: &str) -> Option<String> {
    let rest = text.trim_start();
    if rest.len() == text.len() {
        return None;
    }
    let rest = rest.strip_prefix("Thread ready (")?;
    let id = rest.get(..UUID_CHARS)?;
    let is_id = id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    (is_id && rest[UUID_CHARS..].starts_with(')')).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_companions_own_output_names_its_thread() {
        let id = "019e1bb6-620a-7462-9fb0-d28c3acef59d";
        let found = |text: String| find_companion_thread(&Value::String(text));
        assert_eq!(found(format!("x\n[codex]  Thread ready ({id}).")).as_deref(), Some(id));
        assert_eq!(found(format!("[codex]Thread ready ({id})")), None);
        assert_eq!(found("[codex] Thread ready (short)".to_owned()), None);
    }
}
