//! The data that a hook needs but cannot look up: the directories of the agents' logs, and the environment in which the
//! hook was installed. They are stored in a small file next to the store.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use transcript::Agent;

use crate::context::{Context, Surroundings, write_private};
use crate::env;

const FILE: &str = "hooks.json";
const BYTES_MAX: usize = 1 << 20;

/// The variables that determine directories. They can have other values in an agent's environment, or be missing.
const VARIABLES: [&str; 9] = [
    env::BOSWELL_CONFIG,
    env::BOSWELL_SYSTEM_CONFIG,
    env::BOSWELL_HOME,
    env::CLAUDE_CONFIG_DIR,
    env::CODEX_HOME,
    env::GROK_HOME,
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// The environment and the roots when the hooks were installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Baked {
    variables: BTreeMap<String, String>,
    /// Each root as it is configured, and with links resolved.
    pub(crate) roots: Vec<(Agent, PathBuf)>,
}

impl Baked {
    /// Returns the data of this process. The directory of the memory is stored explicitly, even if no variable names
    /// it.
    pub(crate) fn here(surroundings: &Surroundings, context: &Context) -> Self {
        let get = |name: &&str| {
            let value = surroundings.environment.get(name)?.to_str()?;
            Some(((*name).to_owned(), value.to_owned()))
        };
        let mut variables: BTreeMap<String, String> = VARIABLES.iter().filter_map(get).collect();
        if let Some(home) = context.places.data_dir.to_str() {
            variables.insert(env::BOSWELL_HOME.to_owned(), home.to_owned());
        }
        Self {
            variables,
            roots: roots(context),
        }
    }

    /// Reads the file in the memory's directory; `None` if it cannot be read.
    pub(crate) fn read(home: &Path) -> Option<Self> {
        let bytes = std::fs::read(home.join(FILE)).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|_| bytes.len() <= BYTES_MAX)
    }

    pub(crate) fn write(&self, home: &Path) -> io::Result<()> {
        write_private(&home.join(FILE), &serde_json::to_vec(self)?)
    }

    /// Removes the file.
    pub(crate) fn remove(home: &Path) -> io::Result<()> {
        match std::fs::remove_file(home.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Updates the file if the settings name other roots than before.
    pub(crate) fn refresh(home: &Path, context: &Context) {
        let Some(before) = Self::read(home) else { return };
        let roots = roots(context);
        if before.roots != roots {
            // If it cannot be written now, the next ingest writes it.
            _ = Self { roots, ..before }.write(home);
        }
    }

    /// Gives a command the environment in which the hooks were installed.
    pub(super) fn surround(&self, command: &mut Command) {
        for name in VARIABLES {
            match self.variables.get(name) {
                Some(value) => command.env(name, value),
                // The home directory is kept even if no variable named it at installation.
                None if name == "HOME" => command,
                None => command.env_remove(name),
            };
        }
    }
}

fn roots(context: &Context) -> Vec<(Agent, PathBuf)> {
    let mut roots = Vec::new();
    for root in &context.roots {
        let real = root.path.canonicalize().ok();
        roots.push((root.agent, root.path.clone()));
        roots.extend(real.filter(|real| *real != root.path).map(|real| (root.agent, real)));
    }
    roots
}
