//! Describes the day as a whole: interventions, repetitions, successes, and the summary at the top of the page.

use std::collections::{BTreeMap, BTreeSet};

use transcript::Outcome;

use super::facts::Facts;
use super::fields::{Citation, DayObservations, PieceOfWork, Statement};
use super::folds::summarize_piece;
use super::group::prompt_key;
use super::judge::{InterventionKind, WorkPiece};
use super::paths::{shorten_command, shorten_path};
use super::rank::WEIGHT_MIN;
use super::words::{Sentence, count_noun, say, shorten_quote, times};
use crate::steps::CallStatus;

const CORRECTED_MAX: usize = 6;
const REPEATED_MAX: usize = 5;
const WORKED_MAX: usize = 5;
const FIXED_MAX: usize = 3;
const SHARED_MAX: usize = 2;
/// Number of pieces of work in the summary.
const SUMMARY_MAX: usize = 4;
/// Minimum number of failures for a command to count as repeated.
const FAILED_MIN: usize = 3;

pub(super) fn summarize_day(facts: &Facts, pieces: &[&WorkPiece]) -> DayObservations {
    DayObservations {
        corrected: describe_interventions(facts, pieces),
        repeated: describe_repetitions(facts, pieces),
        worked: describe_successes(facts, pieces),
    }
}

fn describe_interventions(facts: &Facts, pieces: &[&WorkPiece]) -> Vec<Statement> {
    let mut all: Vec<_> = pieces.iter().flat_map(|piece| &piece.interventions).collect();
    all.sort_by_key(|intervention| {
        (
            facts.turns[intervention.turn].started_at,
            intervention.turn,
            intervention.line,
        )
    });
    let describe = |intervention: &&super::judge::PieceIntervention| {
        let cwd = facts.session_of(intervention.turn).cwd.as_deref();
        let sentence = match intervention.kind {
            InterventionKind::Corrected => say("Corrected: ").quote(shorten_quote(&intervention.text, 160)),
            InterventionKind::Stopped => {
                say("Stopped the agent at ").quote(shorten_quote(&facts.turns[intervention.turn].prompt.text, 100))
            }
            InterventionKind::Refused => {
                let sentence = say("Refused ").code(shorten_quote(&shorten_command(&intervention.text, cwd), 100));
                match facts.next_prompt(intervention.turn, intervention.line) {
                    Some(words) => sentence.say(" and said ").quote(shorten_quote(words, 120)),
                    None => sentence,
                }
            }
            InterventionKind::Rewound => {
                say("Rewound past a turn: ").quote(shorten_quote(&facts.turns[intervention.turn].prompt.text, 100))
            }
        };
        let mut lines = vec![facts.cite_line(intervention.turn, intervention.line)];
        if intervention.kind == InterventionKind::Refused
            && facts.next_prompt(intervention.turn, intervention.line).is_some()
        {
            lines.push(facts.cite_line(intervention.turn + 1, facts.turns[intervention.turn + 1].prompt.line));
        }
        sentence.cite(lines)
    };
    // A correction in words says more than an interrupt.
    let rank = |kind: InterventionKind| usize::from(kind != InterventionKind::Corrected);
    all.sort_by_key(|intervention| rank(intervention.kind));
    let mut statements: Vec<Statement> = all.iter().take(CORRECTED_MAX).map(describe).collect();
    let more = &all[all.len().min(CORRECTED_MAX)..];
    if !more.is_empty() {
        let lines = more
            .iter()
            .map(|intervention| facts.cite_line(intervention.turn, intervention.line));
        statements.push(say(format!("Intervened {} more", times(more.len()))).cite(lines));
    }
    statements
}

fn describe_repetitions(facts: &Facts, pieces: &[&WorkPiece]) -> Vec<Statement> {
    let mut statements: Vec<(usize, Statement)> = Vec::new();
    let mut asked: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for turn in pieces.iter().flat_map(|piece| &piece.turns) {
        if let Some(key) = prompt_key(&facts.turns[*turn].prompt.text) {
            asked.entry(key).or_default().push(*turn);
        }
    }
    for turns in asked.into_values().filter(|turns| turns.len() > 1) {
        let words = shorten_quote(&facts.turns[turns[0]].prompt.text, 120);
        let lines = turns
            .iter()
            .map(|turn| facts.cite_line(*turn, facts.turns[*turn].prompt.line));
        let sentence = say(format!("Asked {} in nearly the same words: ", times(turns.len()))).quote(words);
        statements.push((turns.len() * 2, sentence.cite(lines)));
    }
    statements.extend(repeated_failures(facts, pieces));
    statements.extend(shared_files(facts, pieces));
    statements.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    statements.truncate(REPEATED_MAX);
    statements.into_iter().map(|(_, statement)| statement).collect()
}

/// Returns the commands that failed repeatedly, with the number of failures.
fn repeated_failures(facts: &Facts, pieces: &[&WorkPiece]) -> Vec<(usize, Statement)> {
    let mut failed: BTreeMap<String, Vec<Citation>> = BTreeMap::new();
    for turn in pieces.iter().flat_map(|piece| piece.turns.iter().copied()) {
        for ran in facts.turns[turn]
            .tool_calls()
            .filter(|ran| ran.has_failed() && !ran.is_test)
        {
            let what = ran.command().filter(|command| super::commands::is_notable(command));
            if let Some(what) = what {
                failed.entry(what).or_default().push(facts.cite_line(turn, ran.line));
            }
        }
    }
    let often = failed.into_iter().filter(|(_, lines)| lines.len() >= FAILED_MIN);
    often
        .map(|(what, lines)| {
            let sentence = Sentence::default().code(shorten_quote(&what, 60));
            (
                lines.len(),
                sentence.say(format!(" failed {}", times(lines.len()))).cite(lines),
            )
        })
        .collect()
}

/// Returns the files that several pieces of work edited.
fn shared_files(facts: &Facts, pieces: &[&WorkPiece]) -> Vec<(usize, Statement)> {
    let mut edited: BTreeMap<(usize, &str), Vec<&WorkPiece>> = BTreeMap::new();
    for piece in pieces {
        let project = facts.project_of(piece.turns[0]);
        for file in piece.files.keys() {
            edited.entry((project, file)).or_default().push(piece);
        }
    }
    let mut several: Vec<_> = edited.into_iter().filter(|(_, pieces)| pieces.len() > 1).collect();
    several.sort_by_key(|(_, pieces)| std::cmp::Reverse(pieces.len()));
    several.truncate(SHARED_MAX);
    let describe = |((_, file), pieces): ((usize, &str), Vec<&WorkPiece>)| {
        let turn = |piece: &&WorkPiece| {
            let edits = |turn: &&usize| super::group::edited_files(facts, **turn).contains_key(file);
            piece.turns.iter().find(edits).map(|turn| facts.cite_turn(*turn))
        };
        let sentence = Sentence::default()
            .code(shorten_quote(&shorten_path(file, 80), 90))
            .say(format!(" was edited in {} separate pieces of work", pieces.len()));
        (pieces.len(), sentence.cite(pieces.iter().filter_map(turn)))
    };
    several.into_iter().map(describe).collect()
}

fn describe_successes(facts: &Facts, pieces: &[&WorkPiece]) -> Vec<Statement> {
    let mut statements = Vec::new();
    for piece in pieces {
        statements.extend(fixed_tests(facts, piece));
    }
    statements.truncate(FIXED_MAX);
    for piece in pieces {
        let is_clean = piece.judgement.outcome == Outcome::Success && piece.interventions.is_empty();
        if is_clean && !piece.files.is_empty() && piece.turns.len() == 1 {
            let turn = piece.turns[0];
            let lines = std::iter::once(facts.cite_turn(turn)).chain(facts.cite_evidence(&piece.judgement.evidence));
            let words = super::words::make_title(&facts.turns[turn].prompt.text);
            statements.push(
                say("One prompt was enough: ")
                    .quote(words)
                    .say(format!(" ({})", summarize_piece(piece)))
                    .cite(lines),
            );
        }
    }
    statements.truncate(WORKED_MAX);
    statements
}

/// Returns the tests of a piece that failed first and passed in the end.
fn fixed_tests(facts: &Facts, piece: &WorkPiece) -> Option<Statement> {
    let names: BTreeSet<&str> = piece.tests.iter().map(|test| test.name.as_str()).collect();
    names.into_iter().find_map(|name| {
        let mut runs: Vec<_> = piece
            .tests
            .iter()
            .filter(|test| test.name == name && test.passed.is_some())
            .collect();
        runs.sort_by_key(|run| run.seq);
        let failed = runs.iter().find(|run| run.passed == Some(false))?;
        let last = runs.last().filter(|run| run.passed == Some(true))?;
        // Only an edit in between shows that something was fixed.
        let edited = piece.turns.iter().any(|turn| {
            facts.turns[*turn].tool_calls().any(|ran| {
                !ran.files.is_empty() && ran.end == CallStatus::Answered && (failed.seq..last.seq).contains(&ran.seq)
            })
        });
        edited.then(|| {
            let sentence = say("Tests with ")
                .code(shorten_quote(name, 60))
                .say(" failed and were fixed: ");
            let title = super::describe::work_title(facts, piece);
            sentence.words(&title.words).cite([
                facts.cite_line(failed.turn, failed.line),
                facts.cite_line(last.turn, last.line),
            ])
        })
    })
}

/// Returns the summary: the heaviest pieces of the day in one line each, and the number of open items.
pub(super) fn lead_statements(works: &[(&PieceOfWork, &WorkPiece, u64)]) -> Vec<Statement> {
    let mut statements: Vec<Statement> = works
        .iter()
        .enumerate()
        .filter(|(at, (_, _, weight))| *at == 0 || *weight >= WEIGHT_MIN)
        .take(SUMMARY_MAX)
        .map(|(_, (work, piece, _))| {
            let project = work.title.citations.first().map(|citation| citation.project.clone());
            let mut sentence = Sentence::default();
            if let Some(project) = project {
                sentence = sentence.code(project).say(": ");
            }
            sentence = sentence.words(&work.title.words);
            let short = summarize_piece(piece);
            if !short.is_empty() {
                sentence = sentence.say(format!(" – {short}"));
            }
            let mut lines = work.title.citations.clone();
            lines.extend(work.came.iter().flat_map(|came| came.citations.clone()));
            lines.truncate(3);
            sentence.cite(lines)
        })
        .collect();
    let open: Vec<&Statement> = works.iter().flat_map(|(work, ..)| &work.open).collect();
    if !open.is_empty() {
        let lines = open.iter().filter_map(|statement| statement.citations.first().cloned());
        let first = open[0];
        let sentence = say(format!("Left open, {}: ", count_noun(open.len(), "thing"))).words(&first.words);
        statements.push(sentence.cite(lines));
    }
    statements
}
