//! Tool calls, tool results, and the human's words that results contain.

use super::facts::ClaudeFacts;
use super::record::ClaudeBlock;
use super::said::{denial_words, is_denial, is_interrupt};
use super::{ClaudePosition, ClaudeState, body};
use crate::command::test_runner;
use crate::event::{Actor, Kind, Role};
use crate::ids::uuid;
use crate::joins::{CallResult, OpenCall, call_kinds, exit_code, is_shell};
use crate::name::SafeName;
use crate::reading::Delta;
use crate::session::LineageKind;
use crate::wording::{summary, word};

impl ClaudeState {
    pub(super) fn tool_call(&mut self, position: &mut ClaudePosition<'_>, block: &ClaudeBlock<'_>, delta: &mut Delta) {
        let tool = block.name.or_empty();
        let wording = word(tool, block.input.json());
        let tests = wording
            .command
            .as_deref()
            .is_some_and(|command| test_runner(command).is_some());
        let retries = self.tools.is_retry(tool, &wording.text);
        self.turns.retries += u32::from(retries);
        let mut event = position.event(Kind::ToolCall, Role::Assistant, Actor::Agent);
        event.kinds = call_kinds(!wording.files.is_empty(), tests, retries);
        event.tool = block.name.get().map(Into::into);
        event.call_id = block.id.get().map(Into::into);
        let open = OpenCall::new(self.next_seq, position.ts, tool, &wording.text);
        event.summary = wording.text;
        event.files = wording.files;
        if position.record.is_aborted.0 {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(position, event, delta);
        if let Some(id) = block.id.get() {
            self.tools.add_call(id, open, delta);
        }
    }

    pub(super) fn tool_result(
        &mut self,
        position: &mut ClaudePosition<'_>,
        block: &ClaudeBlock<'_>,
        delta: &mut Delta,
    ) {
        let record = position.record;
        let text = block.content.text();
        let id = block.tool_use_id.or_empty();
        let call = self.tools.open_call(id).map(|open| (open.seq, open.tool.clone()));
        let tool = call.as_ref().map(|(_, tool)| &**tool).unwrap_or_default();
        let denied = block.is_error.0 && is_denial(record, &text);
        // The human stopped the tool. The interrupt record that follows is the event, and nothing failed.
        let stopped = block.is_error.0 && is_interrupt(&text);
        let tool_result = &record.tool_result.object;
        let running = tool_result.background.get().is_some();
        // A result can precede its call; a shell's result is then recognized by its fields.
        let by_shell = is_shell(tool) || (tool.is_empty() && tool_result.stdout.0.is_some());

        let mut event = position.event(Kind::ToolResult, Role::Tool, Actor::Tool);
        event.tool = call
            .as_ref()
            .map(|(_, tool)| tool.clone())
            .filter(|tool| !tool.is_empty());
        event.call_id = block.tool_use_id.get().map(Into::into);
        event.summary = summary(without_error_tag(&text));
        event.success = Some(!block.is_error.0 && !tool_result.interrupted.0);
        event.exit_code = match exit_code(&text).filter(|_| block.is_error.0) {
            None if by_shell && !block.is_error.0 && !running && !tool_result.interrupted.0 => Some(0),
            code => code.or(tool_result.exit_code.0.and_then(|code| i32::try_from(code).ok())),
        };
        event.spill = spill(tool_result.spill_path.get(), &text, &self.facts);
        if denied {
            // The tool never ran: the human acted here.
            (event.actor, event.kinds) = (Actor::Human, event.kinds.and(Kind::HumanIntervention));
        } else if block.is_error.0 && !stopped {
            event.kinds = event.kinds.and(Kind::Error);
        }
        if record.kind.or_empty() == "user" {
            // The results of one record are siblings: each follows the calls, not the previous result.
            let linked = record.parent_uuid.get().and_then(|uuid| self.nodes.seq(uuid)).flatten();
            event.parent_seq = linked.or(call.as_ref().map(|(seq, _)| *seq)).or(position.record_parent);
        }
        let ending = CallResult {
            seq: self.next_seq,
            ts: position.ts,
            success: event.success,
            exit_code: event.exit_code,
            denied: denied || stopped,
        };
        self.link_subagent(position, id);
        if let Some(thread) = companion(&text) {
            self.facts
                .add_child(LineageKind::Companion, thread, id, position.line, Some("codex"));
        }
        self.push(position, event, delta);
        self.tools.add_result(id, ending, delta);
        if !self.is_delegated(record) {
            self.push_words_in_result(position, tool, block, denied, delta);
        }
    }

    /// Pushes the event for a human's words in a result: the reason of a denial, the answers to a question, or the
    /// approval of a plan.
    fn push_words_in_result(
        &mut self,
        position: &mut ClaudePosition<'_>,
        tool: &str,
        block: &ClaudeBlock<'_>,
        denied: bool,
        delta: &mut Delta,
    ) {
        let text = &block.content.text();
        let answers = position.record.tool_result.object.answers.json();
        // A result can precede its call; then its fields must identify the tool.
        let may_be_from = |asked: &str| !block.is_error.0 && (tool == asked || tool.is_empty());
        let answered = tool == "AskUserQuestion" || answers.starts_with('{');
        let (words, trigger) = if denied {
            let Some((words, directs)) = denial_words(text) else {
                return;
            };
            (summary(words), directs)
        } else if may_be_from("AskUserQuestion") && answered {
            (body::answer_summary(answers, text), false)
        } else if may_be_from("ExitPlanMode") && text.starts_with("User has approved your plan") {
            ("approved the plan".into(), false)
        } else {
            return;
        };
        let mut event = position.event(Kind::UserMsg, Role::User, Actor::Human);
        event.block -= 1;
        event.id = format!("{}.words", position.id(event.block)).into();
        event.parent_seq = self.next_seq.checked_sub(1);
        event.summary = words;
        event.trigger = trigger;
        if denied {
            event.kinds = event.kinds.and(Kind::HumanIntervention);
        }
        self.push(position, event, delta);
        position.block -= 1;
    }

    /// Links the subagent that the result of its call names.
    fn link_subagent(&mut self, position: &ClaudePosition<'_>, call_id: &str) {
        let tool_result = &position.record.tool_result.object;
        if let Some(agent_id) = tool_result.agent_id.get() {
            self.facts.add_child(
                LineageKind::Subagent,
                agent_id,
                call_id,
                position.line,
                tool_result.agent_type.get(),
            );
        }
    }
}

/// Returns the Codex thread that the result of a tool says it started.
fn companion(text: &str) -> Option<&str> {
    const MARK: &str = "[codex] Thread ready (";
    // This runs on every result, however long, so the search must be fast.
    let rest = &text[memchr::memmem::find(text.as_bytes(), MARK.as_bytes())? + MARK.len()..];
    let id = rest.split(')').next()?.trim();
    uuid(id).map(|_| id)
}

/// Returns the name of the file in the session's own `tool-results` that holds a result too large for the log.
fn spill(path: Option<&str>, text: &str, facts: &ClaudeFacts) -> Option<Box<str>> {
    let path_in_text = || {
        let text = text.strip_prefix("<persisted-output>")?;
        text.split_once("Full output saved to: ")?.1.lines().next()
    };
    let mut components = path.or_else(path_in_text)?.trim().rsplit(['/', '\\']);
    let (name, directory, session) = (components.next()?, components.next()?, components.next()?);
    // A home directory may be moved or copied, but a session keeps its id. Results of another session are not ours.
    let ours = directory == "tool-results" && (uuid(session).is_none() || facts.owns_spill_directory(session));
    SafeName::new(name).filter(|_| ours).map(|name| name.as_str().into())
}

/// Returns the text without the tag in which Claude Code wraps the errors of its own tools.
fn without_error_tag(text: &str) -> &str {
    let inner = text.trim().strip_prefix("<tool_use_error>");
    inner.map_or(text, |inner| inner.strip_suffix("</tool_use_error>").unwrap_or(inner))
}
