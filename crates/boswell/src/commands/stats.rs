//! `boswell stats`: statistics of sessions.

mod charts;
mod page;
mod text;

use std::collections::HashMap;
use std::path::PathBuf;

use clap::ValueEnum;
use memory::stats::{self, NameCount, Stats, StatsInput, ToolStats, WeekStats};
use memory::store::ListedSession;
use memory::usage;

use crate::answers::usage::{
    InterventionCounts, NamedCount, OutcomeCounts, StatsAnswer, TestCounts, ToolCounts, WeekCounts,
};
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::filters::{FilterArgs, ToolMeans};
use crate::prices;
use crate::session_arg::open_memory;
use crate::ui::{Format, Ui};
use crate::zone_arg::zone_of;

/// Show session statistics
///
/// Sessions, turns, active hours, outcomes, tools with their errors and durations, tests, the most frequent files and
/// errors, interventions, hours of the day, and weeks. `--to html` writes one page with the same numbers, which needs
/// no network.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell stats --since 30d
  boswell stats --here
  boswell stats --agent codex --json
  boswell stats --to html -o stats.html")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    filters: FilterArgs,
    /// Write a page
    #[arg(long, value_name = "FORMAT", requires = "output")]
    to: Option<To>,
    /// Output file
    #[arg(short, long, value_name = "FILE", requires = "to")]
    output: Option<PathBuf>,
    /// Maximum number of tools, files and errors
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Time zone of days and hours, such as `Europe/Berlin`
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    Html,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &StatsArgs) -> Result<Outcome, CommandError> {
    let zone = zone_of(context, args.timezone.as_deref())?;
    let prices = prices::load(Some(&prices::user_file(context)))?;
    let store = open_memory(context)?;
    let filters = args.filters.resolve(context, &store, ToolMeans::Sessions)?;
    let sessions: Vec<ListedSession> = store.reads().listed()?;
    let takes: Vec<bool> = sessions
        .iter()
        .map(|session| session.status != memory::store::SessionStatus::PromptsOnly && filters.take(session))
        .collect();
    let bills = usage::load_bills(&store, &sessions, &prices, &|session, call| {
        takes[session]
            && (call.ts.is_none() || filters.takes_moment(call.ts))
            && filters.takes_model(call.model.as_deref())
    })?;
    let digests: HashMap<_, _> = store
        .reads()
        .digests()?
        .into_iter()
        .map(|row| (row.digest.session_uid.clone(), row.digest))
        .collect();
    let stats = stats::compute_stats(&StatsInput {
        sessions: &sessions,
        is_selected: &takes,
        digests: &digests,
        bills: &bills,
        zone: &zone,
        now: context.now,
    });
    if let Some(path) = &args.output {
        page::write(ui, context, path, &stats, args.limit)?;
    } else {
        match ui.format {
            Format::Json => ui.answer(&to_answer(&stats, args.limit))?,
            Format::Text => text::show(ui, &stats, args.limit)?,
        }
    }
    Ok(if stats.sessions + stats.subagents == 0 {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Returns the first entries of a list, at most `limit`.
fn first<T>(list: &[T], limit: u64) -> &[T] {
    &list[..list.len().min(usize::try_from(limit).unwrap_or(usize::MAX))]
}

fn to_answer(stats: &Stats, limit: u64) -> StatsAnswer<'_> {
    let outcomes = &stats.outcomes;
    StatsAnswer {
        sessions: stats.sessions,
        subagents: stats.subagents,
        without_digest: stats.without_digest,
        turns: stats.turns,
        tool_calls: stats.tool_calls,
        retries: stats.retries,
        wall_s: stats.wall_s,
        active_s: stats.active_s,
        outcomes: OutcomeCounts {
            success: outcomes.success,
            fail: outcomes.fail,
            abandoned: outcomes.abandoned,
            unknown: outcomes.unknown,
        },
        interventions: InterventionCounts {
            interrupts: stats.interrupts,
            denials: stats.denials,
            steerings: stats.steerings,
            rewinds: stats.rewinds,
        },
        tests: TestCounts {
            passed: stats.tests.passed,
            failed: stats.tests.failed,
            unclear: stats.tests.unclear,
        },
        errors: stats.errors,
        errors_resolved: stats.errors_resolved,
        tools: first(&stats.tools, limit).iter().map(tool_counts).collect(),
        files: named_counts(&stats.files, limit),
        commands: named_counts(&stats.commands, limit),
        error_kinds: named_counts(&stats.error_kinds, limit),
        projects: named_counts(&stats.projects, limit),
        usage: (&stats.usage).into(),
        heat: stats.heat.iter().map(|hours| hours.as_slice()).collect(),
        weeks: stats.weeks.iter().map(week_counts).collect(),
    }
}

fn tool_counts(tool: &ToolStats) -> ToolCounts<'_> {
    ToolCounts {
        tool: &tool.tool,
        calls: tool.calls,
        errors: tool.errors,
        duration_ms: tool.duration_ms,
    }
}

fn named_counts(list: &[NameCount], limit: u64) -> Vec<NamedCount<'_>> {
    let listed = first(list, limit).iter();
    listed
        .map(|counted| NamedCount {
            name: &counted.name,
            count: counted.count,
            sessions: counted.sessions,
        })
        .collect()
}

fn week_counts(week: &WeekStats) -> WeekCounts {
    WeekCounts {
        monday: week.monday,
        sessions: week.sessions,
        turns: week.turns,
        active_s: week.active_s,
        tokens: week.usage.tokens.total(),
        cost_microusd: week.usage.micros(),
    }
}
