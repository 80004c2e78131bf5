//! The scheduler of this machine: which one it is, whether it has our entry, and how to install and remove the entry.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::entry::{Entry, LABEL, UNIT, crontab, line_of};

/// What runs things at their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scheduler {
    /// A systemd user timer
    Systemd,
    /// A launchd agent, on macOS
    Launchd,
    /// A line in the user's crontab
    Cron,
}

impl Scheduler {
    pub(super) const ALL: [Self; 3] = [Self::Systemd, Self::Launchd, Self::Cron];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
            Self::Cron => "cron",
        }
    }

    /// Returns the scheduler of this machine: launchd on macOS, otherwise systemd if it responds, otherwise cron.
    pub(super) fn of_machine() -> Option<Self> {
        if cfg!(target_os = "macos") {
            return Some(Self::Launchd);
        }
        let answers = |program: &str, arguments: &[&str]| is_done(Command::new(program).args(arguments)).is_ok();
        if answers("systemctl", &["--user", "show-environment"]) {
            return Some(Self::Systemd);
        }
        (read_crontab().is_ok()).then_some(Self::Cron)
    }

    /// Returns the files that contain our entry. There are none for cron, because a crontab is only changed through its
    /// program.
    pub(super) fn files(self, home: &Path, config: &Path, entry: &Entry) -> Vec<(PathBuf, String)> {
        match self {
            Self::Systemd => {
                let units = config.join("systemd/user");
                vec![
                    (units.join(format!("{UNIT}.service")), entry.service()),
                    (units.join(format!("{UNIT}.timer")), Entry::timer()),
                ]
            }
            Self::Launchd => {
                let agents = home.join("Library/LaunchAgents");
                vec![(agents.join(format!("{LABEL}.plist")), entry.plist())]
            }
            Self::Cron => Vec::new(),
        }
    }

    /// Installs the entry, and replaces an existing one.
    pub(super) fn install(self, files: &[(PathBuf, String)], entry: &Entry) -> io::Result<()> {
        for (path, text) in files {
            let directory = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(text.as_bytes())?;
            file.persist(path).map_err(|error| error.error)?;
        }
        match self {
            Self::Systemd => {
                is_done(Command::new("systemctl").args(["--user", "daemon-reload"]))?;
                is_done(Command::new("systemctl").args(["--user", "enable", "--now", &format!("{UNIT}.timer")]))
            }
            Self::Launchd => {
                let Some((path, _)) = files.first() else { return Ok(()) };
                // A loaded launch agent keeps its old text, so it is unloaded first.
                _ = is_done(Command::new("launchctl").arg("unload").arg(path));
                is_done(Command::new("launchctl").args(["load", "-w"]).arg(path))
            }
            Self::Cron => write_crontab(&crontab(&read_crontab()?, Some(&entry.cron_line()))),
        }
    }

    /// Removes the entry. It is not an error if there is none.
    pub(super) fn uninstall(self, files: &[(PathBuf, String)]) -> io::Result<()> {
        match self {
            Self::Systemd => {
                _ = is_done(Command::new("systemctl").args(["--user", "disable", "--now", &format!("{UNIT}.timer")]));
            }
            Self::Launchd => {
                for (path, _) in files {
                    _ = is_done(Command::new("launchctl").args(["unload", "-w"]).arg(path));
                }
            }
            Self::Cron => {
                let before = read_crontab()?;
                let after = crontab(&before, None);
                return if after == before { Ok(()) } else { write_crontab(&after) };
            }
        }
        for (path, _) in files {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self == Self::Systemd {
            _ = is_done(Command::new("systemctl").args(["--user", "daemon-reload"]));
        }
        Ok(())
    }

    /// Compares the installed entry with the expected one.
    pub(super) fn found(self, files: &[(PathBuf, String)], entry: &Entry) -> Found {
        let texts: Vec<(Option<String>, String)> = match self {
            Self::Cron => {
                let there = read_crontab().ok().and_then(|table| line_of(&table).map(str::to_owned));
                vec![(there, entry.cron_line())]
            }
            Self::Systemd | Self::Launchd => files
                .iter()
                .map(|(path, text)| (fs::read_to_string(path).ok(), text.clone()))
                .collect(),
        };
        match texts.iter() {
            texts if texts.clone().all(|(there, _)| there.is_none()) => Found::Nothing,
            mut texts => match texts.all(|(there, wanted)| there.as_ref() == Some(wanted)) {
                true => Found::AsItShould,
                false => Found::Otherwise,
            },
        }
    }
}

/// The state of our entry in a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    AsItShould,
    /// Another program or path, or an incomplete entry.
    Otherwise,
}

/// Returns the user's crontab. Some versions of `crontab` fail if there is none yet; that counts as an empty one.
fn read_crontab() -> io::Result<String> {
    let told = Command::new("crontab").arg("-l").stdin(Stdio::null()).output()?;
    match told.status.success() {
        true => String::from_utf8(told.stdout).map_err(io::Error::other),
        false if String::from_utf8_lossy(&told.stderr).contains("no crontab") => Ok(String::new()),
        // Some versions store no file for an empty crontab.
        false if String::from_utf8_lossy(&told.stderr).contains("No such file") => Ok(String::new()),
        false => Err(failed(&told.stderr)),
    }
}

fn write_crontab(table: &str) -> io::Result<()> {
    let mut child = Command::new("crontab")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(table.as_bytes())?;
    }
    let told = child.wait_with_output()?;
    if told.status.success() {
        Ok(())
    } else {
        Err(failed(&told.stderr))
    }
}

fn is_done(command: &mut Command) -> io::Result<()> {
    let told = command.stdin(Stdio::null()).output()?;
    if told.status.success() {
        Ok(())
    } else {
        Err(failed(&told.stderr))
    }
}

fn failed(stderr: &[u8]) -> io::Error {
    let told = String::from_utf8_lossy(stderr);
    let line = told.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    io::Error::other(line.trim().to_owned())
}
