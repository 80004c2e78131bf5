//! Signals: notable patterns in a session, each found by a pure function and reported with its evidence.
//!
//! Each family of signals is a fold over the steps, so that a long session needs no more memory than a short one.
//! Nothing here knows the store or the clock.

mod edits;
mod errors;
mod humans;
mod retries;
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transcript::{Outcome, SessionEvent};

use crate::effort::SessionTime;
use crate::findings::Findings;
use crate::outcome::{EVIDENCE_MAX, Evidence, Judgement, TurnMark, classify_event};
use crate::plural::count_noun;
use crate::steps::Step;

pub(crate) use errors::normalize_error;
pub(crate) use humans::{Intervention, find_intervention, is_correction};

/// Minimum length of a pause that is reported.
const LONG_IDLE_S: u64 = 30 * 60;

/// The kind of a signal.
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
    /// Found when signals are queried, because it depends on all other sessions.
    BudgetOverrun,
}

impl SignalKind {
    /// Every kind, in the order in which signals are listed.
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

    /// Returns the name used in JSON.
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
    /// Number of occurrences.
    pub count: u64,
    /// A description on one line.
    pub text: String,
    /// The lines of the first occurrences.
    pub evidence: Vec<Evidence>,
}

/// Occurrences of a pattern: their number, and the evidence of the first ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Occurrences {
    pub(crate) count: u64,
    pub(crate) evidence: Vec<Evidence>,
}

impl Occurrences {
    pub(crate) fn add(&mut self, evidence: Evidence) {
        self.count += 1;
        if self.evidence.len() < EVIDENCE_MAX {
            self.evidence.push(evidence);
        }
    }

    /// Returns the signal, or `None` if there were no occurrences.
    pub(crate) fn into_signal(self, signal: SignalKind, text: impl FnOnce(u64) -> String) -> Option<Signal> {
        (self.count > 0).then(|| Signal {
            signal,
            count: self.count,
            text: text(self.count),
            evidence: self.evidence,
        })
    }
}

pub(crate) fn count_times(count: u64, what: &str) -> String {
    match count {
        1 => format!("{what} once"),
        count => format!("{what} {count} times"),
    }
}

/// Folds the steps of a session into signals of every family.
#[derive(Debug, Default)]
pub(crate) struct SignalDetector {
    retries: retries::RetrySignals,
    errors: errors::ErrorSignals,
    edits: edits::EditSignals,
    tests: tests::TestSignals,
    humans: humans::HumanSignals,
    compactions: Occurrences,
    last: Option<Evidence>,
}

impl SignalDetector {
    pub(crate) fn add_step(&mut self, step: Step<'_>, findings: &Findings) {
        self.retries.add_step(step);
        self.errors.add_step(step);
        self.edits.add_step(step, findings);
        self.tests.add_step(step, findings);
        self.humans.add_step(step);
        if let Step::Event(event) = step {
            self.add_event(event);
        }
    }

    fn add_event(&mut self, event: &SessionEvent) {
        if classify_event(event) == Some(TurnMark::Compaction) {
            self.compactions.add(Evidence::from_event(event));
        }
        self.last = Some(Evidence::from_event(event));
    }

    /// Returns the signals in the order of [`SignalKind::ALL`].
    pub(crate) fn finish(self, findings: &Findings, judgement: &Judgement, time: &Pauses) -> Vec<Signal> {
        let is_untroubled = self.errors.count() == 0 && self.humans.count() == 0;
        let mut found = Vec::new();
        found.extend(self.retries.finish());
        found.extend(self.errors.finish());
        found.extend(self.edits.finish());
        found.extend(self.tests.finish(judgement, is_untroubled));
        found.extend(self.humans.finish());
        found.extend(self.compactions.into_signal(SignalKind::ContextCompaction, |count| {
            count_times(count, "the context was compacted")
        }));
        if judgement.outcome == Outcome::Abandoned {
            found.push(Signal {
                signal: SignalKind::Abandoned,
                count: 1,
                text: "abandoned before the work was finished".to_owned(),
                evidence: judgement.evidence.clone(),
            });
        }
        found.extend(time.long_idle_signal());
        found.extend(secret_signal(findings));
        found.sort_by_key(|signal| signal.signal);
        found
    }
}

/// The pauses of a session, with the events that ended the long ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pauses {
    pub(crate) spent: SessionTime,
    pub(crate) long: Occurrences,
}

impl Pauses {
    pub(crate) fn add_pause(&mut self, seconds: u64, event: &SessionEvent) {
        self.spent.pauses += 1;
        self.spent.longest_pause_s = self.spent.longest_pause_s.max(seconds);
        if seconds >= LONG_IDLE_S {
            let text = format!("after {} minutes: {}", seconds / 60, event.summary);
            self.long.add(Evidence::new(event.line, event.turn, &text));
        }
    }

    fn long_idle_signal(&self) -> Option<Signal> {
        let longest = self.spent.longest_pause_s / 60;
        self.long.clone().into_signal(SignalKind::LongIdle, |count| {
            format!(
                "{}, the longest for {longest} minutes",
                count_times(count, "paused for half an hour or more")
            )
        })
    }
}

fn secret_signal(findings: &Findings) -> Option<Signal> {
    let evidence = findings
        .secrets
        .iter()
        .take(EVIDENCE_MAX)
        .map(|(line, rule)| Evidence::new(*line, None, rule))
        .collect();
    (findings.secret_count > 0).then(|| Signal {
        signal: SignalKind::SecretSeen,
        count: findings.secret_count,
        text: format!(
            "secrets found and masked on {}",
            count_noun(findings.secret_count, "line")
        ),
        evidence,
    })
}
