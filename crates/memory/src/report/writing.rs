//! The input of external writers: evidence by session, pieces of work by project, and the day as a whole.
//!
//! A writer reads and writes through a [`WriterWorkspace`]. Its input is never trusted: every citation is looked up in the
//! workspace's index, every value and every size is checked, and each turn may be covered only once. Errors are
//! returned with their JSON path. Nothing here depends on which agent writes, or how it is called.

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
use check::{InputErrors, JsonNode};
use index::Index;
use place::WritingPath;
use progress::Writings;

pub use check::InputError;
pub use daily::DaySynthesis;
pub use day::write_external;
pub use evidence::{CheckKind, EndState, Evidence, EvidenceClaim, KindClaim, Materiality, ResultKind, TurnEvidence};
pub use index::{LineRange, TurnCitation};
pub use pages::{EvidencePage, ProjectEntry, ProjectsPage, SessionEntry, SessionsPage, TurnEntry, WorksPage};
pub use progress::{PartCount, ReportPart, WritingPhase, WritingProgress, read_progress};
pub use read::{ReadMode, TurnPage, TurnRecord};
pub use works::{CitedClaim, Disposition, DispositionClaim, TurnReference, WorkItem, WorkItems, WorkKind};

/// An open workspace with its writer.
#[derive(Debug)]
pub struct WriterWorkspace {
    root: PathBuf,
    /// The name of the writer.
    by: String,
    index: Index,
    masker: Masker,
    /// Numbers secrets the same way in everything that this writer reads.
    numbering: Numbering,
    /// The turn that was read last.
    turn: Option<read::OpenTurn>,
}

/// The errors of a rejected input, and the parts that were accepted anyway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedInput {
    pub status: &'static str,
    pub errors: Vec<InputError>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The accepted parts of an input, and what is still missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptedInput {
    pub status: &'static str,
    pub written: Vec<String>,
    pub missing: Vec<String>,
}

impl From<InputErrors> for RejectedInput {
    fn from(errors: InputErrors) -> Self {
        Self {
            status: "invalid",
            errors: errors.listed,
            written: Vec::new(),
            missing: Vec::new(),
        }
    }
}

impl WriterWorkspace {
    /// Opens a workspace for a writer.
    pub fn open(workspace: &Path, masker: Masker, by: &str) -> Result<Self, ReportError> {
        let failed = |error: std::io::Error| ReportError::Workspace {
            path: workspace.to_owned(),
            reason: error.to_string(),
        };
        // Links above the workspace belong to the user. Links inside it are not followed.
        let root = workspace.canonicalize().map_err(failed)?;
        let index = Index::from_workspace(&Workspace::open(&root)?, &root);
        Ok(Self {
            root,
            by: by.to_owned(),
            index,
            masker,
            numbering: Numbering::default(),
            turn: None,
        })
    }

    /// Accepts the evidence of some turns of a session: `project_key`, `session_ref`, `turns`.
    pub fn write_evidence(&mut self, input: &Value) -> Result<AcceptedInput, RejectedInput> {
        let mut errors = InputErrors::default();
        let input = self.mask_input(input);
        let node = JsonNode::root(&input);
        node.check_fields(&["project_key", "session_ref", "turns"], &mut errors);
        let found = self
            .index
            .project(&node, &mut errors)
            .and_then(|project| Some((project, project.session(&node, &mut errors)?)));
        let Some((project, session)) = found else {
            return Err(errors.into());
        };
        let mut evidence = progress::load_evidence(&self.root, project, session);
        let mut written = Vec::new();
        let turns = node.field("turns", &mut errors);
        for node in turns
            .map(|turns| turns.list(evidence::TURNS_MAX, &mut errors))
            .unwrap_or_default()
        {
            let Some(own) = evidence::check(session, &node, &mut errors) else {
                continue;
            };
            if written.contains(&own.turn_ref) {
                node.add_error(&mut errors, "repeats a turn of this call", "describe each turn once");
                continue;
            }
            written.push(own.turn_ref.clone());
            evidence.insert(own.turn_ref.clone(), own);
        }
        let place = WritingPath::Evidence {
            project: &project.key,
            session: &session.session_ref,
        };
        let missing = evidence::missing_turns(session, &evidence);
        let stored = evidence::stored_file(project, session, &self.by, &evidence);
        self.store(place, &stored, errors, written, missing)
    }

    /// Accepts pieces of work of a project: `project_key`, `works`.
    pub fn write_works(&mut self, input: &Value) -> Result<AcceptedInput, RejectedInput> {
        let mut errors = InputErrors::default();
        let input = self.mask_input(input);
        let node = JsonNode::root(&input);
        node.check_fields(&["project_key", "works"], &mut errors);
        let Some(project) = self.index.project(&node, &mut errors) else {
            return Err(errors.into());
        };
        let writings = Writings::read(&self.root, &self.index);
        let own = writings.project(project.key.as_str());
        if own.is_none_or(|own| own.has_gaps) {
            let hint = "write the evidence of all its sessions first";
            errors.add("project_key", "the evidence of this project is not complete", hint);
            return Err(errors.into());
        }
        let (basis, mut works) = own
            .map(|own| (own.basis.clone(), own.works.clone()))
            .unwrap_or_default();
        let mut written = Vec::new();
        let items = node.field("works", &mut errors);
        for node in items
            .map(|items| items.list(works::WORKS_MAX, &mut errors))
            .unwrap_or_default()
        {
            let Some(item) = works::check(&self.index, project, &works, &node, &mut errors) else {
                continue;
            };
            written.push(item.work_ref.clone());
            works.insert(item.work_ref.clone(), item);
        }
        let missing = works::missing_turns(project, &works);
        let missing = missing
            .iter()
            .map(|name| format!("{} {}", name.session_ref, name.turn_ref));
        let stored = works::stored_file(project, &basis, &self.by, &works);
        let place = WritingPath::Works { project: &project.key };
        self.store(place, &stored, errors, written, missing.collect())
    }

    /// Accepts the description of the whole day: `headline`, `summary`, `corrected`, `repeated`, `worked`.
    pub fn write_day(&mut self, input: &Value) -> Result<AcceptedInput, RejectedInput> {
        let mut errors = InputErrors::default();
        let writings = Writings::read(&self.root, &self.index);
        if let Some(project) = writings.projects.iter().find(|project| !project.is_done()) {
            let message = format!("the pieces of work of {} are not complete", project.key);
            errors.add("", message, "write the work of all projects first");
            return Err(errors.into());
        }
        let input = self.mask_input(input);
        let Some(day) = daily::check(&self.index, &JsonNode::root(&input), &mut errors) else {
            return Err(errors.into());
        };
        let basis = writings.basis();
        let stored = daily::stored_file(&basis, &self.by, &day);
        self.store(WritingPath::Day, &stored, errors, vec!["day".to_owned()], Vec::new())
    }

    /// Stores the valid parts, and returns an error if any part was invalid.
    fn store(
        &self,
        place: WritingPath<'_>,
        stored: &impl Serialize,
        mut errors: InputErrors,
        written: Vec<String>,
        missing: Vec<String>,
    ) -> Result<AcceptedInput, RejectedInput> {
        if !written.is_empty()
            && let Err(error) = place::write_json(&self.root, place, stored)
        {
            errors.add("", format!("cannot be stored: {error}"), "you cannot fix this: stop");
            return Err(errors.into());
        }
        match errors.is_empty() {
            true => Ok(AcceptedInput {
                status: "written",
                written,
                missing,
            }),
            false => Err(RejectedInput {
                written,
                missing,
                ..errors.into()
            }),
        }
    }

    /// Masks the secrets of an input, because the writer may have seen some elsewhere.
    fn mask_input(&self, input: &Value) -> Value {
        match input {
            Value::String(text) => Value::String(self.masker.mask_str(text, &mut Vec::new()).into_owned()),
            Value::Array(all) => all.iter().map(|one| self.mask_input(one)).collect(),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| (name.clone(), self.mask_input(value));
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }
}
