//! Retry storms: the same thing tried again and again after it failed, by the agent or by its connection.

use transcript::{Kind, SessionEvent};

use super::{Seen, Signal, SignalKind};
use crate::digest::Step;
use crate::outcome::Evidence;

/// So many retries of one tool in one turn, or of the API in a row, are a storm.
const STORM_MIN: u64 = 3;

/// Retries of what is tried now, and the storms so far.
#[derive(Debug, Default)]
pub(super) struct Retries {
    now: Seen,
    of: Option<(Option<u32>, Box<str>)>,
    storms: Seen,
    longest: u64,
}

impl Retries {
    pub(super) fn see(&mut self, step: Step<'_>) {
        match step {
            Step::Ran(ran) if ran.is_retry => self.retry((ran.turn, ran.tool.clone()), Evidence::of_ran(ran)),
            Step::Event(event) if is_api_retry(event) => self.retry((None, "API".into()), Evidence::of_event(event)),
            Step::Event(event) if event.trigger => self.over(),
            _ => {}
        }
    }

    fn retry(&mut self, of: (Option<u32>, Box<str>), evidence: Evidence) {
        if self.of.as_ref() != Some(&of) {
            self.over();
            self.of = Some(of);
        }
        self.now.add(evidence);
    }

    fn over(&mut self) {
        let now = std::mem::take(&mut self.now);
        self.of = None;
        if now.count >= STORM_MIN {
            self.longest = self.longest.max(now.count);
            self.storms.evidence.extend(now.evidence.into_iter().take(1));
            self.storms.count += 1;
        }
    }

    pub(super) fn end(mut self) -> Option<Signal> {
        self.over();
        self.storms.evidence.truncate(crate::outcome::EVIDENCE_MAX);
        let longest = self.longest;
        self.storms.told(SignalKind::RetryStorm, |_| {
            format!("tried the same thing up to {longest} times more after it failed")
        })
    }
}

fn is_api_retry(event: &SessionEvent) -> bool {
    event.kinds.has(Kind::Retry) && event.kinds.has(Kind::Lifecycle)
}
