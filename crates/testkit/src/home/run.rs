//! Runs one invocation without a terminal and with a time limit.

use std::io::{self, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::FixtureHome;
use crate::verbs::{Ending, Exit, Invocation};

/// The output and the exit status of a run without a terminal.
#[derive(Debug)]
pub struct PlainRun {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: Exit,
}

enum Stream {
    Stdout,
    Stderr,
}

impl FixtureHome {
    /// Runs an invocation with pipes for its streams, and kills it if it does not end within `limit`.
    ///
    /// # Errors
    /// Returns an error if the binary cannot be started.
    pub fn run(&self, invocation: &Invocation, limit: Duration) -> io::Result<PlainRun> {
        let deadline = Instant::now() + limit;
        let mut command = self.command();
        command.args(self.arguments(invocation));
        let input = match invocation.ending {
            Ending::Input(text) => Some(text),
            _ => None,
        };
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
            // Writing fails if the program ended without reading its input.
            _ = pipe.write_all(text.as_bytes());
        }
        let (sender, chunks) = channel();
        forward(child.stdout.take(), sender.clone(), |bytes| (Stream::Stdout, bytes));
        forward(child.stderr.take(), sender, |bytes| (Stream::Stderr, bytes));
        let mut run = PlainRun {
            stdout: Vec::new(),
            stderr: Vec::new(),
            exit: Exit::TimedOut,
        };
        let mut waits_for = match invocation.ending {
            Ending::Interrupt { after } => Some(after),
            _ => None,
        };
        loop {
            match chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((Stream::Stdout, bytes)) => run.stdout.extend(bytes),
                Ok((Stream::Stderr, bytes)) => run.stderr.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    child.wait()?;
                    return Ok(run);
                }
            }
            let is_there = |text: &str| has_line(&run.stdout, text) || has_line(&run.stderr, text);
            if waits_for.is_some_and(is_there) {
                waits_for = None;
                interrupt(&child)?;
            }
        }
        run.exit = child.wait()?.into();
        Ok(run)
    }
}

/// Whether the output contains a complete line with this text.
fn has_line(bytes: &[u8], text: &str) -> bool {
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    at.is_some_and(|at| bytes[at..].contains(&b'\n'))
}

/// Forwards the output of a pipe to a channel until the pipe is closed.
fn forward<R, F>(pipe: Option<R>, sender: Sender<(Stream, Vec<u8>)>, label: F)
where
    R: Read + Send + 'static,
    F: Fn(Vec<u8>) -> (Stream, Vec<u8>) + Send + 'static,
{
    let Some(mut pipe) = pipe else { return };
    thread::spawn(move || {
        let mut buffer = [0; 64 * 1024];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            if sender.send(label(buffer[..read].to_vec())).is_err() {
                return;
            }
        }
    });
}

#[cfg(unix)]
fn interrupt(child: &Child) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    Ok(kill_process(Pid::from_child(child), Signal::INT)?)
}

#[cfg(not(unix))]
fn interrupt(_: &Child) -> io::Result<()> {
    Err(io::Error::other("only Unix has interrupts to send"))
}
