//! `boswell doctor`: how the agents' logs on this machine fare.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use memory::doctor::{AgentHealth, Cleanup, Examination, examine};
use memory::sources::Root;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::ui::{BAD, FAINT, Format, GOOD, STRONG, Ui, escape, measure};

/// How many rows of one sort are shown to people.
const ROWS_SHOWN: usize = 5;

/// Say which agents are here, what they keep, and what of it cannot be read
///
/// Reads all logs under the agents' roots and changes nothing. Tells record types that Boswell does
/// not know yet, faults by their reason, and what Claude Code's clean-up is about to delete.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell doctor
  boswell doctor --json
  CLAUDE_CONFIG_DIR=/backup/.claude boswell doctor")]
pub(crate) struct DoctorArgs {}

pub(crate) fn run(ui: &mut Ui, context: &Context, _: &DoctorArgs) -> Result<Outcome, CommandError> {
    let roots: Vec<Root> = context
        .roots
        .iter()
        .map(|root| Root {
            agent: root.agent,
            path: root.path.clone(),
            label: root.label.clone(),
        })
        .collect();
    examine_and_show(ui, context, &roots)?;
    Ok(Outcome::Done)
}

/// Looks at `roots` and says what is there.
pub(crate) fn examine_and_show(ui: &mut Ui, context: &Context, roots: &[Root]) -> Result<(), CommandError> {
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    bar.set_style(style());
    let progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let healths = examine(&Examination {
        roots,
        now: context.now,
        threads: context.threads,
        is_ignored: &|path| context.config.ignore.paths.is_match(path),
        progress: &progress,
    });
    bar.finish_and_clear();
    match ui.format {
        Format::Json => ui.json(&to_json(&healths))?,
        Format::Text => show(ui, context, &healths)?,
    }
    Ok(())
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("Reading logs {wide_bar} {pos}/{len} {eta}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn show(ui: &mut Ui, context: &Context, healths: &[AgentHealth]) -> Result<(), CommandError> {
    for health in healths {
        let is_here = health.roots.iter().any(|root| root.is_there);
        let word = if is_here {
            ui.paint(GOOD, "here")
        } else {
            ui.paint(FAINT, "not here")
        };
        ui.row(format_args!("{}  {word}", ui.paint(STRONG, health.agent.title())))?;
        for root in &health.roots {
            let there = if root.is_there { "" } else { "  (no such directory)" };
            let label = root
                .root
                .label
                .as_deref()
                .map(|label| format!("  {}", escape(label)))
                .unwrap_or_default();
            ui.row(format_args!("  root      {}{label}{there}", shown(&root.root.path)))?;
        }
        if !is_here {
            continue;
        }
        let sessions = plural(health.sessions, "session");
        let subagents = plural(health.subagents, "subagent");
        ui.row(format_args!(
            "  keeps     {sessions}, {subagents}, {}",
            measure::bytes(health.bytes)
        ))?;
        if !health.versions.is_empty() {
            ui.row(format_args!("  versions  {}", versions(health)))?;
        }
        unknown_and_faults(ui, health)?;
        if let Some(cleanup) = &health.cleanup {
            show_cleanup(ui, context, cleanup)?;
        }
    }
    Ok(())
}

/// Versions in the order of their numbers: the first, the last, and how many.
fn versions(health: &AgentHealth) -> String {
    let number = |version: &&String| -> Vec<u64> { version.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    let mut versions: Vec<&String> = health.versions.iter().collect();
    versions.sort_by_key(number);
    match versions.as_slice() {
        [only] => escape(only).into_owned(),
        [first, .., last] => format!("{} to {} ({} versions)", escape(first), escape(last), versions.len()),
        [] => String::new(),
    }
}

fn unknown_and_faults(ui: &mut Ui, health: &AgentHealth) -> Result<(), CommandError> {
    for (unknown, count) in health.unknown.iter().take(ROWS_SHOWN) {
        let version = unknown.version.as_deref().unwrap_or("no version");
        ui.row(format_args!(
            "  unknown   {} ×{count} ({})",
            escape(&unknown.record),
            escape(version)
        ))?;
    }
    more(ui, health.unknown.len())?;
    let mut faults: Vec<_> = health.faults.iter().collect();
    faults.sort_by_key(|(_, fault)| std::cmp::Reverse(fault.count));
    for (reason, fault) in faults.iter().take(ROWS_SHOWN) {
        let place = format!("{}:{}", shown(&fault.path), fault.line);
        ui.row(format_args!(
            "  {}    {} ×{}  {}",
            ui.paint(BAD, "faults"),
            escape(reason),
            fault.count,
            ui.paint(FAINT, place)
        ))?;
    }
    more(ui, faults.len())?;
    for unread in health.unread.iter().take(ROWS_SHOWN) {
        ui.row(format_args!(
            "  {}    {}: {}",
            ui.paint(BAD, "unread"),
            shown(&unread.path),
            escape(&unread.reason)
        ))?;
    }
    more(ui, health.unread.len())
}

fn more(ui: &mut Ui, rows: usize) -> Result<(), CommandError> {
    match rows.checked_sub(ROWS_SHOWN).filter(|more| *more > 0) {
        Some(more) => Ok(ui.row(ui.paint(FAINT, format_args!("            and {more} more; see `--json`")))?),
        None => Ok(()),
    }
}

fn show_cleanup(ui: &mut Ui, context: &Context, cleanup: &Cleanup) -> Result<(), CommandError> {
    let whose = if cleanup.is_default {
        "its default"
    } else {
        "its settings"
    };
    let period = plural(cleanup.period_days.into(), "day");
    let due = match cleanup.due.first() {
        None => "nothing goes within a week".to_owned(),
        Some(_) => format!("{} within a week:", plural(cleanup.due.len() as u64, "session")),
    };
    ui.row(format_args!(
        "  clean-up  Claude Code deletes logs after {period} ({whose}); {due}"
    ))?;
    for due in cleanup.due.iter().take(ROWS_SHOWN) {
        let when = if due.deleted_at <= context.now {
            "at its next start".to_owned()
        } else {
            measure::age(context.now, due.deleted_at)
        };
        ui.row(format_args!(
            "            {}  {}",
            ui.paint(BAD, when),
            shown(&due.path)
        ))?;
    }
    more(ui, cleanup.due.len())
}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string()).into_owned()
}

fn to_json(healths: &[AgentHealth]) -> Value {
    json!({ "schema": "boswell.doctor/1", "agents": healths.iter().map(agent_json).collect::<Vec<_>>() })
}

fn agent_json(health: &AgentHealth) -> Value {
    let roots: Vec<Value> = health
        .roots
        .iter()
        .map(|root| json!({ "path": root.root.path, "label": root.root.label, "exists": root.is_there }))
        .collect();
    let unknown: Vec<Value> = health
        .unknown
        .iter()
        .map(|(unknown, count)| json!({ "version": unknown.version, "record": unknown.record, "count": count }))
        .collect();
    let faults: Vec<Value> = health
        .faults
        .iter()
        .map(
            |(reason, fault)| json!({ "reason": reason, "count": fault.count, "path": fault.path, "line": fault.line }),
        )
        .collect();
    let unread: Vec<Value> = health
        .unread
        .iter()
        .map(|unread| json!({ "path": unread.path, "reason": unread.reason }))
        .collect();
    let cleanup = health.cleanup.as_ref().map(|cleanup| {
        let due: Vec<Value> = cleanup
            .due
            .iter()
            .map(|due| json!({ "path": due.path, "deleted_at": due.deleted_at }))
            .collect();
        json!({ "period_days": cleanup.period_days, "is_default": cleanup.is_default, "due": due })
    });
    json!({
        "agent": health.agent.as_str(),
        "roots": roots,
        "sessions": health.sessions,
        "subagents": health.subagents,
        "bytes": health.bytes,
        "versions": health.versions,
        "unknown": unknown,
        "faults": faults,
        "unread": unread,
        "cleanup": cleanup,
    })
}
