//! A disk that fails on demand, for the real binary: `faults/faults.c`, compiled when a test first needs it and loaded
//! before libc. Linux only; a C compiler is there, since SQLite is compiled in.
//!
//! It knows files and processes, nothing of the store. No process outlives its limit, and only our own is ended.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const SOURCE: &str = include_str!("../faults/faults.c");

/// The compiled library.
#[derive(Debug)]
pub struct Faults {
    library: PathBuf,
}

/// What goes wrong. Calls are those that change something below the watched directory, counted from 1.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Nothing: calls are only counted and told.
    None,
    /// Killed before this call does anything.
    AbortAt(u64),
    /// Gets a signal before this call, which is then done.
    SignalAt { signal: i32, at: u64 },
    /// Killed after this call did half of its bytes.
    TornAt(u64),
    /// Calls from the first to the last fail. A full disk refuses only what needs room.
    Fails { with: Errno, from: u64, to: u64 },
    /// Before the `at`-th read of a file, this happens to it.
    WhileRead { path: PathBuf, at: u64, happens: Happening },
}

/// Why calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errno {
    /// The disk is full.
    NoSpace,
    /// The disk is broken.
    Io,
}

/// What happens to a file while it is read.
#[derive(Debug, Clone)]
pub enum Happening {
    /// It is deleted.
    Unlink,
    /// It is cut to this many bytes.
    Truncate(u64),
    /// Another file takes its name.
    Rename(PathBuf),
    /// It is emptied and written anew with the bytes of another file.
    Overwrite(PathBuf),
    /// The bytes of another file are added.
    Append(PathBuf),
    /// A link to another file takes its name.
    Link(PathBuf),
    /// Reading it fails from now on.
    Broken,
}

/// One call as the library told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its number, where it changes something below the watched directory.
    pub number: Option<u64>,
    /// Such as `pwrite`; `opens` before a file is opened, `opened` after, with where it really lies.
    pub name: String,
    /// What it is done to.
    pub path: String,
    /// Bytes, or `reads` and `writes` for what is opened.
    pub detail: String,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// All it wrote to stdout.
    pub stdout: String,
    /// All it wrote to stderr.
    pub stderr: String,
    /// It did not end by itself and was killed.
    pub is_late: bool,
}

impl Faults {
    /// Compiles the library into `folder`.
    ///
    /// # Panics
    /// If there is no C compiler.
    pub fn build(folder: &Path) -> Faults {
        let library = folder.join("faults.so");
        let unfinished = folder.join(format!("faults-{}.so", std::process::id()));
        let mut compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-x", "c", "-o"])
            .arg(&unfinished)
            .args(["-", "-ldl"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("there is a C compiler: SQLite needs one, too");
        let mut stdin = compiler.stdin.take().expect("it was asked for");
        stdin.write_all(SOURCE.as_bytes()).expect("the compiler reads");
        drop(stdin);
        let status = compiler.wait().expect("the compiler ends");
        assert!(status.success(), "faults.c does not compile");
        // Whole or not at all: other tests may be using it.
        std::fs::rename(unfinished, &library).expect("a file of ours can be renamed");
        Faults { library }
    }

    /// Lets `fault` meet a command. Calls below `directory` count; all are told in `log`.
    pub fn arm(&self, command: &mut Command, directory: &Path, fault: &Fault, log: Option<&Path>) {
        command.env("LD_PRELOAD", &self.library).env("FAULTS_DIR", directory);
        if let Some(log) = log {
            command.env("FAULTS_LOG", log);
        }
        match fault {
            Fault::None => command,
            Fault::AbortAt(n) => command.env("FAULTS_ABORT_AT", n.to_string()),
            Fault::SignalAt { signal, at } => command
                .env("FAULTS_SIGNAL", signal.to_string())
                .env("FAULTS_SIGNAL_AT", at.to_string()),
            Fault::TornAt(n) => command.env("FAULTS_TORN_AT", n.to_string()),
            Fault::Fails { with, from, to } => command
                .env("FAULTS_ERRNO", with.name())
                .env("FAULTS_FROM", from.to_string())
                .env("FAULTS_TO", to.to_string()),
            Fault::WhileRead { path, at, happens } => command
                .env("FAULTS_READ_OF", path)
                .env("FAULTS_READ_AT", at.to_string())
                .env("FAULTS_READ_DO", happens.told()),
        };
    }
}

impl Errno {
    fn name(self) -> &'static str {
        match self {
            Errno::NoSpace => "ENOSPC",
            Errno::Io => "EIO",
        }
    }
}

impl Happening {
    fn told(&self) -> String {
        match self {
            Happening::Unlink => "unlink".to_owned(),
            Happening::Truncate(bytes) => format!("truncate:{bytes}"),
            Happening::Rename(other) => format!("rename:{}", other.display()),
            Happening::Overwrite(other) => format!("overwrite:{}", other.display()),
            Happening::Append(other) => format!("append:{}", other.display()),
            Happening::Link(other) => format!("link:{}", other.display()),
            Happening::Broken => "EIO".to_owned(),
        }
    }
}

/// Reads what the library told.
///
/// # Panics
/// If there is no such file: then the library was not loaded.
pub fn calls(log: &Path) -> Vec<Call> {
    let text = std::fs::read(log).expect("the library was loaded and told its calls");
    let call = |line: &str| {
        let (number, rest) = line.split_once(' ')?;
        let (name, rest) = rest.split_once(' ')?;
        let (path, detail) = rest.rsplit_once(' ')?;
        Some(Call {
            number: number.parse().ok(),
            name: name.to_owned(),
            path: path.to_owned(),
            detail: detail.to_owned(),
        })
    };
    String::from_utf8_lossy(&text).lines().filter_map(call).collect()
}

/// A process of ours, which ends with us.
#[derive(Debug)]
pub struct Running {
    child: Child,
    outputs: Receiver<(bool, Vec<u8>)>,
    told: [Option<Vec<u8>>; 2],
}

impl Running {
    /// Starts a command whose output is gathered.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> Running {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command can be started");
        let (sender, outputs) = channel();
        let stdout = child.stdout.take().expect("it was asked for");
        let stderr = child.stderr.take().expect("it was asked for");
        gather(stdout, false, sender.clone());
        gather(stderr, true, sender);
        Running {
            child,
            outputs,
            told: [None, None],
        }
    }

    /// Kills it if it does not end within `limit`.
    pub fn end(mut self, limit: Duration) -> Ended {
        let is_late = !self.ends_within(limit);
        if is_late {
            // It may have ended just now, which is as good.
            _ = self.child.kill();
        }
        let status = self.child.wait().expect("a process of ours can be waited for");
        while self.told.iter().any(Option::is_none) && self.hear(limit) {}
        let mut texts = std::mem::take(&mut self.told).map(|told| {
            let bytes = told.unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ended {
            status,
            stdout: std::mem::take(&mut texts[0]),
            stderr: std::mem::take(&mut texts[1]),
            is_late,
        }
    }

    /// Lets it run for a while. Says whether it ended.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        // Its outputs are closed when it ends; each is told once.
        while self.told.iter().any(Option::is_none) {
            if !self.hear(limit) {
                return false;
            }
        }
        true
    }

    /// The most memory it had so far; none where the system does not say, or it has ended.
    pub fn peak_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let told = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = told.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    /// Kills it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }

    fn hear(&mut self, limit: Duration) -> bool {
        match self.outputs.recv_timeout(limit) {
            Ok((is_stderr, bytes)) => {
                self.told[usize::from(is_stderr)] = Some(bytes);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn gather(mut source: impl Read + Send + 'static, is_stderr: bool, sender: std::sync::mpsc::Sender<(bool, Vec<u8>)>) {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        _ = source.read_to_end(&mut bytes);
        // Nobody listens any more when a test has failed already.
        _ = sender.send((is_stderr, bytes));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_that_does_not_end_is_ended() {
        let ended = Running::start(&mut shell("echo hi; exec sleep 1000")).end(Duration::from_millis(50));
        assert!(ended.is_late && !ended.status.success());
        let ended = Running::start(&mut shell("echo hi; echo ho >&2; exit 3")).end(LIMIT);
        assert_eq!(
            (
                ended.status.code(),
                ended.stdout.as_str(),
                ended.stderr.as_str(),
                ended.is_late
            ),
            (Some(3), "hi\n", "ho\n", false)
        );
    }
}
