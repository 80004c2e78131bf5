//! Answers of the verbs about the state of the agents' logs and the memory: status, doctor, watch.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use super::shared::{OperationRecord, UnreadFile};

/// `boswell status`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusAnswer<'a> {
    /// Where the memory is.
    pub(crate) path: String,
    /// Null if there is no memory yet.
    pub(crate) store: Option<StoreRecord<'a>>,
    pub(crate) next: Option<NextEvictionRecord<'a>>,
    /// Null if Claude Code has no logs here.
    pub(crate) claude_deletes: Option<&'a ClaudeDeletes>,
    pub(crate) waiting: WaitingCounts,
    pub(crate) retention: RetentionLimits,
    pub(crate) alerts: &'a [Alert],
    /// Where background sweeps write what they print.
    pub(crate) log: PathBuf,
    pub(crate) warnings: &'a [String],
}

impl Answer for StatusAnswer<'_> {
    const SCHEMA: &'static str = "boswell.status/1";
}

/// Something that is wrong now, or was lost lately.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Alert {
    /// `data_loss` or `distilled_over_cap`.
    pub(crate) kind: &'static str,
    pub(crate) at: Option<Timestamp>,
    pub(crate) message: String,
}

/// What the memory holds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreRecord<'a> {
    pub(crate) packs_bytes: u64,
    pub(crate) database_bytes: u64,
    /// Raw text, compressed.
    pub(crate) tier1_bytes: u64,
    /// What is made of raw text and stays when it is evicted.
    pub(crate) tier2_bytes: u64,
    pub(crate) agents: Vec<StoredAgent<'a>>,
    /// When the first session began.
    pub(crate) oldest: Option<Timestamp>,
    /// When the last session ended.
    pub(crate) newest: Option<Timestamp>,
    pub(crate) last_sweep: Option<OperationRecord>,
}

/// The sessions of one agent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoredAgent<'a> {
    pub(crate) agent: &'a str,
    pub(crate) sessions: u64,
    pub(crate) subagents: u64,
    /// Sessions of which only prompts are known.
    pub(crate) prompts_only: u64,
    pub(crate) evicted: u64,
    pub(crate) tier1_bytes: u64,
}

/// The session that is evicted next.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NextEvictionRecord<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) bytes: u64,
    pub(crate) reason: &'static str,
    pub(crate) at: Option<Timestamp>,
}

/// What Claude Code deletes within a week.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClaudeDeletes {
    pub(crate) period_days: u32,
    /// How many logs.
    pub(crate) logs: u64,
    pub(crate) first_at: Option<Timestamp>,
    /// The logs that are not in the memory to their last byte, soonest first.
    pub(crate) missing: Vec<MissingLog>,
}

/// A log that is about to be deleted and is not in the memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MissingLog {
    pub(crate) path: String,
    pub(crate) at: Timestamp,
}

/// What a sweep would read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitingCounts {
    pub(crate) files_seen: u64,
    pub(crate) files_read: u64,
    pub(crate) bytes_read: u64,
    /// How many files cannot be read.
    pub(crate) unread: usize,
}

/// The limits of the settings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RetentionLimits {
    pub(crate) raw_soft_cap_bytes: u64,
    pub(crate) raw_hard_cap_bytes: u64,
    pub(crate) raw_max_age_days: Option<u32>,
    pub(crate) distilled_cap_bytes: u64,
}

/// `boswell doctor`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DoctorAnswer<'a> {
    pub(crate) agents: Vec<ExaminedAgent>,
    /// Null without `--deep` or `--repair`.
    pub(crate) store: Option<ExaminedStore<'a>>,
    pub(crate) alerts: Vec<Alert>,
}

impl Answer for DoctorAnswer<'_> {
    const SCHEMA: &'static str = "boswell.doctor/1";
}

/// How the memory is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExaminedStore<'a> {
    pub(crate) path: &'a Path,
    pub(crate) exists: bool,
    pub(crate) sessions: u64,
    /// Bytes that were compared with their checksums.
    pub(crate) bytes_checked: u64,
    /// What is wrong with the database.
    pub(crate) database: &'a [String],
    /// What else is wrong.
    pub(crate) damages: Vec<String>,
}

/// How the logs of one agent are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExaminedAgent {
    pub(crate) agent: &'static str,
    pub(crate) roots: Vec<ExaminedRoot>,
    pub(crate) sessions: u64,
    pub(crate) subagents: u64,
    pub(crate) bytes: u64,
    /// The versions of the agent that wrote the logs.
    pub(crate) versions: Vec<String>,
    pub(crate) unknown: Vec<UnknownRecords>,
    pub(crate) faults: Vec<FaultCount>,
    pub(crate) unread: Vec<UnreadFile>,
    /// Sessions that are in several logs, of which the longest is kept.
    pub(crate) copies: Vec<SessionCopies>,
    /// Claude Code's own deletion of logs.
    pub(crate) cleanup: Option<CleanupRecord>,
}

/// A directory in which an agent writes logs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExaminedRoot {
    pub(crate) path: String,
    pub(crate) label: Option<String>,
    pub(crate) exists: bool,
}

/// A type of record that Boswell does not know.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnknownRecords {
    pub(crate) version: Option<String>,
    pub(crate) record: String,
    pub(crate) count: u64,
}

/// Lines that could not be read for one reason.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FaultCount {
    pub(crate) reason: String,
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) path: String,
    pub(crate) line: u64,
}

/// A session that is in several logs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionCopies {
    pub(crate) session_uid: String,
    pub(crate) paths: Vec<String>,
}

/// When Claude Code deletes logs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CleanupRecord {
    pub(crate) period_days: u32,
    pub(crate) is_default: bool,
    /// The logs that it deletes within a week.
    pub(crate) due: Vec<DueLog>,
}

/// A log that is deleted soon.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DueLog {
    pub(crate) path: String,
    pub(crate) deleted_at: Timestamp,
}

/// One line of `boswell watch`: a session whose log grew.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WatchAnswer<'a> {
    pub(crate) at: Timestamp,
    pub(crate) session_uid: &'a str,
    pub(crate) agent: &'a str,
    /// Its directory.
    pub(crate) project: Option<&'a str>,
    pub(crate) title: Option<&'a str>,
    pub(crate) turns: u64,
    pub(crate) events: u64,
    pub(crate) tokens: u64,
    pub(crate) last_kind: Option<&'static str>,
    pub(crate) last_tool: Option<&'a str>,
    /// How many of its last events are errors.
    pub(crate) recent_errors: usize,
}

impl Answer for WatchAnswer<'_> {
    const SCHEMA: &'static str = "boswell.watch/1";
}
