//! Cuts a snippet: a few words around a hit, on one line, with the hit marked. The caller escapes it for the
//! terminal.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of grapheme clusters in a snippet.
const CHARS_MAX: usize = 160;
/// Number of characters before the first mark.
const LEAD_CHARS: usize = 40;
/// Maximum length of one grapheme cluster. A letter with more combining marks is truncated.
const CHAR_BYTES_MAX: usize = 64;

/// A snippet and the byte ranges in it that match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    pub text: String,
    pub marks: Vec<Range<usize>>,
}

/// Cuts a snippet around `focus` out of a text, and marks the given places in it.
pub fn cut_snippet(text: &str, focus: usize, places: &[Range<usize>]) -> Snippet {
    let start = find_start(text, focus);
    let mut snippet = Snippet::default();
    // For each character, its offset in the text and in the snippet.
    let mut boundaries: Vec<(usize, usize)> = Vec::new();
    let mut at = start;
    if start > 0 {
        snippet.text.push('…');
    }
    let mut chars = 0;
    for (_, char) in grapheme_clusters(&text[start..]) {
        let is_space = char.chars().all(char::is_whitespace);
        let is_double = is_space && (snippet.text.is_empty() || snippet.text.ends_with(' '));
        if !is_double {
            chars += 1;
            if chars > CHARS_MAX {
                break;
            }
        }
        boundaries.push((at, snippet.text.len()));
        at += char.len();
        match (is_space, is_double) {
            (true, false) => snippet.text.push(' '),
            (true, true) => {}
            (false, _) => snippet.text.push_str(truncate_cluster(char)),
        }
    }
    boundaries.push((at, snippet.text.len()));
    let end_in_snippet = |place: usize| {
        let before = boundaries.partition_point(|(there, _)| *there < place);
        boundaries.get(before).map_or(snippet.text.len(), |(_, here)| *here)
    };
    // If a match starts inside a character, the whole character is marked.
    let start_in_snippet = |place: usize| {
        let before = boundaries.partition_point(|(there, _)| *there <= place);
        boundaries[before.saturating_sub(1)].1
    };
    let within = places.iter().filter(|place| place.end > start && place.start < at);
    let marks = within.map(|place| start_in_snippet(place.start)..end_in_snippet(place.end));
    let marks: Vec<Range<usize>> = marks.filter(|mark| !mark.is_empty()).collect();
    snippet.marks = merge_marks(marks);
    if at < text.len() {
        snippet.text.push('…');
    }
    snippet
}

/// Returns the start of a snippet: some characters before its focus, at the boundary of a character and preferably of
/// a word.
fn find_start(text: &str, focus: usize) -> usize {
    let before = &text[..focus];
    let from = before.char_indices().rev().nth(LEAD_CHARS * 4).map_or(0, |(at, _)| at);
    let lead: Vec<(usize, &str)> = grapheme_clusters(&before[from..]).collect();
    // The first one may be the rest of a character.
    let skipped = lead.len().saturating_sub(LEAD_CHARS).max(usize::from(from > 0));
    if from == 0 && skipped == 0 {
        return 0;
    }
    let kept = &lead[skipped..];
    let after_space = kept
        .iter()
        .take(LEAD_CHARS / 2)
        .position(|(_, char)| char.chars().all(char::is_whitespace));
    let first = kept.get(after_space.map_or(0, |at| at + 1));
    first.map_or(focus, |(at, _)| from + at)
}

/// Returns the grapheme clusters of a text with their offsets. Two ASCII characters are always separate unless they
/// are a line break, so most texts need no Unicode tables.
fn grapheme_clusters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let char = match rest.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() && *first != b'\r' => &rest[..1],
            _ => rest.graphemes(true).next()?,
        };
        at += char.len();
        Some((at - char.len(), char))
    })
}

/// Truncates a character that has too many combining marks.
fn truncate_cluster(char: &str) -> &str {
    let end = char
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| *end <= CHAR_BYTES_MAX)
        .last();
    &char[..end.unwrap_or(char.len())]
}

/// Merges marks that touch or overlap.
fn merge_marks(mut marks: Vec<Range<usize>>) -> Vec<Range<usize>> {
    marks.sort_by_key(|mark| (mark.start, mark.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        match merged.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => merged.push(mark),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(text: &str, words: &[&str]) -> String {
        let mut places: Vec<Range<usize>> = words
            .iter()
            .filter_map(|word| Some(text.find(word)?..text.find(word)? + word.len()))
            .collect();
        places.sort_by_key(|place| place.start);
        let focus = places.first().map_or(0, |place| place.start);
        let snippet = cut_snippet(text, focus, &places);
        let mut marked_text = snippet.text.clone();
        for mark in snippet.marks.iter().rev() {
            marked_text.insert(mark.end, ']');
            marked_text.insert(mark.start, '[');
        }
        marked_text
    }

    #[test]
    fn a_short_text_is_shown_completely_on_one_line() {
        assert_eq!(
            marked("\n fix\n\n\tthe  login\n", &["the", "login"]),
            "fix [the] [login] "
        );
        assert_eq!(marked("abc", &["ab", "bc"]), "[abc]");
        assert_eq!(marked("", &[]), "");
    }

    #[test]
    fn a_long_text_is_cut_between_words_at_both_ends() {
        let text = format!("{} needle {}", "hay ".repeat(100), "stack ".repeat(100));
        let marked_text = marked(&text, &["needle"]);
        assert!(marked_text.starts_with("…hay hay"), "{marked_text}");
        assert!(marked_text.contains("hay [needle] stack"), "{marked_text}");
        assert!(marked_text.ends_with('…'), "{marked_text}");
        assert!((150..170).contains(&marked_text.chars().count()), "{marked_text}");
    }

    #[test]
    fn no_character_is_cut_in_two() {
        let family = "👩\u{200d}👩\u{200d}👧";
        let text = format!("{}x{}", family.repeat(300), family.repeat(300));
        let marked_text = marked(&text, &["x"]);
        let inside = marked_text.trim_matches('…').replace("[x]", "");
        assert_eq!(inside.replace(family, ""), "");
    }

    proptest! {
        #[test]
        fn grapheme_clusters_are_those_of_unicode(text in "[ab\r\n \u{301}\u{1F1E6}\u{1F1E7}\u{200D}\u{1F469}é가각\u{11A8}]{0,30}") {
            let expected: Vec<(usize, &str)> = text.grapheme_indices(true).collect();
            prop_assert_eq!(grapheme_clusters(&text).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn marks_are_within_the_snippet_at_character_boundaries(text in "\\PC{0,400}", from in 0usize..400, length in 0usize..300) {
            let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let start = from.min(boundaries.len() - 1);
            let end = (start + length).min(boundaries.len() - 1);
            let place = boundaries[start]..boundaries[end];
            let snippet = cut_snippet(&text, place.start, std::slice::from_ref(&place));
            for mark in &snippet.marks {
                prop_assert!(snippet.text.get(mark.clone()).is_some_and(|marked| !marked.is_empty()));
            }
            let is_visible = text[boundaries[start]..boundaries[end]].chars().any(|c| !c.is_whitespace());
            prop_assert!(!is_visible || !snippet.marks.is_empty());
        }
    }
}
