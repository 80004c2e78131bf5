//! Answers of the verbs that write files or start agents.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;

/// `boswell days`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DaysAnswer<'a> {
    pub(crate) timezone: &'a str,
    /// How many days have sessions, even if fewer are listed.
    pub(crate) total: usize,
    /// Newest first.
    pub(crate) days: Vec<DayRow<'a>>,
}

impl Answer for DaysAnswer<'_> {
    const SCHEMA: &'static str = "boswell.days/1";
}

/// A day with sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DayRow<'a> {
    pub(crate) date: String,
    pub(crate) sessions: usize,
    pub(crate) turns: usize,
    pub(crate) projects: &'a [String],
    /// The status of its workspace; null if it has none.
    pub(crate) workspace: Option<&'a str>,
    pub(crate) has_report: bool,
}

/// `boswell export`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportAnswer<'a> {
    pub(crate) files: Vec<ExportedFile<'a>>,
}

impl Answer for ExportAnswer<'_> {
    const SCHEMA: &'static str = "boswell.export/1";
}

/// A table that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedFile<'a> {
    pub(crate) table: &'static str,
    pub(crate) path: &'a Path,
    pub(crate) rows: u64,
}

/// `boswell restore`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RestoreAnswer<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) dry_run: bool,
    /// How many files were written.
    pub(crate) written: u64,
    pub(crate) files: Vec<RestoredFile<'a>>,
    pub(crate) left_out: &'a [String],
    /// Subagents whose text is gone.
    pub(crate) gone: &'a [String],
    /// `memory` or `source`.
    pub(crate) text_from: &'static str,
}

impl Answer for RestoreAnswer<'_> {
    const SCHEMA: &'static str = "boswell.restore/1";
}

/// One file of a session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RestoredFile<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) part: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) bytes: u64,
    pub(crate) redactions: u64,
    pub(crate) lines_left_out: u64,
    /// Whether the file exists and is left as it is.
    pub(crate) is_there: bool,
}

/// `boswell resume --print`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ResumeAnswer<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) cwd: &'a Path,
    pub(crate) command: Vec<String>,
    pub(crate) variables: BTreeMap<&'static str, String>,
    /// The command as a line for a shell.
    pub(crate) line: String,
    pub(crate) log_is_gone: bool,
}

impl Answer for ResumeAnswer<'_> {
    const SCHEMA: &'static str = "boswell.resume/1";
}
