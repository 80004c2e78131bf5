//! Runs a writer's program in a process group of its own, with a time limit, and ends the whole group with it.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::writer::Call;
use crate::context::Clock;
#[cfg(unix)]
use crate::interrupt::SignalDelegation;

/// Maximum number of bytes of stderr that are stored; they are the last ones.
const WORDS_BYTES: usize = 2048;
/// How often the program is checked.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum time to wait for the rest of stderr after the program has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ended {
    By(ExitStatus),
    TimedOut,
    /// The user interrupted the run.
    Stopped,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) ended: Ended,
    /// The last line on stderr.
    pub(super) last_words: String,
}

/// Runs a program until it ends, but no longer than `timeout`.
pub(super) fn run(call: &Call, directory: &Path, timeout: Duration, stop: &Stop) -> io::Result<Ran> {
    let mut command = Command::new(&call.program);
    command
        .args(&call.arguments)
        .envs(call.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let (words, heard) = listen(&mut child);
    let input = child.stdin.take();
    let text = call.input.clone();
    // A thread of its own writes the input, because a program that does not read it would block us.
    std::thread::spawn(move || _ = input.map(|mut input| input.write_all(text.as_bytes())));
    let clock = Clock::start();
    let stopped = loop {
        // If the state of the program is unknown, it counts as ended, and is killed below.
        if has_ended(&mut child).unwrap_or(true) {
            break None;
        }
        if stop.is_wanted() {
            break Some(Ended::Stopped);
        }
        if clock.elapsed() >= timeout {
            break Some(Ended::TimedOut);
        }
        std::thread::park_timeout(LOOK);
    };
    // Child processes of the program are killed, too. This happens before `wait`, because the process id may be reused
    // after it.
    end_group(&mut child);
    let status = child.wait()?;
    // The last output may still be in the pipe. The wait is limited, because a process that left the group may hold the
    // pipe open forever.
    _ = heard.recv_timeout(LAST_WORDS);
    let words = words.lock().map(|words| words.clone()).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).into_owned();
    let last = words.lines().map(str::trim).rfind(|line| !line.is_empty());
    Ok(Ran {
        ended: stopped.unwrap_or(Ended::By(status)),
        last_words: last.unwrap_or_default().to_owned(),
    })
}

/// Collects the last part of stderr in a thread. The receiver disconnects when stderr is closed.
fn listen(child: &mut Child) -> (Arc<Mutex<Vec<u8>>>, Receiver<()>) {
    let words = Arc::new(Mutex::new(Vec::new()));
    let (hearing, heard) = mpsc::channel();
    if let Some(mut pipe) = child.stderr.take() {
        let heard = Arc::clone(&words);
        std::thread::spawn(move || {
            let _until_all_is_heard = hearing;
            let mut piece = [0; 1024];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                let Ok(mut heard) = heard.lock() else { return };
                heard.extend_from_slice(&piece[..count]);
                let over = heard.len().saturating_sub(WORDS_BYTES);
                heard.drain(..over);
            }
        });
    }
    (words, heard)
}

#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Ok(true);
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), options) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(status) => Ok(status.is_some()),
    }
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

#[cfg(unix)]
fn end_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // An error means that the group has already ended.
        _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end_group(child: &mut Child) {
    _ = child.kill();
}

/// Whether the user wants to stop. The program's own process group does not receive signals from the terminal, so this
/// process has to handle them.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Starts to handle signals.
    #[cfg(unix)]
    pub(super) fn listen() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let stop = Self::default();
        SignalDelegation::begin().forever();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    #[cfg(not(unix))]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self::default())
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
