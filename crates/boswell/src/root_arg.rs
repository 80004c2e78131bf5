//! Extra directories with logs, as given on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use memory::sources::LogRoot;
use transcript::Agent;

use crate::agent_arg::AgentName;
use crate::context::Context;

/// Returns the requested roots: those of the agents, and those of the command line, which may contain logs of any
/// agent.
pub(crate) fn roots(context: &Context, agents: &[AgentName], extra: &[ExtraRoot]) -> Vec<LogRoot> {
    let wanted = |agent: Agent| agents.is_empty() || agents.iter().any(|name| name.0 == agent);
    let extra = extra.iter().flat_map(|extra| {
        Agent::ALL.into_iter().map(|agent| LogRoot {
            agent,
            path: context.places.current_dir.join(&extra.path),
            label: Some(extra.label.clone()),
        })
    });
    let all = context.memory_roots().into_iter().chain(extra);
    all.filter(|root| wanted(root.agent)).collect()
}

/// A directory and its label.
#[derive(Debug, Clone)]
pub(crate) struct ExtraRoot {
    path: PathBuf,
    label: String,
}

impl FromStr for ExtraRoot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, label) = text.rsplit_once('=').ok_or("a root is written like `DIR=LABEL`")?;
        if path.is_empty() || label.is_empty() {
            return Err("a root is written like `DIR=LABEL`".to_owned());
        }
        Ok(Self {
            path: path.into(),
            label: label.to_owned(),
        })
    }
}
