//! Opens a file with the default program of the system, such as a page in the browser. It does not know what is in the file.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::CommandError;

/// Opens a file and returns without waiting for the program, because some browsers stay in the foreground.
pub(crate) fn open_file(path: &Path) -> Result<(), CommandError> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = command.spawn();
    started.map(|_| ()).map_err(|error| {
        CommandError::user("open", format_args!("cannot start `{program}`: {error}"))
            .with_hint(format_args!("open it yourself: `{}`", path.display()))
    })
}
