//! `boswell status`: the memory on one screen.

use jiff::Timestamp;
use memory::overview::{self, Overview};
use memory::sweep::Report;
use serde_json::{Value, json};
use transcript::Agent;

use super::journal::{self, when};
use super::sweep::{Order, sweep};
use crate::config::Retention;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::{date_time, plural};
use crate::ui::{BAD, FAINT, Format, GOOD, STRONG, Ui, escape, measure};

/// Say what the memory holds, and what is not yet in it
///
/// Where it lies, how large it is, which sessions it has, when it was last swept, and what a sweep would
/// read now. Changes nothing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell status
  boswell status --json | jq .waiting")]
pub(crate) struct StatusArgs {}

pub(crate) fn run(ui: &mut Ui, context: &Context, _: &StatusArgs) -> Result<Outcome, CommandError> {
    let overview = overview::look(&context.places.data_dir)?;
    let roots = context.memory_roots();
    let order = Order {
        directory: &context.places.data_dir,
        roots: &roots,
        masker: &context.masker(false)?,
        is_dry: true,
        is_scheduled: true,
    };
    let waiting = sweep(ui, context, &order)?;
    let warnings = warnings(context, overview.as_ref(), &waiting);
    match ui.format {
        Format::Json => ui.json(&to_json(context, overview.as_ref(), &waiting, &warnings))?,
        Format::Text => {
            match &overview {
                Some(overview) => show(ui, context, overview)?,
                None => {
                    let place = context.places.data_dir.display().to_string();
                    ui.row(format_args!(
                        "{}  {}",
                        ui.paint(STRONG, "Memory"),
                        ui.paint(FAINT, "not here yet")
                    ))?;
                    ui.row(format_args!("  store     {}", escape(&place)))?;
                }
            }
            show_waiting(ui, &waiting)?;
            warnings.iter().for_each(|warning| ui.warning(warning));
            if waiting.files_read > 0 {
                ui.hint("`boswell sweep` keeps what is waiting");
            } else if waiting.files_seen == 0 {
                ui.hint("no agent has written logs here; `boswell demo` shows what Boswell does");
            }
        }
    }
    Ok(Outcome::Done)
}

fn show(ui: &mut Ui, context: &Context, overview: &Overview) -> Result<(), CommandError> {
    let Retention {
        raw_soft_cap_bytes,
        raw_hard_cap_bytes,
        raw_max_age_days,
        ..
    } = context.config.retention;
    ui.row(format_args!(
        "{}  {}",
        ui.paint(STRONG, "Memory"),
        ui.paint(GOOD, "here")
    ))?;
    let place = overview.directory.display().to_string();
    ui.row(format_args!("  store     {}", escape(&place)))?;
    ui.row(format_args!(
        "  on disk   {}: packs {}, database {}",
        measure::bytes(overview.packs_bytes + overview.database_bytes),
        measure::bytes(overview.packs_bytes),
        measure::bytes(overview.database_bytes)
    ))?;
    for (flavor, share) in &overview.agents {
        let title = Agent::ALL.into_iter().find(|agent| agent.as_str() == flavor);
        let title = title.map_or(flavor.as_str(), |agent| agent.title());
        ui.row(format_args!(
            "  keeps     {}: {}, {}",
            escape(title),
            plural(share.sessions, "session"),
            plural(share.subagents, "subagent")
        ))?;
    }
    let time = |micros: Option<i64>| micros.and_then(|micros| Timestamp::from_microsecond(micros).ok());
    if let (Some(oldest), Some(newest)) = (time(overview.oldest), time(overview.newest)) {
        let (oldest, newest) = (date_time(oldest, &context.zone), date_time(newest, &context.zone));
        ui.row(format_args!("  sessions  from {oldest} to {newest}"))?;
    }
    let swept = overview.last_sweep.as_ref().and_then(when);
    let swept = swept.map_or_else(
        || "nothing was ever kept".to_owned(),
        |at| {
            format!(
                "kept something {}, {}",
                measure::age(context.now, at),
                date_time(at, &context.zone)
            )
        },
    );
    ui.row(format_args!("  sweep     {swept}"))?;
    let age = raw_max_age_days.map_or_else(|| "for ever".to_owned(), |days| plural(days.into(), "day"));
    ui.row(format_args!(
        "  caps      raw text {} of {} (at most {}), {age}",
        measure::bytes(overview.raw_bytes),
        measure::bytes(raw_soft_cap_bytes),
        measure::bytes(raw_hard_cap_bytes),
    ))?;
    Ok(())
}

/// What a sweep would read.
fn show_waiting(ui: &mut Ui, waiting: &Report) -> Result<(), CommandError> {
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

fn warnings(context: &Context, overview: Option<&Overview>, waiting: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    let soft = context.config.retention.raw_soft_cap_bytes;
    if let Some(raw) = overview.map(|overview| overview.raw_bytes).filter(|raw| *raw > soft) {
        warnings.push(format!(
            "kept raw text is above its soft cap: {} > {}",
            measure::bytes(raw),
            measure::bytes(soft)
        ));
    }
    if !waiting.unread.is_empty() {
        let files = plural(waiting.unread.len() as u64, "file");
        warnings.push(format!("{files} cannot be read; `boswell doctor` names them"));
    }
    warnings
}

fn to_json(context: &Context, overview: Option<&Overview>, waiting: &Report, warnings: &[String]) -> Value {
    let retention = &context.config.retention;
    let time = |micros: Option<i64>| micros.and_then(|micros| Timestamp::from_microsecond(micros).ok());
    let store = overview.map(|overview| {
        let agents: Vec<Value> = overview
            .agents
            .iter()
            .map(|(flavor, share)| json!({ "agent": flavor, "sessions": share.sessions, "subagents": share.subagents }))
            .collect();
        json!({
            "packs_bytes": overview.packs_bytes,
            "database_bytes": overview.database_bytes,
            "tier1_bytes": overview.raw_bytes,
            "agents": agents,
            "oldest": time(overview.oldest),
            "newest": time(overview.newest),
            "last_sweep": overview.last_sweep.as_ref().map(journal::to_json),
        })
    });
    json!({
        "schema": "boswell.status/1",
        "path": context.places.data_dir,
        "store": store,
        "waiting": {
            "files_seen": waiting.files_seen,
            "files_read": waiting.files_read,
            "bytes_read": waiting.bytes_read,
            "unread": waiting.unread.len(),
        },
        "retention": {
            "raw_soft_cap_bytes": retention.raw_soft_cap_bytes,
            "raw_hard_cap_bytes": retention.raw_hard_cap_bytes,
            "raw_max_age_days": retention.raw_max_age_days,
            "distilled_cap_bytes": retention.distilled_cap_bytes,
        },
        "warnings": warnings,
    })
}
