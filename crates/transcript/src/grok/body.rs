//! The full text of the events of one line, taken from the line again when somebody wants to see it. The three
//! files with lines are told apart by their shape.

use super::chat::{name_and_input, picture};
use super::record::{Envelope, Item, Update, blocks, text_of};
use super::said::words;
use super::tools::output_text;
use crate::records::{each, trim};
use crate::state::Body;
use crate::wire::{Raw, wire};
use crate::wording::pretty;

wire! {
    struct Shape<'a> {
        params: Raw<'a> = "params",
    }
}

/// The texts of all blocks of a line, in the order in which the reader numbers them.
pub(crate) fn bodies(line: &[u8]) -> Vec<Body> {
    let mut bodies = Vec::new();
    each(trim(line), &[], &mut |json| {
        let shape: Shape<'_> = serde_json::from_slice(json)?;
        if shape.params.0.is_some() {
            let row: Envelope<'_> = serde_json::from_slice(json)?;
            of_update(&row.params.update, &mut bodies);
        } else {
            let item: Item<'_> = serde_json::from_slice(json)?;
            of_item(&item, &mut bodies);
        }
        Ok(())
    });
    bodies
}

fn of_update(update: &Update<'_>, bodies: &mut Vec<Body>) {
    let all = blocks(update.content);
    match update.kind.or_empty() {
        "user_message_chunk" => {
            let text = text_of(&all).into_owned();
            let shown = all.first().and_then(|block| block.meta.display_text.get());
            let own = shown.map_or_else(|| words(&text).1.to_owned(), str::to_owned);
            let text = if text.is_empty() { picture(&all) } else { text };
            push_words(bodies, text, own);
        }
        "agent_message_chunk" | "agent_thought_chunk" => push(bodies, text_of(&all).into_owned()),
        kind @ ("tool_call" | "tool_call_update") => {
            let input = pretty(update.raw_input.json());
            if kind == "tool_call" {
                push(
                    bodies,
                    if input.is_empty() {
                        update.title.or_empty().to_owned()
                    } else {
                        input
                    },
                );
            }
            if matches!(update.status.or_empty(), "completed" | "failed" | "cancelled") {
                push(bodies, output_text(&update.raw_output, &all));
            }
        }
        "turn_completed" => push(bodies, update.agent_result.or_empty().to_owned()),
        "task_completed" => push(bodies, update.task.output.or_empty().to_owned()),
        _ => {}
    }
}

fn of_item(item: &Item<'_>, bodies: &mut Vec<Body>) {
    let all = blocks(item.content);
    let text = text_of(&all).into_owned();
    match item.kind.get().or(item.role.get()).unwrap_or_default() {
        "user" => {
            let own = words(&text).1.to_owned();
            let text = if text.is_empty() { picture(&all) } else { text };
            push_words(bodies, text, own);
        }
        "assistant" => {
            if let Some(thought) = item.reasoning_content.get() {
                push(bodies, thought.to_owned());
            }
            if !text.trim().is_empty() {
                push(bodies, text);
            }
            for call in &item.tool_calls.0 {
                push(bodies, pretty(name_and_input(call).1));
            }
        }
        "reasoning" => push(bodies, text_of(&item.summary.0).into_owned()),
        "tool_result" | "tool" => push(bodies, text),
        "backend_tool_call" => push(bodies, pretty(item.backend.action.json())),
        _ => {}
    }
}

fn push(bodies: &mut Vec<Body>, text: String) {
    bodies.push(Body { text, words: None });
}

/// The human's own words are told apart where more stands around them.
fn push_words(bodies: &mut Vec<Body>, text: String, own: String) {
    let words = Some(own).filter(|own| !own.is_empty() && own != text.trim());
    bodies.push(Body { text, words });
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
