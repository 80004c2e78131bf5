//! The weight of a piece of work. It is an integer so that the order is always the same.

use super::facts::Facts;
use super::judge::WorkPiece;

/// Maximum numbers of pieces that are described in full, per project and per day.
pub(super) const WORKS_OF_PROJECT_MAX: usize = 4;
pub(super) const WORKS_OF_DAY_MAX: usize = 10;
/// A lighter piece is described in one line, unless it is the heaviest of its project.
pub(super) const WEIGHT_MIN: u64 = 8;

/// Returns the weight of a piece: how much was changed and committed, what failed or was decided, and how long it took.
pub(super) fn piece_weight(facts: &Facts, piece: &WorkPiece, open: usize, decided: usize) -> u64 {
    let capped = |count: usize, each: u64, most: u64| (count as u64 * each).min(most);
    let minutes = piece.totals.active_s / 60;
    let asked: usize = piece
        .turns
        .iter()
        .map(|turn| facts.turns[*turn].prompt.text.chars().count())
        .sum();
    capped(piece.files.len(), 3, 36)
        + capped(piece.commits.len(), 8, 32)
        + capped(piece.tests.len(), 1, 6)
        + capped(open, 5, 15)
        + capped(decided, 4, 12)
        + capped(piece.interventions.len(), 3, 12)
        + capped(piece.turns.len(), 1, 10)
        + (minutes / 5).min(24)
        + (asked as u64 / 400).min(4)
}
