//! The lines of Grok Build's files. These types are private to `grok`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::wire::{Flag, Many, Maybe, Number, Raw, Text, otherwise, wire};

/// Maximum number of bytes of one output that are decoded.
const OUTPUT_BYTES_MAX: usize = 4 << 20;

wire! {
    /// A line of `updates.jsonl`.
    struct Envelope<'a> {
        timestamp: Number = "timestamp",
        method: Text<'a> = "method",
        params: Params<'a> = "params",
    }
}

wire! {
    struct Params<'a> {
        session_id: Text<'a> = "sessionId",
        update: Update<'a> = "update",
        meta: RowMeta<'a> = "_meta",
    }
}

wire! {
    /// Metadata of every row.
    struct RowMeta<'a> {
        event_id: Text<'a> = "eventId",
        timestamp_ms: Number = "agentTimestampMs",
        prompt_id: Text<'a> = "promptId",
        stream_start_ms: Number = "streamStartMs",
        total_tokens: Number = "totalTokens",
    }
}

wire! {
    /// An update. Which fields are present depends on `kind`.
    struct Update<'a> {
        kind: Text<'a> = "sessionUpdate",
        content: Raw<'a> = "content",
        meta: UpdateMeta<'a> = "_meta",
        call_id: Text<'a> = "toolCallId",
        title: Text<'a> = "title",
        tool_kind: Text<'a> = "kind",
        status: Text<'a> = "status",
        raw_input: Raw<'a> = "rawInput",
        raw_output: RawOutput<'a> = "rawOutput",
        prompt_id: Text<'a> = "prompt_id",
        stop_reason: Text<'a> = "stop_reason",
        agent_result: Text<'a> = "agent_result",
        elapsed_ms: Number = "elapsed_ms",
        usage: Maybe<Usage<'a>> = "usage",
        target_prompt_index: Number = "target_prompt_index",
        event_name: Text<'a> = "event_name",
        runs: Many<HookRun<'a>> = "runs",
        retry: Text<'a> = "type",
        message: Text<'a> = "message",
        error: Text<'a> = "error",
        attempt: Number = "attempt",
        max_retries: Number = "max_retries",
        tokens_before: Number = "tokens_before",
        tokens_after: Number = "tokens_after",
        child_session_id: Text<'a> = "child_session_id",
        parent_prompt_id: Text<'a> = "parent_prompt_id",
        subagent_type: Text<'a> = "subagent_type",
        description: Text<'a> = "description",
        duration_ms: Number = "duration_ms",
        task_id: Text<'a> = "task_id",
        task_call_id: Text<'a> = "tool_call_id",
        command: Text<'a> = "command",
        task: Task<'a> = "task_snapshot",
        model_id: Text<'a> = "model_id",
        new_model_id: Text<'a> = "new_model_id",
        mode_id: Text<'a> = "currentModeId",
        agent_name: Text<'a> = "agent_name",
        entries: Many<PlanEntry<'a>> = "entries",
        summary: Text<'a> = "summary",
        session_summary: Text<'a> = "session_summary",
        objective: Text<'a> = "objective",
        name: Text<'a> = "name",
        human_schedule: Text<'a> = "human_schedule",
        event_text: Text<'a> = "event_text",
        outcome: Text<'a> = "outcome",
        tool_name: Text<'a> = "tool_name",
    }
}

wire! {
    struct UpdateMeta<'a> {
        prompt_index: Number = "promptIndex",
        model_id: Text<'a> = "modelId",
        is_hidden: Flag = "hideFromScrollback",
        is_host_turn: Flag = "hostTurn",
        is_interjection: Flag = "interjection",
        tool: ToolMeta<'a> = "x.ai/tool",
    }
}

wire! {
    struct ToolMeta<'a> {
        name: Text<'a> = "name",
        kind: Text<'a> = "kind",
    }
}

wire! {
    struct HookRun<'a> {
        name: Text<'a> = "name",
        status: HookStatus<'a> = "status",
    }
}

wire! {
    struct HookStatus<'a> {
        status: Text<'a> = "status",
        detail: Text<'a> = "detail",
        error: Text<'a> = "error",
    }
}

wire! {
    struct PlanEntry<'a> {
        status: Text<'a> = "status",
    }
}

wire! {
    /// A command that ran in the background.
    struct Task<'a> {
        task_id: Text<'a> = "task_id",
        command: Text<'a> = "command",
        exit_code: Raw<'a> = "exit_code",
        signal: Raw<'a> = "signal",
        was_killed: Flag = "explicitly_killed",
        start: Time<'a> = "start_time",
        end: Time<'a> = "end_time",
        output: Text<'a> = "output",
    }
}

wire! {
    struct Time<'a> {
        seconds: Number = "secs_since_epoch",
        nanoseconds: Number = "nanos_since_epoch",
    }
}

wire! {
    /// The usage of a prompt, for one model or for all.
    struct Usage<'a> {
        input: Number = "inputTokens",
        output: Number = "outputTokens",
        cache_read: Number = "cachedReadTokens",
        cache_write: Number = "cacheCreationTokens",
        reasoning: Number = "reasoningTokens",
        cost_ticks: Number = "costUsdTicks",
        is_incomplete: Flag = "usageIsIncomplete",
        is_cost_partial: Flag = "costIsPartial",
        models: Raw<'a> = "modelUsage",
    }
}

wire! {
    /// The output of a tool, tagged by the tool.
    struct RawOutput<'a> {
        kind: Text<'a> = "type",
        output: Output = "output",
        output_for_prompt: Text<'a> = "output_for_prompt",
        exit_code: Raw<'a> = "exit_code",
        exit_code_camel: Raw<'a> = "exitCode",
        signal: Raw<'a> = "signal",
        timed_out: Flag = "timed_out",
        file: Given<'a> = "FileContent",
        listing: Given<'a> = "Content",
        edits: Given<'a> = "EditsApplied",
        read_error: Text<'a> = "FileReadError",
        error: Text<'a> = "Error",
        content: Text<'a> = "content",
        text: Text<'a> = "text",
        message: Text<'a> = "message",
    }
}

wire! {
    struct Given<'a> {
        content: Text<'a> = "content",
        for_prompt: Text<'a> = "tool_output_for_prompt",
    }
}

wire! {
    /// A block of a message, or of a tool's output.
    struct Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        meta: BlockMeta<'a> = "_meta",
        content: Raw<'a> = "content",
        path: Text<'a> = "path",
    }
}

wire! {
    struct BlockMeta<'a> {
        display_text: Text<'a> = "displayText",
        bash_command: Text<'a> = "bash_command",
        bash_command_camel: Text<'a> = "bashCommand",
        is_cron: Flag = "displayAsCron",
        is_hidden: Flag = "hideFromScrollback",
    }
}

wire! {
    /// A line of `events.jsonl`.
    struct Happening<'a> {
        ts: Text<'a> = "ts",
        kind: Text<'a> = "type",
        model_id: Text<'a> = "model_id",
        schema_version: Text<'a> = "schema_version",
        outcome: Text<'a> = "outcome",
        category: Text<'a> = "cancellation_category",
        tool_name: Text<'a> = "tool_name",
        call_id: Text<'a> = "tool_call_id",
        duration_ms: Number = "duration_ms",
        source: Text<'a> = "source",
        decision: Text<'a> = "decision",
        enabled: Flag = "enabled",
        reason: Text<'a> = "reason",
        verdict: Text<'a> = "verdict",
        achieved: Flag = "achieved",
        server_name: Text<'a> = "server_name",
        error_message: Text<'a> = "error_message",
    }
}

wire! {
    /// A line of `chat_history.jsonl`, in either of its formats.
    struct Item<'a> {
        kind: Text<'a> = "type",
        role: Text<'a> = "role",
        content: Raw<'a> = "content",
        tool_calls: Many<ItemCall<'a>> = "tool_calls",
        reasoning_content: Text<'a> = "reasoning_content",
        model_id: Text<'a> = "model_id",
        call_id: Text<'a> = "tool_call_id",
        summary: Many<Block<'a>> = "summary",
        synthetic_reason: Text<'a> = "synthetic_reason",
        prior_turn_interrupt: Text<'a> = "prior_turn_interrupt",
        prompt_index: Number = "prompt_index",
        backend: Backend<'a> = "kind",
        id: Text<'a> = "id",
    }
}

wire! {
    struct ItemCall<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        arguments: Text<'a> = "arguments",
        function: Function<'a> = "function",
    }
}

wire! {
    struct Function<'a> {
        name: Text<'a> = "name",
        arguments: Text<'a> = "arguments",
    }
}

wire! {
    struct Backend<'a> {
        tool: Text<'a> = "tool_type",
        id: Text<'a> = "id",
        status: Text<'a> = "status",
        action: Raw<'a> = "action",
    }
}

/// Returns the JSON text of a value, with the lifetime of its line.
pub(super) fn json_of<'a>(raw: Raw<'a>) -> &'a str {
    raw.0.map(RawValue::get).unwrap_or_default()
}

/// Returns the blocks of a message: one object, several, or a bare string.
pub(super) fn blocks<'a>(raw: Raw<'a>) -> Vec<Block<'a>> {
    let json = json_of(raw);
    match json.as_bytes().first() {
        Some(b'{') => serde_json::from_str(json).map(|block| vec![block]).unwrap_or_default(),
        Some(b'[') => serde_json::from_str::<Many<Block<'a>>>(json).unwrap_or_default().0,
        Some(b'"') => {
            let text: Text<'a> = serde_json::from_str(json).unwrap_or_default();
            let kind = Text(Some(Cow::Borrowed("text")));
            vec![Block {
                kind,
                text,
                ..Block::default()
            }]
        }
        _ => Vec::new(),
    }
}

/// Returns the texts of blocks, joined by line breaks.
pub(super) fn text_of<'a>(blocks: &[Block<'a>]) -> Cow<'a, str> {
    let texts: Vec<&Cow<'a, str>> = blocks.iter().filter_map(|block| block.text.0.as_ref()).collect();
    match texts.as_slice() {
        [] => Cow::Borrowed(""),
        [one] => (*one).clone(),
        many => Cow::Owned(many.iter().map(|text| text.as_ref()).collect::<Vec<_>>().join("\n")),
    }
}

/// Parses an exit code, which may be negative. Windows writes it as an unsigned 32-bit number.
pub(super) fn exit_code(raw: Raw<'_>) -> Option<i32> {
    let code: i64 = raw.json().parse().ok()?;
    i32::try_from(code)
        .or_else(|_| u32::try_from(code).map(u32::cast_signed))
        .ok()
}

/// The output of a command: an array of byte values, or a string.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Output(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Output;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Output, E> {
                Ok(Output(Some(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Output, A::Error> {
                let mut bytes = Vec::new();
                while let Some(Number(value)) = seq.next_element()? {
                    if let Some(byte) = value.and_then(|value| u8::try_from(value).ok())
                        && bytes.len() < OUTPUT_BYTES_MAX
                    {
                        bytes.push(byte);
                    }
                }
                Ok(Output(Some(String::from_utf8_lossy(&bytes).into_owned())))
            }
            otherwise!(bool numbers null map);
        }
        deserializer.deserialize_any(V)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_decoded_whichever_way_it_is_written() {
        let output = |json: &str| serde_json::from_str::<Output>(json).unwrap().0;
        assert_eq!(output("[104,105,10]").as_deref(), Some("hi\n"));
        assert_eq!(output("[255,104,300,-1,\"x\",null]").as_deref(), Some("\u{fffd}h"));
        assert_eq!(output("\"plain\"").as_deref(), Some("plain"));
        assert_eq!((output("null"), output("{\"a\":1}")), (None, None));
    }

    #[test]
    fn an_exit_code_may_be_negative_or_have_32_bits() {
        let code = |json: &str| {
            let output: RawOutput<'_> = serde_json::from_str(json).unwrap();
            exit_code(output.exit_code)
        };
        assert_eq!(code(r#"{"exit_code":-1}"#), Some(-1));
        assert_eq!(code(r#"{"exit_code":3221225786}"#), Some(-1_073_741_510));
        assert_eq!(code(r#"{"exit_code":null}"#), None);
        assert_eq!(code(r#"{"exit_code":"1"}"#), None);
    }
}
