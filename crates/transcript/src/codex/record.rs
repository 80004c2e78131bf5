//! The records of a Codex CLI log. These types are private to `codex`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::wire::{RawJson, WireArray, WireFlag, WireNumber, WireObject, WireText, default_visits, wire};

wire! {
    /// One line: a payload in a wrapper. The first versions wrote the payload without a wrapper.
    struct CodexRecord<'a> {
        kind: WireText<'a> = "type",
        timestamp: WireText<'a> = "timestamp",
        ordinal: WireNumber = "ordinal",
        payload: WireObject<Box<CodexPayload<'a>>> = "payload",
        record_type: WireText<'a> = "record_type",
        // The oldest format is one object for the whole session.
        session: WireObject<Box<CodexPayload<'a>>> = "session",
        items: WireArray<CodexPayload<'a>> = "items",
    }
}

wire! {
    /// The content of a line. Which fields are present depends on `kind` and the version.
    struct CodexPayload<'a> {
        kind: WireText<'a> = "type",
        id: WireText<'a> = "id",
        turn_id: WireText<'a> = "turn_id",
        metadata: TurnReference<'a> = "metadata",
        passthrough: TurnReference<'a> = "internal_chat_message_metadata_passthrough",
        // Messages and reasoning.
        role: WireText<'a> = "role",
        content: CodexContent<'a> = "content",
        summary: CodexContent<'a> = "summary",
        message: WireText<'a> = "message",
        text: WireText<'a> = "text",
        images: WireArray<RawJson<'a>> = "images",
        local_images: WireArray<RawJson<'a>> = "local_images",
        author: WireText<'a> = "author",
        recipient: WireText<'a> = "recipient",
        // Tool calls and their ends.
        name: WireText<'a> = "name",
        namespace: WireText<'a> = "namespace",
        arguments: RawJson<'a> = "arguments",
        input: RawJson<'a> = "input",
        call_id: WireText<'a> = "call_id",
        call_id_camel: WireText<'a> = "callId",
        output: CodexContent<'a> = "output",
        status: RawJson<'a> = "status",
        action: WireObject<Box<ToolAction<'a>>> = "action",
        tools: WireArray<ListedTool<'a>> = "tools",
        tool: WireText<'a> = "tool",
        query: WireText<'a> = "query",
        success: RawJson<'a> = "success",
        exit_code: RawJson<'a> = "exit_code",
        duration: WireObject<DurationParts<'a>> = "duration",
        command: WireArray<WireText<'a>> = "command",
        aggregated_output: RawJson<'a> = "aggregated_output",
        stdout: RawJson<'a> = "stdout",
        stderr: RawJson<'a> = "stderr",
        changes: RawJson<'a> = "changes",
        invocation: WireObject<Box<McpInvocation<'a>>> = "invocation",
        result: RawJson<'a> = "result",
        error: RawJson<'a> = "error",
        content_items: CodexContent<'a> = "content_items",
        revised_prompt: WireText<'a> = "revised_prompt",
        path: WireText<'a> = "path",
        // Turns and the state of the thread.
        reason: WireText<'a> = "reason",
        duration_ms: WireNumber = "duration_ms",
        num_turns: WireNumber = "num_turns",
        info: WireObject<Box<TokenInfo<'a>>> = "info",
        rate_limits: RawJson<'a> = "rate_limits",
        item: WireObject<Box<CodexItem<'a>>> = "item",
        thread_settings: WireObject<Box<ThreadSettings<'a>>> = "thread_settings",
        thread_name: WireText<'a> = "thread_name",
        goal: WireObject<ThreadGoal<'a>> = "goal",
        target: RawJson<'a> = "target",
        hint: WireText<'a> = "user_facing_hint",
        review: WireObject<ReviewOutput<'a>> = "review_output",
        usage: WireObject<Box<CodexUsage<'a>>> = "usage",
        response_id: WireText<'a> = "response_id",
        service_tier: WireText<'a> = "service_tier",
        // Other threads.
        prompt: WireText<'a> = "prompt",
        new_thread_id: WireText<'a> = "new_thread_id",
        new_agent_role: WireText<'a> = "new_agent_role",
        agent_thread_id: WireText<'a> = "agent_thread_id",
        activity: WireText<'a> = "kind",
        // The header of a session, and the context of a turn.
        session_id: WireText<'a> = "session_id",
        forked_from_id: WireText<'a> = "forked_from_id",
        parent_thread_id: WireText<'a> = "parent_thread_id",
        timestamp: WireText<'a> = "timestamp",
        cwd: WireText<'a> = "cwd",
        originator: WireText<'a> = "originator",
        cli_version: WireText<'a> = "cli_version",
        source: RawJson<'a> = "source",
        thread_source: WireText<'a> = "thread_source",
        agent_nickname: WireText<'a> = "agent_nickname",
        agent_role: WireText<'a> = "agent_role",
        agent_path: WireText<'a> = "agent_path",
        history_mode: WireText<'a> = "history_mode",
        history_base: WireObject<HistoryBase<'a>> = "history_base",
        own_ordinal: WireNumber = "subagent_history_start_ordinal",
        git: WireObject<GitInfo<'a>> = "git",
        instructions: RawJson<'a> = "instructions",
        model: WireText<'a> = "model",
        effort: WireText<'a> = "effort",
        approval_policy: RawJson<'a> = "approval_policy",
        sandbox_policy: RawJson<'a> = "sandbox_policy",
    }
}

impl CodexPayload<'_> {
    /// Returns the turn the record belongs to, if it has one.
    pub(super) fn turn(&self) -> Option<&str> {
        let linked = || self.passthrough.turn_id.get().or(self.metadata.turn_id.get());
        self.turn_id.get().or_else(linked)
    }

    /// Returns the id that joins a call with its result.
    pub(super) fn call(&self) -> Option<&str> {
        self.call_id.get().or(self.call_id_camel.get())
    }
}

wire! {
    struct TurnReference<'a> {
        turn_id: WireText<'a> = "turn_id",
    }
}

wire! {
    /// What a built-in tool does.
    struct ToolAction<'a> {
        kind: WireText<'a> = "type",
        query: WireText<'a> = "query",
        url: WireText<'a> = "url",
        pattern: WireText<'a> = "pattern",
        command: WireArray<WireText<'a>> = "command",
    }
}

wire! {
    struct ListedTool<'a> {
        name: WireText<'a> = "name",
    }
}

wire! {
    struct DurationParts<'a> {
        secs: WireNumber = "secs",
        nanos: WireNumber = "nanos",
    }
}

impl DurationParts<'_> {
    pub(super) fn ms(&self) -> u64 {
        let secs = self.secs.0.unwrap_or_default();
        secs.saturating_mul(1000)
            .saturating_add(self.nanos.0.unwrap_or_default() / 1_000_000)
    }
}

wire! {
    struct McpInvocation<'a> {
        server: WireText<'a> = "server",
        tool: WireText<'a> = "tool",
        arguments: RawJson<'a> = "arguments",
    }
}

wire! {
    /// The counters of the thread and of its last API call.
    struct TokenInfo<'a> {
        total: WireObject<CodexUsage<'a>> = "total_token_usage",
        last: WireObject<CodexUsage<'a>> = "last_token_usage",
        model: WireText<'a> = "model",
    }
}

wire! {
    struct CodexUsage<'a> {
        input: WireNumber = "input_tokens",
        cached: WireNumber = "cached_input_tokens",
        cache_write: WireNumber = "cache_write_input_tokens",
        output: WireNumber = "output_tokens",
        reasoning: WireNumber = "reasoning_output_tokens",
        total: WireNumber = "total_tokens",
    }
}

wire! {
    struct ThreadSettings<'a> {
        model: WireText<'a> = "model",
        effort: WireText<'a> = "reasoning_effort",
        cwd: WireText<'a> = "cwd",
        approval_policy: RawJson<'a> = "approval_policy",
        sandbox_policy: RawJson<'a> = "sandbox_policy",
        service_tier: RawJson<'a> = "service_tier",
    }
}

wire! {
    struct ThreadGoal<'a> {
        objective: WireText<'a> = "objective",
        status: WireText<'a> = "status",
    }
}

wire! {
    struct ReviewOutput<'a> {
        explanation: WireText<'a> = "overall_explanation",
        correctness: WireText<'a> = "overall_correctness",
    }
}

wire! {
    struct HistoryBase<'a> {
        thread_id: WireText<'a> = "thread_id",
    }
}

wire! {
    struct GitInfo<'a> {
        branch: WireText<'a> = "branch",
    }
}

wire! {
    /// The origin of a thread that was started by another thread.
    struct ThreadSource<'a> {
        subagent: RawJson<'a> = "subagent",
        internal: RawJson<'a> = "internal",
    }
}

wire! {
    struct SubagentSource<'a> {
        spawn: WireObject<ThreadSpawn<'a>> = "thread_spawn",
        other: WireText<'a> = "other",
    }
}

wire! {
    struct ThreadSpawn<'a> {
        parent_thread_id: WireText<'a> = "parent_thread_id",
        agent_nickname: WireText<'a> = "agent_nickname",
        agent_role: WireText<'a> = "agent_role",
    }
}

wire! {
    /// A finished item of a paginated log.
    struct CodexItem<'a> {
        kind: WireText<'a> = "type",
        id: WireText<'a> = "id",
        content: CodexContent<'a> = "content",
        text: WireText<'a> = "text",
        summary: CodexContent<'a> = "summary_text",
        raw_content: CodexContent<'a> = "raw_content",
        fragments: CodexContent<'a> = "fragments",
        command: WireArray<WireText<'a>> = "command",
        source: WireText<'a> = "source",
        status: RawJson<'a> = "status",
        exit_code: RawJson<'a> = "exit_code",
        aggregated_output: RawJson<'a> = "aggregated_output",
        stdout: RawJson<'a> = "stdout",
        stderr: RawJson<'a> = "stderr",
        duration: WireObject<DurationParts<'a>> = "duration",
        changes: RawJson<'a> = "changes",
        server: WireText<'a> = "server",
        tool: WireText<'a> = "tool",
        arguments: RawJson<'a> = "arguments",
        result: RawJson<'a> = "result",
        success: RawJson<'a> = "success",
        error: RawJson<'a> = "error",
        receivers: WireArray<WireText<'a>> = "receiver_thread_ids",
        prompt: WireText<'a> = "prompt",
        activity: WireText<'a> = "kind",
        agent_thread_id: WireText<'a> = "agent_thread_id",
        agent_path: WireText<'a> = "agent_path",
        query: WireText<'a> = "query",
        path: WireText<'a> = "path",
        review: RawJson<'a> = "review",
    }
}

wire! {
    /// The result of an MCP tool call.
    struct McpResult<'a> {
        ok: WireObject<McpOk<'a>> = "Ok",
        err: WireText<'a> = "Err",
        is_error: WireFlag = "isError",
        content: CodexContent<'a> = "content",
    }
}

wire! {
    struct McpOk<'a> {
        is_error: WireFlag = "isError",
        content: CodexContent<'a> = "content",
    }
}

wire! {
    /// One part of a message.
    struct ContentPart<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        content: WireText<'a> = "content",
        name: WireText<'a> = "name",
    }
}

/// Text, or a list of parts.
#[derive(Debug, Default)]
pub(crate) enum CodexContent<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

impl CodexContent<'_> {
    /// Returns the texts of all parts, joined by line breaks.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let mut texts = parts.iter().map(ContentPart::words).filter(|text| !text.is_empty());
                match (texts.next(), texts.next()) {
                    (None, _) => Cow::Borrowed(""),
                    (Some(only), None) => only,
                    (Some(first), Some(second)) => {
                        let texts: Vec<Cow<'_, str>> = [first, second].into_iter().chain(texts).collect();
                        Cow::Owned(texts.join("\n"))
                    }
                }
            }
        }
    }
}

impl ContentPart<'_> {
    /// Returns the text of the part, or a placeholder if it has none.
    pub(crate) fn words(&self) -> Cow<'_, str> {
        match (self.text.get().or(self.content.get()), self.kind.or_empty()) {
            (Some(text), _) => Cow::Borrowed(text),
            (None, kind) if kind.contains("image") => Cow::Borrowed("[image]"),
            (None, kind) if kind.contains("audio") => Cow::Borrowed("[audio]"),
            (None, "skill" | "mention") => Cow::Owned(format!("${}", self.name.or_empty())),
            (None, "encrypted_content") => Cow::Borrowed("[encrypted]"),
            (None, _) => Cow::Borrowed(""),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for CodexContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CodexContentVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for CodexContentVisitor<'a> {
            type Value = CodexContent<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(CodexContent::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(CodexContent::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(PartElement(part)) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(CodexContent::Parts(parts))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                ContentPart::deserialize(MapAccessDeserializer::new(map)).map(|part| CodexContent::Parts(vec![part]))
            }
            default_visits!(bool numbers null);
        }
        deserializer.deserialize_any(CodexContentVisitor(PhantomData))
    }
}

/// A part, or a bare string that is short for one.
struct PartElement<'a>(ContentPart<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for PartElement<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartElementVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for PartElementVisitor<'a> {
            type Value = ContentPart<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                let text = WireText(Some(Cow::Borrowed(text)));
                Ok(ContentPart {
                    text,
                    ..ContentPart::default()
                })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let text = WireText(Some(Cow::Owned(text.to_owned())));
                Ok(ContentPart {
                    text,
                    ..ContentPart::default()
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                ContentPart::deserialize(MapAccessDeserializer::new(map))
            }
            default_visits!(bool numbers null seq);
        }
        deserializer
            .deserialize_any(PartElementVisitor(PhantomData))
            .map(PartElement)
    }
}

/// Returns a JSON string, or the `type`, `mode` or first key of an object.
pub(super) fn word_in(raw: RawJson<'_>) -> Option<String> {
    match serde_json::from_str(raw.json()) {
        Ok(serde_json::Value::String(text)) => Some(text),
        Ok(serde_json::Value::Object(map)) => {
            let word = map
                .get("type")
                .or_else(|| map.get("mode"))
                .and_then(|value| value.as_str());
            word.map(str::to_owned).or_else(|| map.keys().next().cloned())
        }
        _ => None,
    }
}

/// Returns a JSON string, or an empty one if the value is something else. Large texts are only decoded when needed.
pub(super) fn text_in(raw: RawJson<'_>) -> String {
    serde_json::from_str(raw.json()).unwrap_or_default()
}

/// Returns the first text that is not empty.
pub(super) fn first_in(texts: &[RawJson<'_>]) -> String {
    let mut decoded = texts.iter().map(|raw| text_in(*raw));
    decoded.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Returns a JSON boolean.
pub(super) fn truth_in(raw: RawJson<'_>) -> Option<bool> {
    serde_json::from_str(raw.json()).ok()
}

/// Returns a JSON integer, which may be negative.
pub(super) fn code_in(raw: RawJson<'_>) -> Option<i32> {
    serde_json::from_str(raw.json()).ok()
}
