//! Defines what a word is, for all search engines.
//!
//! - A **run** is a maximal sequence of letters, digits and their marks: `parse_config` has two, `main.rs` two, `3.14`
//!   two, `can't` two. Everything else separates words: `_`, `/`, punctuation, emoji.
//! - A **part** is a piece of a run that starts with a capital: `ParseConfig` is a run with the parts `Parse` and `Config`,
//!   `HTTPServer` has `HTTP` and `Server`, `sha256Sum` has `sha256` and `Sum`.
//! - Scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Burmese, Khmer; Korean, whose endings are
//!   attached to its words) have no words that we could find: each **character** counts, and each **pair** of neighbours.
//!
//! The words of a text are its runs and parts, characters and pairs, composed and folded (see [`super::fold`]). A
//! word in a query, such as `main.rs`, `src/main.rs`, `parse_config` or 文件名, is a sequence: its characters occur in
//! the text unchanged, and its first and last run are words of the text. Therefore no word matches in the middle of
//! another one.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

/// The kind of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    Run,
    Part,
    /// One character of an unspaced script.
    Character,
    /// Two neighbouring characters of an unspaced script.
    Pair,
}

/// Calls `take` with every word of a composed text and its range.
pub fn each_word(text: &str, take: &mut impl FnMut(WordKind, Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let block = Block::of(&bytes[at..]);
        let end = at + block.length;
        let (mut word, mut next) = (block.word, end);
        while word != 0 {
            let start = word.trailing_zeros();
            let length = (!(word >> start)).trailing_zeros();
            let place = at + start as usize..at + (start + length) as usize;
            if place.end == end && end < bytes.len() {
                // It may continue after the block.
                next = place.start;
                break;
            }
            if block.capital >> start & low_bits(length) & !1 != 0 {
                each_part(bytes, place.clone(), take);
            }
            take(WordKind::Run, place);
            word &= !low_bits(start + length);
        }
        let is_wide = bytes.get(end).is_some_and(|byte| !byte.is_ascii());
        at = match next == end {
            true if is_wide => each_word_at(text, end, take),
            // It fills the block, or continues with characters outside ASCII.
            false if is_wide || next == at => each_run_word(text, next, take),
            _ => next,
        };
    }
}

/// Returns `true` if a range is a word sequence: if neither end is inside a word.
pub fn is_sequence(text: &str, found: &Range<usize>) -> bool {
    starts_at_word(text, found) && ends_at_word(text, found)
}

/// Returns `true` if a range is a prefix of a word sequence: it starts with a word and may end anywhere.
pub fn is_prefix(text: &str, found: &Range<usize>) -> bool {
    match last_run(text, found) {
        // A single run must start where a run or a part starts.
        Some(run) if run.start == found.start => is_boundary(text, run.start),
        _ => starts_at_word(text, found),
    }
}

/// Returns `true` if a run in a piece of text is a run in every text that contains the piece, because it is bounded
/// on both sides.
pub fn is_bounded(piece: &str, run: &Range<usize>) -> bool {
    let is_boundary = |c: Option<char>| c.is_some_and(|c| matches!(class(c), Class::Gap | Class::Unspaced));
    is_boundary(piece[..run.start].chars().next_back()) && is_boundary(piece[run.end..].chars().next())
}

/// Returns `true` if a text contains a word.
pub fn has_words(text: &str) -> bool {
    text.chars().any(|c| !matches!(class(c), Class::Gap | Class::Mark))
}

/// Removes the characters at both ends of a text that belong to no word.
pub fn trim_separators(text: &str) -> &str {
    let text = text.trim_start_matches(|c| matches!(class(c), Class::Gap | Class::Mark));
    text.trim_end_matches(|c| class(c) == Class::Gap)
}

/// Returns `true` if a character belongs to a word.
pub fn is_word_char(c: char) -> bool {
    class(c) != Class::Gap
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Belongs to no word.
    Gap,
    /// Belongs to the character before it.
    Mark,
    Lower,
    Upper,
    Digit,
    /// A letter of a script without case.
    Letter,
    /// A character of an unspaced script.
    Unspaced,
}

const ASCII: [Class; 128] = {
    let mut classes = [Class::Gap; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            _ => Class::Gap,
        };
        byte += 1;
    }
    classes
};

fn class(c: char) -> Class {
    match c {
        '\0'..='\x7f' => ASCII[c as usize],
        // Joiners connect the parts of Persian and Indic words.
        '\u{200c}' | '\u{200d}' => Class::Mark,
        _ if is_sign(c) => Class::Gap,
        _ if is_unspaced(c) => Class::Unspaced,
        _ if c.is_lowercase() => Class::Lower,
        _ if c.is_uppercase() => Class::Upper,
        _ if is_combining_mark(c) => Class::Mark,
        _ if c.is_alphabetic() => Class::Letter,
        _ if c.is_numeric() => Class::Digit,
        _ => Class::Gap,
    }
}

/// Returns `true` for punctuation, arrows, box drawing and pictures. This avoids table lookups, because terminal
/// output is full of them.
fn is_sign(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2190}'..='\u{23ff}' | '\u{2500}'..='\u{2775}')
}

/// Returns the class of the character at an offset, and its length in bytes.
#[inline]
fn class_at(text: &str, at: usize) -> (Class, usize) {
    match text.as_bytes()[at] {
        byte if byte.is_ascii() => (ASCII[byte as usize], 1),
        _ => text[at..]
            .chars()
            .next()
            .map_or((Class::Gap, 1), |c| (class(c), c.len_utf8())),
    }
}

/// Returns `true` for characters of scripts that are written without spaces, including their marks.
pub fn is_unspaced(c: char) -> bool {
    let of_such_a_script = matches!(c,
        '\u{0e00}'..='\u{0eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Burmese, Khmer
        | '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' // Korean
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' // Japanese
        | '\u{3100}'..='\u{318f}' // Bopomofo, Korean letters on their own
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' // Han
    );
    of_such_a_script && (c.is_alphanumeric() || is_combining_mark(c))
}

/// The ASCII prefix of a text, with one bit per byte for its classes. Testing byte by byte would cause a branch
/// misprediction at both ends of every word.
struct Block {
    /// Length of the ASCII prefix. Bits after it are meaningless.
    length: usize,
    word: u64,
    capital: u64,
}

/// One for each bit of a `u64`.
const BLOCK_BYTES: usize = 64;

impl Block {
    #[inline]
    fn of(text: &[u8]) -> Self {
        // Bytes after the end of the text are zero.
        let mut buffer = [0; BLOCK_BYTES];
        let bytes = text.first_chunk().unwrap_or_else(|| {
            buffer[..text.len()].copy_from_slice(text);
            &buffer
        });
        let is_capital = |byte: u8| byte.wrapping_sub(b'A') < 26;
        let is_word = |byte: u8| (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10;
        let most = bytes.iter().fold(0, |most, byte| most | byte);
        let mut length = text.len().min(BLOCK_BYTES);
        if most >= 0x80 {
            length = length.min(collect_bits(&bytes.map(|byte| byte >> 7)).trailing_zeros() as usize);
        }
        Self {
            length,
            word: collect_bits(&bytes.map(|byte| u8::from(is_word(byte)))) & low_bits(length as u32),
            capital: collect_bits(&bytes.map(|byte| u8::from(is_capital(byte)))),
        }
    }
}

/// Collects the lowest bit of each byte.
#[inline]
fn collect_bits(bytes: &[u8; BLOCK_BYTES]) -> u64 {
    let (eights, _) = bytes.as_chunks();
    let mut bits = 0;
    for (at, eight) in eights.iter().enumerate() {
        bits |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    bits
}

/// Returns a mask of the lowest `count` bits.
#[inline]
fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - count).unwrap_or(0)
}

/// Calls `take` with the parts of an ASCII run, if it has any.
fn each_part(bytes: &[u8], run: Range<usize>, take: &mut impl FnMut(WordKind, Range<usize>)) {
    let mut part = run.start;
    let (mut before, mut last) = (Class::Gap, Class::Gap);
    for at in run.clone() {
        let class = ASCII[usize::from(bytes[at] & 0x7f)];
        let boundary = match (before, last, class) {
            (Class::Upper, Class::Upper, Class::Lower) => at - 1,
            (_, Class::Lower | Class::Digit, Class::Upper) => at,
            _ => part,
        };
        if boundary > part {
            take(WordKind::Part, part..boundary);
            part = boundary;
        }
        (before, last) = (last, class);
    }
    if part > run.start {
        take(WordKind::Part, part..run.end);
    }
}

/// Calls `take` with the words that start at a character of any class, and returns their end.
fn each_word_at(text: &str, at: usize, take: &mut impl FnMut(WordKind, Range<usize>)) -> usize {
    let (class, width) = class_at(text, at);
    match class {
        Class::Gap | Class::Mark => at + width,
        Class::Unspaced => each_unspaced(text, at, take),
        _ => each_run_word(text, at, take),
    }
}

/// Calls `take` with the words of the run that starts here, and returns its end.
fn each_run_word(text: &str, start: usize, take: &mut impl FnMut(WordKind, Range<usize>)) -> usize {
    let mut part = start;
    let mut at = start;
    // The classes of the last two characters that are not marks, and the offset of the last one.
    let (mut before, mut last, mut last_at) = (Class::Gap, Class::Gap, start);
    while at < text.len() {
        let (class, width) = class_at(text, at);
        if matches!(class, Class::Gap | Class::Unspaced) {
            break;
        }
        if class == Class::Lower && last == Class::Lower {
            // A fast path, because most of a text is lowercase letters after lowercase letters.
            before = Class::Lower;
            at += width;
            at += text.as_bytes()[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_lowercase())
                .count();
            continue;
        }
        if class != Class::Mark {
            let boundary = match (before, last, class) {
                (Class::Upper, Class::Upper, Class::Lower) => last_at,
                (_, Class::Lower | Class::Digit | Class::Letter, Class::Upper) => at,
                _ => part,
            };
            if boundary > part {
                take(WordKind::Part, part..boundary);
                part = boundary;
            }
            (before, last, last_at) = (last, class, at);
        }
        at += width;
    }
    if part > start {
        take(WordKind::Part, part..at);
    }
    take(WordKind::Run, start..at);
    at
}

/// Calls `take` with the characters and pairs of an unspaced range, and returns its end.
fn each_unspaced(text: &str, start: usize, take: &mut impl FnMut(WordKind, Range<usize>)) -> usize {
    let mut before = None;
    let mut at = start;
    while at < text.len() {
        let (class, width) = class_at(text, at);
        if !matches!(class, Class::Unspaced | Class::Mark) {
            break;
        }
        if class == Class::Unspaced {
            take(WordKind::Character, at..at + width);
            if let Some(before) = before {
                take(WordKind::Pair, before..at + width);
            }
            before = Some(at);
        }
        at += width;
    }
    at
}

/// Returns `true` unless the range starts with a run that is not a word of the text.
fn starts_at_word(text: &str, found: &Range<usize>) -> bool {
    match first_run(text, found) {
        Some(run) => is_word(text, &run),
        None => true,
    }
}

/// Returns `true` unless the range ends with a run that is not a word of the text.
fn ends_at_word(text: &str, found: &Range<usize>) -> bool {
    match last_run(text, found) {
        Some(run) => is_word(text, &run),
        None => true,
    }
}

/// Returns `true` if a range of word characters is a whole run, or one part of it.
fn is_word(text: &str, range: &Range<usize>) -> bool {
    let (start, end) = (range.start, range.end);
    let is_run = is_run_boundary(text, start) && is_run_boundary(text, end);
    let has_boundary_inside = || {
        text[start..end]
            .char_indices()
            .skip(1)
            .any(|(at, _)| is_part_boundary(text, start + at))
    };
    is_run || (is_boundary(text, start) && is_boundary(text, end) && !has_boundary_inside())
}

fn is_boundary(text: &str, at: usize) -> bool {
    is_run_boundary(text, at) || is_part_boundary(text, at)
}

/// Returns `true` if a run starts or ends here.
fn is_run_boundary(text: &str, at: usize) -> bool {
    // Marks belong to the character before them; at the start of the text they belong to nothing.
    let before = text[..at].chars().rev().map(class).find(|class| *class != Class::Mark);
    let after = text[at..].chars().next().map(class);
    let continues = match before {
        None | Some(Class::Gap) => false,
        Some(Class::Unspaced) => after == Some(Class::Mark),
        Some(_) => !matches!(after, None | Some(Class::Gap | Class::Unspaced)),
    };
    !continues
}

/// Returns `true` if one part of a run ends here and the next one starts.
fn is_part_boundary(text: &str, at: usize) -> bool {
    let unmarked = |class: &Class| *class != Class::Mark;
    let mut before = text[..at].chars().rev().map(class).filter(unmarked);
    let mut after = text[at..].chars().map(class);
    // The boundary is before a character, not between it and its marks.
    let next = after.next().filter(unmarked);
    match (before.next(), next) {
        (Some(Class::Lower | Class::Digit | Class::Letter), Some(Class::Upper)) => true,
        (Some(Class::Upper), Some(Class::Upper)) => after.find(unmarked) == Some(Class::Lower),
        _ => false,
    }
}

/// Returns the word characters at the start of a range, or `None` if it starts with something else.
fn first_run(text: &str, found: &Range<usize>) -> Option<Range<usize>> {
    let within = &text[found.clone()];
    let end = within
        .char_indices()
        .find(|(_, c)| matches!(class(*c), Class::Gap | Class::Unspaced));
    let end = end.map_or(within.len(), |(at, _)| at);
    (end > 0).then(|| found.start..found.start + end)
}

/// Returns the word characters at the end of a range, or `None` if it ends with something else.
fn last_run(text: &str, found: &Range<usize>) -> Option<Range<usize>> {
    let within = &text[found.clone()];
    let mut backwards = within.char_indices().rev();
    let start = backwards.find(|(_, c)| matches!(class(*c), Class::Gap | Class::Unspaced));
    let start = start.map_or(0, |(at, c)| at + c.len_utf8());
    (start < within.len()).then(|| found.start + start..found.end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> String {
        let mut expected = Vec::new();
        each_word(text, &mut |_, place| expected.push(text[place].to_owned()));
        expected.join(" ")
    }

    #[test]
    fn signs_are_not_part_of_a_word() {
        let signs: Vec<char> = ('\0'..=char::MAX).filter(|c| is_sign(*c)).collect();
        assert!(signs.len() > 1000);
        for c in signs {
            assert!(
                !c.is_alphanumeric() && !is_combining_mark(c) && !is_unspaced(c),
                "{c:?}"
            );
        }
    }

    proptest! {
        /// Finding words by blocks gives the same result as finding them character by character.
        #[test]
        fn blocks_give_the_same_words_as_single_characters(text in "[a-cA-C0-1_ ./\\x00文件é\u{301}→]{0,60}", long in "[a-cA-C0-1]{0,140}") {
            // Some runs are longer than a block.
            let text = text.replacen('_', &long, 1);
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            each_word(&text, &mut |kind, place| found.push((kind, place)));
            let mut at = 0;
            while at < text.len() {
                at = each_word_at(&text, at, &mut |kind, place| expected.push((kind, place)));
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn identifiers_paths_and_numbers_are_split_into_words() {
        assert_eq!(
            words("parse_config ParseConfig parseConfig"),
            "parse config Parse Config ParseConfig parse Config parseConfig"
        );
        assert_eq!(
            words("HTTPServer sha256Sum utf8 X11"),
            "HTTP Server HTTPServer sha256 Sum sha256Sum utf8 X11"
        );
        assert_eq!(words("src/main.rs -v=3.14"), "src main rs v 3 14");
        assert_eq!(words("can't naïve ΣίσυφοςΆλφα"), "can t naïve Σίσυφος Άλφα ΣίσυφοςΆλφα");
    }

    #[test]
    fn scripts_without_spaces_give_characters_and_pairs_and_emoji_give_nothing() {
        assert_eq!(words("React组件库!"), "React 组 件 组件 库 件库");
        assert_eq!(words("ไฟล์"), "ไ ฟ ไฟ ล ฟล ์ ล์");
        assert_eq!(words("한국어 2"), "한 국 한국 어 국어 2");
        assert_eq!(words("🎉 ❤\u{fe0f}\u{200d}🔥 → ok"), "ok");
        assert_eq!(words("می\u{200c}خواهم हिन्दी"), "می\u{200c}خواهم हिन्दी");
    }

    #[test]
    fn a_sequence_neither_starts_nor_ends_inside_a_word() {
        let in_text = |text: &str, word: &str| {
            text.match_indices(word)
                .any(|(at, found)| is_sequence(text, &(at..at + found.len())))
        };
        assert!(in_text("see src/main.rs:3", "main.rs"));
        assert!(in_text("see src/main.rs:3", "src/main.rs"));
        assert!(!in_text("see src/main.rs:3", "ain.rs"));
        assert!(in_text("MyParseConfig", "Parse"));
        assert!(
            !in_text("MyParseConfig", "ParseConfig"),
            "two parts are not a word unless they are the whole run"
        );
        assert!(in_text("my_ParseConfig", "ParseConfig"));
        assert!(!in_text("the", "he") && !in_text("the", "th"));
        assert!(in_text("新文件名", "文件"));
        assert!(!in_text("q\u{301}", "q"), "a letter is not found without its mark");
    }

    #[test]
    fn folding_does_not_change_the_class_of_a_character() {
        let kind = |c| match class(c) {
            Class::Gap => "gap",
            Class::Mark => "mark",
            Class::Unspaced => "unspaced",
            _ => "letter",
        };
        for c in '\0'..=char::MAX {
            assert_eq!(kind(super::super::fold::fold_char(c)), kind(c), "{c:?}");
        }
    }

    #[test]
    fn a_prefix_starts_at_a_word_and_may_end_inside_one() {
        let in_text = |text: &str, word: &str| {
            text.match_indices(word)
                .any(|(at, found)| is_prefix(text, &(at..at + found.len())))
        };
        assert!(
            in_text("migrations", "migrat") && in_text("dbMigrations", "Migrat") && in_text("db_migrations", "migrat")
        );
        assert!(!in_text("emigration", "migrat"));
        assert!(in_text("src/main.rs", "src/ma") && !in_text("xsrc/main.rs", "src/ma"));
    }

    /// Letters of all classes, marks, and separators.
    fn texts() -> impl Strategy<Value = String> {
        let chars = proptest::sample::select(vec![
            'a', 'b', 'A', 'B', '1', '_', ' ', 'é', 'É', '\u{301}', 'ß', 'ا', '文', '件', '\u{200d}', '🎉', 'ไ', '์',
        ]);
        proptest::collection::vec(chars, 0..12).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn a_range_is_a_word_exactly_if_it_is_a_word_of_the_text(text in texts()) {
            let mut given = Vec::new();
            each_word(&text, &mut |kind, place| if matches!(kind, WordKind::Run | WordKind::Part) { given.push(place) });
            let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for (at, start) in borders.iter().enumerate() {
                for end in &borders[at + 1..] {
                    let range = &text[*start..*end];
                    let is_stretch = range.chars().all(|c| !matches!(class(c), Class::Gap | Class::Unspaced))
                        && !range.chars().next().is_some_and(|c| class(c) == Class::Mark);
                    if is_stretch {
                        prop_assert_eq!(is_word(&text, &(*start..*end)), given.contains(&(*start..*end)), "{:?} in {:?}", range, text);
                    }
                }
            }
        }

        #[test]
        fn every_word_of_a_text_is_a_sequence_in_it(text in "\\PC{0,40}") {
            let mut places = Vec::new();
            each_word(&text, &mut |_, place| places.push(place));
            for place in places {
                prop_assert!(is_sequence(&text, &place), "{:?} in {:?}", &text[place.clone()], text);
            }
        }
    }
}
