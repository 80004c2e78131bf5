//! The options that every verb takes.

use clap::ValueEnum;

use crate::config::Assignment;
use crate::ui::Format;

#[derive(clap::Args, Debug)]
pub(crate) struct GlobalArgs {
    /// Print JSON, including errors
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print only data, warnings and errors
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = GLOBAL)]
    pub(crate) color: ColorChoice,
    /// Set a configuration key for this run; can be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = GLOBAL)]
    pub(crate) config: Vec<Assignment>,
    /// Answer from the memory without checking the logs for new text
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_sweep: bool,
}

impl GlobalArgs {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }
}

pub(crate) const GLOBAL: &str = "Global options";

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}
