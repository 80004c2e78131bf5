//! Running a verb by its words, for the verbs that run others. They cannot import the command line, because it is made of them.

use std::ffi::OsString;

use crate::context::Surroundings;
use crate::error::{CommandError, Outcome};
use crate::global_args::GlobalArgs;
use crate::ui::Ui;

/// The command line as a verb reaches it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch {
    /// Returns the whole command line, its verbs grouped in the help.
    pub(crate) command: fn() -> clap::Command,
    /// Runs the verb that some words name, with the global options of the caller.
    pub(crate) run_verb: fn(&mut Ui, &Surroundings, &GlobalArgs, &[&str]) -> Result<Outcome, CommandError>,
    /// Parses arguments, of which the first one is the program, and runs the verb they name.
    pub(crate) run_line: fn(&mut Ui, &Surroundings, &[OsString]) -> Result<Outcome, CommandError>,
}
