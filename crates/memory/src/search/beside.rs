//! Matches a few texts as if they were one turn: a user's annotations of a session, which are in no log.

use std::ops::Range;

use transcript::Field;

use super::matching::{Matcher, TextContext};
use super::score::{Closeness, score};
use super::snippet::{Snippet, cut_snippet};

/// A match in a group of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextsHit {
    /// Index of the text that best shows the match.
    pub at: usize,
    pub snippet: Snippet,
    pub score: u32,
}

/// Returns a match if the texts together contain all wanted terms and no unwanted one. They are scored like texts of
/// `field`.
pub fn match_texts(
    matcher: &mut Matcher<'_>,
    texts: &[(TextContext<'_>, &str)],
    field: Field,
    age_ms: i64,
) -> Option<TextsHit> {
    let (wanted, unwanted) = (matcher.query().wanted(), matcher.query().unwanted());
    let mut terms = 0;
    let mut best: Option<(Closeness, usize, Snippet)> = None;
    for (at, (about, text)) in texts.iter().enumerate() {
        let Some(found) = matcher.find(about, text) else {
            continue;
        };
        terms |= found.terms;
        let (closeness, focus) = Closeness::measure(&found.places, wanted);
        if best.as_ref().is_none_or(|(before, ..)| closeness > *before) {
            let marked = found.places.iter().filter(|(_, term)| wanted & 1 << term != 0);
            let places: Vec<Range<usize>> = marked.map(|(place, _)| place.clone()).collect();
            best = Some((closeness, at, cut_snippet(&found.text, focus, &places)));
        }
    }
    let (closeness, at, snippet) = best?;
    let is_hit = wanted != 0 && terms & wanted == wanted && terms & unwanted == 0;
    is_hit.then(|| TextsHit {
        at,
        snippet,
        score: score([field].into_iter(), closeness, age_ms),
    })
}
