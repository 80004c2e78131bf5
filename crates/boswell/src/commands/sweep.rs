//! `boswell sweep`: reads, masks and stores everything new in the agents' logs.

use memory::retention::reasons_in_words;
use memory::sweep::SweepReport;

use crate::agent_arg::AgentName;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::hub_delivery::push_quietly;
use crate::job_log;
use crate::render::text::{plural, sessions_and_subagents};
use crate::retention::{tell_loss, warn_distilled};
use crate::root_arg::{ExtraRoot, roots};
use crate::scheduled_runs;
use crate::sweeping::{Order, sweep, to_answer};
use crate::ui::{BAD, FAINT, Format, STRONG, Ui, escape, measure};

/// The width of lines in the log of background runs.
const LOG_COLUMNS: usize = 120;

/// Read what is new in the agents' logs into the memory
///
/// Only what changed since the last sweep is read. The agents' files are never changed. Secrets are masked before
/// anything is written. A second run costs almost nothing, and an interrupted one loses nothing. At the end, raw text
/// that is too old or over the budget is evicted, after its digest was written: see `boswell evict`.
#[derive(clap::Args, Debug)]
#[command(visible_aliases = ["sync", "ingest"])]
#[command(after_help = "Examples:
  boswell sweep
  boswell sweep --dry-run                       what would be read
  boswell sweep --agent claude
  boswell sweep --root /mnt/laptop/.claude=laptop")]
pub(crate) struct SweepArgs {
    /// Show what would be read, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Only this agent's logs
    #[arg(long)]
    agent: Vec<AgentName>,
    /// Also read this directory, labelled by the text after `=`; can be repeated
    #[arg(long, value_name = "DIR=LABEL")]
    root: Vec<ExtraRoot>,
    /// Only if one is due by the configured cadence; leaves quietly where another sweep is running
    #[arg(long, hide = true)]
    scheduled: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SweepArgs) -> Result<Outcome, CommandError> {
    let directory = &context.places.data_dir;
    if args.scheduled && !scheduled_runs::is_due_here(directory, context.config.retention.cadence, context.now) {
        return Ok(Outcome::Done);
    }
    if args.scheduled {
        return run_scheduled(ui, context, args);
    }
    sweep_once(ui, context, args).map(|(outcome, _)| outcome)
}

/// Sweeps for the machine's scheduler. Its output goes to the log of background runs, because there is no terminal.
fn run_scheduled(ui: &mut Ui, context: &Context, args: &SweepArgs) -> Result<Outcome, CommandError> {
    let directory = &context.places.data_dir;
    let (mut log, printed) = ui.captured(LOG_COLUMNS);
    let swept = sweep_once(&mut log, context, args);
    match &swept {
        // Another sweep was running; the scheduler tries again within the hour.
        Ok((_, None)) => return Ok(Outcome::Done),
        Ok((_, Some(sentence))) => scheduled_runs::remember(directory, context.now, sentence),
        Err(error) => {
            _ = log.error(error);
            scheduled_runs::remember_failure(directory, context.now, &error.message);
        }
    }
    _ = log.flush();
    let is_logged = job_log::append(directory, context.now, "scheduled sweep", &printed.text());
    match swept {
        // Cron appends standard error to the same log, so the error must not be printed a second time.
        Err(error) if is_logged => Ok(Outcome::Exit(error.exit_code())),
        swept => swept.map(|(outcome, _)| outcome),
    }
}

/// Sweeps. Also returns the result as a sentence, or `None` if another process was sweeping.
fn sweep_once(ui: &mut Ui, context: &Context, args: &SweepArgs) -> Result<(Outcome, Option<String>), CommandError> {
    let started = context.clock();
    let roots = roots(context, &args.agent, &args.root);
    let order = Order {
        directory: &context.places.data_dir,
        roots: &roots,
        masker: &context.masker(!args.dry_run)?,
        is_dry: args.dry_run,
        is_scheduled: args.scheduled,
        lets_go: true,
        only: None,
    };
    let report = match sweep(ui, context, &order) {
        Err(error) if args.scheduled && error.code == "store-busy" => return Ok((Outcome::Done, None)),
        report => report?,
    };
    match ui.format {
        Format::Json => ui.answer(&to_answer(&report, started.elapsed_ms()))?,
        Format::Text => show(ui, &report, args.dry_run)?,
    }
    if report.files_seen == 0 {
        let places: Vec<String> = roots.iter().map(|root| format!("`{}`", root.path.display())).collect();
        ui.hint(format_args!("no logs were found; looked in {}", places.join(", ")));
        ui.hint("`--root DIR=LABEL` names another place, and `boswell demo` shows what a sweep does");
    }
    warn_distilled(ui, context, report.tier2_bytes);
    if context.config.hub.push_on_sweep && !args.dry_run {
        push_quietly(ui, context);
    }
    let sentence = format!(
        "{} read, {} new, {} updated",
        plural(report.files_read, "file"),
        sessions_and_subagents(report.sessions_new, "session", report.subagents_new),
        measure::count(report.sessions_updated)
    );
    Ok((tell_loss(ui, context, &report.evicted), Some(sentence)))
}

/// Prints the results of a sweep as text. With `--quiet`, prints only what could not be read.
pub(crate) fn show(ui: &mut Ui, report: &SweepReport, is_dry: bool) -> Result<(), CommandError> {
    if !ui.is_quiet() {
        show_numbers(ui, report, is_dry)?;
    }
    for unread in &report.unread {
        ui.warning(format_args!(
            "{}: {}",
            escape(&unread.path.display().to_string()),
            unread.reason
        ));
    }
    Ok(())
}

/// Returns a note about logs that were neither read now nor earlier: copies of a session, which is read once, and empty
/// logs.
fn others(report: &SweepReport) -> String {
    let known = report.files_read + report.files_unchanged;
    match report.files_seen.saturating_sub(known) {
        0 => String::new(),
        others => format!(", {} copied, empty or left out", measure::count(others)),
    }
}

fn show_numbers(ui: &mut Ui, report: &SweepReport, is_dry: bool) -> Result<(), CommandError> {
    let verb = if is_dry { "would read" } else { "read" };
    let others = others(report);
    ui.row(format_args!(
        "{} {verb}, {} unchanged{others}",
        ui.paint(
            STRONG,
            format!(
                "{} of {}",
                plural(report.files_read, "file"),
                measure::count(report.files_seen)
            )
        ),
        measure::count(report.files_unchanged),
    ))?;
    ui.row(format_args!("  {} of logs", measure::bytes(report.bytes_read)))?;
    if !is_dry {
        ui.row(format_args!(
            "  {} new, {} updated, {}",
            sessions_and_subagents(report.sessions_new, "session", report.subagents_new),
            measure::count(report.sessions_updated),
            plural(report.events, "event"),
        ))?;
        ui.row(format_args!(
            "  {} masked, {}",
            plural(report.redactions, "secret"),
            plural(report.faults, "fault")
        ))?;
        if report.prompts > 0 {
            ui.row(format_args!("  {} new in histories", plural(report.prompts, "prompt")))?;
        }
        if report.facts > 0 {
            ui.row(format_args!("  {} from hooks", plural(report.facts, "fact")))?;
        }
        if !report.digested.is_empty() {
            let digests = plural(report.digested.len() as u64, "digest");
            ui.row(format_args!("  {digests} written"))?;
        }
        let let_go = &report.evicted;
        if !let_go.drops.is_empty() {
            ui.row(format_args!(
                "  {} of {} evicted ({})",
                measure::bytes(let_go.bytes),
                plural(let_go.drops.len() as u64, "session"),
                reasons_in_words(&let_go.drops)
            ))?;
        }
        let lost = let_go.lost().count() as u64;
        if lost > 0 {
            let told = format!("  DATA LOSS: {} of them had no digest", plural(lost, "session"));
            ui.row(ui.paint(BAD, told))?;
        }
        ui.row(format_args!("  {} kept", measure::bytes(report.tier1_bytes)))?;
    }
    for (agent, part) in &report.agents {
        let line = format!(
            "  {}: {} of {} read, {}",
            agent.title(),
            measure::count(part.files_read),
            measure::count(part.files_seen),
            measure::bytes(part.bytes_read)
        );
        ui.row(ui.paint(FAINT, line))?;
    }
    Ok(())
}
