//! Which known name a mistyped one was meant to be.

use super::KeyPath;

/// Below this likeness a guess would mislead.
const LIKENESS_MIN: f64 = 0.84;

/// Returns the name that is most like `wrong`: by its last word, and rather in the same table.
pub(super) fn nearest<'a>(wrong: &KeyPath, known: impl Iterator<Item = &'a KeyPath>) -> Option<&'a KeyPath> {
    let likeness = |candidate: &KeyPath| {
        let words = strsim::jaro_winkler(wrong.name(), candidate.name());
        // Enough to decide between equals, not enough to make a stranger look alike.
        let is_neighbour = wrong.table() == candidate.table();
        if is_neighbour { words + 0.01 } else { words }
    };
    let best = known
        .map(|candidate| (likeness(candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .map(|(_, candidate)| candidate)
}

/// The same for names without tables, such as variables.
pub(super) fn nearest_name<'a>(wrong: &str, known: &'a [String]) -> Option<&'a str> {
    let like = known
        .iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(wrong, name), name));
    let best = like.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .map(|(_, name)| name.as_str())
}
