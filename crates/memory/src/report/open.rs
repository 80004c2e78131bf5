//! What a piece of work leaves open, and what was decided in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use transcript::Turn;

use super::facts::Facts;
use super::fields::{Citation, Statement};
use super::judge::{How, Piece};
use super::paths::in_command;
use super::tell::shell_of;
use super::words::{Sentence, count, question, quoted, say};
use crate::digest::{End, Ran};
use crate::outcome::Reason;
use crate::store::{Store, StoreError};

/// So many items of a list, and so many decisions, are told.
const ITEMS_TOLD: usize = 3;
const DECISIONS_TOLD: usize = 5;

/// Programs whose failure leaves something undone.
const BUILDING: [&str; 22] = [
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

/// What is left open.
pub(super) fn open(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut told = Vec::new();
    told.extend(tests(facts, piece));
    told.extend(ending(facts, piece));
    told.extend(builds(facts, piece));
    told.extend(asks(facts, piece));
    told.extend(list(facts, piece));
    told
}

/// Test runners whose last run failed.
fn tests(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut last: BTreeMap<&str, &super::judge::Test> = BTreeMap::new();
    for test in &piece.tests {
        let known = last.entry(&test.name).or_insert(test);
        if test.seq >= known.seq {
            *known = test;
        }
    }
    let failing = last.into_iter().filter(|(_, test)| test.passed == Some(false));
    failing
        .map(|(name, test)| {
            let command = facts.turns[test.turn].ran().find(|ran| ran.seq == test.seq);
            let cwd = facts.session_of(test.turn).cwd.as_deref();
            let command = command.map(|ran| quoted(&in_command(&ran.wording, cwd), 90));
            say("Tests fail: the last run of ")
                .code(quoted(name, 60))
                .say(" was not green: ")
                .code(command.unwrap_or_default())
                .cite([facts.cite_line(test.turn, test.line)])
        })
        .collect()
}

/// Returns how the work ended if it is not complete.
fn ending(facts: &Facts, piece: &Piece) -> Option<Statement> {
    let judgement = &piece.judgement;
    let last = *piece.turns.last()?;
    let words = || quoted(&facts.turns[last].prompt.text, 120);
    let first = judgement.evidence.first();
    let command = |sentence: Sentence| match first.and_then(|evidence| shell_of(facts, evidence)) {
        Some(command) => sentence.say(": ").code(command),
        None => sentence,
    };
    let sentence = match judgement.reason {
        Reason::Interrupted => say("Stopped by the human, and not taken up again that day: ").quote(words()),
        Reason::UnansweredPrompt => say("The last prompt has no answer in the log: ").quote(words()),
        Reason::ApiError => match first.filter(|evidence| !evidence.text.is_empty()) {
            Some(evidence) => say("Ended with an error: ").quote(quoted(&evidence.text, 120)),
            None => say("Ended with an error of the API or the agent"),
        },
        Reason::CutOff => command(say("The log ends in the middle of the work")),
        Reason::FailedToolCalls => command(say("The last tool calls failed")),
        Reason::Recent => say("Still at work when the workspace was made"),
        _ => return None,
    };
    let mut citations: Vec<_> = facts.cite_evidence(&judgement.evidence).collect();
    if citations.is_empty() {
        citations.push(facts.cite_turn(last));
    }
    Some(sentence.cite(citations))
}

/// Builds that failed and were not seen to work after that.
fn builds(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut last: BTreeMap<String, (usize, &Ran)> = BTreeMap::new();
    for turn in piece.turns.iter().copied() {
        for ran in facts.turns[turn].ran().filter(|ran| !ran.is_test) {
            let is_build = ran.program().is_some_and(|program| BUILDING.contains(&program));
            let is_over = matches!(ran.end, End::Answered | End::Failed);
            let is_push = ran
                .command()
                .is_some_and(|command| command == "git push" || command == "git rebase");
            if let Some(command) = ran.command().filter(|_| (is_build || is_push) && is_over) {
                last.insert(command, (turn, ran));
            }
        }
    }
    let failed = last.into_iter().filter(|(_, (_, ran))| ran.failed());
    failed
        .take(ITEMS_TOLD)
        .map(|(_, (turn, ran))| {
            let cwd = facts.session_of(turn).cwd.as_deref();
            let sentence = Sentence::default().code(quoted(&in_command(&ran.wording, cwd), 90));
            sentence
                .say(" failed, and was not seen to work after that")
                .cite([facts.cite_line(turn, ran.line)])
        })
        .collect()
}

/// A question of the agent that nobody answered.
fn asks(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut told = Vec::new();
    for turn in piece.turns.iter().copied() {
        let own = &facts.turns[turn];
        let is_last = !facts
            .turns
            .iter()
            .any(|other| other.session == own.session && other.first_line > own.first_line);
        let Some(reply) = own.reply.as_ref().filter(|_| is_last) else {
            continue;
        };
        // What was stopped or went on has no question left.
        let ended = piece
            .stepped_in
            .iter()
            .any(|one| one.turn == turn && one.how == How::Stopped);
        let is_answered = own.chosen.iter().any(|chosen| chosen.line > reply.line);
        let Some(words) = question(&reply.text).filter(|words| !ended && !is_answered && !offers(words)) else {
            continue;
        };
        let agent = facts.session_of(turn).agent.title();
        let when = if own.has_next { "that day" } else { "in this log" };
        told.push(
            say(format!("{agent} asked, and nobody answered {when}: "))
                .quote(words)
                .cite([facts.cite_line(turn, reply.line)]),
        );
    }
    told.truncate(2);
    told
}

/// Whether a question only asks what is to be done next.
fn offers(question: &str) -> bool {
    static OFFERS: LazyLock<Regex> = LazyLock::new(|| {
        let words = r"(?i)^\W*(?:how (?:can|may) i (?:help|assist)|what (?:would|do|should) (?:you|i)\b|what(?:'|’)s next|is there anything|anything else|could you share)";
        Regex::new(words).expect("the expression is a good one")
    });
    OFFERS.is_match(question)
}

/// What still stands on the agent's own list.
fn list(facts: &Facts, piece: &Piece) -> Option<Statement> {
    let listed = piece
        .turns
        .iter()
        .rev()
        .find_map(|turn| Some((*turn, facts.turns[*turn].list.as_ref()?)));
    let (turn, list) = listed.filter(|(_, list)| !list.left.is_empty())?;
    let mut sentence = say(format!(
        "On the agent's own list {} of {} not done: ",
        list.left.len(),
        list.all
    ));
    for (at, item) in list.left.iter().take(ITEMS_TOLD).enumerate() {
        sentence = sentence.say(if at > 0 { ", " } else { "" }).quote(quoted(item, 90));
    }
    if list.left.len() > ITEMS_TOLD {
        sentence = sentence.say(format!(" and {} more", list.left.len() - ITEMS_TOLD));
    }
    Some(sentence.cite([facts.cite_line(turn, list.line)]))
}

/// What was decided: answers to the agent's questions, plans, and what the user wrote down.
pub(super) fn decided(facts: &Facts, piece: &Piece) -> Vec<Statement> {
    let mut told = Vec::new();
    for turn in piece.turns.iter().copied() {
        let own = &facts.turns[turn];
        for chosen in &own.chosen {
            let answer = quoted(&chosen.answer, 160);
            let sentence = match &chosen.question {
                _ if chosen.answer == "approved the plan" => say("Approved the plan of the agent"),
                Some(question) => say("Asked ")
                    .quote(quoted(question, 160))
                    .say(", the human chose ")
                    .quote(answer),
                None => say("The human chose ").quote(answer),
            };
            told.push(sentence.cite([facts.cite_line(turn, chosen.line)]));
        }
        for text in &own.decisions {
            let sentence = say("Written down: ").quote(quoted(text, 240));
            told.push(sentence.cite([facts.cite_turn(turn)]));
        }
    }
    let more = told.split_off(told.len().min(DECISIONS_TOLD));
    if !more.is_empty() {
        let lines = more.iter().flat_map(|statement| statement.citations.clone());
        told.push(say(format!("and {}", count(more.len(), "more decision"))).cite(lines));
    }
    told
}

/// What the user wrote down of a session whose text is gone, each with the place of its turn among those of the day: the one
/// that had begun last.
pub(super) fn written_down(
    store: &Store,
    session_uid: &str,
    all: &[Turn],
    of_day: &[Turn],
) -> Result<Vec<(usize, String)>, StoreError> {
    let mut told = Vec::new();
    for decision in store.reads().decisions_of(session_uid)? {
        let made = Timestamp::from_microsecond(decision.at_micros).ok();
        let begun = |turn: &&Turn| {
            turn.started_at
                .is_some_and(|start| made.is_some_and(|made| start <= made))
        };
        let turn = all.iter().rfind(begun);
        let place = turn.and_then(|turn| of_day.iter().position(|own| own.turn == turn.turn));
        told.extend(place.map(|place| (place, decision.text)));
    }
    Ok(told)
}

/// The same in sentences.
pub(super) fn decided_of(decisions: &[(usize, String)], cite: &dyn Fn(usize) -> Citation) -> Vec<Statement> {
    let told = |(turn, text): &(usize, String)| say("Written down: ").quote(quoted(text, 240)).cite([cite(*turn)]);
    decisions.iter().map(told).collect()
}
