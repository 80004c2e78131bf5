//! Every environment variable that Boswell reads, in one list, which is also their documentation.
//!
//! `context.rs` reads the values and passes them on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// An environment variable and its purpose.
#[allow(dead_code, reason = "read by the test that writes `docs/config.md`")]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
}

pub(crate) const BOSWELL_CONFIG: &str = "BOSWELL_CONFIG";
pub(crate) const BOSWELL_SYSTEM_CONFIG: &str = "BOSWELL_SYSTEM_CONFIG";
pub(crate) const BOSWELL_HOME: &str = "BOSWELL_HOME";
pub(crate) const BOSWELL_STORE: &str = "BOSWELL_STORE";
pub(crate) const PGPASSWORD: &str = "PGPASSWORD";
pub(crate) const PGPASSFILE: &str = "PGPASSFILE";
pub(crate) const USER: &str = "USER";
pub(crate) const LOGNAME: &str = "LOGNAME";
pub(crate) const USERNAME: &str = "USERNAME";
pub(crate) const BOSWELL_NOW: &str = "BOSWELL_NOW";
pub(crate) const BOSWELL_REPORTS: &str = "BOSWELL_REPORTS";
pub(crate) const BOSWELL_MCP: &str = "BOSWELL_MCP";
pub(crate) const PROMPT_DIARY_HOME: &str = "PROMPT_DIARY_HOME";
pub(crate) const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
pub(crate) const CODEX_HOME: &str = "CODEX_HOME";
pub(crate) const GROK_HOME: &str = "GROK_HOME";
pub(crate) const NO_COLOR: &str = "NO_COLOR";
pub(crate) const CLICOLOR_FORCE: &str = "CLICOLOR_FORCE";
pub(crate) const TERM: &str = "TERM";
pub(crate) const COLUMNS: &str = "COLUMNS";
pub(crate) const PAGER: &str = "PAGER";
pub(crate) const LESS: &str = "LESS";
pub(crate) const PATH: &str = "PATH";
pub(crate) const PROGRAMDATA: &str = "PROGRAMDATA";
pub(crate) const TZ: &str = "TZ";
pub(crate) const RUST_BACKTRACE: &str = "RUST_BACKTRACE";

/// Variables that determine directories.
pub(crate) const PLACES: [&str; 8] = [
    BOSWELL_CONFIG,
    BOSWELL_SYSTEM_CONFIG,
    BOSWELL_HOME,
    BOSWELL_REPORTS,
    CLAUDE_CONFIG_DIR,
    CODEX_HOME,
    GROK_HOME,
    "XDG_CONFIG_HOME",
];

/// Prefix of variables that set a configuration key; the rest is the path of the key in capitals.
pub(crate) const KEY_PREFIX: &str = "BOSWELL_";

/// All variables. An empty variable counts as not set.
#[rustfmt::skip]
#[allow(dead_code, reason = "read by the test that writes `docs/config.md`")]
pub(crate) const VARIABLES: &[Variable] = &[
    Variable { name: BOSWELL_CONFIG, help: "The user's configuration file, instead of the default one. The file has to exist." },
    Variable { name: BOSWELL_SYSTEM_CONFIG, help: "The system's configuration file, instead of the default one." },
    Variable { name: BOSWELL_HOME, help: "The data directory, which contains the memory, instead of the default one." },
    Variable { name: BOSWELL_STORE, help: "The URL of the database that holds the memory, instead of `store.url`: `postgres://ada@db.example/memory`." },
    Variable { name: PGPASSWORD, help: "The password for that database, if neither its URL nor `store.password_file` has one. Never shown." },
    Variable { name: PGPASSFILE, help: "The file of passwords that PostgreSQL's own programs read, instead of `~/.pgpass`." },
    Variable { name: USER, help: "The user who writes to a shared memory, if `store.user` is not set; then `LOGNAME`, then `USERNAME`." },
    Variable { name: LOGNAME, help: "See `USER`." },
    Variable { name: USERNAME, help: "See `USER`." },
    Variable { name: BOSWELL_REPORTS, help: "Where the diary's workspaces and reports are stored, instead of `diary.reports_root`." },
    Variable { name: PROMPT_DIARY_HOME, help: "The same, if `BOSWELL_REPORTS` is not set, for people who used that tool before." },
    Variable { name: BOSWELL_MCP, help: "Set by `boswell report --writer COMMAND` for its command: the command line of the MCP server." },
    Variable { name: BOSWELL_NOW, help: "A fixed clock for tests and demonstrations: an RFC 3339 time such as `2026-04-01T09:00:00Z`." },
    Variable { name: CLAUDE_CONFIG_DIR, help: "Claude Code's own variable: where it keeps its sessions. Several directories are separated by commas." },
    Variable { name: CODEX_HOME, help: "Codex CLI's own variable: where it keeps its sessions." },
    Variable { name: GROK_HOME, help: "Grok's own variable: where it keeps its sessions." },
    Variable { name: "HOME", help: "The home directory. On Windows it is `USERPROFILE`." },
    Variable { name: "XDG_CONFIG_HOME", help: "The directory that contains `boswell/config.toml`, instead of `~/.config`. Not on Windows." },
    Variable { name: "XDG_DATA_HOME", help: "The directory that contains the data directory, instead of `~/.local/share`. Not on Windows." },
    Variable { name: PROGRAMDATA, help: "The directory that contains the system's `boswell\\config.toml`. Only on Windows." },
    Variable { name: NO_COLOR, help: "No colour, unless `--color always` is given." },
    Variable { name: CLICOLOR_FORCE, help: "Colour even if the output is not a terminal, unless it is `0`, or `--color never` or `NO_COLOR` is given." },
    Variable { name: TERM, help: "No colour if it is `dumb`." },
    Variable { name: COLUMNS, help: "The width of the terminal, instead of asking the terminal." },
    Variable { name: PAGER, help: "The program that shows text longer than the screen, instead of `less -R`." },
    Variable { name: LESS, help: "The options of `less`; set to `RK` if it is not set." },
    Variable { name: TZ, help: "The time zone of times, such as `Europe/Vienna`, instead of the machine's own." },
    Variable { name: PATH, help: "Where `boswell resume` looks for the agents' programs." },
    Variable { name: RUST_BACKTRACE, help: "A backtrace if Boswell itself has a bug, for a bug report." },
];

/// The variables of this process when it started.
#[derive(Debug, Default, Clone)]
pub(crate) struct Environment {
    values: BTreeMap<String, OsString>,
}

impl Environment {
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.values.get(name).map(OsString::as_os_str)
    }

    /// Returns these variables without any that configure Boswell, and with `values` instead.
    pub(crate) fn replace_own(&self, values: &[(&str, OsString)]) -> Self {
        let is_own = |name: &str| name != BOSWELL_NOW && (name.starts_with(KEY_PREFIX) || PLACES.contains(&name));
        let mut kept = self.values.clone();
        kept.retain(|name, _| !is_own(name));
        kept.extend(values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Self { values: kept }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_os_str()))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let set = variables.into_iter().filter(|(_, value)| !value.is_empty());
        let named = set.filter_map(|(name, value)| Some((spelled(name.into_string().ok()?), value)));
        Self {
            values: named.collect(),
        }
    }
}

/// Windows does not distinguish `Path` from `PATH`.
fn spelled(name: String) -> String {
    if cfg!(windows) { name.to_uppercase() } else { name }
}
