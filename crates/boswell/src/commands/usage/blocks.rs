//! Usage in blocks of five hours, with the current rate of the active one.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use memory::store::{ListedSession, Store, StoreError};
use memory::usage::Bill;
use memory::usage::blocks::{self, BillingBlock};
use render::dollars;
use transcript::{RateLimit, RateLimits};

use super::UsageArgs;
use crate::answers::usage::{
    RateLimitWindow, RateLimitsRecord, UsageAnswer, UsageBlock, UsageBlocks, UsageGap, UsageWork,
};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::money::cost;
use crate::render::text::date_time;
use crate::ui::{FAINT, Format, HEADING, STRONG, Ui, measure, table};

pub(super) fn show(
    ui: &mut Ui,
    context: &Context,
    zone: &TimeZone,
    args: &UsageArgs,
    bills: &[Bill],
    limits: Option<&Limits>,
) -> Result<Outcome, CommandError> {
    let mut found = blocks::make_blocks(bills, context.now);
    if args.limit > 0 && found.len() > args.limit {
        found.drain(..found.len() - args.limit);
    }
    match ui.format {
        Format::Json => ui.answer(&to_answer(&found, bills, limits))?,
        Format::Text => {
            text(ui, context, zone, &found)?;
            if let Some(limits) = limits {
                tell_limits(ui, zone, limits)?;
            }
        }
    }
    Ok(if found.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Columns that a narrow terminal leaves out, the first one first: both rates.
const DISPENSABLE: [usize; 2] = [5, 4];

fn text(ui: &mut Ui, context: &Context, zone: &TimeZone, found: &[BillingBlock]) -> Result<(), CommandError> {
    let headings = [
        ("from", false),
        ("for", true),
        ("tokens", true),
        ("cost", true),
        ("tokens/min", true),
        ("per hour", true),
    ];
    let rows: Vec<Vec<String>> = found.iter().map(|block| cells(block, zone)).collect();
    for (at, line) in table::fitted(&headings, &rows, ui.columns(), &DISPENSABLE)
        .into_iter()
        .enumerate()
    {
        let block = at.checked_sub(1).map(|at| &found[at]);
        match block {
            None => ui.row(ui.paint(HEADING, line))?,
            Some(BillingBlock { work: None, .. }) => ui.row(ui.paint(FAINT, line))?,
            Some(BillingBlock { work: Some(work), .. }) if work.is_active => ui.row(ui.paint(STRONG, line))?,
            Some(_) => ui.row(line)?,
        }
    }
    if let Some(BillingBlock {
        end, work: Some(work), ..
    }) = found.last()
        && work.is_active
    {
        let left = measure::duration(end.duration_since(context.now));
        let projected = work.projected_micros(*end).map(dollars);
        let projection = projected.map_or(String::new(), |money| format!(", {money} at this rate"));
        ui.status(format_args!("Current block: {left} left{projection}"));
    }
    Ok(())
}

fn cells(block: &BillingBlock, zone: &TimeZone) -> Vec<String> {
    let from = date_time(block.start, zone);
    let Some(work) = &block.work else {
        let span = measure::duration(block.end.duration_since(block.start));
        return vec![from, span, "nothing".to_owned()];
    };
    let pace = |number: Option<f64>| number.map(|number| number.round() as u64);
    vec![
        from,
        measure::duration(work.last.duration_since(work.first)),
        measure::count(work.sum.tokens.total()),
        cost(&work.sum),
        pace(work.tokens_per_minute()).map(measure::count).unwrap_or_default(),
        pace(work.micros_per_hour()).map(dollars).unwrap_or_default(),
    ]
}

/// The rate limits that an agent reported last, and the session in which it did.
pub(super) struct Limits {
    session_uid: String,
    agent: String,
    told: RateLimits,
}

impl Limits {
    /// Returns the limits from the newest session that reports any. Limits belong to the account, so older ones are
    /// outdated.
    pub(super) fn newest<'s>(
        store: &Store,
        sessions: impl Iterator<Item = &'s ListedSession>,
    ) -> Result<Option<Self>, StoreError> {
        for session in sessions {
            let view = store.reads().view(&session.session_uid)?;
            if let Some(told) = view.and_then(|view| view.rate_limits) {
                return Ok(Some(Self {
                    session_uid: session.session_uid.clone(),
                    agent: session.flavor().to_owned(),
                    told,
                }));
            }
        }
        Ok(None)
    }

    fn windows(&self) -> impl Iterator<Item = (&'static str, &RateLimit)> {
        let windows = [("primary", &self.told.primary), ("secondary", &self.told.secondary)];
        windows
            .into_iter()
            .filter_map(|(name, limit)| Some((name, limit.as_ref()?)))
    }

    fn to_record(&self) -> RateLimitsRecord {
        let window = |(window, limit): (&'static str, &RateLimit)| RateLimitWindow {
            window,
            used_percent: percent(limit),
            window_minutes: limit.window_minutes,
            resets_at: limit.resets_at,
        };
        RateLimitsRecord {
            agent: self.agent.clone(),
            session_uid: self.session_uid.clone(),
            told_at: self.told.told_at,
            windows: self.windows().map(window).collect(),
        }
    }
}

fn percent(limit: &RateLimit) -> f64 {
    f64::from(limit.used_basis_points) / 100.0
}

/// Prints the account's limits as the agent reported them, and when: they may have changed since.
fn tell_limits(ui: &mut Ui, zone: &TimeZone, limits: &Limits) -> Result<(), CommandError> {
    let told_at = limits.told.told_at.map(|at| format!(" at {}", date_time(at, zone)));
    for (_, limit) in limits.windows() {
        let window = limit
            .window_minutes
            .and_then(|minutes| i64::try_from(minutes).ok())
            .map(|minutes| format!(" of {}", measure::duration(SignedDuration::from_mins(minutes))));
        let resets = limit.resets_at.map(|at| format!(", resets {}", date_time(at, zone)));
        let line = format!(
            "{} reported{}: {} %{} used{}",
            limits.agent,
            told_at.as_deref().unwrap_or_default(),
            percent(limit),
            window.unwrap_or_default(),
            resets.unwrap_or_default()
        );
        ui.row_wrapped(line, 2)?;
    }
    Ok(())
}

pub(super) fn to_answer(found: &[BillingBlock], bills: &[Bill], limits: Option<&Limits>) -> UsageAnswer {
    UsageAnswer::Blocks(UsageBlocks {
        blocks: found.iter().map(usage_block).collect(),
        totals: (&memory::usage::sum_bills(bills)).into(),
        rate_limits: limits.map(Limits::to_record),
    })
}

fn usage_block(block: &BillingBlock) -> UsageBlock {
    let Some(work) = &block.work else {
        return UsageBlock::Gap(UsageGap {
            start: block.start,
            end: block.end,
            is_gap: true,
        });
    };
    UsageBlock::Work(Box::new(UsageWork {
        start: block.start,
        end: block.end,
        is_gap: false,
        first: work.first,
        last: work.last,
        is_active: work.is_active,
        tokens_per_minute: work.tokens_per_minute().map(f64::round),
        microusd_per_hour: work.micros_per_hour().map(|micros| micros.round() as u64),
        projected_microusd: work.is_active.then(|| work.projected_micros(block.end)).flatten(),
        sums: (&work.sum).into(),
    }))
}
