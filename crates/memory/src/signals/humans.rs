//! Interventions by a human: corrections, interruptions, denials.

use std::sync::LazyLock;

use regex::Regex;
use transcript::{Actor, Kind, SessionEvent};

use super::{Occurrences, Signal, SignalKind, count_times};
use crate::effort::Interventions;
use crate::outcome::{Evidence, TurnMark, classify_event};
use crate::steps::{CallStatus, Step};

/// Beginnings of prompts that correct the agent.
static CORRECTION: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)^\W*(?:no[,.!]|no (?:that|it|you|the|i)\b|nope\b|wrong\b|that'?s (?:not|wrong)|this is (?:not|wrong)|not what\b|still (?:not|fail|broken|get|see|the same|doesn)|(?:it|this|that) (?:still )?(?:doesn'?t|does not|didn'?t|did not|isn'?t) |(?:why|what) did you|you (?:forgot|missed|broke|didn'?t|did not|should(?:n'?t| not)? have)|undo\b|revert\b|stop\b|don'?t )";
    Regex::new(words).expect("the expression is valid")
});

/// Returns `true` if a prompt says that the previous result was not what the user wanted.
pub(crate) fn is_correction(words: &str) -> bool {
    CORRECTION.is_match(words)
}

/// The interventions so far.
#[derive(Debug, Default)]
pub(super) struct HumanSignals {
    has_replied: bool,
    corrections: Occurrences,
    interruptions: Occurrences,
    denials: Occurrences,
}

impl HumanSignals {
    /// Returns the number of interventions.
    pub(super) fn count(&self) -> u64 {
        self.corrections.count + self.interruptions.count + self.denials.count
    }

    pub(super) fn add_step(&mut self, step: Step<'_>) {
        match step {
            Step::Call(call) => {
                self.has_replied = true;
                if call.end == CallStatus::Denied {
                    self.denials.add(Evidence::from_call(call));
                }
            }
            Step::Event(event) => self.add_event(event),
        }
    }

    fn add_event(&mut self, event: &SessionEvent) {
        // The first prompt cannot correct anything.
        if event.trigger && self.has_replied && is_correction(&event.summary) {
            self.corrections.add(Evidence::from_event(event));
        }
        match find_intervention(event) {
            Some(Intervention::Interrupt) => self.interruptions.add(Evidence::from_event(event)),
            Some(Intervention::Denial) => self.denials.add(Evidence::from_event(event)),
            _ => {}
        }
        self.has_replied |= event.actor == Actor::Agent && event.kinds.has(Kind::AssistantMsg);
    }

    pub(super) fn finish(self) -> Vec<Signal> {
        let signals = [
            self.corrections.into_signal(SignalKind::HumanCorrection, |count| {
                count_times(count, "the user corrected the agent")
            }),
            self.interruptions.into_signal(SignalKind::Interruption, |count| {
                count_times(count, "the user interrupted the agent")
            }),
            self.denials.into_signal(SignalKind::Denial, |count| {
                count_times(count, "the user denied a tool call")
            }),
        ];
        signals.into_iter().flatten().collect()
    }
}

/// The kinds of interventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intervention {
    Interrupt,
    Denial,
    Steering,
    Rewind,
}

/// Returns how a human intervenes with an event, or `None`. Denied calls are steps and are counted there.
pub(crate) fn find_intervention(event: &SessionEvent) -> Option<Intervention> {
    match classify_event(event) {
        Some(TurnMark::Interrupt) => Some(Intervention::Interrupt),
        Some(TurnMark::Rewind) => Some(Intervention::Rewind),
        _ if !event.kinds.has(Kind::HumanIntervention) => None,
        _ if event.trigger => Some(Intervention::Steering),
        _ if event.summary.starts_with("refused") => Some(Intervention::Denial),
        _ => None,
    }
}

impl Interventions {
    /// Counts the intervention of a step, if it is one.
    pub(crate) fn add_step(&mut self, step: Step<'_>) {
        let found = match step {
            Step::Call(call) => (call.end == CallStatus::Denied).then_some(Intervention::Denial),
            Step::Event(event) => find_intervention(event),
        };
        match found {
            Some(Intervention::Interrupt) => self.interrupts += 1,
            Some(Intervention::Denial) => self.denials += 1,
            Some(Intervention::Steering) => self.steerings += 1,
            Some(Intervention::Rewind) => self.rewinds += 1,
            None => {}
        }
    }
}
