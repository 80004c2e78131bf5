//! The server of a build without the feature `mcp`: it returns an error.

use memory::report::writing::WriterWorkspace;

use crate::error::CommandError;

pub(super) fn serve(_: WriterWorkspace) -> Result<(), CommandError> {
    let error = CommandError::user("unsupported", "this build of boswell has no MCP server");
    Err(error.with_hint("build it with `--features mcp`"))
}
