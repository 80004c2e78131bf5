//! The baseline for parsing: serde_json parses a line of Claude Code's log into a plain derived type, and the result is
//! dropped.
//!
//! The type has the fields that the reader uses, at the same depth, with strings borrowed where JSON allows it and a
//! tool's input left as JSON text. It repairs nothing and derives nothing. Three types have a visitor written by hand,
//! because serde's `untagged` would copy each value and make the baseline slower than necessary.

#![expect(dead_code, reason = "parsed and thrown away")]

use std::borrow::Cow;
use std::fmt;
use std::hint::black_box;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Parses one line. Returns `None` if it is not a record of this shape.
pub(crate) fn parse(line: &[u8]) -> Option<Record<'_>> {
    black_box(serde_json::from_slice(line).ok())
}

/// A string, borrowed if it has no escapes. `Option<Cow<str>>` alone would always copy.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(crate) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, rename = "subtype")]
    subtype: Option<Text<'a>>,
    #[serde(borrow, rename = "uuid")]
    uuid: Option<Text<'a>>,
    #[serde(borrow, rename = "parentUuid")]
    parent_uuid: Option<Text<'a>>,
    #[serde(borrow, rename = "logicalParentUuid")]
    logical_parent_uuid: Option<Text<'a>>,
    #[serde(borrow, rename = "sessionId")]
    session_id: Option<Text<'a>>,
    #[serde(borrow, rename = "timestamp")]
    timestamp: Option<Text<'a>>,
    #[serde(borrow, rename = "cwd")]
    cwd: Option<Text<'a>>,
    #[serde(borrow, rename = "gitBranch")]
    git_branch: Option<Text<'a>>,
    #[serde(borrow, rename = "version")]
    version: Option<Text<'a>>,
    #[serde(borrow, rename = "entrypoint")]
    entrypoint: Option<Text<'a>>,
    #[serde(borrow, rename = "agentId")]
    agent_id: Option<Text<'a>>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    #[serde(rename = "isMeta")]
    is_meta: Option<bool>,
    #[serde(rename = "isCompactSummary")]
    is_compact_summary: Option<bool>,
    #[serde(rename = "isApiErrorMessage")]
    is_api_error: Option<bool>,
    #[serde(rename = "isAbortedMidStream")]
    is_aborted: Option<bool>,
    #[serde(borrow, rename = "promptSource")]
    prompt_source: Option<Text<'a>>,
    #[serde(borrow, rename = "origin")]
    origin: Option<OriginOf<'a>>,
    #[serde(borrow, rename = "toolDenialKind")]
    denial: Option<Text<'a>>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<Text<'a>>,
    #[serde(borrow, rename = "message")]
    message: Option<Message<'a>>,
    #[serde(borrow, rename = "toolUseResult")]
    tool_result: Option<ToolUseResult<'a>>,
    #[serde(borrow, rename = "attachment")]
    attachment: Option<Attachment<'a>>,
    #[serde(borrow, rename = "data")]
    data: Option<Progress<'a>>,
    #[serde(borrow, rename = "parentToolUseID")]
    parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow, rename = "content")]
    content: Option<Content<'a>>,
    #[serde(borrow, rename = "operation")]
    operation: Option<Text<'a>>,
    #[serde(borrow, rename = "summary")]
    summary: Option<Text<'a>>,
    #[serde(borrow, rename = "leafUuid")]
    leaf_uuid: Option<Text<'a>>,
    #[serde(borrow, rename = "aiTitle")]
    ai_title: Option<Text<'a>>,
    #[serde(borrow, rename = "customTitle")]
    custom_title: Option<Text<'a>>,
    #[serde(borrow, rename = "agentName")]
    agent_name: Option<Text<'a>>,
    #[serde(borrow, rename = "permissionMode")]
    permission_mode: Option<Text<'a>>,
    #[serde(borrow, rename = "mode")]
    mode: Option<Text<'a>>,
    #[serde(borrow, rename = "prUrl")]
    pr_url: Option<Text<'a>>,
    #[serde(rename = "durationMs")]
    duration_ms: Option<u64>,
    #[serde(rename = "retryAttempt")]
    retry_attempt: Option<u64>,
    #[serde(rename = "maxRetries")]
    max_retries: Option<u64>,
    #[serde(borrow, rename = "error")]
    error: Option<ErrorObject<'a>>,
    #[serde(borrow, rename = "compactMetadata")]
    compaction: Option<Compaction<'a>>,
    #[serde(borrow, rename = "microcompactMetadata")]
    microcompaction: Option<Compaction<'a>>,
    #[serde(borrow, rename = "fallbackModel")]
    fallback_model: Option<Text<'a>>,
    #[serde(borrow, rename = "parentSessionId")]
    parent_session_id: Option<Text<'a>>,
    #[serde(borrow, rename = "continuedInSessionId")]
    continued_in: Option<Text<'a>>,
    #[serde(borrow, rename = "display")]
    display: Option<Text<'a>>,
    #[serde(borrow, rename = "agentType")]
    agent_type: Option<Text<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct OriginOf<'a> {
    #[serde(borrow, rename = "kind")]
    kind: Option<Text<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "id")]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "model")]
    model: Option<Text<'a>>,
    #[serde(borrow, rename = "content")]
    content: Option<Content<'a>>,
    #[serde(borrow, rename = "usage")]
    usage: Option<Usage<'a>>,
    #[serde(borrow, rename = "stop_reason")]
    stop_reason: Option<Text<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Usage<'a> {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "cache_creation")]
    cache_creation: Option<CacheCreation>,
    #[serde(rename = "server_tool_use")]
    server_tools: Option<ServerTools>,
    #[serde(borrow, rename = "speed")]
    speed: Option<Text<'a>>,
    #[serde(borrow, rename = "iterations")]
    iterations: Option<Vec<Iteration<'a>>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    #[serde(rename = "ephemeral_5m_input_tokens")]
    five_minutes: Option<u64>,
    #[serde(rename = "ephemeral_1h_input_tokens")]
    one_hour: Option<u64>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct ServerTools {
    #[serde(rename = "web_search_requests")]
    web_searches: Option<u64>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Iteration<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, rename = "model")]
    model: Option<Text<'a>>,
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "cache_creation")]
    cache_creation: Option<CacheCreation>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, rename = "text")]
    text: Option<Text<'a>>,
    #[serde(borrow, rename = "thinking")]
    thinking: Option<Text<'a>>,
    #[serde(borrow, rename = "id")]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "name")]
    name: Option<Text<'a>>,
    #[serde(borrow, rename = "input")]
    input: Option<&'a RawValue>,
    #[serde(borrow, rename = "tool_use_id")]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow, rename = "content")]
    content: Option<Content<'a>>,
    #[serde(rename = "is_error")]
    is_error: Option<bool>,
    #[serde(borrow, rename = "tool_name")]
    tool_name: Option<Text<'a>>,
    #[serde(borrow, rename = "to")]
    to: Option<FallbackTo<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct FallbackTo<'a> {
    #[serde(borrow, rename = "model")]
    model: Option<Text<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, rename = "commandMode")]
    command_mode: Option<Text<'a>>,
    #[serde(borrow, rename = "prompt")]
    prompt: Option<Content<'a>>,
    #[serde(rename = "isMeta")]
    is_meta: Option<bool>,
    #[serde(borrow, rename = "origin")]
    origin: Option<OriginOf<'a>>,
    #[serde(borrow, rename = "hookEvent")]
    hook_event: Option<Text<'a>>,
    #[serde(borrow, rename = "hookName")]
    hook_name: Option<Text<'a>>,
    #[serde(borrow, rename = "filename")]
    filename: Option<Text<'a>>,
    #[serde(borrow, rename = "stderr")]
    stderr: Option<Text<'a>>,
    #[serde(borrow, rename = "blockingError")]
    blocking_error: Option<BlockingError<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct BlockingError<'a> {
    #[serde(borrow, rename = "blockingError")]
    text: Option<Text<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Progress<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, rename = "agentId")]
    agent_id: Option<Text<'a>>,
    #[serde(borrow, rename = "message")]
    message: Option<Wrapped<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Wrapped<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, rename = "timestamp")]
    timestamp: Option<Text<'a>>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<Text<'a>>,
    #[serde(borrow, rename = "message")]
    message: Option<Usages<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Usages<'a> {
    #[serde(borrow, rename = "id")]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "model")]
    model: Option<Text<'a>>,
    #[serde(borrow, rename = "usage")]
    usage: Option<Usage<'a>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Compaction<'a> {
    #[serde(borrow, rename = "trigger")]
    trigger: Option<Text<'a>>,
    #[serde(rename = "preTokens")]
    pre_tokens: Option<u64>,
    #[serde(rename = "postTokens")]
    post_tokens: Option<u64>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct ResultObject<'a> {
    #[serde(borrow, rename = "agentId")]
    agent_id: Option<Text<'a>>,
    #[serde(borrow, rename = "agentType")]
    agent_type: Option<Text<'a>>,
    #[serde(rename = "interrupted")]
    interrupted: Option<bool>,
    #[serde(borrow, rename = "backgroundTaskId")]
    background: Option<Text<'a>>,
    #[serde(borrow, rename = "persistedOutputPath")]
    spilled_to: Option<Text<'a>>,
    #[serde(rename = "exitCode")]
    exit_code: Option<u64>,
    #[serde(rename = "durationMs")]
    duration_ms: Option<u64>,
    #[serde(rename = "totalDurationMs")]
    total_duration_ms: Option<u64>,
    #[serde(borrow, rename = "answers")]
    answers: Option<&'a RawValue>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct ErrorObject<'a> {
    #[serde(rename = "status")]
    status: Option<u64>,
    #[serde(borrow, rename = "message")]
    message: Option<Text<'a>>,
}

/// Content: a string, an array of blocks, or one block on its own.
enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or blocks")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let block = Block::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Content::Blocks(vec![block]))
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// A string, an object, or another value that is skipped.
enum ToolUseResult<'a> {
    Object(Box<ResultObject<'a>>),
    Text(Cow<'a, str>),
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolUseResult<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = ToolUseResult<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, an object or an array")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ToolUseResult::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ToolUseResult::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(ToolUseResult::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let object = ResultObject::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ToolUseResult::Object(Box::new(object)))
            }
        }
        deserializer.deserialize_any(V)
    }
}
