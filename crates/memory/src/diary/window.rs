//! The day of a workspace: from one local midnight to the next, as instants. Pure: the zone and the time come in.
//!
//! A local day has 23, 24 or 25 hours. What belongs to it is decided by instants alone; how its bounds read on a clock
//! is for people.

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

/// Whether a day is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It still goes on.
    Partial,
    Final,
}

impl Status {
    /// The word used in the workspace.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Final => "final",
        }
    }
}

/// Why a day has no window.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WindowError {
    #[error("this day has not begun in {zone}: {date}")]
    Future { date: Date, zone: String },
    #[error("no calendar goes so far: {0}")]
    OutOfRange(Date),
}

/// One local day: `start` belongs to it, `end` to the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub date: Date,
    pub zone_name: String,
    pub status: Status,
    pub start: Timestamp,
    pub end: Timestamp,
    start_offset: Offset,
    end_offset: Offset,
}

impl Window {
    /// The window of `date` in `zone`, as it stands `now`.
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
            status: if date == today { Status::Partial } else { Status::Final },
            start,
            end,
            start_offset,
            end_offset,
        })
    }

    /// Whether an instant belongs to the day.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    /// The bounds as a clock on the wall shows them.
    pub(super) fn local(&self) -> (String, String) {
        (stamp(self.start, self.start_offset), stamp(self.end, self.end_offset))
    }

    /// The bounds in UTC.
    pub(super) fn utc(&self) -> (String, String) {
        (utc_stamp(self.start), utc_stamp(self.end))
    }

    /// The dates that a time inside the window can be written with, and whether in UTC. With another offset it can be one
    /// more on either side.
    pub(super) fn dates(&self) -> Vec<(String, bool)> {
        let first = Offset::UTC.to_datetime(self.start).date();
        // The end itself is no longer inside.
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

/// When a day begins. Where the clock jumps over midnight or strikes it twice, the offset that held before counts: both
/// ways it is the first instant of the day.
fn midnight(date: Date, zone: &TimeZone) -> Option<(Timestamp, Offset)> {
    let at = date.at(0, 0, 0, 0);
    let offset = match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    Some((offset.to_timestamp(at).ok()?, offset))
}

/// A time to the second with its offset; none is `Z`.
pub(super) fn stamp(at: Timestamp, offset: Offset) -> String {
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

/// A time to the second in UTC.
pub(super) fn utc_stamp(at: Timestamp) -> String {
    stamp(at, Offset::UTC)
}
