//! Runs one invocation on a pseudo-terminal: its output, its exit status, and its duration.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process_group};
use testkit::home::FixtureHome;
use testkit::verbs::{Ending, Exit, Invocation};

const ROWS: u16 = 24;

/// The ends of the questions that the binary asks.
const QUESTIONS: [&str; 2] = ["[y/N] ", "[Y/n] "];
const INTERRUPT: &str = "\x03";
const END_OF_INPUT: &str = "\x04";

/// The output of a run on a terminal, and how it ended.
pub struct TerminalRun {
    pub bytes: Vec<u8>,
    pub exit: Exit,
    pub took: Duration,
}

/// Runs an invocation on a terminal with `columns` columns. If it does not end within `limit`, kills it with everything
/// it started.
pub fn run(home: &FixtureHome, invocation: &Invocation, columns: u16, limit: Duration) -> TerminalRun {
    run_with(home, invocation, columns, limit, &[], &mut |_| {})
}

/// Like [`run`] with more variables. `watch` gets everything written so far whenever there is more.
pub fn run_with(
    home: &FixtureHome,
    invocation: &Invocation,
    columns: u16,
    limit: Duration,
    variables: &[(&str, &str)],
    watch: &mut dyn FnMut(&[u8]),
) -> TerminalRun {
    let started = Instant::now();
    let (pty, pts) = open().unwrap();
    pty.resize(Size::new(ROWS, columns)).unwrap();
    let mut command = home.command();
    command.args(home.arguments(invocation));
    // `cat` never waits for a key.
    command.env("TERM", "xterm-256color").env("PAGER", "cat");
    command.envs(variables.iter().copied());
    let mut child = Command::from(command).spawn(pts).unwrap();
    let pty = Arc::new(pty);
    let (sender, chunks) = channel();
    let reader = Arc::clone(&pty);
    thread::spawn(move || {
        let mut buffer = [0; 64 * 1024];
        // Reading fails when the last program closes the terminal.
        while let Ok(read @ 1..) = (&*reader).read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut typist = Typist::new(invocation.ending);
    typist.type_at_once(&pty);
    let mut bytes = Vec::new();
    let is_ended = loop {
        match chunks.recv_timeout(limit.saturating_sub(started.elapsed())) {
            Ok(chunk) => {
                bytes.extend(chunk);
                watch(&bytes);
            }
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => break false,
        }
        typist.answer(&pty, &bytes);
    };
    if !is_ended {
        // The child leads its own session, so its process group contains only processes that it started.
        _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    }
    let status = child.wait().unwrap();
    TerminalRun {
        bytes,
        exit: if is_ended { status.into() } else { Exit::TimedOut },
        took: started.elapsed(),
    }
}

/// Types the keys and answers that a run waits for.
struct Typist {
    ending: Ending,
    /// The number of bytes of the output that were searched already.
    seen: usize,
}

impl Typist {
    fn new(ending: Ending) -> Self {
        Self { ending, seen: 0 }
    }

    /// Types the standard input of a run, and ends it.
    fn type_at_once(&self, pty: &Pty) {
        if let Ending::Input(text) = self.ending {
            write(pty, text);
            write(pty, END_OF_INPUT);
        }
    }

    fn answer(&mut self, pty: &Pty, bytes: &[u8]) {
        let (texts, keys) = match self.ending {
            Ending::Answer(answer) => (&QUESTIONS[..], answer),
            Ending::Interrupt { after } => (&[after][..], INTERRUPT),
            Ending::Keys { after, keys } => (&[after][..], keys),
            Ending::Itself | Ending::Input(_) => return,
        };
        let new = &bytes[self.seen..];
        let end = |text: &&str| find(new, text).map(|at| at + text.len());
        let Some(end) = texts.iter().filter_map(end).min() else {
            return;
        };
        self.seen += end;
        write(pty, keys);
        if !matches!(self.ending, Ending::Answer(_)) {
            self.ending = Ending::Itself;
        }
    }
}

/// Returns the offset of a text.
pub fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}

/// Runs an invocation until `is_ready` accepts its output, then closes the terminal. Returns `false` if that never
/// happens, or if the program does not end within `limit` after that.
pub fn hang_up_when(
    home: &FixtureHome,
    invocation: &Invocation,
    limit: Duration,
    is_ready: &dyn Fn(&[u8]) -> bool,
) -> bool {
    let (pty, pts) = open().unwrap();
    pty.resize(Size::new(ROWS, 80)).unwrap();
    let mut command = home.command();
    command.args(home.arguments(invocation));
    command.env("TERM", "xterm-256color").env("PAGER", "cat");
    let mut child = Command::from(command).spawn(pts).unwrap();
    let pid = Pid::from_child(&child);
    // Kills a program that never becomes ready, because the read below would wait forever.
    let (done, is_done) = channel::<()>();
    let watchdog = thread::spawn(move || {
        if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            _ = kill_process_group(pid, Signal::KILL);
        }
    });
    let mut bytes = Vec::new();
    let mut buffer = [0; 64 * 1024];
    // An interrupt would end the program before the terminal closes.
    let mut typist = Typist::new(match invocation.ending {
        Ending::Interrupt { .. } => Ending::Itself,
        ending => ending,
    });
    while !is_ready(&bytes) {
        match (&pty).read(&mut buffer) {
            Ok(read @ 1..) => bytes.extend(&buffer[..read]),
            _ => break,
        }
        typist.answer(&pty, &bytes);
    }
    let is_there = is_ready(&bytes);
    drop(done);
    watchdog.join().unwrap();
    drop(pty);
    let (sender, ended) = channel();
    thread::spawn(move || _ = sender.send(child.wait().is_ok()));
    let is_ended = ended.recv_timeout(limit).unwrap_or(false);
    if !is_ended {
        _ = kill_process_group(pid, Signal::KILL);
    }
    is_there && is_ended
}

/// Like [`hang_up_when`], for a text that is written in one piece.
pub fn hang_up(home: &FixtureHome, invocation: &Invocation, after: &str, limit: Duration) -> bool {
    hang_up_when(home, invocation, limit, &|bytes| find(bytes, after).is_some())
}

/// Runs an invocation whose output is far larger than the buffer of a terminal. Stops reading once it has written
/// `after`, so that it cannot end, types Ctrl-C, and reads the rest. Returns `None` if the text never comes.
pub fn interrupt_unread(
    home: &FixtureHome,
    invocation: &Invocation,
    after: &str,
    limit: Duration,
) -> Option<TerminalRun> {
    let started = Instant::now();
    let (pty, pts) = open().unwrap();
    pty.resize(Size::new(ROWS, 80)).unwrap();
    let mut command = home.command();
    command.args(home.arguments(invocation));
    command.env("TERM", "xterm-256color").env("PAGER", "cat");
    let mut child = Command::from(command).spawn(pts).unwrap();
    let mut bytes = Vec::new();
    // Reads small pieces, so that most of the output is still to come when the text appears.
    let mut buffer = [0; 1024];
    while find(&bytes, after).is_none() {
        match (&pty).read(&mut buffer) {
            Ok(read @ 1..) => bytes.extend(&buffer[..read]),
            _ => break,
        }
    }
    let is_there = find(&bytes, after).is_some();
    write(&pty, INTERRUPT);
    let pid = Pid::from_child(&child);
    let (sender, ended) = channel();
    thread::spawn(move || _ = sender.send(child.wait()));
    let reader = thread::spawn(move || {
        let mut rest: Vec<u8> = Vec::new();
        while let Ok(read @ 1..) = (&pty).read(&mut buffer) {
            rest.extend(&buffer[..read]);
        }
        rest
    });
    let exit = match ended.recv_timeout(limit) {
        Ok(status) => status.unwrap().into(),
        Err(_) => {
            _ = kill_process_group(pid, Signal::KILL);
            Exit::TimedOut
        }
    };
    bytes.extend(reader.join().unwrap());
    is_there.then(|| TerminalRun {
        bytes,
        exit,
        took: started.elapsed(),
    })
}

/// Writes a text. Ignores errors, because the program may have ended.
fn write(mut pty: &Pty, text: &str) {
    _ = pty.write_all(text.as_bytes());
}
