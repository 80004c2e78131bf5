//! Finds the workspaces that contain given sessions, according to their own indexes, and removes the days that contain
//! a session to be forgotten.
//!
//! A day is removed as a whole, because its reports may quote any of its sessions and its audit would still list the
//! removed copy. Preparing the day again restores the other sessions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde_json::Value;
use transcript::{Agent, SessionUid, Source};
use walkdir::WalkDir;

use super::write::{DayDirectory, is_generated};
use super::{DiaryError, WORK_DIRECTORY, source_name};

/// A workspace that contains some of the given sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceTrace {
    pub date: Date,
    pub workspace: PathBuf,
    /// The given sessions that it contains, in order.
    pub session_uids: Vec<String>,
    /// Files that other programs wrote into it. Each may quote any session of the day.
    pub reports: Vec<PathBuf>,
}

/// Returns the workspaces below a reports root that contain sessions accepted by `is_asked`, ordered by day.
pub fn find_traces(reports_root: &Path, is_asked: &dyn Fn(&str) -> bool) -> Vec<WorkspaceTrace> {
    let mut traces = Vec::new();
    for (date, workspace) in workspaces(reports_root) {
        let mut session_uids = workspace_sessions(&workspace);
        session_uids.retain(|uid| is_asked(uid));
        if !session_uids.is_empty() {
            traces.push(WorkspaceTrace {
                date,
                session_uids: session_uids.into_iter().collect(),
                reports: foreign_files(&workspace),
                workspace,
            });
        }
    }
    traces
}

/// Returns the uids of the sessions and subagents in a workspace. A session may have more than one uid, because its
/// file name and its records can disagree about the id.
pub fn workspace_sessions(workspace: &Path) -> BTreeSet<String> {
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

/// Removes whole days: workspace, reports and audit. Temporary directories that interrupted runs left behind are
/// removed with them.
pub fn remove_days(reports_root: &Path, dates: &[Date]) -> Result<(), DiaryError> {
    for date in dates {
        let directory = DayDirectory::open(reports_root, *date)?;
        directory.remove_day()?;
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
            // Below a Claude session are its own subagents and the Codex threads that it started.
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

/// Returns the native id that a log's path implies.
pub(super) fn native_id(agent: Agent, place: &str) -> String {
    Source::new(agent, place, Vec::new()).native_id
}

/// Returns all workspaces by day. If a run was interrupted, the directory it renamed is the workspace.
fn workspaces(reports_root: &Path) -> Vec<(Date, PathBuf)> {
    let work = reports_root.join(WORK_DIRECTORY);
    let mut found = Vec::new();
    for entry in fs::read_dir(&work).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let renamed = name.strip_prefix('.').and_then(|name| name.strip_suffix(".old"));
        let date: Option<Date> = renamed.unwrap_or(&name).parse().ok();
        found.extend(date.map(|date| (date, entry.path())));
    }
    found.sort();
    found
}

fn foreign_files(workspace: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(workspace).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let foreign = files.filter(|entry| {
        entry
            .path()
            .strip_prefix(workspace)
            .is_ok_and(|place| !is_generated(place))
    });
    foreign.map(walkdir::DirEntry::into_path).collect()
}
