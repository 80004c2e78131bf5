//! Formats numbers for people: durations, tokens, money, sizes, times.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats a duration: `840 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..=9 => format!("{seconds}.{} s", ms % 1000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a count: `950`, `12.3k`, `4.5M`.
pub fn count(number: u64) -> String {
    let tenths = |unit: u64, letter: char| {
        let tenths = number / (unit / 10);
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => tenths(1_000, 'k'),
        1_000_000..1_000_000_000 => tenths(1_000_000, 'M'),
        _ => tenths(1_000_000_000, 'G'),
    }
}

/// Formats a size: `950 B`, `12.3 kB`, `4.5 MB`.
pub(crate) fn bytes(number: usize) -> String {
    let tenths = |unit: usize, word: &str| {
        let tenths = number / (unit / 10);
        format!("{}.{} {word}", tenths / 10, tenths % 10)
    };
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => tenths(1_000, "kB"),
        _ => tenths(1_000_000, "MB"),
    }
}

/// Formats micro-dollars as dollars and cents, rounding half a cent up: `$1,234.50`. Every output that shows money calls this, so
/// that no two of them differ by a cent.
pub fn dollars(micros: u64) -> String {
    let cents = micros.saturating_add(5_000) / 10_000;
    if cents == 0 && micros > 0 {
        return "<$0.01".to_owned();
    }
    let mut whole = (cents / 100).to_string();
    for at in (1..whole.len())
        .rev()
        .filter(|at| (whole.len() - at).is_multiple_of(3))
        .collect::<Vec<_>>()
    {
        whole.insert(at, ',');
    }
    format!("${whole}.{:02}", cents % 100)
}

/// Formats a time of day: `12:03:04`.
pub fn clock(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// Formats a date and time: `2026-04-01 12:03`.
pub fn date_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns a number with its noun: `1 event`, `2 events`.
pub fn plural(number: u64, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_briefly() {
        assert_eq!(
            [12, 1_250, 61_000, 7_260_000].map(duration),
            ["12 ms", "1.2 s", "1 min 1 s", "2 h 1 min"]
        );
        assert_eq!([999, 12_345, 4_560_000].map(count), ["999", "12.3k", "4.5M"]);
        assert_eq!([950, 12_345, 4_560_000].map(bytes), ["950 B", "12.3 kB", "4.5 MB"]);
        assert_eq!(
            [0, 4_200, 5_000, 92_504_999, 92_505_000, 1_234_567_890_000].map(dollars),
            ["$0.00", "<$0.01", "$0.01", "$92.50", "$92.51", "$1,234,567.89"]
        );
    }
}
