//! `boswell journal`: prints the operation log of the memory.

use crate::answers::keep::JournalAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::{date_time, when};
use crate::session_arg::open_memory;
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};

/// Show the operation log of the memory, newest first
///
/// Every change to the memory leaves a sentence here.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell journal
  boswell journal --limit 100 --json")]
pub(crate) struct JournalArgs {
    /// Maximum number of entries
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &JournalArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let operations = store.reads().operations(args.limit)?;
    match ui.format {
        Format::Json => ui.answer(&JournalAnswer {
            operations: operations.iter().map(Into::into).collect(),
        })?,
        Format::Text => {
            let names = operations
                .iter()
                .map(|operation| measure::width(&escape(&operation.command)));
            let width = names.max().unwrap_or(0);
            for operation in &operations {
                let at = when(operation)
                    .map(|at| date_time(at, &context.zone))
                    .unwrap_or_default();
                let name = format!("{:width$}", escape(&operation.command));
                let indent = measure::width(&at) + 2 + width + 2;
                let row = format!(
                    "{}  {}  {}",
                    ui.paint(FAINT, at),
                    ui.paint(STRONG, name),
                    escape(&operation.sentence)
                );
                ui.row_wrapped(row, indent)?;
            }
        }
    }
    Ok(if operations.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}
