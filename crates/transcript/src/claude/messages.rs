//! The conversation: texts of users and the agent, queued prompts, and API calls.

use super::bills::UsageRow;
use super::queue::QueuedPrompt;
use super::record::{ClaudeBlock, ClaudeContent, ClaudeRecord, TaskRegistration};
use super::said::{ClaudeUserText, classify};
use super::{ClaudePosition, ClaudeState};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::ids::hash;
use crate::reading::Delta;
use crate::session::LineageKind;
use crate::wire::WireText;
use crate::wording::summary;

impl ClaudeState {
    pub(super) fn read_user(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        let Some(message) = &position.record.message.0 else {
            return;
        };
        match &message.content {
            ClaudeContent::Nothing => {}
            ClaudeContent::Text(text) => self.user_text(position, text, delta),
            ClaudeContent::Blocks(blocks) => {
                let is_result = |block: &ClaudeBlock<'_>| block.kind.or_empty() == "tool_result";
                let has_words = blocks
                    .iter()
                    .any(|block| block.text.get().is_some() || is_result(block));
                for block in blocks {
                    match block.kind.or_empty() {
                        "text" => self.user_text(position, block.text.or_empty(), delta),
                        "tool_result" => self.tool_result(position, block, delta),
                        // A picture belongs to the text or result beside it; on its own it is the prompt.
                        "image" | "document" if has_words => position.block += 1,
                        "image" | "document" => {
                            self.user_text(position, &format!("[{}]", block.kind.or_empty()), delta)
                        }
                        other => self.unknown_block(position, other, delta),
                    }
                }
            }
        }
    }

    fn user_text(&mut self, position: &mut ClaudePosition<'_>, text: &str, delta: &mut Delta) {
        let record = position.record;
        let after_caveat = self.caveat.is_some() && record.parent_uuid.get().map(hash) == self.caveat;
        let said = classify(record, text, self.is_delegated(record), after_caveat);
        match said {
            ClaudeUserText::Prompt(_) => self.queue.prompt_arrived(text),
            ClaudeUserText::Command { name, args, .. } => {
                self.queue.prompt_arrived(format!("{name} {args}").trim_end())
            }
            ClaudeUserText::Harness(_) => self.queue.record_arrived(text),
            _ => {}
        }
        if matches!(said, ClaudeUserText::Harness(said) if said.contains("Caveat: The messages below")) {
            self.caveat = record.uuid.get().map(hash);
        }
        self.push_user_text(position, &said, delta);
    }

    /// Pushes the event for a text of role `user`.
    pub(super) fn push_user_text(
        &mut self,
        position: &mut ClaudePosition<'_>,
        said: &ClaudeUserText<'_>,
        delta: &mut Delta,
    ) {
        let mut event = position.event(Kind::UserMsg, Role::User, Actor::Human);
        match said {
            ClaudeUserText::Nothing => {
                position.block += 1;
                return;
            }
            ClaudeUserText::Prompt(words) => {
                event.summary = summary(words);
                event.trigger = true;
                // A prompt sent while the agent was working steers it, even if it had to wait in the queue.
                let is_steering = position.record.prompt_source.get() == Some("queued");
                if self.is_rewind(position.record) || is_steering {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
            }
            ClaudeUserText::Command { name, args, local } => {
                event.summary = summary(format!("{name} {args}").trim_end());
                event.trigger = !local;
                if !local && self.is_rewind(position.record) {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
                if *name == "/rename" {
                    self.facts.set_title(args);
                }
            }
            ClaudeUserText::Shell(command) => event.summary = summary(&format!("! {command}")),
            ClaudeUserText::Note(note) => event.summary = summary(&format!("# {note}")),
            ClaudeUserText::Interrupt => {
                event.kinds = Kinds::of(Kind::Lifecycle).and(Kind::HumanIntervention);
                event.summary = "interrupted by the user".into();
            }
            ClaudeUserText::OtherAgent(words) => (event.actor, event.summary) = (Actor::OtherAgent, summary(words)),
            ClaudeUserText::Delegated(words) => (event.actor, event.summary) = (Actor::Agent, summary(words)),
            ClaudeUserText::Program(words) => (event.actor, event.summary) = (Actor::Harness, summary(words)),
            ClaudeUserText::Harness(words) => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(words);
            }
        }
        self.push(position, event, delta);
    }

    /// Returns `true` if the parent of a prompt is older than the last trigger, because then the human went back. A
    /// prompt whose parent is the newest record is no rewind, even if a steering prompt, which is not in the graph,
    /// came in between.
    fn is_rewind(&mut self, record: &ClaudeRecord<'_>) -> bool {
        if record.parent_uuid.is_null {
            let is_first = self.turns.count() == 0;
            self.begins_with_prompt |= is_first;
            return !is_first && self.begins_with_prompt && self.turns.rewind_to_start();
        }
        let above = record.parent_uuid.get().filter(|uuid| Some(hash(uuid)) != self.newest);
        match above.and_then(|uuid| self.nodes.seq(uuid)) {
            Some(Some(parent)) => self.turns.rewind_to(parent),
            // The record is known and nothing precedes it: the human went back to the very start.
            Some(None) => self.turns.rewind_to_start(),
            None => false,
        }
    }

    pub(super) fn is_delegated(&self, record: &ClaudeRecord<'_>) -> bool {
        record.is_sidechain.0 || self.facts.is_subagent()
    }

    pub(super) fn read_assistant(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        let record = position.record;
        let Some(message) = &record.message.0 else { return };
        let synthetic = message.model.or_empty() == "<synthetic>";
        if !record.is_sidechain.0 || self.facts.is_subagent() {
            self.facts.set_model(message.model.get().filter(|_| !synthetic));
        }
        let one;
        let blocks: &[ClaudeBlock<'_>] = match &message.content {
            ClaudeContent::Nothing => &[],
            ClaudeContent::Blocks(blocks) => blocks,
            ClaudeContent::Text(text) => {
                one = [ClaudeBlock {
                    kind: WireText(Some("text".into())),
                    text: WireText(Some(text.as_ref().into())),
                    ..ClaudeBlock::default()
                }];
                &one
            }
        };
        for block in blocks {
            self.assistant_block(position, block, synthetic, delta);
        }
        let ends = message.stop_reason.or_empty() == "end_turn" && !synthetic;
        if let Some(last) = delta.events[position.first..].last_mut()
            && ends
            && last.kinds.has(Kind::AssistantMsg)
        {
            last.kinds = last.kinds.and(Kind::Completion);
        }
    }

    fn assistant_block(
        &mut self,
        position: &mut ClaudePosition<'_>,
        block: &ClaudeBlock<'_>,
        synthetic: bool,
        delta: &mut Delta,
    ) {
        let record = position.record;
        let actor = if synthetic { Actor::Harness } else { Actor::Agent };
        let mut event = position.event(Kind::AssistantMsg, Role::Assistant, actor);
        match block.kind.or_empty() {
            "text" => event.summary = summary(block.text.or_empty()),
            "" if block.text.get().is_some() => event.summary = summary(block.text.or_empty()),
            "thinking" | "redacted_thinking" => {
                event.kinds = Kinds::of(Kind::Thinking);
                event.summary = summary(block.thinking.or_empty());
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => return self.tool_call(position, block, delta),
            "image" => event.summary = "[image]".into(),
            "fallback" => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(&format!("model fallback: {}", block.to.model.or_empty()));
            }
            kind if kind.ends_with("tool_result") => return self.tool_result(position, block, delta),
            other => return self.unknown_block(position, other, delta),
        }
        if record.is_api_error.0 {
            event.kinds = event.kinds.and(Kind::Error);
            event.success = Some(false);
        }
        if record.is_aborted.0 {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(position, event, delta);
    }

    /// Counts the API call that an assistant record is a row of.
    pub(super) fn count_call(&mut self, position: &ClaudePosition<'_>, delta: &mut Delta) {
        let record = position.record;
        let Some(message) = &record.message.0 else { return };
        let Some(usage) = &message.usage.0 else { return };
        if message.model.or_empty() == "<synthetic>" {
            return;
        }
        let fallback_id = record.uuid.get().map_or(position.line, hash);
        let row = UsageRow {
            message_id: message.id.get(),
            request_id: record.request_id.get(),
            fallback_id,
            model: message.model.get(),
            usage,
            ts: position.ts,
            line: position.line,
            turn: self.turns.current(),
            seq: delta.events.get(position.first).map(|event| event.seq),
            is_sidechain: record.is_sidechain.0,
            is_echo: false,
        };
        self.bills.add_row(&row, delta);
    }

    /// Reads a subagent's progress. The messages wrapped in it are billed calls unless the subagent's own log also
    /// has them.
    pub(super) fn read_progress(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        let data = &position.record.data;
        if data.kind.or_empty() != "agent_progress" {
            return;
        }
        if let Some(agent_id) = data.agent_id.get() {
            let call_id = position.record.parent_tool_use_id.or_empty();
            self.facts
                .add_child(LineageKind::Subagent, agent_id, call_id, position.line, None);
        }
        let Some(message) = &data.message.message.0 else { return };
        let Some(usage) = &message.usage.0 else { return };
        let Some(id) = message.id.get().filter(|_| message.model.or_empty() != "<synthetic>") else {
            return;
        };
        let row = UsageRow {
            message_id: Some(id),
            request_id: data.message.request_id.get(),
            fallback_id: 0,
            model: message.model.get(),
            usage,
            ts: data
                .message
                .timestamp
                .get()
                .and_then(|text| text.parse().ok())
                .or(position.ts),
            line: position.line,
            turn: self.turns.current(),
            seq: None,
            is_sidechain: true,
            is_echo: true,
        };
        self.bills.add_row(&row, delta);
    }

    pub(super) fn read_queue_operation(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        match position.record.operation.or_empty() {
            "enqueue" => self.enqueue(position),
            "dequeue" => self.queue.dequeue(),
            "popAll" => self.queue.clear(),
            "remove" => {
                let text = position.record.content.text();
                let by_human = |queued: &QueuedPrompt| queued.by_human && !self.facts.is_subagent();
                let Some(queued) = self.queue.remove(&text).filter(by_human) else {
                    return;
                };
                self.queue.add_delivered(&queued, self.next_seq, position.line);
                let mut event = position.event(Kind::UserMsg, Role::User, Actor::Human);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
                event.summary = queued
                    .text
                    .unwrap_or_else(|| "[queued prompt whose text the log does not hold]".into());
                event.text_line = Some(queued.line);
                event.trigger = queued.is_trigger;
                self.push(position, event, delta);
            }
            _ => {}
        }
    }

    /// Adds a text to the queue. The registration of a background task also names its subagent.
    fn enqueue(&mut self, position: &ClaudePosition<'_>) {
        let text = position.record.content.text();
        self.queue.enqueue(position.line, &text);
        if let Some(task) = TaskRegistration::parse(&text).filter(|task| task.kind.or_empty() == "local_agent") {
            let (call_id, label) = (task.call_id.or_empty(), task.description.get());
            let kind = LineageKind::Subagent;
            self.facts
                .add_child(kind, task.id.or_empty(), call_id, position.line, label);
        }
    }
}
