//! Events: start, end and state of turns, ends of tool calls, and activity of other threads.

use super::calls::{Called, of_mcp};
use super::context::Context;
use super::echoes::Voice;
use super::ends::End;
use super::items::{error_in, of_status};
use super::limits;
use super::patch::changed;
use super::record::{Content, Payload, code_in, first_in, truth_in, word_in};
use super::said::prompt;
use super::words::{of_call, of_command, of_files, plain};
use super::{Place, State, unknown};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::reading::Delta;
use crate::wording::summary;

impl State {
    /// Reads an event. Returns `false` if its type is unknown.
    pub(super) fn event(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) -> bool {
        match payload.kind.or_empty() {
            "user_message" => self.user_message(place, payload, delta),
            "agent_message" => self.reply(place, payload.message.or_empty(), None, Voice::Event, delta),
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                let text = Content::Text(payload.text.or_empty().into());
                self.reasoning(place, &[&text], None, Voice::Event, delta);
            }
            "token_count" => self.token_count(place, payload, delta),
            "task_started" | "turn_started" => self.task_started(place, delta),
            "task_complete" | "turn_complete" => self.task_complete(place, payload, delta),
            "turn_aborted" => self.turn_aborted(place, payload, delta),
            "thread_rolled_back" => self.rolled_back(place, payload, delta),
            "thread_settings_applied" => self.settings(place, payload, delta),
            "thread_name_updated" => self.facts.title(payload.thread_name.get()),
            "context_compacted" => self.compaction(place, "", Voice::Event, delta),
            "item_completed" => match &payload.item.0 {
                Some(item) => return self.item_completed(place, item, delta),
                None => self.turns.go_on(),
            },
            _ => return self.rare_event(place, payload, delta),
        }
        true
    }

    /// Reads events that are rare, or that only some clients request.
    fn rare_event(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) -> bool {
        match payload.kind.or_empty() {
            "exec_command_end" => self.exec_command_end(place, payload, delta),
            "patch_apply_end" => self.patch_apply_end(place, payload, delta),
            "mcp_tool_call_end" => self.mcp_tool_call_end(place, payload, delta),
            "dynamic_tool_call_response" => self.dynamic_tool_call(place, payload, delta),
            "web_search_end" | "image_generation_end" | "view_image_tool_call" | "dynamic_tool_call_request" => {
                // The conversation has an item for each of them.
                self.turns.go_on();
            }
            "collab_agent_spawn_end" => {
                self.turns.go_on();
                if let (Some(thread), false) = (payload.new_thread_id.get(), place.inherited) {
                    let label = payload.new_agent_role.get();
                    self.facts.child(thread, payload.call(), place.line, label);
                }
            }
            "collab_agent_interaction_end" | "collab_waiting_end" | "collab_close_end" | "collab_resume_end" => {
                self.turns.go_on();
            }
            "sub_agent_activity" => {
                let (thread, path) = (payload.agent_thread_id.get(), payload.agent_path.get());
                self.activity(place, thread, payload.activity.or_empty(), path, delta);
            }
            "entered_review_mode" => self.review(place, true, payload.hint.or_empty(), delta),
            "exited_review_mode" => {
                let told = payload.review.0.as_ref();
                let words = told.and_then(|told| told.correctness.get().or(told.explanation.get()));
                self.review(place, false, words.unwrap_or_default(), delta);
            }
            "error" => self.failure(place, payload.message.or_empty(), delta),
            "thread_goal_updated" => {
                self.turns.go_on();
                if let Some(goal) = &payload.goal.0 {
                    let note = place.note(&format!(
                        "goal {}: {}",
                        goal.status.or_empty(),
                        goal.objective.or_empty()
                    ));
                    self.push(place, note, delta);
                }
            }
            "undo_completed" => {
                self.turns.go_on();
                let mut event = place.note(&format!("undo: {}", payload.message.or_empty()));
                self.by_human(&mut event);
                event.success = truth_in(payload.success);
                self.push(place, event, delta);
            }
            "guardian_assessment" => self.turns.go_on(),
            "token_usage_record" => self.usage_record(place, payload, delta),
            other => {
                self.turns.go_on();
                unknown(&self.facts, format!("event_msg/{other}"), delta);
                return false;
            }
        }
        true
    }

    fn user_message(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let words = payload.message.or_empty();
        let pictures = payload.images.0.len() + payload.local_images.0.len();
        let content = match words.trim().is_empty() && pictures > 0 {
            true => Content::Text("[image]".into()),
            false => Content::Text(prompt(words.into())),
        };
        self.user(place, &content, None, Voice::Event, delta);
    }

    fn token_count(&mut self, place: &Place, payload: &Payload<'_>, delta: &mut Delta) {
        if let Some(limits) = limits::of(payload.rate_limits, place.ts).filter(|_| !place.inherited) {
            self.facts.rate_limits = Some(limits);
        }
        let Some(info) = &payload.info.0 else { return };
        let mut meter = std::mem::take(&mut self.meter);
        meter.count(info, &self.at(place), delta);
        self.meter = meter;
    }

    /// Reads the usage of one request. Only compactions have no other count.
    pub(super) fn usage_record(&mut self, place: &Place, payload: &Payload<'_>, delta: &mut Delta) {
        let (Some(usage), Some(response)) = (&payload.usage.0, payload.response_id.get()) else {
            return;
        };
        let mut meter = std::mem::take(&mut self.meter);
        if payload.service_tier.get().is_some() {
            meter.tier(payload.service_tier.get());
        }
        meter.request(response, usage, &self.at(place), delta);
        self.meter = meter;
    }

    fn task_started(&mut self, place: &mut Place, delta: &mut Delta) {
        self.sets_up(place);
        (self.running, self.prompted) = (true, false);
        let note = place.note("turn started");
        self.push(place, note, delta);
    }

    fn task_complete(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        self.goes_on();
        (self.running, self.prompted) = (false, false);
        let error = error_in(payload.error.json());
        let mut event = place.event(Kind::Completion, Role::System, Actor::Harness);
        event.success = Some(error.is_none());
        event.duration_ms = payload.duration_ms.0;
        if error.is_some() {
            event.kinds = event.kinds.and(Kind::Error);
        }
        event.summary = match error {
            Some(error) => summary(&format!("turn failed: {error}")),
            None => "turn complete".into(),
        };
        self.push(place, event, delta);
    }

    fn turn_aborted(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        match payload.reason.or_empty() {
            "" | "interrupted" => self.interrupt(place, Voice::Event, delta),
            reason => {
                self.goes_on();
                (self.running, self.prompted) = (false, false);
                let note = place.note(&format!("turn ended: {reason}"));
                self.push(place, note, delta);
            }
        }
    }

    fn rolled_back(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        self.goes_on();
        let turns = payload.num_turns.0.unwrap_or(1);
        let mut event = place.note(&format!("went back {turns} turns"));
        self.by_human(&mut event);
        self.push(place, event, delta);
        if !place.inherited {
            self.turns.roll_back(turns, delta);
        }
    }

    /// Marks a change of state that only the human can make.
    fn by_human(&self, event: &mut crate::event::SessionEvent) {
        if self.asks() == Actor::Human {
            event.actor = Actor::Human;
            event.kinds = Kinds::of(Kind::Lifecycle).and(Kind::HumanIntervention);
        }
    }

    fn settings(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        self.sets_up(place);
        let Some(settings) = &payload.thread_settings.0 else {
            return;
        };
        if settings.service_tier.0.is_some() {
            self.meter.tier(word_in(settings.service_tier).as_deref());
        }
        let mut context = self.context.clone();
        context.change(Context {
            model: settings.model.get().map(Into::into),
            effort: settings.effort.get().map(Into::into),
            approval: word_in(settings.approval_policy).map(Into::into),
            sandbox: word_in(settings.sandbox_policy).map(Into::into),
            cwd: settings.cwd.get().map(Into::into),
        });
        self.context_told(place, context, delta);
    }

    /// Reads the context of a turn, which gives an event if it changed.
    pub(super) fn turn_context(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        self.sets_up(place);
        let context = Context {
            model: payload.model.get().map(Into::into),
            effort: payload.effort.get().map(Into::into),
            approval: word_in(payload.approval_policy).map(Into::into),
            sandbox: word_in(payload.sandbox_policy).map(Into::into),
            cwd: payload.cwd.get().map(Into::into),
        };
        self.context_told(place, context, delta);
    }

    fn context_told(&mut self, place: &mut Place, context: Context, delta: &mut Delta) {
        self.facts.cwd(context.cwd.as_deref());
        if let Some(model) = context.model.as_deref() {
            self.facts.model = Some(model.to_owned());
            self.meter.name(model, delta);
        }
        let words = context.words();
        if words.is_empty() || self.context == context {
            return;
        }
        self.context = context;
        let note = place.note(&words);
        self.push(place, note, delta);
    }

    pub(super) fn compacted(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        if let (Some(usage), Some(response)) = (&payload.usage.0, payload.response_id.get()) {
            let mut meter = std::mem::take(&mut self.meter);
            meter.compaction(response, usage, &self.at(place), delta);
            self.meter = meter;
        }
        self.compaction(place, payload.message.or_empty(), Voice::Item, delta);
    }

    /// Reads a compaction of the context, which two or three records report.
    pub(super) fn compaction(&mut self, place: &mut Place, text: &str, voice: Voice, delta: &mut Delta) {
        self.turns.go_on();
        self.meter.compacted();
        if self.echoes.is_compaction_echo(voice) {
            place.block += 1;
            return;
        }
        let note = match text.is_empty() {
            true => place.note("context compacted"),
            false => place.note(&format!("context compacted: {text}")),
        };
        self.push(place, note, delta);
    }

    pub(super) fn review(&mut self, place: &mut Place, entered: bool, what: &str, delta: &mut Delta) {
        self.turns.go_on();
        let note = match entered {
            true => place.note(format!("review started: {what}").trim_end_matches(": ")),
            false => place.note(format!("review ended: {what}").trim_end_matches(": ")),
        };
        self.push(place, note, delta);
    }

    fn failure(&mut self, place: &mut Place, message: &str, delta: &mut Delta) {
        self.goes_on();
        let mut event = place.note(message);
        event.kinds = event.kinds.and(Kind::Error);
        event.success = Some(false);
        self.push(place, event, delta);
    }

    fn exec_command_end(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let duration = payload.duration.0.as_ref().map(|took| took.ms());
        let mut end = of_status(word_in(payload.status).as_deref(), duration);
        end.exit_code = code_in(payload.exit_code).filter(|_| !end.declined);
        end.success = end.exit_code.map(|code| code == 0).or(end.success);
        let (tool, id) = ("exec_command", payload.call());
        if self.known_end(place, id, end, delta) {
            return;
        }
        let wording = of_command(&payload.command.0);
        let output = first_in(&[payload.aggregated_output, payload.stdout]);
        self.told_end(place, Called { tool, wording, id }, end, &output, delta);
    }

    fn patch_apply_end(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let mut end = of_status(word_in(payload.status).as_deref(), None);
        end.success = truth_in(payload.success).or(end.success);
        let (tool, id) = ("apply_patch", payload.call());
        if self.known_end(place, id, end, delta) {
            return;
        }
        let wording = of_files(changed(payload.changes.json()));
        let output = first_in(&[payload.stderr, payload.stdout]);
        self.told_end(place, Called { tool, wording, id }, end, &output, delta);
    }

    fn mcp_tool_call_end(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let (success, output) = of_mcp(payload.result);
        let end = End {
            success,
            duration_ms: payload.duration.0.as_ref().map(|took| took.ms()),
            ..End::default()
        };
        let Some(invocation) = &payload.invocation.0 else {
            self.turns.go_on();
            return;
        };
        if self.known_end(place, payload.call(), end, delta) {
            return;
        }
        let tool = format!("mcp__{}__{}", invocation.server.or_empty(), invocation.tool.or_empty());
        let wording = of_call(&tool, invocation.arguments.json());
        let id = payload.call();
        self.told_end(
            place,
            Called {
                tool: &tool,
                wording,
                id,
            },
            end,
            &output,
            delta,
        );
    }

    fn dynamic_tool_call(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let end = End {
            success: truth_in(payload.success),
            duration_ms: payload.duration.0.as_ref().map(|took| took.ms()),
            ..End::default()
        };
        if self.known_end(place, payload.call(), end, delta) {
            return;
        }
        let tool = payload.tool.or_empty();
        let wording = match payload.arguments.0.is_some() {
            true => of_call(tool, payload.arguments.json()),
            false => plain(""),
        };
        let output = payload.content_items.text();
        let id = payload.call();
        self.told_end(place, Called { tool, wording, id }, end, &output, delta);
    }
}
