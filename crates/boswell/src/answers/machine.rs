//! Answers of the verbs that set up this machine: configuration, scheduler, hooks.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Answer;

/// `boswell config init`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigInitAnswer<'a> {
    /// The file that was written.
    pub(crate) path: &'a str,
}

impl Answer for ConfigInitAnswer<'_> {
    const SCHEMA: &'static str = "boswell.config.init/1";
}

/// `boswell config show`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigShowAnswer {
    pub(crate) values: Vec<ConfigValue>,
}

impl Answer for ConfigShowAnswer {
    const SCHEMA: &'static str = "boswell.config.show/1";
}

/// A setting, and where its value comes from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigValue {
    /// Such as `session_memory.retention.cadence`.
    pub(crate) key: String,
    /// Sizes are numbers of bytes, however they were written.
    pub(crate) value: Value,
    pub(crate) origin: ConfigOrigin,
}

/// Where a value comes from.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "layer", rename_all = "lowercase")]
pub(crate) enum ConfigOrigin {
    Default,
    File { path: String, line: usize },
    Environment { variable: String },
    Flag,
}

/// `boswell config path`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigPathAnswer {
    pub(crate) paths: Vec<ConfigPath>,
}

impl Answer for ConfigPathAnswer {
    const SCHEMA: &'static str = "boswell.config.path/1";
}

/// A place where files are looked for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigPath {
    /// `system`, `user` or `data`.
    pub(crate) name: &'static str,
    pub(crate) path: String,
    pub(crate) exists: bool,
}

/// `boswell schedule install`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScheduleInstallAnswer<'a> {
    /// `systemd`, `launchd`, `cron` or another scheduler.
    pub(crate) scheduler: &'static str,
    /// False with `--dry-run`.
    pub(crate) is_installed: bool,
    pub(crate) cadence: &'a str,
    pub(crate) files: Vec<ScheduleFile<'a>>,
    /// The line for a scheduler without files.
    pub(crate) crontab_line: Option<String>,
}

impl Answer for ScheduleInstallAnswer<'_> {
    const SCHEMA: &'static str = "boswell.schedule.install/1";
}

/// A file of a scheduler.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScheduleFile<'a> {
    pub(crate) path: String,
    pub(crate) text: &'a str,
}

/// `boswell schedule uninstall`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScheduleUninstallAnswer {
    /// The schedulers whose entry was removed.
    pub(crate) schedulers: Vec<&'static str>,
}

impl Answer for ScheduleUninstallAnswer {
    const SCHEMA: &'static str = "boswell.schedule.uninstall/1";
}

/// `boswell schedule status`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScheduleStatusAnswer {
    pub(crate) cadence: &'static str,
    pub(crate) entries: Vec<ScheduleEntry>,
    pub(crate) last_sweep: Option<Timestamp>,
    /// Where scheduled sweeps write what they print.
    pub(crate) log: PathBuf,
    pub(crate) is_due: bool,
}

impl Answer for ScheduleStatusAnswer {
    const SCHEMA: &'static str = "boswell.schedule.status/1";
}

/// An entry of a scheduler.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScheduleEntry {
    pub(crate) scheduler: &'static str,
    /// False if it starts another program, or has another place.
    pub(crate) is_current: bool,
}

/// `boswell hooks install` and `boswell hooks uninstall`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HooksChangeAnswer<'a> {
    /// `install` or `uninstall`.
    pub(crate) command: &'static str,
    pub(crate) dry_run: bool,
    pub(crate) changes: Vec<HooksChange<'a>>,
}

impl Answer for HooksChangeAnswer<'_> {
    const SCHEMA: &'static str = "boswell.hooks/1";
}

/// What was changed in one file of settings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HooksChange<'a> {
    pub(crate) agent: &'static str,
    /// `user` or `project`.
    pub(crate) scope: &'static str,
    pub(crate) path: &'a Path,
    pub(crate) is_changed: bool,
    /// Unified.
    pub(crate) diff: String,
}

/// `boswell hooks status`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HooksStatusAnswer<'a> {
    /// `status`.
    pub(crate) command: &'static str,
    pub(crate) hooks: Vec<HooksPlace<'a>>,
    /// Notes of hooks that no sweep has read yet.
    pub(crate) waiting: usize,
    /// Calls of hooks that could not be noted, because there was no room.
    pub(crate) lost: u64,
    pub(crate) last_lost_at: Option<Timestamp>,
}

impl Answer for HooksStatusAnswer<'_> {
    const SCHEMA: &'static str = "boswell.hooks/1";
}

/// The hooks in one file of settings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HooksPlace<'a> {
    pub(crate) agent: &'static str,
    /// `user` or `project`.
    pub(crate) scope: &'static str,
    pub(crate) path: &'a Path,
    pub(crate) is_installed: bool,
    /// The events that run our hook.
    pub(crate) events: &'a [String],
    pub(crate) missing_events: &'a [&'static str],
    /// `this`, `other_program`, `other_memory` or `nothing`; null if no hook is installed.
    pub(crate) runs: Option<&'static str>,
    /// Whether the status line is ours.
    pub(crate) statusline: bool,
    /// When the agent's hooks reported an event last, wherever they are installed.
    pub(crate) last_told_at: Option<Timestamp>,
    pub(crate) last_event: Option<&'a str>,
}
