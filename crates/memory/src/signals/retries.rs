//! Retry storms: the agent or its connection repeats a failed attempt many times.

use transcript::{Kind, SessionEvent};

use super::{Occurrences, Signal, SignalKind};
use crate::outcome::Evidence;
use crate::steps::Step;

/// Minimum number of retries of one tool in one turn, or of API requests in a row.
const STORM_MIN: u64 = 3;

/// The current series of retries, and the storms so far.
#[derive(Debug, Default)]
pub(super) struct RetrySignals {
    current: Occurrences,
    attempt: Option<(Option<u32>, Box<str>)>,
    storms: Occurrences,
    longest: u64,
}

impl RetrySignals {
    pub(super) fn add_step(&mut self, step: Step<'_>) {
        match step {
            Step::Call(call) if call.is_retry => self.retry((call.turn, call.tool.clone()), Evidence::from_call(call)),
            Step::Event(event) if is_api_retry(event) => self.retry((None, "API".into()), Evidence::from_event(event)),
            Step::Event(event) if event.trigger => self.finish_series(),
            _ => {}
        }
    }

    fn retry(&mut self, attempt: (Option<u32>, Box<str>), evidence: Evidence) {
        if self.attempt.as_ref() != Some(&attempt) {
            self.finish_series();
            self.attempt = Some(attempt);
        }
        self.current.add(evidence);
    }

    fn finish_series(&mut self) {
        let current = std::mem::take(&mut self.current);
        self.attempt = None;
        if current.count >= STORM_MIN {
            self.longest = self.longest.max(current.count);
            self.storms.evidence.extend(current.evidence.into_iter().take(1));
            self.storms.count += 1;
        }
    }

    pub(super) fn finish(mut self) -> Option<Signal> {
        self.finish_series();
        self.storms.evidence.truncate(crate::outcome::EVIDENCE_MAX);
        let longest = self.longest;
        self.storms.into_signal(SignalKind::RetryStorm, |_| {
            format!("retried a failed call up to {longest} times")
        })
    }
}

fn is_api_retry(event: &SessionEvent) -> bool {
    event.kinds.has(Kind::Retry) && event.kinds.has(Kind::Lifecycle)
}
