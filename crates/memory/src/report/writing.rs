//! What a writer other than ours hands in: evidence by session, pieces of work by project, the day as a whole.
//!
//! A writer reads and writes through a [`Desk`]. Nothing it hands in is taken on trust: every citation is looked up in the
//! workspace's index, every word of a closed set and every size is checked, each turn is covered once. What is wrong comes
//! back with its JSON path. Nothing here knows which agent writes, or how it is asked.

mod check;
mod daily;
mod day;
mod evidence;
mod index;
mod pages;
mod place;
mod progress;
mod read;
mod works;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::ReportError;
use super::workspace::Workspace;
use crate::mask::{Masker, Numbering};
use check::{Node, Wrongs};
use index::Index;
use place::Place;
use progress::Writings;

pub use check::Wrong;
pub use daily::Synthesis;
pub use day::write_from;
pub use evidence::{Category, CheckKind, Claim, EndState, Evidence, KindClaim, Materiality, TurnEvidence};
pub use index::{Cited, Lines};
pub use pages::{EvidencePage, ProjectEntry, SessionEntry, SessionsPage, TurnEntry, WorksPage};
pub use progress::{Phase, Piece, Progress, progress};
pub use read::{Mode, Record, TurnPage};
pub use works::{CitedClaim, Disposed, Disposition, TurnName, WorkItem, WorkItems, WorkKind};

/// A workspace with a writer at it.
#[derive(Debug)]
pub struct Desk {
    root: PathBuf,
    /// Who writes.
    by: String,
    index: Index,
    masker: Masker,
    /// Secrets have one number each in everything this writer reads.
    numbering: Numbering,
    /// The turn that was read last.
    turn: Option<read::Opened>,
}

/// Why something is not done: what is wrong with it, and what was taken all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub status: &'static str,
    pub errors: Vec<Wrong>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// What was written, and what is still missing beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taken {
    pub status: &'static str,
    pub written: Vec<String>,
    pub missing: Vec<String>,
}

impl From<Wrongs> for Refusal {
    fn from(wrongs: Wrongs) -> Self {
        Self {
            status: "invalid",
            errors: wrongs.told,
            written: Vec::new(),
            missing: Vec::new(),
        }
    }
}

impl Desk {
    /// Opens a workspace for a writer.
    pub fn open(workspace: &Path, masker: Masker, by: &str) -> Result<Self, ReportError> {
        let failed = |error: std::io::Error| ReportError::Workspace {
            path: workspace.to_owned(),
            reason: error.to_string(),
        };
        // Links above the workspace are the user's; those in it are nobody's.
        let root = workspace.canonicalize().map_err(failed)?;
        let index = Index::of(&Workspace::open(&root)?, &root);
        Ok(Self {
            root,
            by: by.to_owned(),
            index,
            masker,
            numbering: Numbering::default(),
            turn: None,
        })
    }

    /// Takes the evidence of some turns of a session: `project_key`, `session_ref`, `turns`.
    pub fn write_evidence(&mut self, told: &Value) -> Result<Taken, Refusal> {
        let mut wrongs = Wrongs::default();
        let told = self.masked(told);
        let node = Node::root(&told);
        node.only(&["project_key", "session_ref", "turns"], &mut wrongs);
        let found = self
            .index
            .project(&node, &mut wrongs)
            .and_then(|project| Some((project, project.session(&node, &mut wrongs)?)));
        let Some((project, session)) = found else {
            return Err(wrongs.into());
        };
        let mut evidence = progress::evidence_of(&self.root, project, session);
        let mut written = Vec::new();
        let turns = node.field("turns", &mut wrongs);
        for node in turns
            .map(|turns| turns.list(evidence::TURNS_MAX, &mut wrongs))
            .unwrap_or_default()
        {
            let Some(own) = evidence::check(session, &node, &mut wrongs) else {
                continue;
            };
            if written.contains(&own.turn_ref) {
                node.wrong(&mut wrongs, "is of a turn that was told already", "tell each turn once");
                continue;
            }
            written.push(own.turn_ref.clone());
            evidence.insert(own.turn_ref.clone(), own);
        }
        let place = Place::Evidence {
            project: &project.key,
            session: &session.session_ref,
        };
        let missing = evidence::missing(session, &evidence);
        let kept = evidence::kept(project, session, &self.by, &evidence);
        self.put(place, &kept, wrongs, written, missing)
    }

    /// Takes pieces of work of a project: `project_key`, `works`.
    pub fn write_works(&mut self, told: &Value) -> Result<Taken, Refusal> {
        let mut wrongs = Wrongs::default();
        let told = self.masked(told);
        let node = Node::root(&told);
        node.only(&["project_key", "works"], &mut wrongs);
        let Some(project) = self.index.project(&node, &mut wrongs) else {
            return Err(wrongs.into());
        };
        let writings = Writings::read(&self.root, &self.index);
        let own = writings.project(project.key.as_str());
        if own.is_none_or(|own| own.has_gaps) {
            let hint = "write the evidence of all its sessions first";
            wrongs.add("project_key", "the evidence of this project is not complete", hint);
            return Err(wrongs.into());
        }
        let (basis, mut works) = own
            .map(|own| (own.basis.clone(), own.works.clone()))
            .unwrap_or_default();
        let mut written = Vec::new();
        let items = node.field("works", &mut wrongs);
        for node in items
            .map(|items| items.list(works::WORKS_MAX, &mut wrongs))
            .unwrap_or_default()
        {
            let Some(item) = works::check(&self.index, project, &works, &node, &mut wrongs) else {
                continue;
            };
            written.push(item.work_ref.clone());
            works.insert(item.work_ref.clone(), item);
        }
        let missing = works::missing(project, &works);
        let missing = missing
            .iter()
            .map(|name| format!("{} {}", name.session_ref, name.turn_ref));
        let kept = works::kept(project, &basis, &self.by, &works);
        let place = Place::Works { project: &project.key };
        self.put(place, &kept, wrongs, written, missing.collect())
    }

    /// Takes what is told of the whole day: `headline`, `summary`, `corrected`, `repeated`, `worked`.
    pub fn write_day(&mut self, told: &Value) -> Result<Taken, Refusal> {
        let mut wrongs = Wrongs::default();
        let writings = Writings::read(&self.root, &self.index);
        if let Some(project) = writings.projects.iter().find(|project| !project.is_done()) {
            let message = format!("the pieces of work of {} are not complete", project.key);
            wrongs.add("", message, "write those of all projects first");
            return Err(wrongs.into());
        }
        let told = self.masked(told);
        let Some(day) = daily::check(&self.index, &Node::root(&told), &mut wrongs) else {
            return Err(wrongs.into());
        };
        let kept = daily::kept(&writings.basis(), &self.by, &day);
        self.put(Place::Day, &kept, wrongs, vec!["day".to_owned()], Vec::new())
    }

    /// Keeps what is right, and tells what is wrong.
    fn put(
        &self,
        place: Place<'_>,
        kept: &Value,
        mut wrongs: Wrongs,
        written: Vec<String>,
        missing: Vec<String>,
    ) -> Result<Taken, Refusal> {
        if !written.is_empty()
            && let Err(error) = place::write(&self.root, place, kept)
        {
            wrongs.add(
                "",
                format!("cannot be kept: {error}"),
                "this is not yours to mend: stop",
            );
            return Err(wrongs.into());
        }
        match wrongs.is_empty() {
            true => Ok(Taken {
                status: "written",
                written,
                missing,
            }),
            false => Err(Refusal {
                written,
                missing,
                ..wrongs.into()
            }),
        }
    }

    /// What is handed in, without secrets: whoever wrote it may have seen some elsewhere.
    fn masked(&self, told: &Value) -> Value {
        match told {
            Value::String(text) => Value::String(self.masker.mask_str(text, &mut Vec::new()).into_owned()),
            Value::Array(all) => all.iter().map(|one| self.masked(one)).collect(),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| (name.clone(), self.masked(value));
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }
}
