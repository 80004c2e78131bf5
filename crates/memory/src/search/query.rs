//! Queries: words, phrases, prefixes, excluded words, and the fields that restrict where they are searched for.
//!
//! `migration "exact phrase" migrat* -draft tool:Bash file:src/main.rs kind:error role:user in:tool`. All words must
//! be in one turn. Fields select the texts that are searched; `file:` searches the inputs of tools. Nothing here
//! knows frames or texts: a query knows what a filter must contain, and [`super::matching`] finds the terms in a
//! text.

use regex::Regex;
use regex_syntax::hir::Hir;
use thiserror::Error;
use transcript::{Field, Kind, Role};

use super::filter::{FilterKey, Need};
use super::fold::{Folded, compose};
use super::{pattern, words};

mod parse;

/// Maximum number of terms. It is more than users type, and one bit for each term fits a `u32`.
pub const TERMS_MAX: usize = 32;
/// Maximum length of a query. Longer ones are usually pasted by mistake.
pub const QUERY_BYTES_MAX: usize = 4096;

/// A parsed query.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub terms: Vec<Term>,
    pub only: Restrictions,
    /// What was interpreted differently from how it was typed.
    pub notes: Vec<QueryNote>,
}

/// One text to find or to exclude.
#[derive(Debug, Clone)]
pub struct Term {
    /// The term as the user typed it.
    pub typed: String,
    pub is_negated: bool,
    /// The only field that is searched, or `None` if the restrictions of the query apply.
    pub field: Option<Field>,
    pub pattern: TermPattern,
    /// What a frame must contain for this term to match.
    pub need: Need,
    /// ASCII letters and digits that every match contains, ignoring case.
    pub plain: Option<String>,
    /// An expression that matches every line whose texts contain a match.
    pub raw: Option<Hir>,
}

/// How a term is found in a text.
#[derive(Debug, Clone)]
pub enum TermPattern {
    /// Folded pieces, separated by white space.
    Literal { pieces: Vec<String>, ends: TermBounds },
    /// An expression on the composed text.
    Regex(Regex),
}

/// Where a literal may start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermBounds {
    /// At word boundaries.
    Words,
    /// It starts at a word boundary and ends anywhere.
    Open,
    /// Anywhere.
    Free,
}

/// Which texts are searched. A text must match at least one value of each kind of restriction.
#[derive(Debug, Clone, Default)]
pub struct Restrictions {
    pub tools: Choice<String>,
    pub kinds: Choice<Kind>,
    pub roles: Choice<Role>,
    pub fields: Choice<Field>,
}

/// The allowed values, any of which must match, and the excluded ones.
#[derive(Debug, Clone)]
pub struct Choice<T> {
    pub wanted: Vec<T>,
    pub unwanted: Vec<T>,
}

impl<T> Default for Choice<T> {
    fn default() -> Self {
        Self {
            wanted: Vec::new(),
            unwanted: Vec::new(),
        }
    }
}

impl<T> Choice<T> {
    /// Returns `true` if the choice allows a value, which `is` compares with.
    pub fn takes(&self, is: impl Fn(&T) -> bool) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(&is)) && !self.unwanted.iter().any(&is)
    }

    /// Returns `true` if the choice allows every value.
    pub fn is_open(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
}

impl Restrictions {
    /// Returns `true` if the events of a session are needed to decide whether a text is searched.
    pub fn need_events(&self) -> bool {
        !self.tools.is_open() || !self.kinds.is_open()
    }

    fn is_open(&self) -> bool {
        !self.need_events() && self.roles.is_open() && self.fields.is_open()
    }
}

/// Whether the last word of a query is complete, or still being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastWord {
    Whole,
    Begun,
}

/// A part of a query, and its syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPart {
    pub text: String,
    pub syntax: PartSyntax,
}

/// Which characters have a special meaning in a part of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartSyntax {
    /// Quotes, stars, fields and negations.
    Full,
    /// The same, but a dash before a word is text, as in a pasted command.
    DashesAreText,
    /// None: every word is text.
    Literal,
}

/// Something about the query that the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryNote {
    #[error("`{typed}:` is not a field, so `{typed}:{value}` is searched as text; {suggestion}")]
    UnknownField {
        typed: String,
        value: String,
        suggestion: FieldSuggestion,
    },
    #[error("a quote is not closed, so it is searched as a character")]
    UnclosedQuote,
    #[error("nothing in the query narrows the search, so all text is read")]
    ReadsEverything,
    #[error("without: {0}")]
    Without(String),
    #[error("`{0}` searched as text")]
    DashAsText(String),
}

/// The field or option that was probably meant by an unknown field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldSuggestion {
    #[error("did you mean `{field}:{value}`?")]
    Field { field: &'static str, value: String },
    #[error("use the option `--{option} {value}`")]
    Option { option: &'static str, value: String },
}

/// Why a query is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryError {
    #[error("the query is empty")]
    Empty,
    #[error("the query only excludes words")]
    OnlyNegations,
    #[error("no value after `{field}:`")]
    NoValue { field: &'static str },
    #[error("unknown value for `{field}:`: {value}{}", did_you_mean(.field, *.nearest))]
    UnknownValue {
        field: &'static str,
        value: String,
        nearest: Option<&'static str>,
    },
    #[error("not a regular expression, at character {at}: {reason}")]
    Regex { at: usize, reason: String },
    #[error("the query has more than {TERMS_MAX} words")]
    TooMany,
    #[error("the query is longer than {QUERY_BYTES_MAX} bytes")]
    TooLong,
}

fn did_you_mean(field: &str, nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{field}:{nearest}`?"))
}

impl QueryError {
    /// Returns a hint that tells the user what to do instead.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty => "give a word, or a field such as `kind:error`".into(),
            Self::OnlyNegations => "add a word to search for; to search for the dash itself, put `--` before it".into(),
            Self::NoValue { field } => format!("write it without a space: `{field}:VALUE`"),
            Self::UnknownValue { field, .. } => format!("one of: {}", parse::values_of(field).join(", ")),
            Self::Regex { .. } => "use `--exact` to search for the characters literally".into(),
            Self::TooMany | Self::TooLong => "use `--exact` to search for the text as a whole".into(),
        }
    }
}

impl Query {
    /// Parses a query of words and fields.
    pub fn words(text: &str) -> Result<Self, QueryError> {
        Self::parse_parts(&[QueryPart {
            text: text.to_owned(),
            syntax: PartSyntax::Full,
        }])
    }

    /// Parses the parts of a query, which must all match.
    pub fn parse_parts(parts: &[QueryPart]) -> Result<Self, QueryError> {
        parse::parse(parts, LastWord::Whole)
    }

    /// Parses a query while it is typed: the last word is a prefix unless white space follows it.
    pub fn parse_while_typing(text: &str) -> Result<Self, QueryError> {
        let part = QueryPart {
            text: text.to_owned(),
            syntax: PartSyntax::Full,
        };
        parse::parse(&[part], LastWord::Begun)
    }

    /// Creates a query for a text, wherever it occurs, ignoring case.
    pub fn exact(text: &str) -> Result<Self, QueryError> {
        check_length(text.len())?;
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        let term = Term::literal(text, vec![fold_text(text)], TermBounds::Free);
        Ok(Self::single(term))
    }

    /// Creates a query for a regular expression, which is applied to each line by default. Ignores case unless the
    /// expression starts with `(?-i)`.
    pub fn regex(expression: &str) -> Result<Self, QueryError> {
        check_length(expression.len())?;
        if expression.is_empty() {
            return Err(QueryError::Empty);
        }
        let read = pattern::parse_regex(&compose(expression))?;
        Ok(Self::single(Term {
            typed: expression.to_owned(),
            is_negated: false,
            field: None,
            pattern: TermPattern::Regex(read.regex),
            need: read.need,
            plain: read.plain,
            raw: read.raw,
        }))
    }

    fn single(term: Term) -> Self {
        let mut query = Self::default();
        query.terms.push(term);
        query.note_cost();
        query
    }

    fn note_cost(&mut self) {
        if !self.can_use_filters() {
            self.notes.push(QueryNote::ReadsEverything);
        }
    }

    /// Returns `true` if filters can exclude frames.
    pub fn can_use_filters(&self) -> bool {
        let narrows = |term: &Term| !term.is_negated && term.need != Need::Anything;
        self.terms.iter().any(narrows)
    }

    /// Returns `true` if the query needs trigrams, and not only words.
    pub fn needs_trigrams(&self) -> bool {
        self.terms.iter().any(|term| term.need.needs_trigrams())
    }

    /// Returns one bit for each term that must be found.
    pub fn wanted(&self) -> u32 {
        self.bits(|term| !term.is_negated)
    }

    /// Returns one bit for each term that must not be found.
    pub fn unwanted(&self) -> u32 {
        self.bits(|term| term.is_negated)
    }

    fn bits(&self, is: impl Fn(&Term) -> bool) -> u32 {
        let chosen = self.terms.iter().enumerate().filter(|(_, term)| is(term));
        chosen.fold(0, |bits, (at, _)| bits | 1 << at)
    }
}

impl Term {
    fn literal(typed: &str, pieces: Vec<String>, ends: TermBounds) -> Self {
        Self {
            typed: typed.to_owned(),
            is_negated: false,
            field: None,
            need: literal_need(&pieces, ends),
            plain: longest_plain_run(&pieces),
            raw: None,
            pattern: TermPattern::Literal { pieces, ends },
        }
    }
}

/// Returns a text as it is compared: composed and folded.
fn fold_text(text: &str) -> String {
    Folded::of(&compose(text)).as_str().to_owned()
}

fn check_length(bytes: usize) -> Result<(), QueryError> {
    match bytes > QUERY_BYTES_MAX {
        true => Err(QueryError::TooLong),
        false => Ok(()),
    }
}

/// Returns what a frame must contain for a literal to match: the words of its pieces, unless they may be parts of
/// longer words, and the trigrams of its pieces.
pub(super) fn literal_need(pieces: &[String], ends: TermBounds) -> Need {
    let mut needs = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let is_open = ends == TermBounds::Open && at + 1 == pieces.len();
        words::each_word(piece, &mut |kind, place| {
            let is_whole = match ends {
                TermBounds::Words | TermBounds::Open => !(is_open && place.end == piece.len()),
                TermBounds::Free => words::is_bounded(piece, &place),
            };
            if kind == words::WordKind::Run && is_whole {
                needs.extend(FilterKey::word(&piece[place]).map(Need::Key));
            }
        });
        needs.extend(FilterKey::trigrams(piece).map(Need::Key));
    }
    Need::all(needs)
}

/// Returns the longest run of ASCII letters and digits in the pieces.
fn longest_plain_run(pieces: &[String]) -> Option<String> {
    let stretches = pieces
        .iter()
        .flat_map(|piece| piece.split(|c: char| !c.is_ascii_alphanumeric()));
    let longest = stretches.max_by_key(|stretch| stretch.len())?;
    (longest.len() > 1).then(|| longest.to_owned())
}
