//! Runs a writer's program in a group of its own, up to a time, and takes the whole group away with it.

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

/// Of what a program says on stderr, so much is remembered: its end.
const WORDS_BYTES: usize = 2048;
/// How often it is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How long its last words are waited for, once it has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ended {
    By(ExitStatus),
    TimedOut,
    /// Somebody wants us to stop.
    Stopped,
}

/// A run that is over.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) ended: Ended,
    /// The last line on stderr.
    pub(super) last_words: String,
}

/// Runs a program to its end, and no longer than `timeout`.
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
    // Whoever does not read it must not hold us.
    std::thread::spawn(move || _ = input.map(|mut input| input.write_all(text.as_bytes())));
    let clock = Clock::start();
    let stopped = loop {
        // Who cannot be asked is taken for ended, and then ended.
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
    // What it started goes with it, however it ended; until it is waited for, its number is its own.
    end_group(&mut child);
    let status = child.wait()?;
    // What it said last may still be in the pipe; somebody who left its group may hold that for ever.
    _ = heard.recv_timeout(LAST_WORDS);
    let words = words.lock().map(|words| words.clone()).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).into_owned();
    let last = words.lines().map(str::trim).rfind(|line| !line.is_empty());
    Ok(Ran {
        ended: stopped.unwrap_or(Ended::By(status)),
        last_words: last.unwrap_or_default().to_owned(),
    })
}

/// Keeps the end of what a program says on stderr. The second one closes when all is heard.
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
        // A group that is gone already is as good.
        _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end_group(child: &mut Child) {
    _ = child.kill();
}

/// Whether somebody asks us to stop. A group of its own hears none of the terminal's signals, so we listen for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from here on.
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
