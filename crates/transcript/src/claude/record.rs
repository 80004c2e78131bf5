//! The records of a Claude Code log. These types are private to `claude`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::wire::{RawJson, WireArray, WireFlag, WireLink, WireNumber, WireObject, WireText, default_visits, wire};

wire! {
    /// One record. Which fields are present depends on `kind` and the version.
    struct ClaudeRecord<'a> {
        kind: WireText<'a> = "type",
        subtype: WireText<'a> = "subtype",
        uuid: WireText<'a> = "uuid",
        parent_uuid: WireLink<'a> = "parentUuid",
        logical_parent_uuid: WireText<'a> = "logicalParentUuid",
        session_id: WireText<'a> = "sessionId",
        timestamp: WireText<'a> = "timestamp",
        cwd: WireText<'a> = "cwd",
        git_branch: WireText<'a> = "gitBranch",
        version: WireText<'a> = "version",
        entrypoint: WireText<'a> = "entrypoint",
        agent_id: WireText<'a> = "agentId",
        is_sidechain: WireFlag = "isSidechain",
        is_meta: WireFlag = "isMeta",
        is_compact_summary: WireFlag = "isCompactSummary",
        is_api_error: WireFlag = "isApiErrorMessage",
        is_aborted: WireFlag = "isAbortedMidStream",
        prompt_source: WireText<'a> = "promptSource",
        origin: RecordOrigin<'a> = "origin",
        denial: WireText<'a> = "toolDenialKind",
        request_id: WireText<'a> = "requestId",
        message: WireObject<ClaudeMessage<'a>> = "message",
        tool_result: ToolUseResult<'a> = "toolUseResult",
        attachment: AttachmentData<'a> = "attachment",
        data: ProgressData<'a> = "data",
        parent_tool_use_id: WireText<'a> = "parentToolUseID",
        content: ClaudeContent<'a> = "content",
        tool_use_id: WireText<'a> = "toolUseID",
        hook_errors: WireArray<WireText<'a>> = "hookErrors",
        operation: WireText<'a> = "operation",
        summary: WireText<'a> = "summary",
        leaf_uuid: WireText<'a> = "leafUuid",
        ai_title: WireText<'a> = "aiTitle",
        custom_title: WireText<'a> = "customTitle",
        agent_name: WireText<'a> = "agentName",
        permission_mode: WireText<'a> = "permissionMode",
        mode: WireText<'a> = "mode",
        pr_url: WireText<'a> = "prUrl",
        duration_ms: WireNumber = "durationMs",
        retry_attempt: WireNumber = "retryAttempt",
        max_retries: WireNumber = "maxRetries",
        error: WireObject<ErrorObject<'a>> = "error",
        compaction: CompactionMetadata<'a> = "compactMetadata",
        microcompaction: CompactionMetadata<'a> = "microcompactMetadata",
        fallback_model: WireText<'a> = "fallbackModel",
        parent_session_id: WireText<'a> = "parentSessionId",
        continued_in: WireText<'a> = "continuedInSessionId",
        // Keys of the two companion files that are not logs but may be read as one.
        display: WireText<'a> = "display",
        agent_type: WireText<'a> = "agentType",
    }
}

wire! {
    struct RecordOrigin<'a> {
        kind: WireText<'a> = "kind",
    }
}

wire! {
    struct ClaudeMessage<'a> {
        id: WireText<'a> = "id",
        model: WireText<'a> = "model",
        content: ClaudeContent<'a> = "content",
        usage: WireObject<ClaudeUsage<'a>> = "usage",
        stop_reason: WireText<'a> = "stop_reason",
    }
}

wire! {
    struct ClaudeUsage<'a> {
        input: WireNumber = "input_tokens",
        output: WireNumber = "output_tokens",
        cache_read: WireNumber = "cache_read_input_tokens",
        cache_write: WireNumber = "cache_creation_input_tokens",
        cache_creation: WireObject<CacheCreation<'a>> = "cache_creation",
        server_tools: ServerTools<'a> = "server_tool_use",
        speed: WireText<'a> = "speed",
        iterations: WireArray<UsageIteration<'a>> = "iterations",
    }
}

wire! {
    struct CacheCreation<'a> {
        five_minutes: WireNumber = "ephemeral_5m_input_tokens",
        one_hour: WireNumber = "ephemeral_1h_input_tokens",
    }
}

wire! {
    struct ServerTools<'a> {
        web_searches: WireNumber = "web_search_requests",
    }
}

wire! {
    /// One of several model calls behind one message.
    struct UsageIteration<'a> {
        kind: WireText<'a> = "type",
        model: WireText<'a> = "model",
        input: WireNumber = "input_tokens",
        output: WireNumber = "output_tokens",
        cache_read: WireNumber = "cache_read_input_tokens",
        cache_write: WireNumber = "cache_creation_input_tokens",
        cache_creation: WireObject<CacheCreation<'a>> = "cache_creation",
    }
}

wire! {
    /// A content block of a message.
    struct ClaudeBlock<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        thinking: WireText<'a> = "thinking",
        id: WireText<'a> = "id",
        name: WireText<'a> = "name",
        input: RawJson<'a> = "input",
        tool_use_id: WireText<'a> = "tool_use_id",
        content: ClaudeContent<'a> = "content",
        is_error: WireFlag = "is_error",
        tool_name: WireText<'a> = "tool_name",
        to: FallbackTo<'a> = "to",
    }
}

wire! {
    struct FallbackTo<'a> {
        model: WireText<'a> = "model",
    }
}

wire! {
    struct AttachmentData<'a> {
        kind: WireText<'a> = "type",
        command_mode: WireText<'a> = "commandMode",
        prompt: ClaudeContent<'a> = "prompt",
        is_meta: WireFlag = "isMeta",
        origin: RecordOrigin<'a> = "origin",
        tool_use_id: WireText<'a> = "toolUseID",
        hook_event: WireText<'a> = "hookEvent",
        hook_name: WireText<'a> = "hookName",
        filename: WireText<'a> = "filename",
        stderr: WireText<'a> = "stderr",
        blocking_error: BlockingError<'a> = "blockingError",
    }
}

wire! {
    struct BlockingError<'a> {
        text: WireText<'a> = "blockingError",
    }
}

wire! {
    /// The `data` of a progress record: a subagent's message may be wrapped in it.
    struct ProgressData<'a> {
        kind: WireText<'a> = "type",
        agent_id: WireText<'a> = "agentId",
        message: WrappedMessage<'a> = "message",
    }
}

wire! {
    struct WrappedMessage<'a> {
        kind: WireText<'a> = "type",
        timestamp: WireText<'a> = "timestamp",
        request_id: WireText<'a> = "requestId",
        message: WireObject<MessageUsage<'a>> = "message",
    }
}

wire! {
    /// A wrapped message, reduced to its usage.
    struct MessageUsage<'a> {
        id: WireText<'a> = "id",
        model: WireText<'a> = "model",
        usage: WireObject<ClaudeUsage<'a>> = "usage",
    }
}

wire! {
    struct CompactionMetadata<'a> {
        trigger: WireText<'a> = "trigger",
        pre_tokens: WireNumber = "preTokens",
        post_tokens: WireNumber = "postTokens",
    }
}

wire! {
    /// The tool's own description of its result. A plain string is the text of an error.
    struct ResultObject<'a> {
        agent_id: WireText<'a> = "agentId",
        agent_type: WireText<'a> = "agentType",
        interrupted: WireFlag = "interrupted",
        background: WireText<'a> = "backgroundTaskId",
        spill_path: WireText<'a> = "persistedOutputPath",
        exit_code: WireNumber = "exitCode",
        duration_ms: WireNumber = "durationMs",
        total_duration_ms: WireNumber = "totalDurationMs",
        answers: RawJson<'a> = "answers",
        stdout: WireText<'a> = "stdout",
    }
}

wire! {
    /// A background task, as registered in the queue.
    struct TaskRegistration<'a> {
        id: WireText<'a> = "task_id",
        kind: WireText<'a> = "task_type",
        call_id: WireText<'a> = "tool_use_id",
        description: WireText<'a> = "description",
    }
}

impl<'a> TaskRegistration<'a> {
    /// Parses a queued text as the registration of a task.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let task: Self = text.starts_with('{').then(|| serde_json::from_str(text).ok())??;
        (task.id.get().is_some() && task.kind.get().is_some()).then_some(task)
    }
}

/// `toolUseResult`: an object, a string, or something else.
#[derive(Debug, Default)]
pub(crate) struct ToolUseResult<'a> {
    pub(crate) object: ResultObject<'a>,
    pub(crate) text: WireText<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolUseResult<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ToolUseResultVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for ToolUseResultVisitor<'a> {
            type Value = ToolUseResult<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ToolUseResult {
                    text: WireText(Some(Cow::Borrowed(text))),
                    ..Default::default()
                })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ToolUseResult {
                    text: WireText(Some(Cow::Owned(text.to_owned()))),
                    ..Default::default()
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let object = ResultObject::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ToolUseResult {
                    object,
                    ..Default::default()
                })
            }
            default_visits!(bool numbers null seq);
        }
        deserializer.deserialize_any(ToolUseResultVisitor(PhantomData))
    }
}

wire! {
    struct ErrorObject<'a> {
        status: WireNumber = "status",
        message: WireText<'a> = "message",
    }
}

/// Maximum number of blocks read per message. Real messages have fewer; a hostile one could exhaust memory.
const BLOCKS_MAX: usize = 1 << 16;

/// Content: a string, an array of blocks, or one block on its own.
#[derive(Debug, Default)]
pub(crate) enum ClaudeContent<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Blocks(Vec<ClaudeBlock<'a>>),
}

impl<'a> ClaudeContent<'a> {
    /// Returns its text: the string itself, or the joined texts of its blocks.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => {
                let mut texts = blocks.iter().filter_map(|block| block.text.get());
                let first = texts.next().unwrap_or_default();
                match texts.next() {
                    None => Cow::Borrowed(first),
                    Some(second) => {
                        let rest = [first, second].into_iter().chain(texts);
                        Cow::Owned(rest.collect::<Vec<_>>().join("\n"))
                    }
                }
            }
        }
    }

    /// Returns `true` if it is empty.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ClaudeContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClaudeContentVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for ClaudeContentVisitor<'a> {
            type Value = ClaudeContent<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ClaudeContent::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ClaudeContent::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(BlockElement(block)) = seq.next_element()? {
                    // A block takes far more memory than its shortest text, so the number of blocks is limited.
                    if blocks.len() < BLOCKS_MAX {
                        blocks.push(block);
                    }
                }
                Ok(ClaudeContent::Blocks(blocks))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let block = ClaudeBlock::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ClaudeContent::Blocks(vec![block]))
            }
            default_visits!(bool numbers null);
        }
        deserializer.deserialize_any(ClaudeContentVisitor(PhantomData))
    }
}

/// An element of a content array: a block, or a bare string that is short for a text block.
struct BlockElement<'a>(ClaudeBlock<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for BlockElement<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BlockElementVisitor<'a>(PhantomData<&'a ()>);
        impl<'a> BlockElementVisitor<'a> {
            fn text(text: Cow<'a, str>) -> ClaudeBlock<'a> {
                ClaudeBlock {
                    kind: WireText(Some(Cow::Borrowed("text"))),
                    text: WireText(Some(text)),
                    ..ClaudeBlock::default()
                }
            }
        }
        impl<'de: 'a, 'a> Visitor<'de> for BlockElementVisitor<'a> {
            type Value = ClaudeBlock<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Self::text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Self::text(Cow::Owned(text.to_owned())))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                ClaudeBlock::deserialize(MapAccessDeserializer::new(map))
            }
            default_visits!(bool numbers null seq);
        }
        deserializer
            .deserialize_any(BlockElementVisitor(PhantomData))
            .map(BlockElement)
    }
}
