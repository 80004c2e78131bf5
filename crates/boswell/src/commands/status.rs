//! `boswell status`: an overview of the memory on one screen.

mod soon;

use jiff::Timestamp;
use memory::overview::{self, AgentShare, Overview};
use memory::retention::{self, EvictionReason, NextEviction};
use memory::sweep::SweepReport;
use transcript::Agent;

use crate::alerts;
use crate::answers::health::{
    Alert, ClaudeDeletes, NextEvictionRecord, RetentionLimits, StatusAnswer, StoreRecord, StoredAgent, WaitingCounts,
};
use crate::answers::shared::OperationRecord;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::job_log;
use crate::render::text::{date_time, plural, sessions_and_subagents, when};
use crate::retention::policy;
use crate::sweeping::{Order, sweep};
use crate::ui::{BAD, FAINT, Format, GOOD, STRONG, Ui, escape, measure};

/// The width of a bar.
const BAR_COLUMNS: u64 = 20;

/// Show what the memory holds, and what a sweep would read
///
/// Shows where the memory is, its size against its caps, its sessions, the last sweep, what is evicted next, what
/// Claude Code will delete soon, and what a sweep would read now. Changes nothing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell status
  boswell status --json | jq .waiting")]
pub(crate) struct StatusArgs {}

/// The data of an answer.
struct StatusFacts {
    alerts: Vec<Alert>,
    overview: Option<Overview>,
    next: Option<NextEviction>,
    soon: Option<ClaudeDeletes>,
    waiting: SweepReport,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, _: &StatusArgs) -> Result<Outcome, CommandError> {
    let directory = &context.places.data_dir;
    let overview = overview::read_overview(directory)?;
    let store = memory::store::Store::open_existing(directory)?;
    let next = match &store {
        Some(store) => retention::find_next_eviction(&store.reads(), &policy(context), context.now)?,
        None => None,
    };
    let soon = soon::look(context, store.as_ref())?;
    let alerts = alerts::current(context, store.as_ref())?;
    drop(store);
    let roots = context.memory_roots();
    let order = Order {
        directory,
        roots: &roots,
        masker: &context.masker(false)?,
        is_dry: true,
        is_scheduled: true,
        lets_go: false,
        only: None,
    };
    let waiting = sweep(ui, context, &order)?;
    let told = StatusFacts {
        alerts,
        overview,
        next,
        soon,
        waiting,
    };
    let warnings = warnings(context, &told);
    match ui.format {
        Format::Json => ui.answer(&answer(context, &told, &warnings))?,
        Format::Text => {
            show(ui, context, &told)?;
            warnings.iter().for_each(|warning| ui.warning(warning));
            alerts::take_unseen(ui, directory);
            if told.waiting.files_read > 0 {
                ui.hint("`boswell sweep` keeps what is waiting");
            } else if told.waiting.files_seen == 0 {
                ui.hint("no agent has written logs here; `boswell demo` shows what Boswell does");
            }
        }
    }
    Ok(Outcome::Done)
}

fn show(ui: &mut Ui, context: &Context, told: &StatusFacts) -> Result<(), CommandError> {
    match &told.overview {
        Some(overview) => {
            show_memory(ui, context, overview)?;
            show_tiers(ui, context, overview)?;
            show_next(ui, context, told.next.as_ref())?;
        }
        None => {
            let place = context.places.data_dir.to_string();
            let word = ui.paint(FAINT, "not here yet");
            ui.row(format_args!("{}  {word}", ui.paint(STRONG, "Memory")))?;
            ui.row(format_args!("  store     {}", ui.path(&escape(&place))))?;
        }
    }
    show_waiting(ui, &told.waiting)?;
    told.soon.iter().try_for_each(|soon| soon::show(ui, context, soon))
}

fn show_memory(ui: &mut Ui, context: &Context, overview: &Overview) -> Result<(), CommandError> {
    let word = ui.paint(GOOD, "here");
    ui.row(format_args!("{}  {word}", ui.paint(STRONG, "Memory")))?;
    let place = context.places.data_dir.to_string();
    ui.row(format_args!("  store     {}", ui.path(&escape(&place))))?;
    ui.row(format_args!(
        "  on disk   {}: packs {}, database {}",
        measure::bytes(overview.packs_bytes + overview.database_bytes),
        measure::bytes(overview.packs_bytes),
        measure::bytes(overview.database_bytes)
    ))?;
    for (flavor, share) in &overview.agents {
        let evicted = match share.evicted {
            0 => String::new(),
            evicted => format!(", {} of them evicted", measure::count(evicted)),
        };
        let prompts_only = match share.prompts_only {
            0 => String::new(),
            count => format!("; prompts only of {} more", measure::count(count)),
        };
        ui.row(format_args!(
            "  keeps     {}: {}{evicted}{prompts_only}",
            escape(title(flavor)),
            sessions_and_subagents(share.sessions, "session", share.subagents)
        ))?;
    }
    if let (Some(oldest), Some(newest)) = (time(overview.oldest), time(overview.newest)) {
        let (oldest, newest) = (date_time(oldest, &context.zone), date_time(newest, &context.zone));
        ui.row(format_args!("  sessions  from {oldest} to {newest}"))?;
    }
    let swept = overview.last_sweep.as_ref().and_then(when);
    let swept = swept.map_or_else(
        || "never".to_owned(),
        |at| {
            let age = measure::age(context.now, at);
            format!("last wrote {age}, {}", date_time(at, &context.zone))
        },
    );
    ui.row(format_args!("  sweep     {swept}"))?;
    let log = job_log::path(&context.places.data_dir);
    if log.exists() {
        let log = log.display().to_string();
        ui.row(format_args!(
            "  log       {} (background sweeps)",
            ui.path(&escape(&log))
        ))?;
        if let Some(line) = job_log::last_line(&context.places.data_dir) {
            ui.row_wrapped(format_args!("            it ends with: {}", escape(&line)), 12)?;
        }
    }
    Ok(())
}

/// Prints the size of each tier relative to its cap, and the share of each agent in the raw text.
fn show_tiers(ui: &mut Ui, context: &Context, overview: &Overview) -> Result<(), CommandError> {
    let retention = &context.config.retention;
    let age = retention.raw_max_age_days;
    let age = match age {
        None => "no age limit".to_owned(),
        Some(days) => format!("evicted {} after it was last read", plural(days.into(), "day")),
    };
    let soft = retention.raw_soft_cap_bytes;
    let row = format!(
        "  raw text  {} {} of {} (hard cap {}), {age}",
        bar(overview.raw_bytes, soft),
        measure::bytes(overview.raw_bytes),
        measure::bytes(soft),
        measure::bytes(retention.raw_hard_cap_bytes),
    );
    ui.row_wrapped(row, 12)?;
    let shares: Vec<(&String, &AgentShare)> = overview.agents.iter().collect();
    for (flavor, share) in shares.into_iter().filter(|_| overview.agents.len() > 1) {
        ui.row(format_args!(
            "            {} {} of {}",
            bar(share.raw_bytes, soft),
            measure::bytes(share.raw_bytes),
            escape(title(flavor))
        ))?;
    }
    ui.row(format_args!(
        "  distilled {} {} of {}, never dropped",
        bar(overview.distilled_bytes, retention.distilled_cap_bytes),
        measure::bytes(overview.distilled_bytes),
        measure::bytes(retention.distilled_cap_bytes),
    ))?;
    Ok(())
}

fn show_next(ui: &mut Ui, context: &Context, next: Option<&NextEviction>) -> Result<(), CommandError> {
    let Some(next) = next else {
        return Ok(ui.row("  next      nothing will be evicted")?);
    };
    let at = time(Some(next.at_micros)).unwrap_or(context.now);
    let due = match at <= context.now {
        true => "with the next sweep".to_owned(),
        false => format!("{}, {}", measure::age(context.now, at), date_time(at, &context.zone)),
    };
    let row = format!(
        "  next      {} ({}) is evicted {due} by {}",
        escape(&next.session_uid),
        measure::bytes(next.bytes),
        next_reason(next.reason)
    );
    ui.row_wrapped(row, 12)?;
    Ok(())
}

/// Returns why a session is evicted next, with the setting that decides it.
fn next_reason(reason: EvictionReason) -> String {
    match reason {
        EvictionReason::Age { .. } => "age (`raw_max_age_days`)".to_owned(),
        EvictionReason::Budget => "budget (`raw_soft_cap_bytes`)".to_owned(),
        EvictionReason::HardCap => "budget (`raw_hard_cap_bytes`)".to_owned(),
        EvictionReason::Overflow => "overflow (`raw_hard_cap_bytes`, and no digest can be made)".to_owned(),
    }
}

/// Returns a bar that shows how full a tier is.
fn bar(bytes: u64, cap: u64) -> String {
    let full = u128::from(bytes) * u128::from(BAR_COLUMNS) / u128::from(cap.max(1));
    // Anything above zero fills at least one column.
    let full = u64::try_from(full)
        .unwrap_or(BAR_COLUMNS)
        .clamp(u64::from(bytes > 0), BAR_COLUMNS);
    let text = |sign: &str, count: u64| sign.repeat(usize::try_from(count).unwrap_or_default());
    format!("[{}{}]", text("#", full), text(".", BAR_COLUMNS - full))
}

fn title(flavor: &str) -> &str {
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == flavor);
    agent.map_or(flavor, |agent| agent.title())
}

fn time(micros: Option<i64>) -> Option<Timestamp> {
    micros.and_then(|micros| Timestamp::from_microsecond(micros).ok())
}

/// Prints what a sweep would read.
fn show_waiting(ui: &mut Ui, waiting: &SweepReport) -> Result<(), CommandError> {
    let (word, style) = match waiting.files_read {
        0 => ("nothing waits".to_owned(), GOOD),
        files => (format!("{} new or grown", plural(files, "session")), BAD),
    };
    ui.row(format_args!("{}  {}", ui.paint(STRONG, "Logs"), ui.paint(style, word)))?;
    ui.row(format_args!(
        "  waiting   {} of {}",
        measure::bytes(waiting.bytes_read),
        plural(waiting.files_seen, "log")
    ))?;
    Ok(())
}

fn warnings(context: &Context, told: &StatusFacts) -> Vec<String> {
    let retention = &context.config.retention;
    let mut warnings = Vec::new();
    let mut compare = |what: &str, cap_name: &str, bytes: Option<u64>, cap: u64| {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > cap) {
            let (bytes, cap) = (measure::bytes(bytes), measure::bytes(cap));
            warnings.push(format!("{what} is above its {cap_name}: {bytes} > {cap}"));
        }
    };
    let overview = told.overview.as_ref();
    let raw = overview.map(|overview| overview.raw_bytes);
    compare("raw text", "soft cap", raw, retention.raw_soft_cap_bytes);
    warnings.extend(told.alerts.iter().map(|alert| alert.message.clone()));
    if !told.waiting.unread.is_empty() {
        let files = plural(told.waiting.unread.len() as u64, "file");
        warnings.push(format!("{files} cannot be read; `boswell doctor` names them"));
    }
    warnings
}

fn answer<'a>(context: &Context, told: &'a StatusFacts, warnings: &'a [String]) -> StatusAnswer<'a> {
    let retention = &context.config.retention;
    StatusAnswer {
        path: context.places.data_dir.to_string(),
        store: told.overview.as_ref().map(store_record),
        next: told.next.as_ref().map(|next| NextEvictionRecord {
            session_uid: &next.session_uid,
            bytes: next.bytes,
            reason: next.reason.as_str(),
            at: time(Some(next.at_micros)),
        }),
        claude_deletes: told.soon.as_ref(),
        waiting: WaitingCounts {
            files_seen: told.waiting.files_seen,
            files_read: told.waiting.files_read,
            bytes_read: told.waiting.bytes_read,
            unread: told.waiting.unread.len(),
        },
        retention: RetentionLimits {
            raw_soft_cap_bytes: retention.raw_soft_cap_bytes,
            raw_hard_cap_bytes: retention.raw_hard_cap_bytes,
            raw_max_age_days: retention.raw_max_age_days,
            distilled_cap_bytes: retention.distilled_cap_bytes,
        },
        alerts: &told.alerts,
        log: job_log::path(&context.places.data_dir),
        warnings,
    }
}

fn store_record(overview: &Overview) -> StoreRecord<'_> {
    let agents = overview.agents.iter().map(|(flavor, share)| StoredAgent {
        agent: flavor,
        sessions: share.sessions,
        subagents: share.subagents,
        prompts_only: share.prompts_only,
        evicted: share.evicted,
        tier1_bytes: share.raw_bytes,
    });
    StoreRecord {
        packs_bytes: overview.packs_bytes,
        database_bytes: overview.database_bytes,
        tier1_bytes: overview.raw_bytes,
        tier2_bytes: overview.distilled_bytes,
        agents: agents.collect(),
        oldest: time(overview.oldest),
        newest: time(overview.newest),
        last_sweep: overview.last_sweep.as_ref().map(OperationRecord::from),
    }
}
