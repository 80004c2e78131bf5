//! Test runs: left failing, passed without any failure, or fixed.

use transcript::Outcome;

use super::{Signal, SignalKind, count_times};
use crate::findings::Findings;
use crate::outcome::{Evidence, Judgement, test_passed};
use crate::steps::{CallStatus, Step};

/// The test runs of a session.
#[derive(Debug, Default)]
pub(super) struct TestSignals {
    failed: u64,
    passed: u64,
    first_failed: Option<Evidence>,
    last: Option<(Evidence, bool)>,
}

impl TestSignals {
    pub(super) fn add_step(&mut self, step: Step<'_>, findings: &Findings) {
        let Step::Call(call) = step else { return };
        if !call.is_test || matches!(call.end, CallStatus::Denied | CallStatus::Stopped) {
            return;
        }
        let Some(passed) = test_passed(call, findings) else {
            return;
        };
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.first_failed.get_or_insert_with(|| Evidence::from_call(call));
        }
        self.last = Some((Evidence::from_call(call), passed));
    }

    pub(super) fn finish(self, judgement: &Judgement, is_untroubled: bool) -> Option<Signal> {
        let (last, passed) = self.last?;
        let signal = |signal, count, text: String, evidence| Signal {
            signal,
            count,
            text,
            evidence,
        };
        match (passed, self.first_failed) {
            (false, _) => {
                let text = "the last test run failed".to_owned();
                Some(signal(SignalKind::FailingTestsLeft, 1, text, vec![last]))
            }
            (true, Some(first)) => {
                let text = format!(
                    "{} and passed in the last run",
                    count_times(self.failed, "tests failed")
                );
                Some(signal(SignalKind::Recovery, self.failed, text, vec![first, last]))
            }
            (true, None) if is_untroubled && judgement.outcome == Outcome::Success => {
                let text = "no errors, no interventions, tests passed".to_owned();
                Some(signal(SignalKind::CleanPass, self.passed, text, vec![last]))
            }
            (true, None) => None,
        }
    }
}
