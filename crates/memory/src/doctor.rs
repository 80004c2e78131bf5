//! Health of the agents' logs on this machine: which agents are installed, what they store, which of their records
//! cannot be read, and which logs the agent will delete soon. `doctor/deep.rs` checks our own store, and the modules
//! beside it repair a damaged one.

mod adopt;
mod again;
mod deep;
mod remake;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use jiff::{SignedDuration, Timestamp};
use transcript::{Agent, Unknown};

use crate::files;
use crate::logs::{LogError, Survey, survey};
use crate::mask::Masker;
use crate::sources::{self, LogFile, LogRoot, UnreadPath};

pub use deep::{Damage, DamageKind, StoreHealth, examine_store, mark_damaged};
pub use remake::{RebuiltDatabase, rebuild_database};

/// Claude Code deletes logs older than this if its settings do not name another period.
const CLEANUP_DAYS_DEFAULT: u32 = 30;
/// Logs that are deleted within this many days are reported.
const SOON_DAYS: i64 = 7;

/// Health of the logs of one agent.
#[derive(Debug)]
pub struct AgentHealth {
    pub agent: Agent,
    pub roots: Vec<RootHealth>,
    pub sessions: u64,
    pub subagents: u64,
    pub bytes: u64,
    pub versions: BTreeSet<String>,
    /// Record types that the reader does not know, by agent version.
    pub unknown: BTreeMap<Unknown, u64>,
    /// Parse errors inside logs, by reason.
    pub faults: BTreeMap<String, FaultCount>,
    /// Files that could not be read at all.
    pub unread: Vec<UnreadPath>,
    /// Sessions that are in several logs. Only the longest log of each is stored.
    pub copies: Vec<DuplicateSession>,
    /// What the agent itself will delete, or `None` if it never deletes logs.
    pub cleanup: Option<AgentCleanup>,
    /// The logs of each session, collected while they are read.
    logs: BTreeMap<String, Vec<PathBuf>>,
}

/// A root and whether it exists.
#[derive(Debug)]
pub struct RootHealth {
    pub root: LogRoot,
    pub is_there: bool,
}

/// How often an error occurred, and where it occurred first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultCount {
    pub count: u64,
    pub path: PathBuf,
    pub line: u64,
}

/// A session and all logs that contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateSession {
    pub session_uid: String,
    /// Sorted by path.
    pub paths: Vec<PathBuf>,
}

impl DuplicateSession {
    fn new(session_uid: String, mut paths: Vec<PathBuf>) -> Self {
        paths.sort();
        Self { session_uid, paths }
    }
}

/// What the agent's own cleanup will delete.
#[derive(Debug, PartialEq, Eq)]
pub struct AgentCleanup {
    pub period_days: u32,
    /// `true` if the user's settings name no period, so that the agent's default applies.
    pub is_default: bool,
    /// Logs that are deleted within a week, the earliest first.
    pub due: Vec<DueLog>,
}

/// A log that will be deleted.
#[derive(Debug, PartialEq, Eq)]
pub struct DueLog {
    pub path: PathBuf,
    pub deleted_at: Timestamp,
}

/// What to examine, and how.
#[derive(Clone, Copy)]
pub struct LogExamination<'a> {
    pub roots: &'a [LogRoot],
    pub now: Timestamp,
    pub threads: usize,
    pub masker: &'a Masker,
    /// Returns `true` for logs that must not be read.
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Called with the number of logs read and the total number, from several threads.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Examines the logs in all roots.
pub fn examine_logs(examination: &LogExamination<'_>) -> Vec<AgentHealth> {
    let LogExamination {
        roots,
        now,
        threads,
        masker,
        is_ignored,
        progress,
    } = *examination;
    let mut found = Vec::new();
    for agent in Agent::ALL {
        let mut health = AgentHealth::new(agent);
        let mut logs = Vec::new();
        for root in roots.iter().filter(|root| root.agent == agent) {
            let is_there = root.path.is_dir();
            let walked = sources::find_logs(root);
            health.unread.extend(walked.unread);
            logs.extend(walked.logs.into_iter().filter(|log| !is_ignored(&log.path)));
            health.roots.push(RootHealth {
                root: root.clone(),
                is_there,
            });
        }
        health.count_logs(&logs);
        if agent == Agent::Claude {
            health.cleanup = roots
                .iter()
                .find(|root| root.agent == agent)
                .map(|root| plan_cleanup(&root.path, &logs, now));
        }
        found.push((health, logs));
    }
    read_all(found, threads, masker, progress)
}

/// Returns what Claude Code will delete from its roots, or `None` if it has no root.
pub fn plan_claude_cleanup(
    roots: &[LogRoot],
    now: Timestamp,
    is_ignored: &dyn Fn(&Path) -> bool,
) -> Option<AgentCleanup> {
    let own = || roots.iter().filter(|root| root.agent == Agent::Claude);
    let logs = own().flat_map(|root| sources::find_logs(root).logs);
    let logs: Vec<LogFile> = logs.filter(|log| !is_ignored(&log.path)).collect();
    own().next().map(|root| plan_cleanup(&root.path, &logs, now))
}

/// Reads every log on several threads and keeps only the counts.
fn read_all(
    found: Vec<(AgentHealth, Vec<LogFile>)>,
    threads: usize,
    masker: &Masker,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<AgentHealth> {
    let mut healths = Vec::new();
    let mut logs: Vec<(usize, LogFile)> = Vec::new();
    for (at, (health, agent_logs)) in found.into_iter().enumerate() {
        healths.push(health);
        logs.extend(agent_logs.into_iter().map(|log| (at, log)));
    }
    // The largest logs come first because otherwise one thread could still be busy with a large log when all others
    // are done.
    logs.sort_by(|(_, a), (_, b)| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let healths = Mutex::new(healths);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, 64) {
            scope.spawn(|| {
                while let Some((at, log)) = logs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = survey(&log.path, log.agent, masker);
                    if let Ok(mut healths) = healths.lock() {
                        healths[*at].add_survey(log, read);
                    }
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, logs.len());
                }
            });
        }
    });
    let mut healths = healths.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for health in &mut healths {
        health.unread.sort_by(|a, b| a.path.cmp(&b.path));
        // The same companion can belong to several logs.
        health.unread.dedup();
        let logs = std::mem::take(&mut health.logs).into_iter();
        let several = logs.filter(|(_, paths)| paths.len() > 1);
        health.copies = several
            .map(|(session_uid, paths)| DuplicateSession::new(session_uid, paths))
            .collect();
    }
    healths
}

impl AgentHealth {
    fn new(agent: Agent) -> Self {
        Self {
            agent,
            roots: Vec::new(),
            sessions: 0,
            subagents: 0,
            bytes: 0,
            versions: BTreeSet::new(),
            unknown: BTreeMap::new(),
            faults: BTreeMap::new(),
            unread: Vec::new(),
            copies: Vec::new(),
            cleanup: None,
            logs: BTreeMap::new(),
        }
    }

    fn count_logs(&mut self, logs: &[LogFile]) {
        self.subagents = logs.iter().filter(|log| log.is_subagent).count() as u64;
        self.sessions = logs.len() as u64 - self.subagents;
        self.bytes = logs.iter().map(|log| log.bytes).sum();
    }

    fn add_survey(&mut self, log: &LogFile, read: Result<Survey, LogError>) {
        let survey = match read {
            Ok(survey) => survey,
            Err(error) => {
                self.unread.push(UnreadPath {
                    path: log.path.clone(),
                    reason: error.reason(),
                });
                return;
            }
        };
        if survey.is_subagent && !log.is_subagent {
            self.sessions = self.sessions.saturating_sub(1);
            self.subagents += 1;
        }
        self.versions.extend(survey.version);
        self.unread.extend(survey.unread);
        if let Some(session_uid) = survey.session_uid {
            self.logs.entry(session_uid).or_default().push(log.path.clone());
        }
        for (unknown, count) in survey.unknown {
            *self.unknown.entry(unknown).or_default() += count;
        }
        for (reason, (count, line)) in survey.faults {
            let first = || FaultCount {
                count: 0,
                path: log.path.clone(),
                line,
            };
            let known = self.faults.entry(reason).or_insert_with(first);
            known.count += count;
            // Threads finish in any order, so the first place by path and line is chosen to be the same in every run.
            if (&log.path, line) < (&known.path, known.line) {
                (known.path, known.line) = (log.path.clone(), line);
            }
        }
    }
}

/// Returns what Claude Code will delete according to its settings and the age of the logs.
fn plan_cleanup(root: &Path, logs: &[LogFile], now: Timestamp) -> AgentCleanup {
    let configured = files::read_companion(root, &root.join("settings.json"))
        .ok()
        .and_then(|bytes| parse_period(&bytes));
    let period_days = configured.unwrap_or(CLEANUP_DAYS_DEFAULT);
    let period = SignedDuration::from_hours(24 * i64::from(period_days));
    let soon = now + SignedDuration::from_hours(24 * SOON_DAYS);
    let mut due: Vec<DueLog> = logs
        .iter()
        .filter(|log| !log.is_subagent)
        .filter_map(|log| {
            let deleted_at = log.modified?.checked_add(period).ok()?;
            (deleted_at <= soon).then(|| DueLog {
                path: log.path.clone(),
                deleted_at,
            })
        })
        .collect();
    due.sort_by(|a, b| a.deleted_at.cmp(&b.deleted_at).then_with(|| a.path.cmp(&b.path)));
    AgentCleanup {
        period_days,
        is_default: configured.is_none(),
        due,
    }
}

/// Parses `cleanupPeriodDays` of Claude Code's settings.
fn parse_period(settings: &[u8]) -> Option<u32> {
    let settings: serde_json::Value = serde_json::from_slice(settings).ok()?;
    settings
        .get("cleanupPeriodDays")?
        .as_u64()
        .and_then(|days| u32::try_from(days).ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::mask::{MaskKey, UserRules};

    fn masker() -> Masker {
        Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap()
    }

    #[test]
    fn examine_counts_sessions_and_names_the_first_fault() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-home-ada-app");
        fs::create_dir_all(&project).unwrap();
        fs::write(
            project.join("s1.jsonl"),
            "{\"type\":\"user\",\"version\":\"2.1.9\",\"message\":{\"content\":\"hi\"}}\n{\"torn\n",
        )
        .unwrap();
        fs::write(
            project.join("s2.jsonl"),
            "{\"type\":\"from-the-future\",\"version\":\"9.0.0\"}\n{\"torn\n",
        )
        .unwrap();
        fs::write(home.path().join("settings.json"), r#"{"cleanupPeriodDays":3}"#).unwrap();
        let roots = [LogRoot {
            agent: Agent::Claude,
            path: home.path().to_owned(),
            label: None,
        }];
        let examination = LogExamination {
            roots: &roots,
            now: Timestamp::now(),
            threads: 2,
            masker: &masker(),
            is_ignored: &|path| path.ends_with("ignored.jsonl"),
            progress: &|_, _| {},
        };
        fs::write(project.join("ignored.jsonl"), "{\"type\":\"user\"}\n").unwrap();
        let health = examine_logs(&examination).remove(0);
        assert_eq!((health.sessions, health.subagents), (2, 0));
        assert_eq!(health.versions.iter().collect::<Vec<_>>(), ["2.1.9", "9.0.0"]);
        assert_eq!(
            health
                .unknown
                .keys()
                .map(|unknown| unknown.record.as_str())
                .collect::<Vec<_>>(),
            ["from-the-future"]
        );
        let fault = health.faults.values().next().unwrap();
        assert_eq!(
            (fault.count, fault.line, fault.path.ends_with("s1.jsonl")),
            (2, 2, true)
        );
        let cleanup = health.cleanup.unwrap();
        assert_eq!(
            (cleanup.period_days, cleanup.is_default, cleanup.due.len()),
            (3, false, 2)
        );
    }
    #[test]
    fn examine_counts_subagents_that_only_the_log_declares() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/05/12");
        fs::create_dir_all(&day).unwrap();
        let log = |id: &str, source: &str| {
            let head = format!(
                r#"{{"timestamp":"2026-05-12T09:00:00Z","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-05-12T09:00:00Z","cwd":"/home/ada/app","cli_version":"0.118.0","source":{source}}}}}"#
            );
            fs::write(day.join(format!("rollout-2026-05-12T09-00-00-{id}.jsonl")), head + "\n").unwrap();
        };
        let parent = "019e0000-0000-7000-8000-000000000001";
        log(parent, r#""cli""#);
        log(
            "019e0000-0000-7000-8000-000000000002",
            &format!(r#"{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{parent}","depth":1}}}}}}"#),
        );
        let roots = [LogRoot {
            agent: Agent::Codex,
            path: home.path().to_owned(),
            label: None,
        }];
        let examination = LogExamination {
            roots: &roots,
            now: Timestamp::now(),
            threads: 1,
            masker: &masker(),
            is_ignored: &|_| false,
            progress: &|_, _| {},
        };
        let healths = examine_logs(&examination);
        let codex = healths.iter().find(|health| health.agent == Agent::Codex).unwrap();
        assert_eq!((codex.sessions, codex.subagents), (1, 1));
    }
}
