//! Records outside of the conversation: changes of the session's state and metadata of Claude Code. Some give events,
//! the others are known and skipped.

use super::record::CompactionMetadata;
use super::said::{ClaudeUserText, classify, classify_queued};
use super::{ClaudePosition, ClaudeState};
use crate::event::{Actor, Kind, Kinds, Role};
use crate::ids::hash;
use crate::reading::Delta;
use crate::session::LineageKind;
use crate::wording::summary;

/// Types that are known and give no event.
const SKIPPED: &[&str] = &[
    "agent-color",
    "agent-setting",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "compact",
    "content-replacement",
    "cost-state",
    "failed",
    // A copy of a file, written before a tool changes it. The tool call is already the edit, so an event here would
    // count it twice.
    "file-history-delta",
    "frame-link",
    "last-prompt",
    "launched",
    "result",
    "speculation-accept",
    "started",
    "stream_event",
    "tag",
    "task-summary",
];

/// Prefixes of families of types that are known and give no event.
const SKIPPED_FAMILIES: &[&str] = &["artifact-", "marble-origami-"];

/// Attachment types that are known and give no event: context that Claude Code shows the model.
const SKIPPED_ATTACHMENTS: &[&str] = &[
    "agent_listing_delta",
    "async_hook_response",
    "command_permissions",
    "compact_file_reference",
    "date_change",
    "deferred_tools_delta",
    "diagnostics",
    "directory",
    "file",
    "goal_status",
    "hook_additional_context",
    "hook_cancelled",
    "hook_success",
    "hook_system_message",
    "instructions",
    "invoked_skills",
    "mcp_instructions_delta",
    "model",
    "nested_memory",
    "opened_file_in_ide",
    "output_style",
    "prompt_snapshot",
    "relevant_memories",
    "selected_lines_in_ide",
    "skill_listing",
    "structured_output",
    "task_reminder",
    "todo_reminder",
];

impl ClaudeState {
    /// Reads a record that is not a message. Returns `false` if its type is unknown.
    pub(super) fn read_state_record(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) -> bool {
        let record = position.record;
        match record.kind.or_empty() {
            "system" => return self.system(position, delta),
            "attachment" => return self.attachment(position, delta),
            "summary" | "ai-title" | "custom-title" | "agent-name" => self.facts.read_title(record, &self.nodes),
            "permission-mode" => {
                if changed(&mut self.permission_mode, record.permission_mode.get()) {
                    self.push_note(
                        position,
                        &format!("permission mode: {}", record.permission_mode.or_empty()),
                        delta,
                    );
                }
            }
            "mode" => {
                if changed(&mut self.mode, record.mode.get()) {
                    self.push_note(position, &format!("mode: {}", record.mode.or_empty()), delta);
                }
            }
            "file-history-snapshot" => self.push_note(position, "snapshot of changed files", delta),
            "worktree-state" => self.push_note(position, "worktree changed", delta),
            "relocated" => self.push_note(position, "session moved to another directory", delta),
            "pr-link" => self.push_note(position, &format!("pull request: {}", record.pr_url.or_empty()), delta),
            "continued-in" => {
                let other = record.continued_in.or_empty();
                self.facts
                    .add_child(LineageKind::Resume, other, "", position.line, None);
                self.push_note(position, &format!("continued in another session: {other}"), delta);
            }
            "fork-context-ref" => {
                if let Some(parent) = record.parent_session_id.get() {
                    self.facts.add_parent(LineageKind::Fork, parent, position.line);
                }
            }
            // Companion files are not logs but are in the same directory and may be read as one.
            "" if record.display.get().is_some() || record.agent_type.get().is_some() => {}
            kind if SKIPPED.contains(&kind) => {}
            kind if SKIPPED_FAMILIES.iter().any(|family| kind.starts_with(family)) => {}
            kind => {
                let name = if kind.is_empty() {
                    "(no type)".to_owned()
                } else {
                    summary(kind).into_string()
                };
                self.unknown(position, name, delta);
                return false;
            }
        }
        true
    }

    fn system(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) -> bool {
        let record = position.record;
        let content = record.content.text();
        match record.subtype.or_empty() {
            "turn_duration" => {
                let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
                event.kinds = event.kinds.and(Kind::Completion);
                event.duration_ms = record.duration_ms.0;
                event.summary = "turn finished".into();
                self.push(position, event, delta);
            }
            "compact_boundary" => self.push_note(
                position,
                &compaction("conversation compacted", &record.compaction),
                delta,
            ),
            "microcompact_boundary" => {
                self.push_note(
                    position,
                    &compaction("old results trimmed", &record.microcompaction),
                    delta,
                );
            }
            "api_error" => self.api_error(position, delta),
            "model_fallback" | "model_refusal_fallback" => {
                self.push_note(
                    position,
                    &format!("model fallback: {}", record.fallback_model.or_empty()),
                    delta,
                );
            }
            "agents_killed" => {
                let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Human);
                event.kinds = event.kinds.and(Kind::HumanIntervention);
                event.summary = "agents stopped by the user".into();
                self.push(position, event, delta);
            }
            "local_command" => {
                let said = match classify(record, &content, self.is_delegated(record), true) {
                    // This record type is local, whatever the name of the command.
                    ClaudeUserText::Command { name, args, .. } => ClaudeUserText::Command {
                        name,
                        args,
                        local: true,
                    },
                    ClaudeUserText::Prompt(words) => ClaudeUserText::Harness(words),
                    said => said,
                };
                self.push_user_text(position, &said, delta);
            }
            "away_summary" | "informational" | "bridge_status" | "scheduled_task_fire" => {
                self.push_note(position, &content, delta);
            }
            "stop_hook_summary" => self.stop_hooks(position, delta),
            "summary" | "init" => {}
            subtype => {
                self.unknown(position, format!("system/{}", summary(subtype)), delta);
                return false;
            }
        }
        true
    }

    /// Reports the errors of the hooks at the end of a turn. Newer versions report each failure before, under the
    /// same id.
    fn stop_hooks(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        let record = position.record;
        let errors: Vec<&str> = record.hook_errors.0.iter().filter_map(|error| error.get()).collect();
        let is_reported = self.hook_failed.is_some() && self.hook_failed == record.tool_use_id.get().map(hash);
        if !errors.is_empty() && !is_reported {
            self.hook_error(position, &format!("Stop: {}", errors.join("\n")), delta);
        }
    }

    fn hook_error(&mut self, position: &mut ClaudePosition<'_>, text: &str, delta: &mut Delta) {
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.kinds = event.kinds.and(Kind::Error);
        event.success = Some(false);
        event.summary = summary(text);
        self.push(position, event, delta);
    }

    /// Reports an API error, after which Claude Code retries by itself.
    fn api_error(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        let record = position.record;
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.kinds = event.kinds.and(Kind::Error);
        event.success = Some(false);
        let status = record.error.0.as_ref().and_then(|error| error.status.0);
        let status = status.map(|status| format!(" {status}")).unwrap_or_default();
        let retry = record.retry_attempt.0.map(|attempt| {
            self.turns.retries += 1;
            event.kinds = event.kinds.and(Kind::Retry);
            match record.max_retries.0 {
                Some(most) => format!(", retry {attempt} of {most}"),
                None => format!(", retry {attempt}"),
            }
        });
        event.summary = summary(&format!("API error{status}{}", retry.unwrap_or_default()));
        self.push(position, event, delta);
    }

    fn attachment(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) -> bool {
        let attachment = &position.record.attachment;
        match attachment.kind.or_empty() {
            "queued_command" => self.queued_command(position, delta),
            kind @ ("hook_blocking_error" | "hook_non_blocking_error") => {
                let hook = attachment
                    .hook_name
                    .get()
                    .or(attachment.hook_event.get())
                    .unwrap_or("hook");
                let reason = attachment
                    .blocking_error
                    .text
                    .get()
                    .or(attachment.stderr.get())
                    .unwrap_or(kind);
                self.hook_failed = attachment.tool_use_id.get().map(hash);
                self.hook_error(position, &format!("{hook}: {reason}"), delta);
            }
            "edited_text_file" => {
                self.push_note(
                    position,
                    &format!("changed outside: {}", attachment.filename.or_empty()),
                    delta,
                );
            }
            "max_turns_reached" => self.push_note(position, "limit of turns reached", delta),
            "budget_usd" => self.push_note(position, "budget told", delta),
            kind if ["plan_mode", "auto_mode", "ultra_effort"]
                .iter()
                .any(|family| kind.starts_with(family)) =>
            {
                self.push_note(position, &kind.replace('_', " "), delta);
            }
            kind if SKIPPED_ATTACHMENTS.contains(&kind) => {}
            kind => {
                self.unknown(position, format!("attachment/{}", summary(kind)), delta);
                return false;
            }
        }
        true
    }

    /// Reads a queued text inserted into the running turn, unless the queue already gave its event.
    fn queued_command(&mut self, position: &mut ClaudePosition<'_>, delta: &mut Delta) {
        let attachment = &position.record.attachment;
        let text = attachment.prompt.text();
        let human = attachment.command_mode.get().is_none_or(|mode| mode == "prompt")
            && !attachment.is_meta.0
            && attachment.origin.kind.get().is_none_or(|kind| kind == "human");
        self.queue.record_arrived(&text);
        if !human || self.is_delegated(position.record) {
            return;
        }
        if let Some(seq) = self.queue.take_echo(&text, position.line) {
            // In the graph, this record is the position of the prompt.
            position.parent = Some(seq);
            return;
        }
        let mut event = position.event(Kind::UserMsg, Role::User, Actor::Human);
        match classify_queued(&text) {
            ClaudeUserText::Prompt(words) => (event.summary, event.trigger) = (summary(words), true),
            ClaudeUserText::Nothing if !attachment.prompt.is_nothing() => {
                (event.summary, event.trigger) = ("[image]".into(), true)
            }
            ClaudeUserText::Command { .. } => event.summary = summary(text.trim()),
            _ => return,
        }
        event.kinds = event.kinds.and(Kind::HumanIntervention);
        self.push(position, event, delta);
    }

    /// Pushes an event for a change of state.
    fn push_note(&mut self, position: &mut ClaudePosition<'_>, text: &str, delta: &mut Delta) {
        let mut event = position.event(Kind::Lifecycle, Role::System, Actor::Harness);
        event.kinds = Kinds::of(Kind::Lifecycle);
        event.summary = summary(text);
        self.push(position, event, delta);
    }
}

/// Stores a value and returns `true` if it is new.
fn changed(known: &mut Option<Box<str>>, value: Option<&str>) -> bool {
    let differs = value.is_some() && known.as_deref() != value;
    if differs {
        *known = value.map(Into::into);
    }
    differs
}

fn compaction(what: &str, metadata: &CompactionMetadata<'_>) -> String {
    let tokens = match (metadata.pre_tokens.0, metadata.post_tokens.0) {
        (Some(before), Some(after)) => format!(", {before} to {after} tokens"),
        (Some(before), None) => format!(", {before} tokens"),
        _ => String::new(),
    };
    format!(
        "{what} ({}{tokens})",
        metadata.trigger.get().unwrap_or("unknown trigger")
    )
}
