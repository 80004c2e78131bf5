//! An expression as a line that is not decoded yet can be asked for it.
//!
//! A text stands in its line as it is, but for the characters which JSON spells otherwise: quotes, backslashes, slashes at
//! times, and what no keyboard has. Where no match can hold one of these, a line in which nothing matches holds no match in
//! its texts either, unless it has escapes by number, or letters that are not composed. Borders of words and lines are
//! somewhere else in a line, so they are not asked for.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// The expression over lines; none where a line may spell a match otherwise.
pub(super) fn of(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(of).collect::<Option<Vec<Hir>>>();
    Some(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            text.chars().all(stands_as_it_is).then(|| hir.clone())?
        }
        HirKind::Class(Class::Unicode(class)) => {
            // What is no ASCII stands as it is, so the rest of a range need not be looked at.
            let ascii = |c: &char| c.is_ascii();
            let mut chars = class
                .iter()
                .flat_map(|range| (range.start()..=range.end()).take_while(ascii));
            chars.all(stands_as_it_is).then(|| hir.clone())?
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(of(&repetition.sub)?),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => of(&capture.sub)?,
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(ways) => Hir::alternation(all(ways)?),
    })
}

fn stands_as_it_is(c: char) -> bool {
    !c.is_ascii() || (matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '/'))
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;

    use super::*;

    fn told(expression: &str) -> Option<String> {
        let mut builder = ParserBuilder::new();
        let parser = builder.case_insensitive(true).multi_line(true);
        of(&parser.build().parse(expression).unwrap()).map(|hir| hir.to_string())
    }

    #[test]
    fn only_what_a_line_holds_as_it_is_can_be_asked_of_it() {
        for plain in [r"\d{3}-\d{4}", "[a-z]+_x", r"^\w+ \w+$", r"\b[0-9]+\b", "a|文"] {
            assert!(told(plain).is_some(), "{plain}");
        }
        for spelled in [r"a\s", ".", "[^x]", "\"", r"\\", "a/b", "x\ny", r"\W", "(a|\t)"] {
            assert_eq!(told(spelled), None, "{spelled}");
        }
    }

    #[test]
    fn a_line_with_a_match_in_its_text_matches_too() {
        for (expression, text) in [(r"^\d{2}:\d{2}$", "at\n12:30\nnoon"), (r"\bE\d+\b", "an e42")] {
            let regex = regex::RegexBuilder::new(expression)
                .case_insensitive(true)
                .multi_line(true)
                .build();
            assert!(regex.unwrap().is_match(text));
            let line = serde_json::to_string(text).unwrap();
            let raw = regex::bytes::Regex::new(&told(expression).unwrap()).unwrap();
            assert!(raw.is_match(line.as_bytes()), "{line}");
        }
    }
}
