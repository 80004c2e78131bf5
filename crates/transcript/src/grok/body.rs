//! The full texts of the events of one line, parsed again from the line when a caller wants to show them. The three
//! files with lines are distinguished by their keys.

use super::chat::{name_and_input, picture};
use super::record::{self, Block, Envelope, Item, Params, text_of};
use super::said::{is_made_up, words};
use super::tools::output_text;
use crate::event::Role;
use crate::records::{each, trim};
use crate::state::Body;
use crate::texts::{self as told, Field, Told};
use crate::wire::{Raw, wire};
use crate::wording::pretty;

wire! {
    struct Shape<'a> {
        params: Raw<'a> = "params",
    }
}

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

/// Returns the blocks of a line, in the order in which the reader numbers them.
pub(crate) fn blocks(line: &[u8]) -> Vec<told::Block> {
    let mut told = Vec::new();
    each(trim(line), &[], &mut |json| {
        let shape: Shape<'_> = serde_json::from_slice(json)?;
        if shape.params.0.is_some() {
            let row: Envelope<'_> = serde_json::from_slice(json)?;
            of_update(&row.params, &mut told);
        } else {
            let item: Item<'_> = serde_json::from_slice(json)?;
            of_item(&item, &mut told);
        }
        Ok(())
    });
    told
}

fn of_update(params: &Params<'_>, told: &mut Vec<told::Block>) {
    let update = &params.update;
    let all = record::blocks(update.content);
    match update.kind.or_empty() {
        "user_message_chunk" => {
            let text = text_of(&all).into_owned();
            let shown = all.first().and_then(|block| block.meta.display_text.get());
            let own = shown.map_or_else(|| words(&text).1.to_owned(), str::to_owned);
            let made_up = is_made_up(params.meta.prompt_id.or_empty()) || update.meta.is_hidden.0;
            push_words(told, text, own, &all, made_up);
        }
        "agent_message_chunk" => push(told, Field::Answer, text_of(&all).into_owned()),
        "agent_thought_chunk" => push(told, Field::Thinking, text_of(&all).into_owned()),
        kind @ ("tool_call" | "tool_call_update") => {
            if kind == "tool_call" {
                told.push(match update.raw_input.json() {
                    "" => told::Block::new(Field::ToolInput, update.title.or_empty().to_owned()),
                    json => told::Block::input(update.meta.tool.name.or_empty(), json),
                });
            }
            if matches!(update.status.or_empty(), "completed" | "failed" | "cancelled") {
                push(told, Field::ToolOutput, output_text(&update.raw_output, &all));
            }
        }
        "turn_completed" => push(told, Field::Answer, update.agent_result.or_empty().to_owned()),
        "task_completed" => push(told, Field::ToolOutput, update.task.output.or_empty().to_owned()),
        _ => {}
    }
}

fn of_item(item: &Item<'_>, told: &mut Vec<told::Block>) {
    let all = record::blocks(item.content);
    let text = text_of(&all).into_owned();
    match item.kind.get().or(item.role.get()).unwrap_or_default() {
        "user" => {
            let own = words(&text).1.to_owned();
            let by_harness = !matches!(
                item.synthetic_reason.or_empty(),
                "" | "interjection" | "agent_message" | "parent_agent_message"
            );
            push_words(told, text, own, &all, by_harness);
        }
        "assistant" => {
            if let Some(thought) = item.reasoning_content.get() {
                push(told, Field::Thinking, thought.to_owned());
            }
            if !text.trim().is_empty() {
                push(told, Field::Answer, text);
            }
            for call in &item.tool_calls.0 {
                let (name, input) = name_and_input(call);
                told.push(told::Block::input(name, input));
            }
        }
        "reasoning" => push(told, Field::Thinking, text_of(&item.summary.0).into_owned()),
        "tool_result" | "tool" => push(told, Field::ToolOutput, text),
        "backend_tool_call" => told.push(told::Block::input(
            item.backend.tool.or_empty(),
            item.backend.action.json(),
        )),
        _ => {}
    }
}

fn push(told: &mut Vec<told::Block>, field: Field, text: String) {
    told.push(told::Block::new(field, text));
}

/// Pushes a text of role `user`, with the human's own words separately if there is more around them.
fn push_words(told: &mut Vec<told::Block>, text: String, own: String, all: &[Block<'_>], by_harness: bool) {
    let field = match by_harness || own.is_empty() {
        true => Field::Other,
        false => Field::Prompt,
    };
    let words = Some(own).filter(|own| !own.is_empty() && own != text.trim());
    let said = match text.is_empty() {
        true => Told::Sign(picture(all)),
        false => Told::Text(text),
    };
    told.push(told::Block {
        role: Role::User,
        told: said,
        words,
        ..told::Block::new(field, String::new())
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
    fn the_blocks_of_a_line_are_given_whole() {
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
    fn an_item_of_the_context_gives_its_thought_its_words_and_its_calls() {
        let item = r#"{"role":"assistant","content":"Reading.","reasoning_content":"Hm","tool_calls":[{"id":"c","function":{"name":"x","arguments":"[1]"}}]}"#;
        let texts: Vec<String> = texts(item).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["Hm", "Reading.", "[\n  1\n]"]);
        assert_eq!(bodies(b"{\"type\":"), []);
    }
}
