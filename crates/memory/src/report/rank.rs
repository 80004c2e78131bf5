//! What matters most: a weight for each piece of work, in whole numbers, so that the order never wavers.

use super::facts::Facts;
use super::judge::Piece;

/// So many pieces of a project are told in full, and so many of a day.
pub(super) const WORKS_OF_PROJECT_MAX: usize = 4;
pub(super) const WORKS_OF_DAY_MAX: usize = 10;
/// A piece of less weight is told in one line, unless it is the best there is.
pub(super) const WEIGHT_MIN: u64 = 8;

/// How much a piece of work matters: what was changed and handed in, what went wrong or was decided, and how long it took.
pub(super) fn weight(facts: &Facts, piece: &Piece, open: usize, decided: usize) -> u64 {
    let many = |count: usize, each: u64, most: u64| (count as u64 * each).min(most);
    let minutes = piece.totals.active_s / 60;
    let asked: usize = piece
        .turns
        .iter()
        .map(|turn| facts.turns[*turn].prompt.text.chars().count())
        .sum();
    many(piece.files.len(), 3, 36)
        + many(piece.commits.len(), 8, 32)
        + many(piece.tests.len(), 1, 6)
        + many(open, 5, 15)
        + many(decided, 4, 12)
        + many(piece.stepped_in.len(), 3, 12)
        + many(piece.turns.len(), 1, 10)
        + (minutes / 5).min(24)
        + (asked as u64 / 400).min(4)
}
