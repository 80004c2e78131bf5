//! Rows outside of the conversation: changes of the session's state, and messages to Grok's own window. Some give
//! events, the others are known and skipped.

use super::record::{BackgroundTask, EpochTime, GrokUpdate, exit_code};
use super::said::is_generated;
use super::{GrokState, RowPosition, changed};
use crate::event::{Actor, Kind, Role};
use crate::reading::Delta;
use crate::wording::summary;

/// Updates that are known and give no event: messages to Grok's window, and what another row has in more detail.
const SKIPPED: &[&str] = &[
    "agent_changed",
    "auto_compact_started",
    "auto_continue_completed",
    "available_commands_update",
    "compaction_checkpoint",
    "config_option_update",
    "diff_review",
    "feedback_request",
    "hook_annotation",
    "hooks_changed",
    "image_compressed",
    "image_dropped",
    "interaction_resolved",
    "last_turn_summary",
    "memory_dream_completed",
    "memory_files",
    "memory_flush_completed",
    "memory_flush_started",
    "memory_session_saved",
    "pending_interaction",
    "plugin_updates_installed",
    "plugins_changed",
    "reasoning_completed",
    "relay_sync_status",
    "response_completed",
    "response_started",
    "session_info_update",
    "session_recap_unavailable",
    "session_status",
    "subagent_progress",
    "tool_call_delta_chunk",
    "usage_update",
];

impl GrokState {
    /// Reads a row that is not a message. Returns `false` if its type is unknown.
    pub(super) fn state_update(
        &mut self,
        position: &mut RowPosition<'_>,
        update: &GrokUpdate<'_>,
        delta: &mut Delta,
    ) -> bool {
        match update.kind.or_empty() {
            "hook_execution" => self.hooks(position, update, delta),
            "rewind_marker" => self.rewind(position, update, delta),
            "plan" => self.plan(position, update, delta),
            "current_mode_update" => {
                if changed(&mut self.mode, update.mode_id.get()) {
                    self.push_note(position, &format!("mode: {}", update.mode_id.or_empty()), delta);
                }
            }
            "model_changed" | "model_auto_switched" => {
                let model = update.new_model_id.get().or(update.model_id.get());
                self.facts.set_model(model);
                self.push_note(position, &format!("model: {}", model.unwrap_or("not told")), delta);
            }
            "retry_state" | "auto_recovery_started" | "auto_recovery_exhausted" => self.retry(position, update, delta),
            "auto_compact_completed" => self.push_note(position, &compaction(update), delta),
            "auto_compact_failed" => self.failure(position, "compaction failed", update.error.get(), delta),
            "auto_compact_cancelled" => {
                let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Human);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
                event.summary = "compaction cancelled".into();
                self.push(position, event, delta);
            }
            "subagent_spawned" | "subagent_finished" => self.subagent(position, update, delta),
            "subagent_permission_decision" => {
                let text = format!(
                    "subagent: {} {}",
                    update.tool_name.or_empty(),
                    update.outcome.or_empty()
                );
                self.push_note(position, text.trim_end(), delta);
            }
            "task_backgrounded" => {
                let what = update.description.get().unwrap_or(update.command.or_empty());
                self.add_background(update.task_call_id.or_empty(), update.task_id.or_empty());
                self.push_note(position, &format!("in the background: {what}"), delta);
            }
            "task_completed" => self.task_completed(position, &update.task, delta),
            "scheduled_task_created" => {
                let text = format!("scheduled: {}", update.human_schedule.or_empty());
                self.push_note(position, &text, delta);
            }
            "scheduled_task_fired" => self.push_note(position, "scheduled task fired", delta),
            "scheduled_task_deleted" => self.push_note(position, "scheduled task deleted", delta),
            "monitor_event" => self.push_note(position, &format!("monitor: {}", update.event_text.or_empty()), delta),
            "goal_updated" => {
                let text = format!("goal {}: {}", update.status.or_empty(), update.objective.or_empty());
                self.push_note(position, &text, delta);
            }
            "workflow_updated" => {
                let text = format!("workflow {}: {}", update.name.or_empty(), update.status.or_empty());
                self.push_note(position, &text, delta);
            }
            "session_recap" => self.push_note(position, &format!("recap: {}", update.summary.or_empty()), delta),
            "session_summary_generated" => {
                let titles = [&update.session_summary, &update.summary, &update.title];
                self.facts.set_title(titles.into_iter().find_map(|text| text.get()));
            }
            kind if SKIPPED.contains(&kind) => {}
            _ => return false,
        }
        true
    }

    /// Reads a run of hooks, which gives an event if one failed or blocked. Its row may precede the message that it
    /// follows.
    fn hooks(&mut self, position: &mut RowPosition<'_>, update: &GrokUpdate<'_>, delta: &mut Delta) {
        let name = update.event_name.or_empty();
        if name == "user_prompt_submit" {
            self.submitted = update.prompt_id.get().map(is_generated);
        }
        for run in &update.runs.0 {
            let (what, why) = match run.status.status.or_empty() {
                "blocked" => ("blocked", run.status.detail.get()),
                "failed" => ("failed", run.status.error.get()),
                _ => continue,
            };
            let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
            if what == "failed" {
                (event.kinds, event.success) = (event.kinds.and(Kind::Error), Some(false));
            }
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            event.summary = summary(&format!("{name} hook {what}{why}"));
            self.push(position, event, delta);
        }
    }

    fn plan(&mut self, position: &mut RowPosition<'_>, update: &GrokUpdate<'_>, delta: &mut Delta) {
        let entries = &update.entries.0;
        let done = entries
            .iter()
            .filter(|entry| entry.status.or_empty() == "completed")
            .count();
        self.push_note(
            position,
            &format!("plan: {done} of {} steps done", entries.len()),
            delta,
        );
    }

    /// Reports an API error, after which Grok retries by itself or gives up.
    fn retry(&mut self, position: &mut RowPosition<'_>, update: &GrokUpdate<'_>, delta: &mut Delta) {
        let gave_up = match update.kind.or_empty() {
            "retry_state" => matches!(update.retry.or_empty(), "exhausted" | "failed"),
            kind => kind == "auto_recovery_exhausted",
        };
        let why = update.message.get().or(update.error.get());
        if gave_up {
            return self.failure(position, "API error, gave up", why, delta);
        }
        self.turns.retries += 1;
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.kinds = event.kinds.and(Kind::Error).and(Kind::Retry);
        event.success = Some(false);
        let attempt = match (update.attempt.0, update.max_retries.0) {
            (Some(attempt), Some(most)) => format!(", retry {attempt} of {most}"),
            (Some(attempt), None) => format!(", retry {attempt}"),
            _ => String::new(),
        };
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        event.summary = summary(&format!("API error{attempt}{why}"));
        self.push(position, event, delta);
    }

    fn subagent(&mut self, position: &mut RowPosition<'_>, update: &GrokUpdate<'_>, delta: &mut Delta) {
        let label = update.description.get().or(update.subagent_type.get());
        if let Some(id) = update.child_session_id.get().filter(|_| !position.is_inherited) {
            self.facts.add_child(id, position.line, label);
        }
        if update.kind.or_empty() == "subagent_spawned" {
            self.push_note(
                position,
                &format!("subagent started: {}", label.unwrap_or("no description")),
                delta,
            );
            return;
        }
        let status = update.status.get().unwrap_or("finished");
        if status == "failed" {
            return self.failure(position, "subagent failed", update.error.get(), delta);
        }
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.duration_ms = update.duration_ms.0;
        event.summary = summary(&format!("subagent {status}"));
        self.push(position, event, delta);
    }

    fn task_completed(&mut self, position: &mut RowPosition<'_>, task: &BackgroundTask<'_>, delta: &mut Delta) {
        let code = exit_code(task.exit_code);
        let killed = task.was_killed.0 || !matches!(task.signal.json(), "" | "null");
        let success = code.is_none_or(|code| code == 0) && !killed;
        let duration_ms = milliseconds(&task.end).zip(milliseconds(&task.start));
        let duration_ms = duration_ms.and_then(|(end, start)| end.checked_sub(start));
        self.finish_task(task.task_id.or_empty(), success, code, duration_ms, delta);
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        (event.success, event.exit_code, event.duration_ms) = (Some(success), code, duration_ms);
        if !success {
            event.kinds = event.kinds.and(Kind::Error);
        }
        event.summary = summary(&format!("background command ended: {}", task.command.or_empty()));
        self.push(position, event, delta);
    }

    /// Pushes an event for a failure.
    pub(super) fn failure(&mut self, position: &mut RowPosition<'_>, what: &str, why: Option<&str>, delta: &mut Delta) {
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        (event.kinds, event.success) = (event.kinds.and(Kind::Error), Some(false));
        event.summary = match why {
            Some(why) => summary(&format!("{what}: {why}")),
            None => what.into(),
        };
        self.push(position, event, delta);
    }
}

fn compaction(update: &GrokUpdate<'_>) -> String {
    match (update.tokens_before.0, update.tokens_after.0) {
        (Some(before), Some(after)) => format!("conversation compacted ({before} to {after} tokens)"),
        _ => "conversation compacted".to_owned(),
    }
}

fn milliseconds(time: &EpochTime<'_>) -> Option<u64> {
    let nanoseconds = time.nanoseconds.0.unwrap_or_default() / 1_000_000;
    time.seconds.0?.checked_mul(1_000)?.checked_add(nanoseconds)
}
