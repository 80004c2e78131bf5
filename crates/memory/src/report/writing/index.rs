//! What may be cited: the projects, sessions and turns of a workspace's index. A citation that names anything else, or
//! lines outside of its turn, is refused. Names that lead anywhere but into the workspace are no names here.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use transcript::{Agent, SafeName};

use super::check::{Node, Wrongs};
use super::place::is_plain;
use crate::report::workspace::{Folder, Row, Workspace};

/// A sentence stands on at most so many places.
pub(super) const CITATIONS_MAX: usize = 4;

/// Everything that can be written about.
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

/// Some lines, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lines {
    pub first: u64,
    pub last: u64,
}

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}-{}", self.first, self.last))
    }
}

/// Lines of a turn of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cited {
    pub project_key: String,
    pub session_ref: String,
    pub turn_ref: String,
    pub lines: Lines,
}

impl Index {
    pub(super) fn of(workspace: &Workspace, root: &Path) -> Self {
        let projects = workspace.projects.iter().zip(workspace.names());
        let project = |(folder, name): (&Folder, String)| {
            let key = SafeName::new(&folder.key)?;
            // A directory that is called otherwise, or is a link, is not the project's.
            let is_own = folder.path.file_name().is_some_and(|own| own == key.as_str());
            (is_own && is_plain(root, &folder.path)).then(|| ProjectRow {
                sessions: folder
                    .rows
                    .iter()
                    .filter_map(|row| session(folder, row, root))
                    .collect(),
                key,
                name,
            })
        };
        Self {
            projects: projects.filter_map(project).collect(),
        }
    }

    /// Projects with something to write about.
    pub(super) fn with_turns(&self) -> impl Iterator<Item = &ProjectRow> {
        self.projects.iter().filter(|project| project.turns().next().is_some())
    }

    pub(super) fn find(&self, key: &str) -> Option<&ProjectRow> {
        self.projects.iter().find(|project| project.key.as_str() == key)
    }

    /// The project that a field names.
    pub(super) fn project(&self, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<&ProjectRow> {
        let field = node.field("project_key", wrongs)?;
        let found = self.find(field.name(wrongs)?);
        if found.is_none() {
            field.wrong(wrongs, "no such project", "`list_projects` names them");
        }
        found
    }

    /// A citation; where it names no project, `own` is meant.
    pub(super) fn cited(&self, node: &Node<'_>, own: Option<&ProjectRow>, wrongs: &mut Wrongs) -> Option<Cited> {
        node.only(&["project_key", "session_ref", "turn_ref", "lines"], wrongs);
        let project = match (own, node.optional("project_key")) {
            (Some(own), None) => own,
            (own, _) => {
                let found = self.project(node, wrongs)?;
                if own.is_some_and(|own| own.key != found.key) {
                    node.wrong(wrongs, "is of another project", "cite turns of this project alone");
                    return None;
                }
                found
            }
        };
        let session = project.session(node, wrongs)?;
        let turn = session.turn(node, wrongs)?;
        let lines = turn.lines(&node.field("lines", wrongs)?, wrongs)?;
        Some(Cited {
            project_key: project.key.as_str().to_owned(),
            session_ref: session.session_ref.as_str().to_owned(),
            turn_ref: turn.turn_ref.clone(),
            lines,
        })
    }
}

impl ProjectRow {
    pub(super) fn find(&self, session_ref: &str) -> Option<&SessionRow> {
        let is_it = |session: &&SessionRow| session.session_ref.as_str() == session_ref;
        self.sessions.iter().find(is_it)
    }

    /// The session that a field names.
    pub(super) fn session(&self, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<&SessionRow> {
        let field = node.field("session_ref", wrongs)?;
        let found = self.find(field.name(wrongs)?);
        if found.is_none() {
            let known: Vec<&str> = self.sessions.iter().map(|one| one.session_ref.as_str()).collect();
            field.wrong(wrongs, "no such session in this project", among(&known));
        }
        found
    }

    /// All turns, each with its session.
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

    /// The turn that a field names.
    pub(super) fn turn(&self, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<&TurnRow> {
        let field = node.field("turn_ref", wrongs)?;
        let found = self.find(field.name(wrongs)?);
        if found.is_none() {
            let known: Vec<&str> = self.turns.iter().map(|one| one.turn_ref.as_str()).collect();
            field.wrong(wrongs, "no such turn in this session", among(&known));
        }
        found
    }
}

impl TurnRow {
    /// Lines of this turn: `21` or `21-55`.
    pub(super) fn lines(&self, node: &Node<'_>, wrongs: &mut Wrongs) -> Option<Lines> {
        let Self {
            turn_ref,
            first_line,
            last_line,
        } = self;
        let told = node.name(wrongs)?;
        let (first, last) = told.split_once('-').unwrap_or((told, told));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let Some((first, last)) = number(first).zip(number(last)).filter(|(first, last)| first <= last) else {
            node.wrong(wrongs, "is no range of lines", "write it like \"21-55\" or \"21\"");
            return None;
        };
        if first < *first_line || last > *last_line {
            node.wrong(
                wrongs,
                format!("lies outside of {turn_ref}"),
                format!("{turn_ref} has the lines {first_line}-{last_line}"),
            );
            return None;
        }
        Some(Lines { first, last })
    }
}

/// Which there are, as far as they are few.
fn among(known: &[&str]) -> String {
    match known {
        [] => "there are none".to_owned(),
        [only] => format!("there is {only} alone"),
        [first, .., last] => format!("there are {first} to {last}"),
    }
}

fn session(folder: &Folder, row: &Row, root: &Path) -> Option<SessionRow> {
    let log = folder.file(&row.session_path)?;
    let is_there = log.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let turn = |turn: &crate::report::workspace::TurnRow| TurnRow {
        turn_ref: turn.turn_ref.clone(),
        first_line: turn.turn_start_line,
        last_line: turn.turn_end_line.max(turn.turn_start_line),
    };
    (is_there && is_plain(root, &log)).then_some(())?;
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
pub(super) fn made_up() -> Index {
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
