//! Detects changed logs: from notifications of the operating system, or by polling if there are none. Nothing here
//! reads a log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use memory::sources::LogRoot;
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::context::Clock;

/// The default polling interval.
const POLL: Duration = Duration::from_secs(2);
/// How often missing roots are checked.
const MISSING: Duration = Duration::from_secs(10);

/// Changes to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Paths(Vec<PathBuf>),
    /// Something changed, but it is not known which logs.
    Something,
    Nothing,
}

/// Detects changes below some roots.
pub(super) struct Changes {
    events: Receiver<notify::Result<Event>>,
    /// `None` if the logs are polled.
    watcher: Option<RecommendedWatcher>,
    poll: Duration,
    why: Option<String>,
    /// Roots that do not exist yet.
    missing: Vec<PathBuf>,
    /// The clock times of the first and the last change of each path that was not returned yet.
    waiting: BTreeMap<PathBuf, (Duration, Duration)>,
    clock: Clock,
    is_anything: bool,
}

impl Changes {
    /// Watches some roots. `poll` is an interval for polling, which then replaces notifications.
    pub(super) fn of(roots: &[LogRoot], poll: Option<Duration>, clock: Clock) -> Self {
        let (sender, events) = channel();
        let mut changes = Self {
            events,
            watcher: None,
            poll: poll.unwrap_or(POLL),
            why: None,
            missing: roots.iter().map(|root| root.path.clone()).collect(),
            waiting: BTreeMap::new(),
            clock,
            is_anything: false,
        };
        if poll.is_none() {
            match notify::recommended_watcher(sender) {
                Ok(watcher) => changes.watcher = Some(watcher),
                Err(error) => changes.why = Some(error.to_string()),
            }
            changes.look_for_missing();
            changes.is_anything = false;
        }
        changes
    }

    /// Returns the reason why the logs are polled, if they are.
    pub(super) fn polls_because(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Starts to watch roots that exist by now.
    fn look_for_missing(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let mut failed = None;
        let is_new = &mut self.is_anything;
        self.missing.retain(|root| {
            if !root.is_dir() {
                return true;
            }
            match watcher.watch(root, RecursiveMode::Recursive) {
                Ok(()) => *is_new = true,
                // Usually the system's limit of watched directories.
                Err(error) => failed = Some(error.to_string()),
            }
            false
        });
        if failed.is_some() {
            self.why = failed;
            self.watcher = None;
            self.is_anything = true;
        }
    }

    /// Waits for changes, for at most `at_most`. A path is returned when it was unchanged for `quiet`, or `patience`
    /// after its first change.
    pub(super) fn next(&mut self, quiet: Duration, patience: Duration, at_most: Duration) -> Told {
        let end = self.clock.elapsed() + at_most;
        loop {
            let now = self.clock.elapsed();
            if std::mem::take(&mut self.is_anything) {
                return Told::Something;
            }
            let ripe: Vec<PathBuf> = self.ripe(now, quiet, patience);
            if !ripe.is_empty() {
                return Told::Paths(ripe);
            }
            if now >= end {
                return Told::Nothing;
            }
            let wait = match (&self.watcher, self.waiting.is_empty()) {
                (None, _) => self.poll,
                (Some(_), false) => quiet,
                (Some(_), true) if self.missing.is_empty() => at_most,
                (Some(_), true) => MISSING,
            };
            match self.events.recv_timeout(wait.min(end - now)) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => match self.watcher {
                    None => self.is_anything = self.wait_out(wait, now, end),
                    Some(_) => self.look_for_missing(),
                },
            }
        }
    }

    /// Waits out the rest of a polling interval, because there are no notifications. Returns whether the interval ended
    /// before the whole wait, so that the logs have to be checked.
    fn wait_out(&self, wait: Duration, since: Duration, end: Duration) -> bool {
        let until = (since + wait).min(end);
        loop {
            let left = until.saturating_sub(self.clock.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::park_timeout(left);
        }
        until < end
    }

    /// Requests another check of all logs, because the last sweep failed.
    pub(super) fn again(&mut self) {
        let now = self.clock.elapsed();
        self.waiting.entry(PathBuf::new()).or_insert((now, now));
    }

    fn take(&mut self, event: notify::Result<Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.is_anything = true,
            Ok(event) if says_something(&event.kind) => {
                let now = self.clock.elapsed();
                for path in event.paths.into_iter().filter(|path| is_of_a_session(path)) {
                    self.waiting.entry(path).or_insert((now, now)).1 = now;
                }
            }
            Ok(_) => {}
            Err(_) => self.is_anything = true,
        }
    }

    fn ripe(&mut self, now: Duration, quiet: Duration, patience: Duration) -> Vec<PathBuf> {
        let is_ripe = |(first, last): &(Duration, Duration)| now - *last >= quiet || now - *first >= patience;
        let ripe: Vec<PathBuf> = self
            .waiting
            .iter()
            .filter(|(_, times)| is_ripe(times))
            .map(|(path, _)| path.clone())
            .collect();
        self.waiting.retain(|path, _| !ripe.contains(path));
        if ripe.iter().any(|path| path.as_os_str().is_empty()) {
            self.is_anything = true;
            return Vec::new();
        }
        ripe
    }
}

/// Returns whether an event can mean new content. Reading a file or changing its metadata does not.
fn says_something(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(_) => false,
        EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    }
}

/// Returns whether a file may belong to a session, judging by its extension.
fn is_of_a_session(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("jsonl" | "zst" | "json" | "txt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::Agent;

    const LONG: Duration = Duration::from_secs(20);

    fn root(path: &Path) -> LogRoot {
        LogRoot {
            agent: Agent::Claude,
            path: path.to_owned(),
            label: None,
        }
    }

    #[test]
    fn what_grows_is_told_once_it_is_quiet_and_what_is_read_is_not() {
        let home = tempfile::tempdir().unwrap();
        let home = std::fs::canonicalize(home.path()).unwrap();
        let log = home.join("a.jsonl");
        std::fs::write(&log, "one\n").unwrap();
        let mut changes = Changes::of(&[root(&home)], None, Clock::start());
        assert_eq!(changes.polls_because(), None);
        std::fs::read(&log).unwrap();
        std::fs::write(home.join("other.lock"), "x").unwrap();
        assert_eq!(
            changes.next(Duration::ZERO, LONG, Duration::from_millis(50)),
            Told::Nothing
        );
        std::fs::write(&log, "one\ntwo\n").unwrap();
        assert_eq!(
            changes.next(Duration::from_millis(20), LONG, LONG),
            Told::Paths(vec![log.clone()])
        );
        let deeper = home.join("new/deeper");
        std::fs::create_dir_all(&deeper).unwrap();
        changes.again();
        assert_eq!(changes.next(Duration::from_millis(20), LONG, LONG), Told::Something);
    }

    #[test]
    fn a_root_that_comes_later_is_watched_and_polling_says_that_there_may_be_something() {
        let home = tempfile::tempdir().unwrap();
        let late = home.path().join("late");
        let mut changes = Changes::of(&[root(&late)], None, Clock::start());
        std::fs::create_dir(&late).unwrap();
        changes.look_for_missing();
        assert_eq!(changes.next(Duration::ZERO, LONG, LONG), Told::Something);
        let mut polled = Changes::of(&[root(&late)], Some(Duration::from_millis(30)), Clock::start());
        assert_eq!(polled.next(Duration::ZERO, LONG, LONG), Told::Something);
        assert_eq!(polled.polls_because(), None, "polling was requested");
    }
}
