//! A written day: what was asked, what was done, what came of it, each statement with the lines it stands on.
//!
//! A writer makes a [`Day`] of a workspace; pages are made of a [`Day`] alone. The writer here needs no model: it tells
//! what the logs show, in an order that does not depend on who asks or when. Nothing here knows HTML or Markdown, the time
//! or this machine: the same workspace and digests give the same day.

mod commands;
mod excerpts;
mod facts;
mod fields;
mod folds;
mod gone;
mod group;
mod judge;
mod lead_in;
mod lists;
mod open;
mod paths;
mod project;
mod rank;
mod read;
mod tell;
mod whole;
mod words;
mod workspace;
pub mod writing;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::mask::Masker;
use crate::prices::Prices;
use crate::store::{Store, StoreError};

pub use fields::{
    Bounds, Citation, Covered, Day, Excerpt, ExcerptLine, Folded, LineKind, Project, SCHEMA, Span, Statement, Totals,
    Unread, Whole, Word, Work, Written,
};
pub use workspace::read_day;

/// What a day is written from.
pub struct Ask<'a> {
    /// The workspace of the day.
    pub workspace: &'a Path,
    pub masker: &'a Masker,
    pub prices: &'a Prices,
    /// Digests, decisions and the marks of sessions whose text was let go.
    pub store: Option<&'a Store>,
    /// What `~` means in a log whose text was let go.
    pub home: &'a Path,
    /// Which sessions are told, by their uids; none tells all.
    pub only: Option<&'a HashSet<String>>,
}

impl Ask<'_> {
    fn takes(&self, session_uid: &str) -> bool {
        self.only.is_none_or(|only| only.contains(session_uid))
    }
}

/// Why a day cannot be written.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error("cannot read {path}: {reason}")]
    Workspace { path: PathBuf, reason: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a day without any model, from its workspace and from the digests of sessions whose text was let go.
pub fn write(ask: &Ask<'_>) -> Result<Day, ReportError> {
    let mut workspace = workspace::Workspace::open(ask.workspace)?;
    workspace.retain(&|uid| ask.takes(uid));
    let mut facts = read::read(&workspace, ask);
    if let Some(store) = ask.store {
        facts.add_decisions(store)?;
    }
    let gone = match ask.store {
        Some(store) => gone::gone(store, &workspace, ask)?,
        None => Vec::new(),
    };
    let day = project::write(&workspace, &facts, gone);
    Ok(words::numbered(day))
}
