//! A day on the command line: `2026-05-12`, `today`, `yesterday`, `monday`, `-3d`. Every argument that takes a day is
//! parsed here, so that the same text always means the same day.

use std::ffi::OsString;
use std::str::FromStr;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use crate::error::CommandError;

/// Maximum number of days; no log is older.
const DAYS_AGO_MAX: i64 = 36_600;

/// Describes the accepted forms of a day, for help and errors.
pub(crate) const DAY_WORDS: &str = "`2026-05-12`, `today`, `yesterday`, `monday` or `-3d`";

/// A day, not yet resolved against the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayWord {
    On(Date),
    DaysAgo(i64),
    /// The last such day before today.
    Last(Weekday),
}

impl DayWord {
    pub(crate) const YESTERDAY: Self = Self::DaysAgo(1);

    /// Returns the date of the day, relative to `today`.
    pub(crate) fn date(self, today: Date) -> Result<Date, CommandError> {
        let days = match self {
            Self::On(date) => return Ok(date),
            Self::DaysAgo(days) => days,
            Self::Last(weekday) => match i64::from(today.weekday().since(weekday)) {
                0 => 7,
                days => days,
            },
        };
        let date = today.checked_sub(days.days());
        date.map_err(|_| CommandError::usage(format_args!("date out of range: {days} days before {today}")))
    }
}

impl FromStr for DayWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `mark_relative_days` puts a space before `-3d`.
        let text = text.trim().to_ascii_lowercase();
        let weekday = match text.as_str() {
            "today" => return Ok(Self::DaysAgo(0)),
            "yesterday" => return Ok(Self::YESTERDAY),
            "monday" | "mon" => Some(Weekday::Monday),
            "tuesday" | "tue" => Some(Weekday::Tuesday),
            "wednesday" | "wed" => Some(Weekday::Wednesday),
            "thursday" | "thu" => Some(Weekday::Thursday),
            "friday" | "fri" => Some(Weekday::Friday),
            "saturday" | "sat" => Some(Weekday::Saturday),
            "sunday" | "sun" => Some(Weekday::Sunday),
            _ => None,
        };
        if let Some(weekday) = weekday {
            return Ok(Self::Last(weekday));
        }
        if let Some(days) = days_ago(&text) {
            return Ok(Self::DaysAgo(days));
        }
        // The parser of dates takes times too; a day has none.
        let date = (text.len() == "2026-05-12".len()).then(|| text.parse().ok()).flatten();
        date.map(Self::On).ok_or_else(|| format!("write it like {DAY_WORDS}"))
    }
}

/// Returns the number of days in `-3d` or `3d`.
fn days_ago(text: &str) -> Option<i64> {
    let number = text.strip_prefix('-').unwrap_or(text).strip_suffix('d')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let days: i64 = is_number.then(|| number.parse().ok()).flatten()?;
    (days <= DAYS_AGO_MAX).then_some(days)
}

/// Returns whether an argument is a day such as `-3d`, which would be parsed as an option.
pub(crate) fn is_relative_day(argument: &str) -> bool {
    argument.starts_with('-') && days_ago(argument).is_some()
}

/// Options whose value is a day or a time.
const DAY_OPTIONS: [&str; 3] = ["--date", "--since", "--until"];

/// Puts a space before each `-3d` that names a day, so that it is a value and not an option: after an option that takes a day, and as
/// an argument of `diary`.
pub(crate) fn mark_relative_days(verb: &str, arguments: &[OsString]) -> Vec<OsString> {
    let mut marked: Vec<OsString> = Vec::with_capacity(arguments.len());
    let mut is_text = false;
    for argument in arguments {
        is_text |= argument == "--";
        let is_expected = verb == "diary"
            || marked
                .last()
                .is_some_and(|last| DAY_OPTIONS.iter().any(|one| last == one));
        let day = argument
            .to_str()
            .filter(|text| !is_text && is_expected && is_relative_day(text));
        marked.push(day.map_or_else(|| argument.clone(), |day| format!(" {day}").into()));
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> String {
        // A Wednesday.
        let today = "2026-04-01".parse().unwrap();
        match text.parse::<DayWord>() {
            Ok(day) => day.date(today).unwrap().to_string(),
            Err(error) => error,
        }
    }

    #[test]
    fn a_day_has_many_names() {
        assert_eq!(day("2026-05-12"), "2026-05-12");
        assert_eq!(
            (day("today"), day("Yesterday")),
            ("2026-04-01".into(), "2026-03-31".into())
        );
        assert_eq!((day("-3d"), day(" -3d")), ("2026-03-29".into(), "2026-03-29".into()));
        assert_eq!((day("7d"), day("-0d")), ("2026-03-25".into(), "2026-04-01".into()));
        assert_eq!((day("monday"), day("Tue")), ("2026-03-30".into(), "2026-03-31".into()));
        assert_eq!(day("wednesday"), "2026-03-25", "a weekday is never today");
        assert_eq!(day("thursday"), "2026-03-26");
        for text in [
            "tomorrow",
            "",
            "-d",
            "--3d",
            "-3h",
            "2026-02-30",
            "2026-05-12T10:00",
            "99999999999999999999d",
            "-3.5d",
        ] {
            assert_eq!(
                day(text),
                "write it like `2026-05-12`, `today`, `yesterday`, `monday` or `-3d`",
                "{text}"
            );
        }
    }

    #[test]
    fn a_relative_day_is_a_value_only_where_a_day_is_expected() {
        let mark = |verb: &str, line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let marked = mark_relative_days(verb, &arguments);
            marked
                .iter()
                .map(|one| one.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join("|")
        };
        assert_eq!(mark("diary", "boswell diary -3d"), "boswell|diary| -3d");
        assert_eq!(
            mark("report", "boswell report --date -3d -3d"),
            "boswell|report|--date| -3d|-3d"
        );
        assert_eq!(
            mark("run", "boswell run -- tool --since -3d"),
            "boswell|run|--|tool|--since|-3d"
        );
    }
}
