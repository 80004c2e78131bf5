//! The conversation: messages to the agent, its replies and its reasoning.

use super::echoes::TextChannel;
use super::record::{CodexContent, CodexPayload};
use super::said::{CodexUserText, classify, cwd_in, words};
use super::{CodexPosition, CodexState};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::reading::Delta;
use crate::wording::summary;

impl CodexState {
    /// Reads a message of the conversation, by its role.
    pub(super) fn message(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        match payload.role.or_empty() {
            "user" => self.user(position, &payload.content, payload.id.get(), TextChannel::Item, delta),
            "assistant" => self.reply(
                position,
                &words(&payload.content),
                payload.id.get(),
                TextChannel::Item,
                delta,
            ),
            // Developer and system messages are always the harness's.
            _ => {
                let text = payload.content.text();
                if text.trim_start().starts_with("<turn_aborted>") {
                    return self.interrupt(position, TextChannel::Item, delta);
                }
                self.harness(position, &text, true, delta);
            }
        }
    }

    /// Reads a text of role `user`, which may have another author than the human.
    pub(super) fn user(
        &mut self,
        position: &mut CodexPosition,
        content: &CodexContent<'_>,
        id: Option<&str>,
        channel: TextChannel,
        delta: &mut Delta,
    ) {
        match classify(content) {
            CodexUserText::Prompt(words) => self.prompt(position, &words, id, channel, delta),
            CodexUserText::Setup => {
                let text = content.text();
                self.facts.set_context_cwd(cwd_in(&text));
                self.harness(position, &text, true, delta);
            }
            CodexUserText::Harness => self.harness(position, &content.text(), false, delta),
            CodexUserText::Interrupt => self.interrupt(position, channel, delta),
            CodexUserText::Shell(command) => {
                self.continue_turn();
                let mut event = position.event(Kind::UserMsg, Role::User, self.prompt_actor());
                if event.actor == Actor::Human {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
                event.summary = summary(&format!("! {command}"));
                self.push(position, event, delta);
            }
            CodexUserText::OtherAgent => {
                self.continue_turn();
                let mut event = position.event(Kind::UserMsg, Role::User, Actor::OtherAgent);
                event.summary = summary(&content.text());
                self.push(position, event, delta);
            }
        }
    }

    fn prompt(
        &mut self,
        position: &mut CodexPosition,
        words: &str,
        id: Option<&str>,
        channel: TextChannel,
        delta: &mut Delta,
    ) {
        if self.echoes.is_prompt_echo(words, channel) {
            position.block += 1;
            return;
        }
        let actor = self.prompt_actor();
        let mut event = position.event(Kind::UserMsg, Role::User, actor);
        if let Some(id) = id {
            event.id = id.into();
        }
        event.summary = summary(words);
        event.trigger = actor == Actor::Human;
        if event.trigger && self.in_turn() {
            // The turn already has its prompt, so this text steers it while it runs.
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.prompted = true;
        self.meter.forget_call();
        self.push(position, event, delta);
    }

    /// Returns `true` if the agent is working on a prompt.
    fn in_turn(&self) -> bool {
        self.running && self.prompted
    }

    fn harness(&mut self, position: &mut CodexPosition, text: &str, prepare_turn: bool, delta: &mut Delta) {
        if prepare_turn {
            self.prepare_turn(position);
        } else {
            self.continue_turn();
        }
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(text);
        self.push(position, event, delta);
    }

    /// Reads the interrupt of a turn. Two records report it, in any order.
    pub(super) fn interrupt(&mut self, position: &mut CodexPosition, channel: TextChannel, delta: &mut Delta) {
        self.turns.continue_open();
        (self.running, self.prompted) = (false, false);
        if self.echoes.is_interrupt_echo(channel) {
            position.block += 1;
            return;
        }
        let by_human = self.prompt_actor() == Actor::Human;
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        if by_human {
            event.actor = Actor::Human;
            event.kinds = Kinds::of(Kind::Lifecycle).and(Kind::HumanIntervention);
        }
        event.summary = if by_human {
            "interrupted by the user"
        } else {
            "interrupted"
        }
        .into();
        self.push(position, event, delta);
    }

    /// Reads a reply of the agent.
    pub(super) fn reply(
        &mut self,
        position: &mut CodexPosition,
        text: &str,
        id: Option<&str>,
        channel: TextChannel,
        delta: &mut Delta,
    ) {
        self.continue_turn();
        if text.is_empty() || self.echoes.is_echo(text, channel) {
            position.block += 1;
            return;
        }
        let mut event = position.event(Kind::AssistantMsg, Role::Assistant, Actor::Agent);
        if let Some(id) = id {
            event.id = id.into();
        }
        event.summary = summary(text);
        self.push_agent_event(position, event, delta);
    }

    /// Reads the readable parts of the agent's reasoning. Each part may be an echo.
    pub(super) fn reasoning(
        &mut self,
        position: &mut CodexPosition,
        parts: &[&CodexContent<'_>],
        id: Option<&str>,
        channel: TextChannel,
        delta: &mut Delta,
    ) {
        self.continue_turn();
        let mut new_texts = Vec::new();
        let mut echoes = 0;
        for content in parts {
            let texts: Vec<String> = match content {
                CodexContent::Nothing => Vec::new(),
                CodexContent::Text(text) => vec![text.to_string()],
                CodexContent::Parts(parts) => parts.iter().map(|part| part.words().into_owned()).collect(),
            };
            for text in texts.into_iter().filter(|text| !text.trim().is_empty()) {
                if self.echoes.is_echo(&text, channel) {
                    echoes += 1;
                } else {
                    new_texts.push(text);
                }
            }
        }
        // The item already gave an event for encrypted reasoning, so an event without text is its echo.
        if new_texts.is_empty() && (echoes > 0 || channel == TextChannel::Event) {
            position.block += 1;
            return;
        }
        let mut event = position.event(Kind::Thinking, Role::Assistant, Actor::Agent);
        if let Some(id) = id {
            event.id = id.into();
        }
        event.summary = summary(&new_texts.join("\n"));
        self.push_agent_event(position, event, delta);
    }

    /// Reads a message between this agent and another one.
    pub(super) fn other_agent(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        self.continue_turn();
        let mut event = position.event(Kind::UserMsg, Role::User, Actor::OtherAgent);
        if let Some(id) = payload.id.get() {
            event.id = id.into();
        }
        let (from, to) = (payload.author.or_empty(), payload.recipient.or_empty());
        event.summary = summary(&format!("{from} → {to}: {}", payload.content.text()));
        self.push(position, event, delta);
    }
}
