//! The full text of the events of one line, taken from the line again when somebody wants to see it.

use std::borrow::Cow;

use super::outputs::bare;
use super::record::{Payload, Record, text_in};
use super::said::{prompt, words};
use super::whole::words_in;
use crate::records;
use crate::state::Body;
use crate::wording::pretty;

/// The texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    // A log that is one object over many lines.
    if let Some((name, words)) = std::str::from_utf8(line).ok().and_then(words_in) {
        return vec![body(match name {
            "text" => prompt(words.into()).into_owned(),
            "output" => bare(&words).into_owned(),
            _ => readable(&words),
        })];
    }
    let mut bodies = Vec::new();
    records::each(records::trim(line), &super::OPENINGS, &mut |bytes| {
        collect(bytes, &mut bodies)
    });
    bodies
}

/// Gathers the bodies of one record.
fn collect(bytes: &[u8], bodies: &mut Vec<Body>) -> Result<(), serde_json::Error> {
    let record: Record<'_> = serde_json::from_slice(bytes)?;
    if let Some(payload) = &record.payload.0 {
        of_payload(payload, bodies);
    } else if record.session.0.is_some() {
        bodies.push(body(String::new()));
        for item in &record.items.0 {
            of_payload(item, bodies);
        }
    } else {
        of_payload(&serde_json::from_slice(bytes)?, bodies);
    }
    Ok(())
}

fn body(text: String) -> Body {
    Body { text, words: None }
}

fn of_payload(payload: &Payload<'_>, bodies: &mut Vec<Body>) {
    let kind = payload.kind.or_empty();
    let text = match kind {
        "message" if payload.role.or_empty() == "user" => prompt(words(&payload.content)).into_owned(),
        "reasoning" => lines(&[&payload.summary.text(), &payload.content.text()]),
        "function_call" | "custom_tool_call" | "tool_search_call" => {
            let input = match payload.input.0.is_some() {
                true => payload.input.json(),
                false => payload.arguments.json(),
            };
            readable(input)
        }
        "function_call_output" | "custom_tool_call_output" => bare(&payload.output.text()).into_owned(),
        "user_message" => prompt(payload.message.or_empty().into()).into_owned(),
        "item_completed" => return of_item(payload, bodies),
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" | "dynamic_tool_call_response" => {
            return of_end(payload, bodies);
        }
        _ => {
            let told = [
                payload.message.or_empty(),
                payload.text.or_empty(),
                &payload.content.text(),
            ];
            lines(&told)
        }
    };
    bodies.push(body(text));
}

/// A call and its end that stand on one line.
fn of_end(payload: &Payload<'_>, bodies: &mut Vec<Body>) {
    let command: Vec<&str> = payload.command.0.iter().map(|word| word.or_empty()).collect();
    let call = match (&payload.invocation.0, command.is_empty()) {
        (Some(invocation), _) => readable(invocation.arguments.json()),
        (None, false) => command.join(" "),
        (None, true) if payload.changes.0.is_some() => readable(payload.changes.json()),
        (None, true) => readable(payload.arguments.json()),
    };
    let output = match payload.result.0.is_some() {
        true => super::calls::of_mcp(payload.result).1,
        false => {
            let streams = lines(&[&text_in(payload.stdout), &text_in(payload.stderr)]);
            let output = Some(text_in(payload.aggregated_output)).filter(|output| !output.is_empty());
            output.unwrap_or(streams) + &payload.content_items.text()
        }
    };
    bodies.extend([body(call), body(output)]);
}

fn of_item(payload: &Payload<'_>, bodies: &mut Vec<Body>) {
    let Some(item) = &payload.item.0 else { return };
    let told = || lines(&[item.text.or_empty(), &item.content.text(), &item.fragments.text()]);
    match item.kind.or_empty() {
        "UserMessage" => bodies.push(body(prompt(words(&item.content)).into_owned())),
        "Reasoning" => bodies.push(body(lines(&[&item.summary.text(), &item.raw_content.text()]))),
        "WebSearch" | "ImageView" | "ImageGeneration" | "Extension" | "CollabAgentToolCall" => {
            let words = [&item.query, &item.path, &item.text, &item.prompt];
            let call: Vec<&str> = words.into_iter().map(|text| text.or_empty()).collect();
            bodies.extend([body(lines(&call)), body(String::new())]);
        }
        "CommandExecution" | "FileChange" | "McpToolCall" | "DynamicToolCall" => {
            let command: Vec<&str> = item.command.0.iter().map(|word| word.or_empty()).collect();
            let call = match command.is_empty() {
                false => command.join(" "),
                true if item.changes.0.is_some() => readable(item.changes.json()),
                true => readable(item.arguments.json()),
            };
            let streams = lines(&[&text_in(item.stdout), &text_in(item.stderr)]);
            let output = Some(text_in(item.aggregated_output)).filter(|output| !output.is_empty());
            let output = output.unwrap_or(streams);
            let told = super::calls::of_mcp(item.result).1;
            bodies.extend([body(call), body(lines(&[&output, &told]))]);
        }
        _ => bodies.push(body(told())),
    }
}

/// Texts one after the other, without the empty ones.
fn lines(texts: &[&str]) -> String {
    let told: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    told.join("\n")
}

/// The input of a tool as a human reads it: free text as it is, JSON on lines of its own.
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
