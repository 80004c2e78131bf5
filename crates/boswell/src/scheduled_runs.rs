//! Decides when a scheduled sweep is due, and keeps a short log of past runs next to the memory.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use crate::config::Cadence;
use crate::ui::in_one_line;

/// Maximum number of runs in the log.
const RUNS_MAX: usize = 200;
const FAILED: &str = "failed";
/// The scheduler starts Boswell a little earlier or later each time.
const SLACK: SignedDuration = SignedDuration::from_mins(30);

/// Returns the time of the last run that did not fail.
pub(crate) fn last_run(data_dir: &Path) -> Option<Timestamp> {
    let log = fs::read_to_string(place(data_dir)).ok()?;
    let done = |line: &str| {
        let (at, told) = line.split_once(' ')?;
        at.parse().ok().filter(|_| !told.starts_with(FAILED))
    };
    log.lines().rev().find_map(done)
}

/// Records a failed run, which is retried within the hour.
pub(crate) fn remember_failure(data_dir: &Path, now: Timestamp, error: &dyn std::fmt::Display) {
    remember(data_dir, now, &format!("{FAILED}: {error}"));
}

/// Returns whether a sweep is due.
pub(crate) fn is_due(cadence: Cadence, last: Option<Timestamp>, now: Timestamp) -> bool {
    let every = match cadence {
        Cadence::Hourly => SignedDuration::from_hours(1),
        Cadence::Daily => SignedDuration::from_hours(24),
        Cadence::Weekly => SignedDuration::from_hours(7 * 24),
        Cadence::OnHook => return false,
    };
    // A last run in the future means that the clock was set back, so it does not count.
    last.is_none_or(|last| last > now || now.duration_since(last) >= every - SLACK)
}

/// Returns whether a sweep is due, according to the log next to this memory.
pub(crate) fn is_due_here(data_dir: &Path, cadence: Cadence, now: Timestamp) -> bool {
    is_due(cadence, last_run(data_dir), now)
}

/// Records a run. An error is ignored, because it only causes an extra sweep.
pub(crate) fn remember(data_dir: &Path, now: Timestamp, sentence: &str) {
    let path = place(data_dir);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let mut lines: Vec<&str> = before.lines().collect();
    let sentence = in_one_line(sentence);
    let new = format!("{now} {sentence}");
    lines.push(&new);
    let first = lines.len().saturating_sub(RUNS_MAX);
    let text = lines[first..].join("\n") + "\n";
    _ = tempfile::NamedTempFile::new_in(data_dir).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.persist(&path).map_err(|error| error.error)
    });
}

fn place(data_dir: &Path) -> PathBuf {
    data_dir.join("schedule.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_cadence_alone_says_when_it_is_time() {
        let now = at("2026-04-08T09:23:00Z");
        for (cadence, last, due) in [
            (Cadence::Daily, None, true),
            (Cadence::Daily, Some("2026-04-07T09:25:00Z"), true),
            (Cadence::Daily, Some("2026-04-07T10:25:00Z"), false),
            (Cadence::Hourly, Some("2026-04-08T08:23:00Z"), true),
            (Cadence::Hourly, Some("2026-04-08T09:20:00Z"), false),
            (Cadence::Weekly, Some("2026-04-01T09:23:00Z"), true),
            (Cadence::Weekly, Some("2026-04-02T09:23:00Z"), false),
            (Cadence::Daily, Some("2030-01-01T00:00:00Z"), true),
            (Cadence::OnHook, None, false),
        ] {
            assert_eq!(is_due(cadence, last.map(at), now), due, "{cadence:?} {last:?}");
        }
    }

    #[test]
    fn the_log_stays_short_and_tells_the_last_run() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(last_run(home.path()), None);
        for run in 0..RUNS_MAX + 50 {
            let now = at("2026-04-01T00:00:00Z") + SignedDuration::from_hours(run.try_into().unwrap());
            remember(home.path(), now, "read 2 sessions\nof 3");
        }
        let log = fs::read_to_string(place(home.path())).unwrap();
        assert_eq!(log.lines().count(), RUNS_MAX);
        assert_eq!(last_run(home.path()), Some(at("2026-04-11T09:00:00Z")));
        remember_failure(home.path(), at("2026-05-01T00:00:00Z"), &"the disk is full");
        assert_eq!(
            last_run(home.path()),
            Some(at("2026-04-11T09:00:00Z")),
            "it is tried again"
        );
    }
}
