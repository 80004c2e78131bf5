//! Runs commands and tells what each cost: seconds on the clock, seconds of CPU, the most memory.
//!
//! The system tells these only to a parent that waits in a certain way, which safe Rust cannot; so a small program of Python,
//! which installs the peers anyway, is the parent of them all. What it holds itself, some ten megabytes, is the least that can be
//! seen of a child's memory.

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

/// The parent, and where it puts what its children say.
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

    /// Runs a command, with nothing on its input.
    pub fn run(&mut self, command: &Command) -> Result<Cost, String> {
        self.run_with(command, Path::new("/dev/null"), 0)
    }

    /// Runs a command with a file on its input. A search that finds nothing ends with 1, which is good there.
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

    /// What the last command printed.
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
