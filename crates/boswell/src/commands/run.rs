//! `boswell run`: runs one command of an agent and stores its session when it ends.

mod child;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::logs;
use memory::sources;
use memory::spool::{self, EXIT, HookNote};
use transcript::{Agent, SafeName};

use crate::context::{Context, Surroundings, wall_clock};
use crate::error::{CommandError, Outcome};
use crate::global_args::GlobalArgs;
use crate::retention::tell_loss;
use crate::sweeping::{Order, sweep};
use crate::ui::{Ui, escape};

/// Timestamps of file systems can be slightly behind the clock.
const SLACK_MS: i64 = 50;

/// Run an agent's command, and store its session when it ends
///
/// For scripts and CI: the command keeps the terminal, the streams and the signals, and its exit status is passed on;
/// if it was killed, that is 128 plus the signal's number. The exit status counts as evidence for the session's
/// outcome. Nothing is printed to standard output.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell run -- codex exec 'fix the failing test'
  boswell run --quiet -- claude -p 'review this change'")]
pub(crate) struct RunArgs {
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A log that was written to while the command ran.
struct Touched {
    agent: Agent,
    path: PathBuf,
    is_subagent: bool,
}

pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    args: &RunArgs,
) -> Result<Outcome, CommandError> {
    let began = wall_clock();
    let code = match child::run(&args.command) {
        Ok(code) => code,
        Err(failed) => {
            let program = args
                .command
                .first()
                .map(|name| name.to_string_lossy())
                .unwrap_or_default();
            ui.warning(format_args!("cannot run `{}`: {}", escape(&program), failed.reason));
            return Ok(Outcome::Exit(failed.code));
        }
    };
    // The exit code is that of the command, even if the session cannot be stored.
    match keep(ui, surroundings, global, args, began, code) {
        Ok(Some(uid)) => ui.status(format_args!("In memory: {}", escape(&uid))),
        Ok(None) => {}
        Err(error) => ui.warning(format_args!("the session is not in memory: {}", error.message)),
    }
    Ok(Outcome::Exit(code))
}

/// Stores the logs that changed while the command ran. Returns the uid of the command's own session if it is known.
fn keep(
    ui: &mut Ui,
    surroundings: &Surroundings,
    global: &GlobalArgs,
    args: &RunArgs,
    began: Timestamp,
    code: u8,
) -> Result<Option<String>, CommandError> {
    let context = Context::load(ui, surroundings, &global.config)?;
    let touched = touched(&context, began);
    if touched.is_empty() {
        ui.status("No session was written");
        return Ok(None);
    }
    let own = own(&context, args.command.first().map(OsString::as_os_str), &touched);
    let id = own.map(|log| sources::find_source(log.agent, &log.path).native_id);
    let own = own.zip(id).filter(|(_, id)| SafeName::new(id).is_some());
    if let Some((log, id)) = &own {
        let note = HookNote {
            agent: log.agent,
            session_id: id.clone(),
            event: EXIT.to_owned(),
            log: Some(log.path.clone()),
            subagent_log: None,
            reason: None,
            error: None,
            exit_code: Some(code.into()),
            at: context.now,
        };
        let name = format!("{:016x}-{:08x}-run", context.now.as_microsecond(), std::process::id());
        // A sweep finds the session without the note; only how it ended would be lost.
        _ = spool::write_note(&context.places.data_dir, &name, &note);
    }
    let logs: Vec<PathBuf> = touched.iter().map(|log| log.path.clone()).collect();
    let order = Order {
        directory: &context.places.data_dir,
        roots: &context.memory_roots(),
        masker: &context.masker(true)?,
        is_dry: false,
        is_scheduled: false,
        lets_go: true,
        only: Some(&logs),
    };
    let report = sweep(ui, &context, &order)?;
    _ = tell_loss(ui, &context, &report.evicted);
    if own.is_none() {
        ui.status("Several sessions were written; none of them is known to be this command's");
    }
    Ok(own.map(|(log, id)| format!("{}:{id}", log.agent.as_str())))
}

fn touched(context: &Context, began: Timestamp) -> Vec<Touched> {
    let since = began - jiff::SignedDuration::from_millis(SLACK_MS);
    let found = context
        .memory_roots()
        .into_iter()
        .flat_map(|root| sources::find_logs(&root).logs);
    let touched = found.filter(|log| log.modified.is_some_and(|at| at >= since) && !context.is_ignored(&log.path));
    touched
        .map(|log| Touched {
            agent: log.agent,
            path: log.path,
            is_subagent: log.is_subagent,
        })
        .collect()
}

/// Returns the log that the command itself wrote, if the agent and the working directory identify it.
fn own<'t>(context: &Context, program: Option<&OsStr>, touched: &'t [Touched]) -> Option<&'t Touched> {
    let name = program.map(|program| Path::new(program).file_stem().unwrap_or(program).to_string_lossy());
    let agent = Agent::ALL
        .into_iter()
        .find(|agent| name.as_deref() == Some(agent.as_str()));
    let mains = touched.iter().filter(|log| !log.is_subagent);
    let of_agent: Vec<&Touched> = mains
        .filter(|log| agent.is_none_or(|agent| log.agent == agent))
        .collect();
    let here = &context.places.current_dir;
    let worked_here = |log: &&&Touched| logs::cwd_of_head(&log.path).iter().any(|cwd| cwd == here);
    let of_here: Vec<&&Touched> = of_agent.iter().filter(worked_here).collect();
    match (of_here.as_slice(), of_agent.as_slice()) {
        ([one], _) => Some(one),
        // The command was started here, but the agent works in another directory.
        ([], [one]) => Some(one),
        _ => None,
    }
}
