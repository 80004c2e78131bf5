//! Tool calls and tool results of a log, and the human's words that hide in results.

use super::record::Block;
use super::said::{denial_words, is_denial};
use super::{Place, State, body};
use crate::command::test_runner;
use crate::event::{Actor, Kind, Role};
use crate::joins::{Ending, OpenCall, exit_code, is_shell, kinds_of_call};
use crate::reading::Delta;
use crate::session::LineageKind;
use crate::wording::{summary, word};

impl State {
    pub(super) fn tool_call(&mut self, place: &mut Place<'_>, block: &Block<'_>, delta: &mut Delta) {
        let tool = block.name.or_empty();
        let wording = word(tool, block.input.json());
        let tests = wording
            .command
            .as_deref()
            .is_some_and(|command| test_runner(command).is_some());
        let retries = self.tools.is_retry(tool, &wording.text);
        self.turns.retries += u32::from(retries);
        let mut event = place.event(Kind::ToolCall, Role::Assistant, Actor::Agent);
        event.kinds = kinds_of_call(!wording.files.is_empty(), tests, retries);
        event.tool = Some(tool.into());
        event.call_id = block.id.get().map(Into::into);
        let open = OpenCall::new(self.next_seq, place.ts, tool, &wording.text);
        event.summary = wording.text;
        event.files = wording.files;
        self.push(place, event, delta);
        if let Some(id) = block.id.get() {
            self.tools.call(id, open, delta);
        }
    }

    pub(super) fn tool_result(&mut self, place: &mut Place<'_>, block: &Block<'_>, delta: &mut Delta) {
        let record = place.record;
        let text = block.content.text();
        let id = block.tool_use_id.or_empty();
        let call = self.tools.waiting(id).map(|open| (open.seq, open.tool.clone()));
        let tool = call.as_ref().map(|(_, tool)| &**tool).unwrap_or_default();
        let denied = block.is_error.0 && is_denial(record, &text);
        let said = &record.tool_result.object;
        let running = said.background.get().is_some();

        let mut event = place.event(Kind::ToolResult, Role::Tool, Actor::Tool);
        event.tool = call.as_ref().map(|(_, tool)| tool.clone());
        event.call_id = block.tool_use_id.get().map(Into::into);
        event.summary = summary(&text);
        event.success = Some(!block.is_error.0);
        event.exit_code = match exit_code(&text).filter(|_| block.is_error.0) {
            None if is_shell(tool) && !block.is_error.0 && !running && !said.interrupted.0 => Some(0),
            code => code.or(said.exit_code.0.and_then(|code| i32::try_from(code).ok())),
        };
        event.spill = spill(said.spilled_to.get(), &text);
        if denied {
            // The tool never ran: it is the human who acts here.
            (event.actor, event.kinds) = (Actor::Human, event.kinds.and(Kind::HumanIntervention));
        } else if block.is_error.0 {
            event.kinds = event.kinds.and(Kind::Error);
        }
        if event.parent_seq.is_none() || record.parent_uuid.get().is_none() {
            event.parent_seq = call.as_ref().map(|(seq, _)| *seq).or(event.parent_seq);
        }
        let ending = Ending {
            seq: self.next_seq,
            ts: place.ts,
            success: event.success,
            exit_code: event.exit_code,
            denied,
        };
        self.child_of(place, id);
        let follows = place.parent;
        self.push(place, event, delta);
        self.tools.result(id, ending, delta);
        if !self.is_delegated(record) {
            self.words_in_a_result(place, tool, &text, denied, delta);
        }
        // Results of one record are siblings: each follows from the calls, not from the result before.
        place.parent = follows.or(place.parent);
    }

    /// A result may carry a human's words: why a call was denied, what was answered, that a plan is good.
    fn words_in_a_result(&mut self, place: &mut Place<'_>, tool: &str, text: &str, denied: bool, delta: &mut Delta) {
        let answers = place.record.tool_result.object.answers;
        let (words, trigger) = if denied {
            let Some((words, directs)) = denial_words(text) else {
                return;
            };
            (summary(words), directs)
        } else if answers.0.is_some() || tool == "AskUserQuestion" {
            (body::answers(answers.json(), text), false)
        } else if text.starts_with("User has approved your plan") {
            ("approved the plan".into(), false)
        } else {
            return;
        };
        let mut event = place.event(Kind::UserMsg, Role::User, Actor::Human);
        event.block -= 1;
        event.id = format!("{}.words", place.id(event.block)).into();
        event.parent_seq = self.next_seq.checked_sub(1);
        event.summary = words;
        event.trigger = trigger;
        if denied {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(place, event, delta);
        place.block -= 1;
    }

    /// The result of a call that made a subagent names it.
    fn child_of(&mut self, place: &Place<'_>, call_id: &str) {
        let said = &place.record.tool_result.object;
        if let Some(agent_id) = said.agent_id.get() {
            self.facts.child(
                LineageKind::Subagent,
                agent_id,
                call_id,
                place.line,
                said.agent_type.get(),
            );
        }
    }
}

/// The name of the file in the session's `tool-results` that holds a result too large for the log.
fn spill(path: Option<&str>, text: &str) -> Option<Box<str>> {
    let told = || {
        let text = text.strip_prefix("<persisted-output>")?;
        text.split_once("Full output saved to: ")?.1.lines().next()
    };
    let path = path.or_else(told)?.trim();
    let (directory, name) = path.rsplit_once(['/', '\\'])?;
    directory.ends_with("tool-results").then(|| name.into())
}
