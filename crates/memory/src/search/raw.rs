//! Relaxes an expression so that it can be applied to a line before the line is decoded.
//!
//! A line contains its texts literally, except for the characters that JSON escapes: quotes, backslashes, sometimes
//! slashes, and control characters. If no match can contain one of these, then a line without a match has no match in
//! its texts either, unless it has numeric escapes or letters that are not composed. The boundaries of words and
//! lines are elsewhere in a line, so they are dropped.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// Returns the relaxed expression, or `None` if a line may spell a match differently.
pub(super) fn relax(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(relax).collect::<Option<Vec<Hir>>>();
    Some(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            text.chars().all(is_unescaped).then(|| hir.clone())?
        }
        HirKind::Class(Class::Unicode(class)) => {
            // JSON never escapes a character outside ASCII by name, so the rest of a range need not be checked.
            let ascii = |c: &char| c.is_ascii();
            let mut chars = class
                .iter()
                .flat_map(|range| (range.start()..=range.end()).take_while(ascii));
            chars.all(is_unescaped).then(|| hir.clone())?
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(relax(&repetition.sub)?),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => relax(&capture.sub)?,
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(ways) => Hir::alternation(all(ways)?),
    })
}

fn is_unescaped(c: char) -> bool {
    !c.is_ascii() || (matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '/'))
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;

    use super::*;

    fn relaxed(expression: &str) -> Option<String> {
        let mut builder = ParserBuilder::new();
        let parser = builder.case_insensitive(true).multi_line(true);
        relax(&parser.build().parse(expression).unwrap()).map(|hir| hir.to_string())
    }

    #[test]
    fn only_expressions_without_escaped_characters_are_relaxed() {
        for plain in [r"\d{3}-\d{4}", "[a-z]+_x", r"^\w+ \w+$", r"\b[0-9]+\b", "a|文"] {
            assert!(relaxed(plain).is_some(), "{plain}");
        }
        for spelled in [r"a\s", ".", "[^x]", "\"", r"\\", "a/b", "x\ny", r"\W", "(a|\t)"] {
            assert_eq!(relaxed(spelled), None, "{spelled}");
        }
    }

    #[test]
    fn a_line_with_a_match_in_its_text_matches() {
        for (expression, text) in [(r"^\d{2}:\d{2}$", "at\n12:30\nnoon"), (r"\bE\d+\b", "an e42")] {
            let regex = regex::RegexBuilder::new(expression)
                .case_insensitive(true)
                .multi_line(true)
                .build();
            assert!(regex.unwrap().is_match(text));
            let line = serde_json::to_string(text).unwrap();
            let raw = regex::bytes::Regex::new(&relaxed(expression).unwrap()).unwrap();
            assert!(raw.is_match(line.as_bytes()), "{line}");
        }
    }
}
