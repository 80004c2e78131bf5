//! The files by which a workspace is read: `metadata.json`, `project.json` and `sessions.index.jsonl`.
//!
//! Their bytes are a contract with another program: keys of a row are sorted, `,` and `:` are followed by a space, and
//! text is only escaped if JSON requires it.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::SCHEMA_VERSION;
use super::roots::Project;
use super::window::DayWindow;

/// `metadata.json`.
#[derive(Debug, Serialize)]
pub(super) struct Metadata<'a> {
    schema_version: u32,
    report_date: String,
    timezone: &'a str,
    status: &'static str,
    prepared_at: &'a str,
    report_window_local: WindowBounds,
    report_window_utc: WindowBounds,
}

#[derive(Debug, Serialize)]
struct WindowBounds {
    start: String,
    end: String,
}

impl<'a> Metadata<'a> {
    pub(super) fn new(window: &'a DayWindow, prepared_at: &'a str) -> Self {
        let bounds = |(start, end)| WindowBounds { start, end };
        Self {
            schema_version: SCHEMA_VERSION,
            report_date: window.date.to_string(),
            timezone: &window.zone_name,
            status: window.status.as_str(),
            prepared_at,
            report_window_local: bounds(window.local_bounds()),
            report_window_utc: bounds(window.utc_bounds()),
        }
    }
}

/// `project.json`.
#[derive(Debug, Serialize)]
pub(super) struct ProjectFile<'a> {
    schema_version: u32,
    project_key: &'a str,
    project_label: &'a str,
}

impl<'a> ProjectFile<'a> {
    pub(super) fn new(project: &'a Project) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            project_key: &project.key,
            project_label: &project.label,
        }
    }
}

/// One row of the index. The fields are declared in alphabetical order because they are serialized in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct IndexRow {
    pub(super) session_path: String,
    pub(super) session_ref: String,
    pub(super) source: &'static str,
    pub(super) source_session_id: String,
    pub(super) subagent_path: String,
    pub(super) target_end_line: u64,
    pub(super) target_start_line: u64,
    pub(super) turns: Vec<TurnRow>,
}

/// One turn of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TurnRow {
    pub(super) target_subagents: Vec<SubagentRow>,
    pub(super) turn_end_line: u64,
    pub(super) turn_ref: String,
    pub(super) turn_start_line: u64,
}

/// A child that a turn started or whose result it received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct SubagentRow {
    pub(super) agent_role: Option<String>,
    pub(super) association: &'static str,
    pub(super) parent_result_line: Option<u64>,
    pub(super) parent_spawn_line: Option<u64>,
    pub(super) session_file: String,
    pub(super) source_session_id: String,
}

/// The only association between a child and a turn.
pub(super) const ASSOCIATION: &str = "spawned_or_returned_in_target_span";

/// Serializes a file that contains one object.
pub(super) fn to_json_file(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"  "));
    value.serialize(&mut serializer).expect("plain structs become JSON");
    bytes.push(b'\n');
    bytes
}

/// Serializes a file with one object per line.
pub(super) fn to_json_lines(values: &[impl Serialize]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let mut serializer = Serializer::with_formatter(&mut bytes, SpacedFormatter);
        value.serialize(&mut serializer).expect("plain structs become JSON");
        bytes.push(b'\n');
    }
    bytes
}

/// Writes an object on one line, with a space after `,` and `:`.
struct SpacedFormatter;

impl Formatter for SpacedFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}
