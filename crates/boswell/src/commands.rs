//! The verbs: one file each, whose doc comment is its help.
//!
//! A verb is added in three lines here (module, variant, arm) and stands in the help by its place in
//! the table of `cli.rs`.

mod cat;
mod completions;
mod config;
mod demo;
mod doctor;
mod man;
pub(crate) mod read;
mod rebuild;
pub(crate) mod sessions;
mod sweep;

use crate::config::Assignment;
use crate::context::{Context, Surroundings};
use crate::error::{CommandError, Outcome};
use crate::ui::Ui;

#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Sessions(sessions::SessionsArgs),
    Read(read::ReadArgs),
    Cat(cat::CatArgs),
    Sweep(sweep::SweepArgs),
    Rebuild(rebuild::RebuildArgs),
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
        Command::Demo(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            demo::run(ui, &context, &args)
        }
        Command::Doctor(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            doctor::run(ui, &context, &args)
        }
        Command::Sessions(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            sessions::run(ui, &context, &args)
        }
        Command::Read(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            read::run(ui, &context, &args)
        }
        Command::Cat(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            cat::run(ui, &context, &args)
        }
        Command::Sweep(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            sweep::run(ui, &context, &args)
        }
        Command::Rebuild(args) => {
            let context = Context::load(ui, surroundings, flags)?;
            rebuild::run(ui, &context, &args)
        }
        Command::Config(args) => config::run(ui, surroundings, flags, args),
        Command::Completions(args) => completions::run(ui, &args),
        Command::Man(args) => man::run(ui, &args),
    }
}
