//! Where a human stepped in: corrections, interruptions, denials.

use std::sync::LazyLock;

use regex::Regex;
use transcript::{Actor, Kind, SessionEvent};

use super::{Seen, Signal, SignalKind, times};
use crate::digest::{End, Interventions, Step};
use crate::outcome::{Evidence, Mark, mark};

/// How a human begins who is not content.
static CORRECTS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)^\W*(?:no[,.!]|no (?:that|it|you|the|i)\b|nope\b|wrong\b|that'?s (?:not|wrong)|this is (?:not|wrong)|not what\b|still (?:not|fail|broken|get|see|the same|doesn)|(?:it|this|that) (?:still )?(?:doesn'?t|does not|didn'?t|did not|isn'?t) |(?:why|what) did you|you (?:forgot|missed|broke|didn'?t|did not|should(?:n'?t| not)? have)|undo\b|revert\b|stop\b|don'?t )";
    Regex::new(words).expect("the expression is a good one")
});

/// Whether words say that what came before was not what was wanted.
pub(crate) fn corrects(words: &str) -> bool {
    CORRECTS.is_match(words)
}

/// What a human did against the agent's way.
#[derive(Debug, Default)]
pub(super) struct Humans {
    has_replied: bool,
    corrections: Seen,
    interruptions: Seen,
    denials: Seen,
}

impl Humans {
    /// How often a human stepped in.
    pub(super) fn count(&self) -> u64 {
        self.corrections.count + self.interruptions.count + self.denials.count
    }

    pub(super) fn see(&mut self, step: Step<'_>) {
        match step {
            Step::Ran(ran) => {
                self.has_replied = true;
                if ran.end == End::Denied {
                    self.denials.add(Evidence::of_ran(ran));
                }
            }
            Step::Event(event) => self.event(event),
        }
    }

    fn event(&mut self, event: &SessionEvent) {
        if event.trigger && self.has_replied && corrects(&event.summary) {
            self.corrections.add(Evidence::of_event(event));
        }
        match intervention(event) {
            Some(Intervention::Interrupt) => self.interruptions.add(Evidence::of_event(event)),
            Some(Intervention::Denial) => self.denials.add(Evidence::of_event(event)),
            _ => {}
        }
        self.has_replied |= event.actor == Actor::Agent && event.kinds.has(Kind::AssistantMsg);
    }

    pub(super) fn end(self) -> Vec<Signal> {
        let told = [
            self.corrections.told(SignalKind::HumanCorrection, |count| {
                times(count, "a human corrected the agent")
            }),
            self.interruptions.told(SignalKind::Interruption, |count| {
                times(count, "a human stopped the agent")
            }),
            self.denials
                .told(SignalKind::Denial, |count| times(count, "a human refused a tool call")),
        ];
        told.into_iter().flatten().collect()
    }
}

/// The ways in which a human steps in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intervention {
    Interrupt,
    Denial,
    Steering,
    Rewind,
}

/// How a human steps in by an event, if it does. Denied calls are steps of their own.
pub(crate) fn intervention(event: &SessionEvent) -> Option<Intervention> {
    match mark(event) {
        Some(Mark::Interrupt) => Some(Intervention::Interrupt),
        Some(Mark::Rewind) => Some(Intervention::Rewind),
        _ if !event.kinds.has(Kind::HumanIntervention) => None,
        _ if event.trigger => Some(Intervention::Steering),
        _ if event.summary.starts_with("refused") => Some(Intervention::Denial),
        _ => None,
    }
}

impl Interventions {
    /// Counts a step.
    pub(crate) fn see(&mut self, step: Step<'_>) {
        let found = match step {
            Step::Ran(ran) => (ran.end == End::Denied).then_some(Intervention::Denial),
            Step::Event(event) => intervention(event),
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
