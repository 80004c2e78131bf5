//! Describes what a piece of work leaves open, and what was decided in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use transcript::Turn;

use super::describe::evidence_command;
use super::facts::Facts;
use super::fields::{Citation, Statement};
use super::judge::{InterventionKind, WorkPiece};
use super::paths::shorten_command;
use super::words::{Sentence, count_noun, final_question, say, shorten_quote};
use crate::outcome::OutcomeReason;
use crate::steps::{CallStatus, CallStep};
use crate::store::{Store, StoreError};

/// Maximum numbers of list items and of decisions that are reported.
const ITEMS_MAX: usize = 3;
const DECISIONS_MAX: usize = 5;

/// Programs whose failure leaves work unfinished.
const BUILD_PROGRAMS: [&str; 22] = [
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "make",
    "cmake",
    "ninja",
    "go",
    "mvn",
    "gradle",
    "gradlew",
    "tsc",
    "docker",
    "docker-compose",
    "terraform",
    "kubectl",
    "helm",
    "dotnet",
    "swift",
    "bazel",
    "just",
];

/// Returns the statements about what is left open.
pub(super) fn open_items(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut statements = Vec::new();
    statements.extend(failing_tests(facts, piece));
    statements.extend(describe_ending(facts, piece));
    statements.extend(failed_builds(facts, piece));
    statements.extend(unanswered_questions(facts, piece));
    statements.extend(remaining_tasks(facts, piece));
    statements
}

/// Returns the test runners whose last run failed.
fn failing_tests(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut last: BTreeMap<&str, &super::judge::TestRun> = BTreeMap::new();
    for test in &piece.tests {
        let known = last.entry(&test.name).or_insert(test);
        if test.seq >= known.seq {
            *known = test;
        }
    }
    let failing = last.into_iter().filter(|(_, test)| test.passed == Some(false));
    failing
        .map(|(name, test)| {
            let command = facts.turns[test.turn].tool_calls().find(|ran| ran.seq == test.seq);
            let cwd = facts.session_of(test.turn).cwd.as_deref();
            let command = command.map(|ran| shorten_quote(&shorten_command(&ran.wording, cwd), 90));
            say("Tests fail: the last run of ")
                .code(shorten_quote(name, 60))
                .say(" failed: ")
                .code(command.unwrap_or_default())
                .cite([facts.cite_line(test.turn, test.line)])
        })
        .collect()
}

/// Returns how the work ended if it is not complete.
fn describe_ending(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    let judgement = &piece.judgement;
    let last = *piece.turns.last()?;
    let prompt = || shorten_quote(&facts.turns[last].prompt.text, 120);
    let first = judgement.evidence.first();
    let command = |sentence: Sentence| match first.and_then(|evidence| evidence_command(facts, evidence)) {
        Some(command) => sentence.say(": ").code(command),
        None => sentence,
    };
    let sentence = match judgement.reason {
        OutcomeReason::Interrupted => say("Stopped by the user and not resumed that day: ").quote(prompt()),
        OutcomeReason::UnansweredPrompt => say("The last prompt has no answer in the log: ").quote(prompt()),
        OutcomeReason::ApiError => match first.filter(|evidence| !evidence.text.is_empty()) {
            Some(evidence) => say("Ended with an error: ").quote(shorten_quote(&evidence.text, 120)),
            None => say("Ended with an error from the API or the agent"),
        },
        OutcomeReason::CutOff => command(say("The log ends in the middle of the work")),
        OutcomeReason::FailedToolCalls => command(say("The last tool calls failed")),
        OutcomeReason::Recent => say("Still running when the workspace was prepared"),
        _ => return None,
    };
    let mut citations: Vec<_> = facts.cite_evidence(&judgement.evidence).collect();
    if citations.is_empty() {
        citations.push(facts.cite_turn(last));
    }
    Some(sentence.cite(citations))
}

/// Returns the builds that failed and did not succeed later.
fn failed_builds(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut last: BTreeMap<String, (usize, &CallStep)> = BTreeMap::new();
    for turn in piece.turns.iter().copied() {
        for ran in facts.turns[turn].tool_calls().filter(|ran| !ran.is_test) {
            let is_build = ran.program().is_some_and(|program| BUILD_PROGRAMS.contains(&program));
            let is_over = matches!(ran.end, CallStatus::Answered | CallStatus::Failed);
            let is_push = ran
                .command()
                .is_some_and(|command| command == "git push" || command == "git rebase");
            if let Some(command) = ran.command().filter(|_| (is_build || is_push) && is_over) {
                last.insert(command, (turn, ran));
            }
        }
    }
    let failed = last.into_iter().filter(|(_, (_, ran))| ran.has_failed());
    failed
        .take(ITEMS_MAX)
        .map(|(_, (turn, ran))| {
            let cwd = facts.session_of(turn).cwd.as_deref();
            let sentence = Sentence::default().code(shorten_quote(&shorten_command(&ran.wording, cwd), 90));
            sentence
                .say(" failed and did not succeed later")
                .cite([facts.cite_line(turn, ran.line)])
        })
        .collect()
}

/// Returns the questions of the agent that were not answered.
fn unanswered_questions(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut statements = Vec::new();
    for turn in piece.turns.iter().copied() {
        let own = &facts.turns[turn];
        let is_last = !facts
            .turns
            .iter()
            .any(|other| other.session == own.session && other.first_line > own.first_line);
        let Some(reply) = own.reply.as_ref().filter(|_| is_last) else {
            continue;
        };
        // If the user stopped the turn or answered later, no question is open.
        let ended = piece
            .interventions
            .iter()
            .any(|intervention| intervention.turn == turn && intervention.kind == InterventionKind::Stopped);
        let is_answered = own.choices.iter().any(|chosen| chosen.line > reply.line);
        let Some(question) =
            final_question(&reply.text).filter(|question| !ended && !is_answered && !is_offer(question))
        else {
            continue;
        };
        let agent = facts.session_of(turn).agent.title();
        let when = if own.has_next { "that day" } else { "in this log" };
        statements.push(
            say(format!("{agent} asked and got no answer {when}: "))
                .quote(question)
                .cite([facts.cite_line(turn, reply.line)]),
        );
    }
    statements.truncate(2);
    statements
}

/// Returns `true` if a question only asks what to do next.
fn is_offer(question: &str) -> bool {
    static OFFER: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"(?i)^\W*(?:how (?:can|may) i (?:help|assist)|what (?:would|do|should) (?:you|i)\b|what(?:'|’)s next|is there anything|anything else|could you share)";
        Regex::new(pattern).expect("the expression is valid")
    });
    OFFER.is_match(question)
}

/// Returns the unfinished items of the agent's task list.
fn remaining_tasks(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    let listed = piece
        .turns
        .iter()
        .rev()
        .find_map(|turn| Some((*turn, facts.turns[*turn].list.as_ref()?)));
    let (turn, list) = listed.filter(|(_, list)| !list.left.is_empty())?;
    let mut sentence = say(format!(
        "Open on the agent's task list, {} of {}: ",
        list.left.len(),
        list.all
    ));
    for (at, item) in list.left.iter().take(ITEMS_MAX).enumerate() {
        sentence = sentence
            .say(if at > 0 { ", " } else { "" })
            .quote(shorten_quote(item, 90));
    }
    if list.left.len() > ITEMS_MAX {
        sentence = sentence.say(format!(" and {} more", list.left.len() - ITEMS_MAX));
    }
    Some(sentence.cite([facts.cite_line(turn, list.line)]))
}

/// Describes the decisions: answers to the agent's questions, approved plans, and decisions that the user recorded.
pub(super) fn describe_decisions(facts: &Facts, piece: &WorkPiece) -> Vec<Statement> {
    let mut statements = Vec::new();
    for turn in piece.turns.iter().copied() {
        let own = &facts.turns[turn];
        for chosen in &own.choices {
            let answer = shorten_quote(&chosen.answer, 160);
            let sentence = match &chosen.question {
                _ if chosen.answer == "approved the plan" => say("Approved the agent's plan"),
                Some(question) => say("Asked ")
                    .quote(shorten_quote(question, 160))
                    .say(", the user chose ")
                    .quote(answer),
                None => say("The user chose ").quote(answer),
            };
            statements.push(sentence.cite([facts.cite_line(turn, chosen.line)]));
        }
        for text in &own.decisions {
            let sentence = say("Recorded decision: ").quote(shorten_quote(text, 240));
            statements.push(sentence.cite([facts.cite_turn(turn)]));
        }
    }
    let more = statements.split_off(statements.len().min(DECISIONS_MAX));
    if !more.is_empty() {
        let lines = more.iter().flat_map(|statement| statement.citations.clone());
        statements.push(say(format!("and {}", count_noun(more.len(), "more decision"))).cite(lines));
    }
    statements
}

/// Returns the recorded decisions of a session whose text was evicted. Each belongs to the turn of the day that had
/// started most recently.
pub(super) fn recorded_decisions(
    store: &Store,
    session_uid: &str,
    all: &[Turn],
    day_turns: &[Turn],
) -> Result<Vec<(usize, String)>, StoreError> {
    let mut statements = Vec::new();
    for decision in store.reads().decisions_of(session_uid)? {
        let recorded_at = Timestamp::from_microsecond(decision.at_micros).ok();
        let has_started = |turn: &&Turn| {
            turn.started_at
                .is_some_and(|start| recorded_at.is_some_and(|recorded_at| start <= recorded_at))
        };
        let turn = all.iter().rfind(has_started);
        let place = turn.and_then(|turn| day_turns.iter().position(|own| own.turn == turn.turn));
        statements.extend(place.map(|place| (place, decision.text)));
    }
    Ok(statements)
}

/// Returns these decisions as statements.
pub(super) fn decision_statements(decisions: &[(usize, String)], cite: &dyn Fn(usize) -> Citation) -> Vec<Statement> {
    let statement = |(turn, text): &(usize, String)| {
        say("Recorded decision: ")
            .quote(shorten_quote(text, 240))
            .cite([cite(*turn)])
    };
    decisions.iter().map(statement).collect()
}
