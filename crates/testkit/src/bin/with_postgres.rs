//! `with_postgres COMMAND…`: runs a command while a PostgreSQL server for tests is up, and exits with the command's code.
//!
//! If PostgreSQL is not installed, the command runs without it, and the tests that need it print that they are skipped.

use std::process::{Command, ExitCode};

use testkit::postgres::{Postgres, RUNNING};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().expect("usage: with_postgres COMMAND…");
    let server = Postgres::start();
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(server) = &server {
        command.env(RUNNING, server.directory());
    }
    let status = command.status().expect("the command can be started");
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}
