//! Prepares the evidence for the diary: one day of all agents' sessions, in a workspace from which a report is written.
//!
//! A report reads nothing but the workspace. The workspace is written to a temporary directory and renamed, so it is
//! complete or absent. If a log cannot be read, only that log is left out, and the audit names it. The time, the zone,
//! the roots and the kind of copies are arguments.

mod assemble;
mod audit;
mod children;
mod collect;
mod copy;
mod days;
mod flat;
mod index;
mod links;
mod names;
mod probe;
mod recalled;
mod roots;
mod scan;
mod text;
mod traces;
mod window;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use thiserror::Error;
use transcript::Agent;

pub use audit::{AuditNotes, MaskedCopy, RenamedFile, RestoredSession, SkippedSource};
pub use copy::Copies;
pub use days::{DiaryDay, list_days};
pub use traces::{WorkspaceTrace, find_traces, remove_days, workspace_sessions};
pub use window::{DayStatus, DayWindow, WindowError};

use crate::sources::{self, LogFile, LogRoot};
use crate::store::Store;
use collect::CandidateLog;

/// Directory below the reports root that contains one workspace with its report per day.
pub const WORK_DIRECTORY: &str = "work";

/// Schema version of the workspace.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// The inputs of [`prepare`].
pub struct PrepareRequest<'a> {
    pub window: &'a DayWindow,
    pub zone: &'a TimeZone,
    pub now: Timestamp,
    pub roots: &'a [LogRoot],
    /// The project root of a session whose log names none, by agent.
    pub fallback_roots: BTreeMap<Agent, PathBuf>,
    /// The directory that contains the workspaces.
    pub reports_root: &'a Path,
    /// The meaning of `~` in a log.
    pub home: &'a Path,
    pub copies: Copies<'a>,
    pub threads: usize,
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Replaces an existing workspace.
    pub force: bool,
    pub empty_day: EmptyDay,
}

/// What to do with a day that has neither sessions nor a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyDay {
    /// Creates a workspace without sessions.
    Prepare,
    /// Writes nothing.
    Skip,
}

/// The result of [`prepare`].
#[derive(Debug)]
pub enum Prepared {
    /// The workspace existed already and was kept.
    Existing(PathBuf),
    Created(PreparedWorkspace),
    /// The day has no sessions, and [`EmptyDay::Skip`] was given.
    Empty,
}

/// A workspace that was created.
#[derive(Debug)]
pub struct PreparedWorkspace {
    pub workspace: PathBuf,
    pub projects: usize,
    pub sessions: usize,
    pub turns: usize,
    pub subagents: usize,
    pub notes: AuditNotes,
    /// True if it replaced a workspace that was prepared before the day was over.
    pub was_partial: bool,
}

/// The reasons why a workspace cannot be prepared.
#[derive(Debug, Error)]
pub enum DiaryError {
    #[error("cannot write {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("another run is preparing a day there: {0}")]
    Busy(PathBuf),
    #[error("the existing workspace differs in {fields}: {path}")]
    Mismatch { path: PathBuf, fields: String },
}

/// Returns the name of an agent in a workspace.
pub(crate) fn source_name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-code",
        Agent::Codex => "codex",
        Agent::Grok => "grok",
    }
}

/// Returns the key and the label that a workspace uses for the project in which a session worked.
pub(crate) fn workspace_project(cwd: Option<&str>, flavor: &str, native_id: &str, home: &Path) -> (String, String) {
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == flavor);
    let source = agent.map_or_else(|| flavor.to_owned(), |agent| source_name(agent).to_owned());
    let project = match cwd {
        Some(cwd) => roots::Project::from_root(cwd, home),
        None => roots::Project::unknown(&source, native_id),
    };
    (project.key, project.label)
}

/// Prepares the workspace of a day from the logs, and from the store if a log was deleted.
pub fn prepare(request: &PrepareRequest<'_>, store: Option<&Store>) -> Result<Prepared, DiaryError> {
    let directory = write::DayDirectory::open(request.reports_root, request.window.date)?;
    let existing = directory.compare_existing(request.window)?;
    let is_new = existing == write::ExistingWorkspace::Nothing;
    let was_partial = match existing {
        write::ExistingWorkspace::Same(at) if !request.force && !has_newer_logs(request, at) => {
            return Ok(Prepared::Existing(directory.workspace()));
        }
        write::ExistingWorkspace::Same(_) => !request.force,
        write::ExistingWorkspace::Other(fields) if !request.force => {
            let path = directory.workspace();
            return Err(DiaryError::Mismatch { path, fields });
        }
        write::ExistingWorkspace::Outdated => true,
        _ => false,
    };
    // The root is canonical, so that sessions that worked inside it can be recognized.
    let request = &PrepareRequest {
        reports_root: directory.root(),
        fallback_roots: request.fallback_roots.clone(),
        ..*request
    };
    let copies = directory.copies()?;
    let mut notes = AuditNotes::default();
    let logs = find_logs(request, &mut notes);
    let recalled = match store {
        Some(store) => recalled::recall(store, request, &logs, &copies, &mut notes),
        None => Vec::new(),
    };
    let forgotten = recalled::ForgottenSessions::new(store);
    let candidates = day_candidates(request, &logs, &recalled);
    let mut collected = collect::collect(request, &candidates, &forgotten, &copies);
    notes.skipped.append(&mut collected.skipped);
    notes.from_source.retain(|uid| collected.has_session(uid));
    let places: Vec<PathBuf> = request.roots.iter().flat_map(log_directories).collect();
    collected.picked.sort_by(|a, b| a.place.cmp(&b.place));
    collected.picked = collect::drop_copies(collected.picked, &places, &mut notes.skipped);
    let is_empty = collected.picked.is_empty() && notes.evicted.is_empty();
    if is_empty && is_new && request.empty_day == EmptyDay::Skip {
        return Ok(Prepared::Empty);
    }
    let lookup = assemble::ChildLookup {
        children: children::ChildLogs::new(&logs, request.copies.disclosure()),
        store,
        recalled: &recalled,
        forgotten: &forgotten,
        copies: &copies,
    };
    let tree = assemble::assemble(request, collected, &lookup, notes);
    let made = directory.write(request, tree)?;
    Ok(Prepared::Created(PreparedWorkspace { was_partial, ..made }))
}

/// Returns the logs that may contain turns of the day: first those on disk, then those that only the store has. The
/// largest logs come first because a thread that gets one last would work alone at the end.
fn day_candidates<'l>(
    request: &PrepareRequest<'_>,
    logs: &'l [LogFile],
    recalled: &'l [recalled::RecalledLog],
) -> Vec<CandidateLog<'l>> {
    let mut on_day: Vec<&LogFile> = logs
        .iter()
        .filter(|log| collect::may_contain(log, request.window.start))
        .collect();
    on_day.sort_by_key(|log| std::cmp::Reverse(log.bytes));
    let on_disk = on_day.into_iter().map(|log| CandidateLog {
        agent: log.agent,
        path: &log.path,
        place: &log.path,
        modified: log.modified,
        is_from_memory: false,
        companions: &[],
    });
    let from_memory = recalled.iter().map(|log| CandidateLog {
        agent: log.agent,
        path: &log.file,
        place: &log.place,
        modified: None,
        is_from_memory: true,
        companions: &log.companions,
    });
    on_disk.chain(from_memory).collect()
}

/// Returns `true` if the day is not over and a log was written after the workspace was prepared. It compares
/// modification times because reading all logs would take too long.
fn has_newer_logs(request: &PrepareRequest<'_>, prepared_at: Option<Timestamp>) -> bool {
    if request.window.status != DayStatus::Partial {
        return false;
    }
    let logs = find_logs(request, &mut AuditNotes::default());
    logs.iter()
        .filter(|log| !(request.is_ignored)(&log.path))
        .any(|log| match (log.modified, prepared_at) {
            (Some(modified), Some(prepared_at)) => modified > prepared_at,
            _ => true,
        })
}

/// Finds the logs of all roots, without duplicates.
fn find_logs(request: &PrepareRequest<'_>, notes: &mut AuditNotes) -> Vec<LogFile> {
    let mut logs: Vec<LogFile> = Vec::new();
    for agent in [Agent::Codex, Agent::Claude, Agent::Grok] {
        for root in request.roots.iter().filter(|root| root.agent == agent) {
            let found = sources::find_logs(root);
            logs.extend(found.logs);
            let unread = found.unread.into_iter();
            notes
                .skipped
                .extend(unread.map(|unread| SkippedSource::at(&unread.path, unread.reason)));
        }
    }
    logs.sort_by(|a, b| (a.agent, &a.path).cmp(&(b.agent, &b.path)));
    logs.dedup_by(|a, b| a.path == b.path);
    logs
}

/// Returns the directories of a root that contain logs.
fn log_directories(root: &LogRoot) -> Vec<PathBuf> {
    let names: &[&str] = match root.agent {
        Agent::Claude => &["projects"],
        Agent::Codex => &["sessions", "archived_sessions"],
        Agent::Grok => &["sessions"],
    };
    names.iter().map(|name| root.path.join(name)).collect()
}

/// Returns the searched directories for the audit. The default directories are listed even if they do not exist.
fn searched_directories(request: &PrepareRequest<'_>) -> Vec<audit::SourceSpec> {
    let mut specs = Vec::new();
    for agent in [Agent::Codex, Agent::Claude, Agent::Grok] {
        let fallback = request.fallback_roots.get(&agent).map(PathBuf::as_path);
        for root in request.roots.iter().filter(|root| root.agent == agent) {
            for (number, place) in log_directories(root).into_iter().enumerate() {
                let is_usual = number == 0 && agent != Agent::Grok;
                if is_usual || place.exists() {
                    specs.push(audit::SourceSpec::new(agent, &place, fallback));
                }
            }
        }
    }
    specs
}
