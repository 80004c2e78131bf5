//! The conversation: texts of users and the agent, queued prompts, and API calls.

use super::bills::Row;
use super::queue::Queued;
use super::record::{Block, Content, Record, Task};
use super::said::{Said, judge};
use super::{Place, State};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::ids::hash;
use crate::reading::Delta;
use crate::session::LineageKind;
use crate::wire::Text;
use crate::wording::summary;

impl State {
    pub(super) fn user(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        let Some(message) = &place.record.message.0 else { return };
        match &message.content {
            Content::Nothing => {}
            Content::Text(text) => self.user_text(place, text, delta),
            Content::Blocks(blocks) => {
                let is_result = |block: &Block<'_>| block.kind.or_empty() == "tool_result";
                let has_words = blocks
                    .iter()
                    .any(|block| block.text.get().is_some() || is_result(block));
                for block in blocks {
                    match block.kind.or_empty() {
                        "text" => self.user_text(place, block.text.or_empty(), delta),
                        "tool_result" => self.tool_result(place, block, delta),
                        // A picture belongs to the text or result beside it; on its own it is the prompt.
                        "image" | "document" if has_words => place.block += 1,
                        "image" | "document" => self.user_text(place, &format!("[{}]", block.kind.or_empty()), delta),
                        other => self.unknown_block(place, other, delta),
                    }
                }
            }
        }
    }

    fn user_text(&mut self, place: &mut Place<'_>, text: &str, delta: &mut Delta) {
        let record = place.record;
        let after_caveat = self.caveat.is_some() && record.parent_uuid.get().map(hash) == self.caveat;
        let said = judge(record, text, self.is_delegated(record), after_caveat);
        match said {
            Said::Prompt(_) => self.queue.came(text),
            Said::Command { name, args, .. } => self.queue.came(format!("{name} {args}").trim_end()),
            Said::Harness(_) => self.queue.arrived(text),
            _ => {}
        }
        if matches!(said, Said::Harness(said) if said.contains("Caveat: The messages below")) {
            self.caveat = record.uuid.get().map(hash);
        }
        self.say(place, &said, delta);
    }

    /// Pushes the event for a text of role `user`.
    pub(super) fn say(&mut self, place: &mut Place<'_>, said: &Said<'_>, delta: &mut Delta) {
        let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
        match said {
            Said::Nothing => {
                place.block += 1;
                return;
            }
            Said::Prompt(words) => {
                event.summary = summary(words);
                event.trigger = true;
                // A prompt sent while the agent was working steers it, even if it had to wait in the queue.
                let steers = place.record.prompt_source.get() == Some("queued");
                if self.is_rewind(place.record) || steers {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
            }
            Said::Command { name, args, local } => {
                event.summary = summary(format!("{name} {args}").trim_end());
                event.trigger = !local;
                if !local && self.is_rewind(place.record) {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
                if *name == "/rename" {
                    self.facts.renamed(args);
                }
            }
            Said::Shell(command) => event.summary = summary(&format!("! {command}")),
            Said::Note(note) => event.summary = summary(&format!("# {note}")),
            Said::Interrupt => {
                event.kinds = Kinds::of(Kind::Lifecycle).and(Kind::HumanIntervention);
                event.summary = "interrupted by the user".into();
            }
            Said::OtherAgent(words) => (event.actor, event.summary) = (Actor::OtherAgent, summary(words)),
            Said::Delegated(words) => (event.actor, event.summary) = (Actor::Agent, summary(words)),
            Said::Program(words) => (event.actor, event.summary) = (Actor::Harness, summary(words)),
            Said::Harness(words) => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(words);
            }
        }
        self.push(place, event, delta);
    }

    /// Returns `true` if the parent of a prompt is older than the last trigger, because then the human went back. A
    /// prompt whose parent is the newest record is no rewind, even if a steering prompt, which is not in the graph,
    /// came in between.
    fn is_rewind(&mut self, record: &Record<'_>) -> bool {
        if record.parent_uuid.is_null {
            let is_first = self.turns.count() == 0;
            self.begins_with_prompt |= is_first;
            return !is_first && self.begins_with_prompt && self.turns.rewind_to_the_beginning();
        }
        let above = record.parent_uuid.get().filter(|uuid| Some(hash(uuid)) != self.newest);
        match above.and_then(|uuid| self.nodes.seq(uuid)) {
            Some(Some(parent)) => self.turns.rewind_to(parent),
            // The record is known and nothing precedes it: the human went back to the very start.
            Some(None) => self.turns.rewind_to_the_beginning(),
            None => false,
        }
    }

    pub(super) fn is_delegated(&self, record: &Record<'_>) -> bool {
        record.is_sidechain.0 || self.facts.is_subagent()
    }

    pub(super) fn assistant(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        let record = place.record;
        let Some(message) = &record.message.0 else { return };
        let synthetic = message.model.or_empty() == "<synthetic>";
        if !record.is_sidechain.0 || self.facts.is_subagent() {
            self.facts.model(message.model.get().filter(|_| !synthetic));
        }
        let one;
        let blocks: &[Block<'_>] = match &message.content {
            Content::Nothing => &[],
            Content::Blocks(blocks) => blocks,
            Content::Text(text) => {
                one = [Block {
                    kind: Text(Some("text".into())),
                    text: Text(Some(text.as_ref().into())),
                    ..Block::default()
                }];
                &one
            }
        };
        for block in blocks {
            self.assistant_block(place, block, synthetic, delta);
        }
        let ends = message.stop_reason.or_empty() == "end_turn" && !synthetic;
        if let Some(last) = delta.events[place.first..].last_mut()
            && ends
            && last.kinds.has(Kind::AssistantMsg)
        {
            last.kinds = last.kinds.and(Kind::Completion);
        }
    }

    fn assistant_block(&mut self, place: &mut Place<'_>, block: &Block<'_>, synthetic: bool, delta: &mut Delta) {
        let record = place.record;
        let actor = if synthetic { Actor::Harness } else { Actor::Agent };
        let mut event = place.event(Kind::AssistantMsg, Role::Assistant, actor);
        match block.kind.or_empty() {
            "text" => event.summary = summary(block.text.or_empty()),
            "" if block.text.get().is_some() => event.summary = summary(block.text.or_empty()),
            "thinking" | "redacted_thinking" => {
                event.kinds = Kinds::of(Kind::Thinking);
                event.summary = summary(block.thinking.or_empty());
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => return self.tool_call(place, block, delta),
            "image" => event.summary = "[image]".into(),
            "fallback" => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(&format!("model fallback: {}", block.to.model.or_empty()));
            }
            kind if kind.ends_with("tool_result") => return self.tool_result(place, block, delta),
            other => return self.unknown_block(place, other, delta),
        }
        if record.is_api_error.0 {
            event.kinds = event.kinds.and(Kind::Error);
            event.success = Some(false);
        }
        if record.is_aborted.0 {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(place, event, delta);
    }

    /// Counts the API call that an assistant record is a row of.
    pub(super) fn bill(&mut self, place: &Place<'_>, delta: &mut Delta) {
        let record = place.record;
        let Some(message) = &record.message.0 else { return };
        let Some(usage) = &message.usage.0 else { return };
        if message.model.or_empty() == "<synthetic>" {
            return;
        }
        let fallback_id = record.uuid.get().map_or(place.line, hash);
        let row = Row {
            message_id: message.id.get(),
            request_id: record.request_id.get(),
            fallback_id,
            model: message.model.get(),
            usage,
            ts: place.ts,
            line: place.line,
            turn: self.turns.current(),
            seq: delta.events.get(place.first).map(|event| event.seq),
            is_sidechain: record.is_sidechain.0,
            is_echo: false,
        };
        self.bills.take(&row, delta);
    }

    /// Reads a subagent's progress. The messages wrapped in it are billed calls unless the subagent's own log also
    /// has them.
    pub(super) fn progress(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        let data = &place.record.data;
        if data.kind.or_empty() != "agent_progress" {
            return;
        }
        if let Some(agent_id) = data.agent_id.get() {
            let call_id = place.record.parent_tool_use_id.or_empty();
            self.facts
                .child(LineageKind::Subagent, agent_id, call_id, place.line, None);
        }
        let Some(message) = &data.message.message.0 else { return };
        let Some(usage) = &message.usage.0 else { return };
        let Some(id) = message.id.get().filter(|_| message.model.or_empty() != "<synthetic>") else {
            return;
        };
        let row = Row {
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
                .or(place.ts),
            line: place.line,
            turn: self.turns.current(),
            seq: None,
            is_sidechain: true,
            is_echo: true,
        };
        self.bills.take(&row, delta);
    }

    pub(super) fn queue_operation(&mut self, place: &mut Place<'_>, delta: &mut Delta) {
        match place.record.operation.or_empty() {
            "enqueue" => self.enqueue(place),
            "dequeue" => self.queue.dequeue(),
            "popAll" => self.queue.clear(),
            "remove" => {
                let told = place.record.content.text();
                let by_human = |queued: &Queued| queued.by_human && !self.facts.is_subagent();
                let Some(queued) = self.queue.remove(&told).filter(by_human) else {
                    return;
                };
                self.queue.delivered(&queued, self.next_seq, place.line);
                let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
                event.summary = queued
                    .text
                    .unwrap_or_else(|| "[queued prompt whose text the log does not hold]".into());
                event.text_line = Some(queued.line);
                event.trigger = queued.is_trigger;
                self.push(place, event, delta);
            }
            _ => {}
        }
    }

    /// Adds a text to the queue. The registration of a background task also names its subagent.
    fn enqueue(&mut self, place: &Place<'_>) {
        let text = place.record.content.text();
        self.queue.enqueue(place.line, &text);
        if let Some(task) = Task::read(&text).filter(|task| task.kind.or_empty() == "local_agent") {
            let (call_id, label) = (task.call_id.or_empty(), task.description.get());
            let kind = LineageKind::Subagent;
            self.facts.child(kind, task.id.or_empty(), call_id, place.line, label);
        }
    }
}
