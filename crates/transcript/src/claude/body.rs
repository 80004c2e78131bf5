//! The full texts of the events of one line, parsed again from the line when a caller wants to show them.

use std::borrow::Cow;
use std::fmt;
use std::mem::take;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::record::{ClaudeBlock, ClaudeContent, ClaudeRecord};
use super::record_after_tear;
use super::said::{ClaudeUserText, classify, classify_queued, denial_words};
use crate::event::Role;
use crate::repair::repair;
use crate::texts::{self, BlockContent, Body, Field, Tell, TextBlock};
use crate::wire::{BoxedRecord, WireText};
use crate::wording::{pretty, summary};

/// Returns the texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let body = |block: TextBlock| Body {
        text: match block.content {
            BlockContent::Text(text) | BlockContent::Placeholder(text) => text,
            BlockContent::Input(json) => pretty(&json),
        },
        words: block.words,
    };
    blocks(line).into_iter().map(body).collect()
}

/// Like [`bodies`], but leaves the inputs of tools as they are written.
pub(crate) fn bare_bodies(line: &[u8]) -> Vec<String> {
    let text = |block: TextBlock| match block.content {
        BlockContent::Text(text) | BlockContent::Placeholder(text) | BlockContent::Input(text) => text,
    };
    blocks(line).into_iter().map(text).collect()
}

/// Returns the blocks of a line, in the order in which the reader numbers them.
pub(crate) fn blocks(line: &[u8]) -> Vec<TextBlock> {
    let line = super::trim(line);
    let mut blocks = Vec::new();
    let Err(broken_at) = collect(line, &mut blocks) else {
        return blocks;
    };
    let (rest, whole) = (&line[broken_at..], blocks.len());
    let mended = repair(rest).is_some_and(|mended| collect(&mended, &mut blocks).is_ok());
    if !mended {
        blocks.truncate(whole);
        if let Some((record, _)) = record_after_tear(rest) {
            record_blocks(record, &mut blocks);
        }
    }
    blocks
}

/// Collects the blocks of the records on a line. On error, returns the offset at which parsing stopped.
fn collect(line: &[u8], blocks: &mut Vec<TextBlock>) -> Result<(), usize> {
    match std::str::from_utf8(line) {
        Ok(text) => collect_from(serde_json::Deserializer::from_str(text), blocks),
        Err(_) => collect_from(serde_json::Deserializer::from_slice(line), blocks),
    }
}

fn collect_from<'r>(
    records: serde_json::Deserializer<impl serde_json::de::Read<'r>>,
    blocks: &mut Vec<TextBlock>,
) -> Result<(), usize> {
    let mut records = records.into_iter::<BoxedRecord<ClaudeRecord<'_>>>();
    loop {
        let at = records.byte_offset();
        match records.next() {
            Some(Ok(BoxedRecord(record))) => record_blocks(*record, blocks),
            Some(Err(_)) => return Err(at),
            None => return Ok(()),
        }
    }
}

fn record_blocks(mut record: ClaudeRecord<'_>, blocks: &mut Vec<TextBlock>) {
    if let Some(message) = &mut record.message.0 {
        let content = take(&mut message.content);
        return content_blocks(content, blocks, |text| match record.kind.or_empty() {
            "assistant" => (Field::Answer, Role::Assistant),
            "user" => user_field(&classify(&record, text, record.is_sidechain.0, false)),
            _ => (Field::Other, Role::System),
        });
    }
    let queued = |text: &str| user_field(&classify_queued(text));
    if !record.attachment.prompt.is_nothing() {
        return content_blocks(take(&mut record.attachment.prompt), blocks, queued);
    }
    let content = take(&mut record.content);
    match record.kind.or_empty() {
        "queue-operation" => content_blocks(content, blocks, queued),
        _ => content_blocks(content, blocks, |_| (Field::Other, Role::System)),
    }
}

/// Passes the searchable texts of a record to `sink`: those of [`blocks`], unchanged.
pub(super) fn each_text(record: &ClaudeRecord<'_>, sink: &mut Tell<'_>) {
    let attached = &record.attachment.prompt;
    let content = match &record.message.0 {
        Some(message) => &message.content,
        None if !attached.is_nothing() => attached,
        None => &record.content,
    };
    match content {
        ClaudeContent::Nothing => {}
        ClaudeContent::Text(text) => sink(text),
        ClaudeContent::Blocks(all) => {
            for block in all {
                match text_location(block) {
                    TextLocation::Thinking => sink(block.thinking.or_empty()),
                    TextLocation::Input => sink(&texts::values(block.input.json())),
                    TextLocation::Nowhere => {}
                    TextLocation::Text => sink(block.text.or_empty()),
                    TextLocation::Result | TextLocation::Content => sink(&result_text(block)),
                }
            }
        }
    }
}

/// Texts of role `user` are written by a human, or by the harness in the human's name.
fn user_field(said: &ClaudeUserText<'_>) -> (Field, Role) {
    match said {
        ClaudeUserText::Harness(_) | ClaudeUserText::Interrupt | ClaudeUserText::Nothing => (Field::Other, Role::User),
        _ => (Field::Prompt, Role::User),
    }
}

fn content_blocks(content: ClaudeContent<'_>, blocks: &mut Vec<TextBlock>, classify: impl Fn(&str) -> (Field, Role)) {
    let said = |text: Cow<'_, str>| {
        let (field, role) = classify(&text);
        TextBlock {
            role,
            ..TextBlock::new(field, text.into_owned())
        }
    };
    match content {
        ClaudeContent::Nothing => {}
        ClaudeContent::Text(text) => blocks.push(said(text)),
        ClaudeContent::Blocks(all) => blocks.extend(all.into_iter().map(|block| text_block(block, &said))),
    }
}

/// Which field of a block holds its text.
enum TextLocation {
    Thinking,
    Input,
    /// The block has no text.
    Nowhere,
    Result,
    Text,
    Content,
}

fn text_location(block: &ClaudeBlock<'_>) -> TextLocation {
    match block.kind.or_empty() {
        "thinking" => TextLocation::Thinking,
        "tool_use" | "server_tool_use" | "mcp_tool_use" => TextLocation::Input,
        "image" | "document" => TextLocation::Nowhere,
        kind if kind.ends_with("tool_result") => TextLocation::Result,
        _ if block.text.get().is_some() => TextLocation::Text,
        _ => TextLocation::Content,
    }
}

fn text_block(block: ClaudeBlock<'_>, said: &dyn Fn(Cow<'_, str>) -> TextBlock) -> TextBlock {
    match text_location(&block) {
        TextLocation::Thinking => TextBlock::new(Field::Thinking, text(block.thinking)),
        TextLocation::Input => TextBlock::input(block.name.or_empty(), block.input.json()),
        TextLocation::Nowhere => TextBlock {
            content: BlockContent::Placeholder(format!("[{}]", block.kind.or_empty())),
            ..said("".into())
        },
        TextLocation::Result => result_block(&block),
        TextLocation::Text => said(block.text.0.unwrap_or_default()),
        TextLocation::Content => said(block.content.text()),
    }
}

fn result_text<'b>(block: &'b ClaudeBlock<'_>) -> Cow<'b, str> {
    block.text.get().map_or_else(|| block.content.text(), Cow::Borrowed)
}

fn result_block(block: &ClaudeBlock<'_>) -> TextBlock {
    let text = result_text(block).into_owned();
    let denied = block.kind.or_empty() == "tool_result" && block.is_error.0;
    let words = denial_words(&text).filter(|_| denied);
    TextBlock {
        words: words.map(|(words, _)| words.to_owned()),
        ..TextBlock::new(Field::ToolOutput, text)
    }
}

fn text(text: WireText<'_>) -> String {
    text.0.map(Cow::into_owned).unwrap_or_default()
}

/// Returns the summary of a human's answers: the answers alone, or the tool's sentence if they are not listed
/// separately.
pub(super) fn answer_summary(json: &str, text: &str) -> Box<str> {
    let Ok(Answers(answers)) = serde_json::from_str(json) else {
        return summary(text);
    };
    summary(&answers.join("; "))
}

/// Answers in the order in which they were given.
struct Answers(Vec<String>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnswersVisitor;
        impl<'de> Visitor<'de> for AnswersVisitor {
            type Value = Answers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("answers by question")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Answers, A::Error> {
                let mut answers = Vec::new();
                while let Some((IgnoredAny, answer)) = map.next_entry::<_, Value>()? {
                    answers.push(answer.as_str().map_or_else(|| answer.to_string(), str::to_owned));
                }
                Ok(Answers(answers))
            }
        }
        deserializer.deserialize_map(AnswersVisitor)
    }
}
