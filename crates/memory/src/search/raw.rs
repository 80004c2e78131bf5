//! An expression as a line that is not decoded yet can be asked for it.
//!
//! A text stands in its line as it is, but for the characters which JSON spells otherwise: quotes, backslashes, slashes at
//! times, whatever is no ASCII, and what no keyboard has. Where no match can hold one of these, a line of ASCII in which
//! nothing matches holds no match in its texts either. Borders of words and lines are somewhere else in a line, so they are not asked for.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

/// The expression over lines; none where a line may spell a match otherwise.
pub(super) fn of(hir: &Hir) -> Option<String> {
    loosened(hir).map(|hir| hir.to_string())
}

fn loosened(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(loosened).collect::<Option<Vec<Hir>>>();
    Some(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            // A letter that is no ASCII stands in no line of ASCII.
            match text.is_ascii() {
                true => text.bytes().all(stands_as_it_is).then(|| hir.clone())?,
                false => Hir::fail(),
            }
        }
        HirKind::Class(Class::Unicode(class)) => {
            let ascii = ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]);
            let mut own = class.clone();
            own.intersect(&ascii);
            let mut chars = own.iter().flat_map(|range| range.start()..=range.end());
            chars
                .all(|c| u8::try_from(c).is_ok_and(stands_as_it_is))
                .then(|| Hir::class(Class::Unicode(own.clone())))?
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(loosened(&repetition.sub)?),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => loosened(&capture.sub)?,
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(ways) => Hir::alternation(all(ways)?),
    })
}

fn stands_as_it_is(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'/')
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;

    use super::*;

    fn told(expression: &str) -> Option<String> {
        let mut builder = ParserBuilder::new();
        let parser = builder.case_insensitive(true).multi_line(true);
        of(&parser.build().parse(expression).unwrap())
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
