//! Corrects the spelling of a query that found nothing: suggests similar words or tools that occur.
//!
//! The words are taken from titles and prompts of the newest sessions: they are few, and they contain the words that
//! people search for.

use std::collections::{BTreeSet, HashMap};

use super::{Question, find};
use crate::search::{HitTarget, Query};
use crate::store::{Store, StoreError};

/// Number of sessions whose words and tools are candidates.
const SESSIONS_MAX: usize = 200;
/// Shorter words are similar to too many others.
const LETTERS_MIN: usize = 4;
const TOOL: &str = "tool:";

/// Returns the query with its misspelt words corrected, or `None` if that finds nothing either.
pub fn suggest(store: &Store, text: &str, question: &Question<'_>) -> Result<Option<String>, StoreError> {
    let names = KnownNames::read(store, text.contains(TOOL))?;
    let corrected: Vec<String> = text
        .split_whitespace()
        .map(|word| names.correct(word).unwrap_or_else(|| word.to_owned()))
        .collect();
    let corrected = corrected.join(" ");
    let (false, Ok(query)) = (corrected == text.trim(), Query::words(&corrected)) else {
        return Ok(None);
    };
    let found = find(
        store,
        &Question {
            query: &query,
            enough: HitTarget::of(1),
            behind: None,
            ..*question
        },
    )?;
    Ok((!found.found.is_empty()).then_some(corrected))
}

/// Words with how often they occur, and tools.
#[derive(Default)]
struct KnownNames {
    words: HashMap<String, u32>,
    tools: BTreeSet<String>,
}

impl KnownNames {
    fn read(store: &Store, with_tools: bool) -> Result<Self, StoreError> {
        let mut names = Self::default();
        let reads = store.reads();
        for session in reads.listed()?.iter().take(SESSIONS_MAX) {
            names.add(session.title.as_deref().unwrap_or_default());
            names.add(session.first_prompt.as_deref().unwrap_or_default());
            for turn in reads.turns(&session.session_uid)? {
                names.add(&turn.prompt);
            }
            if with_tools {
                names.tools.extend(reads.tools_of(&session.session_uid)?);
            }
        }
        Ok(names)
    }

    fn add(&mut self, text: &str) {
        for word in text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() >= LETTERS_MIN)
        {
            *self.words.entry(word.to_lowercase()).or_default() += 1;
        }
    }

    /// Returns the correction of a word, or `None` if the word is known or similar to no other.
    fn correct(&self, word: &str) -> Option<String> {
        if let Some(tool) = word.strip_prefix(TOOL) {
            let is_it = |known: &&String| known.eq_ignore_ascii_case(tool);
            let known = self.tools.iter().map(|known| (known.as_str(), 1));
            let nearest = || nearest(&tool.to_lowercase(), known);
            return self
                .tools
                .iter()
                .find(is_it)
                .map_or_else(nearest, |_| None)
                .map(|tool| format!("{TOOL}{tool}"));
        }
        let lower = word.to_lowercase();
        if !lower.chars().all(char::is_alphanumeric) || self.words.contains_key(&lower) {
            return None;
        }
        nearest(&lower, self.words.iter().map(|(word, count)| (word.as_str(), *count)))
    }
}

/// Returns the name with the smallest edit distance; of several, the most common one.
fn nearest<'n>(word: &str, names: impl Iterator<Item = (&'n str, u32)>) -> Option<String> {
    let letters = word.chars().count();
    if letters < LETTERS_MIN {
        return None;
    }
    let most = if letters < 6 { 1 } else { 2 };
    let near = names.filter_map(|(name, count)| {
        let apart = strsim::osa_distance(word, &name.to_lowercase());
        (apart <= most).then_some((apart, std::cmp::Reverse(count), name))
    });
    near.min().map(|(_, _, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_or_tool_is_corrected_and_a_known_one_is_not() {
        let mut names = KnownNames::default();
        names.add("Fix the checkpoint, then the check and the checkout");
        names.add("checkpoint again");
        names.tools = ["Bash", "Read"].map(str::to_owned).into();
        let correct = |word: &str| names.correct(word);
        assert_eq!(correct("chekpoint").as_deref(), Some("checkpoint"));
        assert_eq!(correct("CHECKPIONT").as_deref(), Some("checkpoint"));
        assert_eq!(correct("checkpoint"), None);
        assert_eq!(correct("something"), None);
        assert_eq!(correct("teh"), None);
        assert_eq!(correct("tool:Bsah").as_deref(), Some("tool:Bash"));
        assert_eq!(correct("tool:bash"), None);
        assert_eq!(correct("file:chekpoint"), None);
    }
}
