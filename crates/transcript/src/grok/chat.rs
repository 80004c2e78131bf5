//! `chat_history.jsonl`: what the model was shown last. It is rewritten when the conversation is compacted and has no
//! times, so it is only used if the log is missing. There are two formats, which one file may mix.

use super::record::{Block, Item, ItemCall, blocks, text_of};
use super::said::{Marks, judge};
use super::tools::{Asked, Gave};
use super::{Place, State, Taken, unknown};
use crate::event::{Actor, Kind, PartKind, Role};
use crate::reading::{Delta, Fate};
use crate::session::InheritedRule;
use crate::wording::summary;

impl State {
    pub(super) fn take_item(&mut self, item: &Item<'_>, taken: &mut Taken, delta: &mut Delta) {
        // The log contains the same conversation with more detail.
        if self.conversation != Some(PartKind::ChatHistory) {
            taken.was(Fate::Skipped);
            return;
        }
        let mut place = Place::new(PartKind::ChatHistory, taken, self.next_seq, delta);
        place.is_inherited =
            place.line <= self.facts.inherited_items() && self.facts.inherits(InheritedRule::Prefix, place.line);
        self.facts.model(item.model_id.get());
        let kind = item.kind.get().or(item.role.get()).unwrap_or_default();
        let is_known = match kind {
            "system" => true,
            "user" => self.user_item(&mut place, item, delta),
            "assistant" => self.assistant_item(&mut place, item, delta),
            "reasoning" => {
                self.thought(&mut place, &text_of(&item.summary.0), delta);
                true
            }
            "tool_result" | "tool" => {
                let gave = Gave {
                    id: item.call_id.or_empty(),
                    text: &text_of(&blocks(item.content)),
                    success: None,
                    exit_code: None,
                };
                self.result(&mut place, &gave, delta);
                true
            }
            "backend_tool_call" => self.backend_call(&mut place, item, delta),
            _ => false,
        };
        if !is_known {
            unknown(None, &format!("chat_history/{kind}"), delta);
        }
        self.row_over(&place, is_known, taken, delta);
    }

    fn user_item(&mut self, place: &mut Place<'_>, item: &Item<'_>, delta: &mut Delta) -> bool {
        let all = blocks(item.content);
        let text = match text_of(&all) {
            text if text.is_empty() && !all.is_empty() => picture(&all).into(),
            text => text,
        };
        let reason = item.synthetic_reason.or_empty();
        let marks = Marks {
            is_interjection: reason == "interjection",
            is_from_agent: matches!(reason, "agent_message" | "parent_agent_message"),
            is_made_up: !matches!(reason, "" | "interjection" | "agent_message" | "parent_agent_message"),
            ..Marks::default()
        };
        let said = judge(&text, &marks, self.facts.speaker());
        let id = place.id(place.block);
        let is_trigger = self.say(place, said, &id, false, delta);
        if is_trigger
            && item.prior_turn_interrupt.get().is_some()
            && let Some(event) = delta.events.last_mut()
        {
            // The human stopped the previous turn and says what to do instead.
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        true
    }

    fn assistant_item(&mut self, place: &mut Place<'_>, item: &Item<'_>, delta: &mut Delta) -> bool {
        if let Some(thought) = item.reasoning_content.get() {
            self.thought(place, thought, delta);
        }
        let text = text_of(&blocks(item.content));
        if !text.trim().is_empty() {
            let mut event = place.event(Kind::AssistantMsg, Role::Assistant, Actor::Agent);
            event.summary = summary(&text);
            self.push(place, event, delta);
        }
        for call in &item.tool_calls.0 {
            let (name, input) = name_and_input(call);
            let asked = Asked {
                id: call.id.get(),
                tool: name,
                kind: "",
                input,
                title: name,
            };
            self.call(place, &asked, Vec::new(), delta);
        }
        true
    }

    fn thought(&mut self, place: &mut Place<'_>, text: &str, delta: &mut Delta) {
        let mut event = place.event(Kind::Thinking, Role::Assistant, Actor::Agent);
        event.summary = summary(text);
        self.push(place, event, delta);
    }

    /// Reads a call of a tool that ran on the server. Its result is not in the file.
    fn backend_call(&mut self, place: &mut Place<'_>, item: &Item<'_>, delta: &mut Delta) -> bool {
        let backend = &item.backend;
        let tool = backend.tool.get().unwrap_or("backend tool");
        let asked = Asked {
            id: None,
            tool,
            kind: "",
            input: backend.action.json(),
            title: tool,
        };
        self.call(place, &asked, Vec::new(), delta);
        if let Some(event) = delta.events.last_mut() {
            event.call_id = backend.id.get().map(Into::into);
            event.success = match backend.status.or_empty() {
                "completed" => Some(true),
                "failed" => Some(false),
                _ => None,
            };
        }
        true
    }
}

/// Returns the name and the input of a call, in either format.
pub(super) fn name_and_input<'r>(call: &'r ItemCall<'r>) -> (&'r str, &'r str) {
    let name = call.name.get().or(call.function.name.get()).unwrap_or("tool");
    let input = call.arguments.get().or(call.function.arguments.get());
    (name, input.unwrap_or_default())
}

/// Returns the placeholder for a message without text.
pub(super) fn picture(all: &[Block<'_>]) -> String {
    let kind = all.first().and_then(|block| block.kind.get());
    format!("[{}]", kind.unwrap_or("attachment"))
}
