//! The verbs: one file each, whose doc comment is its help.
//!
//! A verb is added in three lines here (module, variant, arm) and stands in the help by its place in
//! the table of `cli.rs`.

mod completions;
mod config;
mod man;

use crate::config::Assignment;
use crate::context::Surroundings;
use crate::error::{CommandError, Outcome};
use crate::ui::Ui;

#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    Config(config::ConfigArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs one verb. What needs no configuration works where the configuration is broken.
pub(crate) fn run(
    ui: &mut Ui,
    surroundings: &Surroundings,
    flags: &[Assignment],
    command: Command,
) -> Result<Outcome, CommandError> {
    match command {
        Command::Config(args) => config::run(ui, surroundings, flags, args),
        Command::Completions(args) => completions::run(ui, &args),
        Command::Man(args) => man::run(ui, &args),
    }
}
