//! Active time: how long the user or the agent was working. One rule for digests, statistics, pages and reports.
//!
//! The time between two events counts if it is at most [`IDLE_LIMIT_S`]. A longer gap never counts, not even
//! inside a tool call, because the log does not show whether a test ran for fourteen hours or the laptop slept.
//!
//! A session's active time is that of its own events. Those of several sessions add up where sessions are summed, as in
//! statistics; the active time of a day is the time in which at least one session was active, so that it is never longer than the day.

use jiff::Timestamp;
use transcript::{Inherited, SessionEvent};

/// The longest gap between two events that counts.
pub const IDLE_LIMIT_S: u64 = 5 * 60;

/// A period without a gap above the limit: its first and last second since 1970.
type ActivePeriod = (i64, i64);

/// The active time of some events, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActiveTime {
    periods: Vec<ActivePeriod>,
}

impl ActiveTime {
    /// Returns the active time of a session. Copied history belongs to another session and is skipped.
    pub fn from_events<'e>(events: impl IntoIterator<Item = &'e SessionEvent>, inherited: Option<Inherited>) -> Self {
        let mut active = Self::default();
        let is_own = |event: &&SessionEvent| !inherited.is_some_and(|inherited| inherited.covers(event.line));
        for at in events.into_iter().filter(is_own).filter_map(|event| event.ts) {
            active.add(at);
        }
        active
    }

    /// Adds the next event. Returns the seconds since the previous event if that gap is over the limit. If a clock
    /// steps back, no time passes.
    pub fn add(&mut self, at: Timestamp) -> Option<u64> {
        let at = at.as_second();
        let Some((_, end)) = self.periods.last_mut() else {
            self.periods.push((at, at));
            return None;
        };
        let gap = u64::try_from(at - *end).unwrap_or_default();
        if gap > IDLE_LIMIT_S {
            self.periods.push((at, at));
            return Some(gap);
        }
        *end = at.max(*end);
        None
    }

    /// Returns the total in seconds.
    pub fn seconds(&self) -> u64 {
        let length = |(start, end): &ActivePeriod| u64::try_from(end - start).unwrap_or_default();
        self.periods.iter().map(length).sum()
    }

    /// Returns the active time between two instants.
    #[must_use]
    pub fn within(&self, start: Timestamp, end: Timestamp) -> Self {
        let (first, last) = (start.as_second(), end.as_second());
        let clip = |(start, end): &ActivePeriod| ((*start).max(first), (*end).min(last));
        let periods = self.periods.iter().map(clip).filter(|(start, end)| start <= end);
        Self {
            periods: periods.collect(),
        }
    }

    /// Returns the time during which at least one of these is active.
    pub fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sorted: Vec<ActivePeriod> = all.into_iter().flat_map(|one| one.periods.iter().copied()).collect();
        sorted.sort_unstable();
        let mut periods: Vec<ActivePeriod> = Vec::new();
        for (start, end) in sorted {
            match periods.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => periods.push((start, end)),
            }
        }
        Self { periods }
    }

    /// Splits the active time at the starts of some spans. Each span gets the part up to the start of the next one;
    /// time before the first start belongs to the first span. A span without a start gets nothing.
    pub fn split_at(&self, starts: &[Option<Timestamp>]) -> Vec<Self> {
        let mut parts = Vec::with_capacity(starts.len());
        let mut from = Timestamp::MIN;
        for at in 0..starts.len() {
            let next = starts[at + 1..].iter().flatten().next();
            let until = next.copied().unwrap_or(Timestamp::MAX).max(from);
            let part = match starts[at].is_some() || at == 0 {
                true => self.within(from, until),
                false => Self::default(),
            };
            if starts[at].is_some() || at == 0 {
                from = until;
            }
            parts.push(part);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_775_000_000 + second).unwrap()
    }

    fn active(seconds: &[i64]) -> ActiveTime {
        let mut active = ActiveTime::default();
        for second in seconds {
            active.add(at(*second));
        }
        active
    }

    #[test]
    fn a_gap_over_the_limit_never_counts() {
        assert_eq!(active(&[]).seconds(), 0);
        assert_eq!(active(&[0]).seconds(), 0);
        assert_eq!(active(&[0, 300]).seconds(), 300);
        assert_eq!(active(&[0, 301]).seconds(), 0);
        assert_eq!(active(&[0, 60, 14 * 3600, 14 * 3600 + 30]).seconds(), 90);
        let mut time = active(&[0]);
        assert_eq!((time.add(at(300)), time.add(at(900))), (None, Some(600)));
    }

    #[test]
    fn a_clock_that_steps_back_neither_adds_nor_removes_time() {
        assert_eq!(active(&[0, 100, 40, 60, 100, 110]).seconds(), 110);
    }

    #[test]
    fn within_returns_the_part_between_two_instants() {
        let time = active(&[0, 100, 200, 1000, 1100]);
        assert_eq!(time.seconds(), 300);
        assert_eq!(time.within(at(50), at(1050)).seconds(), 200);
        assert_eq!(time.within(at(300), at(900)).seconds(), 0);
        let (before, after) = (time.within(at(-10), at(150)), time.within(at(150), at(2000)));
        assert_eq!(before.seconds() + after.seconds(), time.seconds());
    }

    #[test]
    fn overlapping_sessions_count_once_in_a_union() {
        let all = [active(&[0, 200]), active(&[100, 300]), active(&[1000, 1010])];
        assert_eq!(ActiveTime::union(&all).seconds(), 310);
    }

    #[test]
    fn the_time_of_a_session_is_split_between_its_turns() {
        let time = active(&[0, 100, 200, 300, 400]);
        let parts = time.split_at(&[Some(at(50)), None, Some(at(250))]);
        let seconds: Vec<u64> = parts.iter().map(ActiveTime::seconds).collect();
        assert_eq!(seconds, [250, 0, 150]);
        assert_eq!(time.split_at(&[None]).first(), Some(&time));
        assert!(time.split_at(&[]).is_empty());
    }
}
