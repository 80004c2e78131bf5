//! Items of the conversation with the model, and finished items of a paginated log.

use super::calls::{CodexToolCall, mcp_result};
use super::echoes::TextChannel;
use super::ends::CallEnd;
use super::patch::changed;
use super::record::{CodexItem, CodexPayload, code_in, first_in, truth_in, word_in};
use super::said::words;
use super::words::{word_call, word_command, word_files, word_text};
use super::{CodexPosition, CodexState, unknown};
use crate::event::{Actor, Kind, Role};
use crate::reading::Delta;
use crate::wording::summary;

impl CodexState {
    /// Reads an item of the conversation. Returns `false` if its type is unknown.
    pub(super) fn item(
        &mut self,
        position: &mut CodexPosition,
        payload: &CodexPayload<'_>,
        prefix: &str,
        delta: &mut Delta,
    ) -> bool {
        match item_type(payload) {
            "message" => self.message(position, payload, delta),
            "reasoning" => {
                let parts = [&payload.summary, &payload.content];
                self.reasoning(position, &parts, payload.id.get(), TextChannel::Item, delta);
            }
            "function_call" | "custom_tool_call" => self.tool_call(position, payload, delta),
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                self.tool_output(position, payload, delta);
            }
            "local_shell_call" | "web_search_call" | "image_generation_call" | "tool_search_call" => {
                self.built_in_call(position, payload, delta);
            }
            "agent_message" => self.other_agent(position, payload, delta),
            "compaction" | "compaction_summary" | "context_compaction" => {
                self.compaction(position, "", TextChannel::Item, delta);
            }
            "ghost_snapshot" => {}
            other => {
                self.turns.continue_open();
                unknown(&self.facts, format!("{prefix}{other}"), delta);
                return false;
            }
        }
        true
    }

    /// Reads a finished item. Returns `false` if its type is unknown.
    pub(super) fn item_completed(
        &mut self,
        position: &mut CodexPosition,
        item: &CodexItem<'_>,
        delta: &mut Delta,
    ) -> bool {
        let id = item.id.get();
        match item.kind.or_empty() {
            "UserMessage" => self.user(position, &item.content, id, TextChannel::Event, delta),
            "AgentMessage" => self.reply(position, &words(&item.content), id, TextChannel::Event, delta),
            "Reasoning" => {
                let parts = [&item.summary, &item.raw_content];
                self.reasoning(position, &parts, id, TextChannel::Event, delta);
            }
            "Plan" => self.reply(position, item.text.or_empty(), id, TextChannel::Event, delta),
            "HookPrompt" => {
                self.continue_turn();
                let note = position.note(&item.fragments.text());
                self.push(position, note, delta);
            }
            "CommandExecution" => self.command(position, item, delta),
            "FileChange" => self.file_change(position, item, delta),
            "McpToolCall" | "DynamicToolCall" => self.other_tool(position, item, delta),
            "CollabAgentToolCall" => self.collaboration(position, item, delta),
            "SubAgentActivity" => {
                self.activity(
                    position,
                    item.agent_thread_id.get(),
                    item.activity.or_empty(),
                    item.agent_path.get(),
                    delta,
                );
            }
            "WebSearch" | "ImageView" | "ImageGeneration" | "Extension" => {
                let text = item.query.get().or(item.path.get()).or(item.text.get());
                let tool = match item.kind.or_empty() {
                    "WebSearch" => "web_search",
                    "ImageView" => "view_image",
                    "ImageGeneration" => "image_generation",
                    _ => "extension",
                };
                if !self.store_known_end(position, id, item_end(item), delta) {
                    let wording = word_text(text.unwrap_or_default());
                    self.push_call_and_end(position, CodexToolCall { tool, wording, id }, item_end(item), "", delta);
                }
            }
            "EnteredReviewMode" | "ExitedReviewMode" => {
                let entered = item.kind.or_empty() == "EnteredReviewMode";
                self.review(
                    position,
                    entered,
                    word_in(item.review).as_deref().unwrap_or_default(),
                    delta,
                );
            }
            "ContextCompaction" => self.compaction(position, "", TextChannel::Event, delta),
            other => {
                self.turns.continue_open();
                unknown(&self.facts, format!("item_completed/{other}"), delta);
                return false;
            }
        }
        true
    }

    fn command(&mut self, position: &mut CodexPosition, item: &CodexItem<'_>, delta: &mut Delta) {
        let wording = word_command(&item.command.0);
        if item.source.or_empty() == "user_shell" {
            self.turns.continue_open();
            let mut event = position.event(Kind::UserMsg, Role::User, self.prompt_actor());
            if event.actor == Actor::Human {
                event.kinds = event.kinds.and(Kind::HumanIntervention);
            }
            event.exit_code = code_in(item.exit_code);
            event.summary = summary(&format!("! {}", wording.text));
            self.push(position, event, delta);
            return;
        }
        let mut end = item_end(item);
        end.exit_code = code_in(item.exit_code).filter(|_| !end.declined);
        end.success = end.exit_code.map(|code| code == 0).or(end.success);
        let (tool, id) = ("exec_command", item.id.get());
        if !self.store_known_end(position, id, end, delta) {
            let output = first_in(&[item.aggregated_output, item.stdout, item.stderr]);
            self.push_call_and_end(position, CodexToolCall { tool, wording, id }, end, &output, delta);
        }
    }

    fn file_change(&mut self, position: &mut CodexPosition, item: &CodexItem<'_>, delta: &mut Delta) {
        let (tool, id) = ("apply_patch", item.id.get());
        if !self.store_known_end(position, id, item_end(item), delta) {
            let wording = word_files(changed(item.changes.json()));
            let output = first_in(&[item.stderr, item.stdout]);
            self.push_call_and_end(
                position,
                CodexToolCall { tool, wording, id },
                item_end(item),
                &output,
                delta,
            );
        }
    }

    fn other_tool(&mut self, position: &mut CodexPosition, item: &CodexItem<'_>, delta: &mut Delta) {
        let tool = match item.server.get() {
            Some(server) => format!("mcp__{server}__{}", item.tool.or_empty()),
            None => item.tool.or_empty().to_owned(),
        };
        let mut end = item_end(item);
        let (success, mut output) = mcp_result(item.result);
        end.success = truth_in(item.success).or(end.success).or(success);
        if let Some(error) = error_in(item.error.json()) {
            (end.success, output) = (Some(false), error);
        }
        let id = item.id.get();
        if !self.store_known_end(position, id, end, delta) {
            let wording = word_call(&tool, item.arguments.json());
            let tool = tool.as_str();
            self.push_call_and_end(position, CodexToolCall { tool, wording, id }, end, &output, delta);
        }
    }

    fn collaboration(&mut self, position: &mut CodexPosition, item: &CodexItem<'_>, delta: &mut Delta) {
        if !position.inherited && item.tool.or_empty().starts_with("spawn") {
            for receiver in item.receivers.0.iter().filter_map(|id| id.get()) {
                self.facts.add_child(receiver, item.id.get(), position.line, None);
            }
        }
        let (tool, id) = (item.tool.or_empty(), item.id.get());
        if !self.store_known_end(position, id, item_end(item), delta) {
            let wording = word_text(item.prompt.or_empty());
            self.push_call_and_end(position, CodexToolCall { tool, wording, id }, item_end(item), "", delta);
        }
    }

    /// Reports that another thread was started, messaged or stopped.
    pub(super) fn activity(
        &mut self,
        position: &mut CodexPosition,
        thread: Option<&str>,
        what: &str,
        path: Option<&str>,
        delta: &mut Delta,
    ) {
        self.turns.continue_open();
        if let (Some(thread), false) = (thread, position.inherited) {
            self.facts.add_child(thread, None, position.line, path);
        }
        let note = position.note(&format!("subagent {} {what}", path.unwrap_or_default()));
        self.push(position, note, delta);
    }
}

/// Returns the type of an item, inferred from its fields if it is missing.
fn item_type<'p>(payload: &'p CodexPayload<'_>) -> &'p str {
    match payload.kind.get() {
        Some(kind) => kind,
        None if payload.role.get().is_some() => "message",
        None if payload.name.get().is_some() && payload.arguments.0.is_some() => "function_call",
        None if payload.call().is_some() => "function_call_output",
        None => "untyped",
    }
}

/// Returns the end of an item by its status.
fn item_end(item: &CodexItem<'_>) -> CallEnd {
    end_by_status(
        word_in(item.status).as_deref(),
        item.duration.0.as_ref().map(|took| took.ms()),
    )
}

/// Returns the end of a call by its status.
pub(super) fn end_by_status(status: Option<&str>, duration_ms: Option<u64>) -> CallEnd {
    CallEnd {
        success: match status {
            Some("completed") => Some(true),
            Some("failed" | "declined") => Some(false),
            _ => None,
        },
        exit_code: None,
        duration_ms,
        declined: status == Some("declined"),
    }
}

/// Returns the message of an error, which is a string or an object.
pub(super) fn error_in(json: &str) -> Option<String> {
    match serde_json::from_str(json).ok()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Object(map) => {
            let message = map.get("message").and_then(|message| message.as_str());
            Some(message.map_or_else(|| json.to_owned(), str::to_owned))
        }
        _ => None,
    }
}
