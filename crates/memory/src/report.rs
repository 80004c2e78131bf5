//! The written report of a day: what was asked, what was done and what resulted, each statement with the lines that
//! support it.
//!
//! A writer turns a workspace into a [`DayReport`], and pages are rendered from the [`DayReport`] alone. The default writer in this
//! module needs no model: it describes what the logs show, in a fixed order. Nothing here depends on HTML, Markdown,
//! the clock or the machine, so the same workspace and digests always give the same day.

mod commands;
mod describe;
mod evicted;
mod excerpts;
mod facts;
mod fields;
mod folds;
mod group;
mod judge;
mod lead_in;
mod lists;
mod open;
mod paths;
mod project;
mod rank;
mod read;
mod whole;
mod words;
mod workspace;
pub mod writing;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::mask::Masker;
use crate::prices::PriceTable;
use crate::store::{Store, StoreError};

pub use fields::{
    Citation, CoveredTurn, DayBounds, DayObservations, DayReport, ExcerptLine, LineKind, MinorWork, PieceOfWork,
    REPORT_SCHEMA, ReportProject, SentencePart, Statement, TimelineSpan, Totals, TurnExcerpt, UnreadSession,
    WriterInfo,
};
pub use workspace::read_day;

/// The inputs of a report.
pub struct ReportRequest<'a> {
    /// The workspace of the day.
    pub workspace: &'a Path,
    pub masker: &'a Masker,
    pub prices: &'a PriceTable,
    /// Provides digests, decisions and turns of sessions whose text was evicted.
    pub store: Option<&'a Store>,
    /// The meaning of `~` in a log whose text was evicted.
    pub home: &'a Path,
    /// The uids of the sessions to report, or `None` for all.
    pub only: Option<&'a HashSet<String>>,
}

impl ReportRequest<'_> {
    fn includes_session(&self, session_uid: &str) -> bool {
        self.only.is_none_or(|only| only.contains(session_uid))
    }
}

/// The reasons why a day cannot be written.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error("cannot read {path}: {reason}")]
    Workspace { path: PathBuf, reason: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a day with the default writer, from its workspace and from the digests of evicted sessions.
pub fn write_default(request: &ReportRequest<'_>) -> Result<DayReport, ReportError> {
    let mut workspace = workspace::Workspace::open(request.workspace)?;
    workspace.retain(&|uid| request.includes_session(uid));
    let mut facts = read::read_facts(&workspace, request);
    if let Some(store) = request.store {
        facts.add_decisions(store)?;
    }
    let evicted = match request.store {
        Some(store) => evicted::find_evicted(store, &workspace, request)?,
        None => Vec::new(),
    };
    let day = project::write_day(&workspace, &facts, evicted);
    Ok(words::number_secrets(day))
}
