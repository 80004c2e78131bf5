//! An agent's settings as files: their paths, their contents before our hooks were added, and how they are written.
//!
//! A file is written completely or not at all, and links are followed. A backup is kept next to it until our hooks are
//! removed, and is restored byte for byte if nothing else was changed in the meantime.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use transcript::Agent;

use super::wish::{Wish, is_our_statusline};
use super::{json, toml};
use crate::context::Context;
use crate::error::CommandError;

/// The suffix of a backup's file name.
const BEFORE: &str = ".before-boswell";
const CODEX_HOOKS: &str = "hooks.json";
const CODEX_ALL: &str = "config.toml";
/// The content to start from if there is no settings file.
const NOTHING: &str = "{}\n";

/// Whose sessions are meant.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Your own, for all projects
    User,
    /// Those of the current repository
    Project,
}

impl Scope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Toml,
}

/// One settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) agent: Agent,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    pub(super) syntax: Syntax,
}

/// Returns the files in which hooks of an agent are or would be installed.
pub(super) fn places(context: &Context, agent: Agent, scope: Scope) -> Vec<Place> {
    let folders: Vec<PathBuf> = match scope {
        Scope::User => {
            let own = context
                .roots
                .iter()
                .filter(|root| root.agent == agent && root.label.is_none());
            own.map(|root| root.path.clone()).collect()
        }
        Scope::Project => vec![project(&context.places.current_dir).join(format!(".{}", agent.as_str()))],
    };
    let place = |folder: PathBuf| {
        let (path, syntax) = match agent {
            Agent::Claude => (folder.join("settings.json"), Syntax::Json),
            Agent::Codex => codex(&folder),
            Agent::Grok => (folder.join("hooks").join("boswell.json"), Syntax::Json),
        };
        Place {
            agent,
            scope,
            path,
            syntax,
        }
    };
    folders.into_iter().map(place).collect()
}

/// Returns the files of [`places`], and others that contain our hooks: Codex reads two files, and the user may have
/// switched to the other one since.
pub(super) fn all_places(context: &Context, agent: Agent, scope: Scope) -> Vec<Place> {
    let mut all = places(context, agent, scope);
    if agent == Agent::Codex {
        let others = all.clone().into_iter().map(|place| match place.syntax {
            Syntax::Json => Place {
                path: place.path.with_file_name(CODEX_ALL),
                syntax: Syntax::Toml,
                ..place
            },
            Syntax::Toml => Place {
                path: place.path.with_file_name(CODEX_HOOKS),
                syntax: Syntax::Json,
                ..place
            },
        });
        let has_ours = |place: &Place| {
            place
                .read()
                .ok()
                .flatten()
                .is_some_and(|text| !place.find(&text).is_empty())
        };
        all.extend(others.filter(has_ours));
    }
    all
}

/// Returns the file for Codex's hooks. Codex reads two: this is `config.toml` if it has hooks and there is no
/// `hooks.json`, otherwise `hooks.json`.
fn codex(folder: &Path) -> (PathBuf, Syntax) {
    let (own, all) = (folder.join(CODEX_HOOKS), folder.join(CODEX_ALL));
    let has_hooks = || fs::read_to_string(&all).is_ok_and(|text| toml::has_hooks(&text));
    match !own.exists() && has_hooks() {
        true => (all, Syntax::Toml),
        false => (own, Syntax::Json),
    }
}

/// Returns the root of the repository that contains `here`, or `here` if there is none.
fn project(here: &Path) -> &Path {
    let mut above = here.ancestors();
    above.find(|folder| folder.join(".git").exists()).unwrap_or(here)
}

/// The content of a settings file without our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    /// There was no such file.
    Absent,
    Text(String),
}

impl Place {
    pub(super) fn read(&self) -> Result<Option<String>, CommandError> {
        match fs::read(&self.path) {
            Ok(bytes) => String::from_utf8(bytes)
                .map(Some)
                .map_err(|_| self.odd("they are no text")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read", &error)),
        }
    }

    pub(super) fn add(&self, before: &Before, wish: &Wish) -> Result<String, CommandError> {
        let text = match before {
            Before::Absent if self.syntax == Syntax::Json => NOTHING,
            Before::Absent => "",
            Before::Text(text) => text,
        };
        let added = match self.syntax {
            Syntax::Json => json::add(text, wish),
            Syntax::Toml => toml::add(text, wish),
        };
        added.map_err(|reason| self.odd(&reason))
    }

    fn remove(&self, text: &str) -> Result<String, CommandError> {
        let removed = match self.syntax {
            Syntax::Json => json::remove(text, self.agent),
            Syntax::Toml => toml::remove(text, self.agent),
        };
        removed.map_err(|reason| self.odd(&reason))
    }

    /// Returns our hooks in the text as pairs of event and command.
    pub(super) fn find(&self, text: &str) -> Vec<(String, String)> {
        match self.syntax {
            Syntax::Json => json::find(text, self.agent),
            Syntax::Toml => toml::find(text, self.agent),
        }
    }

    /// Returns the command of the status line, if one is set.
    pub(super) fn statusline(&self, text: &str) -> Option<String> {
        match self.syntax {
            Syntax::Json => json::statusline(text),
            Syntax::Toml => None,
        }
    }

    /// Returns the command of the status line if it is ours.
    pub(super) fn our_statusline(&self, text: &str) -> Option<String> {
        self.statusline(text).filter(|command| is_our_statusline(command))
    }

    /// Returns the settings without our hooks. If adding our hooks to the backup results in the current text, nothing
    /// else was changed, and the backup is returned; otherwise only our entries are removed.
    pub(super) fn before(&self, now: &str) -> Result<Before, CommandError> {
        let found = self.find(now);
        let line = self.our_statusline(now);
        let Some(command) = found.first().map(|(_, command)| command.clone()) else {
            return Ok(Before::Text(match line {
                Some(_) => self.remove(now)?,
                None => now.to_owned(),
            }));
        };
        let kept = fs::read_to_string(self.beside()).ok();
        let before = kept.map_or(Before::Absent, Before::Text);
        let wish = |statusline| Wish {
            agent: self.agent,
            command: command.clone(),
            statusline,
        };
        if self.add(&before, &wish(line)).is_ok_and(|made| made == now) {
            return Ok(before);
        }
        let left = self.remove(now)?;
        let is_nothing = before == Before::Absent && matches!(left.trim(), "{}" | "");
        Ok(if is_nothing { Before::Absent } else { Before::Text(left) })
    }

    /// Returns the path of the backup.
    pub(super) fn beside(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(BEFORE);
        name.into()
    }

    /// Writes the settings after their backup.
    pub(super) fn write(&self, before: &Before, text: &str) -> Result<(), CommandError> {
        match before {
            Before::Text(before) => {
                let written = write_like(&self.beside(), before, &self.path);
                written.map_err(|error| self.failed("write beside", &error))?;
            }
            Before::Absent => self.forget_before()?,
        }
        write_like(&self.path, text, &self.path).map_err(|error| self.failed("write", &error))
    }

    /// Restores the settings and removes the backup.
    pub(super) fn give_back(&self, before: &Before) -> Result<(), CommandError> {
        let given = match before {
            Before::Text(text) => write_like(&self.path, text, &self.path),
            Before::Absent => fs::remove_file(self.target()),
        };
        given.map_err(|error| self.failed("write", &error))?;
        self.forget_before()
    }

    fn forget_before(&self) -> Result<(), CommandError> {
        match fs::remove_file(self.beside()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed("clean up beside", &error)),
            _ => Ok(()),
        }
    }

    fn target(&self) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.clone())
    }

    fn odd(&self, reason: &str) -> CommandError {
        let path = self.path.display();
        CommandError::user("settings-odd", format_args!("cannot add hooks to `{path}`: {reason}"))
            .with_hint("nothing was changed; mend the file and run this again")
    }

    fn failed(&self, what: &str, error: &io::Error) -> CommandError {
        let path = self.path.display();
        CommandError::user("settings-failed", format_args!("cannot {what} `{path}`: {error}"))
    }
}

/// Writes a file completely or not at all, with the permissions of `like`. Links are followed.
fn write_like(path: &Path, text: &str, like: &Path) -> io::Result<()> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        // A link to a file that does not exist: writing through it creates the file.
        Err(_) if path.is_symlink() => return fs::write(path, text),
        Err(_) => path.to_owned(),
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // A temporary file is private from the start.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(like) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map(|_| ()).map_err(|error| error.error)
}
