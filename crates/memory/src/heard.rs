//! What hooks and wrapped commands told of a session, and what that says of its outcome. What the log proves stands; what
//! was told decides where the log leaves it open.
//!
//! Pure: it knows no store and no clock.

use jiff::Timestamp;
use transcript::Outcome;

use crate::digest::Told;
use crate::outcome::{Confidence, Evidence, Judgement, Reason};
use crate::spool::EXIT;
use crate::store::{Fact, SLACK};

/// What shells add to a signal's number.
const BY_SIGNAL: i64 = 128;
const SIGINT: i64 = 2;
const SIGTERM: i64 = 15;

/// The newest fact of each kind, oldest first.
pub(crate) fn newest(facts: &[Fact]) -> Vec<Told> {
    let last = |fact: &&Fact| {
        !facts
            .iter()
            .any(|other| other.event == fact.event && is_after(other, fact))
    };
    let told = |fact: &Fact| Told {
        event: fact.event.clone(),
        at: fact.at,
        reason: fact.reason.clone(),
        error: fact.error.clone(),
        exit_code: fact.exit_code,
    };
    facts.iter().filter(last).map(told).collect()
}

fn is_after(one: &Fact, other: &Fact) -> bool {
    (one.at, &one.key) > (other.at, &other.key)
}

/// The judgement by the log, with what was told since its last moment.
pub(crate) fn judge(by_log: Judgement, facts: &[Fact], ended_at: Option<Timestamp>) -> Judgement {
    let told = newest(facts);
    let since = told
        .iter()
        .filter(|one| ended_at.is_none_or(|ended| one.at + SLACK >= ended));
    let of = |event: &str| since.clone().rfind(|one| one.event == event);
    let exit = of(EXIT).and_then(|one| one.exit_code);
    let mut judged = by_log;
    judged.is_ended = of("session_end").is_some() || exit.is_some();
    // A turn that came to its end after the failure overcame it.
    let failure = of("stop_failure").filter(|failed| of("stop").is_none_or(|stop| stop.at <= failed.at));
    if let Some(failed) = failure {
        let why = failed
            .error
            .as_deref()
            .or(failed.reason.as_deref())
            .unwrap_or("no reason given");
        return decided(
            judged,
            Outcome::Fail,
            Reason::ApiError,
            &format!("told by a hook: {why}"),
        );
    }
    match exit {
        Some(0) => {
            add(&mut judged, "exit status 0");
            judged
        }
        Some(code) => by_exit(judged, code),
        None => judged,
    }
}

/// A command that failed decides where the log does not, and sheds doubt where it does.
fn by_exit(mut judged: Judgement, code: i64) -> Judgement {
    let words = format!("exit status {code}");
    match judged.outcome {
        Outcome::Unknown if [SIGINT, SIGTERM].contains(&(code - BY_SIGNAL)) => {
            decided(judged, Outcome::Abandoned, Reason::Interrupted, &words)
        }
        Outcome::Unknown => decided(judged, Outcome::Fail, Reason::ExitStatus, &words),
        Outcome::Abandoned if judged.reason == Reason::UnansweredPrompt => {
            decided(judged, Outcome::Fail, Reason::ExitStatus, &words)
        }
        Outcome::Success | Outcome::Fail | Outcome::Abandoned => {
            if judged.outcome == Outcome::Success {
                judged.confidence = match judged.confidence {
                    Confidence::High => Confidence::Medium,
                    Confidence::Medium | Confidence::Low => Confidence::Low,
                };
            }
            add(&mut judged, &words);
            judged
        }
    }
}

fn decided(mut judged: Judgement, outcome: Outcome, reason: Reason, words: &str) -> Judgement {
    add(&mut judged, words);
    Judgement {
        outcome,
        reason,
        confidence: Confidence::High,
        ..judged
    }
}

/// What was told stands beside the last line that the log's own judgement stands on.
fn add(judged: &mut Judgement, words: &str) {
    let (line, turn) = judged.evidence.last().map_or((1, None), |last| (last.line, last.turn));
    judged.evidence.push(Evidence::new(line, turn, words));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Outcome, reason: Reason, facts: &[(&str, i64, Option<&str>, Option<i64>)]) -> String {
        let fact = |(event, second, error, exit_code): &(&str, i64, Option<&str>, Option<i64>)| Fact {
            session_uid: "claude:a".to_owned(),
            key: format!("{event}{second}"),
            agent: "claude".to_owned(),
            at: Timestamp::from_second(*second).unwrap(),
            event: (*event).to_owned(),
            reason: None,
            error: error.map(str::to_owned),
            exit_code: *exit_code,
        };
        let facts: Vec<Fact> = facts.iter().map(fact).collect();
        let by_log = Judgement {
            outcome,
            reason,
            confidence: Confidence::High,
            ..Judgement::default()
        };
        let judged = judge(by_log, &facts, Timestamp::from_second(1000).ok());
        let evidence: Vec<&str> = judged.evidence.iter().map(|one| one.text.as_str()).collect();
        let ended = if judged.is_ended { " ended" } else { "" };
        let sure = judged.confidence.as_str();
        format!(
            "{:?} {} {sure}{ended} {evidence:?}",
            judged.outcome,
            judged.reason.as_str()
        )
    }

    #[test]
    fn a_failure_told_by_a_hook_decides_until_a_turn_ends_well() {
        let open = (Outcome::Unknown, Reason::Completed);
        let failed = ("stop_failure", 1001, Some("rate_limit"), None);
        assert_eq!(
            check(open.0, open.1, &[failed]),
            r#"Fail api_error high ["told by a hook: rate_limit"]"#
        );
        let overcome = [failed, ("stop", 1002, None, None)];
        assert_eq!(check(open.0, open.1, &overcome), "Unknown completed high []");
        let long_ago = [("stop_failure", 900, Some("rate_limit"), None)];
        assert_eq!(check(open.0, open.1, &long_ago), "Unknown completed high []");
        let ended = [("session_end", 1001, None, None)];
        assert_eq!(check(open.0, open.1, &ended), "Unknown completed high ended []");
    }

    #[test]
    fn an_exit_status_decides_where_the_log_leaves_it_open() {
        let exit = |code| [("exit", 1001, None, Some(code))];
        let (unknown, success) = (
            (Outcome::Unknown, Reason::Completed),
            (Outcome::Success, Reason::TestsPassed),
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
