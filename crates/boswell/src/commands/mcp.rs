//! `boswell mcp`: serves a day's workspace to agents that write about the day.

#[cfg(feature = "mcp")]
mod server;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/no_server.rs"]
mod server;

use std::path::PathBuf;

use memory::report::writing::WriterWorkspace;

use crate::context::Context;
use crate::day_workspace::damaged;
use crate::error::{CommandError, Outcome};
use crate::ui::Ui;

/// Serve a day's workspace to an agent over MCP
///
/// Speaks the Model Context Protocol on standard input and output. An agent reads sessions turn by turn, with secrets
/// masked, and submits evidence, pieces of work and the day as a whole. Every submission is checked against the
/// workspace's index; an error names the place and gives a hint. `boswell report --writer` starts this server by
/// itself. It writes only into that workspace.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell mcp --workspace 2026-05-12
  claude mcp add boswell -- boswell mcp --workspace DIR")]
pub(crate) struct McpArgs {
    /// The workspace of a day, as `boswell prepare` makes it
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Who writes, as the page names it
    #[arg(long, value_name = "NAME", hide = true, default_value = "mcp")]
    by: String,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &McpArgs) -> Result<Outcome, CommandError> {
    let Some(workspace) = &args.workspace else {
        return Err(
            CommandError::usage("`boswell mcp` serves a day's workspace: `--workspace` is missing").with_hint(
                "`boswell prepare` makes one and prints its place; asking the whole memory by MCP is to come",
            ),
        );
    };
    let workspace = context.places.current_dir.join(workspace);
    let desk = WriterWorkspace::open(&workspace, context.masker(true)?, &args.by).map_err(damaged)?;
    // From here on, only the protocol writes to stdout.
    ui.leave_stdout()?;
    server::serve(desk)?;
    Ok(Outcome::Done)
}
