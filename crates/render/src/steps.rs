//! Groups events into steps: a tool call with its result and subagents, or any other single event.

use std::collections::{HashMap, VecDeque};

use transcript::{Actor, Kind, SessionEvent};

use crate::input::{Subagent, Transcript, TranscriptEntry};
use crate::tools::{ToolFamily, tool_family};

/// At most this many calls are considered to be waiting for a result.
const OPEN_CALLS_MAX: usize = 64;

/// One step of a transcript.
#[derive(Debug)]
pub struct Step<'t> {
    pub entry: &'t TranscriptEntry,
    pub result: Option<&'t TranscriptEntry>,
    pub subagents: Vec<&'t Subagent>,
}

/// The kind of a step, by which it is coloured and filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    Prompt,
    Answer,
    Thought,
    Shell,
    Test,
    Edit,
    Tool,
    Agent,
    /// A message of the harness or a change of the session's state.
    Note,
}

impl StepKind {
    /// Returns the letter that represents the kind in CSS classes and in the page index.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Prompt => 'p',
            Self::Answer => 'a',
            Self::Thought => 't',
            Self::Shell => 's',
            Self::Test => 'v',
            Self::Edit => 'e',
            Self::Tool => 'o',
            Self::Agent => 'g',
            Self::Note => 'n',
        }
    }
}

impl Step<'_> {
    pub fn kind(&self) -> StepKind {
        let event = &self.entry.event;
        let is = |kind| event.kinds.has(kind);
        if is(Kind::ToolCall) {
            return match (is(Kind::TestRun), is(Kind::Edit)) {
                (true, _) => StepKind::Test,
                (_, true) => StepKind::Edit,
                _ => match tool_family(event.tool.as_deref().unwrap_or_default()) {
                    ToolFamily::Shell => StepKind::Shell,
                    ToolFamily::Edit => StepKind::Edit,
                    ToolFamily::Agent => StepKind::Agent,
                    _ if !self.subagents.is_empty() => StepKind::Agent,
                    _ => StepKind::Tool,
                },
            };
        }
        if self.is_human() {
            StepKind::Prompt
        } else if is(Kind::AssistantMsg) {
            StepKind::Answer
        } else if is(Kind::Thinking) {
            StepKind::Thought
        } else if is(Kind::ToolResult) {
            StepKind::Tool
        } else if is(Kind::UserMsg) && matches!(event.actor, Actor::OtherAgent | Actor::Agent) {
            StepKind::Prompt
        } else {
            StepKind::Note
        }
    }

    /// Returns the text to show. The log records a slash command as markup, so its summary is shown, which is what the user typed.
    pub fn words(&self) -> &str {
        let text = self.entry.text();
        let is_command = text.trim_start().starts_with("<command-") && self.is_human();
        if is_command { &self.entry.event.summary } else { text }
    }

    /// Whether the user wrote this step.
    pub fn is_human(&self) -> bool {
        let event = &self.entry.event;
        event.trigger || (event.actor == Actor::Human && event.kinds.has(Kind::UserMsg))
    }

    pub fn is_error(&self) -> bool {
        let failed = |entry: &TranscriptEntry| entry.event.kinds.has(Kind::Error) || entry.event.success == Some(false);
        failed(self.entry) || self.result.is_some_and(failed)
    }

    pub fn exit_code(&self) -> Option<i32> {
        let of = |entry: &TranscriptEntry| entry.event.exit_code;
        of(self.entry).or_else(|| self.result.and_then(of))
    }

    pub fn duration_ms(&self) -> Option<u64> {
        let of = |entry: &TranscriptEntry| entry.event.duration_ms;
        let recorded = of(self.entry).or_else(|| self.result.and_then(of));
        recorded.or_else(|| {
            let (from, to) = (self.entry.event.ts?, self.result?.event.ts?);
            u64::try_from(to.duration_since(from).as_millis()).ok()
        })
    }
}

/// Returns, for each event, the index of the tool call that it is the result of.
pub fn calls_of_results<'e>(events: impl Iterator<Item = &'e SessionEvent>) -> Vec<Option<usize>> {
    let mut calls: Vec<Option<usize>> = Vec::new();
    let mut tools: HashMap<usize, &SessionEvent> = HashMap::new();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    let mut by_seq: HashMap<u64, usize> = HashMap::new();
    let mut open: VecDeque<usize> = VecDeque::new();
    for (at, event) in events.enumerate() {
        if event.kinds.has(Kind::ToolResult) && !event.kinds.has(Kind::ToolCall) {
            // `tools` contains only calls that have no result yet.
            let fits = |at: &usize| {
                let call = tools.get(at);
                call.is_some_and(|call| event.tool.is_none() || event.tool == call.tool)
            };
            let by_call = event.call_id.as_deref().and_then(|id| by_id.get(id)).copied();
            let by_parent = || event.parent_seq.and_then(|seq| by_seq.get(&seq)).copied();
            // Without a call id, the result belongs to the oldest waiting call of the same tool.
            let oldest = || open.iter().copied().find(|at| event.tool.is_some() && fits(at));
            let call = by_call.filter(fits).or_else(|| by_parent().filter(fits));
            let call = call.or_else(|| event.call_id.is_none().then(oldest).flatten());
            // If the user denied the call, the result is also a prompt, and it stays a step of its own.
            if let Some(call) = call.filter(|_| !event.trigger) {
                tools.remove(&call);
                open.retain(|one| *one != call);
                calls.push(Some(call));
                continue;
            }
        }
        if event.kinds.has(Kind::ToolCall) {
            tools.insert(at, event);
            by_seq.insert(event.seq, at);
            open.push_back(at);
            // Calls that were interrupted never get a result, so the oldest ones are dropped.
            if open.len() > OPEN_CALLS_MAX {
                open.pop_front();
            }
            if let Some(id) = event.call_id.as_deref() {
                by_id.insert(id, at);
            }
        }
        calls.push(None);
    }
    calls
}

/// Returns the steps of a transcript, in order.
pub fn steps(transcript: &Transcript) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let calls = calls_of_results(transcript.events.iter().map(|entry| &entry.event));
    let mut step_of: Vec<usize> = Vec::with_capacity(calls.len());
    for (entry, call) in transcript.events.iter().zip(calls) {
        step_of.push(call.map_or(steps.len(), |call| step_of[call]));
        match call {
            Some(call) => steps[step_of[call]].result = Some(entry),
            None => steps.push(Step {
                entry,
                result: None,
                subagents: Vec::new(),
            }),
        }
    }
    for subagent in &transcript.subagents {
        if let Some(at) = calling_step(&steps, subagent) {
            steps[at].subagents.push(subagent);
        }
    }
    steps
}

/// Returns the subagents whose calling step is unknown.
pub(crate) fn unplaced_subagents<'t>(transcript: &'t Transcript, steps: &[Step<'t>]) -> Vec<&'t Subagent> {
    let is_placed = |subagent: &&Subagent| {
        let mut placed = steps.iter().flat_map(|step| &step.subagents);
        placed.any(|placed| std::ptr::eq(*placed, *subagent))
    };
    transcript.subagents.iter().filter(|one| !is_placed(one)).collect()
}

/// Returns the index of the step that called a subagent. Matches the call id, else the line, else the label in the call's summary.
fn calling_step(steps: &[Step<'_>], subagent: &Subagent) -> Option<usize> {
    let link = subagent.link.as_ref()?;
    let calls = || {
        steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.entry.event.kinds.has(Kind::ToolCall))
    };
    let is_agent =
        |step: &Step<'_>| tool_family(step.entry.event.tool.as_deref().unwrap_or_default()) == ToolFamily::Agent;
    let by_id = link.call_id.as_deref().and_then(|id| {
        let mut calls = calls();
        calls.find(|(_, step)| step.entry.event.call_id.as_deref() == Some(id))
    });
    let on_line = || {
        let line = link.line?;
        let is_on_line = |entry: &TranscriptEntry| entry.event.line == line;
        calls().find(|(_, step)| is_agent(step) && (is_on_line(step.entry) || step.result.is_some_and(is_on_line)))
    };
    let by_label = || {
        let label = link.label.as_deref().filter(|label| !label.is_empty())?;
        let is_free = |step: &Step<'_>| is_agent(step) && step.subagents.is_empty();
        calls().find(|(_, step)| is_free(step) && step.entry.event.summary.contains(label))
    };
    by_id.or_else(on_line).or_else(by_label).map(|(at, _)| at)
}
