//! The lines of Grok Build's files. These types are private to `grok`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::wire::{RawJson, WireArray, WireFlag, WireNumber, WireObject, WireText, default_visits, wire};

/// Maximum number of bytes of one output that are decoded.
const OUTPUT_BYTES_MAX: usize = 4 << 20;

wire! {
    /// A line of `updates.jsonl`.
    struct UpdateRow<'a> {
        timestamp: WireNumber = "timestamp",
        method: WireText<'a> = "method",
        params: RowBody<'a> = "params",
    }
}

wire! {
    /// The JSON-RPC parameters of a row.
    struct RowBody<'a> {
        session_id: WireText<'a> = "sessionId",
        update: GrokUpdate<'a> = "update",
        meta: RowMeta<'a> = "_meta",
    }
}

wire! {
    /// Metadata of every row.
    struct RowMeta<'a> {
        event_id: WireText<'a> = "eventId",
        timestamp_ms: WireNumber = "agentTimestampMs",
        prompt_id: WireText<'a> = "promptId",
        stream_start_ms: WireNumber = "streamStartMs",
        total_tokens: WireNumber = "totalTokens",
    }
}

wire! {
    /// An update. Which fields are present depends on `kind`.
    struct GrokUpdate<'a> {
        kind: WireText<'a> = "sessionUpdate",
        content: RawJson<'a> = "content",
        meta: UpdateMeta<'a> = "_meta",
        call_id: WireText<'a> = "toolCallId",
        title: WireText<'a> = "title",
        tool_kind: WireText<'a> = "kind",
        status: WireText<'a> = "status",
        raw_input: RawJson<'a> = "rawInput",
        raw_output: RawOutput<'a> = "rawOutput",
        prompt_id: WireText<'a> = "prompt_id",
        stop_reason: WireText<'a> = "stop_reason",
        agent_result: WireText<'a> = "agent_result",
        elapsed_ms: WireNumber = "elapsed_ms",
        usage: WireObject<GrokUsage<'a>> = "usage",
        target_prompt_index: WireNumber = "target_prompt_index",
        event_name: WireText<'a> = "event_name",
        runs: WireArray<HookRun<'a>> = "runs",
        retry: WireText<'a> = "type",
        message: WireText<'a> = "message",
        error: WireText<'a> = "error",
        attempt: WireNumber = "attempt",
        max_retries: WireNumber = "max_retries",
        tokens_before: WireNumber = "tokens_before",
        tokens_after: WireNumber = "tokens_after",
        child_session_id: WireText<'a> = "child_session_id",
        parent_prompt_id: WireText<'a> = "parent_prompt_id",
        subagent_type: WireText<'a> = "subagent_type",
        description: WireText<'a> = "description",
        duration_ms: WireNumber = "duration_ms",
        task_id: WireText<'a> = "task_id",
        task_call_id: WireText<'a> = "tool_call_id",
        command: WireText<'a> = "command",
        task: BackgroundTask<'a> = "task_snapshot",
        model_id: WireText<'a> = "model_id",
        new_model_id: WireText<'a> = "new_model_id",
        mode_id: WireText<'a> = "currentModeId",
        agent_name: WireText<'a> = "agent_name",
        entries: WireArray<PlanEntry<'a>> = "entries",
        summary: WireText<'a> = "summary",
        session_summary: WireText<'a> = "session_summary",
        objective: WireText<'a> = "objective",
        name: WireText<'a> = "name",
        human_schedule: WireText<'a> = "human_schedule",
        event_text: WireText<'a> = "event_text",
        outcome: WireText<'a> = "outcome",
        tool_name: WireText<'a> = "tool_name",
    }
}

wire! {
    struct UpdateMeta<'a> {
        prompt_index: WireNumber = "promptIndex",
        model_id: WireText<'a> = "modelId",
        is_hidden: WireFlag = "hideFromScrollback",
        is_host_turn: WireFlag = "hostTurn",
        is_interjection: WireFlag = "interjection",
        tool: ToolMeta<'a> = "x.ai/tool",
    }
}

wire! {
    struct ToolMeta<'a> {
        name: WireText<'a> = "name",
        kind: WireText<'a> = "kind",
    }
}

wire! {
    struct HookRun<'a> {
        name: WireText<'a> = "name",
        status: HookStatus<'a> = "status",
    }
}

wire! {
    struct HookStatus<'a> {
        status: WireText<'a> = "status",
        detail: WireText<'a> = "detail",
        error: WireText<'a> = "error",
    }
}

wire! {
    struct PlanEntry<'a> {
        status: WireText<'a> = "status",
    }
}

wire! {
    /// A command that ran in the background.
    struct BackgroundTask<'a> {
        task_id: WireText<'a> = "task_id",
        command: WireText<'a> = "command",
        exit_code: RawJson<'a> = "exit_code",
        signal: RawJson<'a> = "signal",
        was_killed: WireFlag = "explicitly_killed",
        start: EpochTime<'a> = "start_time",
        end: EpochTime<'a> = "end_time",
        output: WireText<'a> = "output",
    }
}

wire! {
    struct EpochTime<'a> {
        seconds: WireNumber = "secs_since_epoch",
        nanoseconds: WireNumber = "nanos_since_epoch",
    }
}

wire! {
    /// The usage of a prompt, for one model or for all.
    struct GrokUsage<'a> {
        input: WireNumber = "inputTokens",
        output: WireNumber = "outputTokens",
        cache_read: WireNumber = "cachedReadTokens",
        cache_write: WireNumber = "cacheCreationTokens",
        reasoning: WireNumber = "reasoningTokens",
        cost_ticks: WireNumber = "costUsdTicks",
        is_incomplete: WireFlag = "usageIsIncomplete",
        is_cost_partial: WireFlag = "costIsPartial",
        models: RawJson<'a> = "modelUsage",
    }
}

wire! {
    /// The output of a tool, tagged by the tool.
    struct RawOutput<'a> {
        kind: WireText<'a> = "type",
        output: CommandOutput = "output",
        output_for_prompt: WireText<'a> = "output_for_prompt",
        exit_code: RawJson<'a> = "exit_code",
        exit_code_camel: RawJson<'a> = "exitCode",
        signal: RawJson<'a> = "signal",
        timed_out: WireFlag = "timed_out",
        file: ToolContent<'a> = "FileContent",
        listing: ToolContent<'a> = "Content",
        edits: ToolContent<'a> = "EditsApplied",
        read_error: WireText<'a> = "FileReadError",
        error: WireText<'a> = "Error",
        content: WireText<'a> = "content",
        text: WireText<'a> = "text",
        message: WireText<'a> = "message",
    }
}

wire! {
    struct ToolContent<'a> {
        content: WireText<'a> = "content",
        for_prompt: WireText<'a> = "tool_output_for_prompt",
    }
}

wire! {
    /// A block of a message, or of a tool's output.
    struct GrokBlock<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        meta: BlockMeta<'a> = "_meta",
        content: RawJson<'a> = "content",
        path: WireText<'a> = "path",
    }
}

wire! {
    struct BlockMeta<'a> {
        display_text: WireText<'a> = "displayText",
        bash_command: WireText<'a> = "bash_command",
        bash_command_camel: WireText<'a> = "bashCommand",
        is_cron: WireFlag = "displayAsCron",
        is_hidden: WireFlag = "hideFromScrollback",
    }
}

wire! {
    /// A line of `events.jsonl`.
    struct EventRow<'a> {
        ts: WireText<'a> = "ts",
        kind: WireText<'a> = "type",
        model_id: WireText<'a> = "model_id",
        schema_version: WireText<'a> = "schema_version",
        outcome: WireText<'a> = "outcome",
        category: WireText<'a> = "cancellation_category",
        tool_name: WireText<'a> = "tool_name",
        call_id: WireText<'a> = "tool_call_id",
        duration_ms: WireNumber = "duration_ms",
        source: WireText<'a> = "source",
        decision: WireText<'a> = "decision",
        enabled: WireFlag = "enabled",
        reason: WireText<'a> = "reason",
        verdict: WireText<'a> = "verdict",
        achieved: WireFlag = "achieved",
        server_name: WireText<'a> = "server_name",
        error_message: WireText<'a> = "error_message",
    }
}

wire! {
    /// A line of `chat_history.jsonl`, in either of its formats.
    struct ChatItem<'a> {
        kind: WireText<'a> = "type",
        role: WireText<'a> = "role",
        content: RawJson<'a> = "content",
        tool_calls: WireArray<ChatToolCall<'a>> = "tool_calls",
        reasoning_content: WireText<'a> = "reasoning_content",
        model_id: WireText<'a> = "model_id",
        call_id: WireText<'a> = "tool_call_id",
        summary: WireArray<GrokBlock<'a>> = "summary",
        synthetic_reason: WireText<'a> = "synthetic_reason",
        prior_turn_interrupt: WireText<'a> = "prior_turn_interrupt",
        prompt_index: WireNumber = "prompt_index",
        backend: BackendCall<'a> = "kind",
        id: WireText<'a> = "id",
    }
}

wire! {
    struct ChatToolCall<'a> {
        id: WireText<'a> = "id",
        name: WireText<'a> = "name",
        arguments: WireText<'a> = "arguments",
        function: ChatFunction<'a> = "function",
    }
}

wire! {
    struct ChatFunction<'a> {
        name: WireText<'a> = "name",
        arguments: WireText<'a> = "arguments",
    }
}

wire! {
    struct BackendCall<'a> {
        tool: WireText<'a> = "tool_type",
        id: WireText<'a> = "id",
        status: WireText<'a> = "status",
        action: RawJson<'a> = "action",
    }
}

/// Returns the JSON text of a value, with the lifetime of its line.
pub(super) fn json_of<'a>(raw: RawJson<'a>) -> &'a str {
    raw.0.map(RawValue::get).unwrap_or_default()
}

/// Returns the blocks of a message: one object, several, or a bare string.
pub(super) fn blocks<'a>(raw: RawJson<'a>) -> Vec<GrokBlock<'a>> {
    let json = json_of(raw);
    match json.as_bytes().first() {
        Some(b'{') => serde_json::from_str(json).map(|block| vec![block]).unwrap_or_default(),
        Some(b'[') => {
            serde_json::from_str::<WireArray<GrokBlock<'a>>>(json)
                .unwrap_or_default()
                .0
        }
        Some(b'"') => {
            let text: WireText<'a> = serde_json::from_str(json).unwrap_or_default();
            let kind = WireText(Some(Cow::Borrowed("text")));
            vec![GrokBlock {
                kind,
                text,
                ..GrokBlock::default()
            }]
        }
        _ => Vec::new(),
    }
}

/// Returns the texts of blocks, joined by line breaks.
pub(super) fn text_of<'a>(blocks: &[GrokBlock<'a>]) -> Cow<'a, str> {
    let texts: Vec<&Cow<'a, str>> = blocks.iter().filter_map(|block| block.text.0.as_ref()).collect();
    match texts.as_slice() {
        [] => Cow::Borrowed(""),
        [one] => (*one).clone(),
        many => Cow::Owned(many.iter().map(|text| text.as_ref()).collect::<Vec<_>>().join("\n")),
    }
}

/// Parses an exit code, which may be negative. Windows writes it as an unsigned 32-bit number.
pub(super) fn exit_code(raw: RawJson<'_>) -> Option<i32> {
    let code: i64 = raw.json().parse().ok()?;
    i32::try_from(code)
        .or_else(|_| u32::try_from(code).map(u32::cast_signed))
        .ok()
}

/// The output of a command: an array of byte values, or a string.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CommandOutput(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for CommandOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OutputVisitor;
        impl<'de> Visitor<'de> for OutputVisitor {
            type Value = CommandOutput;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<CommandOutput, E> {
                Ok(CommandOutput(Some(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<CommandOutput, A::Error> {
                let mut bytes = Vec::new();
                while let Some(WireNumber(value)) = seq.next_element()? {
                    if let Some(byte) = value.and_then(|value| u8::try_from(value).ok())
                        && bytes.len() < OUTPUT_BYTES_MAX
                    {
                        bytes.push(byte);
                    }
                }
                Ok(CommandOutput(Some(String::from_utf8_lossy(&bytes).into_owned())))
            }
            default_visits!(bool numbers null map);
        }
        deserializer.deserialize_any(OutputVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_decoded_from_bytes_and_from_text() {
        let output = |json: &str| serde_json::from_str::<CommandOutput>(json).unwrap().0;
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
