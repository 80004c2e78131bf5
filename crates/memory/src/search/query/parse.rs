//! Parses the query language from left to right. Hardly anything is an error: what is neither a field nor a phrase is
//! a word.

use transcript::{Field, Kind, Role};

use super::{
    FieldSuggestion, LastWord, PartSyntax, Query, QueryError, QueryNote, QueryPart, TERMS_MAX, Term, TermBounds,
    check_length, fold_text,
};
use crate::search::words;

/// The names of fields. Anything else before a colon is part of a word.
const FIELDS: [&str; 5] = ["tool", "file", "kind", "role", "in"];

/// The fields that each value of `in:` selects.
const SCOPES: [(&str, &[Field]); 7] = [
    ("prompt", &[Field::Prompt]),
    ("answer", &[Field::Answer]),
    ("thinking", &[Field::Thinking]),
    ("tool", &[Field::ToolInput, Field::ToolOutput]),
    ("input", &[Field::ToolInput]),
    ("output", &[Field::ToolOutput]),
    ("other", &[Field::Other]),
];

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::System, Role::Tool];

/// Returns the values that a field can have.
pub(super) fn values_of(field: &str) -> Vec<&'static str> {
    match field {
        "kind" => Kind::ALL.iter().map(|kind| kind.as_str()).collect(),
        "role" => ROLES.iter().map(|role| role.as_str()).collect(),
        _ => SCOPES.iter().map(|(name, _)| *name).collect(),
    }
}

pub(super) fn parse(parts: &[QueryPart], last: LastWord) -> Result<Query, QueryError> {
    let bytes: usize = parts.iter().map(|part| part.text.len() + 1).sum();
    check_length(bytes.saturating_sub(1))?;
    let mut query = Query::default();
    for part in parts {
        parse_part(part, last, &mut query)?;
    }
    note_dashes(&mut query);
    if last == LastWord::Begun && query.terms.is_empty() && query.only.is_open() {
        return Err(QueryError::Empty);
    }
    if query.terms.len() > TERMS_MAX {
        return Err(QueryError::TooMany);
    }
    if query.wanted() == 0 && query.only.is_open() {
        return Err(match query.terms.is_empty() {
            true => QueryError::Empty,
            false => QueryError::OnlyNegations,
        });
    }
    query.note_cost();
    Ok(query)
}

fn parse_part(part: &QueryPart, last: LastWord, query: &mut Query) -> Result<(), QueryError> {
    let mut rest = part.text.trim_start();
    while !rest.is_empty() {
        let (mut token, after) = match part.syntax {
            PartSyntax::Literal => next_literal(rest),
            syntax => next_token(rest, syntax, &mut query.notes),
        };
        token.is_begun = after.is_empty() && last == LastWord::Begun;
        // A field that is still being typed has no value yet.
        if !(token.is_begun && token.field.is_some() && token.value.is_empty()) {
            apply_token(&token, query)?;
        }
        rest = after.trim_start();
    }
    Ok(())
}

/// Notes how dashes were read: what is excluded, and what is searched as text although it looks like an option.
fn note_dashes(query: &mut Query) {
    let excluded: Vec<&str> = query
        .terms
        .iter()
        .filter(|term| term.is_negated)
        .map(|term| term.typed.trim_start_matches('-'))
        .collect();
    let mut notes = Vec::new();
    if !excluded.is_empty() {
        notes.push(QueryNote::Without(excluded.join(", ")));
    }
    for term in query.terms.iter().filter(|term| !term.is_negated) {
        if is_option(&term.typed) {
            notes.push(QueryNote::DashAsText(term.typed.clone()));
        }
    }
    query.notes.append(&mut notes);
}

/// Returns whether a word looks like an option of a program: `-cr`, `--autosquash`.
fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    word.starts_with('-') && name.starts_with(|c: char| c.is_alphanumeric())
}

/// A dash negates a word of three letters or more, because shorter ones are options such as `-cr`. Scripts that are
/// written without spaces have shorter words.
fn is_negatable(word: &str) -> bool {
    let word = word.split(char::is_whitespace).next().unwrap_or_default();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 3 || word.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
}

/// Takes the next word off a text without special characters.
fn next_literal(text: &str) -> (Token<'_>, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (value, after) = text.split_at(end);
    let token = Token {
        typed: value,
        is_negated: false,
        field: None,
        value,
        // A dash before a word counts, and so does a star after it.
        is_quoted: is_option(value) || value.ends_with('*'),
        is_begun: false,
    };
    (token, after)
}

/// A word, phrase or field.
struct Token<'t> {
    typed: &'t str,
    is_negated: bool,
    field: Option<&'static str>,
    value: &'t str,
    is_quoted: bool,
    /// The last word of the query, which may be incomplete.
    is_begun: bool,
}

/// Takes the next token off a text that starts with one.
fn next_token<'t>(text: &'t str, syntax: PartSyntax, notes: &mut Vec<QueryNote>) -> (Token<'t>, &'t str) {
    let negated = text.strip_prefix('-');
    // `--flag` is a word, and so is a dash on its own. Only a phrase can be negated if dashes are text.
    let negated = negated.filter(|rest| match syntax {
        PartSyntax::Full => !rest.starts_with('-') && (rest.starts_with('"') || is_negatable(rest)),
        PartSyntax::DashesAreText | PartSyntax::Literal => rest.starts_with('"'),
    });
    let body = negated.unwrap_or(text);
    let named = FIELDS
        .into_iter()
        .find_map(|name| Some((name, body.strip_prefix(name)?.strip_prefix(':')?)));
    let (field, body) = named.map_or((None, body), |(name, rest)| (Some(name), rest));
    let quoted = body.strip_prefix('"');
    let closed = quoted.and_then(|inner| inner.split_once('"'));
    if quoted.is_some() && closed.is_none() && !notes.contains(&QueryNote::UnclosedQuote) {
        notes.push(QueryNote::UnclosedQuote);
    }
    let (value, after) = closed.unwrap_or_else(|| {
        let end = body.find(char::is_whitespace).unwrap_or(body.len());
        body.split_at(end)
    });
    let token = Token {
        typed: &text[..text.len() - after.len()],
        is_negated: negated.is_some(),
        field,
        value,
        is_quoted: closed.is_some() || (field.is_none() && is_option(value)),
        is_begun: false,
    };
    if !token.is_quoted && token.field.is_none() {
        notes.extend(unknown_field(value));
    }
    (token, after)
}

/// Names of options that people type as fields.
const OPTIONS: [&str; 14] = [
    "agent", "project", "repo", "domain", "task", "since", "until", "outcome", "model", "branch", "tag", "machine",
    "user", "limit",
];

/// Returns a note on a word that looks like a field but is not one.
fn unknown_field(word: &str) -> Option<QueryNote> {
    let (typed, value) = word.split_once(':')?;
    let is_name = !typed.is_empty() && typed.chars().all(|c| c.is_ascii_alphabetic());
    // A path, an address or a path of modules is not a field.
    if !is_name || value.is_empty() || value.starts_with([':', '/', '\\']) {
        return None;
    }
    let lower = typed.to_lowercase();
    let value = value.to_owned();
    let suggestion = if let Some(field) = nearest(&lower, &FIELDS) {
        FieldSuggestion::Field {
            field,
            value: value.clone(),
        }
    } else {
        FieldSuggestion::Option {
            option: nearest(&lower, &OPTIONS)?,
            value: value.clone(),
        }
    };
    Some(QueryNote::UnknownField {
        typed: typed.to_owned(),
        value,
        suggestion,
    })
}

/// Returns the name that was probably meant by a word: the same, its plural, or one letter away.
fn nearest(word: &str, names: &[&'static str]) -> Option<&'static str> {
    let letters_apart = |name: &str| match word.len().min(name.len()) {
        0..3 => usize::from(word != name) * 9,
        _ => strsim::osa_distance(word, name),
    };
    let near = names.iter().map(|name| (letters_apart(name), *name)).min();
    near.filter(|(letters, name)| *letters <= 1 + name.len() / 6)
        .map(|(_, name)| name)
}

fn apply_token(token: &Token<'_>, query: &mut Query) -> Result<(), QueryError> {
    let value = token.value;
    let Some(field) = token.field else {
        query.terms.extend(token_term(token));
        return Ok(());
    };
    if value.is_empty() {
        return Err(QueryError::NoValue { field });
    }
    let lower = value.to_lowercase();
    let unknown = || {
        let values = values_of(field);
        let begun = values.iter().copied().find(|one| one.starts_with(lower.as_str()));
        QueryError::UnknownValue {
            field,
            value: value.to_owned(),
            nearest: begun.or_else(|| nearest(&lower, &values)),
        }
    };
    let only = &mut query.only;
    match field {
        "file" => query.terms.extend(token_term(token).map(|term| Term {
            field: Some(Field::ToolInput),
            ..term
        })),
        "tool" if token.is_begun && !token.is_quoted && !token.is_negated && !lower.ends_with('*') => {
            add_values(&mut only.tools, token, [format!("{lower}*")]);
        }
        "tool" => add_values(&mut only.tools, token, [lower]),
        "kind" => {
            let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == lower);
            add_values(&mut only.kinds, token, [kind.ok_or_else(unknown)?]);
        }
        "role" => {
            let role = ROLES.into_iter().find(|role| role.as_str() == lower);
            add_values(&mut only.roles, token, [role.ok_or_else(unknown)?]);
        }
        _ => {
            let place = SCOPES.into_iter().find(|(name, _)| *name == lower);
            add_values(&mut only.fields, token, place.ok_or_else(unknown)?.1.iter().copied());
        }
    }
    Ok(())
}

fn add_values<T>(choice: &mut super::Choice<T>, token: &Token<'_>, values: impl IntoIterator<Item = T>) {
    match token.is_negated {
        true => choice.unwanted.extend(values),
        false => choice.wanted.extend(values),
    }
}

/// Returns the term of a word or a phrase, or `None` if it is empty.
fn token_term(token: &Token<'_>) -> Option<Term> {
    let value = token.value;
    let prefix = value
        .strip_suffix('*')
        .filter(|stem| stem.ends_with(words::is_word_char));
    let (text, ends) = match (token.is_quoted, prefix) {
        (true, _) => (value, TermBounds::Words),
        (false, Some(stem)) => (words::trim_separators(stem), TermBounds::Open),
        (false, None) if token.is_begun && !token.is_negated && value.ends_with(words::is_word_char) => {
            (words::trim_separators(value), TermBounds::Open)
        }
        (false, None) if words::has_words(value) => (words::trim_separators(value), TermBounds::Words),
        // There is no word in it, for example an arrow or an emoji, so its characters are searched for.
        (false, None) => (value, TermBounds::Free),
    };
    let pieces: Vec<String> = fold_text(text).split_whitespace().map(str::to_owned).collect();
    (!pieces.is_empty()).then(|| Term {
        is_negated: token.is_negated,
        ..Term::literal(token.typed, pieces, ends)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::query::TermPattern;

    fn describe(text: &str) -> String {
        let query = match Query::words(text) {
            Ok(query) => query,
            Err(error) => return format!("{error}. Hint: {}", error.hint()),
        };
        let terms = query.terms.iter().map(|term| {
            let sign = if term.is_negated { "-" } else { "" };
            let field = term.field.map(|field| format!("{field:?} ")).unwrap_or_default();
            match &term.pattern {
                TermPattern::Literal { pieces, ends } => format!("{sign}{field}{} {ends:?}", pieces.join("␣")),
                TermPattern::Regex(regex) => regex.to_string(),
            }
        });
        terms.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn words_phrases_prefixes_and_negations_are_distinguished() {
        assert_eq!(describe("Fix  the Login"), "fix Words, the Words, login Words");
        assert_eq!(
            describe(r#"say "Hello,  World" -"not me""#),
            "say Words, hello,␣world Words, -not␣me Words"
        );
        assert_eq!(
            describe("migrat* src/ma* *x 2*"),
            "migrat Open, src/ma Open, x Words, 2 Open"
        );
        assert_eq!(
            describe("foo -bar --no-sweep - -> (error: \"\""),
            "foo Words, -bar Words, --no-sweep Words, - Free, -> Free, error Words"
        );
        assert_eq!(
            describe("main.rs can't foo::bar 文件 🎉"),
            "main.rs Words, can't Words, foo::bar Words, 文件 Words, 🎉 Free"
        );
        assert_eq!(describe("http://x.y tools:Bash"), "http://x.y Words, tools:bash Words");
    }

    #[test]
    fn fields_restrict_the_query_and_files_are_searched_in_inputs() {
        assert_eq!(
            describe("file:src/Main.rs file:\"my file\" -file:x"),
            "ToolInput src/main.rs Words, ToolInput my␣file Words, -ToolInput x Words"
        );
        let query =
            Query::words("x tool:Bash tool:\"mcp tool\" -tool:Read kind:error role:user in:tool -in:thinking").unwrap();
        let only = query.only;
        assert_eq!(
            (only.tools.wanted, only.tools.unwanted),
            (vec!["bash".into(), "mcp tool".into()], vec!["read".into()])
        );
        assert_eq!(
            (only.kinds.wanted, only.roles.wanted),
            (vec![Kind::Error], vec![Role::User])
        );
        assert_eq!(only.fields.wanted, [Field::ToolInput, Field::ToolOutput]);
        assert_eq!(only.fields.unwanted, [Field::Thinking]);
    }

    #[test]
    fn an_invalid_query_is_an_error_with_a_hint() {
        assert_eq!(
            describe(" "),
            "the query is empty. Hint: give a word, or a field such as `kind:error`"
        );
        assert_eq!(
            describe("-foo"),
            "the query only excludes words. Hint: add a word to search for; to search for the dash itself, put `--` before it"
        );
        assert_eq!(
            describe("in:nowhere x"),
            "unknown value for `in:`: nowhere. Hint: one of: prompt, answer, thinking, tool, input, output, other"
        );
        assert_eq!(
            describe("x role: y"),
            "no value after `role:`. Hint: write it without a space: `role:VALUE`"
        );
        assert_eq!(
            describe(&"x ".repeat(33)),
            "the query has more than 32 words. Hint: use `--exact` to search for the text as a whole"
        );
        assert_eq!(
            describe(&"x".repeat(5000)),
            "the query is longer than 4096 bytes. Hint: use `--exact` to search for the text as a whole"
        );
    }

    fn describe_while_typing(text: &str) -> String {
        let query = Query::parse_while_typing(text).unwrap();
        let terms = query.terms.iter().map(|term| match &term.pattern {
            TermPattern::Literal { pieces, ends } => format!("{} {ends:?}", pieces.join("␣")),
            TermPattern::Regex(regex) => regex.to_string(),
        });
        terms.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_last_word_is_a_prefix_while_it_is_typed() {
        assert_eq!(describe_while_typing("fix checkp"), "fix Words, checkp Open");
        assert_eq!(describe_while_typing("fix checkp "), "fix Words, checkp Words");
        assert_eq!(describe_while_typing("\"fix it\""), "fix␣it Words");
        assert_eq!(describe_while_typing("fix -draf"), "fix Words, draf Words");
        assert_eq!(describe_while_typing("file:src/ma"), "src/ma Open");
        assert_eq!(describe_while_typing("fix tool:"), "fix Words");
        assert_eq!(Query::parse_while_typing("tool:").unwrap_err(), QueryError::Empty);
        assert_eq!(
            Query::parse_while_typing("x tool:Ba").unwrap().only.tools.wanted,
            ["ba*"]
        );
        assert_eq!(
            Query::parse_while_typing("tool:Bash x").unwrap().only.tools.wanted,
            ["bash"]
        );
    }

    #[test]
    fn what_looks_like_a_field_is_answered_with_a_suggestion() {
        let note = |text: &str| {
            let notes = Query::words(text).unwrap().notes;
            notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            note("x agent:claude"),
            "`agent:` is not a field, so `agent:claude` is searched as text; use the option `--agent claude`"
        );
        assert_eq!(
            note("tools:Bash"),
            "`tools:` is not a field, so `tools:Bash` is searched as text; did you mean `tool:Bash`?"
        );
        for text in [
            "http://x.y",
            "foo::bar",
            "error:",
            "note:this",
            "\"agent:claude\"",
            "C:\\x",
            "12:30",
        ] {
            assert_eq!(note(text), "", "{text}");
        }
        assert!(describe("kind:err x").starts_with("unknown value for `kind:`: err; did you mean `kind:error`?"));
        assert!(describe("role:usr x").starts_with("unknown value for `role:`: usr; did you mean `role:user`?"));
    }

    fn describe_parts(parts: &[(&str, PartSyntax)]) -> (String, String) {
        let part = |(text, syntax): &(&str, PartSyntax)| QueryPart {
            text: (*text).to_owned(),
            syntax: *syntax,
        };
        let query = Query::parse_parts(&parts.iter().map(part).collect::<Vec<_>>()).unwrap();
        let sign = |term: &Term| if term.is_negated { "-" } else { "" };
        let terms = query.terms.iter().map(|term| match &term.pattern {
            TermPattern::Literal { pieces, .. } => format!("{}{}", sign(term), pieces.join("␣")),
            TermPattern::Regex(regex) => regex.to_string(),
        });
        let notes: Vec<String> = query.notes.iter().map(ToString::to_string).collect();
        (terms.collect::<Vec<_>>().join(", "), notes.join("; "))
    }

    #[test]
    fn a_dash_excludes_a_word_and_is_text_before_an_option() {
        use PartSyntax::{DashesAreText, Full, Literal};
        let check = |parts: &[(&str, PartSyntax)], terms: &str, notes: &str| {
            assert_eq!(describe_parts(parts), (terms.to_owned(), notes.to_owned()), "{parts:?}");
        };
        check(&[("xattr -cr", Full)], "xattr, -cr", "`-cr` searched as text");
        check(&[("xattr", Full), ("-draft", Full)], "xattr, -draft", "without: draft");
        check(
            &[("git rebase --autosquash -draft", DashesAreText)],
            "git, rebase, --autosquash, -draft",
            "`--autosquash` searched as text; `-draft` searched as text",
        );
        check(&[("x -\"not me\"", DashesAreText)], "x, -not␣me", "without: \"not me\"");
        check(
            &[("a", Full), ("-word tool:Bash \"b\" x*", Literal)],
            "a, -word, tool:bash, b, x*",
            "`-word` searched as text",
        );
        check(
            &[("x -草稿 -100 - ->", Full)],
            "x, -草稿, -100, -, ->",
            "without: 草稿; `-100` searched as text",
        );
        assert!(!Query::words("x -cr").unwrap().terms[1].is_negated);
    }

    #[test]
    fn an_unclosed_quote_is_a_character_and_gets_a_note() {
        let query = Query::words("say \"hello world").unwrap();
        assert_eq!(query.notes, [QueryNote::UnclosedQuote]);
        assert_eq!(describe("say \"hello world"), "say Words, hello Words, world Words");
        assert_eq!(Query::words("kind:error").unwrap().notes, [QueryNote::ReadsEverything]);
        assert_eq!(Query::words("x").unwrap().notes, []);
    }
}
