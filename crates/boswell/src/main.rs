//! The entry point: parses arguments, runs one command, and returns its exit code.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent_arg;
mod alerts;
mod annotation;
mod answers;
mod arguments;
mod catch_up;
mod cli;
mod commands;
mod config;
mod context;
mod copies;
mod day_arg;
mod day_workspace;
mod digest_page;
mod digests;
mod dispatch;
#[cfg(test)]
mod docs;
mod env;
mod error;
mod filters;
mod finder;
mod global_args;
mod hook;
mod hub_delivery;
mod interrupt;
mod job_log;
mod mcp_tools;
mod money;
mod opener;
mod portrait;
mod prices;
mod render;
mod report;
mod restoring;
mod retention;
mod root_arg;
mod scheduled_runs;
mod session_arg;
mod session_ids;
mod session_summary;
mod shell;
mod signal_lines;
mod surface;
mod sweeping;
mod text_source;
mod turn_arg;
#[allow(dead_code, reason = "the words that verbs share; not every verb uses each")]
mod ui;
mod waiting;
mod zone_arg;

use std::ffi::OsString;
use std::panic;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::context::Surroundings;
use crate::env::Environment;
use crate::error::{Blame, CommandError, Outcome};
use crate::ui::{Format, Ui, Volume};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // An agent waits for the hook, so it comes before everything else.
    if hook::is_meant(&arguments) {
        return hook::answer(&arguments);
    }
    let surroundings = Surroundings::ask();
    let parsed = cli::parse(&arguments);
    let (format, color) = match &parsed {
        Ok(cli) => (cli.global.format(), cli.global.color),
        Err(_) => cli::early_flags(&arguments),
    };
    let volume = match &parsed {
        Ok(cli) if cli.global.quiet => Volume::Quiet,
        _ => Volume::Normal,
    };
    let mut ui = Ui::new(format, volume, surroundings.stdout(color), surroundings.stderr(color))
        .with_columns(surroundings.columns())
        .with_pager(surroundings.pager())
        .with_answers(surroundings.can_answer());
    if let Some(home) = surroundings.home() {
        ui.set_home(&home);
    }
    ExitCode::from(match parsed {
        Ok(cli) => {
            let result = catch_panic(&surroundings.environment, || run(&mut ui, &surroundings, cli));
            finish(&mut ui, result)
        }
        Err(error) => answer_clap(&mut ui, error),
    })
}

fn run(ui: &mut Ui, surroundings: &Surroundings, cli: Cli) -> Result<Outcome, CommandError> {
    match cli.command {
        Some(command) => cli::run(ui, surroundings, &cli.global, command),
        None if ui.format == Format::Json => {
            Err(CommandError::usage("a command is missing").with_hint("see `boswell help`"))
        }
        None if surroundings.has_screen() => finder::run(ui, surroundings, &cli.global),
        None => {
            ui.styled(&cli::command().render_help())?;
            Ok(Outcome::Done)
        }
    }
}

/// Prints clap's messages. Help and version are data; everything else is an error, which is shown in clap's own words.
fn answer_clap(ui: &mut Ui, error: clap::Error) -> u8 {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    match ui.format {
        _ if is_help => {
            let printed = ui.styled(&error.render());
            finish(ui, printed.map(|()| Outcome::Done).map_err(CommandError::from))
        }
        Format::Json => finish(ui, Err(error.into())),
        Format::Text => {
            ui.tell_styled(&error.render());
            CommandError::from(error).exit_code()
        }
    }
}

/// Flushes the output and reports an error, if there was one.
fn finish(ui: &mut Ui, result: Result<Outcome, CommandError>) -> u8 {
    let result = result.and_then(|outcome| Ok(ui.flush().map(|()| outcome)?));
    let error = match result {
        Ok(outcome) => return outcome.exit_code(),
        Err(error) => error,
    };
    if error.blame != Blame::Nobody {
        // If even this cannot be written, only the exit code remains.
        _ = ui.error(&error);
        _ = ui.flush();
    }
    error.exit_code()
}

/// Reports a panic like any other error. The backtrace is shown if it is requested.
fn catch_panic<T>(environment: &Environment, run: impl FnOnce() -> Result<T, CommandError>) -> Result<T, CommandError> {
    let place = Arc::new(Mutex::new(String::new()));
    let is_traced = environment.get(env::RUST_BACKTRACE).is_some_and(|value| value != "0");
    if !is_traced {
        let place = Arc::clone(&place);
        panic::set_hook(Box::new(move |panic| {
            if let Ok(mut place) = place.lock() {
                *place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
            }
        }));
    }
    let result = panic::catch_unwind(panic::AssertUnwindSafe(run));
    _ = panic::take_hook();
    result.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|&words| words.to_owned()));
        let place = place.lock().map(|place| place.clone()).unwrap_or_default();
        let words = words.unwrap_or_else(|| "no reason given".to_owned());
        Err(CommandError::internal(format_args!("boswell stopped{place}: {words}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_of_ours_ends_as_an_error_and_not_as_a_trace() {
        let error = catch_panic::<()>(&Environment::default(), || panic!("the sky fell")).unwrap_err();
        assert_eq!(
            (error.blame, error.code, error.exit_code()),
            (Blame::Internal, "internal", 2)
        );
        assert!(error.message.starts_with("boswell stopped at "), "{}", error.message);
        assert!(error.message.ends_with(": the sky fell"), "{}", error.message);
    }
}
