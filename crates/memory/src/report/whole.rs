//! What the day shows as a whole: where the human had to step in, what was repeated, what worked; and what leads the page.

use std::collections::{BTreeMap, BTreeSet};

use transcript::Outcome;

use super::facts::Facts;
use super::fields::{Citation, Statement, Whole, Work};
use super::folds::in_short;
use super::group::same_key;
use super::judge::{How, Piece};
use super::paths::{fitting, in_command};
use super::rank::WEIGHT_MIN;
use super::words::{Sentence, count, quoted, say, times};
use crate::digest::End;

const CORRECTED_MAX: usize = 6;
const REPEATED_MAX: usize = 5;
const WORKED_MAX: usize = 5;
const MENDED_MAX: usize = 3;
const SHARED_MAX: usize = 2;
/// So many pieces of work lead the page.
const LEADING: usize = 4;
/// Something that failed so often was repeated.
const FAILED_MIN: usize = 3;

pub(super) fn whole(facts: &Facts, pieces: &[&Piece]) -> Whole {
    Whole {
        corrected: corrected(facts, pieces),
        repeated: repeated(facts, pieces),
        worked: worked(facts, pieces),
    }
}

fn corrected(facts: &Facts, pieces: &[&Piece]) -> Vec<Statement> {
    let mut all: Vec<_> = pieces.iter().flat_map(|piece| &piece.stepped_in).collect();
    all.sort_by_key(|one| (facts.turns[one.turn].started_at, one.turn, one.line));
    let tell = |one: &&super::judge::SteppedIn| {
        let cwd = facts.session_of(one.turn).cwd.as_deref();
        let sentence = match one.how {
            How::Corrected => say("Corrected: ").quote(quoted(&one.text, 160)),
            How::Stopped => say("Stopped the agent at ").quote(quoted(&facts.turns[one.turn].prompt.text, 100)),
            How::Refused => {
                let refused = say("Refused ").code(quoted(&in_command(&one.text, cwd), 100));
                match facts.next_words(one.turn, one.line) {
                    Some(words) => refused.say(" and said ").quote(quoted(words, 120)),
                    None => refused,
                }
            }
            How::WentBack => say("Went back behind a turn: ").quote(quoted(&facts.turns[one.turn].prompt.text, 100)),
        };
        let mut lines = vec![facts.cite_line(one.turn, one.line)];
        if one.how == How::Refused && facts.next_words(one.turn, one.line).is_some() {
            lines.push(facts.cite_line(one.turn + 1, facts.turns[one.turn + 1].prompt.line));
        }
        sentence.cite(lines)
    };
    // Words tell more than a key that was pressed.
    let rank = |how: How| usize::from(how != How::Corrected);
    all.sort_by_key(|one| rank(one.how));
    let mut told: Vec<Statement> = all.iter().take(CORRECTED_MAX).map(tell).collect();
    let more = &all[all.len().min(CORRECTED_MAX)..];
    if !more.is_empty() {
        let lines = more.iter().map(|one| facts.cite_line(one.turn, one.line));
        told.push(say(format!("Intervened {} more", times(more.len()))).cite(lines));
    }
    told
}

fn repeated(facts: &Facts, pieces: &[&Piece]) -> Vec<Statement> {
    let mut told: Vec<(usize, Statement)> = Vec::new();
    let mut asked: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for turn in pieces.iter().flat_map(|piece| &piece.turns) {
        if let Some(key) = same_key(&facts.turns[*turn].prompt.text) {
            asked.entry(key).or_default().push(*turn);
        }
    }
    for turns in asked.into_values().filter(|turns| turns.len() > 1) {
        let words = quoted(&facts.turns[turns[0]].prompt.text, 120);
        let lines = turns
            .iter()
            .map(|turn| facts.cite_line(*turn, facts.turns[*turn].prompt.line));
        let sentence = say(format!("Asked {} in nearly the same words: ", times(turns.len()))).quote(words);
        told.push((turns.len() * 2, sentence.cite(lines)));
    }
    told.extend(failures(facts, pieces));
    told.extend(shared_files(facts, pieces));
    told.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    told.truncate(REPEATED_MAX);
    told.into_iter().map(|(_, statement)| statement).collect()
}

/// Commands that failed again and again.
fn failures(facts: &Facts, pieces: &[&Piece]) -> Vec<(usize, Statement)> {
    let mut failed: BTreeMap<String, Vec<Citation>> = BTreeMap::new();
    for turn in pieces.iter().flat_map(|piece| piece.turns.iter().copied()) {
        for ran in facts.turns[turn].ran().filter(|ran| ran.failed() && !ran.is_test) {
            let what = ran.command().filter(|command| super::commands::is_telling(command));
            if let Some(what) = what {
                failed.entry(what).or_default().push(facts.cite_line(turn, ran.line));
            }
        }
    }
    let often = failed.into_iter().filter(|(_, lines)| lines.len() >= FAILED_MIN);
    often
        .map(|(what, lines)| {
            let sentence = Sentence::default().code(quoted(&what, 60));
            (
                lines.len(),
                sentence.say(format!(" failed {}", times(lines.len()))).cite(lines),
            )
        })
        .collect()
}

/// Files that several pieces of work edited.
fn shared_files(facts: &Facts, pieces: &[&Piece]) -> Vec<(usize, Statement)> {
    let mut edited: BTreeMap<(usize, &str), Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        let project = facts.project_of(piece.turns[0]);
        for file in piece.files.keys() {
            edited.entry((project, file)).or_default().push(piece);
        }
    }
    let mut several: Vec<_> = edited.into_iter().filter(|(_, pieces)| pieces.len() > 1).collect();
    several.sort_by_key(|(_, pieces)| std::cmp::Reverse(pieces.len()));
    several.truncate(SHARED_MAX);
    let tell = |((_, file), pieces): ((usize, &str), Vec<&Piece>)| {
        let turn = |piece: &&Piece| {
            let edits = |turn: &&usize| super::group::files(facts, **turn).contains_key(file);
            piece.turns.iter().find(edits).map(|turn| facts.cite_turn(*turn))
        };
        let sentence = Sentence::default()
            .code(quoted(&fitting(file, 80), 90))
            .say(format!(" was edited in {} pieces of work apart", pieces.len()));
        (pieces.len(), sentence.cite(pieces.iter().filter_map(turn)))
    };
    several.into_iter().map(tell).collect()
}

fn worked(facts: &Facts, pieces: &[&Piece]) -> Vec<Statement> {
    let mut told = Vec::new();
    for piece in pieces {
        told.extend(recovered(facts, piece));
    }
    told.truncate(MENDED_MAX);
    for piece in pieces {
        let is_clean = piece.judgement.outcome == Outcome::Success && piece.stepped_in.is_empty();
        if is_clean && !piece.files.is_empty() && piece.turns.len() == 1 {
            let turn = piece.turns[0];
            let lines = std::iter::once(facts.cite_turn(turn)).chain(facts.cite_evidence(&piece.judgement.evidence));
            let words = super::words::title(&facts.turns[turn].prompt.text);
            told.push(
                say("One prompt was enough: ")
                    .quote(words)
                    .say(format!(" ({})", in_short(piece)))
                    .cite(lines),
            );
        }
    }
    told.truncate(WORKED_MAX);
    told
}

/// Tests that failed and passed in the end.
fn recovered(facts: &Facts, piece: &Piece) -> Option<Statement> {
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
        // An edit between them says that something was mended.
        let edited = piece.turns.iter().any(|turn| {
            facts.turns[*turn].ran().any(|ran| {
                !ran.files.is_empty() && ran.end == End::Answered && (failed.seq..last.seq).contains(&ran.seq)
            })
        });
        edited.then(|| {
            let sentence = say("Tests with ")
                .code(quoted(name, 60))
                .say(" failed and were mended: ");
            let title = super::tell::title_of(facts, piece);
            sentence.words(&title.words).cite([
                facts.cite_line(failed.turn, failed.line),
                facts.cite_line(last.turn, last.line),
            ])
        })
    })
}

/// What leads the page: the heaviest pieces of the day in one line each, and how much is open.
pub(super) fn summary(works: &[(&Work, &Piece, u64)]) -> Vec<Statement> {
    let mut told: Vec<Statement> = works
        .iter()
        .enumerate()
        .filter(|(at, (_, _, weight))| *at == 0 || *weight >= WEIGHT_MIN)
        .take(LEADING)
        .map(|(_, (work, piece, _))| {
            let project = work.title.citations.first().map(|citation| citation.project.clone());
            let mut sentence = Sentence::default();
            if let Some(project) = project {
                sentence = sentence.code(project).say(": ");
            }
            sentence = sentence.words(&work.title.words);
            let short = in_short(piece);
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
        let sentence = say(format!("Left open, {}: ", count(open.len(), "thing"))).words(&first.words);
        told.push(sentence.cite(lines));
    }
    told
}
