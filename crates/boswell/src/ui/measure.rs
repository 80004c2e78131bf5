//! Formats measures as text: sizes, counts, durations, ages, and the width of text.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns a size, such as `12.3 MiB`.
pub(crate) fn bytes(size_bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if size_bytes < 1024 {
        return format!("{size_bytes} B");
    }
    // Tenths of a unit are rounded first, so that 1023.99 KiB becomes `1.0 MiB` and never `1024.0 KiB`.
    let tenths = |unit: usize| {
        let unit_bytes = 1_u128 << (10 * (unit + 1));
        (u128::from(size_bytes) * 10 + unit_bytes / 2) / unit_bytes
    };
    let unit = (0..UNITS.len() - 1)
        .find(|&unit| tenths(unit) < 10_240)
        .unwrap_or(UNITS.len() - 1);
    format!("{}.{} {}", tenths(unit) / 10, tenths(unit) % 10, UNITS[unit])
}

/// Returns a count with thousands separators, such as `1,234`.
pub(crate) fn count(number: u64) -> String {
    memory::plural::format_thousands(number)
}

/// Returns a number in a few characters, such as `950`, `12k` or `1.5M`; an empty text for `None`.
pub(crate) fn short_count(number: u64) -> String {
    let scaled = |unit: u64, sign: &str| match number / unit {
        whole @ 0..10 => format!("{whole}.{}{sign}", number % unit / (unit / 10)),
        whole => format!("{whole}{sign}"),
    };
    match number {
        0 => String::new(),
        1..1_000 => number.to_string(),
        1_000..1_000_000 => scaled(1_000, "k"),
        1_000_000..1_000_000_000 => scaled(1_000_000, "M"),
        _ => scaled(1_000_000_000, "G"),
    }
}

/// Returns a duration in its two largest units, such as `3m 20s`.
pub(crate) fn duration(span: SignedDuration) -> String {
    let sign = if span.is_negative() { "-" } else { "" };
    let millis = span.as_millis().unsigned_abs();
    let seconds = millis / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0 => format!("{sign}{millis} ms"),
        1..60 => format!("{sign}{seconds}.{} s", millis % 1000 / 100),
        60..3600 => format!("{sign}{minutes}m {:02}s", seconds % 60),
        3600..86_400 => format!("{sign}{hours}h {:02}m", minutes % 60),
        _ => format!("{sign}{days}d {:02}h", hours % 24),
    }
}

/// Returns how long ago `then` was, such as `3 days ago`.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    let (amount, unit) = match seconds.unsigned_abs() {
        0..60 => return "just now".to_owned(),
        past @ 60..3600 => (past / 60, "minute"),
        past @ 3600..86_400 => (past / 3600, "hour"),
        past @ 86_400..5_184_000 => (past / 86_400, "day"),
        past @ 5_184_000..63_072_000 => (past / 2_592_000, "month"),
        past => (past / 31_536_000, "year"),
    };
    let plural = if amount == 1 { "" } else { "s" };
    match seconds > 0 {
        true => format!("{amount} {unit}{plural} ago"),
        false => format!("in {amount} {unit}{plural}"),
    }
}

/// Returns the age in as few columns as possible: `3d`, `5mo`.
pub(crate) fn age_short(now: Timestamp, then: Timestamp) -> String {
    let long = age(now, then);
    let mut words = long.split(' ');
    let (Some(amount), Some(unit), Some("ago")) = (words.next(), words.next(), words.next()) else {
        return long;
    };
    let unit = if unit.starts_with("month") { "mo" } else { &unit[..1] };
    format!("{amount}{unit}")
}

/// Returns the width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cuts a text to at most `columns` columns, between grapheme clusters, and marks the cut with `…`.
pub(crate) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    // A column takes at least one byte, so most texts need not be measured.
    if text.len() <= columns || width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let mut taken = 0;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        taken += width(grapheme);
        if taken > room {
            break;
        }
        end = at + grapheme.len();
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

/// Shortens a text at its beginning, because the end of a path, for example, identifies it best.
pub(crate) fn fit_end(text: &str, columns: usize) -> Cow<'_, str> {
    if text.len() <= columns || width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let mut taken = 0;
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        taken += width(grapheme);
        if taken > room {
            break;
        }
        start = at;
    }
    Cow::Owned(format!("…{}", &text[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_told_in_a_few_characters() {
        let told = [0, 7, 999, 1_000, 9_990, 12_345, 1_500_000, 7_000_000_000].map(short_count);
        assert_eq!(told, ["", "7", "999", "1.0k", "9.9k", "12k", "1.5M", "7.0G"]);
    }

    #[test]
    fn sizes_have_one_decimal_and_never_reach_the_next_unit() {
        let sizes = [0, 1, 1023, 1024, 1536, 12_897_485, 1024 * 1024 - 1, u64::MAX];
        let shown = [
            "0 B", "1 B", "1023 B", "1.0 KiB", "1.5 KiB", "12.3 MiB", "1.0 MiB", "16.0 EiB",
        ];
        assert_eq!(sizes.map(bytes), shown);
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        let shown = ["0", "999", "1,000", "12,345", "1,234,567"];
        assert_eq!([0, 999, 1000, 12_345, 1_234_567].map(count), shown);
    }

    #[test]
    fn spans_are_told_by_their_two_largest_units() {
        let spans = [0, 850, 12_340, 200_000, 7_500_000, 100_800_000, -200_000];
        let shown = ["0 ms", "850 ms", "12.3 s", "3m 20s", "2h 05m", "1d 04h", "-3m 20s"];
        assert_eq!(spans.map(|millis| duration(SignedDuration::from_millis(millis))), shown);
    }

    #[test]
    fn ages_look_back_and_ahead() {
        let now: Timestamp = "2026-04-01T09:00:00Z".parse().unwrap();
        let ages = [0, 59, 60, 7200, 86_400, 45 * 86_400, 70 * 86_400, 800 * 86_400, -7200];
        let shown = ages.map(|seconds| age(now, now - SignedDuration::from_secs(seconds)));
        let expected = [
            "just now",
            "just now",
            "1 minute ago",
            "2 hours ago",
            "1 day ago",
            "45 days ago",
            "2 months ago",
            "2 years ago",
            "in 2 hours",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_short_age_has_its_unit_in_one_or_two_letters() {
        let now: Timestamp = "2026-04-01T09:00:00Z".parse().unwrap();
        let ages = [0, 60, 7200, 45 * 86_400, 70 * 86_400, 800 * 86_400, -7200];
        let shown = ages.map(|seconds| age_short(now, now - SignedDuration::from_secs(seconds)));
        assert_eq!(shown, ["just now", "1m", "2h", "45d", "2mo", "2y", "in 2 hours"]);
    }

    #[test]
    fn a_path_keeps_its_end() {
        assert_eq!(fit_end("/home/ada/app/src/lib.rs", 12), "…/src/lib.rs");
        assert_eq!(fit_end("lib.rs", 12), "lib.rs");
        assert_eq!(fit_end("漢字漢字", 5), "…漢字");
        assert_eq!(fit_end("ab", 0), "");
    }

    #[test]
    fn a_text_is_cut_between_graphemes_and_never_too_wide() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語の", 6), "日本…");
        assert_eq!(fit("a👩‍👩‍👧b", 2), "a…");
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(fit("anything", 0), "");
        assert_eq!(fit("anything", 1), "…");
    }
}
