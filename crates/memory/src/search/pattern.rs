//! Compiles regular expressions, and determines the letters that every match must contain.
//!
//! Only the parts of an expression that every match passes through are visited. A class whose characters differ only
//! in case counts as a letter, so that case-insensitive expressions can use filters as well.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::filter::Need;
use super::fold::{Folded, fold_char};
use super::query::{QueryError, TermBounds, literal_need};
use super::raw;

/// Maximum size of a compiled expression, and of its cache while it runs.
const COMPILED_BYTES_MAX: usize = 4 << 20;

pub(super) struct ParsedRegex {
    pub(super) regex: Regex,
    pub(super) need: Need,
    /// ASCII letters and digits that every match contains, ignoring case.
    pub(super) plain: Option<String>,
    /// An expression that matches every line with a match; see [`raw`].
    pub(super) raw: Option<Hir>,
}

/// Compiles a composed expression.
pub(super) fn parse_regex(expression: &str) -> Result<ParsedRegex, QueryError> {
    let parsed = ParserBuilder::new()
        .case_insensitive(true)
        .multi_line(true)
        .build()
        .parse(expression);
    let hir = parsed.map_err(|error| regex_error(expression, &error))?;
    let mut builder = RegexBuilder::new(expression);
    builder
        .case_insensitive(true)
        .multi_line(true)
        .size_limit(COMPILED_BYTES_MAX);
    let regex = builder.build().map_err(|error| QueryError::Regex {
        at: 1,
        reason: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
    })?;
    let mut runs = Vec::new();
    let need = need_of_part(&hir, &mut runs);
    let plain = runs
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
    let plain = plain.max_by_key(|text| text.len()).filter(|text| text.len() > 1);
    Ok(ParsedRegex {
        regex,
        plain: plain.map(str::to_owned),
        raw: raw::relax(&hir),
        need,
    })
}

fn regex_error(expression: &str, error: &regex_syntax::Error) -> QueryError {
    let (offset, reason) = match error {
        regex_syntax::Error::Parse(error) => (error.span().start.offset, error.kind().to_string()),
        regex_syntax::Error::Translate(error) => (error.span().start.offset, error.kind().to_string()),
        other => (0, other.to_string()),
    };
    let at = expression.get(..offset).unwrap_or_default().chars().count() + 1;
    QueryError::Regex { at, reason }
}

/// Returns what every match needs, and collects the folded literals that every match contains.
fn need_of_part(hir: &Hir, runs: &mut Vec<String>) -> Need {
    match hir.kind() {
        HirKind::Capture(capture) => need_of_part(&capture.sub, runs),
        HirKind::Repetition(repetition) if repetition.min > 0 => need_of_part(&repetition.sub, runs),
        HirKind::Concat(parts) => need_of_sequence(parts, runs),
        HirKind::Alternation(ways) => Need::any(ways.iter().map(|way| need_of_part(way, &mut Vec::new())).collect()),
        HirKind::Literal(_) if literal_text(hir).is_some() => need_of_sequence(std::slice::from_ref(hir), runs),
        HirKind::Literal(_) | HirKind::Class(_) | HirKind::Empty | HirKind::Look(_) | HirKind::Repetition(_) => {
            Need::Anything
        }
    }
}

/// Joins adjacent literals; the other parts add needs of their own.
fn need_of_sequence(parts: &[Hir], runs: &mut Vec<String>) -> Need {
    let mut needs = Vec::new();
    let mut run = String::new();
    let mut end = |run: &mut String, needs: &mut Vec<Need>| {
        let run = std::mem::take(run);
        needs.push(literal_need(std::slice::from_ref(&run), TermBounds::Free));
        runs.push(run);
    };
    let mut rest = Vec::new();
    for part in parts {
        match literal_text(part) {
            Some(text) => run.push_str(&text),
            // A word boundary matches no character, so it does not end a literal.
            None if matches!(part.kind(), HirKind::Look(_)) => {}
            None => {
                end(&mut run, &mut needs);
                rest.push(part);
            }
        }
    }
    end(&mut run, &mut needs);
    needs.extend(rest.into_iter().map(|part| need_of_part(part, runs)));
    Need::all(needs)
}

/// Returns the single folded text that a part matches, or `None` if it can match several.
fn literal_text(part: &Hir) -> Option<String> {
    match part.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            Some(Folded::of(text).as_str().to_owned())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let mut chars = class
                .iter()
                .flat_map(|range| range.start()..=range.end())
                .map(fold_char);
            let first = chars.next()?;
            chars.all(|c| c == first).then(|| first.to_string())
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut bytes = class.iter().flat_map(|range| range.start()..=range.end());
            let first = bytes.next().filter(u8::is_ascii)?.to_ascii_lowercase();
            bytes
                .all(|byte| byte.to_ascii_lowercase() == first)
                .then(|| char::from(first).to_string())
        }
        HirKind::Capture(capture) => literal_text(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(literal_text).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::filter::{Filter, FilterBuilder};

    fn may_match(expression: &str, text: &str) -> bool {
        let mut builder = FilterBuilder::default();
        builder.add(text);
        let filter = builder.finish();
        Filter::read(&filter)
            .unwrap()
            .may_hold(&parse_regex(expression).unwrap().need)
    }

    #[test]
    fn letters_that_every_match_contains_are_needed() {
        for expression in [
            "HTTP_[a-z]+_proxy",
            r"\bhttp_(?:all|no)_proxy\b",
            "(?-i)http_no_proxy",
            "(http)(_)no_p",
            "x?http_no(_proxy)+",
            "nothing|no_proxy",
            "xport http_no_proxy=",
        ] {
            assert!(may_match(expression, "export http_no_proxy=1"), "{expression}");
            assert!(!may_match(expression, "export nothin here"), "{expression}");
        }
    }

    #[test]
    fn expressions_without_letters_need_nothing() {
        for expression in [r"\w+", "a*", "[0-9]{3}", "ab", "abc|.", "(?:foo)?", "^$"] {
            assert_eq!(parse_regex(expression).unwrap().need, Need::Anything, "{expression}");
        }
    }

    #[test]
    fn the_plain_letters_of_every_match_are_returned() {
        let plain = |expression| parse_regex(expression).unwrap().plain;
        assert_eq!(plain(r"func \(s \*[A-Z]\w+\) Close").as_deref(), Some("close"));
        assert_eq!(plain("panic: .*nil pointer").as_deref(), Some("pointer"));
        assert_eq!(plain("foo|bar"), None);
        assert_eq!(plain("文件"), None);
    }

    #[test]
    fn an_invalid_expression_is_reported_with_its_position() {
        let error = |expression| parse_regex(expression).err().unwrap().to_string();
        assert_eq!(error("é(b"), "not a regular expression, at character 2: unclosed group");
        assert_eq!(
            error("a{1000}{1000}{1000}"),
            "not a regular expression, at character 1: Compiled regex exceeds size limit of 4194304 bytes."
        );
    }
}
