//! The agents whose logs we read: their names, and how to detect which agent wrote a log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{RawJson, WireText, wire};

/// A coding agent. Serialized as the schema's `flavor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Agent {
    Claude,
    Codex,
    Grok,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Grok];

    /// Returns the name used in uids, filters and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Grok => "grok",
        }
    }

    /// Returns the product name of the agent.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Grok => "Grok",
        }
    }
}

/// What the path of a log says about its session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The file name without its extension.
    pub stem: String,
    /// The session that owns the directory of the log, if this is a subagent's log.
    pub parent_session: Option<String>,
    /// True if the file name is that of a subagent's log (`agent-…`).
    pub is_subagent: bool,
    /// The directory that contains the log. For Grok, this is the session id.
    pub directory: Option<String>,
    /// The parent of that directory. For Grok, it encodes the working directory of the session.
    pub group: Option<String>,
}

impl Origin {
    /// Parses a path whose components are separated by `/` or `\`.
    pub fn of(path: &str) -> Self {
        let mut components = path.rsplit(['/', '\\']);
        let name = components.next().unwrap_or_default();
        let stem = name
            .strip_suffix(".jsonl")
            .or_else(|| name.split_once(".jsonl").map(|(stem, _)| stem));
        let stem = stem.unwrap_or(name).to_owned();
        let ancestors: Vec<&str> = components.collect();
        let is_subagent = stem.starts_with("agent-");
        // A user may have a directory of this name, so it only counts above a subagent's log.
        let subagents = ancestors
            .iter()
            .position(|directory| is_subagent && *directory == "subagents");
        let parent_session = subagents
            .and_then(|at| ancestors.get(at + 1))
            .map(|session| (*session).to_owned());
        let ancestor = |at: usize| {
            ancestors
                .get(at)
                .filter(|name| !name.is_empty())
                .map(|name| (*name).to_owned())
        };
        Self {
            stem,
            parent_session,
            is_subagent,
            directory: ancestor(0),
            group: ancestor(1),
        }
    }
}

/// Returns the agent that wrote a log, judged by its first lines. File names are ignored because copies of a log are
/// often renamed.
pub fn detect(head: &[u8]) -> Option<Agent> {
    let by_record = head.split(|byte| *byte == b'\n').take(200).find_map(agent_of_record);
    by_record.or_else(|| agent_by_keywords(head))
}

/// Returns the agent whose records have the keys of this one.
fn agent_of_record(line: &[u8]) -> Option<Agent> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let keys: DetectionKeys<'_> = serde_json::Deserializer::from_slice(line).into_iter().next()?.ok()?;
    let has = |raw: &RawJson<'_>| raw.0.is_some();
    let codex_header = has(&keys.id) && has(&keys.timestamp) && has(&keys.instructions);
    let codex_item = matches!(
        keys.kind.or_empty(),
        "message" | "reasoning" | "function_call" | "function_call_output" | "local_shell_call"
    );
    let claude = [
        &keys.session_id,
        &keys.uuid,
        &keys.leaf,
        &keys.message,
        &keys.display,
        &keys.agent_type,
        &keys.snapshot,
    ];
    let codex_history = has(&keys.thread) && has(&keys.ts) && has(&keys.text);
    if has(&keys.payload) || codex_header || codex_history || has(&keys.record_type) {
        Some(Agent::Codex)
    } else if (has(&keys.method) && has(&keys.params)) || (has(&keys.ts) && keys.kind.get().is_some()) {
        Some(Agent::Grok)
    } else if claude.into_iter().any(has) {
        Some(Agent::Claude)
    } else if codex_item {
        Some(Agent::Codex)
    } else if has(&keys.content) && (keys.kind.get().is_some() || has(&keys.role)) {
        Some(Agent::Grok)
    } else {
        None
    }
}

/// Fallback for logs in which no line parses: searches the raw bytes for known keys.
fn agent_by_keywords(head: &[u8]) -> Option<Agent> {
    let contains = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
    if contains("\"parentUuid\"") || contains("\"toolUseResult\"") || contains("\"loglines\"") {
        Some(Agent::Claude)
    } else if contains("\"payload\"") && contains("\"timestamp\"") {
        Some(Agent::Codex)
    } else if head.starts_with(b"{\n") && contains("\"session\": {") && contains("\"instructions\"") {
        // The oldest Codex logs are a single JSON object over many lines.
        Some(Agent::Codex)
    } else if contains("\"sessionUpdate\"") {
        Some(Agent::Grok)
    } else {
        None
    }
}

wire! {
    /// The keys that distinguish the agents' records.
    struct DetectionKeys<'a> {
        kind: WireText<'a> = "type",
        payload: RawJson<'a> = "payload",
        record_type: RawJson<'a> = "record_type",
        instructions: RawJson<'a> = "instructions",
        id: RawJson<'a> = "id",
        timestamp: RawJson<'a> = "timestamp",
        ts: RawJson<'a> = "ts",
        method: RawJson<'a> = "method",
        params: RawJson<'a> = "params",
        session_id: RawJson<'a> = "sessionId",
        uuid: RawJson<'a> = "uuid",
        leaf: RawJson<'a> = "leafUuid",
        message: RawJson<'a> = "message",
        display: RawJson<'a> = "display",
        agent_type: RawJson<'a> = "agentType",
        snapshot: RawJson<'a> = "snapshot",
        content: RawJson<'a> = "content",
        role: RawJson<'a> = "role",
        thread: RawJson<'a> = "session_id",
        text: RawJson<'a> = "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_detected_by_its_records() {
        let cases = [
            (
                r#"{"type":"summary","summary":"x","leafUuid":"u"}"#,
                Some(Agent::Claude),
            ),
            (r#"{"type":"user","sessionId":"s","message":{}}"#, Some(Agent::Claude)),
            ("torn{\n\n{\"type\":\"mode\",\"sessionId\":\"s\"}", Some(Agent::Claude)),
            (
                r#"{"timestamp":"t","type":"session_meta","payload":{}}"#,
                Some(Agent::Codex),
            ),
            (r#"{"id":"x","timestamp":"t","instructions":null}"#, Some(Agent::Codex)),
            (r#"{"type":"message","role":"user","content":[]}"#, Some(Agent::Codex)),
            (r#"{"session_id":"x","ts":1,"text":"a prompt"}"#, Some(Agent::Codex)),
            (
                r#"{"timestamp":1,"method":"session/update","params":{}}"#,
                Some(Agent::Grok),
            ),
            (r#"{"ts":"t","type":"turn_started"}"#, Some(Agent::Grok)),
            (r#"{"type":"system","content":"You are"}"#, Some(Agent::Grok)),
            (r#"{"role":"user","content":"hello"}"#, Some(Agent::Grok)),
            ("plain words\n", None),
            ("", None),
        ];
        for (head, agent) in cases {
            assert_eq!(detect(head.as_bytes()), agent, "{head}");
        }
    }

    #[test]
    fn the_path_of_a_subagents_log_names_its_parent() {
        let nested = Origin::of("/p/-w-app/5e55/subagents/workflows/wf_1/agent-a1.jsonl");
        assert_eq!(
            (nested.stem.as_str(), nested.parent_session.as_deref()),
            ("agent-a1", Some("5e55"))
        );
        let flat = Origin::of(r"C:\p\agent-b2.jsonl");
        assert_eq!(
            (flat.stem.as_str(), flat.parent_session, flat.is_subagent),
            ("agent-b2", None, true)
        );
        assert!(!Origin::of("5e55.jsonl").is_subagent);
        assert!(!Origin::of("/home/ada/subagents/5e55.jsonl").is_subagent);
    }
}
