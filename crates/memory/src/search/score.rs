//! Scores how well a turn matches a query. It uses integers only, because the order must be the same on every
//! machine.

use std::ops::Range;

use transcript::Field;

/// The maximum score.
pub const SCORE_MAX: u32 = 1000;

const FIELD_MAX: u32 = 400;
const CLOSENESS_MAX: u32 = 300;
const AGE_MAX: u32 = 300;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns the value of a word by the field that contains it.
fn field_value(field: Field) -> u32 {
    match field {
        Field::Prompt => FIELD_MAX,
        Field::Answer => 300,
        Field::Thinking => 220,
        Field::ToolInput => 180,
        Field::ToolOutput => 100,
        Field::Other => 40,
    }
}

/// Returns the score of a turn: the fields of its terms, how close together they are in the text that contains most
/// of them, and the age of the session.
pub(super) fn score(fields: impl Iterator<Item = Field>, closeness: Closeness, age_ms: i64) -> u32 {
    let (count, sum) = fields.fold((0, 0), |(count, sum), field| (count + 1, sum + field_value(field)));
    let days = u32::try_from((age_ms / DAY_MS).clamp(0, 1 << 20)).unwrap_or_default();
    // Half of the points for age are lost after a month.
    sum / u32::max(count, 1) + closeness.points() + AGE_MAX * 30 / (30 + days)
}

/// How close together the terms are. Sorts from far to near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closeness {
    /// Number of terms in the text.
    pub(super) terms: u32,
    /// Length in bytes of the shortest range that contains all of these, negated.
    pub(super) negated_bytes: i64,
    /// `true` if the text contains all terms of the query.
    pub(super) has_all_terms: bool,
}

impl Closeness {
    /// Measures the places of terms in one text; `wanted` has a bit for each term. Also returns the start of the
    /// shortest range that contains all of them.
    pub(super) fn measure(places: &[(Range<usize>, usize)], wanted: u32) -> (Self, usize) {
        if wanted.count_ones() == 1
            && let Some((place, _)) = places.iter().find(|(_, term)| wanted & 1 << term != 0)
        {
            let negated_bytes = -i64::try_from(place.len()).unwrap_or(i64::MAX);
            let closeness = Self {
                terms: 1,
                negated_bytes,
                has_all_terms: true,
            };
            return (closeness, place.start);
        }
        let wanted_places = || places.iter().filter(|(_, term)| wanted & 1 << term != 0);
        let found = wanted_places().fold(0u32, |bits, (_, term)| bits | 1 << term);
        let mut last = [None; 32];
        let (mut shortest, mut focus) = (usize::MAX, 0);
        for (place, term) in wanted_places() {
            last[*term] = Some(place.start);
            let starts = last.iter().enumerate().filter(|(at, _)| found & 1 << at != 0);
            let first = starts
                .map(|(_, start)| *start)
                .try_fold(usize::MAX, |first, start| Some(first.min(start?)));
            if let Some(first) = first.filter(|first| place.end - first < shortest) {
                (shortest, focus) = (place.end - first, first);
            }
        }
        let closeness = Self {
            terms: found.count_ones(),
            negated_bytes: -i64::try_from(shortest).unwrap_or(i64::MAX),
            has_all_terms: found == wanted,
        };
        (closeness, focus)
    }

    fn points(self) -> u32 {
        if !self.has_all_terms {
            return 0;
        }
        let bytes = u32::try_from(-self.negated_bytes).unwrap_or(u32::MAX).min(1 << 20);
        match self.terms {
            0 | 1 => CLOSENESS_MAX,
            // Adjacent words of ordinary length get full points.
            terms => CLOSENESS_MAX * 200 / (200 + bytes.saturating_sub(terms * 12)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closeness(places: &[(usize, usize)], wanted: u32) -> Closeness {
        let places: Vec<(Range<usize>, usize)> =
            places.iter().map(|(start, term)| (*start..start + 5, *term)).collect();
        Closeness::measure(&places, wanted).0
    }

    #[test]
    fn the_shortest_range_with_all_terms_counts() {
        assert_eq!(
            closeness(&[(0, 0), (50, 0), (60, 1), (300, 1)], 0b11).negated_bytes,
            -15
        );
        assert!(closeness(&[(0, 0), (10, 1)], 0b11) > closeness(&[(0, 0), (900, 1)], 0b11));
        assert!(closeness(&[(0, 0), (900, 1)], 0b11) > closeness(&[(0, 0)], 0b11));
    }

    #[test]
    fn prompts_score_above_answers_and_both_above_tools() {
        let of = |field, days: i64| score([field].into_iter(), closeness(&[(0, 0)], 1), days * DAY_MS);
        let fields = [
            Field::Prompt,
            Field::Answer,
            Field::Thinking,
            Field::ToolInput,
            Field::ToolOutput,
            Field::Other,
        ];
        assert!(fields.map(|field| of(field, 3)).is_sorted_by(|a, b| a > b));
        assert_eq!(of(Field::Prompt, 0), SCORE_MAX);
        assert_eq!(
            of(Field::Prompt, -5),
            SCORE_MAX,
            "a session in the future gets no bonus"
        );
        assert!(of(Field::Prompt, 30) < of(Field::Prompt, 1));
    }
}
