//! The lists a writer reads: projects, sessions with their turns, and what is written already. A page at a time.

use serde::Serialize;
use serde_json::{Value, json};

use super::check::{Node, Wrongs};
use super::evidence::TurnEvidence;
use super::progress::Writings;
use super::works::WorkItem;
use super::{Desk, Refusal, evidence};

/// Bytes of one page, as JSON. A single entry may be larger.
const PAGE_BYTES: usize = 24 << 10;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectEntry {
    pub project_key: String,
    /// What it is called in a sentence.
    pub project: String,
    pub sessions: usize,
    pub turns: usize,
    /// Turns without evidence.
    pub without_evidence: usize,
    /// Turns that no piece of work covers.
    pub without_work: usize,
}

/// Some sessions of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionsPage {
    pub project_key: String,
    pub sessions: Vec<SessionEntry>,
    pub next_cursor: Option<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionEntry {
    pub session_ref: String,
    pub agent: String,
    pub turns: Vec<TurnEntry>,
    /// Turns without evidence.
    pub missing: Vec<String>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnEntry {
    pub turn_ref: String,
    pub first_line: u64,
    pub last_line: u64,
}

/// Some of the evidence of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidencePage {
    pub project_key: String,
    pub turns: Vec<EvidenceEntry>,
    pub next_cursor: Option<String>,
}

/// The evidence of one turn, and of which session it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceEntry {
    pub session_ref: String,
    #[serde(flatten)]
    pub evidence: TurnEvidence,
}

/// Some of the pieces of work of the day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorksPage {
    pub works: Vec<WorkEntry>,
    pub next_cursor: Option<String>,
}

/// A piece of work, and of which project it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkEntry {
    pub project_key: String,
    pub project: String,
    #[serde(flatten)]
    pub work: WorkItem,
}

impl Desk {
    /// All projects of the day.
    pub fn list_projects(&self, told: &Value) -> Result<Value, Refusal> {
        let (node, mut wrongs) = (Node::root(told), Wrongs::default());
        node.only(&["cursor"], &mut wrongs);
        let cursor = cursor(&node, &mut wrongs);
        let Some(cursor) = cursor.filter(|_| wrongs.is_empty()) else {
            return Err(wrongs.into());
        };
        let writings = Writings::read(&self.root, &self.index);
        let entry = |project: &super::index::ProjectRow| {
            let own = writings.project(project.key.as_str());
            let sessions = own.map_or(&[][..], |own| &own.sessions);
            let missing = |(session, (_, written)): (&super::index::SessionRow, &(String, _))| {
                evidence::missing(session, written).len()
            };
            ProjectEntry {
                project_key: project.key.as_str().to_owned(),
                project: project.name.clone(),
                sessions: project.sessions.len(),
                turns: project.turns().count(),
                without_evidence: project.sessions.iter().zip(sessions).map(missing).sum(),
                without_work: own.map_or(0, |own| own.missing.len()),
            }
        };
        let all: Vec<ProjectEntry> = self.index.with_turns().map(entry).collect();
        let (projects, next_cursor) = page(all, cursor);
        Ok(json!({ "projects": projects, "next_cursor": next_cursor }))
    }

    /// The sessions of a project and their turns: `project_key`, and perhaps `cursor`.
    pub fn list_sessions(&self, told: &Value) -> Result<SessionsPage, Refusal> {
        let (node, mut wrongs) = (Node::root(told), Wrongs::default());
        node.only(&["project_key", "cursor"], &mut wrongs);
        let (project, cursor) = (self.index.project(&node, &mut wrongs), cursor(&node, &mut wrongs));
        let (Some(project), Some(cursor)) = (project, cursor) else {
            return Err(wrongs.into());
        };
        let entry = |session: &super::index::SessionRow| {
            let written = super::progress::evidence_of(&self.root, project, session);
            let turn = |turn: &super::index::TurnRow| TurnEntry {
                turn_ref: turn.turn_ref.clone(),
                first_line: turn.first_line,
                last_line: turn.last_line,
            };
            SessionEntry {
                session_ref: session.session_ref.as_str().to_owned(),
                agent: session.agent.as_str().to_owned(),
                turns: session.turns.iter().map(turn).collect(),
                missing: evidence::missing(session, &written),
            }
        };
        let (sessions, next_cursor) = page(project.sessions.iter().map(entry).collect(), cursor);
        Ok(SessionsPage {
            project_key: project.key.as_str().to_owned(),
            sessions,
            next_cursor,
        })
    }

    /// The evidence of a project: `project_key`, and perhaps `cursor`.
    pub fn read_evidence(&self, told: &Value) -> Result<EvidencePage, Refusal> {
        let (node, mut wrongs) = (Node::root(told), Wrongs::default());
        node.only(&["project_key", "cursor"], &mut wrongs);
        let (project, cursor) = (self.index.project(&node, &mut wrongs), cursor(&node, &mut wrongs));
        let (Some(project), Some(cursor)) = (project, cursor) else {
            return Err(wrongs.into());
        };
        let mut all = Vec::new();
        for session in &project.sessions {
            let mut written = super::progress::evidence_of(&self.root, project, session);
            let in_order = session.turns.iter().filter_map(|turn| written.remove(&turn.turn_ref));
            all.extend(in_order.map(|evidence| EvidenceEntry {
                session_ref: session.session_ref.as_str().to_owned(),
                evidence,
            }));
        }
        let (turns, next_cursor) = page(all, cursor);
        Ok(EvidencePage {
            project_key: project.key.as_str().to_owned(),
            turns,
            next_cursor,
        })
    }

    /// The pieces of work of all projects: perhaps `cursor`.
    pub fn read_works(&self, told: &Value) -> Result<WorksPage, Refusal> {
        let (node, mut wrongs) = (Node::root(told), Wrongs::default());
        node.only(&["cursor"], &mut wrongs);
        let cursor = cursor(&node, &mut wrongs);
        let Some(cursor) = cursor.filter(|_| wrongs.is_empty()) else {
            return Err(wrongs.into());
        };
        let writings = Writings::read(&self.root, &self.index);
        let mut all = Vec::new();
        for (project, own) in self.index.with_turns().zip(writings.projects) {
            all.extend(own.works.into_values().map(|work| WorkEntry {
                project_key: project.key.as_str().to_owned(),
                project: project.name.clone(),
                work,
            }));
        }
        let (works, next_cursor) = page(all, cursor);
        Ok(WorksPage { works, next_cursor })
    }
}

/// Where a page begins.
fn cursor(node: &Node<'_>, wrongs: &mut Wrongs) -> Option<usize> {
    let Some(field) = node.optional("cursor") else {
        return Some(0);
    };
    let place = field.name(wrongs)?.parse().ok();
    if place.is_none() {
        field.wrong(
            wrongs,
            "is no cursor",
            "hand in the `next_cursor` of the page before, or none",
        );
    }
    place
}

/// As many entries as a page takes, at least one, and where the next one begins.
fn page<T: Serialize>(all: Vec<T>, from: usize) -> (Vec<T>, Option<String>) {
    let count = all.len();
    let mut room = PAGE_BYTES;
    let mut told = Vec::new();
    for (at, entry) in all.into_iter().enumerate().skip(from) {
        let bytes = serde_json::to_vec(&entry).map_or(0, |bytes| bytes.len());
        if bytes > room && !told.is_empty() {
            return (told, Some(at.to_string()));
        }
        room = room.saturating_sub(bytes);
        told.push(entry);
        if room == 0 && at + 1 < count {
            return (told, Some((at + 1).to_string()));
        }
    }
    (told, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_put_together_are_the_whole_list() {
        let all: Vec<String> = (0..200).map(|at| at.to_string().repeat(at * 4)).collect();
        let (mut whole, mut from, mut pages) = (Vec::new(), 0, 0);
        loop {
            let (told, next) = page(all.clone(), from);
            let bytes: usize = told.iter().map(|entry| entry.len() + 2).sum();
            assert!(bytes <= PAGE_BYTES, "{bytes}");
            whole.extend(told);
            pages += 1;
            match next {
                Some(next) => from = next.parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(whole, all);
        assert!((6..20).contains(&pages), "{pages}");
        assert_eq!(page(vec!["x".repeat(PAGE_BYTES * 2)], 0).0.len(), 1);
        assert_eq!(page(vec![1], 9), (Vec::new(), None));
    }
}
