//! The days of a report, as given on the command line.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::day_arg::DayWord;
use crate::error::CommandError;

/// The maximum number of days of a report.
const DAYS_MAX: usize = 366;

/// Selects days; by default yesterday.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Days {
    /// The day: `2026-05-12`, `today`, `yesterday`, `monday` or `-3d`; the default is yesterday
    #[arg(long, value_name = "DAY", conflicts_with_all = ["since", "until", "week"])]
    date: Option<DayWord>,
    /// The first of several days, named in the same ways
    #[arg(long, value_name = "DAY", conflicts_with = "week")]
    since: Option<DayWord>,
    /// The last of several days; the default is yesterday
    #[arg(long, value_name = "DAY", requires = "since")]
    until: Option<DayWord>,
    /// The seven days up to yesterday
    #[arg(long)]
    week: bool,
}

impl Days {
    /// Returns one day.
    pub(crate) fn on(day: DayWord) -> Self {
        Self {
            date: Some(day),
            ..Self::default()
        }
    }

    /// Returns the days, in order.
    pub(super) fn dates(&self, today: Date) -> Result<Vec<Date>, CommandError> {
        let yesterday = DayWord::YESTERDAY;
        let since = match (self.week, self.since) {
            (true, _) => DayWord::DaysAgo(7),
            (false, Some(since)) => since,
            (false, None) => self.date.unwrap_or(yesterday),
        };
        let until = match (self.week || self.since.is_some(), self.until) {
            (true, until) => until.unwrap_or(yesterday),
            (false, _) => since,
        };
        let (since, until) = (since.date(today)?, until.date(today)?);
        if since > until {
            return Err(CommandError::usage(format_args!("{since} is after {until}")));
        }
        let days: Vec<Date> = since
            .series(1.day())
            .take_while(|day| *day <= until)
            .take(DAYS_MAX + 1)
            .collect();
        match days.len() > DAYS_MAX {
            true => Err(CommandError::usage(format_args!(
                "a report covers at most {DAYS_MAX} days"
            ))),
            false => Ok(days),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(days: &Days) -> Vec<String> {
        let today = "2026-04-01".parse().unwrap();
        days.dates(today).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn days_are_named_in_many_ways() {
        assert_eq!(check(&Days::default()), ["2026-03-31"]);
        let week = check(&Days {
            week: true,
            ..Days::default()
        });
        assert_eq!(
            (week.len(), week[0].as_str(), week[6].as_str()),
            (7, "2026-03-25", "2026-03-31")
        );
        let since = |since: &str, until: Option<&str>| {
            check(&Days {
                since: Some(since.parse().unwrap()),
                until: until.map(|until| until.parse().unwrap()),
                ..Days::default()
            })
        };
        assert_eq!(since("2d", None), ["2026-03-30", "2026-03-31"]);
        assert_eq!(since("2026-02-28", Some("2026-03-01")), ["2026-02-28", "2026-03-01"]);
        assert_eq!(since("yesterday", Some("today")), ["2026-03-31", "2026-04-01"]);
        assert_eq!(since("monday", Some("-1d")), ["2026-03-30", "2026-03-31"]);
        assert_eq!(check(&Days::on(DayWord::DaysAgo(3))), ["2026-03-29"]);
    }
}
