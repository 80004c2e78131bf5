//! The full texts of the events of one line, parsed again from the line when a caller wants to show them. The three
//! files with lines are distinguished by their keys.

use super::chat::{name_and_input, placeholder};
use super::record::{self, ChatItem, GrokBlock, RowBody, UpdateRow, text_of};
use super::said::{is_generated, own_words};
use super::tools::output_text;
use crate::event::Role;
use crate::records::{each_object, trim};
use crate::texts::{BlockContent, Body, Field, TextBlock};
use crate::wire::{RawJson, wire};
use crate::wording::pretty;

wire! {
    struct LineShape<'a> {
        params: RawJson<'a> = "params",
    }
}

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

/// Returns the blocks of a line, in the order in which the reader numbers them.
pub(crate) fn blocks(line: &[u8]) -> Vec<TextBlock> {
    let mut found = Vec::new();
    each_object(trim(line), &[], &mut |json| {
        let keys: LineShape<'_> = serde_json::from_slice(json)?;
        if keys.params.0.is_some() {
            let row: UpdateRow<'_> = serde_json::from_slice(json)?;
            update_blocks(&row.params, &mut found);
        } else {
            let item: ChatItem<'_> = serde_json::from_slice(json)?;
            chat_item_blocks(&item, &mut found);
        }
        Ok(())
    });
    found
}

fn update_blocks(params: &RowBody<'_>, found: &mut Vec<TextBlock>) {
    let update = &params.update;
    let all = record::blocks(update.content);
    match update.kind.or_empty() {
        "user_message_chunk" => {
            let text = text_of(&all).into_owned();
            let shown = all.first().and_then(|block| block.meta.display_text.get());
            let own = shown.map_or_else(|| own_words(&text).1.to_owned(), str::to_owned);
            let generated = is_generated(params.meta.prompt_id.or_empty()) || update.meta.is_hidden.0;
            push_words(found, text, own, &all, generated);
        }
        "agent_message_chunk" => push(found, Field::Answer, text_of(&all).into_owned()),
        "agent_thought_chunk" => push(found, Field::Thinking, text_of(&all).into_owned()),
        kind @ ("tool_call" | "tool_call_update") => {
            if kind == "tool_call" {
                found.push(match update.raw_input.json() {
                    "" => TextBlock::new(Field::ToolInput, update.title.or_empty().to_owned()),
                    json => TextBlock::input(update.meta.tool.name.or_empty(), json),
                });
            }
            if matches!(update.status.or_empty(), "completed" | "failed" | "cancelled") {
                push(found, Field::ToolOutput, output_text(&update.raw_output, &all));
            }
        }
        "turn_completed" => push(found, Field::Answer, update.agent_result.or_empty().to_owned()),
        "task_completed" => push(found, Field::ToolOutput, update.task.output.or_empty().to_owned()),
        _ => {}
    }
}

fn chat_item_blocks(item: &ChatItem<'_>, found: &mut Vec<TextBlock>) {
    let all = record::blocks(item.content);
    let text = text_of(&all).into_owned();
    match item.kind.get().or(item.role.get()).unwrap_or_default() {
        "user" => {
            let own = own_words(&text).1.to_owned();
            let by_harness = !matches!(
                item.synthetic_reason.or_empty(),
                "" | "interjection" | "agent_message" | "parent_agent_message"
            );
            push_words(found, text, own, &all, by_harness);
        }
        "assistant" => {
            if let Some(thought) = item.reasoning_content.get() {
                push(found, Field::Thinking, thought.to_owned());
            }
            if !text.trim().is_empty() {
                push(found, Field::Answer, text);
            }
            for call in &item.tool_calls.0 {
                let (name, input) = name_and_input(call);
                found.push(TextBlock::input(name, input));
            }
        }
        "reasoning" => push(found, Field::Thinking, text_of(&item.summary.0).into_owned()),
        "tool_result" | "tool" => push(found, Field::ToolOutput, text),
        "backend_tool_call" => found.push(TextBlock::input(
            item.backend.tool.or_empty(),
            item.backend.action.json(),
        )),
        _ => {}
    }
}

fn push(found: &mut Vec<TextBlock>, field: Field, text: String) {
    found.push(TextBlock::new(field, text));
}

/// Pushes a text of role `user`, with the human's own words separately if there is more around them.
fn push_words(found: &mut Vec<TextBlock>, text: String, own: String, all: &[GrokBlock<'_>], by_harness: bool) {
    let field = match by_harness || own.is_empty() {
        true => Field::Other,
        false => Field::Prompt,
    };
    let words = Some(own).filter(|own| !own.is_empty() && own != text.trim());
    let content = match text.is_empty() {
        true => BlockContent::Placeholder(placeholder(all)),
        false => BlockContent::Text(text),
    };
    found.push(TextBlock {
        role: Role::User,
        content,
        words,
        ..TextBlock::new(field, String::new())
    });
}

#[cfg(test)]
mod tests {
    use super::bodies;

    fn texts(line: &str) -> Vec<(String, Option<String>)> {
        bodies(line.as_bytes())
            .into_iter()
            .map(|body| (body.text, body.words))
            .collect()
    }

    #[test]
    fn all_blocks_of_a_line_are_returned() {
        let row = |update: &str| {
            texts(&format!(
                r#"{{"timestamp":1,"method":"session/update","params":{{"update":{update}}}}}"#
            ))
        };
        let said = row(
            r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"<user_query>go</user_query>"}}"#,
        );
        assert_eq!(
            said,
            [("<user_query>go</user_query>".to_owned(), Some("go".to_owned()))]
        );
        let call = row(
            r#"{"sessionUpdate":"tool_call","rawInput":{"a":1},"status":"completed","rawOutput":{"output":[104,105]}}"#,
        );
        assert_eq!(call, [("{\n  \"a\": 1\n}".to_owned(), None), ("hi".to_owned(), None)]);
        assert_eq!(row(r#"{"sessionUpdate":"tool_call_update","rawInput":{"a":1}}"#), []);
        assert_eq!(
            row(r#"{"sessionUpdate":"tool_call","title":"Run it"}"#),
            [("Run it".to_owned(), None)]
        );
    }

    #[test]
    fn a_chat_item_gives_its_reasoning_its_text_and_its_calls() {
        let item = r#"{"role":"assistant","content":"Reading.","reasoning_content":"Hm","tool_calls":[{"id":"c","function":{"name":"x","arguments":"[1]"}}]}"#;
        let texts: Vec<String> = texts(item).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["Hm", "Reading.", "[\n  1\n]"]);
        assert_eq!(bodies(b"{\"type\":"), []);
    }
}
