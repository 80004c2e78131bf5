//! Tool calls and their results, joined by the id of the call, whichever record reports the end.

use super::ends::End;
use super::outputs::{bare, outcome, shown};
use super::record::{McpResult, Payload, word_in};
use super::words::{of_call, of_command, plain};
use super::{Place, State};
use crate::command::test_runner;
use crate::event::{Actor, Kind, Kinds, Role, SessionEvent};
use crate::joins::{Ending, OpenCall, kinds_of_call};
use crate::reading::{Amendment, Delta};
use crate::wire::{Raw, Text, wire};
use crate::wording::{Wording, summary};

/// A tool call before it becomes an event.
pub(super) struct Called<'c> {
    pub(super) tool: &'c str,
    pub(super) wording: Wording,
    pub(super) id: Option<&'c str>,
}

impl State {
    /// Reads a call that the model makes by name. Arguments are JSON in a string, input is any text.
    pub(super) fn tool_call(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let tool = named(payload);
        let input = match payload.input.0.is_some() {
            true => payload.input.json(),
            false => payload.arguments.json(),
        };
        let mut wording = of_call(&tool, input);
        if tool == "exec" {
            // A program's edits, and in paginated logs its commands, have records of their own.
            wording.files.clear();
            wording.command.take_if(|_| self.facts.is_paginated);
        }
        let called = Called {
            wording,
            tool: &tool,
            id: payload.call(),
        };
        if let Some(id) = called.id.filter(|_| asks_after(called.tool))
            && let Some(number) = polled(input)
        {
            self.ends.polls(id, number);
        }
        self.goes_on();
        self.call(place, called, delta);
    }

    /// Reads a call of a tool built into the model: the old shell, search, images.
    pub(super) fn built_in_call(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        let kind = payload.kind.or_empty();
        let tool = kind.strip_suffix("_call").unwrap_or(kind);
        let wording = match (&payload.action.0, kind) {
            (Some(action), "local_shell_call") => of_command(&action.command.0),
            (Some(action), _) => {
                let words = [&action.query, &action.url, &action.pattern];
                let words: Vec<&str> = words.into_iter().filter_map(|text| text.get()).collect();
                plain(&words.join(" "))
            }
            (None, "tool_search_call") => of_call(tool, payload.arguments.json()),
            (None, _) => plain(payload.revised_prompt.or_empty()),
        };
        let id = payload.call();
        self.goes_on();
        let joined = self.call(place, Called { tool, wording, id }, delta);
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
    pub(super) fn call(&mut self, place: &mut Place, called: Called<'_>, delta: &mut Delta) -> u64 {
        let Called { tool, wording, id } = called;
        let tests = wording
            .command
            .as_deref()
            .is_some_and(|command| test_runner(command).is_some());
        let retries = !asks_after(tool) && self.tools.is_retry(tool, &wording.text);
        if !place.inherited {
            self.turns.retries += u32::from(retries);
        }
        let mut event = place.event(Kind::ToolCall, Role::Assistant, Actor::Agent);
        event.kinds = kinds_of_call(!wording.files.is_empty(), tests, retries);
        event.tool = Some(tool.into());
        event.call_id = id.map(Into::into);
        if let Some(id) = id {
            event.id = id.into();
        }
        let seq = self.next_seq;
        let open = OpenCall::new(seq, place.ts, tool, &wording.text);
        event.summary = wording.text;
        event.files = wording.files;
        self.push_by_agent(place, event, delta);
        if let Some(id) = id {
            self.ends.called(id);
            self.tools.call(id, open, delta);
        }
        seq
    }

    /// Reads the output of a call.
    pub(super) fn tool_output(&mut self, place: &mut Place, payload: &Payload<'_>, delta: &mut Delta) {
        self.goes_on();
        let text = match payload.tools.0.is_empty() {
            true => payload.output.text(),
            false => {
                let names: Vec<&str> = payload.tools.0.iter().map(|tool| tool.name.or_empty()).collect();
                names.join(", ").into()
            }
        };
        let id = payload.call().unwrap_or_default();
        let told = outcome(&text);
        let end = self.ends.take(id);
        let waiting = self.tools.waiting(id).cloned();
        let tool = waiting.as_ref().map(|open| &*open.tool).unwrap_or_default();
        let result = End {
            // Failures are always reported, but most tools do not report success.
            success: end.success.or(told.success).or_else(|| {
                let silent = told.running.is_some() || is_shell(tool);
                (!silent).then_some(true)
            }),
            exit_code: end.exit_code.or(told.exit_code),
            // Some versions report a duration of zero for every command.
            duration_ms: end.duration_ms.or(told.duration_ms).filter(|ms| *ms > 0),
            declined: end.declined || told.denied,
        };
        if let (Some(number), Some(open)) = (told.running, waiting.clone().filter(|open| !asks_after(&open.tool))) {
            self.ends.goes_on(number, id, open);
        }
        if let Some(number) = self.ends.polled(id).filter(|_| told.running.is_none())
            && let Some(open) = self.ends.over(number, result, place.ts, delta)
        {
            self.tools.came_out(open, result.success);
        }
        self.made_thread(place, tool, id, &text);
        let mut event = self.result(place, Some(id).filter(|id| !id.is_empty()), &result);
        event.summary = summary(shown(&bare(&text)));
        if told.aborted {
            // The tool did not fail but was stopped. Later versions have a record of its own for that.
            event.kinds = Kinds::of(Kind::ToolResult);
            if place.ts.is_none() && self.asks() == Actor::Human {
                event.kinds = event.kinds.and(Kind::HumanIntervention);
            }
        }
        self.end(place, event, &result, delta);
    }

    /// Returns the event for the result of a call.
    pub(super) fn result(&self, place: &Place, id: Option<&str>, end: &End) -> SessionEvent {
        let call = id.and_then(|id| self.tools.waiting(id));
        let mut event = place.event(Kind::ToolResult, Role::Tool, Actor::Tool);
        event.tool = call.map(|open| open.tool.clone());
        event.parent_seq = call.map(|open| open.seq).or(event.parent_seq);
        event.call_id = id.map(Into::into);
        if let Some(id) = id {
            event.id = format!("{id}.out").into();
        }
        (event.success, event.exit_code) = (end.success, end.exit_code);
        if end.declined && self.asks() == Actor::Human {
            // The tool never ran: the human acted here.
            (event.actor, event.kinds) = (Actor::Human, event.kinds.and(Kind::HumanIntervention));
        } else if end.success == Some(false) {
            event.kinds = event.kinds.and(Kind::Error);
        }
        event
    }

    /// Pushes a result and joins it with its call.
    pub(super) fn end(&mut self, place: &mut Place, event: SessionEvent, end: &End, delta: &mut Delta) {
        let ending = Ending {
            seq: self.next_seq,
            ts: place.ts,
            success: end.success,
            exit_code: end.exit_code,
            denied: end.declined
                || !event.kinds.has(Kind::Error) && end.success == Some(false)
                || event.tool.as_deref().is_some_and(asks_after),
        };
        self.meter.answered();
        let id = event.call_id.clone();
        let call = id.as_deref().and_then(|id| self.tools.waiting(id)).map(|open| open.seq);
        self.push(place, event, delta);
        let Some(id) = id else { return };
        self.tools.result(&id, ending, delta);
        // The duration reported by the tool is better than the difference between two timestamps.
        if let (Some(seq), Some(_)) = (call, end.duration_ms) {
            self.joined(seq, end, delta);
        }
    }

    /// Amends a call with its result.
    fn joined(&self, seq: u64, end: &End, delta: &mut Delta) {
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
    pub(super) fn known_end(&mut self, place: &mut Place, id: Option<&str>, end: End, delta: &mut Delta) -> bool {
        self.turns.go_on();
        let Some(id) = id.filter(|id| self.ends.knows(id)) else {
            return false;
        };
        place.block += 2;
        if self.tools.waiting(id).is_some() {
            self.ends.tell(id, end);
        } else {
            let open = self.ends.over_by_call(id, end, place.ts, delta);
            if let Some(open) = open {
                self.tools.came_out(open, end.success);
            }
        }
        true
    }

    /// Pushes a call together with its end: a call made by a program has no other record.
    pub(super) fn told_end(
        &mut self,
        place: &mut Place,
        called: Called<'_>,
        end: End,
        output: &str,
        delta: &mut Delta,
    ) {
        self.echoes.prompt_over();
        let id = called.id.map(str::to_owned);
        let tool: Box<str> = called.tool.into();
        let seq = self.call(place, called, delta);
        let mut event = self.result(place, id.as_deref(), &end);
        event.summary = summary(output);
        (event.tool, event.parent_seq) = (Some(tool), Some(seq));
        self.end(place, event, &end, delta);
        if end.duration_ms.is_none() {
            // Call and end are on one line, so their timestamps give no duration.
            self.joined(seq, &end, delta);
        }
    }

    /// Links the thread that the output of `spawn_agent` names.
    fn made_thread(&mut self, place: &Place, tool: &str, call_id: &str, text: &str) {
        if tool.ends_with("spawn_agent")
            && !place.inherited
            && let Ok(told) = serde_json::from_str::<Spawned<'_>>(text)
            && let Some(id) = told.agent_id.get()
        {
            self.facts.child(id, Some(call_id), place.line, told.nickname.get());
        }
    }
}

/// Returns `true` if the tool polls a command that another call started: the result belongs to that call.
fn asks_after(tool: &str) -> bool {
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
fn named(payload: &Payload<'_>) -> String {
    let name = payload.name.or_empty();
    match payload.namespace.get() {
        Some(space) if space.ends_with("__") || name.starts_with('_') => format!("{space}{name}"),
        Some(space) => format!("{space}__{name}"),
        None => name.to_owned(),
    }
}

/// Returns whether an MCP tool succeeded, and its output.
pub(super) fn of_mcp(result: Raw<'_>) -> (Option<bool>, String) {
    let told: McpResult<'_> = serde_json::from_str(result.json()).unwrap_or_default();
    match (&told.ok.0, told.err.get()) {
        (_, Some(error)) => (Some(false), error.to_owned()),
        (Some(ok), None) => (Some(!ok.is_error.0), ok.content.text().into_owned()),
        (None, None) if result.0.is_none() => (None, String::new()),
        (None, None) => (Some(!told.is_error.0), told.content.text().into_owned()),
    }
}

/// Returns the number of the command that a call polls.
fn polled(input: &str) -> Option<u64> {
    let arguments: String = serde_json::from_str(input).unwrap_or_else(|_| input.to_owned());
    let poll: Poll<'_> = serde_json::from_str(&arguments).unwrap_or_default();
    let word = |raw: Raw<'_>| raw.json().trim_matches('"').parse().ok();
    word(poll.session_id).or_else(|| word(poll.cell_id))
}

wire! {
    struct Poll<'a> {
        session_id: Raw<'a> = "session_id",
        cell_id: Raw<'a> = "cell_id",
    }
}

wire! {
    /// The output of the tool that starts a thread.
    struct Spawned<'a> {
        agent_id: Text<'a> = "agent_id",
        nickname: Text<'a> = "nickname",
    }
}
