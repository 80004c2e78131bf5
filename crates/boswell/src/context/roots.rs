//! The directories of the agents' sessions and of the diary: from the configuration, else from variables, else the
//! agents' defaults. Pure: all of these are arguments.

use std::ffi::OsStr;
use std::path::PathBuf;

use transcript::Agent;

use super::Places;
use crate::config::{Config, expand_home};
use crate::env as variables;
use crate::env::Environment;

/// A directory with sessions of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) agent: Agent,
    /// The agent's own directory, such as `~/.claude`; it need not exist.
    pub(crate) path: PathBuf,
    pub(crate) label: Option<String>,
    pub(crate) origin: RootOrigin,
}

/// The source of a root's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootOrigin {
    /// The agent's default directory.
    Default,
    /// The agent's own variable, such as `CODEX_HOME`.
    Variable(&'static str),
    /// `session_memory.sources`.
    Config,
}

/// The directory of the diary's workspaces, unless a flag names another one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reports {
    pub(crate) path: PathBuf,
    /// A variable of another tool.
    pub(crate) is_by_old_variable: bool,
}

/// Returns the directory of the diary: from our own variable, else from the other tool's, else from the configuration.
/// The default is a directory next to the store's, so that deleting one does not delete the other.
pub(super) fn find_reports(config: &Config, environment: &Environment, places: &Places) -> Reports {
    let given = |name| environment.get(name).map(|path| places.current_dir.join(path));
    let own = given(variables::BOSWELL_REPORTS);
    let old = given(variables::PROMPT_DIARY_HOME).filter(|_| own.is_none());
    let is_by_old_variable = old.is_some();
    let beside = || {
        let name = places.data_dir.file_name().unwrap_or_default().to_string_lossy();
        places.data_dir.with_file_name(format!("{name}-reports"))
    };
    let path = own.or(old).or_else(|| config.diary.reports_root.clone());
    Reports {
        path: path.unwrap_or_else(beside),
        is_by_old_variable,
    }
}

pub(super) fn find_roots(config: &Config, environment: &Environment, places: &Places) -> Vec<Root> {
    let sources = &config.sources;
    let agents = [
        (Agent::Claude, &sources.claude, variables::CLAUDE_CONFIG_DIR, ".claude"),
        (Agent::Codex, &sources.codex, variables::CODEX_HOME, ".codex"),
        (Agent::Grok, &sources.grok, variables::GROK_HOME, ".grok"),
    ];
    let mut roots: Vec<Root> = Vec::new();
    for (agent, configured, variable, directory) in agents {
        let (paths, origin) = match environment.get(variable) {
            _ if !configured.is_empty() => (configured.clone(), RootOrigin::Config),
            Some(told) => (told_paths(agent, told, places), RootOrigin::Variable(variable)),
            None => (vec![places.home.join(directory)], RootOrigin::Default),
        };
        roots.extend(paths.into_iter().map(|path| Root {
            agent,
            path,
            label: None,
            origin,
        }));
    }
    let extra = sources.extra.iter().map(|extra| Root {
        agent: extra.agent,
        path: extra.path.clone(),
        label: extra.label.clone(),
        origin: RootOrigin::Config,
    });
    roots.extend(extra);
    let mut unique: Vec<Root> = Vec::new();
    for root in roots {
        if !unique
            .iter()
            .any(|known| known.agent == root.agent && known.path == root.path)
        {
            unique.push(root);
        }
    }
    unique
}

/// Splits the value of Claude's variable, which in practice can hold several directories separated by commas. A single
/// directory with a comma in its name stays one directory.
fn told_paths(agent: Agent, told: &OsStr, places: &Places) -> Vec<PathBuf> {
    let whole = places.current_dir.join(told);
    let listed = told
        .to_str()
        .filter(|text| agent == Agent::Claude && text.contains(',') && !whole.is_dir());
    let Some(listed) = listed else {
        return vec![whole];
    };
    let texts = listed.split(',').map(str::trim).filter(|text| !text.is_empty());
    texts
        .map(|text| places.current_dir.join(expand_home(text, &places.home)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Assignment, ConfigFile, Settings};

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn check_roots(flags: &[&str], variables: &[(&str, &str)]) -> String {
        let none = ConfigFile {
            path: PathBuf::new(),
            is_required: false,
        };
        let places = Places {
            home: "/home/you".into(),
            current_dir: "/here".into(),
            system_config: none.clone(),
            user_config: none,
            data_dir: PathBuf::new().into(),
            config_dir: PathBuf::new(),
        };
        let environment = environment(variables);
        let flags: Vec<Assignment> = flags.iter().map(|flag| flag.parse().unwrap()).collect();
        let (settings, _) = Settings::merge(&[], &environment, &flags).unwrap();
        let config = Config::read(&settings, &places.home).unwrap();
        let roots = find_roots(&config, &environment, &places);
        let line = |root: &Root| {
            let label = root.label.as_deref().unwrap_or("-");
            format!(
                "{} {} {label} {:?}",
                root.agent.as_str(),
                root.path.display(),
                root.origin
            )
        };
        roots.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn roots_are_the_agents_own_places_unless_told_otherwise() {
        insta::assert_snapshot!(check_roots(&[], &[]), @"
        claude /home/you/.claude - Default
        codex /home/you/.codex - Default
        grok /home/you/.grok - Default
        ");
        let told = [
            ("CLAUDE_CONFIG_DIR", "/a, ~/b,,/a"),
            ("CODEX_HOME", "/with,comma"),
            ("GROK_HOME", "grok"),
        ];
        insta::assert_snapshot!(check_roots(&[], &told), @r#"
        claude /a - Variable("CLAUDE_CONFIG_DIR")
        claude /home/you/b - Variable("CLAUDE_CONFIG_DIR")
        codex /with,comma - Variable("CODEX_HOME")
        grok /here/grok - Variable("GROK_HOME")
        "#);
        let flags = [
            "session_memory.sources.claude=/mine",
            r#"session_memory.sources.extra=[{ agent = "claude", path = "/laptop", label = "laptop" }]"#,
        ];
        insta::assert_snapshot!(check_roots(&flags, &told[..1]), @"
        claude /mine - Config
        codex /home/you/.codex - Default
        grok /home/you/.grok - Default
        claude /laptop laptop Config
        ");
    }
}
