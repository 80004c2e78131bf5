//! How texts are compared: composed (Unicode NFC) and case-folded, so that é is é however it was typed, and `Config`
//! is `config`. Accents are significant: `resume` is not `résumé`. Nothing here knows what a word is.
//!
//! Folding is Unicode's simple case folding, character by character, like `(?i)` in our regular expressions.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Returns the text in composed form. Nearly all texts are composed already and are not copied.
pub fn compose(text: &str) -> Cow<'_, str> {
    match is_composed(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}

/// Number of bytes that are checked together.
const CHUNK_BYTES: usize = 64;

/// Returns `true` if a text is certainly composed.
pub(crate) fn is_composed(text: &str) -> bool {
    // No character below U+0300 composes with another one.
    let never_composes = |c: char| c < '\u{300}' || is_caseless(c);
    non_ascii_chars(text).all(never_composes) || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

/// Returns all characters that are not ASCII.
fn non_ascii_chars(text: &str) -> impl Iterator<Item = char> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest[ascii_len(rest)..].chars();
        let c = chars.next();
        rest = chars.as_str();
        c
    })
}

/// Returns `true` for punctuation, arrows, box drawing, pictures and Han, which are neither composed nor have case.
/// This avoids table lookups, because terminal output is full of them.
fn is_caseless(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{21d6}'..='\u{2328}' | '\u{232b}'..='\u{23ff}'
        | '\u{2190}'..='\u{2199}' | '\u{2500}'..='\u{2775}' | '\u{4e00}'..='\u{9fff}')
}

/// Returns the length of the ASCII prefix of a text.
fn ascii_len(text: &str) -> usize {
    // Most often a character is followed by another one of the same kind.
    if text.bytes().next().is_some_and(|byte| !byte.is_ascii()) {
        return 0;
    }
    let plain = text.as_bytes().chunks(CHUNK_BYTES).take_while(|bytes| bytes.is_ascii());
    let len = plain.map(<[u8]>::len).sum();
    let rest = &text.as_bytes()[len..];
    len + rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len())
}

/// Returns the representative of all characters that differ from this one only in case.
pub fn fold_char(c: char) -> char {
    match c {
        'A'..='Z' => c.to_ascii_lowercase(),
        _ if is_caseless(c) => c,
        // The iota below a letter is a mark with an uppercase form. If it were folded to a letter, it would start
        // words.
        '\0'..='\x7f' | 'ı' | '\u{345}' => c,
        // The uppercase of these is several characters long, so they are listed explicitly.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let upper = single(c.to_uppercase()).unwrap_or(c);
            single(upper.to_lowercase()).unwrap_or(upper)
        }
    }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// A case-folded text with a mapping of offsets to the composed text.
#[derive(Debug, Default)]
pub struct Folded {
    text: String,
    /// The positions at which the difference between the two offsets changes: the offset in the folded text, and the
    /// one in the composed text. Few texts have any.
    shifts: Vec<(usize, usize)>,
}

impl Folded {
    /// Folds a composed text.
    pub fn of(composed: &str) -> Self {
        let mut folded = Self::default();
        folded.fold(composed);
        folded
    }

    /// Folds another text, reusing the memory.
    pub fn fold(&mut self, composed: &str) {
        self.text.clear();
        self.shifts.clear();
        let mut rest = composed;
        loop {
            let (plain, wide) = rest.split_at(ascii_len(rest));
            self.push_ascii(plain);
            if wide.is_empty() {
                return;
            }
            let end = wide.bytes().position(|byte| byte.is_ascii()).unwrap_or(wide.len());
            for (at, c) in wide[..end].char_indices() {
                let folded = fold_char(c);
                self.text.push(folded);
                if folded.len_utf8() != c.len_utf8() {
                    let there = composed.len() - wide.len() + at + c.len_utf8();
                    self.shifts.push((self.text.len(), there));
                }
            }
            rest = &wide[end..];
        }
    }

    fn push_ascii(&mut self, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.text[start..].make_ascii_lowercase();
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Converts an offset in the folded text to one in the composed text.
    pub fn to_composed_offset(&self, here: usize) -> usize {
        let before = self.shifts.partition_point(|shift| shift.0 <= here);
        let (base, there) = before.checked_sub(1).map_or((0, 0), |at| self.shifts[at]);
        there + (here - base)
    }

    /// Converts an offset in the composed text to one in the folded text.
    pub fn to_folded_offset(&self, there: usize) -> usize {
        let before = self.shifts.partition_point(|shift| shift.1 <= there);
        let (here, base) = before.checked_sub(1).map_or((0, 0), |at| self.shifts[at]);
        here + (there - base)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
    use unicode_normalization::char::canonical_combining_class;

    use super::*;

    #[test]
    fn folding_agrees_with_case_insensitive_regexes() {
        // Letters that were added to Unicode after the tables of `regex-syntax` were generated are known to only one
        // side.
        let known = regex::Regex::new(r"^\p{age:16.0}$").unwrap();
        let mut alike: BTreeMap<char, Vec<char>> = BTreeMap::new();
        for c in ('\0'..=char::MAX).filter(|c| known.is_match(c.encode_utf8(&mut [0; 4]))) {
            alike.entry(fold_char(c)).or_default().push(c);
        }
        for (_, ours) in alike
            .into_iter()
            .filter(|(_, ours)| !ours.contains(&'ι') && ours != &['\u{345}'])
        {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(ours[0], ours[0])]);
            class.try_case_fold_simple().unwrap();
            let theirs: Vec<char> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn caseless_characters_are_composed_and_have_no_case() {
        let caseless: Vec<char> = ('\0'..=char::MAX).filter(|c| is_caseless(*c)).collect();
        assert!(caseless.len() > 20_000);
        for c in caseless {
            assert_eq!(is_nfc_quick(std::iter::once(c)), IsNormalized::Yes, "{c:?}");
            assert_eq!(canonical_combining_class(c), 0, "{c:?}");
            let cases = c.to_uppercase().chain(c.to_lowercase());
            assert!(cases.eq([c, c]), "{c:?}");
        }
    }

    #[test]
    fn a_letter_and_its_mark_are_composed() {
        assert_eq!(compose("cafe\u{301}"), "café");
        assert!(matches!(compose("café 文件"), Cow::Borrowed(_)));
        assert_eq!(compose("\u{1112}\u{1161}\u{11ab}"), "한");
    }

    #[test]
    fn offsets_are_mapped_if_folding_changes_the_length() {
        let text = "aẞb ȺC ſ";
        let folded = Folded::of(text);
        assert_eq!(folded.as_str(), "aßb ⱥc s");
        for (there, c) in text.char_indices() {
            let here = folded.to_folded_offset(there);
            assert_eq!(folded.as_str()[here..].chars().next(), Some(fold_char(c)));
            assert_eq!(folded.to_composed_offset(here), there);
        }
        assert_eq!(folded.to_composed_offset(folded.as_str().len()), text.len());
    }
}
