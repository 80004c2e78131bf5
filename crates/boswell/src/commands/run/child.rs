//! Runs a command with the terminal, the streams and the signals of this process, and returns its exit code.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitStatus};

/// The exit codes of shells for a program that cannot be run, and for one that does not exist.
const NOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why a command did not start.
pub(super) struct Failed {
    pub(super) code: u8,
    pub(super) reason: String,
}

/// Runs a command to its end.
pub(super) fn run(words: &[OsString]) -> Result<u8, Failed> {
    let failed = |error: io::Error| Failed {
        code: match error.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => NOT_RUN,
        },
        reason: error.to_string(),
    };
    let Some((program, arguments)) = words.split_first() else {
        return Err(failed(io::ErrorKind::NotFound.into()));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let status = wait(&mut command).map_err(failed)?;
    Ok(code(status))
}

#[cfg(unix)]
fn code(status: ExitStatus) -> u8 {
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| signal + 128);
    let code = status.code().or(by_signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(not(unix))]
fn code(status: ExitStatus) -> u8 {
    u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)
}

/// Waits for the command. Signals from the terminal reach it directly, because it is in the foreground process group;
/// all others are passed on.
#[cfg(unix)]
fn wait(command: &mut Command) -> io::Result<ExitStatus> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    use signal_hook::iterator::Signals;
    use std::io::IsTerminal;
    use std::sync::{Arc, Mutex};

    use crate::interrupt::SignalDelegation;

    let _delegation = SignalDelegation::begin();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
    let has_terminal = io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    let mut child = command.spawn()?;
    let handle = signals.handle();
    // `None` once the command has ended, because its process id may then belong to another process.
    let running = Arc::new(Mutex::new(Some(pid_of(&child))));
    let passing = Arc::clone(&running);
    let passer = std::thread::spawn(move || {
        for number in signals.forever() {
            let is_of_terminal = has_terminal && matches!(number, SIGHUP | SIGINT | SIGQUIT);
            let running = passing.lock().map(|running| *running).unwrap_or_default();
            if let Some(pid) = running.flatten().filter(|_| !is_of_terminal) {
                pass(pid, number);
            }
        }
    });
    let ended = wait_without_reaping(&child).and_then(|()| {
        if let Ok(mut running) = running.lock() {
            *running = None;
        }
        child.wait()
    });
    handle.close();
    _ = passer.join();
    ended
}

#[cfg(unix)]
fn pid_of(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Waits for the end of the command without reaping it, so that its process id cannot be reused while the signal thread
/// may still send to it.
#[cfg(unix)]
fn wait_without_reaping(child: &Child) -> io::Result<()> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(pid) = pid_of(child) else { return Ok(()) };
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

#[cfg(unix)]
fn pass(pid: rustix::process::Pid, number: i32) {
    use rustix::process::{Signal, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    let signal = match number {
        SIGHUP => Signal::HUP,
        SIGINT => Signal::INT,
        SIGQUIT => Signal::QUIT,
        SIGTERM => Signal::TERM,
        SIGUSR1 => Signal::USR1,
        SIGUSR2 => Signal::USR2,
        _ => return,
    };
    // An error means that the process has just ended, which is fine.
    _ = kill_process(pid, signal);
}

#[cfg(not(unix))]
fn wait(command: &mut Command) -> io::Result<ExitStatus> {
    let mut child: Child = command.spawn()?;
    child.wait()
}
