//! Answers of the verbs that change the memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::retention::SessionRemains;
use memory::store::CopyRow;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use super::shared::{DecisionRecord, EvictedSession, OperationRecord, UnreadFile};

/// `boswell sweep`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SweepAnswer {
    pub(crate) files_seen: u64,
    pub(crate) files_read: u64,
    pub(crate) files_unchanged: u64,
    pub(crate) bytes_read: u64,
    /// Bytes read only to see what a file is, or that it did not change.
    pub(crate) bytes_checked: u64,
    pub(crate) sessions_new: u64,
    pub(crate) subagents_new: u64,
    pub(crate) sessions_updated: u64,
    pub(crate) sessions_refreshed: u64,
    pub(crate) events: u64,
    pub(crate) faults: u64,
    pub(crate) redactions: u64,
    pub(crate) prompts: u64,
    pub(crate) facts: u64,
    pub(crate) digests: usize,
    pub(crate) sessions_evicted: usize,
    pub(crate) evicted_by_reason: BTreeMap<&'static str, u64>,
    pub(crate) bytes_evicted: u64,
    /// Sessions that were evicted without a digest.
    pub(crate) sessions_lost: usize,
    pub(crate) tier1_bytes: u64,
    pub(crate) tier2_bytes: u64,
    pub(crate) duration_ms: u64,
    pub(crate) agents: Vec<SweptAgent>,
    pub(crate) unread: Vec<UnreadFile>,
}

impl Answer for SweepAnswer {
    const SCHEMA: &'static str = "boswell.sweep/1";
}

/// What a sweep read of one agent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SweptAgent {
    pub(crate) agent: &'static str,
    pub(crate) files_seen: u64,
    pub(crate) files_read: u64,
    pub(crate) bytes_read: u64,
    pub(crate) events: u64,
}

/// `boswell evict`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EvictAnswer {
    pub(crate) dry_run: bool,
    pub(crate) drops: Vec<EvictedSession>,
    pub(crate) by_reason: BTreeMap<&'static str, u64>,
    pub(crate) bytes_before: u64,
    pub(crate) bytes_after: u64,
    pub(crate) bytes_freed: u64,
    pub(crate) sessions_staying: u64,
    /// Sessions that `boswell keep` protects.
    pub(crate) sessions_kept: u64,
    /// Sessions that were evicted without a digest.
    pub(crate) lost: usize,
    /// Whether the evicted text is off the disk.
    pub(crate) is_finished: bool,
    pub(crate) distilled_bytes: u64,
    pub(crate) distilled_cap_bytes: u64,
}

impl Answer for EvictAnswer {
    const SCHEMA: &'static str = "boswell.evict/1";
}

/// What the `notify` command reads on its standard input after raw text was lost.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LossEvent {
    pub(crate) event: &'static str,
    pub(crate) at: Timestamp,
    pub(crate) bytes: u64,
    pub(crate) sessions: Vec<EvictedSession>,
}

impl Answer for LossEvent {
    const SCHEMA: &'static str = "boswell.event/1";
}

/// `boswell keep`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeepAnswer<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) is_kept: bool,
    /// Whether this run changed it.
    pub(crate) is_news: bool,
}

impl Answer for KeepAnswer<'_> {
    const SCHEMA: &'static str = "boswell.keep/1";
}

/// `boswell forget`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForgetAnswer<'a> {
    pub(crate) dry_run: bool,
    pub(crate) with_digest: bool,
    pub(crate) sessions: &'a [SessionRemains],
    /// Sessions that the filters left out because they are kept.
    pub(crate) sessions_kept: u64,
    /// What Boswell made of the sessions elsewhere.
    pub(crate) copies: &'a [CopyRow],
    pub(crate) copies_deleted: bool,
    /// False if some of the text is still on disk; the next sweep removes it.
    pub(crate) is_finished: bool,
}

impl Answer for ForgetAnswer<'_> {
    const SCHEMA: &'static str = "boswell.forget/1";
}

/// `boswell decide`.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct DecideAnswer(pub(crate) DecisionRecord);

impl Answer for DecideAnswer {
    const SCHEMA: &'static str = "boswell.decide/1";
}

/// `boswell tag`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TagAnswer<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) tags: &'a [String],
}

impl Answer for TagAnswer<'_> {
    const SCHEMA: &'static str = "boswell.tag/1";
}

/// `boswell note`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NoteAnswer<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) note: Option<&'a str>,
}

impl Answer for NoteAnswer<'_> {
    const SCHEMA: &'static str = "boswell.note/1";
}

/// `boswell name`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NameAnswer<'a> {
    pub(crate) session_uid: &'a str,
    pub(crate) name: Option<&'a str>,
}

impl Answer for NameAnswer<'_> {
    const SCHEMA: &'static str = "boswell.name/1";
}

/// `boswell journal`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JournalAnswer {
    /// Newest first.
    pub(crate) operations: Vec<OperationRecord>,
}

impl Answer for JournalAnswer {
    const SCHEMA: &'static str = "boswell.journal/1";
}

/// `boswell rebuild`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RebuildAnswer {
    pub(crate) sessions: u64,
}

impl Answer for RebuildAnswer {
    const SCHEMA: &'static str = "boswell.rebuild/1";
}
