//! A home directory with logs and a memory, for reproducible runs of the real binary.
//!
//! Time, zone, user, machine, masking key and the programs on the search path are fixed. One base directory contains the home, a sealed
//! copy of it, temporary files and programs. After each run, [`FixtureHome::reset`] restores the home from the sealed copy, so that
//! no run sees the changes of another one.

mod files;
mod logs;
mod placeholders;
mod run;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};

use crate::corpus::{self, CorpusShape};
use crate::verbs::{Invocation, PREPARATION, filled, split};

pub use self::files::{ChangeKind, FileChange};
pub use self::placeholders::Placeholders;
pub use self::run::PlainRun;

/// The logs of a home.
#[derive(Clone, Copy, Debug)]
pub enum LogSource<'s> {
    /// Synthetic logs from a seed, one hostile session, and the logs of the demo.
    MadeUp,
    /// The logs that `boswell demo` writes.
    Demo,
    /// Real logs in this directory. Only every `step`th log of Claude Code and Codex is used.
    Corpus { directory: &'s Path, step: usize },
}

/// The clock while the demo writes its logs, which are dated one day earlier.
const DEMO_NOW: &str = "2026-04-02T09:00:00Z";
/// The clock is set to this long after the newest record of the logs.
const AFTER_THE_LAST_LOG: SignedDuration = SignedDuration::from_hours(24);
const SEED: u64 = 1;
const MADE_UP_BYTES: u64 = 1_000_000;

/// Disables eviction by age, because the logs of a corpus span years.
const CONFIG: &str =
    "[session_memory.retention]\nraw_max_age_days = \"never\"\n\n[store]\nmachine = \"desk\"\nuser = \"ada\"\n";
const MASK_KEY: [u8; 32] = *b"a fixed key: fingerprints repeat";

/// Replacements for system programs that would change the machine or may be missing.
const STAND_INS: &[(&str, &str)] = &[
    ("systemctl", "#!/bin/sh\nexit 0\n"),
    ("loginctl", "#!/bin/sh\nexit 0\n"),
    (
        "crontab",
        "#!/bin/sh\ncase $1 in -l) exit 0 ;; *) cat >/dev/null ;; esac\n",
    ),
    ("launchctl", "#!/bin/sh\nexit 0\n"),
];
/// System programs that a run may use.
const PROGRAMS: &[&str] = &["cat", "false", "git", "sh", "true"];

/// A home that is prepared and sealed.
#[derive(Debug)]
pub struct FixtureHome {
    binary: PathBuf,
    home: PathBuf,
    sealed: PathBuf,
    programs: PathBuf,
    temporary: PathBuf,
    now: Timestamp,
    placeholders: Placeholders,
}

/// The output of one preparation step.
#[derive(Debug)]
pub struct PreparationRun {
    pub line: &'static str,
    pub output: std::process::Output,
}

impl FixtureHome {
    /// Copies logs below `base`, which must be empty, and runs [`PREPARATION`] over them.
    ///
    /// # Errors
    /// Returns an error if files cannot be written, or the binary cannot be run.
    pub fn prepare(base: &Path, binary: &Path, source: LogSource<'_>) -> io::Result<(Self, Vec<PreparationRun>)> {
        fs::create_dir_all(base)?;
        let base = fs::canonicalize(base)?;
        let mut home = Self {
            binary: fs::canonicalize(binary)?,
            home: base.join("home"),
            sealed: base.join("sealed"),
            programs: base.join("bin"),
            temporary: base.join("tmp"),
            now: DEMO_NOW.parse().expect("it is a time"),
            placeholders: Placeholders::default(),
        };
        for directory in [&home.home, &home.programs, &home.temporary, &home.home.join("out")] {
            fs::create_dir_all(directory)?;
        }
        home.write_programs()?;
        home.write_settings()?;
        home.write_logs(source)?;
        // Derive the present from the logs: with a fixed date, answers about recent sessions would be empty for older logs.
        let newest = logs::set_times(&home.home)?;
        home.now = newest + AFTER_THE_LAST_LOG;
        // Before the first run of the binary, because the values must not depend on it.
        home.placeholders = Placeholders::find(&home.home)?;
        let mut runs = Vec::new();
        for line in PREPARATION {
            let arguments = split(line).iter().map(|word| home.fill(word)).collect::<Vec<_>>();
            let output = home.command().args(arguments).output()?;
            runs.push(PreparationRun { line, output });
        }
        files::copy_tree(&home.home, &home.sealed)?;
        Ok((home, runs))
    }

    /// Returns the home directory.
    pub fn path(&self) -> &Path {
        &self.home
    }

    /// Returns the time that every run sees as the present.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the values of the placeholders.
    pub fn placeholders(&self) -> &Placeholders {
        &self.placeholders
    }

    /// Returns a command for the binary with this home and an otherwise empty environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.home).stdin(Stdio::null()).env_clear();
        command.env("HOME", &self.home).env("PATH", &self.programs);
        command.env("TMPDIR", &self.temporary).env("USER", "ada");
        command.env("BOSWELL_NOW", self.now.to_string()).env("TZ", "UTC");
        command.env("BOSWELL_SYSTEM_CONFIG", self.home.join("etc/config.toml"));
        // Git must not read settings outside this home.
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C.UTF-8");
        command
    }

    /// Returns the arguments of an invocation for this home.
    pub fn arguments(&self, invocation: &Invocation) -> Vec<String> {
        invocation.arguments(|name| self.value(name))
    }

    /// Returns what differs from the sealed copy.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be listed.
    pub fn changes(&self) -> io::Result<Vec<FileChange>> {
        files::changes(&self.sealed, &self.home)
    }

    /// Restores the home from the sealed copy and removes temporary files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be copied or removed.
    pub fn reset(&self) -> io::Result<()> {
        // Temporary files are not part of the sealed copy, so they are removed separately.
        fs::remove_dir_all(&self.temporary)?;
        fs::create_dir(&self.temporary)?;
        files::reset(&self.sealed, &self.home)
    }

    fn fill(&self, word: &str) -> String {
        filled(word, |name| self.value(name))
    }

    fn value(&self, name: &str) -> String {
        match name {
            "home" => self.home.to_string_lossy().into_owned(),
            "out" => self.home.join("out").to_string_lossy().into_owned(),
            "workspace" => {
                let days = self.home.join(concat!(".local/share/boswell-reports/", "work"));
                days.join(&self.placeholders.day).to_string_lossy().into_owned()
            }
            name => self.placeholders.value(name),
        }
    }

    fn write_programs(&self) -> io::Result<()> {
        for (name, text) in STAND_INS {
            let path = self.programs.join(name);
            fs::write(&path, text)?;
            #[cfg(unix)]
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        #[cfg(unix)]
        for name in PROGRAMS {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path)
                .map(|directory| directory.join(name))
                .find(|path| path.is_file());
            if let Some(program) = found {
                std::os::unix::fs::symlink(program, self.programs.join(name))?;
            }
        }
        Ok(())
    }

    fn write_settings(&self) -> io::Result<()> {
        let directory = self.home.join(".config/boswell");
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("config.toml"), CONFIG)?;
        let key = directory.join("mask.key");
        fs::write(&key, MASK_KEY)?;
        #[cfg(unix)]
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(())
    }

    fn write_logs(&self, source: LogSource<'_>) -> io::Result<()> {
        match source {
            LogSource::Corpus { directory, step } => return logs::lay_out(directory, step, &self.home),
            LogSource::MadeUp => {
                corpus::write(&self.home, &CorpusShape::with_bytes(SEED, MADE_UP_BYTES))?;
                logs::write_hostile(&self.home)?;
            }
            LogSource::Demo => {}
        }
        let mut demo = self.command();
        let output = demo.args(["demo", "--json", "-o"]).arg(&self.home).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("`boswell demo` failed: {output:?}"))),
        }
    }
}
