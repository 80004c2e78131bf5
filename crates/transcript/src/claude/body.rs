//! The full texts of the events of one line, parsed again from the line when a caller wants to show them.

use std::borrow::Cow;
use std::fmt;
use std::mem::take;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::record::{Block, Content, Record};
use super::said::{Said, denial_words, judge, judge_queued};
use super::whole_behind_a_tear;
use crate::event::Role;
use crate::repair::repair;
use crate::state::Body;
use crate::texts::{self as told, Field, Tell, Told};
use crate::wire::{Boxed, Text};
use crate::wording::{pretty, summary};

/// Returns the texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let body = |block: told::Block| Body {
        text: match block.told {
            Told::Text(text) | Told::Sign(text) => text,
            Told::Input(json) => pretty(&json),
        },
        words: block.words,
    };
    blocks(line).into_iter().map(body).collect()
}

/// Like [`bodies`], but leaves the inputs of tools as they are written.
pub(crate) fn bare_bodies(line: &[u8]) -> Vec<String> {
    let text = |block: told::Block| match block.told {
        Told::Text(text) | Told::Sign(text) | Told::Input(text) => text,
    };
    blocks(line).into_iter().map(text).collect()
}

/// Returns the blocks of a line, in the order in which the reader numbers them.
pub(crate) fn blocks(line: &[u8]) -> Vec<told::Block> {
    let line = super::trim(line);
    let mut blocks = Vec::new();
    let Err(broken_at) = collect(line, &mut blocks) else {
        return blocks;
    };
    let (rest, whole) = (&line[broken_at..], blocks.len());
    let mended = repair(rest).is_some_and(|mended| collect(&mended, &mut blocks).is_ok());
    if !mended {
        blocks.truncate(whole);
        if let Some((record, _)) = whole_behind_a_tear(rest) {
            of_record(record, &mut blocks);
        }
    }
    blocks
}

/// Collects the blocks of the records on a line. On error, returns the offset at which parsing stopped.
fn collect(line: &[u8], blocks: &mut Vec<told::Block>) -> Result<(), usize> {
    match std::str::from_utf8(line) {
        Ok(text) => collect_from(serde_json::Deserializer::from_str(text), blocks),
        Err(_) => collect_from(serde_json::Deserializer::from_slice(line), blocks),
    }
}

fn collect_from<'r>(
    records: serde_json::Deserializer<impl serde_json::de::Read<'r>>,
    blocks: &mut Vec<told::Block>,
) -> Result<(), usize> {
    let mut records = records.into_iter::<Boxed<Record<'_>>>();
    loop {
        let at = records.byte_offset();
        match records.next() {
            Some(Ok(Boxed(record))) => of_record(*record, blocks),
            Some(Err(_)) => return Err(at),
            None => return Ok(()),
        }
    }
}

fn of_record(mut record: Record<'_>, blocks: &mut Vec<told::Block>) {
    if let Some(message) = &mut record.message.0 {
        let content = take(&mut message.content);
        return of_content(content, blocks, |text| match record.kind.or_empty() {
            "assistant" => (Field::Answer, Role::Assistant),
            "user" => of_user(&judge(&record, text, record.is_sidechain.0, false)),
            _ => (Field::Other, Role::System),
        });
    }
    let queued = |text: &str| of_user(&judge_queued(text));
    if !record.attachment.prompt.is_nothing() {
        return of_content(take(&mut record.attachment.prompt), blocks, queued);
    }
    let content = take(&mut record.content);
    match record.kind.or_empty() {
        "queue-operation" => of_content(content, blocks, queued),
        _ => of_content(content, blocks, |_| (Field::Other, Role::System)),
    }
}

/// Passes the searchable texts of a record to `sink`: those of [`blocks`], unchanged.
pub(super) fn each_text(record: &Record<'_>, tell: &mut Tell<'_>) {
    let attached = &record.attachment.prompt;
    let content = match &record.message.0 {
        Some(message) => &message.content,
        None if !attached.is_nothing() => attached,
        None => &record.content,
    };
    match content {
        Content::Nothing => {}
        Content::Text(text) => tell(text),
        Content::Blocks(all) => {
            for block in all {
                match lies_in(block) {
                    Lies::Thinking => tell(block.thinking.or_empty()),
                    Lies::Input => tell(&told::values(block.input.json())),
                    Lies::Nowhere => {}
                    Lies::Text => tell(block.text.or_empty()),
                    Lies::Result | Lies::Content => tell(&result_text(block)),
                }
            }
        }
    }
}

/// Texts of role `user` are written by a human, or by the harness in the human's name.
fn of_user(said: &Said<'_>) -> (Field, Role) {
    match said {
        Said::Harness(_) | Said::Interrupt | Said::Nothing => (Field::Other, Role::User),
        _ => (Field::Prompt, Role::User),
    }
}

fn of_content(content: Content<'_>, blocks: &mut Vec<told::Block>, judge: impl Fn(&str) -> (Field, Role)) {
    let said = |text: Cow<'_, str>| {
        let (field, role) = judge(&text);
        told::Block {
            role,
            ..told::Block::new(field, text.into_owned())
        }
    };
    match content {
        Content::Nothing => {}
        Content::Text(text) => blocks.push(said(text)),
        Content::Blocks(all) => blocks.extend(all.into_iter().map(|block| of_block(block, &said))),
    }
}

/// Which field of a block holds its text.
enum Lies {
    Thinking,
    Input,
    /// The block has no text.
    Nowhere,
    Result,
    Text,
    Content,
}

fn lies_in(block: &Block<'_>) -> Lies {
    match block.kind.or_empty() {
        "thinking" => Lies::Thinking,
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Lies::Input,
        "image" | "document" => Lies::Nowhere,
        kind if kind.ends_with("tool_result") => Lies::Result,
        _ if block.text.get().is_some() => Lies::Text,
        _ => Lies::Content,
    }
}

fn of_block(block: Block<'_>, said: &dyn Fn(Cow<'_, str>) -> told::Block) -> told::Block {
    match lies_in(&block) {
        Lies::Thinking => told::Block::new(Field::Thinking, text(block.thinking)),
        Lies::Input => told::Block::input(block.name.or_empty(), block.input.json()),
        Lies::Nowhere => told::Block {
            told: Told::Sign(format!("[{}]", block.kind.or_empty())),
            ..said("".into())
        },
        Lies::Result => of_result(&block),
        Lies::Text => said(block.text.0.unwrap_or_default()),
        Lies::Content => said(block.content.text()),
    }
}

fn result_text<'b>(block: &'b Block<'_>) -> Cow<'b, str> {
    block.text.get().map_or_else(|| block.content.text(), Cow::Borrowed)
}

fn of_result(block: &Block<'_>) -> told::Block {
    let text = result_text(block).into_owned();
    let denied = block.kind.or_empty() == "tool_result" && block.is_error.0;
    let words = denial_words(&text).filter(|_| denied);
    told::Block {
        words: words.map(|(words, _)| words.to_owned()),
        ..told::Block::new(Field::ToolOutput, text)
    }
}

fn text(text: Text<'_>) -> String {
    text.0.map(Cow::into_owned).unwrap_or_default()
}

/// Returns the summary of a human's answers: the answers alone, or the tool's sentence if they are not listed
/// separately.
pub(super) fn answers(json: &str, text: &str) -> Box<str> {
    let Ok(Answers(answers)) = serde_json::from_str(json) else {
        return summary(text);
    };
    summary(&answers.join("; "))
}

/// Answers in the order in which they were given.
struct Answers(Vec<String>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
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
        deserializer.deserialize_map(V)
    }
}
