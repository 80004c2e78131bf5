//! The records of a Codex CLI log. These types are private to `codex`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::wire::{Flag, Many, Maybe, Number, Raw, Text, otherwise, wire};

wire! {
    /// One line: a payload in a wrapper. The first versions wrote the payload without a wrapper.
    struct Record<'a> {
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        ordinal: Number = "ordinal",
        payload: Maybe<Box<Payload<'a>>> = "payload",
        record_type: Text<'a> = "record_type",
        // The oldest format is one object for the whole session.
        session: Maybe<Box<Payload<'a>>> = "session",
        items: Many<Payload<'a>> = "items",
    }
}

wire! {
    /// The content of a line. Which fields are present depends on `kind` and the version.
    struct Payload<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        turn_id: Text<'a> = "turn_id",
        metadata: Linked<'a> = "metadata",
        passthrough: Linked<'a> = "internal_chat_message_metadata_passthrough",
        // Messages and reasoning.
        role: Text<'a> = "role",
        content: Content<'a> = "content",
        summary: Content<'a> = "summary",
        message: Text<'a> = "message",
        text: Text<'a> = "text",
        images: Many<Raw<'a>> = "images",
        local_images: Many<Raw<'a>> = "local_images",
        author: Text<'a> = "author",
        recipient: Text<'a> = "recipient",
        // Tool calls and their ends.
        name: Text<'a> = "name",
        namespace: Text<'a> = "namespace",
        arguments: Raw<'a> = "arguments",
        input: Raw<'a> = "input",
        call_id: Text<'a> = "call_id",
        call_id_in_camels: Text<'a> = "callId",
        output: Content<'a> = "output",
        status: Raw<'a> = "status",
        action: Maybe<Box<Action<'a>>> = "action",
        tools: Many<Tool<'a>> = "tools",
        tool: Text<'a> = "tool",
        query: Text<'a> = "query",
        success: Raw<'a> = "success",
        exit_code: Raw<'a> = "exit_code",
        duration: Maybe<Duration<'a>> = "duration",
        command: Many<Text<'a>> = "command",
        aggregated_output: Raw<'a> = "aggregated_output",
        stdout: Raw<'a> = "stdout",
        stderr: Raw<'a> = "stderr",
        changes: Raw<'a> = "changes",
        invocation: Maybe<Box<Invocation<'a>>> = "invocation",
        result: Raw<'a> = "result",
        error: Raw<'a> = "error",
        content_items: Content<'a> = "content_items",
        revised_prompt: Text<'a> = "revised_prompt",
        path: Text<'a> = "path",
        // Turns and the state of the thread.
        reason: Text<'a> = "reason",
        duration_ms: Number = "duration_ms",
        num_turns: Number = "num_turns",
        info: Maybe<Box<Info<'a>>> = "info",
        rate_limits: Raw<'a> = "rate_limits",
        item: Maybe<Box<Item<'a>>> = "item",
        thread_settings: Maybe<Box<Settings<'a>>> = "thread_settings",
        thread_name: Text<'a> = "thread_name",
        goal: Maybe<Goal<'a>> = "goal",
        target: Raw<'a> = "target",
        hint: Text<'a> = "user_facing_hint",
        review: Maybe<Review<'a>> = "review_output",
        usage: Maybe<Box<Usage<'a>>> = "usage",
        response_id: Text<'a> = "response_id",
        service_tier: Text<'a> = "service_tier",
        // Other threads.
        prompt: Text<'a> = "prompt",
        new_thread_id: Text<'a> = "new_thread_id",
        new_agent_role: Text<'a> = "new_agent_role",
        agent_thread_id: Text<'a> = "agent_thread_id",
        activity: Text<'a> = "kind",
        // The header of a session, and the context of a turn.
        session_id: Text<'a> = "session_id",
        forked_from_id: Text<'a> = "forked_from_id",
        parent_thread_id: Text<'a> = "parent_thread_id",
        timestamp: Text<'a> = "timestamp",
        cwd: Text<'a> = "cwd",
        originator: Text<'a> = "originator",
        cli_version: Text<'a> = "cli_version",
        source: Raw<'a> = "source",
        thread_source: Text<'a> = "thread_source",
        agent_nickname: Text<'a> = "agent_nickname",
        agent_role: Text<'a> = "agent_role",
        agent_path: Text<'a> = "agent_path",
        history_mode: Text<'a> = "history_mode",
        history_base: Maybe<HistoryBase<'a>> = "history_base",
        own_ordinal: Number = "subagent_history_start_ordinal",
        git: Maybe<Git<'a>> = "git",
        instructions: Raw<'a> = "instructions",
        model: Text<'a> = "model",
        effort: Text<'a> = "effort",
        approval_policy: Raw<'a> = "approval_policy",
        sandbox_policy: Raw<'a> = "sandbox_policy",
    }
}

impl Payload<'_> {
    /// Returns the turn the record belongs to, if it has one.
    pub(super) fn turn(&self) -> Option<&str> {
        let linked = || self.passthrough.turn_id.get().or(self.metadata.turn_id.get());
        self.turn_id.get().or_else(linked)
    }

    /// Returns the id that joins a call with its result.
    pub(super) fn call(&self) -> Option<&str> {
        self.call_id.get().or(self.call_id_in_camels.get())
    }
}

wire! {
    struct Linked<'a> {
        turn_id: Text<'a> = "turn_id",
    }
}

wire! {
    /// What a built-in tool does.
    struct Action<'a> {
        kind: Text<'a> = "type",
        query: Text<'a> = "query",
        url: Text<'a> = "url",
        pattern: Text<'a> = "pattern",
        command: Many<Text<'a>> = "command",
    }
}

wire! {
    struct Tool<'a> {
        name: Text<'a> = "name",
    }
}

wire! {
    struct Duration<'a> {
        secs: Number = "secs",
        nanos: Number = "nanos",
    }
}

impl Duration<'_> {
    pub(super) fn ms(&self) -> u64 {
        let secs = self.secs.0.unwrap_or_default();
        secs.saturating_mul(1000)
            .saturating_add(self.nanos.0.unwrap_or_default() / 1_000_000)
    }
}

wire! {
    struct Invocation<'a> {
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        arguments: Raw<'a> = "arguments",
    }
}

wire! {
    /// The counters of the thread and of its last API call.
    struct Info<'a> {
        total: Maybe<Usage<'a>> = "total_token_usage",
        last: Maybe<Usage<'a>> = "last_token_usage",
        model: Text<'a> = "model",
    }
}

wire! {
    struct Usage<'a> {
        input: Number = "input_tokens",
        cached: Number = "cached_input_tokens",
        cache_write: Number = "cache_write_input_tokens",
        output: Number = "output_tokens",
        reasoning: Number = "reasoning_output_tokens",
        total: Number = "total_tokens",
    }
}

wire! {
    struct Settings<'a> {
        model: Text<'a> = "model",
        effort: Text<'a> = "reasoning_effort",
        cwd: Text<'a> = "cwd",
        approval_policy: Raw<'a> = "approval_policy",
        sandbox_policy: Raw<'a> = "sandbox_policy",
        service_tier: Raw<'a> = "service_tier",
    }
}

wire! {
    struct Goal<'a> {
        objective: Text<'a> = "objective",
        status: Text<'a> = "status",
    }
}

wire! {
    struct Review<'a> {
        explanation: Text<'a> = "overall_explanation",
        correctness: Text<'a> = "overall_correctness",
    }
}

wire! {
    struct HistoryBase<'a> {
        thread_id: Text<'a> = "thread_id",
    }
}

wire! {
    struct Git<'a> {
        branch: Text<'a> = "branch",
    }
}

wire! {
    /// The origin of a thread that was started by another thread.
    struct Source<'a> {
        subagent: Raw<'a> = "subagent",
        internal: Raw<'a> = "internal",
    }
}

wire! {
    struct Subagent<'a> {
        spawn: Maybe<Spawn<'a>> = "thread_spawn",
        other: Text<'a> = "other",
    }
}

wire! {
    struct Spawn<'a> {
        parent_thread_id: Text<'a> = "parent_thread_id",
        agent_nickname: Text<'a> = "agent_nickname",
        agent_role: Text<'a> = "agent_role",
    }
}

wire! {
    /// A finished item of a paginated log.
    struct Item<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        content: Content<'a> = "content",
        text: Text<'a> = "text",
        summary: Content<'a> = "summary_text",
        raw_content: Content<'a> = "raw_content",
        fragments: Content<'a> = "fragments",
        command: Many<Text<'a>> = "command",
        source: Text<'a> = "source",
        status: Raw<'a> = "status",
        exit_code: Raw<'a> = "exit_code",
        aggregated_output: Raw<'a> = "aggregated_output",
        stdout: Raw<'a> = "stdout",
        stderr: Raw<'a> = "stderr",
        duration: Maybe<Duration<'a>> = "duration",
        changes: Raw<'a> = "changes",
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        arguments: Raw<'a> = "arguments",
        result: Raw<'a> = "result",
        success: Raw<'a> = "success",
        error: Raw<'a> = "error",
        receivers: Many<Text<'a>> = "receiver_thread_ids",
        prompt: Text<'a> = "prompt",
        activity: Text<'a> = "kind",
        agent_thread_id: Text<'a> = "agent_thread_id",
        agent_path: Text<'a> = "agent_path",
        query: Text<'a> = "query",
        path: Text<'a> = "path",
        review: Raw<'a> = "review",
    }
}

wire! {
    /// The result of an MCP tool call.
    struct McpResult<'a> {
        ok: Maybe<McpOk<'a>> = "Ok",
        err: Text<'a> = "Err",
        is_error: Flag = "isError",
        content: Content<'a> = "content",
    }
}

wire! {
    struct McpOk<'a> {
        is_error: Flag = "isError",
        content: Content<'a> = "content",
    }
}

wire! {
    /// One part of a message.
    struct Part<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        content: Text<'a> = "content",
        name: Text<'a> = "name",
    }
}

/// Text, or a list of parts.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl Content<'_> {
    /// Returns the texts of all parts, joined by line breaks.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let mut texts = parts.iter().map(Part::words).filter(|text| !text.is_empty());
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

impl Part<'_> {
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

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = Content<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(Element(part)) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Part::deserialize(MapAccessDeserializer::new(map)).map(|part| Content::Parts(vec![part]))
            }
            otherwise!(bool numbers null);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

/// A part, or a bare string that is short for one.
struct Element<'a>(Part<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Element<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = Part<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                let text = Text(Some(Cow::Borrowed(text)));
                Ok(Part {
                    text,
                    ..Part::default()
                })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let text = Text(Some(Cow::Owned(text.to_owned())));
                Ok(Part {
                    text,
                    ..Part::default()
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Part::deserialize(MapAccessDeserializer::new(map))
            }
            otherwise!(bool numbers null seq);
        }
        deserializer.deserialize_any(V(PhantomData)).map(Element)
    }
}

/// Returns a JSON string, or the `type`, `mode` or first key of an object.
pub(super) fn word_in(raw: Raw<'_>) -> Option<String> {
    match serde_json::from_str(raw.json()) {
        Ok(serde_json::Value::String(text)) => Some(text),
        Ok(serde_json::Value::Object(map)) => {
            let told = map
                .get("type")
                .or_else(|| map.get("mode"))
                .and_then(|value| value.as_str());
            told.map(str::to_owned).or_else(|| map.keys().next().cloned())
        }
        _ => None,
    }
}

/// Returns a JSON string, or an empty one if the value is something else. Large texts are only decoded when needed.
pub(super) fn text_in(raw: Raw<'_>) -> String {
    serde_json::from_str(raw.json()).unwrap_or_default()
}

/// Returns the first text that is not empty.
pub(super) fn first_in(texts: &[Raw<'_>]) -> String {
    let mut told = texts.iter().map(|raw| text_in(*raw));
    told.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Returns a JSON boolean.
pub(super) fn truth_in(raw: Raw<'_>) -> Option<bool> {
    serde_json::from_str(raw.json()).ok()
}

/// Returns a JSON integer, which may be negative.
pub(super) fn code_in(raw: Raw<'_>) -> Option<i32> {
    serde_json::from_str(raw.json()).ok()
}
