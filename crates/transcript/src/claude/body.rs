//! The full text of the events of one line, taken from the line again when somebody wants to see it.

use super::record::{Block, Content, Record};
use super::said::denial_words;
use crate::repair::repair;
use crate::state::Body;
use crate::wording::summary;

/// The texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let line = super::trim(line);
    let mut bodies = Vec::new();
    let mended = if collect(line, &mut bodies) { None } else { repair(line) };
    if let Some(mended) = mended {
        bodies.clear();
        collect(&mended, &mut bodies);
    }
    bodies
}

/// Gathers the bodies of the records that stand on a line, and says whether all could be read.
fn collect(line: &[u8], bodies: &mut Vec<Body>) -> bool {
    for record in serde_json::Deserializer::from_slice(line).into_iter::<Record<'_>>() {
        let Ok(record) = record else { return false };
        match &record.message.0 {
            Some(message) => of_content(&message.content, bodies),
            None if !record.attachment.prompt.is_nothing() => of_content(&record.attachment.prompt, bodies),
            None => of_content(&record.content, bodies),
        }
    }
    true
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
    let words = denial_words(&text).map(|(words, _)| words.to_owned());
    Body { text, words }
}

/// The input of a tool as readable JSON.
fn pretty(json: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(json);
    value
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| json.to_owned())
}

/// What a human answered: the answers alone, or the tool's sentence where they are not told apart.
pub(super) fn answers(json: &str, text: &str) -> Box<str> {
    let map: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(json);
    let Ok(map) = map else { return summary(text) };
    let words: Vec<String> = map
        .iter()
        .map(|(_, answer)| answer.as_str().map_or_else(|| answer.to_string(), str::to_owned))
        .collect();
    summary(&words.join("; "))
}
