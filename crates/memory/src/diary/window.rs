//! The time window of a workspace: from one local midnight to the next. Pure: the zone and the time are arguments.
//!
//! A local day has 23, 24 or 25 hours. Only instants decide what belongs to it; the local times of its bounds are for
//! display.

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

/// Whether a day is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayStatus {
    /// The day is not over yet.
    Partial,
    Final,
}

impl DayStatus {
    /// Returns the name used in the workspace.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Final => "final",
        }
    }
}

/// The reasons why a day has no window.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WindowError {
    #[error("{date} has not begun yet in {zone}")]
    Future { date: Date, zone: String },
    #[error("date out of range: {0}")]
    OutOfRange(Date),
}

/// One local day, from `start` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayWindow {
    pub date: Date,
    pub zone_name: String,
    pub status: DayStatus,
    pub start: Timestamp,
    pub end: Timestamp,
    start_offset: Offset,
    end_offset: Offset,
}

impl DayWindow {
    /// Returns the window of `date` in `zone`. Its status depends on `now`.
    pub fn new(date: Date, zone: &TimeZone, zone_name: &str, now: Timestamp) -> Result<Self, WindowError> {
        let today = zone.to_datetime(now).date();
        if date > today {
            let zone = zone_name.to_owned();
            return Err(WindowError::Future { date, zone });
        }
        let next = date.tomorrow().map_err(|_| WindowError::OutOfRange(date))?;
        let (start, start_offset) = midnight(date, zone).ok_or(WindowError::OutOfRange(date))?;
        let (end, end_offset) = midnight(next, zone).ok_or(WindowError::OutOfRange(date))?;
        Ok(Self {
            date,
            zone_name: zone_name.to_owned(),
            status: if date == today {
                DayStatus::Partial
            } else {
                DayStatus::Final
            },
            start,
            end,
            start_offset,
            end_offset,
        })
    }

    /// Returns `true` if an instant belongs to the day.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    /// Returns the bounds in local time.
    pub(super) fn local_bounds(&self) -> (String, String) {
        (
            format_time(self.start, self.start_offset),
            format_time(self.end, self.end_offset),
        )
    }

    /// Returns the bounds in UTC.
    pub(super) fn utc_bounds(&self) -> (String, String) {
        (format_utc(self.start), format_utc(self.end))
    }

    /// Returns the dates with which a time inside the window can be written, each with whether it is possible in UTC.
    /// Another offset allows one more date on either side.
    pub(super) fn dates(&self) -> Vec<(String, bool)> {
        let first = Offset::UTC.to_datetime(self.start).date();
        // `end` itself is outside of the window.
        let last = self
            .end
            .saturating_sub(SignedDuration::from_nanos(1))
            .unwrap_or(self.end);
        let last = Offset::UTC.to_datetime(last).date();
        let before = first.yesterday().unwrap_or(first);
        let after = last.tomorrow().unwrap_or(last);
        let days = before.series(jiff::Span::new().days(1)).take_while(|day| *day <= after);
        days.map(|day| (day.to_string(), (first..=last).contains(&day)))
            .collect()
    }
}

/// Returns the first instant of a day. If the clock skips or repeats midnight, the offset before the change gives the
/// first instant in both cases.
fn midnight(date: Date, zone: &TimeZone) -> Option<(Timestamp, Offset)> {
    let at = date.at(0, 0, 0, 0);
    let offset = match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    Some((offset.to_timestamp(at).ok()?, offset))
}

/// Formats a time to the second with its offset, or with `Z` if the offset is zero.
pub(super) fn format_time(at: Timestamp, offset: Offset) -> String {
    let clock = offset.to_datetime(at).strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let seconds = offset.seconds();
    if seconds == 0 {
        return format!("{clock}Z");
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, rest) = (seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    match rest {
        0 => format!("{clock}{sign}{hours:02}:{minutes:02}"),
        _ => format!("{clock}{sign}{hours:02}:{minutes:02}:{rest:02}"),
    }
}

/// Formats a time to the second in UTC.
pub(super) fn format_utc(at: Timestamp) -> String {
    format_time(at, Offset::UTC)
}
