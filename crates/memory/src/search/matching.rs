//! Finds a query's terms in a decoded text. This decides what a hit is; filters only save the way here.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;
use transcript::{Field, Kinds, Role};

use super::fold::{Folded, compose};
use super::query::{Ends, Pattern, Query, Term};
use super::words;

/// Places of one term in one text that are remembered: enough to mark and to measure.
const PLACES_MAX: usize = 32;

/// What is known of the text besides its words.
#[derive(Debug, Clone, Copy)]
pub struct About<'t> {
    pub field: Field,
    pub role: Role,
    pub tool: Option<&'t str>,
    /// The kinds of its event; none where the text is no event's.
    pub kinds: Option<Kinds>,
}

/// What was found in one text.
#[derive(Debug, Default)]
pub struct Found<'t> {
    /// The text as it was compared: places are in it.
    pub text: Cow<'t, str>,
    /// One bit for each term that was found.
    pub terms: u32,
    /// Where, and by which term, in the order of the text.
    pub places: Vec<(Range<usize>, usize)>,
}

/// Looks for the terms of one query in many texts. One per thread: it keeps its memory.
pub struct Matcher<'q> {
    query: &'q Query,
    /// For each term the search for its first piece.
    finders: Vec<Option<Finder<'q>>>,
    folded: Folded,
}

impl<'q> Matcher<'q> {
    pub fn new(query: &'q Query) -> Self {
        let finder = |term: &'q Term| match &term.pattern {
            Pattern::Literal { pieces, .. } => pieces.first().map(|piece| Finder::new(piece.as_bytes())),
            Pattern::Regex(_) => None,
        };
        Self {
            query,
            finders: query.terms.iter().map(finder).collect(),
            folded: Folded::default(),
        }
    }

    /// What is looked for.
    pub fn query(&self) -> &'q Query {
        self.query
    }

    /// What is found in a text; nothing where it is not searched or does not hold anything that is asked for. A query of
    /// fields alone finds every text which they allow.
    pub fn find<'t>(&mut self, about: &About<'_>, text: &'t str) -> Option<Found<'t>> {
        let is_allowed = self.allows(about);
        let is_searched = |term: &Term| term.field.map_or(is_allowed, |field| field == about.field);
        if !is_allowed && !self.query.terms.iter().any(is_searched) {
            return None;
        }
        let text = compose(text);
        if self.finders.iter().any(Option::is_some) {
            self.folded.fold(&text);
        }
        let mut found = Found::default();
        for (at, term) in self.query.terms.iter().enumerate() {
            if is_searched(term) {
                let before = found.places.len();
                self.places(at, &text, &mut |place| {
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

    /// Whether the fields of the query allow a text.
    fn allows(&self, about: &About<'_>) -> bool {
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

    /// Gives the places of a term in a composed text until it is told to stop.
    fn places(&self, at: usize, text: &str, take: &mut dyn FnMut(Range<usize>) -> bool) {
        match (&self.query.terms[at].pattern, &self.finders[at]) {
            (Pattern::Literal { pieces, ends }, Some(finder)) => {
                let mut from = 0;
                while let Some(start) = finder.find(&self.folded.as_str().as_bytes()[from..]) {
                    let start = from + start;
                    let found = self.rest_follows(start, pieces).map(|end| {
                        let place = self.folded.place_there(start)..self.folded.place_there(end);
                        (place, end)
                    });
                    match found.filter(|(place, _)| fits(text, place, *ends)) {
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
            (Pattern::Regex(regex), _) => {
                let mut found = regex.find_iter(text).filter(|found| !found.is_empty());
                while found.next().is_some_and(|found| take(found.range())) {}
            }
            (Pattern::Literal { .. }, None) => {}
        }
    }

    /// Where the pieces end whose first one begins here, white space between them.
    fn rest_follows(&self, start: usize, pieces: &[String]) -> Option<usize> {
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

fn fits(text: &str, place: &Range<usize>, ends: Ends) -> bool {
    match ends {
        Ends::Words => words::is_sequence(text, place),
        Ends::Open => words::is_opening(text, place),
        Ends::Free => true,
    }
}

/// Whether a tool has this name, case aside; `mcp__*` is any tool whose name begins so.
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

    const SAID: About<'_> = About {
        field: Field::Answer,
        role: Role::Assistant,
        tool: None,
        kinds: None,
    };

    fn found(query: &Query, text: &str) -> String {
        let Some(found) = Matcher::new(query).find(&SAID, text) else {
            return String::new();
        };
        let told = found.places.iter().map(|(place, _)| &found.text[place.clone()]);
        told.collect::<Vec<_>>().join("|")
    }

    fn by_words(query: &str, text: &str) -> String {
        found(&Query::words(query).unwrap(), text)
    }

    #[test]
    fn words_are_found_whole_in_any_case_and_by_their_parts() {
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
            assert_eq!(by_words(query, text), expected, "{query}");
        }
    }

    #[test]
    fn exact_characters_and_expressions_are_found_anywhere() {
        assert_eq!(found(&Query::exact("n( x").unwrap(), "FN( x)"), "N( x");
        assert_eq!(
            found(&Query::regex("^fn \\w+").unwrap(), "a\nFn main() fn x"),
            "Fn main"
        );
        assert_eq!(found(&Query::regex("x*").unwrap(), "axxb"), "xx");
    }

    #[test]
    fn a_long_text_of_one_letter_is_searched_in_reasonable_time() {
        let text = "a".repeat(300_000);
        assert_eq!(by_words("a aa aaaa*", &text), "aaaa");
        assert_eq!(found(&Query::exact("ab").unwrap(), &text), "");
    }

    #[test]
    fn fields_say_which_texts_are_searched() {
        let about = About {
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
