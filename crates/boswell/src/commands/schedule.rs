//! `boswell schedule`: sweeps that the machine's scheduler starts.

mod entry;
mod machine;

use std::path::PathBuf;

use self::entry::Entry;
use self::machine::{Found, Scheduler};
use crate::answers::machine::{
    ScheduleEntry, ScheduleFile, ScheduleInstallAnswer, ScheduleStatusAnswer, ScheduleUninstallAnswer,
};
use crate::config::{Cadence, write_key};
use crate::context::{Context, create_private_dir};
use crate::error::{CommandError, Outcome};
use crate::job_log;
use crate::scheduled_runs;
use crate::ui::{Format, Ui, escape};

/// Run sweeps on a schedule: hourly, daily or weekly
///
/// The system's scheduler checks once an hour whether a sweep is due according to `session_memory.retention.cadence`.
/// Sweeps that were missed while the machine was off are caught up. `boswell journal` lists what each run did, and
/// `schedule status` names the log of its output.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell schedule install
  boswell schedule install --cadence hourly
  boswell schedule status
  boswell schedule uninstall")]
pub(crate) struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(clap::Subcommand, Debug)]
enum ScheduleCommand {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Status(StatusArgs),
}

/// Add an entry to the system's scheduler
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell schedule install
  boswell schedule install --cadence weekly
  boswell schedule install --with cron --dry-run")]
struct InstallArgs {
    /// How often to sweep; written to your configuration
    #[arg(long, value_name = "CADENCE", value_parser = ["hourly", "daily", "weekly", "on-hook"])]
    cadence: Option<String>,
    /// Scheduler to use instead of the system's own
    #[arg(long, value_name = "SCHEDULER")]
    with: Option<Scheduler>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Remove the entry
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell schedule uninstall")]
struct UninstallArgs {
    /// Only this scheduler
    #[arg(long, value_name = "SCHEDULER")]
    with: Option<Scheduler>,
}

/// Show whether sweeps are scheduled, how often, and when the last one ran
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell schedule status
  boswell schedule status --json")]
struct StatusArgs {}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &ScheduleArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        ScheduleCommand::Install(args) => install(ui, context, args),
        ScheduleCommand::Uninstall(args) => uninstall(ui, context, args),
        ScheduleCommand::Status(_) => status(ui, context),
    }
}

/// The command that the scheduler starts, and the files of its entry.
struct Plan {
    entry: Entry,
    files: Vec<(PathBuf, String)>,
}

impl Plan {
    fn of(context: &Context, scheduler: Scheduler) -> Self {
        let entry = Entry {
            program: context.program.clone(),
            variables: context.own_variables.clone(),
            log: job_log::path(&context.places.data_dir),
        };
        let files = scheduler.files(&context.places.home, &context.places.config_dir, &entry);
        Self { entry, files }
    }
}

fn install(ui: &mut Ui, context: &Context, args: &InstallArgs) -> Result<Outcome, CommandError> {
    let scheduler = args.with.or_else(Scheduler::of_machine).ok_or_else(|| {
        CommandError::user(
            "no-scheduler",
            "no scheduler found: neither a systemd user session nor `crontab`",
        )
        .with_hint(
            "run `boswell sweep --scheduled` once an hour with another scheduler; it sweeps only if a sweep is due",
        )
    })?;
    let plan = Plan::of(context, scheduler);
    let cadence = args
        .cadence
        .as_deref()
        .unwrap_or(context.config.retention.cadence.as_str());
    if args.dry_run {
        return show_plan(ui, scheduler, &plan, cadence);
    }
    if let Some(cadence) = &args.cadence {
        write_key(
            &context.places.user_config.path,
            &["session_memory", "retention", "cadence"],
            cadence,
        )?;
    }
    // Cron's shell does not run the sweep if it cannot open the log.
    create_private_dir(&context.places.data_dir).map_err(|error| {
        let path = context.places.data_dir.display();
        CommandError::user("schedule", format_args!("cannot create `{path}`: {error}"))
    })?;
    scheduler.install(&plan.files, &plan.entry).map_err(|error| {
        CommandError::user("schedule", format_args!("{} refuses: {error}", scheduler.as_str()))
            .with_hint("`--with` names another scheduler; `--dry-run` shows what would be written")
    })?;
    match ui.format {
        Format::Json => ui.answer(&install_answer(scheduler, Found::AsItShould, cadence, &plan))?,
        Format::Text => {
            ui.status(format_args!("Scheduled by {}: sweeps {cadence}", scheduler.as_str()));
            for (path, _) in &plan.files {
                ui.status(format_args!("  {}", escape(&path.to_string_lossy())));
            }
        }
    }
    if cadence == Cadence::OnHook.as_str() {
        ui.hint("`on-hook` sweeps when an agent's hook says so: `boswell hooks install`");
    }
    Ok(Outcome::Done)
}

fn show_plan(ui: &mut Ui, scheduler: Scheduler, plan: &Plan, cadence: &str) -> Result<Outcome, CommandError> {
    match ui.format {
        Format::Json => ui.answer(&install_answer(scheduler, Found::Nothing, cadence, plan))?,
        Format::Text if plan.files.is_empty() => ui.row_whole(escape(&plan.entry.cron_line()))?,
        Format::Text => {
            for (path, text) in &plan.files {
                ui.row_whole(format_args!("# {}", escape(&path.to_string_lossy())))?;
                for line in text.lines() {
                    ui.row_whole(escape(line))?;
                }
            }
        }
    }
    Ok(Outcome::Done)
}

fn uninstall(ui: &mut Ui, context: &Context, args: &UninstallArgs) -> Result<Outcome, CommandError> {
    let mut taken: Vec<&'static str> = Vec::new();
    for scheduler in Scheduler::ALL {
        let plan = Plan::of(context, scheduler);
        let is_meant = args.with.is_none_or(|with| with == scheduler);
        if !is_meant || scheduler.found(&plan.files, &plan.entry) == Found::Nothing {
            continue;
        }
        scheduler
            .uninstall(&plan.files)
            .map_err(|error| CommandError::user("schedule", format_args!("{} refuses: {error}", scheduler.as_str())))?;
        taken.push(scheduler.as_str());
    }
    match ui.format {
        Format::Json => ui.answer(&ScheduleUninstallAnswer { schedulers: taken })?,
        Format::Text if taken.is_empty() => ui.status("Nothing was scheduled"),
        Format::Text => ui.status(format_args!("No longer scheduled by {}", taken.join(", "))),
    }
    Ok(Outcome::Done)
}

fn status(ui: &mut Ui, context: &Context) -> Result<Outcome, CommandError> {
    let cadence = context.config.retention.cadence.as_str();
    let found: Vec<(Scheduler, Found, Plan)> = Scheduler::ALL
        .into_iter()
        .map(|scheduler| {
            let plan = Plan::of(context, scheduler);
            (scheduler, scheduler.found(&plan.files, &plan.entry), plan)
        })
        .filter(|(_, found, _)| *found != Found::Nothing)
        .collect();
    let last = scheduled_runs::last_run(&context.places.data_dir);
    if ui.format == Format::Json {
        let entry = |(scheduler, found, _): &(Scheduler, Found, Plan)| ScheduleEntry {
            scheduler: scheduler.as_str(),
            is_current: *found == Found::AsItShould,
        };
        ui.answer(&ScheduleStatusAnswer {
            cadence,
            entries: found.iter().map(entry).collect(),
            last_sweep: last,
            log: job_log::path(&context.places.data_dir),
            is_due: scheduled_runs::is_due(context.config.retention.cadence, last, context.now),
        })?;
        return Ok(Outcome::Done);
    }
    for (scheduler, found, _) in &found {
        ui.row(format_args!("scheduled by {}: sweeps {cadence}", scheduler.as_str()))?;
        if *found == Found::Otherwise {
            ui.hint(
                "the entry starts another program or uses other directories: `boswell schedule install` replaces it",
            );
        }
    }
    if found.is_empty() {
        ui.row("not scheduled")?;
        ui.hint("`boswell schedule install` sweeps by itself");
    }
    match last {
        Some(at) => ui.row(format_args!("last sweep {}", crate::ui::measure::age(context.now, at)))?,
        None => ui.row("no sweep yet")?,
    }
    let log = job_log::path(&context.places.data_dir).display().to_string();
    ui.row(format_args!("log {}", ui.path(&escape(&log))))?;
    Ok(Outcome::Done)
}

fn install_answer<'a>(
    scheduler: Scheduler,
    found: Found,
    cadence: &'a str,
    plan: &'a Plan,
) -> ScheduleInstallAnswer<'a> {
    let file = |(path, text): &'a (PathBuf, String)| ScheduleFile {
        path: path.to_string_lossy().into_owned(),
        text,
    };
    ScheduleInstallAnswer {
        scheduler: scheduler.as_str(),
        is_installed: found == Found::AsItShould,
        cadence,
        files: plan.files.iter().map(file).collect(),
        crontab_line: plan.files.is_empty().then(|| plan.entry.cron_line()),
    }
}
