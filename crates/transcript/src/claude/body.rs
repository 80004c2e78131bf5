//! The full text of the events of one line, taken from the line again when somebody wants to see it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::record::{Block, Content, Record};
use super::said::denial_words;
use super::whole_behind_a_tear;
use crate::repair::repair;
use crate::state::Body;
use crate::wording::{pretty, summary};

/// The texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let line = super::trim(line);
    let mut bodies = Vec::new();
    let Err(broken_at) = collect(line, &mut bodies) else {
        return bodies;
    };
    let (rest, whole) = (&line[broken_at..], bodies.len());
    let mended = repair(rest).is_some_and(|mended| collect(&mended, &mut bodies).is_ok());
    if !mended {
        bodies.truncate(whole);
        if let Some((record, _)) = whole_behind_a_tear(rest) {
            of_record(&record, &mut bodies);
        }
    }
    bodies
}

/// Gathers the bodies of the records that stand on a line, and says where it had to stop.
fn collect(line: &[u8], bodies: &mut Vec<Body>) -> Result<(), usize> {
    let mut records = serde_json::Deserializer::from_slice(line).into_iter::<Record<'_>>();
    loop {
        let at = records.byte_offset();
        match records.next() {
            Some(Ok(record)) => of_record(&record, bodies),
            Some(Err(_)) => return Err(at),
            None => return Ok(()),
        }
    }
}

fn of_record(record: &Record<'_>, bodies: &mut Vec<Body>) {
    match &record.message.0 {
        Some(message) => of_content(&message.content, bodies),
        None if !record.attachment.prompt.is_nothing() => of_content(&record.attachment.prompt, bodies),
        None => of_content(&record.content, bodies),
    }
}

fn of_content(content: &Content<'_>, bodies: &mut Vec<Body>) {
    match content {
        Content::Nothing => {}
        Content::Text(text) => bodies.push(Body {
            text: text.clone().into_owned(),
            words: None,
        }),
        Content::Blocks(blocks) => bodies.extend(blocks.iter().map(of_block)),
    }
}

fn of_block(block: &Block<'_>) -> Body {
    let text = match block.kind.or_empty() {
        "thinking" => block.thinking.or_empty().to_owned(),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => pretty(block.input.json()),
        "image" | "document" => format!("[{}]", block.kind.or_empty()),
        _ if block.text.get().is_some() => block.text.or_empty().to_owned(),
        _ => block.content.text().into_owned(),
    };
    let denied = block.kind.or_empty() == "tool_result" && block.is_error.0;
    let words = denial_words(&text)
        .filter(|_| denied)
        .map(|(words, _)| words.to_owned());
    Body { text, words }
}

/// What a human answered: the answers alone, or the tool's sentence where they are not told apart.
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
