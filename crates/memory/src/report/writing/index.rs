//! The projects, sessions and turns of a workspace that may be cited. Citations of anything else, or of lines outside
//! of a turn, are rejected. Names that could lead out of the workspace are left out of the index.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use transcript::{Agent, SafeName};

use super::check::{InputErrors, JsonNode};
use super::place::has_no_links;
use crate::report::workspace::{IndexRow, ProjectFolder, Workspace};

/// Maximum number of citations of a sentence.
pub(super) const CITATIONS_MAX: usize = 4;

/// Everything that can be cited.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) projects: Vec<ProjectRow>,
}

/// One project.
#[derive(Debug)]
pub(super) struct ProjectRow {
    pub(super) key: SafeName,
    pub(super) name: String,
    pub(super) sessions: Vec<SessionRow>,
}

/// One session.
#[derive(Debug)]
pub(super) struct SessionRow {
    pub(super) session_ref: SafeName,
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) log: PathBuf,
    pub(super) turns: Vec<TurnRow>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnRow {
    pub(super) turn_ref: String,
    pub(super) first_line: u64,
    pub(super) last_line: u64,
}

/// A range of lines, both ends inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRange {
    pub first: u64,
    pub last: u64,
}

impl Serialize for LineRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}-{}", self.first, self.last))
    }
}

/// A citation of some lines of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnCitation {
    pub project_key: String,
    pub session_ref: String,
    pub turn_ref: String,
    pub lines: LineRange,
}

impl Index {
    pub(super) fn from_workspace(workspace: &Workspace, root: &Path) -> Self {
        let projects = workspace.projects.iter().zip(workspace.names());
        let project = |(folder, name): (&ProjectFolder, String)| {
            let key = SafeName::new(&folder.key)?;
            // The directory must be named like the project and must not be a link.
            let is_own = folder.path.file_name().is_some_and(|own| own == key.as_str());
            (is_own && has_no_links(root, &folder.path)).then(|| ProjectRow {
                sessions: folder
                    .rows
                    .iter()
                    .filter_map(|row| session_row(folder, row, root))
                    .collect(),
                key,
                name,
            })
        };
        Self {
            projects: projects.filter_map(project).collect(),
        }
    }

    /// Returns the projects that have turns.
    pub(super) fn with_turns(&self) -> impl Iterator<Item = &ProjectRow> {
        self.projects.iter().filter(|project| project.turns().next().is_some())
    }

    pub(super) fn find(&self, key: &str) -> Option<&ProjectRow> {
        self.projects.iter().find(|project| project.key.as_str() == key)
    }

    /// Returns the project that a field names.
    pub(super) fn project(&self, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<&ProjectRow> {
        let field = node.field("project_key", errors)?;
        let found = self.find(field.name(errors)?);
        if found.is_none() {
            field.add_error(errors, "no such project", "`list_projects` lists them");
        }
        found
    }

    /// Parses a citation. If it names no project, it refers to `own`.
    pub(super) fn cited(
        &self,
        node: &JsonNode<'_>,
        own: Option<&ProjectRow>,
        errors: &mut InputErrors,
    ) -> Option<TurnCitation> {
        node.check_fields(&["project_key", "session_ref", "turn_ref", "lines"], errors);
        let project = match (own, node.optional("project_key")) {
            (Some(own), None) => own,
            (own, _) => {
                let found = self.project(node, errors)?;
                if own.is_some_and(|own| own.key != found.key) {
                    node.add_error(errors, "belongs to another project", "cite only turns of this project");
                    return None;
                }
                found
            }
        };
        let session = project.session(node, errors)?;
        let turn = session.turn(node, errors)?;
        let lines = turn.lines(&node.field("lines", errors)?, errors)?;
        Some(TurnCitation {
            project_key: project.key.as_str().to_owned(),
            session_ref: session.session_ref.as_str().to_owned(),
            turn_ref: turn.turn_ref.clone(),
            lines,
        })
    }
}

impl ProjectRow {
    pub(super) fn find(&self, session_ref: &str) -> Option<&SessionRow> {
        let is_match = |session: &&SessionRow| session.session_ref.as_str() == session_ref;
        self.sessions.iter().find(is_match)
    }

    /// Returns the session that a field names.
    pub(super) fn session(&self, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<&SessionRow> {
        let field = node.field("session_ref", errors)?;
        let found = self.find(field.name(errors)?);
        if found.is_none() {
            let known: Vec<&str> = self.sessions.iter().map(|one| one.session_ref.as_str()).collect();
            field.add_error(errors, "no such session in this project", known_range(&known));
        }
        found
    }

    /// Returns all turns, each with its session.
    pub(super) fn turns(&self) -> impl Iterator<Item = (&SessionRow, &TurnRow)> {
        let of = |session| std::iter::repeat(session);
        self.sessions
            .iter()
            .flat_map(move |session| of(session).zip(&session.turns))
    }
}

impl SessionRow {
    pub(super) fn find(&self, turn_ref: &str) -> Option<&TurnRow> {
        self.turns.iter().find(|turn| turn.turn_ref == turn_ref)
    }

    /// Returns the turn that a field names.
    pub(super) fn turn(&self, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<&TurnRow> {
        let field = node.field("turn_ref", errors)?;
        let found = self.find(field.name(errors)?);
        if found.is_none() {
            let known: Vec<&str> = self.turns.iter().map(|one| one.turn_ref.as_str()).collect();
            field.add_error(errors, "no such turn in this session", known_range(&known));
        }
        found
    }
}

impl TurnRow {
    /// Parses a range of lines of this turn: `21` or `21-55`.
    pub(super) fn lines(&self, node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<LineRange> {
        let Self {
            turn_ref,
            first_line,
            last_line,
        } = self;
        let range = node.name(errors)?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let Some((first, last)) = number(first).zip(number(last)).filter(|(first, last)| first <= last) else {
            node.add_error(errors, "is not a range of lines", "write it like \"21-55\" or \"21\"");
            return None;
        };
        if first < *first_line || last > *last_line {
            node.add_error(
                errors,
                format!("is outside of {turn_ref}"),
                format!("{turn_ref} has the lines {first_line}-{last_line}"),
            );
            return None;
        }
        Some(LineRange { first, last })
    }
}

/// Returns a hint that names the first and the last known reference.
fn known_range(known: &[&str]) -> String {
    match known {
        [] => "there are none".to_owned(),
        [only] => format!("there is only {only}"),
        [first, .., last] => format!("there are {first} to {last}"),
    }
}

fn session_row(folder: &ProjectFolder, row: &IndexRow, root: &Path) -> Option<SessionRow> {
    let log = folder.file(&row.session_path)?;
    let is_there = log.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let turn = |turn: &crate::report::workspace::TurnRow| TurnRow {
        turn_ref: turn.turn_ref.clone(),
        first_line: turn.turn_start_line,
        last_line: turn.turn_end_line.max(turn.turn_start_line),
    };
    (is_there && has_no_links(root, &log)).then_some(())?;
    Some(SessionRow {
        session_ref: SafeName::new(&row.session_ref)?,
        agent: row.agent()?,
        id: row.source_session_id.clone(),
        log,
        turns: row.turns.iter().map(turn).collect(),
    })
}

/// A project with two sessions, for tests: S0001 has T0001 (lines 1-9) and T0002 (10-20), S0002 has T0001 (5-5).
#[cfg(test)]
pub(super) fn sample_index() -> Index {
    let turn = |turn_ref: &str, first_line, last_line| TurnRow {
        turn_ref: turn_ref.to_owned(),
        first_line,
        last_line,
    };
    let session = |session_ref: &str, turns| SessionRow {
        session_ref: SafeName::new(session_ref).unwrap(),
        agent: Agent::Claude,
        id: format!("id of {session_ref}"),
        log: PathBuf::new(),
        turns,
    };
    let project = |key: &str, sessions| ProjectRow {
        key: SafeName::new(key).unwrap(),
        name: key.to_owned(),
        sessions,
    };
    let app = vec![
        session("S0001", vec![turn("T0001", 1, 9), turn("T0002", 10, 20)]),
        session("S0002", vec![turn("T0001", 5, 5)]),
    ];
    let docs = vec![session("S0001", vec![turn("T0001", 1, 3)])];
    Index {
        projects: vec![project("app-1", app), project("docs-2", docs)],
    }
}
