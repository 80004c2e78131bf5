//! Restores from the store the sessions of the day whose logs the agents deleted.
//!
//! An error of the store only costs the sessions it affects, and the audit names it, because the logs on disk are still
//! worth a report.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use transcript::{Agent, PartKind, SessionUid};

use super::PrepareRequest;
use super::audit::{AuditNotes, SkippedSource};
use super::collect::PickedSession;
use super::copy::private_file;
use super::links::ChildLink;
use crate::kept;
use crate::sources::{self, LogFile};
use crate::store::{ListedSession, SessionStatus, Store, StoreError};

/// A session whose log was deleted.
#[derive(Debug)]
pub(super) struct RecalledLog {
    pub(super) session_uid: String,
    pub(super) agent: Agent,
    /// The original path of its log.
    pub(super) place: PathBuf,
    /// The file with its restored lines.
    pub(super) file: PathBuf,
    /// The companion files of a Grok log.
    pub(super) companions: Vec<StoredCompanion>,
}

/// A restored companion file of a Grok log.
#[derive(Debug)]
pub(super) struct StoredCompanion {
    pub(super) kind: PartKind,
    /// Its original file name.
    pub(super) name: &'static str,
    /// The file with its restored bytes.
    pub(super) file: PathBuf,
}

/// The sessions that the user removed with `forget`. Their logs may still exist, but the diary must not bring them
/// back.
#[derive(Debug, Default)]
pub(super) struct ForgottenSessions {
    uids: HashSet<String>,
}

impl ForgottenSessions {
    /// Reads the tombstones. If the store cannot be read, the result is empty, because [`recall`] reports that error.
    pub(super) fn new(store: Option<&Store>) -> Self {
        let uids = store.and_then(|store| store.reads().tombstones().ok());
        Self {
            uids: uids.unwrap_or_default(),
        }
    }

    /// Returns `true` if a session or its parent was forgotten.
    pub(super) fn has(&self, agent: Agent, native: &str) -> bool {
        let uid = |native: &str| SessionUid::new(agent, native).as_str().to_owned();
        let parent = native.split_once('/').map_or(native, |(parent, _)| parent);
        !self.uids.is_empty() && (self.uids.contains(&uid(native)) || self.uids.contains(&uid(parent)))
    }
}

/// Returns the sessions of the day whose logs only the store still has, and notes those that were evicted.
pub(super) fn recall(
    store: &Store,
    request: &PrepareRequest<'_>,
    logs: &[LogFile],
    copies: &Path,
    notes: &mut AuditNotes,
) -> Vec<RecalledLog> {
    let mut failed = |what: &str, error: &StoreError| {
        notes.skipped.push(SkippedSource {
            what: what.to_owned(),
            reason: format!("cannot be restored from the memory: {error}"),
        });
    };
    let listed = match store.reads().listed() {
        Ok(listed) => listed,
        Err(error) => {
            failed("memory", &error);
            return Vec::new();
        }
    };
    let on_disk: HashSet<(Agent, String)> = logs
        .iter()
        .map(|log| (log.agent, log_name(log.agent, &log.path)))
        .collect();
    let mut recalled = Vec::new();
    for session in listed
        .iter()
        .filter(|session| !session.is_subagent && may_contain(session, request))
    {
        let uid = &session.session_uid;
        let read = kept::agent_of(uid).and_then(|agent| Ok((agent, PathBuf::from(store.reads().log_path(uid)?))));
        let (agent, place) = match read {
            Ok(read) => read,
            Err(error) => {
                failed(uid, &error);
                continue;
            }
        };
        if on_disk.contains(&(agent, log_name(agent, &place))) {
            if session.status == SessionStatus::Evicted {
                notes.from_source.push(uid.clone());
            }
            continue;
        }
        let file = copies.join(format!("kept-{}", recalled.len()));
        match session.status {
            SessionStatus::Kept => {
                match write_log(store, uid, &file).and_then(|()| write_companions(store, uid, agent, &place, &file)) {
                    Ok(companions) => recalled.push(RecalledLog {
                        session_uid: uid.clone(),
                        agent,
                        place,
                        file,
                        companions,
                    }),
                    Err(error) => failed(uid, &error),
                }
            }
            SessionStatus::Evicted => notes.evicted.push(uid.clone()),
            SessionStatus::PromptsOnly => {}
        }
    }
    note_prompts_only(store, request, &listed, notes);
    notes.evicted.sort();
    recalled
}

/// Restores the log of a child, if the store has it.
pub(super) fn recall_child(store: &Store, parent: &PickedSession, link: &ChildLink, to: &Path) -> Option<RecalledLog> {
    let uid = SessionUid::new(link.agent, &link.native_id(&parent.id))
        .as_str()
        .to_owned();
    if !store.reads().has_session(&uid).ok()? {
        return None;
    }
    write_log(store, &uid, to).ok()?;
    let place = PathBuf::from(store.reads().log_path(&uid).ok()?);
    Some(RecalledLog {
        session_uid: uid,
        agent: link.agent,
        place,
        file: to.to_owned(),
        companions: Vec::new(),
    })
}

/// Writes the stored lines of a session's log to a file.
fn write_log(store: &Store, uid: &str, to: &Path) -> Result<(), StoreError> {
    let parts = kept::list_parts(store, uid)?;
    let part = parts
        .iter()
        .find(|(kind, _)| matches!(kind, PartKind::Log | PartKind::ChatHistory));
    let nothing = || StoreError::Io {
        path: to.to_owned(),
        source: io::Error::new(io::ErrorKind::NotFound, "no line of its log is stored"),
    };
    let (_, part) = part.ok_or_else(nothing)?;
    write_part(store, uid, part, to)
}

/// Writes the stored companion files of a Grok log. Other agents have none.
fn write_companions(
    store: &Store,
    uid: &str,
    agent: Agent,
    log: &Path,
    to: &Path,
) -> Result<Vec<StoredCompanion>, StoreError> {
    if agent != Agent::Grok {
        return Ok(Vec::new());
    }
    let own = log.file_name().unwrap_or_default().to_string_lossy();
    let parts = kept::list_parts(store, uid)?;
    let mut companions = Vec::new();
    for (kind, name) in sources::GROK_PARTS.iter().filter(|(_, name)| *name != own) {
        if let Some((_, part)) = parts.iter().find(|(kept, _)| kept == kind) {
            let file = to.with_extension(kind.as_str());
            write_part(store, uid, part, &file)?;
            companions.push(StoredCompanion {
                kind: *kind,
                name,
                file,
            });
        }
    }
    Ok(companions)
}

fn write_part(store: &Store, uid: &str, part: &str, to: &Path) -> Result<(), StoreError> {
    let failed = |source: io::Error| StoreError::Io {
        path: to.to_owned(),
        source,
    };
    let mut out: File = private_file(to).map_err(failed)?;
    kept::write_part(store, uid, part, &mut out)?
        .and_then(|()| out.flush())
        .map_err(failed)
}

/// Notes the sessions of which only prompts are left, because they have no lines to cite.
fn note_prompts_only(store: &Store, request: &PrepareRequest<'_>, listed: &[ListedSession], notes: &mut AuditNotes) {
    for session in listed
        .iter()
        .filter(|session| session.status == SessionStatus::PromptsOnly)
    {
        let prompts = store.reads().prompts_of(&session.session_uid).unwrap_or_default();
        let is_on_day = |at: &Option<i64>| at.and_then(timestamp).is_some_and(|at| request.window.contains(at));
        let count = prompts.iter().filter(|(at, _)| is_on_day(at)).count();
        if count > 0 {
            notes.skipped.push(SkippedSource {
                what: session.session_uid.clone(),
                reason: format!(
                    "only {count} prompt(s) of the day are left because its log was deleted before a sweep"
                ),
            });
        }
    }
}

/// Returns `true` if a session overlaps the day.
fn may_contain(session: &ListedSession, request: &PrepareRequest<'_>) -> bool {
    let first = session.started_micros.and_then(timestamp);
    let last = session.ended_micros.or(session.last_micros).and_then(timestamp);
    match (first, last) {
        (Some(first), Some(last)) => first < request.window.end && last >= request.window.start,
        _ => false,
    }
}

fn timestamp(micros: i64) -> Option<Timestamp> {
    Timestamp::from_microsecond(micros).ok()
}

/// Returns the name by which a log is recognized after it was moved: its file name, or the name of its directory.
fn log_name(agent: Agent, log: &Path) -> String {
    let named = match agent {
        Agent::Grok => log.parent().and_then(Path::file_name),
        Agent::Claude | Agent::Codex => log.file_name(),
    };
    let name = named.unwrap_or_default().to_string_lossy();
    name.strip_suffix(".zst").unwrap_or(&name).to_owned()
}
