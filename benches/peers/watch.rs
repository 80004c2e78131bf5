//! Runs commands and measures the cost of each: wall time, CPU time, and peak memory.
//!
//! The system reports these only to a parent that calls `wait4`, which safe Rust cannot. So a small Python program,
//! which installing the peers needs anyway, is the parent of all commands. Its own memory, some ten megabytes, is the
//! smallest value that can be measured for a child.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::figures::Cost;

const PARENT: &str = r"
import json, os, signal, sys, time
child = None
# No command takes nearly as long; whatever does hangs.
signal.signal(signal.SIGALRM, lambda *_: child and os.kill(child, signal.SIGKILL))
for line in sys.stdin:
    asked = json.loads(line)
    around = dict(os.environ)
    for name, value in asked['env']:
        around.pop(name, None)
        if value is not None:
            around[name] = value
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [(os.POSIX_SPAWN_OPEN, 0, asked['stdin'], os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, asked['stdout'], new, 0o600),
             (os.POSIX_SPAWN_OPEN, 2, asked['stderr'], new, 0o600)]
    start = time.perf_counter()
    try:
        child = os.posix_spawnp(asked['argv'][0], asked['argv'], around, file_actions=files)
        signal.alarm(900)
        _, status, used = os.wait4(child, 0)
        signal.alarm(0)
        took = time.perf_counter() - start
        told = [took, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)]
    except OSError as error:
        told = str(error)
    print(json.dumps(told), flush=True)
";

/// The parent process, and the directory for the output of its children.
pub struct Watch {
    parent: Child,
    asks: ChildStdin,
    tells: BufReader<ChildStdout>,
    scratch: PathBuf,
}

impl Watch {
    pub fn start(scratch: &Path) -> Self {
        let mut parent = Command::new("python3")
            .args(["-ISc", PARENT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        Self {
            asks: parent.stdin.take().expect("it was asked for"),
            tells: BufReader::new(parent.stdout.take().expect("it was asked for")),
            parent,
            scratch: scratch.to_owned(),
        }
    }

    /// Runs a command with an empty standard input.
    pub fn run(&mut self, command: &Command) -> Result<Cost, String> {
        self.run_with(command, Path::new("/dev/null"), 0)
    }

    /// Runs a command with a file as its standard input. Exit codes up to `worst_end` count as success, because a
    /// search without a match ends with 1.
    pub fn run_with(&mut self, command: &Command, input: &Path, worst_end: u8) -> Result<Cost, String> {
        let argv = std::iter::once(command.get_program()).chain(command.get_args());
        let env = command
            .get_envs()
            .map(|(name, value)| (name.to_string_lossy(), value.map(|value| value.to_string_lossy())));
        let asked = json!({
            "argv": argv.map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
            "env": env.collect::<Vec<_>>(),
            "stdin": input,
            "stdout": self.output(),
            "stderr": self.scratch.join("stderr"),
        });
        writeln!(self.asks, "{asked}").expect("the parent listens");
        let mut told = String::new();
        self.tells.read_line(&mut told).expect("the parent answers");
        let told: Value = serde_json::from_str(&told).expect("the parent answers");
        let Some(numbers) = told.as_array() else {
            return Err(told.as_str().unwrap_or_default().to_owned());
        };
        let number = |at: usize| numbers[at].as_f64().unwrap_or(f64::NAN);
        if !(0.0..=f64::from(worst_end)).contains(&number(3)) {
            let said = std::fs::read_to_string(self.scratch.join("stderr")).unwrap_or_default();
            let said = said
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or("it failed");
            return Err(said.trim().to_owned());
        }
        Ok(Cost {
            seconds: number(0),
            cpu_seconds: number(1),
            peak_bytes: numbers[2].as_u64().unwrap_or_default(),
        })
    }

    /// Returns the path of the last command's output.
    pub fn output(&self) -> PathBuf {
        self.scratch.join("stdout")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        _ = self.parent.kill();
        _ = self.parent.wait();
    }
}
