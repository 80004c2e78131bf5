//! Sessions of the day whose logs the agents have deleted: their lines are those that the store kept.
//!
//! What is wrong with the store is told and costs what it would have given: the logs on disk are still a day.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use transcript::{Agent, PartKind, SessionUid};

use super::Ask;
use super::audit::{Notes, Skipped};
use super::collect::Picked;
use super::copy::private_file;
use super::links::Link;
use crate::kept;
use crate::sources::{self, Log};
use crate::store::{Listed, Status, Store, StoreError};

/// A session whose log is gone.
#[derive(Debug)]
pub(super) struct Gone {
    pub(super) session_uid: String,
    pub(super) agent: Agent,
    /// Where its log was.
    pub(super) place: PathBuf,
    /// Where its kept lines wait.
    pub(super) file: PathBuf,
    /// What lay beside a Grok log.
    pub(super) beside: Vec<KeptPart>,
}

/// A file that lay beside a Grok log, as it was kept.
#[derive(Debug)]
pub(super) struct KeptPart {
    pub(super) kind: PartKind,
    /// What it was called.
    pub(super) name: &'static str,
    /// Where its bytes wait.
    pub(super) file: PathBuf,
}

/// The sessions that a user wanted gone. Their logs may still be there; the diary does not bring them back.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    uids: HashSet<String>,
}

impl Forgotten {
    /// Asks the store. Where it cannot say, [`recall`] tells that it cannot be read.
    pub(super) fn new(store: Option<&Store>) -> Self {
        let uids = store.and_then(|store| store.reads().tombstones().ok());
        Self {
            uids: uids.unwrap_or_default(),
        }
    }

    /// Whether a session is one of them, or worked for one.
    pub(super) fn has(&self, agent: Agent, native: &str) -> bool {
        let uid = |native: &str| SessionUid::new(agent, native).as_str().to_owned();
        let parent = native.split_once('/').map_or(native, |(parent, _)| parent);
        !self.uids.is_empty() && (self.uids.contains(&uid(native)) || self.uids.contains(&uid(parent)))
    }
}

/// Returns the sessions of the day that only the store still has, and notes those that were evicted.
pub(super) fn recall(store: &Store, ask: &Ask<'_>, logs: &[Log], copies: &Path, notes: &mut Notes) -> Vec<Gone> {
    let mut failed = |what: &str, error: &StoreError| {
        notes.skipped.push(Skipped {
            what: what.to_owned(),
            reason: format!("the memory cannot give it back: {error}"),
        });
    };
    let listed = match store.reads().listed() {
        Ok(listed) => listed,
        Err(error) => {
            failed("memory", &error);
            return Vec::new();
        }
    };
    let there: HashSet<(Agent, String)> = logs
        .iter()
        .map(|log| (log.agent, name_of(log.agent, &log.path)))
        .collect();
    let mut gone = Vec::new();
    for one in listed.iter().filter(|one| !one.is_subagent && may_be_of_day(one, ask)) {
        let uid = &one.session_uid;
        let read = kept::agent_of(uid).and_then(|agent| Ok((agent, PathBuf::from(store.reads().log_path(uid)?))));
        let (agent, place) = match read {
            Ok(read) => read,
            Err(error) => {
                failed(uid, &error);
                continue;
            }
        };
        if there.contains(&(agent, name_of(agent, &place))) {
            if one.status == Status::Evicted {
                notes.from_source.push(uid.clone());
            }
            continue;
        }
        let file = copies.join(format!("kept-{}", gone.len()));
        match one.status {
            Status::Kept => {
                match write_log(store, uid, &file).and_then(|()| beside(store, uid, agent, &place, &file)) {
                    Ok(beside) => gone.push(Gone {
                        session_uid: uid.clone(),
                        agent,
                        place,
                        file,
                        beside,
                    }),
                    Err(error) => failed(uid, &error),
                }
            }
            Status::Evicted => notes.evicted.push(uid.clone()),
            Status::PromptsOnly => {}
        }
    }
    tell_prompts_only(store, ask, &listed, notes);
    notes.evicted.sort();
    gone
}

/// The kept lines of a child, where the store has them.
pub(super) fn recall_child(store: &Store, parent: &Picked, link: &Link, to: &Path) -> Option<Gone> {
    let uid = SessionUid::new(link.agent, &link.native_id(&parent.id))
        .as_str()
        .to_owned();
    if !store.reads().has_session(&uid).ok()? {
        return None;
    }
    write_log(store, &uid, to).ok()?;
    let place = PathBuf::from(store.reads().log_path(&uid).ok()?);
    Some(Gone {
        session_uid: uid,
        agent: link.agent,
        place,
        file: to.to_owned(),
        beside: Vec::new(),
    })
}

/// Writes the kept lines of a session's log.
fn write_log(store: &Store, uid: &str, to: &Path) -> Result<(), StoreError> {
    let parts = kept::parts(store, uid)?;
    let part = parts
        .iter()
        .find(|(kind, _)| matches!(kind, PartKind::Log | PartKind::ChatHistory));
    let nothing = || StoreError::Io {
        path: to.to_owned(),
        source: io::Error::new(io::ErrorKind::NotFound, "no line of its log is kept"),
    };
    let (_, part) = part.ok_or_else(nothing)?;
    write_part(store, uid, part, to)
}

/// Writes what was kept of the files beside a Grok log, which is a session's directory.
fn beside(store: &Store, uid: &str, agent: Agent, log: &Path, to: &Path) -> Result<Vec<KeptPart>, StoreError> {
    if agent != Agent::Grok {
        return Ok(Vec::new());
    }
    let own = log.file_name().unwrap_or_default().to_string_lossy();
    let parts = kept::parts(store, uid)?;
    let mut beside = Vec::new();
    for (kind, name) in sources::GROK_PARTS.iter().filter(|(_, name)| *name != own) {
        if let Some((_, part)) = parts.iter().find(|(kept, _)| kept == kind) {
            let file = to.with_extension(kind.as_str());
            write_part(store, uid, part, &file)?;
            beside.push(KeptPart {
                kind: *kind,
                name,
                file,
            });
        }
    }
    Ok(beside)
}

fn write_part(store: &Store, uid: &str, part: &str, to: &Path) -> Result<(), StoreError> {
    let failed = |source: io::Error| StoreError::Io {
        path: to.to_owned(),
        source,
    };
    let mut out: File = private_file(to).map_err(failed)?;
    kept::cat(store, uid, part, &mut out)?
        .and_then(|()| out.flush())
        .map_err(failed)
}

/// Sessions of which only prompts are left have no lines to cite.
fn tell_prompts_only(store: &Store, ask: &Ask<'_>, listed: &[Listed], notes: &mut Notes) {
    for one in listed.iter().filter(|one| one.status == Status::PromptsOnly) {
        let prompts = store.reads().prompts_of(&one.session_uid).unwrap_or_default();
        let is_of_day = |at: &Option<i64>| at.and_then(instant).is_some_and(|at| ask.window.contains(at));
        let count = prompts.iter().filter(|(at, _)| is_of_day(at)).count();
        if count > 0 {
            notes.skipped.push(Skipped {
                what: one.session_uid.clone(),
                reason: format!(
                    "only {count} prompt(s) of the day are left of it: its log was gone before it was swept"
                ),
            });
        }
    }
}

/// Whether a session went on during the day.
fn may_be_of_day(one: &Listed, ask: &Ask<'_>) -> bool {
    let first = one.started_micros.and_then(instant);
    let last = one.ended_micros.or(one.last_micros).and_then(instant);
    match (first, last) {
        (Some(first), Some(last)) => first < ask.window.end && last >= ask.window.start,
        _ => false,
    }
}

fn instant(micros: i64) -> Option<Timestamp> {
    Timestamp::from_microsecond(micros).ok()
}

/// What a log is known by when it is moved: its name, or that of its directory.
fn name_of(agent: Agent, log: &Path) -> String {
    let named = match agent {
        Agent::Grok => log.parent().and_then(Path::file_name),
        Agent::Claude | Agent::Codex => log.file_name(),
    };
    let name = named.unwrap_or_default().to_string_lossy();
    name.strip_suffix(".zst").unwrap_or(&name).to_owned()
}
