//! Events as the steps that are shown: a tool call with what came of it, or any other event by itself.

use std::collections::{HashMap, VecDeque};

use transcript::{Actor, Kind, SessionEvent};

use crate::tools::{Family, family};
use crate::transcript_in::{Subagent, Told, Transcript};

/// So many calls wait for their results.
const OPEN_MAX: usize = 64;

/// One step of a transcript.
#[derive(Debug)]
pub struct Step<'t> {
    pub told: &'t Told,
    pub result: Option<&'t Told>,
    pub subagents: Vec<&'t Subagent>,
}

/// What a step is, as colours and filters tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Prompt,
    Answer,
    Thought,
    Shell,
    Test,
    Edit,
    Tool,
    Agent,
    /// What the harness said, and changes of the session's state.
    Note,
}

impl Look {
    /// The letter that stands for it in classes and in the index of a page.
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
    pub fn look(&self) -> Look {
        let event = &self.told.event;
        let is = |kind| event.kinds.has(kind);
        if is(Kind::ToolCall) {
            return match (is(Kind::TestRun), is(Kind::Edit)) {
                (true, _) => Look::Test,
                (_, true) => Look::Edit,
                _ => match family(event.tool.as_deref().unwrap_or_default()) {
                    Family::Shell => Look::Shell,
                    Family::Edit => Look::Edit,
                    Family::Agent => Look::Agent,
                    _ if !self.subagents.is_empty() => Look::Agent,
                    _ => Look::Tool,
                },
            };
        }
        if self.is_mine() {
            Look::Prompt
        } else if is(Kind::AssistantMsg) {
            Look::Answer
        } else if is(Kind::Thinking) {
            Look::Thought
        } else if is(Kind::ToolResult) {
            Look::Tool
        } else if is(Kind::UserMsg) && matches!(event.actor, Actor::OtherAgent | Actor::Agent) {
            Look::Prompt
        } else {
            Look::Note
        }
    }

    /// What is shown of what was said. A command to the agent is written as a record; its summary is what was typed.
    pub fn words(&self) -> &str {
        let text = self.told.text();
        let is_command = text.trim_start().starts_with("<command-") && self.is_mine();
        if is_command { &self.told.event.summary } else { text }
    }

    /// Whether these are a human's own words.
    pub fn is_mine(&self) -> bool {
        let event = &self.told.event;
        event.trigger || (event.actor == Actor::Human && event.kinds.has(Kind::UserMsg))
    }

    pub fn is_error(&self) -> bool {
        let failed = |told: &Told| told.event.kinds.has(Kind::Error) || told.event.success == Some(false);
        failed(self.told) || self.result.is_some_and(failed)
    }

    pub fn exit_code(&self) -> Option<i32> {
        let of = |told: &Told| told.event.exit_code;
        of(self.told).or_else(|| self.result.and_then(of))
    }

    pub fn duration_ms(&self) -> Option<u64> {
        let of = |told: &Told| told.event.duration_ms;
        let told = of(self.told).or_else(|| self.result.and_then(of));
        told.or_else(|| {
            let (from, to) = (self.told.event.ts?, self.result?.event.ts?);
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
            // A call that has its result is no longer among them.
            let fits = |at: &usize| {
                let call = tools.get(at);
                call.is_some_and(|call| event.tool.is_none() || event.tool == call.tool)
            };
            let by_call = event.call_id.as_deref().and_then(|id| by_id.get(id)).copied();
            let by_parent = || event.parent_seq.and_then(|seq| by_seq.get(&seq)).copied();
            // If the ids of calls are unknown, the oldest call of the same tool that waits is meant.
            let oldest = || open.iter().copied().find(|at| event.tool.is_some() && fits(at));
            let call = by_call.filter(fits).or_else(|| by_parent().filter(fits));
            let call = call.or_else(|| event.call_id.is_none().then(oldest).flatten());
            // A human's no is a result and a prompt: it stands by itself as well.
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
            if open.len() > OPEN_MAX {
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

/// The steps of a transcript, in order.
pub fn steps(transcript: &Transcript) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let calls = calls_of_results(transcript.events.iter().map(|told| &told.event));
    let mut step_of: Vec<usize> = Vec::with_capacity(calls.len());
    for (told, call) in transcript.events.iter().zip(calls) {
        step_of.push(call.map_or(steps.len(), |call| step_of[call]));
        match call {
            Some(call) => steps[step_of[call]].result = Some(told),
            None => steps.push(Step {
                told,
                result: None,
                subagents: Vec::new(),
            }),
        }
    }
    for subagent in &transcript.subagents {
        if let Some(at) = place_of(&steps, subagent) {
            steps[at].subagents.push(subagent);
        }
    }
    steps
}

/// The subagents that no step called.
pub(crate) fn strays<'t>(transcript: &'t Transcript, steps: &[Step<'t>]) -> Vec<&'t Subagent> {
    let is_placed = |subagent: &&Subagent| {
        let mut placed = steps.iter().flat_map(|step| &step.subagents);
        placed.any(|placed| std::ptr::eq(*placed, *subagent))
    };
    transcript.subagents.iter().filter(|one| !is_placed(one)).collect()
}

/// The step that called a subagent: by the id of the call, by the line that tells of it, or by what it was called for.
fn place_of(steps: &[Step<'_>], subagent: &Subagent) -> Option<usize> {
    let link = subagent.link.as_ref()?;
    let calls = || {
        steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.told.event.kinds.has(Kind::ToolCall))
    };
    let is_agent = |step: &Step<'_>| family(step.told.event.tool.as_deref().unwrap_or_default()) == Family::Agent;
    let by_id = link.call_id.as_deref().and_then(|id| {
        let mut calls = calls();
        calls.find(|(_, step)| step.told.event.call_id.as_deref() == Some(id))
    });
    let on_line = || {
        let line = link.line?;
        let stands = |told: &Told| told.event.line == line;
        calls().find(|(_, step)| is_agent(step) && (stands(step.told) || step.result.is_some_and(stands)))
    };
    let by_label = || {
        let label = link.label.as_deref().filter(|label| !label.is_empty())?;
        let is_free = |step: &Step<'_>| is_agent(step) && step.subagents.is_empty();
        calls().find(|(_, step)| is_free(step) && step.told.event.summary.contains(label))
    };
    by_id.or_else(on_line).or_else(by_label).map(|(at, _)| at)
}
