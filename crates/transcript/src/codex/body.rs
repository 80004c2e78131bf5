//! The full texts of the events of one line, parsed again from the line when a caller wants to show them.

use std::borrow::Cow;

use super::outputs::bare;
use super::record::{Content, Payload, Record, text_in};
use super::said::{Said, judge, prompt, words};
use super::whole::words_in;
use crate::event::Role;
use crate::records;
use crate::state::Body;
use crate::texts::{Block, Field, Told};
use crate::wording::pretty;

/// Returns the texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let body = |block: Block| Body {
        text: match (block.words, block.told) {
            (Some(words), _) => words,
            (None, Told::Text(text) | Told::Sign(text)) => text,
            (None, Told::Input(json)) => readable(&json),
        },
        words: None,
    };
    blocks(line).into_iter().map(body).collect()
}

/// Returns the blocks of a line, in the order in which the reader numbers them.
pub(crate) fn blocks(line: &[u8]) -> Vec<Block> {
    // In a log that is a single object over many lines, the key of a line is all that identifies its text.
    if let Some((name, words)) = std::str::from_utf8(line).ok().and_then(words_in) {
        return vec![match name {
            "text" => of_prompt(Field::Other, words.into()),
            "output" => Block::new(Field::ToolOutput, bare(&words).into_owned()),
            _ => Block::input("", &words),
        }];
    }
    let mut blocks = Vec::new();
    records::each(records::trim(line), &super::OPENINGS, &mut |bytes| {
        collect(bytes, &mut blocks)
    });
    blocks
}

/// Collects the blocks of one record.
fn collect(bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), serde_json::Error> {
    let record: Record<'_> = serde_json::from_slice(bytes)?;
    if let Some(payload) = &record.payload.0 {
        of_payload(payload, blocks);
    } else if record.session.0.is_some() {
        blocks.push(Block::new(Field::Other, String::new()));
        for item in &record.items.0 {
            of_payload(item, blocks);
        }
    } else {
        of_payload(&serde_json::from_slice(bytes)?, blocks);
    }
    Ok(())
}

fn of_payload(payload: &Payload<'_>, blocks: &mut Vec<Block>) {
    let kind = payload.kind.or_empty();
    let block = match kind {
        "message" if payload.role.or_empty() == "user" => of_user(&payload.content),
        "reasoning" => Block::new(
            Field::Thinking,
            lines(&[&payload.summary.text(), &payload.content.text()]),
        ),
        "function_call" | "custom_tool_call" | "tool_search_call" => {
            let input = match payload.input.0.is_some() {
                true => payload.input.json(),
                false => payload.arguments.json(),
            };
            Block::input(payload.name.or_empty(), input)
        }
        "function_call_output" | "custom_tool_call_output" => {
            Block::new(Field::ToolOutput, bare(&payload.output.text()).into_owned())
        }
        "user_message" => of_prompt(Field::Prompt, payload.message.or_empty().into()),
        "item_completed" => return of_item(payload, blocks),
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" | "dynamic_tool_call_response" => {
            return of_end(payload, blocks);
        }
        _ => {
            let told = [
                payload.message.or_empty(),
                payload.text.or_empty(),
                &payload.content.text(),
            ];
            Block::new(field_of(payload), lines(&told))
        }
    };
    blocks.push(block);
}

/// Returns the block of a text of role `user`: a prompt, or a text of the harness in the user's name.
fn of_user(content: &Content<'_>) -> Block {
    let field = match judge(content) {
        Said::Prompt(_) | Said::Shell(_) | Said::OtherAgent => Field::Prompt,
        Said::Setup | Said::Interrupt | Said::Harness => Field::Other,
    };
    Block {
        role: Role::User,
        ..of_prompt(field, words(content))
    }
}

/// Returns the block of a prompt. It is shown as the human's own words, but searched together with what an editor
/// inserted before them, such as names of open files.
fn of_prompt(field: Field, text: Cow<'_, str>) -> Block {
    let own = prompt(Cow::Borrowed(&text)).into_owned();
    Block {
        words: Some(own).filter(|own| *own != text),
        ..Block::new(field, text.into_owned())
    }
}

fn field_of(payload: &Payload<'_>) -> Field {
    match (payload.kind.or_empty(), payload.role.or_empty()) {
        ("message", "assistant") | ("agent_message", _) => Field::Answer,
        ("agent_reasoning" | "agent_reasoning_raw_content", _) => Field::Thinking,
        _ => Field::Other,
    }
}

/// Adds the blocks of a call and its end that are on one line.
fn of_end(payload: &Payload<'_>, blocks: &mut Vec<Block>) {
    let command: Vec<&str> = payload.command.0.iter().map(|word| word.or_empty()).collect();
    let tool = payload.tool.or_empty();
    let call = match (&payload.invocation.0, command.is_empty()) {
        (Some(invocation), _) => Block::input(invocation.tool.or_empty(), invocation.arguments.json()),
        (None, false) => Block::new(Field::ToolInput, command.join(" ")),
        (None, true) if payload.changes.0.is_some() => Block::input(tool, payload.changes.json()),
        (None, true) => Block::input(tool, payload.arguments.json()),
    };
    let output = match payload.result.0.is_some() {
        true => super::calls::of_mcp(payload.result).1,
        false => {
            let streams = lines(&[&text_in(payload.stdout), &text_in(payload.stderr)]);
            let output = Some(text_in(payload.aggregated_output)).filter(|output| !output.is_empty());
            output.unwrap_or(streams) + &payload.content_items.text()
        }
    };
    blocks.extend([call, Block::new(Field::ToolOutput, output)]);
}

fn of_item(payload: &Payload<'_>, blocks: &mut Vec<Block>) {
    let Some(item) = &payload.item.0 else { return };
    let told = || lines(&[item.text.or_empty(), &item.content.text(), &item.fragments.text()]);
    match item.kind.or_empty() {
        "UserMessage" => blocks.push(of_user(&item.content)),
        "Reasoning" => {
            let thought = lines(&[&item.summary.text(), &item.raw_content.text()]);
            blocks.push(Block::new(Field::Thinking, thought));
        }
        "WebSearch" | "ImageView" | "ImageGeneration" | "Extension" | "CollabAgentToolCall" => {
            let words = [&item.query, &item.path, &item.text, &item.prompt];
            let call: Vec<&str> = words.into_iter().map(|text| text.or_empty()).collect();
            blocks.extend([
                Block::new(Field::ToolInput, lines(&call)),
                Block::new(Field::ToolOutput, String::new()),
            ]);
        }
        "CommandExecution" | "FileChange" | "McpToolCall" | "DynamicToolCall" => {
            let command: Vec<&str> = item.command.0.iter().map(|word| word.or_empty()).collect();
            let call = match command.is_empty() {
                false => Block::new(Field::ToolInput, command.join(" ")),
                true if item.changes.0.is_some() => Block::input("", item.changes.json()),
                true => Block::input("", item.arguments.json()),
            };
            let streams = lines(&[&text_in(item.stdout), &text_in(item.stderr)]);
            let output = Some(text_in(item.aggregated_output)).filter(|output| !output.is_empty());
            let output = output.unwrap_or(streams);
            let told = super::calls::of_mcp(item.result).1;
            blocks.extend([call, Block::new(Field::ToolOutput, lines(&[&output, &told]))]);
        }
        "AgentMessage" => blocks.push(Block::new(Field::Answer, told())),
        _ => blocks.push(Block::new(Field::Other, told())),
    }
}

/// Joins the texts that are not empty, one per line.
fn lines(texts: &[&str]) -> String {
    let told: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    told.join("\n")
}

/// Formats the input of a tool: plain text as it is, JSON indented.
fn readable(json: &str) -> String {
    let text: Cow<'_, str> = match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => text.into(),
        _ => json.into(),
    };
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => pretty(&text),
        _ => text.into_owned(),
    }
}
