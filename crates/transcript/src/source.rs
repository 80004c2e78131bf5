//! A session before it is read: its agent, its id as far as the path says, and its parts.
//!
//! Only paths are known here. The caller that has a disk, a pack or a hub assembles the parts; a reader gets
//! companions first, then lines, in the order of [`Source::parts`].

use crate::agent::{Agent, Origin};
use crate::event::PartKind;
use crate::ids::uuid;

/// A session and where its parts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub agent: Agent,
    /// The agent's own id, as far as the path contains it; the id in the records takes precedence.
    pub native_id: String,
    /// Companions before parts with lines, and the log before other lines.
    pub parts: Vec<Part>,
}

/// One part of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    pub path: std::path::PathBuf,
}

impl Source {
    /// Returns the source of the session that the log at `path` belongs to.
    pub fn new(agent: Agent, path: &str, mut parts: Vec<Part>) -> Self {
        parts.sort_by_key(|part| (part.kind.has_lines(), part.kind));
        Self {
            agent,
            native_id: native_id(agent, &Origin::of(path)),
            parts,
        }
    }
}

impl PartKind {
    /// Returns the kind of a part by its name: the kind's name, optionally followed by a colon and an id.
    pub fn of_name(name: &str) -> Option<Self> {
        let word = name.split_once(':').map_or(name, |(word, _)| word);
        let all = [
            Self::Log,
            Self::Meta,
            Self::Spill,
            Self::ChatHistory,
            Self::Events,
            Self::Summary,
            Self::Signals,
            Self::PromptContext,
            Self::PlanMode,
            Self::Index,
        ];
        all.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns `true` if the part is read line by line, and not as a whole.
    pub fn has_lines(self) -> bool {
        matches!(self, Self::Log | Self::ChatHistory | Self::Events)
    }
}

fn native_id(agent: Agent, origin: &Origin) -> String {
    let stem = origin.stem.as_str();
    match agent {
        Agent::Claude => match &origin.parent_session {
            Some(parent) => format!("{parent}/{}", stem.strip_prefix("agent-").unwrap_or(stem)),
            None => stem.to_owned(),
        },
        // `rollout-<time>-<thread>`, and after an underscore the id of a revert.
        Agent::Codex => {
            let thread = stem.split_once('_').map_or(stem, |(thread, _)| thread);
            let id = thread
                .len()
                .checked_sub(36)
                .and_then(|at| thread.get(at..))
                .filter(|id| uuid(id).is_some());
            id.unwrap_or(stem).to_owned()
        }
        Agent::Grok => origin.directory.clone().unwrap_or_else(|| stem.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_contains_the_id_of_each_agents_sessions() {
        let id = |agent, path: &str| Source::new(agent, path, Vec::new()).native_id;
        let thread = "019d4700-0000-7000-8000-00000000c0de";
        assert_eq!(id(Agent::Claude, "/p/5e55.jsonl"), "5e55");
        assert_eq!(id(Agent::Claude, "/p/5e55/subagents/agent-a1.jsonl"), "5e55/a1");
        assert_eq!(
            id(Agent::Codex, &format!("/s/rollout-2026-04-01T10-00-00-{thread}.jsonl")),
            thread
        );
        assert_eq!(
            id(
                Agent::Codex,
                &format!("/s/rollout-2026-04-01T10-00-00-{thread}_{thread}.jsonl.zst")
            ),
            thread
        );
        assert_eq!(id(Agent::Codex, "/s/full.jsonl"), "full");
        assert_eq!(id(Agent::Grok, "/g/%2Fhome/0199a/updates.jsonl"), "0199a");
    }
}
