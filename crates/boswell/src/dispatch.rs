//! Runs a verb by its words, for verbs that run other verbs. They cannot import the command line, because it imports
//! them.

use std::ffi::OsString;

use crate::context::Surroundings;
use crate::error::{CommandError, Outcome};
use crate::global_args::GlobalArgs;
use crate::ui::Ui;

/// The entry points of the command line for verbs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch {
    /// Returns the whole command line, its verbs grouped in the help.
    pub(crate) command: fn() -> clap::Command,
    /// Runs the verb that the words name, with the global options of the caller.
    pub(crate) run_verb: fn(&mut Ui, &Surroundings, &GlobalArgs, &[&str]) -> Result<Outcome, CommandError>,
    /// Parses arguments, the first of which is the program, and runs the verb they name.
    pub(crate) run_line: fn(&mut Ui, &Surroundings, &[OsString]) -> Result<Outcome, CommandError>,
}
