//! Events: start, end and state of turns, ends of tool calls, and activity of other threads.

use super::calls::{CodexToolCall, mcp_result};
use super::context::TurnContext;
use super::echoes::TextChannel;
use super::ends::CallEnd;
use super::items::{end_by_status, error_in};
use super::limits;
use super::patch::changed;
use super::record::{CodexContent, CodexPayload, code_in, first_in, truth_in, word_in};
use super::said::prompt;
use super::words::{word_call, word_command, word_files, word_text};
use super::{CodexPosition, CodexState, unknown};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::reading::Delta;
use crate::wording::summary;

impl CodexState {
    /// Reads an event. Returns `false` if its type is unknown.
    pub(super) fn event(
        &mut self,
        position: &mut CodexPosition,
        payload: &CodexPayload<'_>,
        delta: &mut Delta,
    ) -> bool {
        match payload.kind.or_empty() {
            "user_message" => self.user_message(position, payload, delta),
            "agent_message" => self.reply(position, payload.message.or_empty(), None, TextChannel::Event, delta),
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                let text = CodexContent::Text(payload.text.or_empty().into());
                self.reasoning(position, &[&text], None, TextChannel::Event, delta);
            }
            "token_count" => self.token_count(position, payload, delta),
            "task_started" | "turn_started" => self.task_started(position, delta),
            "task_complete" | "turn_complete" => self.task_complete(position, payload, delta),
            "turn_aborted" => self.turn_aborted(position, payload, delta),
            "thread_rolled_back" => self.rolled_back(position, payload, delta),
            "thread_settings_applied" => self.settings(position, payload, delta),
            "thread_name_updated" => self.facts.set_title(payload.thread_name.get()),
            "context_compacted" => self.compaction(position, "", TextChannel::Event, delta),
            "item_completed" => match &payload.item.0 {
                Some(item) => return self.item_completed(position, item, delta),
                None => self.turns.continue_open(),
            },
            _ => return self.rare_event(position, payload, delta),
        }
        true
    }

    /// Reads events that are rare, or that only some clients request.
    fn rare_event(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) -> bool {
        match payload.kind.or_empty() {
            "exec_command_end" => self.exec_command_end(position, payload, delta),
            "patch_apply_end" => self.patch_apply_end(position, payload, delta),
            "mcp_tool_call_end" => self.mcp_tool_call_end(position, payload, delta),
            "dynamic_tool_call_response" => self.dynamic_tool_call(position, payload, delta),
            "web_search_end" | "image_generation_end" | "view_image_tool_call" | "dynamic_tool_call_request" => {
                // The conversation has an item for each of them.
                self.turns.continue_open();
            }
            "collab_agent_spawn_end" => {
                self.turns.continue_open();
                if let (Some(thread), false) = (payload.new_thread_id.get(), position.inherited) {
                    let label = payload.new_agent_role.get();
                    self.facts.add_child(thread, payload.call(), position.line, label);
                }
            }
            "collab_agent_interaction_end" | "collab_waiting_end" | "collab_close_end" | "collab_resume_end" => {
                self.turns.continue_open();
            }
            "sub_agent_activity" => {
                let (thread, path) = (payload.agent_thread_id.get(), payload.agent_path.get());
                self.activity(position, thread, payload.activity.or_empty(), path, delta);
            }
            "entered_review_mode" => self.review(position, true, payload.hint.or_empty(), delta),
            "exited_review_mode" => {
                let review = payload.review.0.as_ref();
                let words = review.and_then(|review| review.correctness.get().or(review.explanation.get()));
                self.review(position, false, words.unwrap_or_default(), delta);
            }
            "error" => self.failure(position, payload.message.or_empty(), delta),
            "thread_goal_updated" => {
                self.turns.continue_open();
                if let Some(goal) = &payload.goal.0 {
                    let note = position.note(&format!(
                        "goal {}: {}",
                        goal.status.or_empty(),
                        goal.objective.or_empty()
                    ));
                    self.push(position, note, delta);
                }
            }
            "undo_completed" => {
                self.turns.continue_open();
                let mut event = position.note(&format!("undo: {}", payload.message.or_empty()));
                self.mark_human(&mut event);
                event.success = truth_in(payload.success);
                self.push(position, event, delta);
            }
            "guardian_assessment" => self.turns.continue_open(),
            "token_usage_record" => self.usage_record(position, payload, delta),
            other => {
                self.turns.continue_open();
                unknown(&self.facts, format!("event_msg/{other}"), delta);
                return false;
            }
        }
        true
    }

    fn user_message(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let words = payload.message.or_empty();
        let pictures = payload.images.0.len() + payload.local_images.0.len();
        let content = match words.trim().is_empty() && pictures > 0 {
            true => CodexContent::Text("[image]".into()),
            false => CodexContent::Text(prompt(words.into())),
        };
        self.user(position, &content, None, TextChannel::Event, delta);
    }

    fn token_count(&mut self, position: &CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        if let Some(limits) = limits::parse(payload.rate_limits, position.ts).filter(|_| !position.inherited) {
            self.facts.rate_limits = Some(limits);
        }
        let Some(info) = &payload.info.0 else { return };
        let mut meter = std::mem::take(&mut self.meter);
        meter.read_counters(info, &self.count_context(position), delta);
        self.meter = meter;
    }

    /// Reads the usage of one request. Only compactions have no other count.
    pub(super) fn usage_record(&mut self, position: &CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let (Some(usage), Some(response)) = (&payload.usage.0, payload.response_id.get()) else {
            return;
        };
        let mut meter = std::mem::take(&mut self.meter);
        if payload.service_tier.get().is_some() {
            meter.set_tier(payload.service_tier.get());
        }
        meter.read_request(response, usage, &self.count_context(position), delta);
        self.meter = meter;
    }

    fn task_started(&mut self, position: &mut CodexPosition, delta: &mut Delta) {
        self.prepare_turn(position);
        (self.running, self.prompted) = (true, false);
        let note = position.note("turn started");
        self.push(position, note, delta);
    }

    fn task_complete(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        self.continue_turn();
        (self.running, self.prompted) = (false, false);
        let error = error_in(payload.error.json());
        let mut event = position.event(Kind::Completion, Role::System, Actor::Harness);
        event.success = Some(error.is_none());
        event.duration_ms = payload.duration_ms.0;
        if error.is_some() {
            event.kinds = event.kinds.and(Kind::Error);
        }
        event.summary = match error {
            Some(error) => summary(&format!("turn failed: {error}")),
            None => "turn complete".into(),
        };
        self.push(position, event, delta);
    }

    fn turn_aborted(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        match payload.reason.or_empty() {
            "" | "interrupted" => self.interrupt(position, TextChannel::Event, delta),
            reason => {
                self.continue_turn();
                (self.running, self.prompted) = (false, false);
                let note = position.note(&format!("turn ended: {reason}"));
                self.push(position, note, delta);
            }
        }
    }

    fn rolled_back(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        self.continue_turn();
        let turns = payload.num_turns.0.unwrap_or(1);
        let mut event = position.note(&format!("went back {turns} turns"));
        self.mark_human(&mut event);
        self.push(position, event, delta);
        if !position.inherited {
            self.turns.rewind_turns(turns, delta);
        }
    }

    /// Marks a change of state that only the human can make.
    fn mark_human(&self, event: &mut crate::event::SessionEvent) {
        if self.prompt_actor() == Actor::Human {
            event.actor = Actor::Human;
            event.kinds = Kinds::of(Kind::Lifecycle).and(Kind::HumanIntervention);
        }
    }

    fn settings(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        self.prepare_turn(position);
        let Some(settings) = &payload.thread_settings.0 else {
            return;
        };
        if settings.service_tier.0.is_some() {
            self.meter.set_tier(word_in(settings.service_tier).as_deref());
        }
        let mut context = self.context.clone();
        context.merge(TurnContext {
            model: settings.model.get().map(Into::into),
            effort: settings.effort.get().map(Into::into),
            approval: word_in(settings.approval_policy).map(Into::into),
            sandbox: word_in(settings.sandbox_policy).map(Into::into),
            cwd: settings.cwd.get().map(Into::into),
        });
        self.apply_context(position, context, delta);
    }

    /// Reads the context of a turn, which gives an event if it changed.
    pub(super) fn turn_context(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        self.prepare_turn(position);
        let context = TurnContext {
            model: payload.model.get().map(Into::into),
            effort: payload.effort.get().map(Into::into),
            approval: word_in(payload.approval_policy).map(Into::into),
            sandbox: word_in(payload.sandbox_policy).map(Into::into),
            cwd: payload.cwd.get().map(Into::into),
        };
        self.apply_context(position, context, delta);
    }

    fn apply_context(&mut self, position: &mut CodexPosition, context: TurnContext, delta: &mut Delta) {
        self.facts.set_cwd(context.cwd.as_deref());
        if let Some(model) = context.model.as_deref() {
            self.facts.model = Some(model.to_owned());
            self.meter.set_model(model, delta);
        }
        let words = context.describe();
        if words.is_empty() || self.context == context {
            return;
        }
        self.context = context;
        let note = position.note(&words);
        self.push(position, note, delta);
    }

    pub(super) fn compacted(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        if let (Some(usage), Some(response)) = (&payload.usage.0, payload.response_id.get()) {
            let mut meter = std::mem::take(&mut self.meter);
            meter.count_compaction(response, usage, &self.count_context(position), delta);
            self.meter = meter;
        }
        self.compaction(position, payload.message.or_empty(), TextChannel::Item, delta);
    }

    /// Reads a compaction of the context, which two or three records report.
    pub(super) fn compaction(
        &mut self,
        position: &mut CodexPosition,
        text: &str,
        channel: TextChannel,
        delta: &mut Delta,
    ) {
        self.turns.continue_open();
        self.meter.note_compaction();
        if self.echoes.is_compaction_echo(channel) {
            position.block += 1;
            return;
        }
        let note = match text.is_empty() {
            true => position.note("context compacted"),
            false => position.note(&format!("context compacted: {text}")),
        };
        self.push(position, note, delta);
    }

    pub(super) fn review(&mut self, position: &mut CodexPosition, entered: bool, what: &str, delta: &mut Delta) {
        self.turns.continue_open();
        let note = match entered {
            true => position.note(format!("review started: {what}").trim_end_matches(": ")),
            false => position.note(format!("review ended: {what}").trim_end_matches(": ")),
        };
        self.push(position, note, delta);
    }

    fn failure(&mut self, position: &mut CodexPosition, message: &str, delta: &mut Delta) {
        self.continue_turn();
        let mut event = position.note(message);
        event.kinds = event.kinds.and(Kind::Error);
        event.success = Some(false);
        self.push(position, event, delta);
    }

    fn exec_command_end(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let duration = payload.duration.0.as_ref().map(|took| took.ms());
        let mut end = end_by_status(word_in(payload.status).as_deref(), duration);
        end.exit_code = code_in(payload.exit_code).filter(|_| !end.declined);
        end.success = end.exit_code.map(|code| code == 0).or(end.success);
        let (tool, id) = ("exec_command", payload.call());
        if self.store_known_end(position, id, end, delta) {
            return;
        }
        let wording = word_command(&payload.command.0);
        let output = first_in(&[payload.aggregated_output, payload.stdout]);
        self.push_call_and_end(position, CodexToolCall { tool, wording, id }, end, &output, delta);
    }

    fn patch_apply_end(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let mut end = end_by_status(word_in(payload.status).as_deref(), None);
        end.success = truth_in(payload.success).or(end.success);
        let (tool, id) = ("apply_patch", payload.call());
        if self.store_known_end(position, id, end, delta) {
            return;
        }
        let wording = word_files(changed(payload.changes.json()));
        let output = first_in(&[payload.stderr, payload.stdout]);
        self.push_call_and_end(position, CodexToolCall { tool, wording, id }, end, &output, delta);
    }

    fn mcp_tool_call_end(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let (success, output) = mcp_result(payload.result);
        let end = CallEnd {
            success,
            duration_ms: payload.duration.0.as_ref().map(|took| took.ms()),
            ..CallEnd::default()
        };
        let Some(invocation) = &payload.invocation.0 else {
            self.turns.continue_open();
            return;
        };
        if self.store_known_end(position, payload.call(), end, delta) {
            return;
        }
        let tool = format!("mcp__{}__{}", invocation.server.or_empty(), invocation.tool.or_empty());
        let wording = word_call(&tool, invocation.arguments.json());
        let id = payload.call();
        self.push_call_and_end(
            position,
            CodexToolCall {
                tool: &tool,
                wording,
                id,
            },
            end,
            &output,
            delta,
        );
    }

    fn dynamic_tool_call(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let end = CallEnd {
            success: truth_in(payload.success),
            duration_ms: payload.duration.0.as_ref().map(|took| took.ms()),
            ..CallEnd::default()
        };
        if self.store_known_end(position, payload.call(), end, delta) {
            return;
        }
        let tool = payload.tool.or_empty();
        let wording = match payload.arguments.0.is_some() {
            true => word_call(tool, payload.arguments.json()),
            false => word_text(""),
        };
        let output = payload.content_items.text();
        let id = payload.call();
        self.push_call_and_end(position, CodexToolCall { tool, wording, id }, end, &output, delta);
    }
}
