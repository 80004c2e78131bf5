//! The rows of `updates.jsonl` that are the conversation. Tools, usage and changes of state have files of their own.

use jiff::Timestamp;

use super::record::{GrokBlock, GrokUpdate, RowBody, UpdateRow, blocks};
use super::said::{GrokUserText, RowMarks, classify, is_generated};
use super::{GrokLineProgress, GrokState, RowPosition, hash_words, unknown};
use crate::event::{Actor, Kind, Kinds, PartKind, Role};
use crate::reading::Delta;
use crate::session::InheritedRule;
use crate::wording::summary;

impl GrokState {
    pub(super) fn read_update(&mut self, row: &UpdateRow<'_>, progress: &mut GrokLineProgress, delta: &mut Delta) {
        let params = &row.params;
        let update = &params.update;
        let mut position = RowPosition::new(PartKind::Log, progress, self.next_seq, delta);
        position.event_id = params.meta.event_id.get();
        position.ts = row_time(row);
        self.note_row(&mut position, params);
        let is_known = match update.kind.or_empty() {
            "user_message_chunk" => self.user_chunk(&mut position, params, delta),
            "agent_message_chunk" => self.agent_chunk(&mut position, params, Kind::AssistantMsg, delta),
            "agent_thought_chunk" => self.agent_chunk(&mut position, params, Kind::Thinking, delta),
            "tool_call" | "tool_call_update" => self.tool_row(&mut position, params, delta),
            "turn_completed" => self.turn_completed(&mut position, params, delta),
            _ => self.state_update(&mut position, update, delta),
        };
        if !is_known {
            let method = row.method.or_empty();
            let name = match update.kind.get() {
                None if !method.is_empty() => method,
                name => name.unwrap_or_default(),
            };
            unknown(None, name, delta);
        }
        if !position.is_inherited {
            self.bills.read_subagent(params, &position);
            self.bills
                .read_context_size(params, &position, self.turns.current(), delta);
        }
        self.finish_row(&position, is_known, progress, delta);
    }

    /// Records the facts that any row may carry, and whether a fork copied it here.
    fn note_row(&mut self, position: &mut RowPosition<'_>, params: &RowBody<'_>) {
        let session = params.session_id.get();
        // A copied row gets this session's id, but its own id still names the session that wrote it.
        let writer = position
            .event_id
            .and_then(|id| id.rsplit_once('-'))
            .map(|(writer, _)| writer);
        let copied = writer.zip(session).filter(|(writer, session)| writer != session);
        let rule = match copied {
            Some((writer, _)) => {
                self.facts.set_parent(writer, position.line);
                Some(InheritedRule::EventId)
            }
            None => self
                .facts
                .is_before_fork(position.ts)
                .then_some(InheritedRule::TurnTime),
        };
        position.is_inherited = rule.is_some_and(|rule| self.facts.mark_inherited(rule, position.line));
        self.facts.set_session_id(session);
        self.facts.set_model(params.update.meta.model_id.get());
        // Hooks also run after the work is done, and when a window is closed days later.
        if !position.is_inherited && params.update.kind.or_empty() != "hook_execution" {
            self.facts.note_time(position.ts);
        }
    }

    fn user_chunk(&mut self, position: &mut RowPosition<'_>, params: &RowBody<'_>, delta: &mut Delta) -> bool {
        let update = &params.update;
        let all = blocks(update.content);
        let Some(block) = all.first() else { return true };
        let index = update.meta.prompt_index.0;
        let key = index.map(|index| hash_words(&["user", &index.to_string()]));
        let continues = key.is_some() && self.streamed.as_ref().map(|streamed| streamed.key) == key;
        let generated = self.is_generated(params, block);
        self.has_indexes |= index.is_some();
        self.shell_by_human = false;
        let shell = block.meta.bash_command.get().or(block.meta.bash_command_camel.get());
        let marks = RowMarks {
            is_generated: generated,
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
            None if continues || self.after_user => return true,
            None => format!("[{}]", block.kind.get().unwrap_or("attachment")),
        };
        let user_text = classify(&text, &marks, self.facts.prompt_source());
        let id = self.chunk_id(position, key);
        self.after_user = true;
        if self.push_user_text(position, user_text, &id, continues, delta) {
            // An interjection is rewound together with the prompt it was inserted into.
            let before = self.prompts.last().map(|(index, _)| *index);
            let index = index.or(before.filter(|_| self.has_indexes));
            let index = index.unwrap_or(self.prompts.len() as u64);
            self.prompts.push((index, self.turns.count() + 1));
        }
        true
    }

    /// Returns `true` if Grok generated a prompt, judged by its marks, its id, or the hook that announced it.
    fn is_generated(&mut self, params: &RowBody<'_>, block: &GrokBlock<'_>) -> bool {
        let marked = params.update.meta.is_hidden.0 || block.meta.is_hidden.0 || block.meta.is_cron.0;
        let submitted = self.submitted.take().unwrap_or_default();
        marked || submitted || is_generated(params.meta.prompt_id.or_empty())
    }

    /// Pushes the event for a text of role `user`. Returns `true` if it is a trigger. `continues` is true unless this
    /// is the first chunk of its message.
    pub(super) fn push_user_text(
        &mut self,
        position: &mut RowPosition<'_>,
        user_text: GrokUserText<'_>,
        id: &str,
        continues: bool,
        delta: &mut Delta,
    ) -> bool {
        let mut event = position.event(Kind::UserMsg, Role::User, Actor::Human);
        event.id = id.into();
        match user_text {
            GrokUserText::Nothing => return false,
            GrokUserText::Prompt(words) => (event.summary, event.trigger) = (summary(words), !continues),
            GrokUserText::Steering(words) => {
                (event.summary, event.trigger) = (summary(words), true);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
            }
            GrokUserText::Shell(command) => {
                event.summary = summary(&format!("! {command}"));
                self.shell_by_human = true;
            }
            GrokUserText::Local(words) => event.summary = summary(words),
            GrokUserText::OtherAgent(words) => (event.actor, event.summary) = (Actor::OtherAgent, summary(words)),
            GrokUserText::Delegated(words) => (event.actor, event.summary) = (Actor::Agent, summary(words)),
            GrokUserText::Program(words) => (event.actor, event.summary) = (Actor::Harness, summary(words)),
            GrokUserText::Harness(words) => {
                (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
                event.summary = summary(words);
            }
        }
        let is_trigger = event.trigger;
        self.push(position, event, delta);
        is_trigger && !position.is_inherited
    }

    fn agent_chunk(
        &mut self,
        position: &mut RowPosition<'_>,
        params: &RowBody<'_>,
        kind: Kind,
        delta: &mut Delta,
    ) -> bool {
        let update = &params.update;
        let all = blocks(update.content);
        let Some(block) = all.first() else { return true };
        (self.shell_by_human, self.after_user) = (false, false);
        let mut event = position.event(kind, Role::Assistant, Actor::Agent);
        event.summary = match block.text.get() {
            Some(text) => summary(text),
            None if block.text.0.is_some() => return true,
            None => summary(&format!("[{}]", block.kind.get().unwrap_or("attachment"))),
        };
        if update.meta.is_host_turn.0 {
            // The answer to a command that Grok ran by itself.
            (event.kinds, event.actor) = (Kinds::of(Kind::Lifecycle), Actor::Harness);
            self.streamed = None;
        } else {
            event.id = self.chunk_id(position, stream_key(params));
        }
        self.push(position, event, delta);
        true
    }

    fn turn_completed(&mut self, position: &mut RowPosition<'_>, params: &RowBody<'_>, delta: &mut Delta) -> bool {
        let update = &params.update;
        if self.bills.is_copy(params) {
            return true;
        }
        self.streamed = None;
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
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
        self.push(position, event, delta);
        if !position.is_inherited {
            let is_sidechain = self.facts.is_subagent();
            let model = self.facts.known_model();
            self.bills
                .add_usage(params, position, seq, self.turns.current(), model, is_sidechain, delta);
        }
        true
    }

    /// Reads a rewind by the human, which removes the prompts from the target on.
    pub(super) fn rewind(&mut self, position: &mut RowPosition<'_>, update: &GrokUpdate<'_>, delta: &mut Delta) {
        let target = update.target_prompt_index.0.unwrap_or_default();
        if !position.is_inherited {
            let before = self.prompts.len();
            self.prompts.retain(|(index, _)| *index < target);
            self.turns.rewind_turns((before - self.prompts.len()) as u64, delta);
        }
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Human);
        event.kinds = event.kinds.and(Kind::HumanIntervention);
        event.summary = format!("went back to prompt {}", target + 1).into();
        self.streamed = None;
        self.push(position, event, delta);
    }
}

/// Returns the key of the stream that a chunk belongs to.
fn stream_key(params: &RowBody<'_>) -> Option<u64> {
    let prompt = params.meta.prompt_id.get()?;
    let start = params.meta.stream_start_ms.0?.to_string();
    Some(hash_words(&[params.update.kind.or_empty(), prompt, &start]))
}

/// Returns the time of a row: its milliseconds if present, else the second it was written. The milliseconds come
/// first because a fork writes copied rows with the time of the copy.
fn row_time(row: &UpdateRow<'_>) -> Option<Timestamp> {
    let milliseconds = row.params.meta.timestamp_ms.0.and_then(|ms| i64::try_from(ms).ok());
    let seconds = || row.timestamp.0.and_then(|seconds| i64::try_from(seconds).ok());
    milliseconds
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .or_else(|| seconds().and_then(|seconds| Timestamp::from_second(seconds).ok()))
}
