//! How far a day is written: what is kept and still holds, and which pieces are missing. What was written stays written;
//! what its basis has changed under is written anew.

use std::path::Path;

use serde::Serialize;

use super::daily::{self, Synthesis};
use super::evidence::{self, Evidence};
use super::index::{Index, ProjectRow, SessionRow};
use super::place::{self, Place};
use super::works::{self, TurnName, WorkItems};
use crate::report::ReportError;
use crate::report::workspace::Workspace;

/// The phases of writing, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Evidence,
    Project,
    Daily,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Evidence, Self::Project, Self::Daily];

    /// The word for it on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Project => "project",
            Self::Daily => "daily",
        }
    }
}

/// Something that one run of a writer writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub phase: Phase,
    /// Null for the day.
    pub project_key: Option<String>,
    pub project: Option<String>,
    /// Of evidence alone.
    pub session_ref: Option<String>,
    /// What is not written of it yet: references of turns, or the day. Empty where it is done.
    pub missing: Vec<String>,
}

impl Piece {
    /// `evidence of app S0001`.
    pub fn title(&self) -> String {
        let project = self.project.as_deref().unwrap_or_default();
        match (self.phase, self.session_ref.as_deref()) {
            (Phase::Evidence, Some(session)) => format!("evidence of {project} {session}"),
            (Phase::Evidence, None) => format!("evidence of {project}"),
            (Phase::Project, _) => format!("work of {project}"),
            (Phase::Daily, _) => "the day".to_owned(),
        }
    }

    /// Whether two are about the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let key = |piece: &Self| (piece.phase, piece.project_key.clone(), piece.session_ref.clone());
        key(self) == key(other)
    }
}

/// How far a day is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// In the order in which they are written.
    pub pieces: Vec<Piece>,
}

impl Progress {
    /// How many pieces of a phase there are, and how many of them are done.
    pub fn count(&self, phase: Phase) -> Count {
        let of = || self.pieces.iter().filter(|piece| piece.phase == phase);
        Count {
            all: of().count(),
            done: of().filter(|piece| piece.missing.is_empty()).count(),
        }
    }

    pub fn is_done(&self) -> bool {
        self.pieces.iter().all(|piece| piece.missing.is_empty())
    }
}

/// Pieces of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Count {
    pub all: usize,
    pub done: usize,
}

/// Says how far the day of a workspace is written.
pub fn progress(workspace: &Path) -> Result<Progress, ReportError> {
    let root = workspace.canonicalize().map_err(|error| ReportError::Workspace {
        path: workspace.to_owned(),
        reason: error.to_string(),
    })?;
    let index = Index::of(&Workspace::open(&root)?, &root);
    Ok(Writings::read(&root, &index).progress(&index))
}

/// Everything that is written of a day and holds.
#[derive(Debug)]
pub(super) struct Writings {
    pub(super) projects: Vec<OfProject>,
    pub(super) day: Option<Synthesis>,
    /// Who wrote pieces of it.
    pub(super) by: Vec<String>,
}

/// What is written of one project.
#[derive(Debug)]
pub(super) struct OfProject {
    pub(super) key: String,
    /// By session.
    pub(super) sessions: Vec<(String, Evidence)>,
    /// Some turn has no evidence.
    pub(super) has_gaps: bool,
    /// What the pieces of work stand on.
    pub(super) basis: String,
    pub(super) works: WorkItems,
    pub(super) missing: Vec<TurnName>,
}

impl OfProject {
    pub(super) fn is_done(&self) -> bool {
        !self.has_gaps && self.missing.is_empty()
    }
}

impl Writings {
    pub(super) fn read(root: &Path, index: &Index) -> Self {
        let mut by = Vec::new();
        let projects = index
            .with_turns()
            .map(|project| of_project(root, index, project, &mut by));
        let mut writings = Self {
            projects: projects.collect(),
            day: None,
            by: Vec::new(),
        };
        let kept = place::read(root, Place::Day);
        writings.day = kept
            .as_ref()
            .filter(|_| writings.projects.iter().all(OfProject::is_done))
            .and_then(|kept| daily::still_holds(index, &writings.basis(), kept));
        if writings.day.is_some() {
            by.extend(kept.and_then(|kept| kept["written_by"].as_str().map(str::to_owned)));
        }
        by.sort();
        by.dedup();
        Self { by, ..writings }
    }

    pub(super) fn project(&self, key: &str) -> Option<&OfProject> {
        self.projects.iter().find(|project| project.key == key)
    }

    /// What the day stands on: all pieces of work.
    pub(super) fn basis(&self) -> String {
        let works: Vec<_> = self
            .projects
            .iter()
            .map(|project| (&project.key, &project.works))
            .collect();
        hash(&works)
    }

    pub(super) fn progress(&self, index: &Index) -> Progress {
        let mut pieces = Vec::new();
        let name = |key: &str| index.find(key).map(|project| project.name.clone());
        for (project, own) in index.with_turns().zip(&self.projects) {
            for (session, (session_ref, evidence)) in project.sessions.iter().zip(&own.sessions) {
                pieces.push(Piece {
                    phase: Phase::Evidence,
                    project_key: Some(own.key.clone()),
                    project: name(&own.key),
                    session_ref: Some(session_ref.clone()),
                    missing: evidence::missing(session, evidence),
                });
            }
        }
        for own in &self.projects {
            let missing = own.missing.iter();
            pieces.push(Piece {
                phase: Phase::Project,
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
            pieces.push(Piece {
                phase: Phase::Daily,
                project_key: None,
                project: None,
                session_ref: None,
                missing: missing.into_iter().collect(),
            });
        }
        Progress { pieces }
    }
}

/// The evidence of a session that is kept and holds.
pub(super) fn evidence_of(root: &Path, project: &ProjectRow, session: &SessionRow) -> Evidence {
    let place = Place::Evidence {
        project: &project.key,
        session: &session.session_ref,
    };
    let kept = place::read(root, place);
    kept.map(|kept| evidence::still_holds(session, &kept))
        .unwrap_or_default()
}

fn of_project(root: &Path, index: &Index, project: &ProjectRow, by: &mut Vec<String>) -> OfProject {
    let of = |session: &SessionRow| {
        let evidence = evidence_of(root, project, session);
        (session.session_ref.as_str().to_owned(), evidence)
    };
    let sessions: Vec<(String, Evidence)> = project.sessions.iter().map(of).collect();
    let own = project.sessions.iter().zip(&sessions);
    let has_gaps = own
        .into_iter()
        .any(|(session, (_, evidence))| !evidence::missing(session, evidence).is_empty());
    let basis = hash(&sessions);
    let kept = place::read(root, Place::Works { project: &project.key }).filter(|_| !has_gaps);
    let works = kept
        .as_ref()
        .map(|kept| works::still_holds(index, project, &basis, kept))
        .unwrap_or_default();
    if !works.is_empty() {
        by.extend(kept.and_then(|kept| kept["written_by"].as_str().map(str::to_owned)));
    }
    OfProject {
        key: project.key.as_str().to_owned(),
        missing: works::missing(project, &works),
        sessions,
        has_gaps,
        basis,
        works,
    }
}

/// What something stands on, in short.
fn hash(basis: &impl Serialize) -> String {
    let bytes = serde_json::to_vec(basis).unwrap_or_default();
    blake3::hash(&bytes).to_hex()[..32].to_owned()
}
