//! The audit: a private record of what a workspace was made from. It contains paths, checksums and counts, and the
//! reason for everything that was left out.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use transcript::Agent;

use super::collect::PickedSession;
use super::window::{DayWindow, format_utc};
use super::{SCHEMA_VERSION, source_name};

/// Something that was left out of the workspace, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub struct SkippedSource {
    /// The path of a file, or the uid of a session.
    pub what: String,
    pub reason: String,
}

impl SkippedSource {
    pub(super) fn at(path: &Path, reason: String) -> Self {
        Self {
            what: path.to_string_lossy().into_owned(),
            reason,
        }
    }
}

/// A file whose name in the workspace differs from its original name.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RenamedFile {
    pub source_path: String,
    pub workspace_path: String,
}

/// A session that was restored from the store because the agent deleted its log.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RestoredSession {
    pub session_uid: String,
    pub workspace_path: String,
}

/// The differences between a copy and its log.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MaskedCopy {
    pub workspace_path: String,
    pub secrets: u64,
    pub lines_left_out: u64,
}

/// The notes of the audit that are not about a single session.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AuditNotes {
    pub renamed: Vec<RenamedFile>,
    pub masked: Vec<MaskedCopy>,
    pub from_memory: Vec<RestoredSession>,
    /// Sessions of the day whose raw text was evicted and whose logs were deleted.
    pub evicted: Vec<String>,
    /// Sessions of the day whose raw text was evicted and that were read from their logs again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from_source: Vec<String>,
    pub skipped: Vec<SkippedSource>,
}

/// A directory that was searched for logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct SourceSpec {
    source: &'static str,
    root: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback_project_root: Option<String>,
}

impl SourceSpec {
    pub(super) fn new(agent: Agent, root: &Path, fallback: Option<&Path>) -> Self {
        Self {
            source: source_name(agent),
            root: root.to_string_lossy().into_owned(),
            fallback_project_root: fallback.map(|root| root.to_string_lossy().into_owned()),
        }
    }
}

/// The audit file. The notes come last because other programs parse the fields before them.
#[derive(Debug, Serialize)]
pub(super) struct Manifest<'a> {
    schema_version: u32,
    report_date: String,
    timezone: &'a str,
    status: &'static str,
    prepared_at: &'a str,
    source_specs: &'a [SourceSpec],
    sessions: Vec<SessionEntry<'a>>,
    copies: &'static str,
    #[serde(flatten)]
    notes: &'a AuditNotes,
}

impl<'a> Manifest<'a> {
    pub(super) fn new(
        window: &'a DayWindow,
        prepared_at: &'a str,
        source_specs: &'a [SourceSpec],
        sessions: Vec<SessionEntry<'a>>,
        copies: &'static str,
        notes: &'a AuditNotes,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            report_date: window.date.to_string(),
            timezone: &window.zone_name,
            status: window.status.as_str(),
            prepared_at,
            source_specs,
            sessions,
            copies,
            notes,
        }
    }
}

/// The entry of one session that is not a subagent.
#[derive(Debug, Serialize)]
pub(super) struct SessionEntry<'a> {
    source: &'static str,
    source_session_id: &'a str,
    source_path: String,
    workspace_project_key: &'a str,
    workspace_session_path: &'a str,
    canonical_project_root: &'a str,
    project_root_is_unknown: bool,
    source_checksum_sha256: &'a str,
    workspace_checksum_sha256: &'a str,
    total_lines: u64,
    target_start_line: u64,
    target_end_line: u64,
    first_event_at: Option<String>,
    last_event_at: Option<String>,
    malformed_line_count: u64,
    untimestamped_record_count: u64,
    non_monotonic_timestamp_count: u64,
    warnings: Vec<String>,
}

impl<'a> SessionEntry<'a> {
    pub(super) fn new(picked: &'a PickedSession, session_path: &'a str) -> Self {
        let scan = &picked.scan;
        let counts = [
            (scan.malformed, "malformed JSONL line(s)"),
            (scan.untimestamped, "untimestamped record(s)"),
            (scan.non_monotonic, "non-monotonic timestamp(s)"),
        ];
        let warnings = counts.iter().filter(|(count, _)| *count > 0);
        Self {
            source: source_name(picked.agent),
            source_session_id: &picked.id,
            source_path: picked.place.to_string_lossy().into_owned(),
            workspace_project_key: &picked.project.key,
            workspace_session_path: session_path,
            canonical_project_root: &picked.project.root,
            project_root_is_unknown: picked.project.is_unknown,
            source_checksum_sha256: &picked.copied.source_sha256,
            workspace_checksum_sha256: &picked.copied.copy_sha256,
            total_lines: scan.lines,
            target_start_line: scan.turns.first().map_or(0, |turn| turn.start_line),
            target_end_line: scan.turns.last().map_or(0, |turn| turn.end_line),
            first_event_at: scan.first_at.map(format_utc),
            last_event_at: scan.last_at.map(format_utc),
            malformed_line_count: scan.malformed,
            untimestamped_record_count: scan.untimestamped,
            non_monotonic_timestamp_count: scan.non_monotonic,
            warnings: warnings.map(|(count, what)| format!("{count} {what}")).collect(),
        }
    }

    /// Returns the sort key of the entry.
    pub(super) fn order(&self) -> (&str, &str, &str, &str) {
        (
            self.workspace_project_key,
            self.source,
            self.source_session_id,
            self.workspace_session_path,
        )
    }
}
