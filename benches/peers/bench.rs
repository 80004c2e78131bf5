//! The shared parts of all jobs: programs, sizes of this run, directories to work in, and contests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use crate::figures::{Contest, Measured, Way};
use crate::seeded::{self, MEGABYTE, SEED, cache, files_below, kept};
use crate::watch::Watch;
use testkit::corpus::{self, CorpusShape};

pub struct Bench {
    pub watch: Watch,
    pub binary: PathBuf,
    quick: bool,
    tools: PathBuf,
}

/// A program that takes part in a contest, if it is installed.
pub struct Entrant<'a> {
    pub name: String,
    pub command: Result<Box<dyn Fn() -> Command + 'a>, String>,
    /// Runs before each round, and is not measured.
    pub before: Box<dyn FnMut() + 'a>,
    /// The file for its standard input.
    pub input: PathBuf,
    /// The highest exit code that counts as success.
    pub worst_end: u8,
    /// The file or directory to measure after the last round.
    pub leaves: Option<PathBuf>,
    pub note: String,
}

impl<'a> Entrant<'a> {
    pub fn new(name: &str, command: impl Fn() -> Command + 'a) -> Self {
        Self {
            name: name.to_owned(),
            command: Ok(Box::new(command)),
            before: Box::new(|| {}),
            input: "/dev/null".into(),
            worst_end: 0,
            leaves: None,
            note: String::new(),
        }
    }

    /// Returns an entrant that needs a program which may be missing.
    pub fn of(name: &str, program: &Result<PathBuf, String>, command: impl Fn(&Path) -> Command + 'a) -> Self {
        match program.clone() {
            Ok(program) => Self::new(name, move || command(&program)),
            Err(reason) => Self {
                command: Err(reason),
                ..Self::new(name, || Command::new("true"))
            },
        }
    }

    pub fn before(self, before: impl FnMut() + 'a) -> Self {
        Self {
            before: Box::new(before),
            ..self
        }
    }

    pub fn input(self, input: &Path) -> Self {
        Self {
            input: input.to_owned(),
            ..self
        }
    }

    /// Accepts exit code 1, which means that nothing was found.
    pub fn may_find_nothing(self) -> Self {
        Self { worst_end: 1, ..self }
    }

    pub fn leaves(self, place: &Path) -> Self {
        Self {
            leaves: Some(place.to_owned()),
            ..self
        }
    }

    pub fn note(self, note: String) -> Self {
        Self { note, ..self }
    }
}

impl Bench {
    pub fn start(quick: bool) -> Self {
        let scratch = seeded::cache().join("peers-scratch");
        fs::create_dir_all(&scratch).expect("the build directory can be written");
        Self {
            watch: Watch::start(&scratch),
            binary: seeded::binary(),
            quick,
            tools: env::var_os("BOSWELL_BENCH_TOOLS").map_or_else(|| scratch.join("none"), PathBuf::from),
        }
    }

    /// Returns one number for a whole run, and another for a quick one.
    pub fn size(&self, whole: u64, quick: u64) -> u64 {
        if self.quick { quick } else { whole }
    }

    /// Returns the number of rounds of a contest: two even in a quick run, because one round has no median.
    pub fn rounds(&self, whole: u64) -> u64 {
        self.size(whole, 2)
    }

    /// Returns the path of a program that `./bench` installed, or why it is missing.
    pub fn tool(&self, name: &str) -> Result<PathBuf, String> {
        let place = self.tools.join(name);
        let found = ["bin", "node_modules/.bin"].map(|folder| place.join(folder).join(name));
        let found = found.into_iter().find(|path| path.exists());
        found.ok_or_else(|| "could not be installed".to_owned())
    }

    /// Returns the path of a program in `PATH`, or that it is missing.
    pub fn system(&self, name: &str) -> Result<PathBuf, String> {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|path| path.is_file());
        found.ok_or_else(|| "could not be installed".to_owned())
    }

    /// Returns the seeded corpus of `megabytes` megabytes.
    pub fn corpus(&self, megabytes: u64) -> PathBuf {
        kept(&format!("corpus-{SEED}-{megabytes}"), |home| {
            corpus::write(home, &CorpusShape::with_bytes(SEED, megabytes * MEGABYTE))
                .expect("the build directory can be written");
        })
    }

    /// Runs all entrants alternately.
    pub fn contest(&mut self, name: &str, what: &str, mut entrants: Vec<Entrant<'_>>, rounds: u64) -> Contest {
        let mut ways: Vec<Way> = Vec::new();
        for entrant in &entrants {
            let way = match &entrant.command {
                Ok(_) => Way::absent(&entrant.name, ""),
                Err(reason) => Way::absent(&entrant.name, reason),
            };
            ways.push(way);
        }
        for _ in 0..rounds {
            for (entrant, way) in entrants.iter_mut().zip(&mut ways) {
                let Ok(command) = &entrant.command else { continue };
                (entrant.before)();
                settle();
                match self.watch.run_with(&command(), &entrant.input, entrant.worst_end) {
                    Ok(cost) => way.rounds.push(cost),
                    Err(reason) => {
                        let reason = format!("failed: {reason}");
                        *way = Way::absent(&entrant.name, &reason);
                        entrant.command = Err(reason);
                    }
                }
            }
        }
        for (entrant, way) in entrants.iter().zip(&mut ways) {
            if entrant.command.is_ok() {
                way.bytes = entrant.leaves.as_deref().map(size_below);
                way.note.clone_from(&entrant.note);
            }
            let took = way.median(|cost| cost.seconds);
            let took = took.map_or(way.note.clone(), |seconds| format!("{seconds:.4} s"));
            eprintln!("   {name}: {}: {took}", way.name);
        }
        Contest {
            name: name.to_owned(),
            what: what.to_owned(),
            ways,
        }
    }

    /// Returns a home, and the directory of its memory.
    pub fn memory(&self, home: &Path, data: PathBuf, agents: &'static [&'static str]) -> Memory {
        Memory {
            binary: self.binary.clone(),
            home: home.to_owned(),
            data,
            agents,
        }
    }

    /// Returns the machine and the versions of this run.
    pub fn measured(&self) -> Measured {
        let told = |name: &str| env::var(name).unwrap_or_default();
        let mut versions = BTreeMap::from([(
            "boswell".to_owned(),
            first_line(Command::new(&self.binary).arg("--version")),
        )]);
        for name in [
            "agentsview",
            "prompt-diary",
            "claude-code-log",
            "claude-code-transcripts",
            "ccusage",
        ] {
            let version = fs::read_to_string(self.tools.join(name).join("version")).unwrap_or_default();
            versions.insert(name.to_owned(), version.trim().to_owned());
        }
        for (name, program) in [("ripgrep", "rg"), ("jq", "jq"), ("chromium", "chromium")] {
            versions.insert(name.to_owned(), first_line(Command::new(program).arg("--version")));
        }
        versions.retain(|_, version| !version.is_empty());
        Measured {
            date: told("BOSWELL_BENCH_DATE"),
            commit: told("BOSWELL_BENCH_COMMIT"),
            machine: machine(),
            versions,
        }
    }
}

/// All agents of the seeded corpus, and the only one that most peers support.
pub const ALL: &[&str] = &["claude", "codex", "grok"];
pub const CLAUDE: &[&str] = &["claude"];

/// A home and its memory.
pub struct Memory {
    binary: PathBuf,
    pub home: PathBuf,
    pub data: PathBuf,
    agents: &'static [&'static str],
}

impl Memory {
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(words)
            .env("HOME", &self.data)
            .env("BOSWELL_HOME", self.data.join("memory"))
            .env_remove("XDG_CONFIG_HOME");
        for (agent, name) in [
            ("claude", "CLAUDE_CONFIG_DIR"),
            ("codex", "CODEX_HOME"),
            ("grok", "GROK_HOME"),
        ] {
            let folder = match self.agents.contains(&agent) {
                true => self.home.join(format!(".{agent}")),
                false => self.data.join("none"),
            };
            command.env(name, folder);
        }
        command
    }

    /// Sweeps the home first, for contests of queries.
    pub fn swept(self) -> Self {
        fresh(&self.data);
        let done = self.command(&["sweep", "--quiet"]).output().expect("the program runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self
    }

    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        let output = self.command(words).output().expect("the program runs");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }
}

/// Flushes the disk, so that no program waits for writes of the previous one.
fn settle() {
    _ = Command::new("sync").status();
}

/// Empties a directory. Moves its old content aside until the end of the run, because a file system creates files
/// slowly right after it deleted many, and the next program would pay for that.
pub fn fresh(place: &Path) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let to = aside().join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir_all(aside()).expect("the build directory can be written");
    if fs::rename(place, to).is_err() {
        _ = fs::remove_dir_all(place);
    }
    fs::create_dir_all(place).expect("the build directory can be written");
}

/// Deletes everything that [`fresh`] moved aside.
pub fn clear_aside() {
    _ = fs::remove_dir_all(aside());
}

fn aside() -> PathBuf {
    cache().join("peers-aside")
}

/// Copies all files below a folder into an empty one.
pub fn copy_below(from: &Path, to: &Path) {
    fresh(to);
    let mut files = Vec::new();
    files_below(from, &mut files);
    for path in files {
        let target = to.join(path.strip_prefix(from).expect("it lies below"));
        fs::create_dir_all(target.parent().expect("a file lies somewhere"))
            .expect("the build directory can be written");
        fs::copy(&path, target).expect("a log can be copied");
    }
}

pub fn size_below(folder: &Path) -> u64 {
    let mut files = Vec::new();
    files_below(folder, &mut files);
    if folder.is_file() {
        files.push(folder.to_owned());
    }
    let size = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |metadata| metadata.len());
    files.iter().map(size).sum()
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let after_colon = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':'))
            .map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let processor = after_colon(&read("/proc/cpuinfo"), "model name");
    let memory = after_colon(&read("/proc/meminfo"), "MemTotal");
    let gigabytes = memory.trim_end_matches(" kB").parse::<f64>().unwrap_or_default() / 1e6;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let (system, kind) = (env::consts::OS, env::consts::ARCH);
    format!("{processor}, {cores} cores, {gigabytes:.0} GB of memory, {system} {kind}; load {load} when the run began")
}
