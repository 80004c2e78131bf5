//! Stores pages next to the workspace of their day: atomically, and readable only by their owner.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use memory::report::DayReport;
use serde::Serialize;
use tempfile::NamedTempFile;

use super::cited::CitationStyle;
use super::{markdown, page};
use crate::context::{create_private_dir, write_private_output};
use crate::error::CommandError;
use crate::interrupt::UnfinishedFile;

/// The files of one report.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) markdown: PathBuf,
    pub(super) html: PathBuf,
    pub(super) json: PathBuf,
}

impl Kept {
    pub(super) fn paths(&self) -> [&Path; 3] {
        [&self.markdown, &self.html, &self.json]
    }
}

/// Stores the pages of a day.
pub(super) fn keep(workspace: &Path, day: &DayReport) -> Result<Kept, CommandError> {
    keep_as(
        &workspace.join("report"),
        &markdown::day(day, CitationStyle::Workspace),
        &page::day(day),
        &json(day)?,
    )
}

/// Stores the three pages of a report under one name.
pub(super) fn keep_as(name: &Path, markdown: &str, html: &str, json: &str) -> Result<Kept, CommandError> {
    let kept = Kept {
        markdown: name.with_extension("md"),
        html: name.with_extension("html"),
        json: name.with_extension("json"),
    };
    for (path, text) in [(&kept.markdown, markdown), (&kept.html, html), (&kept.json, json)] {
        write(path, text.as_bytes())?;
    }
    Ok(kept)
}

/// Returns a report as indented JSON.
pub(super) fn json(report: &impl Serialize) -> Result<String, CommandError> {
    let failed = |error| CommandError::internal(format_args!("cannot write JSON: {error}"));
    Ok(serde_json::to_string_pretty(report).map_err(failed)? + "\n")
}

/// Writes a file below the reports root atomically.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let written = || -> io::Result<()> {
        let directory = path.parent().unwrap_or(path);
        create_private_dir(directory)?;
        let create = || tempfile::Builder::new().prefix(".report").tempfile_in(directory);
        let (mut aside, _unfinished) = UnfinishedFile::create(create, NamedTempFile::path)?;
        aside.write_all(bytes)?;
        aside.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|error| failed(path, &error))
}

/// Writes a file to a path that the user named. It is private, because it contains text of sessions.
pub(super) fn write_for_user(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    write_private_output(path, bytes).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::user("output", format_args!("cannot write {}: {error}", path.display()))
}
