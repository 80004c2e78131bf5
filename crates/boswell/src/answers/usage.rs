//! Answers about tokens, cost and statistics.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use super::shared::UsageTotals;

/// `boswell usage`: rows of sums, or blocks of five hours.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum UsageAnswer {
    Rows(UsageRows),
    Blocks(UsageBlocks),
}

impl Answer for UsageAnswer {
    const SCHEMA: &'static str = "boswell.usage/1";
}

/// Sums by any dimension.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageRows {
    pub(crate) rows: Vec<UsageRow>,
    /// Of all rows, even if fewer are listed.
    pub(crate) totals: UsageTotals,
}

/// One row: what it is of, and its sums. Dimensions that were not asked for are missing, except for the first three.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageRow {
    /// The day, the first day of the week, or the month such as `2026-05`.
    pub(crate) date: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_uid: Option<UsageKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<UsageKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<UsageKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<UsageKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<UsageKey>,
    #[serde(flatten)]
    pub(crate) sums: UsageTotals,
}

impl UsageRow {
    /// Returns a row of these sums without a dimension.
    pub(crate) fn new(sums: UsageTotals) -> Self {
        Self {
            date: None,
            agent: None,
            model: None,
            session_uid: None,
            project: None,
            branch: None,
            machine: None,
            user: None,
            sums,
        }
    }
}

/// The value of a requested dimension; null if the log does not contain it.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct UsageKey(pub(crate) Option<String>);

/// Blocks of five hours.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageBlocks {
    pub(crate) blocks: Vec<UsageBlock>,
    pub(crate) totals: UsageTotals,
    pub(crate) rate_limits: Option<RateLimitsRecord>,
}

/// One block, or a gap between two.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum UsageBlock {
    Gap(UsageGap),
    Work(Box<UsageWork>),
}

/// Time without a call.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageGap {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) is_gap: bool,
}

/// A block with calls.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageWork {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) is_gap: bool,
    /// The first and the last call.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// Whether the block is not over.
    pub(crate) is_active: bool,
    pub(crate) tokens_per_minute: Option<f64>,
    pub(crate) microusd_per_hour: Option<u64>,
    /// The cost at the end of the block if it goes on at this rate; only of the active block.
    pub(crate) projected_microusd: Option<u64>,
    #[serde(flatten)]
    pub(crate) sums: UsageTotals,
}

/// The limits of an account, as an agent reported them last.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RateLimitsRecord {
    pub(crate) agent: String,
    pub(crate) session_uid: String,
    pub(crate) told_at: Option<Timestamp>,
    pub(crate) windows: Vec<RateLimitWindow>,
}

/// One limit.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RateLimitWindow {
    /// `primary` or `secondary`.
    pub(crate) window: &'static str,
    pub(crate) used_percent: f64,
    pub(crate) window_minutes: Option<u64>,
    pub(crate) resets_at: Option<Timestamp>,
}

/// `boswell statusline`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatuslineAnswer<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) today_microusd: Option<u64>,
    pub(crate) today_tokens: u64,
    pub(crate) session_uid: Option<&'a str>,
    pub(crate) session_microusd: Option<u64>,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) context_percent: Option<u64>,
}

impl Answer for StatuslineAnswer<'_> {
    const SCHEMA: &'static str = "boswell.statusline/1";
}

/// `boswell stats`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatsAnswer<'a> {
    pub(crate) sessions: u64,
    pub(crate) subagents: u64,
    /// Sessions without a digest: they are in no number below.
    pub(crate) without_digest: u64,
    pub(crate) turns: u64,
    pub(crate) tool_calls: u64,
    pub(crate) retries: u64,
    pub(crate) wall_s: u64,
    pub(crate) active_s: u64,
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) interventions: InterventionCounts,
    pub(crate) tests: TestCounts,
    pub(crate) errors: u64,
    pub(crate) errors_resolved: u64,
    pub(crate) tools: Vec<ToolCounts<'a>>,
    pub(crate) files: Vec<NamedCount<'a>>,
    pub(crate) commands: Vec<NamedCount<'a>>,
    pub(crate) error_kinds: Vec<NamedCount<'a>>,
    pub(crate) projects: Vec<NamedCount<'a>>,
    pub(crate) usage: UsageTotals,
    /// Calls by day of the week, Monday first, and hour.
    pub(crate) heat: Vec<&'a [u64]>,
    pub(crate) weeks: Vec<WeekCounts>,
}

impl Answer for StatsAnswer<'_> {
    const SCHEMA: &'static str = "boswell.stats/1";
}

/// Sessions by outcome.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OutcomeCounts {
    pub(crate) success: u64,
    pub(crate) fail: u64,
    pub(crate) abandoned: u64,
    pub(crate) unknown: u64,
}

/// How often a human intervened.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InterventionCounts {
    pub(crate) interrupts: u64,
    pub(crate) denials: u64,
    pub(crate) steerings: u64,
    pub(crate) rewinds: u64,
}

/// Test runs by result.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TestCounts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) unclear: u64,
}

/// Calls of one tool.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ToolCounts<'a> {
    pub(crate) tool: &'a str,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) duration_ms: u64,
}

/// How often a name occurred, and in how many sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NamedCount<'a> {
    pub(crate) name: &'a str,
    pub(crate) count: u64,
    pub(crate) sessions: u64,
}

/// One week.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WeekCounts {
    pub(crate) monday: Date,
    pub(crate) sessions: u64,
    pub(crate) turns: u64,
    pub(crate) active_s: u64,
    pub(crate) tokens: u64,
    pub(crate) cost_microusd: Option<u64>,
}
