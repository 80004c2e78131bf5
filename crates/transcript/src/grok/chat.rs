//! `chat_history.jsonl`: what the model was shown last. It is rewritten when the conversation is compacted and has no
//! times, so it is only used if the log is missing. There are two formats, which one file may mix.

use super::record::{ChatItem, ChatToolCall, GrokBlock, blocks, text_of};
use super::said::{RowMarks, classify};
use super::tools::{GrokResult, GrokToolCall};
use super::{GrokLineProgress, GrokState, RowPosition, unknown};
use crate::event::{Actor, Kind, PartKind, Role};
use crate::reading::{Delta, Fate};
use crate::session::InheritedRule;
use crate::wording::summary;

impl GrokState {
    pub(super) fn read_chat_item(&mut self, item: &ChatItem<'_>, progress: &mut GrokLineProgress, delta: &mut Delta) {
        // The log contains the same conversation with more detail.
        if self.conversation != Some(PartKind::ChatHistory) {
            progress.add_fate(Fate::Skipped);
            return;
        }
        let mut position = RowPosition::new(PartKind::ChatHistory, progress, self.next_seq, delta);
        position.is_inherited = position.line <= self.facts.inherited_items()
            && self.facts.mark_inherited(InheritedRule::Prefix, position.line);
        self.facts.set_model(item.model_id.get());
        let kind = item.kind.get().or(item.role.get()).unwrap_or_default();
        let is_known = match kind {
            "system" => true,
            "user" => self.user_item(&mut position, item, delta),
            "assistant" => self.assistant_item(&mut position, item, delta),
            "reasoning" => {
                self.thought(&mut position, &text_of(&item.summary.0), delta);
                true
            }
            "tool_result" | "tool" => {
                let result = GrokResult {
                    id: item.call_id.or_empty(),
                    text: &text_of(&blocks(item.content)),
                    success: None,
                    exit_code: None,
                };
                self.push_result(&mut position, &result, delta);
                true
            }
            "backend_tool_call" => self.backend_call(&mut position, item, delta),
            _ => false,
        };
        if !is_known {
            unknown(None, &format!("chat_history/{kind}"), delta);
        }
        self.finish_row(&position, is_known, progress, delta);
    }

    fn user_item(&mut self, position: &mut RowPosition<'_>, item: &ChatItem<'_>, delta: &mut Delta) -> bool {
        let all = blocks(item.content);
        let text = match text_of(&all) {
            text if text.is_empty() && !all.is_empty() => placeholder(&all).into(),
            text => text,
        };
        let reason = item.synthetic_reason.or_empty();
        let marks = RowMarks {
            is_interjection: reason == "interjection",
            is_from_agent: matches!(reason, "agent_message" | "parent_agent_message"),
            is_generated: !matches!(reason, "" | "interjection" | "agent_message" | "parent_agent_message"),
            ..RowMarks::default()
        };
        let user_text = classify(&text, &marks, self.facts.prompt_source());
        let id = position.id(position.block);
        let is_trigger = self.push_user_text(position, user_text, &id, false, delta);
        if is_trigger
            && item.prior_turn_interrupt.get().is_some()
            && let Some(event) = delta.events.last_mut()
        {
            // The human stopped the previous turn and says what to do instead.
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        true
    }

    fn assistant_item(&mut self, position: &mut RowPosition<'_>, item: &ChatItem<'_>, delta: &mut Delta) -> bool {
        if let Some(thought) = item.reasoning_content.get() {
            self.thought(position, thought, delta);
        }
        let text = text_of(&blocks(item.content));
        if !text.trim().is_empty() {
            let mut event = position.event(Kind::AssistantMsg, Role::Assistant, Actor::Agent);
            event.summary = summary(&text);
            self.push(position, event, delta);
        }
        for call in &item.tool_calls.0 {
            let (name, input) = name_and_input(call);
            let call = GrokToolCall {
                id: call.id.get(),
                tool: name,
                kind: "",
                input,
                title: name,
            };
            self.push_call(position, &call, Vec::new(), delta);
        }
        true
    }

    fn thought(&mut self, position: &mut RowPosition<'_>, text: &str, delta: &mut Delta) {
        let mut event = position.event(Kind::Thinking, Role::Assistant, Actor::Agent);
        event.summary = summary(text);
        self.push(position, event, delta);
    }

    /// Reads a call of a tool that ran on the server. Its result is not in the file.
    fn backend_call(&mut self, position: &mut RowPosition<'_>, item: &ChatItem<'_>, delta: &mut Delta) -> bool {
        let backend = &item.backend;
        let tool = backend.tool.get().unwrap_or("backend tool");
        let call = GrokToolCall {
            id: None,
            tool,
            kind: "",
            input: backend.action.json(),
            title: tool,
        };
        self.push_call(position, &call, Vec::new(), delta);
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
pub(super) fn name_and_input<'r>(call: &'r ChatToolCall<'r>) -> (&'r str, &'r str) {
    let name = call.name.get().or(call.function.name.get()).unwrap_or("tool");
    let input = call.arguments.get().or(call.function.arguments.get());
    (name, input.unwrap_or_default())
}

/// Returns the placeholder for a message without text.
pub(super) fn placeholder(all: &[GrokBlock<'_>]) -> String {
    let kind = all.first().and_then(|block| block.kind.get());
    format!("[{}]", kind.unwrap_or("attachment"))
}
