//! A workspace as the report reads it: its metadata, its projects and their index rows. It is never written to, and
//! paths from the index cannot leave their project.

use std::fs;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use transcript::{Agent, SessionUid};

use super::ReportError;
use super::fields::{DayBounds, DayReport};
use crate::diary::source_name;

/// An open workspace.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) metadata: WorkspaceMetadata,
    /// Ordered by key.
    pub(super) projects: Vec<ProjectFolder>,
}

/// `metadata.json`.
#[derive(Debug, Deserialize)]
pub(super) struct WorkspaceMetadata {
    pub(super) report_date: String,
    pub(super) timezone: String,
    pub(super) status: String,
    pub(super) prepared_at: String,
    pub(super) report_window_local: DayBounds,
    pub(super) report_window_utc: DayBounds,
}

impl WorkspaceMetadata {
    /// Returns the length of the day so far, when it was prepared.
    pub(super) fn length_s(&self) -> u64 {
        let Some((start, end)) = self.window() else {
            return u64::MAX;
        };
        let as_of: Option<Timestamp> = self.prepared_at.parse().ok().filter(|_| self.is_partial());
        let end = as_of.map_or(end, |as_of| end.min(as_of));
        u64::try_from(end.as_second() - start.as_second()).unwrap_or_default()
    }

    /// Returns the bounds of the day as instants.
    pub(super) fn window(&self) -> Option<(Timestamp, Timestamp)> {
        let DayBounds { start, end } = &self.report_window_utc;
        Some((start.parse().ok()?, end.parse().ok()?))
    }

    /// Returns `true` if the day was not over when it was prepared.
    pub(super) fn is_partial(&self) -> bool {
        self.status == "partial"
    }
}

/// One project.
#[derive(Debug)]
pub(super) struct ProjectFolder {
    pub(super) path: PathBuf,
    pub(super) key: String,
    pub(super) label: String,
    pub(super) rows: Vec<IndexRow>,
}

/// A row of the index.
#[derive(Debug, Deserialize)]
pub(super) struct IndexRow {
    pub(super) session_ref: String,
    pub(super) source: String,
    pub(super) source_session_id: String,
    pub(super) session_path: String,
    #[serde(default)]
    pub(super) subagent_path: String,
    pub(super) turns: Vec<TurnRow>,
}

impl IndexRow {
    pub(super) fn agent(&self) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| source_name(*agent) == self.source)
    }
}

/// A turn of a row.
#[derive(Debug, Deserialize)]
pub(super) struct TurnRow {
    pub(super) turn_ref: String,
    pub(super) turn_start_line: u64,
    pub(super) turn_end_line: u64,
    #[serde(default)]
    pub(super) target_subagents: Vec<SubagentRow>,
}

/// A child of a turn.
#[derive(Debug, Deserialize)]
pub(super) struct SubagentRow {
    pub(super) session_file: String,
    pub(super) agent_role: Option<String>,
    pub(super) parent_spawn_line: Option<u64>,
    pub(super) parent_result_line: Option<u64>,
}

impl Workspace {
    pub(super) fn open(path: &Path) -> Result<Self, ReportError> {
        let bytes = read_file(&path.join("metadata.json"))?;
        let metadata = parse(&path.join("metadata.json"), &bytes)?;
        let mut projects = Vec::new();
        let entries = fs::read_dir(path.join("projects")).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.path().join("project.json").is_file()) {
            projects.push(ProjectFolder::open(entry.path())?);
        }
        projects.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { metadata, projects })
    }

    /// Keeps the sessions that `takes` accepts, and the projects that still have sessions.
    pub(super) fn retain(&mut self, takes: &dyn Fn(&str) -> bool) {
        let is_wanted = |row: &IndexRow| {
            row.agent()
                .is_some_and(|agent| takes(SessionUid::new(agent, &row.source_session_id).as_str()))
        };
        for folder in &mut self.projects {
            // Rows of an unknown agent are kept, so that they are reported as unreadable.
            folder.rows.retain(|row| row.agent().is_none() || is_wanted(row));
        }
        self.projects.retain(|folder| !folder.rows.is_empty());
    }

    /// Returns the name of each project: its label if no other project has it, otherwise its key.
    pub(super) fn names(&self) -> Vec<String> {
        let is_only = |label: &str| self.projects.iter().filter(|other| other.label == label).count() == 1;
        let name = |folder: &ProjectFolder| match is_only(&folder.label) {
            true => folder.label.clone(),
            false => folder.key.clone(),
        };
        self.projects.iter().map(name).collect()
    }
}

impl ProjectFolder {
    fn open(path: PathBuf) -> Result<Self, ReportError> {
        #[derive(Deserialize)]
        struct ProjectFile {
            project_key: String,
            project_label: String,
        }
        let file = path.join("project.json");
        let project: ProjectFile = parse(&file, &read_file(&file)?)?;
        let file = path.join("sessions.index.jsonl");
        let bytes = read_file(&file)?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let rows = lines.map(|line| parse(&file, line)).collect::<Result<_, _>>()?;
        Ok(Self {
            path,
            key: project.project_key,
            label: project.project_label,
            rows,
        })
    }

    /// Returns the path of a file named by the index, or `None` if it would be outside of the project's sessions.
    pub(super) fn file(&self, place: &str) -> Option<PathBuf> {
        let place = Path::new(place);
        let is_plain = place.components().all(|name| matches!(name, Component::Normal(_)));
        (is_plain && place.starts_with("sessions")).then(|| self.path.join(place))
    }
}

/// Reads a day that was written earlier.
pub fn read_day(path: &Path) -> Result<DayReport, ReportError> {
    parse(path, &read_file(path)?)
}

fn read_file(path: &Path) -> Result<Vec<u8>, ReportError> {
    fs::read(path).map_err(|error| ReportError::Workspace {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn parse<'b, T: Deserialize<'b>>(path: &Path, bytes: &'b [u8]) -> Result<T, ReportError> {
    serde_json::from_slice(bytes).map_err(|error| ReportError::Workspace {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
