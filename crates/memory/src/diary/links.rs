//! Which lines of a session start another one for it, and which ones hear the end of it.
//!
//! Most lines tell nothing of the kind: they are passed over by a search for the few words that such lines have.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;
use serde_json::Value;
use transcript::Agent;

/// A session that works for another one, as the other one's log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Whose session the child is.
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) role: Option<String>,
    pub(super) spawn_line: Option<u64>,
    pub(super) result_line: Option<u64>,
}

impl Link {
    /// Whether a turn started the child or heard of its end.
    pub(super) fn touches(&self, first_line: u64, last_line: u64) -> bool {
        let is_inside = |line: Option<u64>| line.is_some_and(|line| (first_line..=last_line).contains(&line));
        is_inside(self.spawn_line) || is_inside(self.result_line)
    }

    /// The child's own id, of which a subagent of Claude's has a part only.
    pub(super) fn native_id(&self, parent: &str) -> String {
        match self.agent {
            Agent::Claude => format!("{parent}/{}", self.id),
            Agent::Codex | Agent::Grok => self.id.clone(),
        }
    }

    /// Links stand in the order in which the children came up.
    pub(super) fn order(&self) -> (u64, &str) {
        (self.spawn_line.or(self.result_line).unwrap_or(0), &self.id)
    }
}

/// The links of one log, gathered line by line.
#[derive(Debug)]
pub(super) struct Links {
    agent: Agent,
    links: Vec<Link>,
    at: HashMap<String, usize>,
    /// What the ids of the children are looked for with.
    ids: Vec<memmem::Finder<'static>>,
    /// Calls that start a child, by their id: the line, and which role is asked for.
    calls: HashMap<String, (u64, Option<String>)>,
}

/// A hostile log cannot make us remember more.
const LINKS_MAX: usize = 2_000;
const CALLS_MAX: usize = 100_000;
/// What the companion of Codex prints before the id of its thread.
const READY: &str = "[codex]";
const UUID_CHARS: usize = 36;

/// One pass over a line says whether it has any of the words that such lines have.
static CLAUDE: LazyLock<Regex> =
    LazyLock::new(|| words(r#""Agent"|"Task"|"agentId"|codex-companion\.mjs|Thread ready \("#));
static CODEX: LazyLock<Regex> = LazyLock::new(|| words("spawn_agent|function_call_output"));

fn words(words: &str) -> Regex {
    Regex::new(words).expect("the words are an expression")
}

impl Links {
    pub(super) fn new(agent: Agent) -> Self {
        Self {
            agent,
            links: Vec::new(),
            at: HashMap::new(),
            ids: Vec::new(),
            calls: HashMap::new(),
        }
    }

    /// Takes the next line.
    pub(super) fn take(&mut self, number: u64, line: &[u8]) {
        if !self.may_tell(line) {
            return;
        }
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        match self.agent {
            Agent::Claude => self.take_claude(number, &record),
            Agent::Codex => self.take_codex(number, &record["payload"]),
            Agent::Grok => self.take_grok(number, &record["params"]["update"]),
        }
    }

    /// What was found, in the order in which the children came up.
    pub(super) fn finish(mut self) -> Vec<Link> {
        self.links.sort_by(|a, b| a.order().cmp(&b.order()));
        self.links
    }

    fn may_tell(&self, line: &[u8]) -> bool {
        let has = |word: &str| memmem::find(line, word.as_bytes()).is_some();
        match self.agent {
            Agent::Claude => CLAUDE.is_match(line) || self.ids.iter().any(|id| id.find(line).is_some()),
            Agent::Codex => CODEX.is_match(line) && (has("spawn_agent") || (has("agent_id") || has("completed"))),
            Agent::Grok => has("child_session_id"),
        }
    }

    /// The link of a child, made where it is new.
    fn link(&mut self, agent: Agent, id: &str) -> Option<&mut Link> {
        let at = match self.at.get(id) {
            Some(at) => *at,
            None if self.links.len() == LINKS_MAX || id.is_empty() => return None,
            None => {
                self.links.push(Link {
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

    fn call(&mut self, id: &Value, line: u64, role: &Value) {
        if let Some(id) = id.as_str().filter(|_| self.calls.len() < CALLS_MAX) {
            self.calls
                .insert(id.to_owned(), (line, role.as_str().map(str::to_owned)));
        }
    }

    /// A call's result names the child that the call started.
    fn started(&mut self, agent: Agent, id: &str, call: Option<&str>) -> Option<&mut Link> {
        let call = call.and_then(|call| self.calls.get(call).cloned());
        let link = self.link(agent, id)?;
        if let Some((line, role)) = call {
            link.spawn_line = Some(line);
            link.role = role.or(link.role.take());
        }
        Some(link)
    }

    fn take_codex(&mut self, number: u64, payload: &Value) {
        match payload["type"].as_str() {
            Some("function_call") if payload["name"] == "spawn_agent" => {
                let told = payload["arguments"].as_str().unwrap_or_default();
                let arguments: Value = serde_json::from_str(told).unwrap_or_default();
                self.call(&payload["call_id"], number, &arguments["agent_type"]);
            }
            Some("function_call_output") => {
                let told = payload["output"].as_str().unwrap_or_default();
                let output: Value = serde_json::from_str(told).unwrap_or_default();
                let call = payload["call_id"]
                    .as_str()
                    .filter(|call| self.calls.contains_key(*call));
                if let (Some(id), Some(call)) = (output["agent_id"].as_str(), call) {
                    self.started(Agent::Codex, id, Some(call));
                }
                for (id, status) in output["status"].as_object().into_iter().flatten() {
                    if status.get("completed").is_some()
                        && let Some(link) = self.link(Agent::Codex, id)
                    {
                        link.result_line = Some(number);
                    }
                }
            }
            _ => {}
        }
    }

    fn take_claude(&mut self, number: u64, record: &Value) {
        let content = &record["message"]["content"];
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let (name, input) = (block["name"].as_str().unwrap_or_default(), &block["input"]);
            let is_companion = || {
                let command = input["command"].as_str().unwrap_or_default();
                name == "Bash" && command.contains("codex-companion.mjs")
            };
            match name {
                // The tool was called Task before it was called Agent.
                "Agent" | "Task" => self.call(&block["id"], number, &input["subagent_type"]),
                _ if is_companion() => self.call(&block["id"], number, &Value::Null),
                _ => {}
            }
        }
        let result = &record["toolUseResult"];
        let call = blocks.iter().find_map(|block| block["tool_use_id"].as_str());
        if let Some(id) = result["agentId"].as_str() {
            let is_over = result["status"] == "completed";
            if let Some(link) = self.started(Agent::Claude, id, call)
                && is_over
            {
                link.result_line = Some(number);
            }
            return;
        }
        let is_result = record["sourceToolAssistantUUID"]
            .as_str()
            .is_some_and(|id| !id.trim().is_empty());
        if is_result && let Some(id) = companion_in(result).or_else(|| companion_in(&record["message"])) {
            if let Some(link) = self.started(Agent::Codex, &id, call) {
                link.role = Some("codex".to_owned());
                link.result_line = Some(number);
            }
            return;
        }
        self.take_mention(number, record, content);
    }

    /// Words that name a child which is known: its answer has come.
    fn take_mention(&mut self, number: u64, record: &Value, content: &Value) {
        let attachment = &record["attachment"];
        let notice = attachment["prompt"]
            .as_str()
            .filter(|_| attachment["commandMode"] == "task-notification");
        let is_told = |id: &str| match notice {
            Some(prompt) => prompt.contains(&format!("agentId: {id}")),
            None => record.get("toolUseResult").is_none_or(Value::is_null) && says(content, id),
        };
        for link in self.links.iter_mut().filter(|link| link.agent == Agent::Claude) {
            if is_told(&link.id) {
                link.result_line = Some(number);
            }
        }
    }

    fn take_grok(&mut self, number: u64, update: &Value) {
        let Some(id) = update["child_session_id"].as_str() else {
            return;
        };
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let role = update["subagent_type"].as_str().map(str::to_owned);
        let Some(link) = self.link(Agent::Grok, id) else { return };
        link.role = link.role.take().or(role);
        match kind {
            "subagent_spawned" => link.spawn_line = Some(number),
            "subagent_finished" => link.result_line = Some(number),
            _ => {}
        }
    }
}

/// Whether the words of a message hold a text.
fn says(content: &Value, text: &str) -> bool {
    match content {
        Value::String(words) => words.contains(text),
        Value::Array(blocks) => blocks
            .iter()
            .any(|block| block["text"].as_str().is_some_and(|words| words.contains(text))),
        _ => false,
    }
}

/// The thread that a companion says it made, in any text of a value.
fn companion_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.split(READY).skip(1).find_map(thread_in),
        Value::Array(values) => values.iter().find_map(companion_in),
        Value::Object(fields) => fields.values().find_map(companion_in),
        _ => None,
    }
}

/// The id in ` Thread ready (<id>)`.
fn thread_in(text: &str) -> Option<String> {
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
    fn only_the_companions_own_words_name_its_thread() {
        let id = "019e1bb6-620a-7462-9fb0-d28c3acef59d";
        let found = |text: String| companion_in(&Value::String(text));
        assert_eq!(found(format!("x\n[codex]  Thread ready ({id}).")).as_deref(), Some(id));
        assert_eq!(found(format!("[codex]Thread ready ({id})")), None);
        assert_eq!(found("[codex] Thread ready (short)".to_owned()), None);
    }
}
