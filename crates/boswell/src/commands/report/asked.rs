//! Which days a report is about.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::error::CommandError;

/// A report is about at most so many days.
const DAYS_MAX: usize = 366;

/// Which days are meant; yesterday where nothing is said.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Days {
    /// The day, such as `2026-05-12`; yesterday where it is not given
    #[arg(long, value_name = "DAY", conflicts_with_all = ["since", "until", "week"])]
    date: Option<When>,
    /// The first of several days: a date, `yesterday` or `7d`
    #[arg(long, value_name = "DAY", conflicts_with = "week")]
    since: Option<When>,
    /// The last of several days; yesterday where it is not given
    #[arg(long, value_name = "DAY", requires = "since")]
    until: Option<When>,
    /// The seven days up to yesterday
    #[arg(long)]
    week: bool,
}

/// A day as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    On(Date),
    /// So many days before today.
    Ago(i64),
}

impl std::str::FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ago = || {
            text.strip_suffix('d')?
                .parse()
                .ok()
                .filter(|days| (0..=36_600).contains(days))
        };
        match text {
            "today" => Ok(Self::Ago(0)),
            "yesterday" => Ok(Self::Ago(1)),
            _ => match ago() {
                Some(days) => Ok(Self::Ago(days)),
                None => text
                    .parse()
                    .map(Self::On)
                    .map_err(|_| "write it like `2026-05-12`, `yesterday` or `7d`".to_owned()),
            },
        }
    }
}

impl When {
    fn date(self, today: Date) -> Result<Date, CommandError> {
        match self {
            Self::On(date) => Ok(date),
            Self::Ago(days) => today.checked_sub(days.days()).map_err(CommandError::usage),
        }
    }
}

impl Days {
    /// The days, in order.
    pub(super) fn dates(&self, today: Date) -> Result<Vec<Date>, CommandError> {
        let yesterday = When::Ago(1);
        let since = match (self.week, self.since) {
            (true, _) => When::Ago(7),
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
                "a report is about at most {DAYS_MAX} days"
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
        assert!("tomorrow".parse::<When>().is_err());
    }
}
