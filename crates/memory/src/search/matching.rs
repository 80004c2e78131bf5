//! Finds the terms of a query in a decoded text. This is what decides whether a text matches; filters only save work.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;
use transcript::{Field, Kinds, Role};

use super::fold::{Folded, compose};
use super::query::{Query, Term, TermBounds, TermPattern};
use super::words;

/// Maximum number of places remembered per term and text: enough to highlight and to measure closeness.
const PLACES_MAX: usize = 32;

/// The context of a text: everything that is known about it except its words.
#[derive(Debug, Clone, Copy)]
pub struct TextContext<'t> {
    pub field: Field,
    pub role: Role,
    pub tool: Option<&'t str>,
    /// The kinds of its event, or `None` if the text belongs to no event.
    pub kinds: Option<Kinds>,
}

/// The matches in one text.
#[derive(Debug, Default)]
pub struct TextMatches<'t> {
    /// The composed text, to which the places refer.
    pub text: Cow<'t, str>,
    /// One bit for each term that was found.
    pub terms: u32,
    /// The ranges of the matches and the index of their term, in text order.
    pub places: Vec<(Range<usize>, usize)>,
}

/// Finds the terms of one query in many texts. Create one per thread because it reuses its buffers.
pub struct Matcher<'q> {
    query: &'q Query,
    /// For each literal term, the search for its first piece.
    finders: Vec<Option<Finder<'q>>>,
    folded: Folded,
}

impl<'q> Matcher<'q> {
    pub fn new(query: &'q Query) -> Self {
        let finder = |term: &'q Term| match &term.pattern {
            TermPattern::Literal { pieces, .. } => pieces.first().map(|piece| Finder::new(piece.as_bytes())),
            TermPattern::Regex(_) => None,
        };
        Self {
            query,
            finders: query.terms.iter().map(finder).collect(),
            folded: Folded::default(),
        }
    }

    /// The query whose terms are searched for.
    pub fn query(&self) -> &'q Query {
        self.query
    }

    /// Returns the matches in a text, or `None` if the text is not searched or contains no term. A query that has
    /// only fields matches every text that they allow.
    pub fn find<'t>(&mut self, about: &TextContext<'_>, text: &'t str) -> Option<TextMatches<'t>> {
        let is_allowed = self.allows(about);
        let is_searched = |term: &Term| term.field.map_or(is_allowed, |field| field == about.field);
        if !is_allowed && !self.query.terms.iter().any(is_searched) {
            return None;
        }
        let text = compose(text);
        if self.finders.iter().any(Option::is_some) {
            self.folded.fold(&text);
        }
        let mut found = TextMatches::default();
        for (at, term) in self.query.terms.iter().enumerate() {
            if is_searched(term) {
                let before = found.places.len();
                self.each_place(at, &text, &mut |place| {
                    found.places.push((place, at));
                    found.places.len() - before < PLACES_MAX
                });
                if found.places.len() > before {
                    found.terms |= 1 << at;
                }
            }
        }
        let takes_all = is_allowed && self.query.wanted() == 0;
        if found.terms == 0 && !takes_all {
            return None;
        }
        found.places.sort_by_key(|(place, at)| (place.start, place.end, *at));
        found.text = text;
        Some(found)
    }

    /// Returns `true` if the fields of the query allow a text.
    fn allows(&self, about: &TextContext<'_>) -> bool {
        let only = &self.query.only;
        only.fields.takes(|field| *field == about.field)
            && only.roles.takes(|role| *role == about.role)
            && only
                .tools
                .takes(|name| about.tool.is_some_and(|tool| is_named(tool, name)))
            && only
                .kinds
                .takes(|kind| about.kinds.is_some_and(|kinds| kinds.has(*kind)))
    }

    /// Calls `take` with the places of a term in a composed text until `take` returns `false`.
    fn each_place(&self, at: usize, text: &str, take: &mut dyn FnMut(Range<usize>) -> bool) {
        match (&self.query.terms[at].pattern, &self.finders[at]) {
            (TermPattern::Literal { pieces, ends }, Some(finder)) => {
                let mut from = 0;
                while let Some(start) = finder.find(&self.folded.as_str().as_bytes()[from..]) {
                    let start = from + start;
                    let found = self.match_rest(start, pieces).map(|end| {
                        let place = self.folded.to_composed_offset(start)..self.folded.to_composed_offset(end);
                        (place, end)
                    });
                    match found.filter(|(place, _)| has_allowed_ends(text, place, *ends)) {
                        Some((place, end)) => {
                            from = end;
                            if !take(place) {
                                return;
                            }
                        }
                        None => from = start + 1,
                    }
                }
            }
            (TermPattern::Regex(regex), _) => {
                let mut found = regex.find_iter(text).filter(|found| !found.is_empty());
                while found.next().is_some_and(|found| take(found.range())) {}
            }
            (TermPattern::Literal { .. }, None) => {}
        }
    }

    /// Returns the end of the last piece if all pieces follow from `start` on, separated by white space.
    fn match_rest(&self, start: usize, pieces: &[String]) -> Option<usize> {
        let (first, rest) = pieces.split_first()?;
        let mut end = start + first.len();
        for piece in rest {
            let after = &self.folded.as_str()[end..];
            let next = after.trim_start();
            if next.len() == after.len() || !next.starts_with(piece.as_str()) {
                return None;
            }
            end += after.len() - next.len() + piece.len();
        }
        Some(end)
    }
}

fn has_allowed_ends(text: &str, place: &Range<usize>, ends: TermBounds) -> bool {
    match ends {
        TermBounds::Words => words::is_sequence(text, place),
        TermBounds::Open => words::is_prefix(text, place),
        TermBounds::Free => true,
    }
}

/// Returns `true` if a tool has this name, ignoring case. A name that ends with `*` is a prefix.
fn is_named(tool: &str, name: &str) -> bool {
    let tool = tool.to_lowercase();
    match name.strip_suffix('*') {
        Some(beginning) => tool.starts_with(beginning),
        None => tool == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: TextContext<'_> = TextContext {
        field: Field::Answer,
        role: Role::Assistant,
        tool: None,
        kinds: None,
    };

    fn find_in(query: &Query, text: &str) -> String {
        let Some(found) = Matcher::new(query).find(&ANSWER, text) else {
            return String::new();
        };
        let matches = found.places.iter().map(|(place, _)| &found.text[place.clone()]);
        matches.collect::<Vec<_>>().join("|")
    }

    fn find_words(query: &str, text: &str) -> String {
        find_in(&Query::words(query).unwrap(), text)
    }

    #[test]
    fn words_match_as_a_whole_in_any_case_and_by_their_parts() {
        for (query, text, expected) in [
            ("config", "parse_config, ParseConfig and Configs", "config|Config"),
            ("parseconfig", "ParseConfig MyParseConfig", "ParseConfig"),
            ("main.rs", "src/Main.rs:3 and domain.rs", "Main.rs"),
            ("aa", "aaa aa", "aa"),
            ("a_a", "xa_a_a", "a_a"),
            ("café", "CAFE\u{301} cafe", "CAFÉ"),
            ("straße", "STRAẞE", "STRAẞE"),
            ("文件", "新文件名", "文件"),
            ("migrat*", "emigration Migrations db_migrate", "Migrat|migrat"),
            ("\"nil  pointer\"", "Nil\n\tPointer nil pointers", "Nil\n\tPointer"),
            ("🎉", "done 🎉", "🎉"),
            ("one two", "two", "two"),
        ] {
            assert_eq!(find_words(query, text), expected, "{query}");
        }
    }

    #[test]
    fn exact_texts_and_expressions_match_anywhere() {
        assert_eq!(find_in(&Query::exact("n( x").unwrap(), "FN( x)"), "N( x");
        assert_eq!(
            find_in(&Query::regex("^fn \\w+").unwrap(), "a\nFn main() fn x"),
            "Fn main"
        );
        assert_eq!(find_in(&Query::regex("x*").unwrap(), "axxb"), "xx");
    }

    #[test]
    fn a_long_text_of_one_letter_is_searched_in_reasonable_time() {
        let text = "a".repeat(300_000);
        assert_eq!(find_words("a aa aaaa*", &text), "aaaa");
        assert_eq!(find_in(&Query::exact("ab").unwrap(), &text), "");
    }

    #[test]
    fn fields_select_the_texts_that_are_searched() {
        let about = TextContext {
            field: Field::ToolOutput,
            role: Role::Tool,
            tool: Some("Bash"),
            kinds: Some(Kinds::of(transcript::Kind::ToolResult).and(transcript::Kind::Error)),
        };
        let is_found = |query: &str| {
            Matcher::new(&Query::words(query).unwrap())
                .find(&about, "boom")
                .is_some()
        };
        for query in [
            "boom",
            "boom in:tool",
            "boom in:output tool:bash",
            "kind:error",
            "tool:ba*",
            "boom role:tool -kind:retry",
        ] {
            assert!(is_found(query), "{query}");
        }
        for query in [
            "boom in:input",
            "boom tool:Read",
            "boom role:user",
            "boom -tool:Bash",
            "boom kind:edit",
            "file:boom",
            "bang kind:error",
        ] {
            assert!(!is_found(query), "{query}");
        }
    }
}
