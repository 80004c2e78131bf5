//! Injects disk faults into the real binary: `faults/faults.c` is compiled when a test first needs it and preloaded before libc.
//! Linux only. A C compiler is available, because building SQLite needs one.
//!
//! This module knows files and processes but not the store. Every process has a time limit, and only our own processes are killed.

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

/// The fault to inject. Calls that change something below the watched directory are counted from 1.
#[derive(Debug, Clone)]
pub enum Fault {
    /// No fault: calls are only counted and logged.
    None,
    /// The process is killed before this call.
    AbortAt(u64),
    /// The process receives a signal before this call, which then continues.
    SignalAt { signal: i32, at: u64 },
    /// The process is killed after this call wrote half of its bytes.
    TornAt(u64),
    /// Calls `from` to `to` fail. With [`Errno::NoSpace`], only calls that need space fail.
    Fails { with: Errno, from: u64, to: u64 },
    /// A file is changed before its `at`-th read.
    WhileRead { path: PathBuf, at: u64, event: FileEvent },
}

/// The error of failing calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errno {
    /// The disk is full.
    NoSpace,
    /// The disk is broken.
    Io,
}

/// A change of a file while it is read.
#[derive(Debug, Clone)]
pub enum FileEvent {
    /// The file is deleted.
    Unlink,
    /// The file is truncated to this many bytes.
    Truncate(u64),
    /// Another file is renamed over it.
    Rename(PathBuf),
    /// The file is overwritten with the content of another file.
    Overwrite(PathBuf),
    /// The content of another file is appended.
    Append(PathBuf),
    /// The file is replaced by a link to another file.
    Link(PathBuf),
    /// All further reads fail.
    Broken,
}

/// One call as the library logged it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The number of the call, if it changes something below the watched directory.
    pub number: Option<u64>,
    /// The name, such as `pwrite`. `opens` is logged before a file is opened, and `opened` after, with its resolved path.
    pub name: String,
    /// The file that the call affects.
    pub path: String,
    /// The number of bytes, or `reads` and `writes` for an opened file.
    pub detail: String,
}

/// The result of a process.
#[derive(Debug)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// Everything it wrote to stdout.
    pub stdout: String,
    /// Everything it wrote to stderr.
    pub stderr: String,
    /// True if it exceeded its time limit and was killed.
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
        // Rename the finished file, because other tests may be loading the library at the same time.
        std::fs::rename(unfinished, &library).expect("a file of ours can be renamed");
        Faults { library }
    }

    /// Makes a command run with `fault`. Calls that change something below `directory` are counted, and all calls are written to `log`.
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
            Fault::WhileRead { path, at, event } => command
                .env("FAULTS_READ_OF", path)
                .env("FAULTS_READ_AT", at.to_string())
                .env("FAULTS_READ_DO", event.describe()),
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

impl FileEvent {
    fn describe(&self) -> String {
        match self {
            FileEvent::Unlink => "unlink".to_owned(),
            FileEvent::Truncate(bytes) => format!("truncate:{bytes}"),
            FileEvent::Rename(other) => format!("rename:{}", other.display()),
            FileEvent::Overwrite(other) => format!("overwrite:{}", other.display()),
            FileEvent::Append(other) => format!("append:{}", other.display()),
            FileEvent::Link(other) => format!("link:{}", other.display()),
            FileEvent::Broken => "EIO".to_owned(),
        }
    }
}

/// Reads the log of the library.
///
/// # Panics
/// If the file does not exist, because then the library was not loaded.
pub fn calls(log: &Path) -> Vec<Call> {
    let text = std::fs::read(log).expect("the library was loaded and logged its calls");
    let call = |line: &str| {
        let (number, rest) = line.split_once(' ')?;
        let (name, rest) = rest.split_once(' ')?;
        // Paths can contain spaces, so the detail is split off from the end.
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

/// A child process, which is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    outputs: Receiver<(bool, Vec<u8>)>,
    received: [Option<Vec<u8>>; 2],
}

impl Running {
    /// Starts a command and collects its output.
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
        // One thread per stream, because a process blocks when the pipe that is not being read is full.
        gather(stdout, false, sender.clone());
        gather(stderr, true, sender);
        Running {
            child,
            outputs,
            received: [None, None],
        }
    }

    /// Waits for the process and kills it if it does not end within `limit`.
    pub fn end(mut self, limit: Duration) -> Ended {
        let is_late = !self.ends_within(limit);
        if is_late {
            // Killing fails if the process has just ended, which is fine.
            _ = self.child.kill();
        }
        let status = self.child.wait().expect("a process of ours can be waited for");
        // The output arrives after the end of the process, because other threads read the pipes.
        while self.received.iter().any(Option::is_none) && self.receive(limit) {}
        let mut texts = std::mem::take(&mut self.received).map(|received| {
            let bytes = received.unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ended {
            status,
            stdout: std::mem::take(&mut texts[0]),
            stderr: std::mem::take(&mut texts[1]),
            is_late,
        }
    }

    /// Waits for up to `limit` and returns whether the process ended.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        // Each stream is received once, when the process closes it.
        while self.received.iter().any(Option::is_none) {
            if !self.receive(limit) {
                return false;
            }
        }
        true
    }

    /// Returns the peak memory use so far, or `None` if the system does not report it or the process has ended.
    pub fn peak_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = peak.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    /// Kills the process, as `kill -9` does.
    pub fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }

    fn receive(&mut self, limit: Duration) -> bool {
        match self.outputs.recv_timeout(limit) {
            Ok((is_stderr, bytes)) => {
                self.received[usize::from(is_stderr)] = Some(bytes);
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
        // The receiver is gone if the test has already failed.
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
    fn a_process_that_exceeds_its_limit_is_killed() {
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
