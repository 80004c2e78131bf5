//! The diary's evidence: one day of all agents' sessions, gathered into a workspace from which a report is written.
//!
//! The workspace is the only thing a report reads. It is whole or absent: written aside and renamed. One bad log costs
//! itself and is told. The time, the zone, the roots and whether logs are copied as they are come in as arguments.

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

pub use audit::{FromMemory, Masked, Notes, Renamed, Skipped};
pub use copy::Copies;
pub use days::{Day, days};
pub use traces::{Trace, sessions_in, take_away, traces};
pub use window::{Status, Window, WindowError};

use crate::sources::{self, Log, Root};
use crate::store::Store;
use collect::Candidate;

/// Below the reports root, where each day has its workspace and its report.
pub const WORK: &str = "work";

/// Version of the workspace.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// What a workspace is to be made of.
pub struct Ask<'a> {
    pub window: &'a Window,
    pub zone: &'a TimeZone,
    pub now: Timestamp,
    pub roots: &'a [Root],
    /// The project of a session that tells none.
    pub fallback_roots: BTreeMap<Agent, PathBuf>,
    /// Where workspaces are kept.
    pub reports_root: &'a Path,
    /// What `~` means in a log.
    pub home: &'a Path,
    pub copies: Copies<'a>,
    pub threads: usize,
    pub is_ignored: &'a (dyn Fn(&Path) -> bool + Sync),
    /// A workspace that is there is made anew.
    pub force: bool,
    pub empty_day: EmptyDay,
}

/// How to prepare a day without sessions that has no workspace yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyDay {
    /// It gets a workspace without sessions.
    Prepare,
    /// Nothing is written.
    Skip,
}

/// What became of a day.
#[derive(Debug)]
pub enum Prepared {
    /// It was there already, and stays.
    There(PathBuf),
    Made(Made),
    /// The day has no sessions, and [`EmptyDay::Skip`] was given.
    Empty,
}

/// A workspace that was made.
#[derive(Debug)]
pub struct Made {
    pub workspace: PathBuf,
    pub projects: usize,
    pub sessions: usize,
    pub turns: usize,
    pub subagents: usize,
    pub notes: Notes,
    /// It replaces a workspace that was prepared before the day was over.
    pub was_partial: bool,
}

/// Why a day has no workspace.
#[derive(Debug, Error)]
pub enum DiaryError {
    #[error("cannot write {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("another run is preparing a day there: {0}")]
    Busy(PathBuf),
    #[error("the workspace there is another one ({fields}): {path}")]
    Mismatch { path: PathBuf, fields: String },
}

/// How a source is called in a workspace.
pub(crate) fn source_name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-code",
        Agent::Codex => "codex",
        Agent::Grok => "grok",
    }
}

/// The key and the label of the project that a session worked in, as a workspace has them.
pub(crate) fn project_of(cwd: Option<&str>, flavor: &str, native_id: &str, home: &Path) -> (String, String) {
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == flavor);
    let source = agent.map_or_else(|| flavor.to_owned(), |agent| source_name(agent).to_owned());
    let project = match cwd {
        Some(cwd) => roots::Project::of_root(cwd, home),
        None => roots::Project::unknown(&source, native_id),
    };
    (project.key, project.label)
}

/// Makes the workspace of a day, from the logs and from what the store kept of those that are gone.
pub fn prepare(ask: &Ask<'_>, store: Option<&Store>) -> Result<Prepared, DiaryError> {
    let site = write::Site::open(ask.reports_root, ask.window.date)?;
    let standing = site.standing(ask.window)?;
    let is_new = standing == write::Standing::Nothing;
    let was_partial = match standing {
        write::Standing::Same(at) if !ask.force && !is_outgrown(ask, at) => {
            return Ok(Prepared::There(site.workspace()));
        }
        write::Standing::Same(_) => !ask.force,
        write::Standing::Other(fields) if !ask.force => {
            let path = site.workspace();
            return Err(DiaryError::Mismatch { path, fields });
        }
        write::Standing::Outdated => true,
        _ => false,
    };
    // Links are resolved, so that a session's root can be told to lie inside.
    let ask = &Ask {
        reports_root: site.root(),
        fallback_roots: ask.fallback_roots.clone(),
        ..*ask
    };
    let copies = site.copies()?;
    let mut notes = Notes::default();
    let logs = find_logs(ask, &mut notes);
    let gone = match store {
        Some(store) => recalled::recall(store, ask, &logs, &copies, &mut notes),
        None => Vec::new(),
    };
    let forgotten = recalled::Forgotten::new(store);
    let candidates = candidates_of_day(ask, &logs, &gone);
    let mut collected = collect::collect(ask, &candidates, &forgotten, &copies);
    notes.skipped.append(&mut collected.skipped);
    notes.from_source.retain(|uid| collected.has_session(uid));
    let places: Vec<PathBuf> = ask.roots.iter().flat_map(places_of).collect();
    collected.picked.sort_by(|a, b| a.place.cmp(&b.place));
    collected.picked = collect::without_copies(collected.picked, &places, &mut notes.skipped);
    let is_empty = collected.picked.is_empty() && notes.evicted.is_empty();
    if is_empty && is_new && ask.empty_day == EmptyDay::Skip {
        return Ok(Prepared::Empty);
    }
    let family = assemble::Family {
        children: children::Children::new(&logs),
        store,
        gone: &gone,
        forgotten: &forgotten,
        copies: &copies,
    };
    let tree = assemble::assemble(ask, collected, &family, notes);
    let made = site.write(ask, tree)?;
    Ok(Prepared::Made(Made { was_partial, ..made }))
}

/// Returns the logs that may hold turns of the day: those on disk, the longest first so that no thread is left alone with one, then those
/// that only the memory has.
fn candidates_of_day<'l>(ask: &Ask<'_>, logs: &'l [Log], gone: &'l [recalled::Gone]) -> Vec<Candidate<'l>> {
    let mut of_day: Vec<&Log> = logs
        .iter()
        .filter(|log| collect::may_be_of_day(log, ask.window.start))
        .collect();
    of_day.sort_by_key(|log| std::cmp::Reverse(log.bytes));
    let on_disk = of_day.into_iter().map(|log| Candidate {
        agent: log.agent,
        path: &log.path,
        place: &log.path,
        modified: log.modified,
        is_from_memory: false,
        beside: &[],
    });
    let from_memory = gone.iter().map(|gone| Candidate {
        agent: gone.agent,
        path: &gone.file,
        place: &gone.place,
        modified: None,
        is_from_memory: true,
        beside: &gone.beside,
    });
    on_disk.chain(from_memory).collect()
}

/// Returns whether a log of a day that is not over was written after the day was prepared. The time of the last write is
/// compared, so that no log has to be read.
fn is_outgrown(ask: &Ask<'_>, prepared_at: Option<Timestamp>) -> bool {
    if ask.window.status != Status::Partial {
        return false;
    }
    let logs = find_logs(ask, &mut Notes::default());
    logs.iter()
        .filter(|log| !(ask.is_ignored)(&log.path))
        .any(|log| match (log.modified, prepared_at) {
            (Some(modified), Some(prepared_at)) => modified > prepared_at,
            _ => true,
        })
}

/// Finds all logs of all roots, each once.
fn find_logs(ask: &Ask<'_>, notes: &mut Notes) -> Vec<Log> {
    let mut logs: Vec<Log> = Vec::new();
    for agent in [Agent::Codex, Agent::Claude, Agent::Grok] {
        for root in ask.roots.iter().filter(|root| root.agent == agent) {
            let found = sources::find(root);
            logs.extend(found.logs);
            let unread = found.unread.into_iter();
            notes
                .skipped
                .extend(unread.map(|unread| Skipped::at(&unread.path, unread.reason)));
        }
    }
    logs.sort_by(|a, b| (a.agent, &a.path).cmp(&(b.agent, &b.path)));
    logs.dedup_by(|a, b| a.path == b.path);
    logs
}

/// The directories of a root in which logs lie.
fn places_of(root: &Root) -> Vec<PathBuf> {
    let names: &[&str] = match root.agent {
        Agent::Claude => &["projects"],
        Agent::Codex => &["sessions", "archived_sessions"],
        Agent::Grok => &["sessions"],
    };
    names.iter().map(|name| root.path.join(name)).collect()
}

/// The places that were searched, as the audit tells them. Those that every user has are told even where they are empty.
fn specs(ask: &Ask<'_>) -> Vec<audit::Spec> {
    let mut specs = Vec::new();
    for agent in [Agent::Codex, Agent::Claude, Agent::Grok] {
        let fallback = ask.fallback_roots.get(&agent).map(PathBuf::as_path);
        for root in ask.roots.iter().filter(|root| root.agent == agent) {
            for (number, place) in places_of(root).into_iter().enumerate() {
                let is_usual = number == 0 && agent != Agent::Grok;
                if is_usual || place.exists() {
                    specs.push(audit::Spec::new(agent, &place, fallback));
                }
            }
        }
    }
    specs
}
