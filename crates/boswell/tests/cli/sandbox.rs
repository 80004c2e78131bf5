//! A home for the binary, and the output of a run as one text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home directory that lives as long as the test, and an environment without any other variables.
pub struct Sandbox {
    _dir: TempDir,
    pub home: PathBuf,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(dir.path()).unwrap();
        let mut sandbox = Self {
            _dir: dir,
            home,
            variables: Vec::new(),
        };
        sandbox.set("BOSWELL_SYSTEM_CONFIG", &sandbox.path("etc/config.toml"));
        sandbox.set("BOSWELL_NOW", "2026-04-01T09:00:00Z");
        sandbox
    }

    /// Returns a path in this home as text.
    pub fn path(&self, name: &str) -> String {
        self.home.join(name).to_str().unwrap().to_owned()
    }

    /// Sets a variable for all later runs.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn user_config(&self) -> PathBuf {
        self.home.join(".config/boswell/config.toml")
    }

    /// Writes the user's configuration file.
    pub fn write_user_config(&self, text: &str) {
        self.write(".config/boswell/config.toml", text);
    }

    /// Runs the binary and returns its output as one text. `line` is split at spaces.
    pub fn run(&self, line: &str) -> String {
        self.told(&self.command(line).output().unwrap())
    }

    /// Runs the binary with arguments that may contain spaces.
    pub fn run_args(&self, arguments: &[&str]) -> String {
        self.told(&self.command("").args(arguments).output().unwrap())
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boswell"));
        command
            .args(line.split_whitespace())
            .current_dir(&self.home)
            .stdin(Stdio::null());
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("USERPROFILE", &self.home);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns output, messages and exit code as one text, with `[HOME]` for this home.
    pub fn told(&self, output: &Output) -> String {
        let mut told = String::from_utf8(output.stdout.clone()).unwrap();
        if !output.stderr.is_empty() {
            told += "--- stderr ---\n";
            told += std::str::from_utf8(&output.stderr).unwrap();
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => told += &format!("--- exit {code} ---\n"),
            None => told += "--- killed ---\n",
        }
        self.hide_home(&told)
    }

    /// Replaces this home with `[HOME]`, and the directory of its diary's days with `[DAYS]`.
    pub fn hide_home(&self, text: &str) -> String {
        let days = self.path(concat!(".local/share/boswell-reports/", "work/"));
        text.replace(&days, "[DAYS]/")
            .replace(self.home.to_str().unwrap(), "[HOME]")
    }
}

/// Returns the names in a directory, sorted.
pub fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}
