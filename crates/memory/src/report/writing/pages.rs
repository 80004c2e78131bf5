//! The lists that a writer reads: projects, sessions with their turns, and what is already written. Each list is
//! paginated.

use serde::Serialize;
use serde_json::Value;

use super::check::{InputErrors, JsonNode};
use super::evidence::TurnEvidence;
use super::progress::Writings;
use super::works::WorkItem;
use super::{RejectedInput, WriterWorkspace, evidence};

/// Maximum size of one page as JSON. A single entry may be larger.
const PAGE_BYTES: usize = 24 << 10;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectEntry {
    pub project_key: String,
    /// The name used in sentences.
    pub project: String,
    pub sessions: usize,
    pub turns: usize,
    /// Number of turns without evidence.
    pub without_evidence: usize,
    /// Number of turns that no piece of work covers.
    pub without_work: usize,
}

/// A page of the sessions of a project.
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
    /// References of the turns without evidence.
    pub missing: Vec<String>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnEntry {
    pub turn_ref: String,
    pub first_line: u64,
    pub last_line: u64,
}

/// A page of the projects of the day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectsPage {
    pub projects: Vec<ProjectEntry>,
    pub next_cursor: Option<String>,
}

/// A page of the evidence of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidencePage {
    pub project_key: String,
    pub turns: Vec<EvidenceEntry>,
    pub next_cursor: Option<String>,
}

/// The evidence of one turn, with its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceEntry {
    pub session_ref: String,
    #[serde(flatten)]
    pub evidence: TurnEvidence,
}

/// A page of the day's pieces of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorksPage {
    pub works: Vec<WorkEntry>,
    pub next_cursor: Option<String>,
}

/// A piece of work with its project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkEntry {
    pub project_key: String,
    pub project: String,
    #[serde(flatten)]
    pub work: WorkItem,
}

impl WriterWorkspace {
    /// Returns the projects of the day.
    pub fn list_projects(&self, input: &Value) -> Result<ProjectsPage, RejectedInput> {
        let (node, mut errors) = (JsonNode::root(input), InputErrors::default());
        node.check_fields(&["cursor"], &mut errors);
        let cursor = parse_cursor(&node, &mut errors);
        let Some(cursor) = cursor.filter(|_| errors.is_empty()) else {
            return Err(errors.into());
        };
        let writings = Writings::read(&self.root, &self.index);
        let entry = |project: &super::index::ProjectRow| {
            let own = writings.project(project.key.as_str());
            let sessions = own.map_or(&[][..], |own| &own.sessions);
            let missing = |(session, (_, written)): (&super::index::SessionRow, &(String, _))| {
                evidence::missing_turns(session, written).len()
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
        let (projects, next_cursor) = take_page(all, cursor);
        Ok(ProjectsPage { projects, next_cursor })
    }

    /// Returns the sessions of a project with their turns: `project_key`, optionally `cursor`.
    pub fn list_sessions(&self, input: &Value) -> Result<SessionsPage, RejectedInput> {
        let (node, mut errors) = (JsonNode::root(input), InputErrors::default());
        node.check_fields(&["project_key", "cursor"], &mut errors);
        let (project, cursor) = (self.index.project(&node, &mut errors), parse_cursor(&node, &mut errors));
        let (Some(project), Some(cursor)) = (project, cursor) else {
            return Err(errors.into());
        };
        let entry = |session: &super::index::SessionRow| {
            let written = super::progress::load_evidence(&self.root, project, session);
            let turn = |turn: &super::index::TurnRow| TurnEntry {
                turn_ref: turn.turn_ref.clone(),
                first_line: turn.first_line,
                last_line: turn.last_line,
            };
            SessionEntry {
                session_ref: session.session_ref.as_str().to_owned(),
                agent: session.agent.as_str().to_owned(),
                turns: session.turns.iter().map(turn).collect(),
                missing: evidence::missing_turns(session, &written),
            }
        };
        let (sessions, next_cursor) = take_page(project.sessions.iter().map(entry).collect(), cursor);
        Ok(SessionsPage {
            project_key: project.key.as_str().to_owned(),
            sessions,
            next_cursor,
        })
    }

    /// Returns the evidence of a project: `project_key`, optionally `cursor`.
    pub fn read_evidence(&self, input: &Value) -> Result<EvidencePage, RejectedInput> {
        let (node, mut errors) = (JsonNode::root(input), InputErrors::default());
        node.check_fields(&["project_key", "cursor"], &mut errors);
        let (project, cursor) = (self.index.project(&node, &mut errors), parse_cursor(&node, &mut errors));
        let (Some(project), Some(cursor)) = (project, cursor) else {
            return Err(errors.into());
        };
        let mut all = Vec::new();
        for session in &project.sessions {
            let mut written = super::progress::load_evidence(&self.root, project, session);
            let ordered = session.turns.iter().filter_map(|turn| written.remove(&turn.turn_ref));
            all.extend(ordered.map(|evidence| EvidenceEntry {
                session_ref: session.session_ref.as_str().to_owned(),
                evidence,
            }));
        }
        let (turns, next_cursor) = take_page(all, cursor);
        Ok(EvidencePage {
            project_key: project.key.as_str().to_owned(),
            turns,
            next_cursor,
        })
    }

    /// Returns the pieces of work of all projects: optionally `cursor`.
    pub fn read_works(&self, input: &Value) -> Result<WorksPage, RejectedInput> {
        let (node, mut errors) = (JsonNode::root(input), InputErrors::default());
        node.check_fields(&["cursor"], &mut errors);
        let cursor = parse_cursor(&node, &mut errors);
        let Some(cursor) = cursor.filter(|_| errors.is_empty()) else {
            return Err(errors.into());
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
        let (works, next_cursor) = take_page(all, cursor);
        Ok(WorksPage { works, next_cursor })
    }
}

/// Parses the start of a page.
fn parse_cursor(node: &JsonNode<'_>, errors: &mut InputErrors) -> Option<usize> {
    let Some(field) = node.optional("cursor") else {
        return Some(0);
    };
    let place = field.name(errors)?.parse().ok();
    if place.is_none() {
        field.add_error(
            errors,
            "is not a cursor",
            "pass the `next_cursor` of the previous page, or omit it",
        );
    }
    place
}

/// Returns the entries that fit into one page, at least one, and the cursor of the next page.
fn take_page<T: Serialize>(all: Vec<T>, from: usize) -> (Vec<T>, Option<String>) {
    let count = all.len();
    let mut remaining = PAGE_BYTES;
    let mut entries = Vec::new();
    for (at, entry) in all.into_iter().enumerate().skip(from) {
        let bytes = serde_json::to_vec(&entry).map_or(0, |bytes| bytes.len());
        if bytes > remaining && !entries.is_empty() {
            return (entries, Some(at.to_string()));
        }
        remaining = remaining.saturating_sub(bytes);
        entries.push(entry);
        if remaining == 0 && at + 1 < count {
            return (entries, Some((at + 1).to_string()));
        }
    }
    (entries, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pages_together_are_the_whole_list() {
        let all: Vec<String> = (0..200).map(|at| at.to_string().repeat(at * 4)).collect();
        let (mut whole, mut from, mut pages) = (Vec::new(), 0, 0);
        loop {
            let (entries, next) = take_page(all.clone(), from);
            let bytes: usize = entries.iter().map(|entry| entry.len() + 2).sum();
            assert!(bytes <= PAGE_BYTES, "{bytes}");
            whole.extend(entries);
            pages += 1;
            match next {
                Some(next) => from = next.parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(whole, all);
        assert!((6..20).contains(&pages), "{pages}");
        assert_eq!(take_page(vec!["x".repeat(PAGE_BYTES * 2)], 0).0.len(), 1);
        assert_eq!(take_page(vec![1], 9), (Vec::new(), None));
    }
}
