//! Suggests the known name that a mistyped one was meant to be.

use super::KeyPath;

/// Below this similarity a suggestion would mislead.
const LIKENESS_MIN: f64 = 0.84;

/// Returns the name most similar to `wrong`, compared by the last part; names in the same table are preferred.
pub(super) fn nearest<'a>(wrong: &KeyPath, known: impl Iterator<Item = &'a KeyPath>) -> Option<&'a KeyPath> {
    let likeness = |candidate: &KeyPath| {
        let words = strsim::jaro_winkler(wrong.name(), candidate.name());
        // The bonus decides between equally similar names, but does not make a dissimilar one similar.
        let is_neighbour = wrong.table() == candidate.table();
        if is_neighbour { words + 0.01 } else { words }
    };
    let best = known
        .map(|candidate| (likeness(candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .map(|(_, candidate)| candidate)
}

/// Returns the most similar name among names without tables, such as variables.
pub(super) fn nearest_name<'a>(wrong: &str, known: &'a [String]) -> Option<&'a str> {
    let like = known
        .iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(wrong, name), name));
    let best = like.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .map(|(_, name)| name.as_str())
}
