//! Minor work, which is described in one line or only counted to keep the report of a long day short.

use super::facts::Facts;
use super::fields::{MinorWork, SentencePart, Statement};
use super::judge::WorkPiece;
use super::words::{Sentence, count_noun, say};
use crate::outcome::OutcomeReason;

/// Maximum number of pieces with a line of their own. The remaining ones share a line.
const LINES_MAX: usize = 6;

/// Returns a short description of what a piece produced.
pub(super) fn summarize_piece(piece: &WorkPiece) -> String {
    let mut parts = Vec::new();
    if !piece.files.is_empty() {
        parts.push(format!("{} edited", count_noun(piece.files.len(), "file")));
    }
    let commits = usize::try_from(piece.totals.commits).unwrap_or_default();
    match (commits, piece.commits.len()) {
        (0, 0) => {}
        (0, _) => parts.push("a pull request".to_owned()),
        (commits, _) => parts.push(count_noun(commits, "commit")),
    }
    parts.extend(reason_phrase(piece.judgement.reason).map(str::to_owned));
    if piece.turns.len() > 1 {
        parts.push(count_noun(piece.turns.len(), "turn"));
    }
    parts.join(", ")
}

/// Returns the reason of the outcome, unless other parts of the line already say it.
fn reason_phrase(reason: OutcomeReason) -> Option<&'static str> {
    match reason {
        OutcomeReason::Committed | OutcomeReason::Completed | OutcomeReason::Empty => None,
        reason => Some(reason.describe()),
    }
}

/// Returns one line for each of the first pieces, and one for all others.
pub(super) fn fold_pieces(facts: &Facts, pieces: &[(WorkPiece, Statement)]) -> Vec<MinorWork> {
    let (own, shared) = pieces.split_at(pieces.len().min(LINES_MAX));
    // A single remaining piece gets a line of its own, because a shared line would be no shorter.
    let (own, shared) = if shared.len() == 1 {
        (pieces, &pieces[..0])
    } else {
        (own, shared)
    };
    let mut folded: Vec<MinorWork> = own
        .iter()
        .map(|(piece, title)| fold_piece(facts, piece, title))
        .collect();
    if shared.is_empty() {
        return folded;
    }
    let turns: Vec<usize> = shared.iter().flat_map(|(piece, _)| piece.turns.clone()).collect();
    let edited: usize = shared.iter().map(|(piece, _)| piece.files.len()).sum();
    let mut sentence = say(format!(
        "and {} in {}",
        count_noun(shared.len(), "more small piece"),
        count_noun(turns.len(), "turn")
    ));
    if edited > 0 {
        sentence = sentence.say(format!(", {} edited", count_noun(edited, "file")));
    }
    let most = shared
        .iter()
        .find_map(|(_, title)| title.words.iter().find(|word| matches!(word, SentencePart::Quote(_))));
    if let Some(SentencePart::Quote(words)) = most {
        sentence = sentence.say(", including ").quote(words.clone());
    }
    let lines = shared.iter().map(|(piece, _)| facts.cite_turn(piece.turns[0]));
    folded.push(MinorWork {
        statement: sentence.cite(lines),
        covers: facts.covered(&turns),
    });
    folded
}

fn fold_piece(facts: &Facts, piece: &WorkPiece, title: &Statement) -> MinorWork {
    let summary = summarize_piece(piece);
    let mut sentence = Sentence::default().words(&title.words);
    if !summary.is_empty() {
        sentence = sentence.say(format!(": {summary}"));
    }
    let mut lines = title.citations.clone();
    // The title cites the line of the prompt. The result is cited as the whole turn.
    lines.extend(piece.turns.last().map(|turn| facts.cite_turn(*turn)));
    MinorWork {
        statement: sentence.cite(lines),
        covers: facts.covered(&piece.turns),
    }
}
