//! The progress of a written day: what is stored and still valid, and what is missing. Written parts are kept unless
//! what they are based on has changed.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::daily::{self, DaySynthesis};
use super::evidence::{self, Evidence};
use super::index::{Index, ProjectRow, SessionRow};
use super::place::{self, WritingPath};
use super::works::{self, TurnReference, WorkItems};
use crate::report::ReportError;
use crate::report::workspace::Workspace;

/// The phases of writing, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WritingPhase {
    Evidence,
    Project,
    Daily,
}

impl WritingPhase {
    pub const ALL: [Self; 3] = [Self::Evidence, Self::Project, Self::Daily];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Project => "project",
            Self::Daily => "daily",
        }
    }
}

/// A part of the day that one run of a writer writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPart {
    pub phase: WritingPhase,
    /// `None` for the day.
    pub project_key: Option<String>,
    pub project: Option<String>,
    /// Only set for evidence.
    pub session_ref: Option<String>,
    /// The unwritten parts: turn references, or `day`. Empty if the piece is done.
    pub missing: Vec<String>,
}

impl ReportPart {
    /// Returns a title such as `evidence of app S0001`.
    pub fn title(&self) -> String {
        let project = self.project.as_deref().unwrap_or_default();
        match (self.phase, self.session_ref.as_deref()) {
            (WritingPhase::Evidence, Some(session)) => format!("evidence of {project} {session}"),
            (WritingPhase::Evidence, None) => format!("evidence of {project}"),
            (WritingPhase::Project, _) => format!("work of {project}"),
            (WritingPhase::Daily, _) => "the day".to_owned(),
        }
    }

    /// Returns `true` if both are the same part of the day.
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |piece: &Self| (piece.phase, piece.project_key.clone(), piece.session_ref.clone());
        key(self) == key(other)
    }
}

/// The progress of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritingProgress {
    /// In the order in which they are written.
    pub pieces: Vec<ReportPart>,
}

impl WritingProgress {
    /// Returns the number of pieces of a phase, and how many of them are done.
    pub fn count(&self, phase: WritingPhase) -> PartCount {
        let of = || self.pieces.iter().filter(|piece| piece.phase == phase);
        PartCount {
            all: of().count(),
            done: of().filter(|piece| piece.missing.is_empty()).count(),
        }
    }

    pub fn is_done(&self) -> bool {
        self.pieces.iter().all(|piece| piece.missing.is_empty())
    }
}

/// The number of pieces of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PartCount {
    pub all: usize,
    pub done: usize,
}

/// Returns the progress of the day in a workspace.
pub fn read_progress(workspace: &Path) -> Result<WritingProgress, ReportError> {
    let root = workspace.canonicalize().map_err(|error| ReportError::Workspace {
        path: workspace.to_owned(),
        reason: error.to_string(),
    })?;
    let index = Index::from_workspace(&Workspace::open(&root)?, &root);
    Ok(Writings::read(&root, &index).progress(&index))
}

/// All valid writings of a day.
#[derive(Debug)]
pub(super) struct Writings {
    pub(super) projects: Vec<ProjectWritings>,
    pub(super) day: Option<DaySynthesis>,
    /// The names of the writers.
    pub(super) by: Vec<String>,
}

/// The valid writings of one project.
#[derive(Debug)]
pub(super) struct ProjectWritings {
    pub(super) key: String,
    /// Evidence by session.
    pub(super) sessions: Vec<(String, Evidence)>,
    /// True if a turn has no evidence.
    pub(super) has_gaps: bool,
    /// Hash of the evidence on which the pieces of work are based.
    pub(super) basis: String,
    pub(super) works: WorkItems,
    pub(super) missing: Vec<TurnReference>,
}

impl ProjectWritings {
    pub(super) fn is_done(&self) -> bool {
        !self.has_gaps && self.missing.is_empty()
    }
}

impl Writings {
    pub(super) fn read(root: &Path, index: &Index) -> Self {
        let mut by = Vec::new();
        let projects = index
            .with_turns()
            .map(|project| load_project(root, index, project, &mut by));
        let mut writings = Self {
            projects: projects.collect(),
            day: None,
            by: Vec::new(),
        };
        let stored = place::read_json(root, WritingPath::Day);
        writings.day = stored
            .as_ref()
            .filter(|_| writings.projects.iter().all(ProjectWritings::is_done))
            .and_then(|stored| daily::restore_valid(index, &writings.basis(), stored));
        if writings.day.is_some() {
            by.extend(stored.and_then(|stored| stored["written_by"].as_str().map(str::to_owned)));
        }
        by.sort();
        by.dedup();
        Self { by, ..writings }
    }

    pub(super) fn project(&self, key: &str) -> Option<&ProjectWritings> {
        self.projects.iter().find(|project| project.key == key)
    }

    /// Returns the hash of all pieces of work, on which the day is based.
    pub(super) fn basis(&self) -> String {
        let works: Vec<_> = self
            .projects
            .iter()
            .map(|project| (&project.key, &project.works))
            .collect();
        hash_basis(&works)
    }

    pub(super) fn progress(&self, index: &Index) -> WritingProgress {
        let mut pieces = Vec::new();
        let name = |key: &str| index.find(key).map(|project| project.name.clone());
        for (project, own) in index.with_turns().zip(&self.projects) {
            for (session, (session_ref, evidence)) in project.sessions.iter().zip(&own.sessions) {
                pieces.push(ReportPart {
                    phase: WritingPhase::Evidence,
                    project_key: Some(own.key.clone()),
                    project: name(&own.key),
                    session_ref: Some(session_ref.clone()),
                    missing: evidence::missing_turns(session, evidence),
                });
            }
        }
        for own in &self.projects {
            let missing = own.missing.iter();
            pieces.push(ReportPart {
                phase: WritingPhase::Project,
                project_key: Some(own.key.clone()),
                project: name(&own.key),
                session_ref: None,
                missing: missing
                    .map(|name| format!("{} {}", name.session_ref, name.turn_ref))
                    .collect(),
            });
        }
        if !self.projects.is_empty() {
            let missing = self.day.is_none().then(|| "day".to_owned());
            pieces.push(ReportPart {
                phase: WritingPhase::Daily,
                project_key: None,
                project: None,
                session_ref: None,
                missing: missing.into_iter().collect(),
            });
        }
        WritingProgress { pieces }
    }
}

/// Loads the valid stored evidence of a session.
pub(super) fn load_evidence(root: &Path, project: &ProjectRow, session: &SessionRow) -> Evidence {
    let place = WritingPath::Evidence {
        project: &project.key,
        session: &session.session_ref,
    };
    let stored = place::read_json(root, place);
    stored
        .map(|stored| evidence::restore_valid(session, &stored))
        .unwrap_or_default()
}

fn load_project(root: &Path, index: &Index, project: &ProjectRow, by: &mut Vec<String>) -> ProjectWritings {
    let of = |session: &SessionRow| {
        let evidence = load_evidence(root, project, session);
        (session.session_ref.as_str().to_owned(), evidence)
    };
    let sessions: Vec<(String, Evidence)> = project.sessions.iter().map(of).collect();
    let own = project.sessions.iter().zip(&sessions);
    let has_gaps = own
        .into_iter()
        .any(|(session, (_, evidence))| !evidence::missing_turns(session, evidence).is_empty());
    let basis = hash_basis(&sessions);
    let stored = place::read_json(root, WritingPath::Works { project: &project.key }).filter(|_| !has_gaps);
    let works = stored
        .as_ref()
        .map(|stored| works::restore_valid(index, project, &basis, stored))
        .unwrap_or_default();
    if !works.is_empty() {
        by.extend(stored.and_then(|stored| stored["written_by"].as_str().map(str::to_owned)));
    }
    ProjectWritings {
        key: project.key.as_str().to_owned(),
        missing: works::missing_turns(project, &works),
        sessions,
        has_gaps,
        basis,
        works,
    }
}

/// Returns a short hash of what a writing is based on.
fn hash_basis(basis: &impl Serialize) -> String {
    let bytes = serde_json::to_vec(basis).unwrap_or_default();
    blake3::hash(&bytes).to_hex()[..32].to_owned()
}
