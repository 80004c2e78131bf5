//! The conversation: messages to the agent, its replies and its reasoning.

use super::echoes::Voice;
use super::record::{Content, Payload};
use super::said::{Said, cwd_in, judge, words};
use super::{Place, State};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::reading::Delta;
use crate::wording::summary;

impl State {
    /// Reads a message of the conversation, by its role.
    pub(super) fn message(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        match payload.role.or_empty() {
            "user" => self.user(place, &payload.content, payload.id.get(), Voice::Item, delta),
            "assistant" => self.reply(place, &words(&payload.content), payload.id.get(), Voice::Item, delta),
            // Developer and system messages are always the harness's.
            _ => {
                let text = payload.content.text();
                if text.trim_start().starts_with("<turn_aborted>") {
                    return self.interrupt(place, Voice::Item, delta);
                }
                self.harness(place, &text, true, delta);
            }
        }
    }

    /// Reads a text of role `user`, which may have another author than the human.
    pub(super) fn user(
        &mut self,
        place: &mut Place,
        content: &Content<'_>,
        id: Option<&str>,
        voice: Voice,
        delta: &mut Delta,
    ) {
        match judge(content) {
            Said::Prompt(words) => self.prompt(place, &words, id, voice, delta),
            Said::Setup => {
                let text = content.text();
                self.facts.surroundings(cwd_in(&text));
                self.harness(place, &text, true, delta);
            }
            Said::Harness => self.harness(place, &content.text(), false, delta),
            Said::Interrupt => self.interrupt(place, voice, delta),
            Said::Shell(command) => {
                self.goes_on();
                let mut event = place.event(Kind::UserMsg, Role::User, self.asks());
                if event.actor == Actor::Human {
                    event.kinds = event.kinds.and(Kind::HumanIntervention);
                }
                event.summary = summary(&format!("! {command}"));
                self.push(place, event, delta);
            }
            Said::OtherAgent => {
                self.goes_on();
                let mut event = place.event(Kind::UserMsg, Role::User, Actor::OtherAgent);
                event.summary = summary(&content.text());
                self.push(place, event, delta);
            }
        }
    }

    fn prompt(&mut self, place: &mut Place, words: &str, id: Option<&str>, voice: Voice, delta: &mut Delta) {
        if self.echoes.is_prompt_echo(words, voice) {
            place.block += 1;
            return;
        }
        let actor = self.asks();
        let mut event = place.event(Kind::UserMsg, Role::User, actor);
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
        self.meter.forget();
        self.push(place, event, delta);
    }

    /// Returns `true` if the agent is working on a prompt.
    fn in_turn(&self) -> bool {
        self.running && self.prompted
    }

    fn harness(&mut self, place: &mut Place, text: &str, sets_up: bool, delta: &mut Delta) {
        if sets_up {
            self.sets_up(place);
        } else {
            self.goes_on();
        }
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.summary = summary(text);
        self.push(place, event, delta);
    }

    /// Reads the interrupt of a turn. Two records report it, in any order.
    pub(super) fn interrupt(&mut self, place: &mut Place, voice: Voice, delta: &mut Delta) {
        self.turns.go_on();
        (self.running, self.prompted) = (false, false);
        if self.echoes.is_interrupt_echo(voice) {
            place.block += 1;
            return;
        }
        let by_human = self.asks() == Actor::Human;
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
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
        self.push(place, event, delta);
    }

    /// Reads a reply of the agent.
    pub(super) fn reply(&mut self, place: &mut Place, text: &str, id: Option<&str>, voice: Voice, delta: &mut Delta) {
        self.goes_on();
        if text.is_empty() || self.echoes.is_echo(text, voice) {
            place.block += 1;
            return;
        }
        let mut event = place.event(Kind::AssistantMsg, Role::Assistant, Actor::Agent);
        if let Some(id) = id {
            event.id = id.into();
        }
        event.summary = summary(text);
        self.push_by_agent(place, event, delta);
    }

    /// Reads the readable parts of the agent's reasoning. Each part may be an echo.
    pub(super) fn reasoning(
        &mut self,
        place: &mut Place,
        parts: &[&Content<'_>],
        id: Option<&str>,
        voice: Voice,
        delta: &mut Delta,
    ) {
        self.goes_on();
        let mut told = Vec::new();
        let mut echoes = 0;
        for content in parts {
            let texts: Vec<String> = match content {
                Content::Nothing => Vec::new(),
                Content::Text(text) => vec![text.to_string()],
                Content::Parts(parts) => parts.iter().map(|part| part.words().into_owned()).collect(),
            };
            for text in texts.into_iter().filter(|text| !text.trim().is_empty()) {
                if self.echoes.is_echo(&text, voice) {
                    echoes += 1;
                } else {
                    told.push(text);
                }
            }
        }
        // The item already gave an event for encrypted reasoning, so an event without text is its echo.
        if told.is_empty() && (echoes > 0 || voice == Voice::Event) {
            place.block += 1;
            return;
        }
        let mut event = place.event(Kind::Thinking, Role::Assistant, Actor::Agent);
        if let Some(id) = id {
            event.id = id.into();
        }
        event.summary = summary(&told.join("\n"));
        self.push_by_agent(place, event, delta);
    }

    /// Reads a message between this agent and another one.
    pub(super) fn other_agent(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        self.goes_on();
        let mut event = place.event(Kind::UserMsg, Role::User, Actor::OtherAgent);
        if let Some(id) = payload.id.get() {
            event.id = id.into();
        }
        let (from, to) = (payload.author.or_empty(), payload.recipient.or_empty());
        event.summary = summary(&format!("{from} → {to}: {}", payload.content.text()));
        self.push(place, event, delta);
    }
}
