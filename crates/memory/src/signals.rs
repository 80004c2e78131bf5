//! Signals: patterns worth knowing in a session, each found by a pure function and told with its evidence.
//!
//! Each family is a fold over the steps of a session, so that a long one needs no more memory than a short one. Nothing
//! here knows a store or a clock.

pub mod budget;
mod edits;
mod errors;
mod humans;
mod retries;
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::{Outcome, SessionEvent};

use crate::digest::{Findings, Spent, Step};
use crate::outcome::{EVIDENCE_MAX, Evidence, Judgement, Mark, mark};

pub(crate) use errors::like;
pub(crate) use humans::{Intervention, corrects, intervention};

/// A pause this long is told.
const LONG_IDLE_S: u64 = 30 * 60;

/// Which pattern was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    RetryStorm,
    RepeatedError,
    ErrorLoop,
    EditRevertChurn,
    FailingTestsLeft,
    HumanCorrection,
    Interruption,
    Denial,
    ContextCompaction,
    Abandoned,
    CleanPass,
    Recovery,
    LongIdle,
    SecretSeen,
    /// Found when asked, against all other sessions.
    BudgetOverrun,
}

impl SignalKind {
    /// Every kind, in the order in which they are told.
    pub const ALL: [Self; 15] = [
        Self::RetryStorm,
        Self::RepeatedError,
        Self::ErrorLoop,
        Self::EditRevertChurn,
        Self::FailingTestsLeft,
        Self::HumanCorrection,
        Self::Interruption,
        Self::Denial,
        Self::ContextCompaction,
        Self::Abandoned,
        Self::CleanPass,
        Self::Recovery,
        Self::LongIdle,
        Self::SecretSeen,
        Self::BudgetOverrun,
    ];

    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RetryStorm => "retry_storm",
            Self::RepeatedError => "repeated_error",
            Self::ErrorLoop => "error_loop",
            Self::EditRevertChurn => "edit_revert_churn",
            Self::FailingTestsLeft => "failing_tests_left",
            Self::HumanCorrection => "human_correction",
            Self::Interruption => "interruption",
            Self::Denial => "denial",
            Self::ContextCompaction => "context_compaction",
            Self::Abandoned => "abandoned",
            Self::CleanPass => "clean_pass",
            Self::Recovery => "recovery",
            Self::LongIdle => "long_idle",
            Self::SecretSeen => "secret_seen",
            Self::BudgetOverrun => "budget_overrun",
        }
    }
}

/// A pattern that was found.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Signal {
    pub signal: SignalKind,
    /// How often.
    pub count: u64,
    /// What it is, in one line.
    pub text: String,
    /// The first lines it stands on.
    pub evidence: Vec<Evidence>,
}

/// How often something was seen, and where first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    pub(crate) evidence: Vec<Evidence>,
}

impl Seen {
    pub(crate) fn add(&mut self, evidence: Evidence) {
        self.count += 1;
        if self.evidence.len() < EVIDENCE_MAX {
            self.evidence.push(evidence);
        }
    }

    /// The signal, where it was seen at all.
    pub(crate) fn told(self, signal: SignalKind, text: impl FnOnce(u64) -> String) -> Option<Signal> {
        (self.count > 0).then(|| Signal {
            signal,
            count: self.count,
            text: text(self.count),
            evidence: self.evidence,
        })
    }
}

pub(crate) fn times(count: u64, what: &str) -> String {
    match count {
        1 => format!("{what} once"),
        count => format!("{what} {count} times"),
    }
}

/// All families, watching the same steps.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    retries: retries::Retries,
    errors: errors::Watched,
    edits: edits::Edits,
    tests: tests::Tests,
    humans: humans::Humans,
    compactions: Seen,
    last: Option<Evidence>,
}

impl Watch {
    pub(crate) fn see(&mut self, step: Step<'_>, findings: &Findings) {
        self.retries.see(step);
        self.errors.see(step);
        self.edits.see(step, findings);
        self.tests.see(step, findings);
        self.humans.see(step);
        if let Step::Event(event) = step {
            self.event(event);
        }
    }

    fn event(&mut self, event: &SessionEvent) {
        if mark(event) == Some(Mark::Compaction) {
            self.compactions.add(Evidence::of_event(event));
        }
        self.last = Some(Evidence::of_event(event));
    }

    /// What was found, in the order of [`SignalKind::ALL`].
    pub(crate) fn end(self, findings: &Findings, judgement: &Judgement, time: &Pauses) -> Vec<Signal> {
        let is_untroubled = self.errors.count() == 0 && self.humans.count() == 0;
        let mut found = Vec::new();
        found.extend(self.retries.end());
        found.extend(self.errors.end());
        found.extend(self.edits.end());
        found.extend(self.tests.end(judgement, is_untroubled));
        found.extend(self.humans.end());
        found.extend(self.compactions.told(SignalKind::ContextCompaction, |count| {
            times(count, "the context was compacted")
        }));
        if judgement.outcome == Outcome::Abandoned {
            found.push(Signal {
                signal: SignalKind::Abandoned,
                count: 1,
                text: "left before it came to an end".to_owned(),
                evidence: judgement.evidence.clone(),
            });
        }
        found.extend(time.told());
        found.extend(secrets(findings));
        found.sort_by_key(|signal| signal.signal);
        found
    }
}

/// Pauses of a session: how long it rested, and before what.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pauses {
    pub(crate) spent: Spent,
    pub(crate) long: Seen,
}

impl Pauses {
    pub(crate) fn pause(&mut self, seconds: u64, event: &SessionEvent) {
        self.spent.pauses += 1;
        self.spent.longest_pause_s = self.spent.longest_pause_s.max(seconds);
        if seconds >= LONG_IDLE_S {
            let text = format!("after {} minutes: {}", seconds / 60, event.summary);
            self.long.add(Evidence::new(event.line, event.turn, &text));
        }
    }

    fn told(&self) -> Option<Signal> {
        let longest = self.spent.longest_pause_s / 60;
        self.long.clone().told(SignalKind::LongIdle, |count| {
            format!(
                "{}, the longest for {longest} minutes",
                times(count, "rested half an hour or more")
            )
        })
    }
}

fn secrets(findings: &Findings) -> Option<Signal> {
    let evidence = findings
        .secrets
        .iter()
        .take(EVIDENCE_MAX)
        .map(|(line, rule)| Evidence::new(*line, None, rule))
        .collect();
    (findings.secret_count > 0).then(|| Signal {
        signal: SignalKind::SecretSeen,
        count: findings.secret_count,
        text: format!("secrets stood on {} lines and are masked", findings.secret_count),
        evidence,
    })
}
