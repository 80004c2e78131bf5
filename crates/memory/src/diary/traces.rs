//! What workspaces hold of sessions, as their own indexes tell it, and how a day is taken away that holds one which is to
//! be forgotten.
//!
//! A day goes as a whole: its reports may quote any of its sessions, and an audit that tells of a copy which is gone
//! would be a lie. Preparing the day anew gives the rest back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde_json::Value;
use transcript::{Agent, SessionUid, Source};
use walkdir::WalkDir;

use super::write::{Site, is_ours};
use super::{DiaryError, WORK, source_name};

/// A workspace that holds sessions which somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub date: Date,
    pub workspace: PathBuf,
    /// Those of the sessions asked for that lie in it, in order.
    pub session_uids: Vec<String>,
    /// What others wrote into it: any of it may quote any session of the day.
    pub reports: Vec<PathBuf>,
}

/// The workspaces below a reports root that hold sessions for which `is_asked` says so, by day.
pub fn traces(reports_root: &Path, is_asked: &dyn Fn(&str) -> bool) -> Vec<Trace> {
    let mut traces = Vec::new();
    for (date, workspace) in workspaces(reports_root) {
        let mut session_uids = sessions_in(&workspace);
        session_uids.retain(|uid| is_asked(uid));
        if !session_uids.is_empty() {
            traces.push(Trace {
                date,
                session_uids: session_uids.into_iter().collect(),
                reports: reports_in(&workspace),
                workspace,
            });
        }
    }
    traces
}

/// The uids that a workspace knows its sessions and their subagents by. A session may have more than one: its name and
/// its records need not agree on its id.
pub fn sessions_in(workspace: &Path) -> BTreeSet<String> {
    let mut uids = BTreeSet::new();
    let projects = fs::read_dir(workspace.join("projects"));
    for project in projects.into_iter().flatten().flatten() {
        let index = fs::read(project.path().join("sessions.index.jsonl")).unwrap_or_default();
        for row in index.split(|byte| *byte == b'\n') {
            let row: Value = serde_json::from_slice(row).unwrap_or_default();
            add_row(&row, &mut uids);
        }
    }
    uids
}

/// Takes days away as a whole: workspace, reports and audit. What runs that died left of any day goes with them.
pub fn take_away(reports_root: &Path, dates: &[Date]) -> Result<(), DiaryError> {
    for date in dates {
        let site = Site::open(reports_root, *date)?;
        site.take_away()?;
    }
    Ok(())
}

fn add_row(row: &Value, uids: &mut BTreeSet<String>) {
    let agents = [Agent::Claude, Agent::Codex, Agent::Grok];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let Some(agent) = agents.into_iter().find(|agent| row["source"] == source_name(*agent)) else {
        return;
    };
    let id = word(&row["source_session_id"]);
    let mut add = |agent: Agent, native: &str| uids.insert(SessionUid::new(agent, native).as_str().to_owned());
    add(agent, &id);
    add(agent, &native_id(agent, &word(&row["session_path"])));
    let turns = row["turns"].as_array().into_iter().flatten();
    for child in turns.flat_map(|turn| turn["target_subagents"].as_array().into_iter().flatten()) {
        let (child_id, file) = (word(&child["source_session_id"]), word(&child["session_file"]));
        match agent {
            // Below a session of Claude's lie its own subagents, and threads that it started of Codex.
            Agent::Claude => {
                let stem = native_id(Agent::Claude, &file);
                let own = stem.strip_prefix("agent-").unwrap_or(&stem);
                add(Agent::Claude, &format!("{id}/{child_id}"));
                add(Agent::Claude, &format!("{id}/{own}"));
                add(Agent::Codex, &child_id);
                add(Agent::Codex, &native_id(Agent::Codex, &file));
            }
            Agent::Codex | Agent::Grok => {
                add(agent, &child_id);
                add(agent, &native_id(agent, &file));
            }
        }
    }
}

/// The id that the place of a log tells.
pub(super) fn native_id(agent: Agent, place: &str) -> String {
    Source::new(agent, place, Vec::new()).native_id
}

/// Each day's workspace, by day. Where a run died, what it had put aside is the workspace.
fn workspaces(reports_root: &Path) -> Vec<(Date, PathBuf)> {
    let work = reports_root.join(WORK);
    let mut found = Vec::new();
    for entry in fs::read_dir(&work).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let aside = name.strip_prefix('.').and_then(|name| name.strip_suffix(".old"));
        let date: Option<Date> = aside.unwrap_or(&name).parse().ok();
        found.extend(date.map(|date| (date, entry.path())));
    }
    found.sort();
    found
}

fn reports_in(workspace: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(workspace).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let theirs = files.filter(|entry| entry.path().strip_prefix(workspace).is_ok_and(|place| !is_ours(place)));
    theirs.map(walkdir::DirEntry::into_path).collect()
}
