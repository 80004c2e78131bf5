//! The full texts of the events of one line, parsed again from the line when a caller wants to show them.

use std::borrow::Cow;

use super::outputs::plain_output;
use super::record::{CodexContent, CodexPayload, CodexRecord, text_in};
use super::said::{CodexUserText, classify, prompt, words};
use super::whole::text_in_line;
use crate::event::Role;
use crate::records;
use crate::texts::{BlockContent, Body, Field, TextBlock};
use crate::wording::pretty;

/// Returns the texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let body = |block: TextBlock| Body {
        text: match (block.words, block.content) {
            (Some(words), _) => words,
            (None, BlockContent::Text(text) | BlockContent::Placeholder(text)) => text,
            (None, BlockContent::Input(json)) => readable(&json),
        },
        words: None,
    };
    blocks(line).into_iter().map(body).collect()
}

/// Returns the blocks of a line, in the order in which the reader numbers them.
pub(crate) fn blocks(line: &[u8]) -> Vec<TextBlock> {
    // In a log that is a single object over many lines, the key of a line is all that identifies its text.
    if let Some((name, words)) = std::str::from_utf8(line).ok().and_then(text_in_line) {
        return vec![match name {
            "text" => prompt_block(Field::Other, words.into()),
            "output" => TextBlock::new(Field::ToolOutput, plain_output(&words).into_owned()),
            _ => TextBlock::input("", &words),
        }];
    }
    let mut blocks = Vec::new();
    records::each_object(records::trim(line), &super::OPENINGS, &mut |bytes| {
        collect(bytes, &mut blocks)
    });
    blocks
}

/// Collects the blocks of one record.
fn collect(bytes: &[u8], blocks: &mut Vec<TextBlock>) -> Result<(), serde_json::Error> {
    let record: CodexRecord<'_> = serde_json::from_slice(bytes)?;
    if let Some(payload) = &record.payload.0 {
        payload_blocks(payload, blocks);
    } else if record.session.0.is_some() {
        blocks.push(TextBlock::new(Field::Other, String::new()));
        for item in &record.items.0 {
            payload_blocks(item, blocks);
        }
    } else {
        payload_blocks(&serde_json::from_slice(bytes)?, blocks);
    }
    Ok(())
}

fn payload_blocks(payload: &CodexPayload<'_>, blocks: &mut Vec<TextBlock>) {
    let kind = payload.kind.or_empty();
    let block = match kind {
        "message" if payload.role.or_empty() == "user" => user_block(&payload.content),
        "reasoning" => TextBlock::new(
            Field::Thinking,
            lines(&[&payload.summary.text(), &payload.content.text()]),
        ),
        "function_call" | "custom_tool_call" | "tool_search_call" => {
            let input = match payload.input.0.is_some() {
                true => payload.input.json(),
                false => payload.arguments.json(),
            };
            TextBlock::input(payload.name.or_empty(), input)
        }
        "function_call_output" | "custom_tool_call_output" => {
            TextBlock::new(Field::ToolOutput, plain_output(&payload.output.text()).into_owned())
        }
        "user_message" => prompt_block(Field::Prompt, payload.message.or_empty().into()),
        "item_completed" => return item_blocks(payload, blocks),
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" | "dynamic_tool_call_response" => {
            return end_blocks(payload, blocks);
        }
        _ => {
            let text = [
                payload.message.or_empty(),
                payload.text.or_empty(),
                &payload.content.text(),
            ];
            TextBlock::new(field_of(payload), lines(&text))
        }
    };
    blocks.push(block);
}

/// Returns the block of a text of role `user`: a prompt, or a text of the harness in the user's name.
fn user_block(content: &CodexContent<'_>) -> TextBlock {
    let field = match classify(content) {
        CodexUserText::Prompt(_) | CodexUserText::Shell(_) | CodexUserText::OtherAgent => Field::Prompt,
        CodexUserText::Setup | CodexUserText::Interrupt | CodexUserText::Harness => Field::Other,
    };
    TextBlock {
        role: Role::User,
        ..prompt_block(field, words(content))
    }
}

/// Returns the block of a prompt. It is shown as the human's own words, but searched together with what an editor
/// inserted before them, such as names of open files.
fn prompt_block(field: Field, text: Cow<'_, str>) -> TextBlock {
    let own = prompt(Cow::Borrowed(&text)).into_owned();
    TextBlock {
        words: Some(own).filter(|own| *own != text),
        ..TextBlock::new(field, text.into_owned())
    }
}

fn field_of(payload: &CodexPayload<'_>) -> Field {
    match (payload.kind.or_empty(), payload.role.or_empty()) {
        ("message", "assistant") | ("agent_message", _) => Field::Answer,
        ("agent_reasoning" | "agent_reasoning_raw_content", _) => Field::Thinking,
        _ => Field::Other,
    }
}

/// Adds the blocks of a call and its end that are on one line.
fn end_blocks(payload: &CodexPayload<'_>, blocks: &mut Vec<TextBlock>) {
    let command: Vec<&str> = payload.command.0.iter().map(|word| word.or_empty()).collect();
    let tool = payload.tool.or_empty();
    let call = match (&payload.invocation.0, command.is_empty()) {
        (Some(invocation), _) => TextBlock::input(invocation.tool.or_empty(), invocation.arguments.json()),
        (None, false) => TextBlock::new(Field::ToolInput, command.join(" ")),
        (None, true) if payload.changes.0.is_some() => TextBlock::input(tool, payload.changes.json()),
        (None, true) => TextBlock::input(tool, payload.arguments.json()),
    };
    let output = match payload.result.0.is_some() {
        true => super::calls::mcp_result(payload.result).1,
        false => {
            let streams = lines(&[&text_in(payload.stdout), &text_in(payload.stderr)]);
            let output = Some(text_in(payload.aggregated_output)).filter(|output| !output.is_empty());
            output.unwrap_or(streams) + &payload.content_items.text()
        }
    };
    blocks.extend([call, TextBlock::new(Field::ToolOutput, output)]);
}

fn item_blocks(payload: &CodexPayload<'_>, blocks: &mut Vec<TextBlock>) {
    let Some(item) = &payload.item.0 else { return };
    let text = || lines(&[item.text.or_empty(), &item.content.text(), &item.fragments.text()]);
    match item.kind.or_empty() {
        "UserMessage" => blocks.push(user_block(&item.content)),
        "Reasoning" => {
            let thought = lines(&[&item.summary.text(), &item.raw_content.text()]);
            blocks.push(TextBlock::new(Field::Thinking, thought));
        }
        "WebSearch" | "ImageView" | "ImageGeneration" | "Extension" | "CollabAgentToolCall" => {
            let words = [&item.query, &item.path, &item.text, &item.prompt];
            let call: Vec<&str> = words.into_iter().map(|text| text.or_empty()).collect();
            blocks.extend([
                TextBlock::new(Field::ToolInput, lines(&call)),
                TextBlock::new(Field::ToolOutput, String::new()),
            ]);
        }
        "CommandExecution" | "FileChange" | "McpToolCall" | "DynamicToolCall" => {
            let command: Vec<&str> = item.command.0.iter().map(|word| word.or_empty()).collect();
            let call = match command.is_empty() {
                false => TextBlock::new(Field::ToolInput, command.join(" ")),
                true if item.changes.0.is_some() => TextBlock::input("", item.changes.json()),
                true => TextBlock::input("", item.arguments.json()),
            };
            let streams = lines(&[&text_in(item.stdout), &text_in(item.stderr)]);
            let output = Some(text_in(item.aggregated_output)).filter(|output| !output.is_empty());
            let output = output.unwrap_or(streams);
            let text = super::calls::mcp_result(item.result).1;
            blocks.extend([call, TextBlock::new(Field::ToolOutput, lines(&[&output, &text]))]);
        }
        "AgentMessage" => blocks.push(TextBlock::new(Field::Answer, text())),
        _ => blocks.push(TextBlock::new(Field::Other, text())),
    }
}

/// Joins the texts that are not empty, one per line.
fn lines(texts: &[&str]) -> String {
    let nonempty: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    nonempty.join("\n")
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
