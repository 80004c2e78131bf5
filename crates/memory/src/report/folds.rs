//! Work that is told in one line, and what is only counted: a long day stays short.

use super::facts::Facts;
use super::fields::{Folded, Statement, Word};
use super::judge::Piece;
use super::words::{Sentence, count, say};
use crate::outcome::Reason;

/// So many pieces have a line of their own; the others share one.
const LINES_MAX: usize = 6;

/// What came of a piece in a few words.
pub(super) fn in_short(piece: &Piece) -> String {
    let mut parts = Vec::new();
    if !piece.files.is_empty() {
        parts.push(format!("{} edited", count(piece.files.len(), "file")));
    }
    let commits = usize::try_from(piece.totals.commits).unwrap_or_default();
    match (commits, piece.commits.len()) {
        (0, 0) => {}
        (0, _) => parts.push("a pull request".to_owned()),
        (commits, _) => parts.push(count(commits, "commit")),
    }
    parts.extend(came(piece.judgement.reason).map(str::to_owned));
    if piece.turns.len() > 1 {
        parts.push(count(piece.turns.len(), "turn"));
    }
    parts.join(", ")
}

/// Returns the reason of the outcome, unless other parts of the line say it.
fn came(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::Committed | Reason::Completed | Reason::Empty => None,
        reason => Some(reason.in_words()),
    }
}

/// One line for each of the first pieces, and one for all others.
pub(super) fn fold(facts: &Facts, pieces: &[(Piece, Statement)]) -> Vec<Folded> {
    let (own, shared) = pieces.split_at(pieces.len().min(LINES_MAX));
    // A last one has room for itself where it is alone.
    let (own, shared) = if shared.len() == 1 {
        (pieces, &pieces[..0])
    } else {
        (own, shared)
    };
    let mut folded: Vec<Folded> = own.iter().map(|(piece, title)| line(facts, piece, title)).collect();
    if shared.is_empty() {
        return folded;
    }
    let turns: Vec<usize> = shared.iter().flat_map(|(piece, _)| piece.turns.clone()).collect();
    let edited: usize = shared.iter().map(|(piece, _)| piece.files.len()).sum();
    let mut sentence = say(format!(
        "and {} in {}",
        count(shared.len(), "more small piece"),
        count(turns.len(), "turn")
    ));
    if edited > 0 {
        sentence = sentence.say(format!(", {} edited", count(edited, "file")));
    }
    let most = shared
        .iter()
        .find_map(|(_, title)| title.words.iter().find(|word| matches!(word, Word::Quote(_))));
    if let Some(Word::Quote(words)) = most {
        sentence = sentence.say("; among them ").quote(words.clone());
    }
    let lines = shared.iter().map(|(piece, _)| facts.cite_turn(piece.turns[0]));
    folded.push(Folded {
        statement: sentence.cite(lines),
        covers: facts.covered(&turns),
    });
    folded
}

fn line(facts: &Facts, piece: &Piece, title: &Statement) -> Folded {
    let told = in_short(piece);
    let mut sentence = Sentence::default().words(&title.words);
    if !told.is_empty() {
        sentence = sentence.say(format!(": {told}"));
    }
    let mut lines = title.citations.clone();
    // The question is on one line; what came of it is all of the turn.
    lines.extend(piece.turns.last().map(|turn| facts.cite_turn(*turn)));
    Folded {
        statement: sentence.cite(lines),
        covers: facts.covered(&piece.turns),
    }
}
