//! Combines the outcome judged from a log with the facts that hooks and wrapped commands reported about the session. If
//! the log proves an outcome, it stays. If the log leaves the outcome open, the facts decide.
//!
//! Pure: it knows neither the store nor the clock.

use jiff::Timestamp;
use transcript::Outcome;

use crate::digest_fields::ReportedFact;
use crate::outcome::{Confidence, Evidence, Judgement, OutcomeReason};
use crate::spool::EXIT;
use crate::store::{SLACK, SessionFact};

/// Shells report the number of a signal plus this offset as exit status.
const SIGNAL_OFFSET: i64 = 128;
const SIGINT: i64 = 2;
const SIGTERM: i64 = 15;

/// Returns the newest fact of each kind, oldest first.
pub(crate) fn newest_facts(facts: &[SessionFact]) -> Vec<ReportedFact> {
    let last = |fact: &&SessionFact| {
        !facts
            .iter()
            .any(|other| other.event == fact.event && is_after(other, fact))
    };
    let to_told = |fact: &SessionFact| ReportedFact {
        event: fact.event.clone(),
        at: fact.at,
        reason: fact.reason.clone(),
        error: fact.error.clone(),
        exit_code: fact.exit_code,
    };
    facts.iter().filter(last).map(to_told).collect()
}

fn is_after(fact: &SessionFact, other: &SessionFact) -> bool {
    (fact.at, &fact.key) > (other.at, &other.key)
}

/// Adjusts the outcome judged from the log by the facts reported since the session's last event.
pub(crate) fn apply_facts(by_log: Judgement, facts: &[SessionFact], ended_at: Option<Timestamp>) -> Judgement {
    let reported = newest_facts(facts);
    let since = reported
        .iter()
        .filter(|fact| ended_at.is_none_or(|ended| fact.at + SLACK >= ended));
    let newest_of = |event: &str| since.clone().rfind(|fact| fact.event == event);
    let exit = newest_of(EXIT).and_then(|fact| fact.exit_code);
    let mut judgement = by_log;
    judgement.is_ended = newest_of("session_end").is_some() || exit.is_some();
    // A turn that ended normally after the failure means that the session recovered.
    let failure = newest_of("stop_failure").filter(|failed| newest_of("stop").is_none_or(|stop| stop.at <= failed.at));
    if let Some(failed) = failure {
        let why = failed
            .error
            .as_deref()
            .or(failed.reason.as_deref())
            .unwrap_or("no reason given");
        return override_outcome(
            judgement,
            Outcome::Fail,
            OutcomeReason::ApiError,
            &format!("reported by a hook: {why}"),
        );
    }
    match exit {
        Some(0) => {
            add_evidence(&mut judgement, "exit status 0");
            judgement
        }
        Some(code) => apply_exit_status(judgement, code),
        None => judgement,
    }
}

/// Applies a non-zero exit status: it decides if the log does not, and lowers the confidence if the log reports
/// success.
fn apply_exit_status(mut judgement: Judgement, code: i64) -> Judgement {
    let reason_text = format!("exit status {code}");
    match judgement.outcome {
        Outcome::Unknown if [SIGINT, SIGTERM].contains(&(code - SIGNAL_OFFSET)) => {
            override_outcome(judgement, Outcome::Abandoned, OutcomeReason::Interrupted, &reason_text)
        }
        Outcome::Unknown => override_outcome(judgement, Outcome::Fail, OutcomeReason::ExitStatus, &reason_text),
        Outcome::Abandoned if judgement.reason == OutcomeReason::UnansweredPrompt => {
            override_outcome(judgement, Outcome::Fail, OutcomeReason::ExitStatus, &reason_text)
        }
        Outcome::Success | Outcome::Fail | Outcome::Abandoned => {
            if judgement.outcome == Outcome::Success {
                judgement.confidence = match judgement.confidence {
                    Confidence::High => Confidence::Medium,
                    Confidence::Medium | Confidence::Low => Confidence::Low,
                };
            }
            add_evidence(&mut judgement, &reason_text);
            judgement
        }
    }
}

fn override_outcome(mut judgement: Judgement, outcome: Outcome, reason: OutcomeReason, reason_text: &str) -> Judgement {
    add_evidence(&mut judgement, reason_text);
    Judgement {
        outcome,
        reason,
        confidence: Confidence::High,
        ..judgement
    }
}

/// Adds evidence at the last line that the log's own judgement cites, because a reported fact has no line.
fn add_evidence(judgement: &mut Judgement, reason_text: &str) {
    let (line, turn) = judgement
        .evidence
        .last()
        .map_or((1, None), |last| (last.line, last.turn));
    judgement.evidence.push(Evidence::new(line, turn, reason_text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Outcome, reason: OutcomeReason, facts: &[(&str, i64, Option<&str>, Option<i64>)]) -> String {
        let fact = |(event, second, error, exit_code): &(&str, i64, Option<&str>, Option<i64>)| SessionFact {
            session_uid: "claude:a".to_owned(),
            key: format!("{event}{second}"),
            agent: "claude".to_owned(),
            at: Timestamp::from_second(*second).unwrap(),
            event: (*event).to_owned(),
            reason: None,
            error: error.map(str::to_owned),
            exit_code: *exit_code,
        };
        let facts: Vec<SessionFact> = facts.iter().map(fact).collect();
        let by_log = Judgement {
            outcome,
            reason,
            confidence: Confidence::High,
            ..Judgement::default()
        };
        let judgement = apply_facts(by_log, &facts, Timestamp::from_second(1000).ok());
        let evidence: Vec<&str> = judgement.evidence.iter().map(|fact| fact.text.as_str()).collect();
        let ended = if judgement.is_ended { " ended" } else { "" };
        let sure = judgement.confidence.as_str();
        format!(
            "{:?} {} {sure}{ended} {evidence:?}",
            judgement.outcome,
            judgement.reason.as_str()
        )
    }

    #[test]
    fn a_failure_reported_by_a_hook_decides_until_a_turn_ends_normally() {
        let open = (Outcome::Unknown, OutcomeReason::Completed);
        let failed = ("stop_failure", 1001, Some("rate_limit"), None);
        assert_eq!(
            check(open.0, open.1, &[failed]),
            r#"Fail api_error high ["reported by a hook: rate_limit"]"#
        );
        let overcome = [failed, ("stop", 1002, None, None)];
        assert_eq!(check(open.0, open.1, &overcome), "Unknown completed high []");
        let long_ago = [("stop_failure", 900, Some("rate_limit"), None)];
        assert_eq!(check(open.0, open.1, &long_ago), "Unknown completed high []");
        let ended = [("session_end", 1001, None, None)];
        assert_eq!(check(open.0, open.1, &ended), "Unknown completed high ended []");
    }

    #[test]
    fn an_exit_status_decides_if_the_log_leaves_the_outcome_open() {
        let exit = |code| [("exit", 1001, None, Some(code))];
        let (unknown, success) = (
            (Outcome::Unknown, OutcomeReason::Completed),
            (Outcome::Success, OutcomeReason::TestsPassed),
        );
        assert_eq!(
            check(unknown.0, unknown.1, &exit(0)),
            r#"Unknown completed high ended ["exit status 0"]"#
        );
        assert_eq!(
            check(unknown.0, unknown.1, &exit(1)),
            r#"Fail exit_status high ended ["exit status 1"]"#
        );
        assert_eq!(
            check(unknown.0, unknown.1, &exit(130)),
            r#"Abandoned interrupted high ended ["exit status 130"]"#
        );
        assert_eq!(
            check(success.0, success.1, &exit(1)),
            r#"Success tests_passed medium ended ["exit status 1"]"#
        );
    }
}
