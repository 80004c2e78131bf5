//! The configuration: the result of all layers, typed and checked.
//!
//! `defaults.toml` documents the keys, and `config/layers.rs` merges the layers. Here every key becomes a field. This
//! file reads nothing: files, variables and home are arguments.

mod edit;
mod file;
mod key;
mod layers;
mod nearest;
mod value;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use globset::GlobSet;
use memory::hub::PushScope;
use memory::mask::UserRules;
use thiserror::Error;
use transcript::Agent;

use crate::error::CommandError;

pub(crate) use edit::write_key;
pub(crate) use file::ConfigFile;
#[cfg(test)]
pub(crate) use key::variable_of;
pub(crate) use key::{KeyPath, Origin, Setting};
pub(crate) use layers::{Assignment, Settings};
pub(crate) use value::{LateRegex, expand_home, size_bytes};

/// The compiled-in first layer.
pub(crate) const DEFAULTS: &str = include_str!("defaults.toml");

/// A value that was meant as the URL of a database, without its name and password: no message repeats those, however
/// malformed the URL is.
pub(crate) fn without_credentials(url: &str) -> Cow<'_, str> {
    let Some(end) = url.rfind('@') else { return url.into() };
    let scheme = url
        .find("://")
        .filter(|begin| *begin < end)
        .map_or(0, |begin| begin + 3);
    format!("{}…{}", &url[..scheme], &url[end..]).into()
}

/// The configuration.
#[derive(Debug)]
#[allow(dead_code, reason = "every key has its field, whichever verbs read it")]
pub(crate) struct Config {
    pub(crate) retention: Retention,
    /// Domains by the name of the repository.
    pub(crate) domains: Vec<(String, String)>,
    pub(crate) sources: Sources,
    pub(crate) ignore: Ignore,
    /// The user's additions to the masking rules, and exceptions from them.
    pub(crate) masking: UserRules,
    pub(crate) task_ref: LateRegex,
    /// The program and arguments that receive events on standard input; empty for none.
    pub(crate) notify: Vec<String>,
    /// The directory in which digests and decisions are also written as files.
    pub(crate) surface_dir: Option<PathBuf>,
    pub(crate) diary: Diary,
    pub(crate) report: Report,
    /// The database of the memory, if it is not in a directory of this machine.
    pub(crate) store: Database,
    /// The names of this machine and its user in a shared memory, instead of those of the system.
    pub(crate) machine: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) hub: Hub,
}

/// The settings for reports that agents write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// The language of reports, as a tag such as `en`.
    pub(crate) language: String,
    /// The time limit of one run of a writer.
    pub(crate) timeout_s: u64,
    /// A report ends after this many runs without anything new.
    pub(crate) retries: u32,
    /// Maximum number of concurrent runs.
    pub(crate) jobs: usize,
}

/// A memory of many machines that this one pushes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hub {
    pub(crate) database: Database,
    /// The part of each session that is pushed.
    pub(crate) share: PushScope,
    /// Repositories and directories whose sessions are pushed completely.
    pub(crate) full_projects: Vec<String>,
    /// Whether a sweep pushes what it read.
    pub(crate) push_on_sweep: bool,
}

impl Hub {
    /// Returns whether the sessions of a project are pushed completely. The project is given by its name or a directory
    /// in it.
    pub(crate) fn is_full(&self, project: &str) -> bool {
        self.full_projects.iter().any(|full| {
            project
                .strip_prefix(full.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// A database on a server. Its URL may contain a password, so the URL is never printed unchanged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Database {
    pub(crate) url: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

/// The settings of the diary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diary {
    /// `None` if it is next to the store.
    pub(crate) reports_root: Option<PathBuf>,
    /// The project of sessions that name none, by agent.
    pub(crate) fallback_roots: Vec<(Agent, PathBuf)>,
}

/// How much raw text is stored, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "every key has its field, whichever verbs read it")]
pub(crate) struct Retention {
    pub(crate) raw_soft_cap_bytes: u64,
    pub(crate) raw_hard_cap_bytes: u64,
    /// `None` if raw text has no age limit.
    pub(crate) raw_max_age_days: Option<u32>,
    pub(crate) distilled_cap_bytes: u64,
    pub(crate) cadence: Cadence,
}

/// How often a scheduled sweep runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cadence {
    Hourly,
    Daily,
    Weekly,
    /// Only when an agent's hook reports that a session ended.
    OnHook,
}

impl Cadence {
    /// Returns its name in the configuration.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::OnHook => "on-hook",
        }
    }
}

/// The directories of the agents' sessions; an empty list means the agent's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) claude: Vec<PathBuf>,
    pub(crate) codex: Vec<PathBuf>,
    pub(crate) grok: Vec<PathBuf>,
    pub(crate) extra: Vec<ExtraRoot>,
}

/// A further directory with sessions of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtraRoot {
    pub(crate) agent: Agent,
    pub(crate) path: PathBuf,
    pub(crate) label: Option<String>,
}

/// Logs and projects that are never read.
#[derive(Debug)]
#[allow(dead_code, reason = "every key has its field, whichever verbs read it")]
pub(crate) struct Ignore {
    /// Matches the paths of logs.
    pub(crate) paths: GlobSet,
    /// Matches the project directories of sessions.
    pub(crate) projects: GlobSet,
}

impl Config {
    /// Types and checks the result of the layers. `home` replaces `~` in paths.
    pub(crate) fn read(settings: &Settings, home: &Path) -> Result<Self, ConfigError> {
        let ignore = "session_memory.ignore";
        Ok(Self {
            retention: read_retention(settings)?,
            domains: settings.table("session_memory.domains", value::text)?,
            sources: read_sources(settings, home)?,
            ignore: Ignore {
                paths: settings.read(ignore, "paths", |found| value::globs(found, home))?,
                projects: settings.read(ignore, "projects", |found| value::globs(found, home))?,
            },
            masking: read_masking(settings)?,
            task_ref: settings.read("session_memory.task_ref", "pattern", value::task_pattern)?,
            notify: settings.read("session_memory.notify", "command", value::words)?,
            surface_dir: settings.read("session_memory.surface", "dir", |found| value::place(found, home))?,
            diary: read_diary(settings, home)?,
            report: Report {
                language: settings.read("report", "language", value::language)?,
                timeout_s: settings.read("report", "timeout_s", |found| value::count(found, 86_400))?,
                retries: settings.read("report", "retries", |found| value::count(found, 100))?,
                jobs: settings.read("report", "jobs", |found| value::count(found, 16))?,
            },
            store: Database {
                url: settings.read("store", "url", value::word)?,
                password_file: settings.read("store", "password_file", |found| value::place(found, home))?,
            },
            machine: settings.read("store", "machine", value::word)?,
            user: settings.read("store", "user", value::word)?,
            hub: Hub {
                database: Database {
                    url: settings.read("hub", "url", value::word)?,
                    password_file: settings.read("hub", "password_file", |found| value::place(found, home))?,
                },
                share: settings.read("hub", "share", value::share)?,
                full_projects: settings.read("hub", "full_projects", value::words)?,
                push_on_sweep: settings.read("hub", "push_on_sweep", value::yes_or_no)?,
            },
        })
    }
}

/// Why the configuration is invalid.
#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the configuration file `{}`: {source}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("there is no configuration file: `{}`", .path.display())]
    Missing { path: PathBuf },
    #[error("the configuration is not valid TOML at {place}: {message}")]
    Syntax { place: String, message: String },
    #[error("`{key}` from {origin} must be {expected}, but is: {found}")]
    Wrong {
        key: KeyPath,
        origin: Origin,
        expected: String,
        found: String,
    },
    #[error("`{}` from {} is above `{}` from {}: {} > {}",
        .soft.key, .soft.origin, .hard.key, .hard.origin, .soft.value, .hard.value)]
    CapsCrossed { soft: Box<Setting>, hard: Box<Setting> },
    #[error("`--config` names an unknown key: `{key}`")]
    UnknownFlagKey { key: String, nearest: Option<KeyPath> },
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let code = match &error {
            ConfigError::Unreadable { .. } => "config-unreadable",
            ConfigError::Missing { .. } => "config-missing",
            ConfigError::Syntax { .. } => "config-syntax",
            ConfigError::Wrong { .. } | ConfigError::CapsCrossed { .. } => "config-value",
            ConfigError::UnknownFlagKey { .. } => "config-key",
        };
        let hint = error.hint();
        let mut error = Self::config(code, error);
        error.hint = hint;
        error
    }
}

impl ConfigError {
    /// Returns what to do next, if the message does not make it clear.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { .. } => Some("`boswell config init` writes one".to_owned()),
            Self::UnknownFlagKey {
                nearest: Some(nearest), ..
            } => Some(format!("did you mean `{nearest}`?")),
            Self::UnknownFlagKey { nearest: None, .. } => Some("`boswell config show` lists the keys".to_owned()),
            Self::CapsCrossed { .. } => Some("raise the hard cap or lower the soft cap".to_owned()),
            Self::Unreadable { .. } | Self::Syntax { .. } | Self::Wrong { .. } => None,
        }
    }
}

fn read_retention(settings: &Settings) -> Result<Retention, ConfigError> {
    let table = "session_memory.retention";
    let retention = Retention {
        raw_soft_cap_bytes: settings.read(table, "raw_soft_cap_bytes", value::size)?,
        raw_hard_cap_bytes: settings.read(table, "raw_hard_cap_bytes", value::size)?,
        raw_max_age_days: settings.read(table, "raw_max_age_days", value::age_days)?,
        distilled_cap_bytes: settings.read(table, "distilled_cap_bytes", value::size)?,
        cadence: settings.read(table, "cadence", value::cadence)?,
    };
    if retention.raw_soft_cap_bytes > retention.raw_hard_cap_bytes {
        return Err(ConfigError::CapsCrossed {
            soft: Box::new(settings.at(table, "raw_soft_cap_bytes").clone()),
            hard: Box::new(settings.at(table, "raw_hard_cap_bytes").clone()),
        });
    }
    Ok(retention)
}

fn read_sources(settings: &Settings, home: &Path) -> Result<Sources, ConfigError> {
    let table = "session_memory.sources";
    Ok(Sources {
        claude: settings.read(table, "claude", |found| value::paths(found, home))?,
        codex: settings.read(table, "codex", |found| value::paths(found, home))?,
        grok: settings.read(table, "grok", |found| value::paths(found, home))?,
        extra: settings.read(table, "extra", |found| value::extra_roots(found, home))?,
    })
}

fn read_diary(settings: &Settings, home: &Path) -> Result<Diary, ConfigError> {
    let place = |table, key| settings.read(table, key, |found| value::place(found, home));
    let agents = [
        (Agent::Claude, "claude"),
        (Agent::Codex, "codex"),
        (Agent::Grok, "grok"),
    ];
    let mut fallback_roots = Vec::new();
    for (agent, key) in agents {
        fallback_roots.extend(place("diary.fallback_roots", key)?.map(|root| (agent, root)));
    }
    Ok(Diary {
        reports_root: place("diary", "reports_root")?,
        fallback_roots,
    })
}

fn read_masking(settings: &Settings) -> Result<UserRules, ConfigError> {
    let table = "session_memory.masking";
    let mut masking = UserRules {
        rules: settings.read_each(table, "rules", value::mask_rule)?,
        ..UserRules::default()
    };
    for allowed in settings.read_each(table, "allow", value::mask_allow)? {
        match allowed {
            value::Allowed::Text(text) => masking.allowed_texts.push(text),
            value::Allowed::Pattern(pattern) => masking.allowed_patterns.push(pattern),
        }
    }
    Ok(masking)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Config, String> {
        let file = file::FileText {
            path: "/home/you/config.toml".into(),
            text: text.to_owned(),
        };
        let (settings, _) =
            Settings::merge(&[file], &crate::env::Environment::default(), &[]).map_err(|error| error.to_string())?;
        Config::read(&settings, Path::new("/home/you")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let config = check("").unwrap();
        let expected = Retention {
            raw_soft_cap_bytes: 4 << 30,
            raw_hard_cap_bytes: 6 << 30,
            raw_max_age_days: Some(45),
            distilled_cap_bytes: 1 << 30,
            cadence: Cadence::Daily,
        };
        assert_eq!(config.retention, expected);
        assert_eq!(config.domains, []);
        assert_eq!(
            config.sources,
            Sources {
                claude: vec![],
                codex: vec![],
                grok: vec![],
                extra: vec![]
            }
        );
        assert!(config.ignore.paths.is_empty() && config.ignore.projects.is_empty());
        assert_eq!(
            config
                .task_ref
                .get()
                .find("see AGENTIC-WP-0002-T01, please")
                .unwrap()
                .as_str(),
            "AGENTIC-WP-0002-T01"
        );
        assert_eq!(
            config.task_ref.get().find("feat/JIRA-42-login").unwrap().as_str(),
            "JIRA-42"
        );
    }

    #[test]
    fn every_key_of_the_defaults_is_read() {
        for setting in Settings::defaults().iter() {
            let text = format!("{} = true\n", setting.key);
            let told = check(&text).unwrap_err();
            assert!(
                told.contains("must be") && told.ends_with("but is: true"),
                "{text}: {told}"
            );
        }
    }

    #[test]
    fn a_file_replaces_single_keys_and_adds_domains_and_places() {
        let config = check(
            r#"
            [session_memory.retention]
            raw_max_age_days = "never"
            cadence = "on-hook"
            [session_memory.domains]
            "acme/web.site" = "marketing"
            [session_memory.sources]
            codex = ["~/.codex", "/mnt/old/.codex"]
            [[session_memory.sources.extra]]
            agent = "claude-code"
            path = "~/laptop/.claude"
            label = "laptop"
            [session_memory.ignore]
            projects = ["~/private/**"]
            "#,
        )
        .unwrap();
        assert_eq!(config.retention.raw_max_age_days, None);
        assert_eq!(config.retention.cadence, Cadence::OnHook);
        assert_eq!(config.retention.raw_soft_cap_bytes, 4 << 30);
        assert_eq!(config.domains, [("acme/web.site".to_owned(), "marketing".to_owned())]);
        assert_eq!(
            config.sources.codex,
            [Path::new("/home/you/.codex"), Path::new("/mnt/old/.codex")]
        );
        assert_eq!(config.sources.extra[0].agent, Agent::Claude);
        assert_eq!(config.sources.extra[0].path, Path::new("/home/you/laptop/.claude"));
        assert!(config.ignore.projects.is_match("/home/you/private/diary"));
        assert!(!config.ignore.projects.is_match("/home/you/public/diary"));
    }

    #[test]
    fn every_wrong_value_says_where_it_stands_and_what_was_expected() {
        let cases = [
            "[session_memory.retention]\nraw_soft_cap_bytes = \"4 GB of logs\"",
            "[session_memory.retention]\nraw_soft_cap_bytes = -1",
            "[session_memory.retention]\nraw_max_age_days = 0",
            "[session_memory.retention]\nraw_max_age_days = \"forever\"",
            "[session_memory.retention]\ncadence = \"monthly\"",
            "[session_memory.retention]\nraw_soft_cap_bytes = \"7GiB\"",
            "[session_memory.domains]\nbilling = 7",
            "[session_memory.sources]\nclaude = \"~/.claude\"",
            "[session_memory.sources]\nclaude = [\"logs\"]",
            "[session_memory.sources]\nextra = [{ agent = \"cursor\", path = \"/x\" }]",
            "[session_memory.sources]\nextra = [{ agent = \"grok\" }]",
            "[session_memory.ignore]\npaths = [\"a[\"]",
            "[session_memory.masking]\nrules = 'x'",
            "[[session_memory.masking.rules]]\nname = 'fine'\nregex = 'x'\n[[session_memory.masking.rules]]\nname = 'badge'\nregex = '('",
            "[session_memory.masking]\nrules = [{ name = 'Badge No', regex = 'x' }]",
            "[session_memory.masking]\nrules = [\n  { name = 'badge', regex = 'x*' },\n]",
            "[session_memory.masking]\nrules = [{ name = 'badge' }]",
            "[session_memory.masking]\nallow = [\n  'fine',\n  { regex = '[' },\n]",
            "[session_memory.masking]\nallow = [7]",
            "[session_memory.task_ref]\npattern = '('",
            "[session_memory.surface]\ndir = 'hub'",
            "session_memory = 3",
            "[session_memory.retention.cadence]\nevery = 3",
            "[session_memory.retention]\ncadence = ",
        ];
        let told: Vec<String> = cases
            .iter()
            .map(|text| check(text).err().unwrap_or_else(|| format!("accepted: {text}")))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        `session_memory.retention.raw_soft_cap_bytes` from /home/you/config.toml:2 must be a size such as "4GiB" or "500MB", or a whole number of bytes, but is: "4 GB of logs"
        `session_memory.retention.raw_soft_cap_bytes` from /home/you/config.toml:2 must be a size such as "4GiB" or "500MB", or a whole number of bytes, but is: -1
        `session_memory.retention.raw_max_age_days` from /home/you/config.toml:2 must be a whole number of days from 1, or "never", but is: 0
        `session_memory.retention.raw_max_age_days` from /home/you/config.toml:2 must be a whole number of days from 1, or "never", but is: "forever"
        `session_memory.retention.cadence` from /home/you/config.toml:2 must be "hourly", "daily", "weekly" or "on-hook", but is: "monthly"
        `session_memory.retention.raw_soft_cap_bytes` from /home/you/config.toml:2 is above `session_memory.retention.raw_hard_cap_bytes` from the defaults: "7GiB" > "6GiB"
        `session_memory.domains.billing` from /home/you/config.toml:2 must be text in quotes, but is: 7
        `session_memory.sources.claude` from /home/you/config.toml:2 must be a list of paths that are absolute or start with `~/`, but is: "~/.claude"
        `session_memory.sources.claude` from /home/you/config.toml:2 must be a list of paths that are absolute or start with `~/`, but is: ["logs"]
        `session_memory.sources.extra` from /home/you/config.toml:2 must be a list where each `agent` is "claude", "codex" or "grok", but is: [{ agent = "cursor", path = "/x" }]
        `session_memory.sources.extra` from /home/you/config.toml:2 must be a list where each `path` is absolute or starts with `~/`, but is: [{ agent = "grok" }]
        `session_memory.ignore.paths` from /home/you/config.toml:2 must be a list of globs (unclosed character class; missing ']'), but is: ["a["]
        `session_memory.masking.rules` from /home/you/config.toml:2 must be a list, but is: "x"
        `session_memory.masking.rules` from /home/you/config.toml:4 must be a list where each element is a table whose `regex` is a regular expression (unclosed group), but is: { name = "badge", regex = "(" }
        `session_memory.masking.rules` from /home/you/config.toml:2 must be a list where each element is a usable rule (rule names have 1 to 40 of `a-z`, `0-9` and `-`: `Badge No`), but is: { name = "Badge No", regex = "x" }
        `session_memory.masking.rules` from /home/you/config.toml:3 must be a list where each element is a usable rule (pattern of `badge` matches the empty text), but is: { name = "badge", regex = "x*" }
        `session_memory.masking.rules` from /home/you/config.toml:2 must be a list where each element is a table with `name`, `regex` and perhaps `keyword`, all in quotes, but is: { name = "badge" }
        `session_memory.masking.allow` from /home/you/config.toml:4 must be a list where each element is a table whose `regex` is a regular expression (unclosed character class), but is: { regex = "[" }
        `session_memory.masking.allow` from /home/you/config.toml:2 must be a list where each element is text in quotes, or a table with `regex`, but is: 7
        `session_memory.task_ref.pattern` from /home/you/config.toml:2 must be a regular expression (unclosed group), but is: "("
        `session_memory.surface.dir` from /home/you/config.toml:2 must be a path that is absolute or starts with `~/`, or empty, but is: "hub"
        `session_memory` from /home/you/config.toml:1 must be a table, but is: integer
        `session_memory.retention.cadence` from /home/you/config.toml:1 must be "hourly", "daily", "weekly" or "on-hook", but is: { every = 3 }
        the configuration is not valid TOML at /home/you/config.toml:2:11: string values must be quoted, expected literal string
        "#);
    }
}
