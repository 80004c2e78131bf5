//! The records of a Claude Code log. These types are private to `claude`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::wire::{Flag, Link, Many, Maybe, Number, Raw, Text, otherwise, wire};

wire! {
    /// One record. Which fields are present depends on `kind` and the version.
    struct Record<'a> {
        kind: Text<'a> = "type",
        subtype: Text<'a> = "subtype",
        uuid: Text<'a> = "uuid",
        parent_uuid: Link<'a> = "parentUuid",
        logical_parent_uuid: Text<'a> = "logicalParentUuid",
        session_id: Text<'a> = "sessionId",
        timestamp: Text<'a> = "timestamp",
        cwd: Text<'a> = "cwd",
        git_branch: Text<'a> = "gitBranch",
        version: Text<'a> = "version",
        entrypoint: Text<'a> = "entrypoint",
        agent_id: Text<'a> = "agentId",
        is_sidechain: Flag = "isSidechain",
        is_meta: Flag = "isMeta",
        is_compact_summary: Flag = "isCompactSummary",
        is_api_error: Flag = "isApiErrorMessage",
        is_aborted: Flag = "isAbortedMidStream",
        prompt_source: Text<'a> = "promptSource",
        origin: OriginOf<'a> = "origin",
        denial: Text<'a> = "toolDenialKind",
        request_id: Text<'a> = "requestId",
        message: Maybe<Message<'a>> = "message",
        tool_result: ToolUseResult<'a> = "toolUseResult",
        attachment: Attachment<'a> = "attachment",
        data: Progress<'a> = "data",
        parent_tool_use_id: Text<'a> = "parentToolUseID",
        content: Content<'a> = "content",
        tool_use_id: Text<'a> = "toolUseID",
        hook_errors: Many<Text<'a>> = "hookErrors",
        operation: Text<'a> = "operation",
        summary: Text<'a> = "summary",
        leaf_uuid: Text<'a> = "leafUuid",
        ai_title: Text<'a> = "aiTitle",
        custom_title: Text<'a> = "customTitle",
        agent_name: Text<'a> = "agentName",
        permission_mode: Text<'a> = "permissionMode",
        mode: Text<'a> = "mode",
        pr_url: Text<'a> = "prUrl",
        duration_ms: Number = "durationMs",
        retry_attempt: Number = "retryAttempt",
        max_retries: Number = "maxRetries",
        error: Maybe<ErrorObject<'a>> = "error",
        compaction: Compaction<'a> = "compactMetadata",
        microcompaction: Compaction<'a> = "microcompactMetadata",
        fallback_model: Text<'a> = "fallbackModel",
        parent_session_id: Text<'a> = "parentSessionId",
        continued_in: Text<'a> = "continuedInSessionId",
        // Keys of the two companion files that are not logs but may be read as one.
        display: Text<'a> = "display",
        agent_type: Text<'a> = "agentType",
    }
}

wire! {
    struct OriginOf<'a> {
        kind: Text<'a> = "kind",
    }
}

wire! {
    struct Message<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        content: Content<'a> = "content",
        usage: Maybe<Usage<'a>> = "usage",
        stop_reason: Text<'a> = "stop_reason",
    }
}

wire! {
    struct Usage<'a> {
        input: Number = "input_tokens",
        output: Number = "output_tokens",
        cache_read: Number = "cache_read_input_tokens",
        cache_write: Number = "cache_creation_input_tokens",
        cache_creation: Maybe<CacheCreation<'a>> = "cache_creation",
        server_tools: ServerTools<'a> = "server_tool_use",
        speed: Text<'a> = "speed",
        iterations: Many<Iteration<'a>> = "iterations",
    }
}

wire! {
    struct CacheCreation<'a> {
        five_minutes: Number = "ephemeral_5m_input_tokens",
        one_hour: Number = "ephemeral_1h_input_tokens",
    }
}

wire! {
    struct ServerTools<'a> {
        web_searches: Number = "web_search_requests",
    }
}

wire! {
    /// One of several model calls behind one message.
    struct Iteration<'a> {
        kind: Text<'a> = "type",
        model: Text<'a> = "model",
        input: Number = "input_tokens",
        output: Number = "output_tokens",
        cache_read: Number = "cache_read_input_tokens",
        cache_write: Number = "cache_creation_input_tokens",
        cache_creation: Maybe<CacheCreation<'a>> = "cache_creation",
    }
}

wire! {
    /// A content block of a message.
    struct Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Raw<'a> = "input",
        tool_use_id: Text<'a> = "tool_use_id",
        content: Content<'a> = "content",
        is_error: Flag = "is_error",
        tool_name: Text<'a> = "tool_name",
        to: FallbackTo<'a> = "to",
    }
}

wire! {
    struct FallbackTo<'a> {
        model: Text<'a> = "model",
    }
}

wire! {
    struct Attachment<'a> {
        kind: Text<'a> = "type",
        command_mode: Text<'a> = "commandMode",
        prompt: Content<'a> = "prompt",
        is_meta: Flag = "isMeta",
        origin: OriginOf<'a> = "origin",
        tool_use_id: Text<'a> = "toolUseID",
        hook_event: Text<'a> = "hookEvent",
        hook_name: Text<'a> = "hookName",
        filename: Text<'a> = "filename",
        stderr: Text<'a> = "stderr",
        blocking_error: BlockingError<'a> = "blockingError",
    }
}

wire! {
    struct BlockingError<'a> {
        text: Text<'a> = "blockingError",
    }
}

wire! {
    /// The `data` of a progress record: a subagent's message may be wrapped in it.
    struct Progress<'a> {
        kind: Text<'a> = "type",
        agent_id: Text<'a> = "agentId",
        message: Wrapped<'a> = "message",
    }
}

wire! {
    struct Wrapped<'a> {
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        request_id: Text<'a> = "requestId",
        message: Maybe<Usages<'a>> = "message",
    }
}

wire! {
    /// A wrapped message, reduced to its usage.
    struct Usages<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        usage: Maybe<Usage<'a>> = "usage",
    }
}

wire! {
    struct Compaction<'a> {
        trigger: Text<'a> = "trigger",
        pre_tokens: Number = "preTokens",
        post_tokens: Number = "postTokens",
    }
}

wire! {
    /// The tool's own description of its result. A plain string is the text of an error.
    struct ResultObject<'a> {
        agent_id: Text<'a> = "agentId",
        agent_type: Text<'a> = "agentType",
        interrupted: Flag = "interrupted",
        background: Text<'a> = "backgroundTaskId",
        spilled_to: Text<'a> = "persistedOutputPath",
        exit_code: Number = "exitCode",
        duration_ms: Number = "durationMs",
        total_duration_ms: Number = "totalDurationMs",
        answers: Raw<'a> = "answers",
        stdout: Text<'a> = "stdout",
    }
}

wire! {
    /// A background task, as registered in the queue.
    struct Task<'a> {
        id: Text<'a> = "task_id",
        kind: Text<'a> = "task_type",
        call_id: Text<'a> = "tool_use_id",
        description: Text<'a> = "description",
    }
}

impl<'a> Task<'a> {
    /// Parses a queued text as the registration of a task.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let task: Self = text.starts_with('{').then(|| serde_json::from_str(text).ok())??;
        (task.id.get().is_some() && task.kind.get().is_some()).then_some(task)
    }
}

/// `toolUseResult`: an object, a string, or something else.
#[derive(Debug, Default)]
pub(crate) struct ToolUseResult<'a> {
    pub(crate) object: ResultObject<'a>,
    pub(crate) text: Text<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolUseResult<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = ToolUseResult<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ToolUseResult {
                    text: Text(Some(Cow::Borrowed(text))),
                    ..Default::default()
                })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ToolUseResult {
                    text: Text(Some(Cow::Owned(text.to_owned()))),
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
            otherwise!(bool numbers null seq);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

wire! {
    struct ErrorObject<'a> {
        status: Number = "status",
        message: Text<'a> = "message",
    }
}

/// Maximum number of blocks read per message. Real messages have fewer; a hostile one could exhaust memory.
const BLOCKS_MAX: usize = 1 << 16;

/// Content: a string, an array of blocks, or one block on its own.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

impl<'a> Content<'a> {
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
                let mut blocks = Vec::new();
                while let Some(Element(block)) = seq.next_element()? {
                    // A block takes far more memory than its shortest text, so the number of blocks is limited.
                    if blocks.len() < BLOCKS_MAX {
                        blocks.push(block);
                    }
                }
                Ok(Content::Blocks(blocks))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let block = Block::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Content::Blocks(vec![block]))
            }
            otherwise!(bool numbers null);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

/// An element of a content array: a block, or a bare string that is short for a text block.
struct Element<'a>(Block<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Element<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a>(PhantomData<&'a ()>);
        impl<'a> V<'a> {
            fn text(text: Cow<'a, str>) -> Block<'a> {
                Block {
                    kind: Text(Some(Cow::Borrowed("text"))),
                    text: Text(Some(text)),
                    ..Block::default()
                }
            }
        }
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = Block<'a>;
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
                Block::deserialize(MapAccessDeserializer::new(map))
            }
            otherwise!(bool numbers null seq);
        }
        deserializer.deserialize_any(V(PhantomData)).map(Element)
    }
}
