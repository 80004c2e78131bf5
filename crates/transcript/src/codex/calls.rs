//! Tool calls and their results, joined by the id of the call, whichever record reports the end.

use super::ends::CallEnd;
use super::outputs::{parse_outcome, plain_output, printed_output};
use super::record::{CodexPayload, McpResult, word_in};
use super::words::{word_call, word_command, word_text};
use super::{CodexPosition, CodexState};
use crate::command::test_runner;
use crate::event::{Actor, Kind, Kinds, Role, SessionEvent};
use crate::joins::{CallResult, OpenCall, call_kinds};
use crate::reading::{Amendment, Delta};
use crate::wire::{RawJson, WireText, wire};
use crate::wording::{Wording, summary};

/// A tool call before it becomes an event.
pub(super) struct CodexToolCall<'c> {
    pub(super) tool: &'c str,
    pub(super) wording: Wording,
    pub(super) id: Option<&'c str>,
}

impl CodexState {
    /// Reads a call that the model makes by name. Arguments are JSON in a string, input is any text.
    pub(super) fn tool_call(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        let tool = qualified_name(payload);
        let input = match payload.input.0.is_some() {
            true => payload.input.json(),
            false => payload.arguments.json(),
        };
        let mut wording = word_call(&tool, input);
        if tool == "exec" {
            // A program's edits, and in paginated logs its commands, have records of their own.
            wording.files.clear();
            wording.command.take_if(|_| self.facts.is_paginated);
        }
        let called = CodexToolCall {
            wording,
            tool: &tool,
            id: payload.call(),
        };
        if let Some(id) = called.id.filter(|_| is_poll(called.tool))
            && let Some(number) = polled_number(input)
        {
            self.ends.add_poll(id, number);
        }
        self.continue_turn();
        self.call(position, called, delta);
    }

    /// Reads a call of a tool built into the model: the old shell, search, images.
    pub(super) fn built_in_call(
        &mut self,
        position: &mut CodexPosition,
        payload: &CodexPayload<'_>,
        delta: &mut Delta,
    ) {
        let kind = payload.kind.or_empty();
        let tool = kind.strip_suffix("_call").unwrap_or(kind);
        let wording = match (&payload.action.0, kind) {
            (Some(action), "local_shell_call") => word_command(&action.command.0),
            (Some(action), _) => {
                let words = [&action.query, &action.url, &action.pattern];
                let words: Vec<&str> = words.into_iter().filter_map(|text| text.get()).collect();
                word_text(&words.join(" "))
            }
            (None, "tool_search_call") => word_call(tool, payload.arguments.json()),
            (None, _) => word_text(payload.revised_prompt.or_empty()),
        };
        let id = payload.call();
        self.continue_turn();
        let joined = self.call(position, CodexToolCall { tool, wording, id }, delta);
        // Some of these calls have no output, so their status is their only result.
        if matches!(kind, "web_search_call" | "image_generation_call") || id.is_none() {
            let failed = matches!(word_in(payload.status).as_deref(), Some("failed" | "incomplete"));
            let success = payload.status.0.map(|_| !failed);
            delta.amend(Amendment::Joined {
                seq: joined,
                success,
                exit_code: None,
                duration_ms: None,
                kinds: failed.then_some(Kind::Error).map(Kinds::of).unwrap_or_default(),
            });
        }
    }

    /// Pushes a call and returns the `seq` of its event.
    pub(super) fn call(&mut self, position: &mut CodexPosition, called: CodexToolCall<'_>, delta: &mut Delta) -> u64 {
        let CodexToolCall { tool, wording, id } = called;
        let tests = wording
            .command
            .as_deref()
            .is_some_and(|command| test_runner(command).is_some());
        let retries = !is_poll(tool) && self.tools.is_retry(tool, &wording.text);
        if !position.inherited {
            self.turns.retries += u32::from(retries);
        }
        let mut event = position.event(Kind::ToolCall, Role::Assistant, Actor::Agent);
        event.kinds = call_kinds(!wording.files.is_empty(), tests, retries);
        event.tool = Some(tool.into());
        event.call_id = id.map(Into::into);
        if let Some(id) = id {
            event.id = id.into();
        }
        let seq = self.next_seq;
        let open = OpenCall::new(seq, position.ts, tool, &wording.text);
        event.summary = wording.text;
        event.files = wording.files;
        self.push_agent_event(position, event, delta);
        if let Some(id) = id {
            self.ends.add_call(id);
            self.tools.add_call(id, open, delta);
        }
        seq
    }

    /// Reads the output of a call.
    pub(super) fn tool_output(&mut self, position: &mut CodexPosition, payload: &CodexPayload<'_>, delta: &mut Delta) {
        self.continue_turn();
        let text = match payload.tools.0.is_empty() {
            true => payload.output.text(),
            false => {
                let names: Vec<&str> = payload.tools.0.iter().map(|tool| tool.name.or_empty()).collect();
                names.join(", ").into()
            }
        };
        let id = payload.call().unwrap_or_default();
        let outcome = parse_outcome(&text);
        let end = self.ends.take_end(id);
        let waiting = self.tools.open_call(id).cloned();
        let tool = waiting.as_ref().map(|open| &*open.tool).unwrap_or_default();
        let result = CallEnd {
            // Failures are always reported, but most tools do not report success.
            success: end.success.or(outcome.success).or_else(|| {
                let silent = outcome.running.is_some() || is_shell(tool);
                (!silent).then_some(true)
            }),
            exit_code: end.exit_code.or(outcome.exit_code),
            // Some versions report a duration of zero for every command.
            duration_ms: end.duration_ms.or(outcome.duration_ms).filter(|ms| *ms > 0),
            declined: end.declined || outcome.denied,
        };
        if let (Some(number), Some(open)) = (outcome.running, waiting.clone().filter(|open| !is_poll(&open.tool))) {
            self.ends.add_background(number, id, open);
        }
        if let Some(number) = self.ends.take_poll(id).filter(|_| outcome.running.is_none())
            && let Some(open) = self.ends.finish_background(number, result, position.ts, delta)
        {
            self.tools.note_outcome(open, result.success);
        }
        self.link_spawned_thread(position, tool, id, &text);
        let mut event = self.result(position, Some(id).filter(|id| !id.is_empty()), &result);
        event.summary = summary(printed_output(&plain_output(&text)));
        if outcome.aborted {
            // The tool did not fail but was stopped. Later versions have a record of its own for that.
            event.kinds = Kinds::of(Kind::ToolResult);
            if position.ts.is_none() && self.prompt_actor() == Actor::Human {
                event.kinds = event.kinds.and(Kind::HumanIntervention);
            }
        }
        self.end(position, event, &result, delta);
    }

    /// Returns the event for the result of a call.
    pub(super) fn result(&self, position: &CodexPosition, id: Option<&str>, end: &CallEnd) -> SessionEvent {
        let call = id.and_then(|id| self.tools.open_call(id));
        let mut event = position.event(Kind::ToolResult, Role::Tool, Actor::Tool);
        event.tool = call.map(|open| open.tool.clone());
        event.parent_seq = call.map(|open| open.seq).or(event.parent_seq);
        event.call_id = id.map(Into::into);
        if let Some(id) = id {
            event.id = format!("{id}.out").into();
        }
        (event.success, event.exit_code) = (end.success, end.exit_code);
        if end.declined && self.prompt_actor() == Actor::Human {
            // The tool never ran: the human acted here.
            (event.actor, event.kinds) = (Actor::Human, event.kinds.and(Kind::HumanIntervention));
        } else if end.success == Some(false) {
            event.kinds = event.kinds.and(Kind::Error);
        }
        event
    }

    /// Pushes a result and joins it with its call.
    pub(super) fn end(&mut self, position: &mut CodexPosition, event: SessionEvent, end: &CallEnd, delta: &mut Delta) {
        let ending = CallResult {
            seq: self.next_seq,
            ts: position.ts,
            success: end.success,
            exit_code: end.exit_code,
            denied: end.declined
                || !event.kinds.has(Kind::Error) && end.success == Some(false)
                || event.tool.as_deref().is_some_and(is_poll),
        };
        self.meter.note_result();
        let id = event.call_id.clone();
        let call = id
            .as_deref()
            .and_then(|id| self.tools.open_call(id))
            .map(|open| open.seq);
        self.push(position, event, delta);
        let Some(id) = id else { return };
        self.tools.add_result(&id, ending, delta);
        // The duration reported by the tool is better than the difference between two timestamps.
        if let (Some(seq), Some(_)) = (call, end.duration_ms) {
            self.amend_call(seq, end, delta);
        }
    }

    /// Amends a call with its result.
    fn amend_call(&self, seq: u64, end: &CallEnd, delta: &mut Delta) {
        delta.amend(Amendment::Joined {
            seq,
            success: end.success,
            exit_code: end.exit_code,
            duration_ms: end.duration_ms,
            kinds: Kinds::default(),
        });
    }

    /// Reads the end of a call from an event or an item. Returns `true` if the call itself is in the log, because
    /// then its output gives the event.
    pub(super) fn store_known_end(
        &mut self,
        position: &mut CodexPosition,
        id: Option<&str>,
        end: CallEnd,
        delta: &mut Delta,
    ) -> bool {
        self.turns.continue_open();
        let Some(id) = id.filter(|id| self.ends.has_call(id)) else {
            return false;
        };
        position.block += 2;
        if self.tools.open_call(id).is_some() {
            self.ends.store_end(id, end);
        } else {
            let open = self.ends.finish_background_of(id, end, position.ts, delta);
            if let Some(open) = open {
                self.tools.note_outcome(open, end.success);
            }
        }
        true
    }

    /// Pushes a call together with its end: a call made by a program has no other record.
    pub(super) fn push_call_and_end(
        &mut self,
        position: &mut CodexPosition,
        called: CodexToolCall<'_>,
        end: CallEnd,
        output: &str,
        delta: &mut Delta,
    ) {
        self.echoes.end_prompt();
        let id = called.id.map(str::to_owned);
        let tool: Box<str> = called.tool.into();
        let seq = self.call(position, called, delta);
        let mut event = self.result(position, id.as_deref(), &end);
        event.summary = summary(output);
        (event.tool, event.parent_seq) = (Some(tool), Some(seq));
        self.end(position, event, &end, delta);
        if end.duration_ms.is_none() {
            // Call and end are on one line, so their timestamps give no duration.
            self.amend_call(seq, &end, delta);
        }
    }

    /// Links the thread that the output of `spawn_agent` names.
    fn link_spawned_thread(&mut self, position: &CodexPosition, tool: &str, call_id: &str, text: &str) {
        if tool.ends_with("spawn_agent")
            && !position.inherited
            && let Ok(output) = serde_json::from_str::<SpawnOutput<'_>>(text)
            && let Some(id) = output.agent_id.get()
        {
            self.facts
                .add_child(id, Some(call_id), position.line, output.nickname.get());
        }
    }
}

/// Returns `true` if the tool polls a command that another call started: the result belongs to that call.
fn is_poll(tool: &str) -> bool {
    matches!(tool, "write_stdin" | "wait")
}

/// Returns `true` if the tool is a shell, whose output always has an exit code.
fn is_shell(tool: &str) -> bool {
    matches!(
        tool,
        "shell" | "shell_command" | "exec_command" | "write_stdin" | "local_shell" | "exec" | "wait"
    )
}

/// Returns the name of a tool, prefixed by its server.
fn qualified_name(payload: &CodexPayload<'_>) -> String {
    let name = payload.name.or_empty();
    match payload.namespace.get() {
        Some(space) if space.ends_with("__") || name.starts_with('_') => format!("{space}{name}"),
        Some(space) => format!("{space}__{name}"),
        None => name.to_owned(),
    }
}

/// Returns whether an MCP tool succeeded, and its output.
pub(super) fn mcp_result(result: RawJson<'_>) -> (Option<bool>, String) {
    let parsed: McpResult<'_> = serde_json::from_str(result.json()).unwrap_or_default();
    match (&parsed.ok.0, parsed.err.get()) {
        (_, Some(error)) => (Some(false), error.to_owned()),
        (Some(ok), None) => (Some(!ok.is_error.0), ok.content.text().into_owned()),
        (None, None) if result.0.is_none() => (None, String::new()),
        (None, None) => (Some(!parsed.is_error.0), parsed.content.text().into_owned()),
    }
}

/// Returns the number of the command that a call polls.
fn polled_number(input: &str) -> Option<u64> {
    let arguments: String = serde_json::from_str(input).unwrap_or_else(|_| input.to_owned());
    let poll: PollArguments<'_> = serde_json::from_str(&arguments).unwrap_or_default();
    let word = |raw: RawJson<'_>| raw.json().trim_matches('"').parse().ok();
    word(poll.session_id).or_else(|| word(poll.cell_id))
}

wire! {
    struct PollArguments<'a> {
        session_id: RawJson<'a> = "session_id",
        cell_id: RawJson<'a> = "cell_id",
    }
}

wire! {
    /// The output of the tool that starts a thread.
    struct SpawnOutput<'a> {
        agent_id: WireText<'a> = "agent_id",
        nickname: WireText<'a> = "nickname",
    }
}
