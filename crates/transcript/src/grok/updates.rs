//! The rows of `updates.jsonl` that are the conversation. Tools, usage and changes of state have files of their own.

use jiff::Timestamp;

use super::record::{Block, Envelope, Params, Update, blocks};
use super::said::{Marks, Said, is_made_up, judge};
use super::{Place, State, Taken, hash_words, unknown};
use crate::event::{Actor, Kind, Kinds, PartKind, Role};
use crate::reading::Delta;
use crate::session::InheritedRule;
use crate::wording::summary;

impl State {
    pub(super) fn take_update(&mut self, row: &Envelope<'_>, taken: &mut Taken, delta: &mut Delta) {
        let params = &row.params;
        let update = &params.update;
        let mut place = Place::new(PartKind::Log, taken, self.next_seq, delta);
        place.event_id = params.meta.event_id.get();
        place.ts = time_of(row);
        self.heard(&mut place, params);
        let is_known = match update.kind.or_empty() {
            "user_message_chunk" => self.user_chunk(&mut place, params, delta),
            "agent_message_chunk" => self.agent_chunk(&mut place, params, Kind::AssistantMsg, delta),
            "agent_thought_chunk" => self.agent_chunk(&mut place, params, Kind::Thinking, delta),
            "tool_call" | "tool_call_update" => self.tool_row(&mut place, params, delta),
            "turn_completed" => self.turn_completed(&mut place, params, delta),
            _ => self.state_update(&mut place, update, delta),
        };
        if !is_known {
            let method = row.method.or_empty();
            let name = match update.kind.get() {
                None if !method.is_empty() => method,
                name => name.unwrap_or_default(),
            };
            unknown(None, name, delta);
        }
        if !place.is_inherited {
            self.bills.subagent(params, &place);
            self.bills.total(params, &place, self.turns.current(), delta);
        }
        self.row_over(&place, is_known, taken, delta);
    }

    /// Records the facts that any row may carry, and whether a fork copied it here.
    fn heard(&mut self, place: &mut Place<'_>, params: &Params<'_>) {
        let session = params.session_id.get();
        // A copied row gets this session's id, but its own id still names the session that wrote it.
        let writer = place
            .event_id
            .and_then(|id| id.rsplit_once('-'))
            .map(|(writer, _)| writer);
        let copied = writer.zip(session).filter(|(writer, session)| writer != session);
        let rule = match copied {
            Some((writer, _)) => {
                self.facts.forked_from(writer, place.line);
                Some(InheritedRule::EventId)
            }
            None => self
                .facts
                .is_older_than_the_fork(place.ts)
                .then_some(InheritedRule::TurnTime),
        };
        place.is_inherited = rule.is_some_and(|rule| self.facts.inherits(rule, place.line));
        self.facts.session_id(session);
        self.facts.model(params.update.meta.model_id.get());
        // Hooks also run after the work is done, and when a window is closed days later.
        if !place.is_inherited && params.update.kind.or_empty() != "hook_execution" {
            self.facts.time(place.ts);
        }
    }

    fn user_chunk(&mut self, place: &mut Place<'_>, params: &Params<'_>, delta: &mut Delta) -> bool {
        let update = &params.update;
        let all = blocks(update.content);
        let Some(block) = all.first() else { return true };
        let index = update.meta.prompt_index.0;
        let key = index.map(|index| hash_words(&["user", &index.to_string()]));
        let goes_on = key.is_some() && self.run.as_ref().map(|run| run.key) == key;
        let made_up = self.is_made_up(params, block);
        self.has_indexes |= index.is_some();
        self.shell_by_human = false;
        let shell = block.meta.bash_command.get().or(block.meta.bash_command_camel.get());
        let marks = Marks {
            is_made_up: made_up,
            is_host_turn: update.meta.is_host_turn.0,
            // Prompts have an index; `!` commands and echoes have none. Any other row without an index is an
            // interjection.
            is_interjection: update.meta.is_interjection.0 || (index.is_none() && self.has_indexes),
            shell,
            is_from_agent: params.meta.prompt_id.or_empty().starts_with("parent-agent-message-"),
        };
        let shown = block.meta.display_text.get();
        let text = match shown.or(block.text.get()) {
            Some(text) => text.to_owned(),
            // A picture belongs to the text beside it; on its own it is the prompt.
            None if goes_on || self.after_user => return true,
            None => format!("[{}]", block.kind.get().unwrap_or("attachment")),
        };
        let said = judge(&text, &marks, self.facts.speaker());
        let id = self.piece_id(place, key);
        self.after_user = true;
        if self.say(place, said, &id, goes_on, delta) {
            // An interjection is rewound together with the prompt it was inserted into.
            let before = self.prompts.last().map(|(index, _)| *index);
            let index = index.or(before.filter(|_| self.has_indexes));
            let index = index.unwrap_or(self.prompts.len() as u64);
            self.prompts.push((index, self.turns.count() + 1));
        }
        true
    }

    /// Returns `true` if Grok generated a prompt, judged by its marks, its id, or the hook that announced it.
    fn is_made_up(&mut self, params: &Params<'_>, block: &Block<'_>) -> bool {
        let marked = params.update.meta.is_hidden.0 || block.meta.is_hidden.0 || block.meta.is_cron.0;
        let submitted = self.submitted.take().unwrap_or_default();
        marked || submitted || is_made_up(params.meta.prompt_id.or_empty())
    }

    /// Pushes the event for a text of role `user`. Returns `true` if it is a trigger. `continues` is true unless this
    /// is the first chunk of its message.
    pub(super) fn say(
        &mut self,
        place: &mut Place<'_>,
        said: Said<'_>,
        id: &str,
        goes_on: bool,
        delta: &mut Delta,
    ) -> bool {
        let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
        event.id = id.into();
        match said {
            Said::Nothing => return false,
            Said::Prompt(words) => (event.summary, event.trigger) = (summary(words), !goes_on),
            Said::Steering(words) => {
                (event.summary, event.trigger) = (summary(words), true);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
            }
            Said::Shell(command) => {
                event.summary = summary(&format!("! {command}"));
                self.shell_by_human = true;
            }
            Said::Local(words) => event.summary = summary(words),
            Said::OtherAgent(words) => (event.actor, event.summary) = (Actor::OtherAgent, summary(words)),
            Said::Delegated(words) => (event.actor, event.summary) = (Actor::Agent, summary(words)),
            Said::Program(words) => (event.actor, event.summary) = (Actor::Harness, summary(words)),
            Said::Harness(words) => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(words);
            }
        }
        let is_trigger = event.trigger;
        self.push(place, event, delta);
        is_trigger && !place.is_inherited
    }

    fn agent_chunk(&mut self, place: &mut Place<'_>, params: &Params<'_>, kind: Kind, delta: &mut Delta) -> bool {
        let update = &params.update;
        let all = blocks(update.content);
        let Some(block) = all.first() else { return true };
        (self.shell_by_human, self.after_user) = (false, false);
        let mut event = place.event(kind, Role::Assistant, Actor::Agent);
        event.summary = match block.text.get() {
            Some(text) => summary(text),
            None if block.text.0.is_some() => return true,
            None => summary(&format!("[{}]", block.kind.get().unwrap_or("attachment"))),
        };
        if update.meta.is_host_turn.0 {
            // The answer to a command that Grok ran by itself.
            (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
            self.run = None;
        } else {
            event.id = self.piece_id(place, stream_of(params));
        }
        self.push(place, event, delta);
        true
    }

    fn turn_completed(&mut self, place: &mut Place<'_>, params: &Params<'_>, delta: &mut Delta) -> bool {
        let update = &params.update;
        if self.bills.is_copy(params) {
            return true;
        }
        self.run = None;
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.duration_ms = update.elapsed_ms.0;
        let why = update.agent_result.get().or(update.message.get());
        event.summary = match update.stop_reason.or_empty() {
            "end_turn" => {
                event.kinds = event.kinds.and(Kind::Completion);
                "turn finished".into()
            }
            "cancelled" => {
                // In a session that is not interactive, a limit or a signal cancelled the turn, not a human.
                if self.facts.is_human() {
                    (event.kinds, event.actor) = (event.kinds.and(Kind::HumanIntervention), Actor::Human);
                }
                "turn cancelled".into()
            }
            "error" => {
                (event.kinds, event.success) = (event.kinds.and(Kind::Error), Some(false));
                match why {
                    Some(why) => summary(&format!("turn failed: {why}")),
                    None => "turn failed".into(),
                }
            }
            "" => "turn ended".into(),
            reason => summary(&format!("turn ended: {reason}")),
        };
        let seq = self.next_seq;
        self.push(place, event, delta);
        if !place.is_inherited {
            let is_sidechain = self.facts.is_subagent();
            let model = self.facts.model_heard();
            self.bills
                .usage(params, place, seq, self.turns.current(), model, is_sidechain, delta);
        }
        true
    }

    /// Reads a rewind by the human, which removes the prompts from the target on.
    pub(super) fn rewind(&mut self, place: &mut Place<'_>, update: &Update<'_>, delta: &mut Delta) {
        let target = update.target_prompt_index.0.unwrap_or_default();
        if !place.is_inherited {
            let before = self.prompts.len();
            self.prompts.retain(|(index, _)| *index < target);
            self.turns.roll_back((before - self.prompts.len()) as u64, delta);
        }
        let mut event = place.event(Kind::Lifecycle, Role::System, Actor::Human);
        event.kinds = event.kinds.and(Kind::HumanIntervention);
        event.summary = format!("went back to prompt {}", target + 1).into();
        self.run = None;
        self.push(place, event, delta);
    }
}

/// Returns the key of the stream that a chunk belongs to.
fn stream_of(params: &Params<'_>) -> Option<u64> {
    let prompt = params.meta.prompt_id.get()?;
    let start = params.meta.stream_start_ms.0?.to_string();
    Some(hash_words(&[params.update.kind.or_empty(), prompt, &start]))
}

/// Returns the time of a row: its milliseconds if present, else the second it was written. The milliseconds come
/// first because a fork writes copied rows with the time of the copy.
fn time_of(row: &Envelope<'_>) -> Option<Timestamp> {
    let milliseconds = row.params.meta.timestamp_ms.0.and_then(|ms| i64::try_from(ms).ok());
    let seconds = || row.timestamp.0.and_then(|seconds| i64::try_from(seconds).ok());
    milliseconds
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .or_else(|| seconds().and_then(|seconds| Timestamp::from_second(seconds).ok()))
}
