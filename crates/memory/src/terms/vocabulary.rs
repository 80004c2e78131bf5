//! The words of a frame as one text, for a database with its own index, and the conditions to query such an index
//! with.
//!
//! They are the words of [`super::filter`], each once, folded, separated by spaces. An index over them finds whole
//! words, and an index over their trigrams finds parts of words. Characters of unspaced scripts are words by
//! themselves. Like a filter, an index may have false positives but never false negatives, because every hit is
//! verified on decoded text. Nothing here knows which database it is.

use rustc_hash::FxHashSet;

use super::filter::{FilterKey, Need, WORD_BYTES_MAX};
use super::fold::{Folded, compose};
use super::words::{self, WordKind};

/// Maximum number of pieces in a condition. More of them would not narrow the result further.
const PIECES_MAX: usize = 16;

/// Collects the words of texts. Create one per thread and reuse it for many frames.
#[derive(Default)]
pub struct Vocabulary {
    words: FxHashSet<Box<str>>,
    folded: Folded,
}

impl Vocabulary {
    /// Adds one decoded text of the frame.
    pub fn add(&mut self, text: &str) {
        let text = compose(text);
        self.folded.fold(&text);
        let (folded, known) = (&self.folded, &mut self.words);
        let mut put = |word: &str| {
            if !known.contains(word) {
                known.insert(word.into());
            }
        };
        words::each_word(&text, &mut |kind, place| {
            let word = &folded.as_str()[folded.to_folded_offset(place.start)..folded.to_folded_offset(place.end)];
            match kind {
                WordKind::Pair => {}
                _ if word.len() <= WORD_BYTES_MAX => put(word),
                // Users do not type it completely; its pieces find it.
                _ => word.as_bytes().windows(3).filter_map(plain_piece).for_each(&mut put),
            }
        });
    }

    /// Returns all words that were added, sorted.
    pub fn text(&self) -> String {
        let mut words: Vec<&str> = self.words.iter().map(|word| &**word).collect();
        words.sort_unstable();
        words.join(" ")
    }

    /// Removes all words.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Returns all words that were added, sorted, and removes them.
    pub fn finish(&mut self) -> String {
        let words = self.text();
        self.clear();
        words
    }
}

/// A condition on the words of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordCondition {
    /// The frame has all of these words.
    Words(Vec<String>),
    /// One of the words contains this piece.
    Piece(String),
    All(Vec<WordCondition>),
    Any(Vec<WordCondition>),
}

impl WordCondition {
    /// Returns the condition for a need, or `None` if words cannot decide it. `has_pieces` is `true` if the index can
    /// find pieces.
    pub fn of(need: &Need, has_pieces: bool) -> Option<Self> {
        match need {
            Need::Anything => None,
            Need::Key(_) => Self::all(std::slice::from_ref(need), has_pieces),
            Need::All(needs) => Self::all(needs, has_pieces),
            Need::Any(needs) => {
                let ways: Option<Vec<Self>> = needs.iter().map(|need| Self::of(need, has_pieces)).collect();
                ways.map(Self::Any)
            }
        }
    }

    fn all(needs: &[Need], has_pieces: bool) -> Option<Self> {
        let mut own: Vec<String> = Vec::new();
        let mut all = Vec::new();
        for need in needs {
            match need {
                Need::Key(FilterKey::Word(word)) => own.push(word.to_string()),
                Need::Key(FilterKey::Trigram(trigram)) => own.extend(unspaced_character(*trigram)),
                other => all.extend(Self::of(other, has_pieces)),
            }
        }
        let pieces = needs.iter().filter_map(|need| match need {
            Need::Key(FilterKey::Trigram(trigram)) => plain_piece(&trigram.to_be_bytes()[1..]).map(str::to_owned),
            _ => None,
        });
        // A piece of a required word adds nothing.
        let pieces = pieces.filter(|piece| !own.iter().any(|word| word.contains(piece.as_str())));
        if has_pieces {
            all.extend(pieces.take(PIECES_MAX).map(Self::Piece));
        }
        if !own.is_empty() {
            all.insert(0, Self::Words(own));
        }
        (!all.is_empty()).then_some(Self::All(all))
    }
}

/// Returns three bytes as text if they can only occur inside a word: ASCII letters and digits.
fn plain_piece(bytes: &[u8]) -> Option<&str> {
    let is_plain = bytes.iter().all(u8::is_ascii_alphanumeric);
    is_plain.then(|| std::str::from_utf8(bytes).ok()).flatten()
}

/// Returns the character of an unspaced script if the three bytes are one.
fn unspaced_character(trigram: u32) -> Option<String> {
    let bytes = trigram.to_be_bytes();
    let text = std::str::from_utf8(&bytes[1..]).ok()?;
    let mut characters = text.chars();
    let first = characters.next().filter(|c| words::is_unspaced(*c))?;
    characters.next().is_none().then(|| first.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::filter::{Filter, FilterBuilder};
    use crate::search::matching::{Matcher, TextContext};
    use crate::search::query::Query;

    fn of(text: &str) -> String {
        let mut vocabulary = Vocabulary::default();
        vocabulary.add(text);
        vocabulary.finish()
    }

    /// Evaluates a condition like an index.
    fn is_met(words: &str, sought: &WordCondition) -> bool {
        match sought {
            WordCondition::Words(own) => own.iter().all(|own| words.split(' ').any(|word| word == own)),
            WordCondition::Piece(piece) => words.contains(piece.as_str()),
            WordCondition::All(all) => all.iter().all(|one| is_met(words, one)),
            WordCondition::Any(any) => any.iter().any(|one| is_met(words, one)),
        }
    }

    #[test]
    fn words_are_unique_and_sorted_and_long_ones_are_split_into_pieces() {
        assert_eq!(
            of("ParseConfig parse 文件 src/Main.rs"),
            "config main parse parseconfig rs src 件 文"
        );
        let long = format!("{}xyz", "ab".repeat(30));
        assert_eq!(of(&long), "aba abx bab bxy xyz");
    }

    #[test]
    fn whole_words_are_sought_as_words_and_prefixes_by_their_pieces() {
        let sought_by = |text: &str, has_pieces| {
            let query = Query::words(text).unwrap();
            WordCondition::of(&query.terms[0].need, has_pieces)
        };
        let words = |words: &[&str]| WordCondition::Words(words.iter().map(|word| (*word).to_owned()).collect());
        let piece = |piece: &str| WordCondition::Piece(piece.to_owned());
        assert_eq!(
            sought_by("main.rs", true),
            Some(WordCondition::All(vec![words(&["main", "rs"])]))
        );
        assert_eq!(
            sought_by("migr*", true),
            Some(WordCondition::All(vec![piece("mig"), piece("igr")]))
        );
        assert_eq!(sought_by("migr*", false), None);
        assert_eq!(
            sought_by("文件", false),
            Some(WordCondition::All(vec![words(&["文", "件"])]))
        );
        assert_eq!(
            sought_by("\"a b\"", true),
            Some(WordCondition::All(vec![words(&["a", "b"])]))
        );
    }

    proptest! {
        /// An index over words excludes a text only if the filter excludes it too, or if the text does not match.
        #[test]
        fn no_matching_text_is_missed(text in "[a-cA-C0-1_ ./文件ßß]{0,60}", from in 0usize..20, length in 1usize..8) {
            let words = of(&text);
            let mut builder = FilterBuilder::default();
            builder.add(&text);
            let filter = builder.finish();
            let piece: String = text.chars().skip(from).take(length).collect();
            let mut queries = vec![Query::words(&piece), Query::words(&format!("\"{piece}\"")), Query::exact(&piece)];
            queries.push(Query::regex(&regex_syntax::escape(&piece)));
            queries.push(Query::words(&format!("{}*", piece.trim())));
            for query in queries.into_iter().flatten() {
                for (at, term) in query.terms.iter().enumerate() {
                    let may_hold = Filter::read(&filter).unwrap().may_hold(&term.need);
                    let sought = WordCondition::of(&term.need, true);
                    let about = TextContext { field: transcript::Field::Prompt, role: transcript::Role::User, tool: None, kinds: None };
                    let is_there = Matcher::new(&query).find(&about, &text).is_some_and(|found| found.terms & 1 << at != 0);
                    let is_found = sought.is_none_or(|sought| is_met(&words, &sought));
                    prop_assert!(may_hold || !is_there);
                    prop_assert!(is_found || !is_there, "{:?} in {:?} by {:?}", term.typed, text, words);
                }
            }
        }
    }
}
