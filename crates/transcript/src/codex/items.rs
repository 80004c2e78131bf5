//! Items of the conversation with the model, and finished items of a paginated log.

use super::calls::{Called, of_mcp};
use super::echoes::Voice;
use super::ends::End;
use super::patch::changed;
use super::record::{Item, Payload, code_in, first_in, truth_in, word_in};
use super::said::words;
use super::words::{of_call, of_command, of_files, plain};
use super::{Place, State, unknown};
use crate::event::{Actor, Kind, Role};
use crate::reading::Delta;
use crate::wording::summary;

impl State {
    /// Reads an item of the conversation. Returns `false` if its type is unknown.
    pub(super) fn item(&mut self, place: &mut Place, payload: &Payload<'_>, prefix: &str, delta: &mut Delta) -> bool {
        match shape(payload) {
            "message" => self.message(place, payload, delta),
            "reasoning" => {
                let parts = [&payload.summary, &payload.content];
                self.reasoning(place, &parts, payload.id.get(), Voice::Item, delta);
            }
            "function_call" | "custom_tool_call" => self.tool_call(place, payload, delta),
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                self.tool_output(place, payload, delta);
            }
            "local_shell_call" | "web_search_call" | "image_generation_call" | "tool_search_call" => {
                self.built_in_call(place, payload, delta);
            }
            "agent_message" => self.other_agent(place, payload, delta),
            "compaction" | "compaction_summary" | "context_compaction" => {
                self.compaction(place, "", Voice::Item, delta);
            }
            "ghost_snapshot" => {}
            other => {
                self.turns.go_on();
                unknown(&self.facts, format!("{prefix}{other}"), delta);
                return false;
            }
        }
        true
    }

    /// Reads a finished item. Returns `false` if its type is unknown.
    pub(super) fn item_completed(&mut self, place: &mut Place, item: &Item<'_>, delta: &mut Delta) -> bool {
        let id = item.id.get();
        match item.kind.or_empty() {
            "UserMessage" => self.user(place, &item.content, id, Voice::Event, delta),
            "AgentMessage" => self.reply(place, &words(&item.content), id, Voice::Event, delta),
            "Reasoning" => {
                let parts = [&item.summary, &item.raw_content];
                self.reasoning(place, &parts, id, Voice::Event, delta);
            }
            "Plan" => self.reply(place, item.text.or_empty(), id, Voice::Event, delta),
            "HookPrompt" => {
                self.goes_on();
                let note = place.note(&item.fragments.text());
                self.push(place, note, delta);
            }
            "CommandExecution" => self.command(place, item, delta),
            "FileChange" => self.file_change(place, item, delta),
            "McpToolCall" | "DynamicToolCall" => self.other_tool(place, item, delta),
            "CollabAgentToolCall" => self.collaboration(place, item, delta),
            "SubAgentActivity" => {
                self.activity(
                    place,
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
                if !self.known_end(place, id, ended(item), delta) {
                    let wording = plain(text.unwrap_or_default());
                    self.told_end(place, Called { tool, wording, id }, ended(item), "", delta);
                }
            }
            "EnteredReviewMode" | "ExitedReviewMode" => {
                let entered = item.kind.or_empty() == "EnteredReviewMode";
                self.review(
                    place,
                    entered,
                    word_in(item.review).as_deref().unwrap_or_default(),
                    delta,
                );
            }
            "ContextCompaction" => self.compaction(place, "", Voice::Event, delta),
            other => {
                self.turns.go_on();
                unknown(&self.facts, format!("item_completed/{other}"), delta);
                return false;
            }
        }
        true
    }

    fn command(&mut self, place: &mut Place, item: &Item<'_>, delta: &mut Delta) {
        let wording = of_command(&item.command.0);
        if item.source.or_empty() == "user_shell" {
            self.turns.go_on();
            let mut event = place.event(Kind::UserMsg, Role::User, self.asks());
            if event.actor == Actor::Human {
                event.kinds = event.kinds.and(Kind::HumanIntervention);
            }
            event.exit_code = code_in(item.exit_code);
            event.summary = summary(&format!("! {}", wording.text));
            self.push(place, event, delta);
            return;
        }
        let mut end = ended(item);
        end.exit_code = code_in(item.exit_code).filter(|_| !end.declined);
        end.success = end.exit_code.map(|code| code == 0).or(end.success);
        let (tool, id) = ("exec_command", item.id.get());
        if !self.known_end(place, id, end, delta) {
            let output = first_in(&[item.aggregated_output, item.stdout, item.stderr]);
            self.told_end(place, Called { tool, wording, id }, end, &output, delta);
        }
    }

    fn file_change(&mut self, place: &mut Place, item: &Item<'_>, delta: &mut Delta) {
        let (tool, id) = ("apply_patch", item.id.get());
        if !self.known_end(place, id, ended(item), delta) {
            let wording = of_files(changed(item.changes.json()));
            let output = first_in(&[item.stderr, item.stdout]);
            self.told_end(place, Called { tool, wording, id }, ended(item), &output, delta);
        }
    }

    fn other_tool(&mut self, place: &mut Place, item: &Item<'_>, delta: &mut Delta) {
        let tool = match item.server.get() {
            Some(server) => format!("mcp__{server}__{}", item.tool.or_empty()),
            None => item.tool.or_empty().to_owned(),
        };
        let mut end = ended(item);
        let (success, mut output) = of_mcp(item.result);
        end.success = truth_in(item.success).or(end.success).or(success);
        if let Some(error) = error_in(item.error.json()) {
            (end.success, output) = (Some(false), error);
        }
        let id = item.id.get();
        if !self.known_end(place, id, end, delta) {
            let wording = of_call(&tool, item.arguments.json());
            let tool = tool.as_str();
            self.told_end(place, Called { tool, wording, id }, end, &output, delta);
        }
    }

    fn collaboration(&mut self, place: &mut Place, item: &Item<'_>, delta: &mut Delta) {
        if !place.inherited && item.tool.or_empty().starts_with("spawn") {
            for receiver in item.receivers.0.iter().filter_map(|id| id.get()) {
                self.facts.child(receiver, item.id.get(), place.line, None);
            }
        }
        let (tool, id) = (item.tool.or_empty(), item.id.get());
        if !self.known_end(place, id, ended(item), delta) {
            let wording = plain(item.prompt.or_empty());
            self.told_end(place, Called { tool, wording, id }, ended(item), "", delta);
        }
    }

    /// Reports that another thread was started, messaged or stopped.
    pub(super) fn activity(
        &mut self,
        place: &mut Place,
        thread: Option<&str>,
        what: &str,
        path: Option<&str>,
        delta: &mut Delta,
    ) {
        self.turns.go_on();
        if let (Some(thread), false) = (thread, place.inherited) {
            self.facts.child(thread, None, place.line, path);
        }
        let note = place.note(&format!("subagent {} {what}", path.unwrap_or_default()));
        self.push(place, note, delta);
    }
}

/// Returns the type of an item, inferred from its fields if it is missing.
fn shape<'p>(payload: &'p Payload<'_>) -> &'p str {
    match payload.kind.get() {
        Some(kind) => kind,
        None if payload.role.get().is_some() => "message",
        None if payload.name.get().is_some() && payload.arguments.0.is_some() => "function_call",
        None if payload.call().is_some() => "function_call_output",
        None => "untyped",
    }
}

/// Returns the end of an item by its status.
fn ended(item: &Item<'_>) -> End {
    of_status(
        word_in(item.status).as_deref(),
        item.duration.0.as_ref().map(|took| took.ms()),
    )
}

/// Returns the end of a call by its status.
pub(super) fn of_status(status: Option<&str>, duration_ms: Option<u64>) -> End {
    End {
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
