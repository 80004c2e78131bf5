//! The hooks that we add to an agent's settings, and how to recognize them there.

use std::path::{Path, PathBuf};

use transcript::Agent;

use crate::hook::{HOME_FLAG, VERB};

/// Maximum time in seconds that an agent waits for a hook. Ours takes milliseconds; one agent allows no more than this.
pub(super) const TIMEOUT_S: u64 = 3;

/// The entries to add to one settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) agent: Agent,
    /// The command that each event runs.
    pub(super) command: String,
    /// The command of our status line, if it should be set.
    pub(super) statusline: Option<String>,
}

impl Wish {
    pub(super) fn new(agent: Agent, program: &Path, home: &Path) -> Self {
        let command = format!(
            "{} {VERB} {} {HOME_FLAG} {}",
            quoted(program),
            agent.as_str(),
            quoted(home)
        );
        Self {
            agent,
            command,
            statusline: None,
        }
    }

    /// Returns the events of the agent that concern a session as a whole.
    pub(super) fn events(&self) -> &'static [&'static str] {
        events(self.agent)
    }
}

pub(super) fn events(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["SessionStart", "Stop", "StopFailure", "SubagentStop", "SessionEnd"],
        Agent::Codex => &["SessionStart", "Stop", "SubagentStop", "SessionEnd"],
        Agent::Grok => &[
            "SessionStart",
            "Stop",
            "StopFailure",
            "StopCancelled",
            "SubagentStop",
            "SessionEnd",
        ],
    }
}

/// Returns the command that prints our status line. It sets the data directory to `home`, if given.
pub(super) fn statusline(program: &Path, home: Option<&Path>) -> String {
    let program = quoted(program);
    match home {
        Some(home) => format!("{}={} {program} statusline", crate::env::BOSWELL_HOME, quoted(home)),
        None => format!("{program} statusline"),
    }
}

pub(super) fn is_our_statusline(command: &str) -> bool {
    command.contains("boswell") && command.trim_end().ends_with(" statusline")
}

/// One of our commands, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ours {
    pub(super) program: PathBuf,
    pub(super) home: PathBuf,
}

/// Parses a command. Returns `None` unless it is one of ours for the agent; it may name any binary.
pub(super) fn ours(command: &str, agent: Agent) -> Option<Ours> {
    let (program, home) = command.split_once(&format!(" {VERB} {} {HOME_FLAG} ", agent.as_str()))?;
    Some(Ours {
        program: unquoted(program).into(),
        home: unquoted(home).into(),
    })
}

#[cfg(windows)]
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

#[cfg(not(windows))]
fn quoted(path: &Path) -> String {
    crate::shell::quoted(&path.to_string_lossy())
}

fn unquoted(word: &str) -> String {
    let word = word.trim();
    let bare = |mark: char| word.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    match (bare('\''), bare('"')) {
        (Some(bare), _) => bare.replace("'\\''", "'"),
        (None, Some(bare)) => bare.to_owned(),
        (None, None) => word.to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_ours_is_known_again_and_others_are_not() {
        let (program, home) = (Path::new("/opt/my tools/boswell"), Path::new("/home/ada/it's here"));
        let wish = Wish::new(Agent::Claude, program, home);
        let known = ours(&wish.command, Agent::Claude).unwrap();
        assert_eq!((known.program.as_path(), known.home.as_path()), (program, home));
        assert_eq!(ours(&wish.command, Agent::Codex), None);
        assert_eq!(ours("notify-send done", Agent::Claude), None);
    }
}
