//! Where sessions lie: walks an agent's root and finds its logs, with what lies beside them.
//!
//! Only names are asked here. Credential files are never opened, since nothing but what is named like a
//! log or its companion is.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use transcript::{Agent, Origin};
use walkdir::WalkDir;

/// How deep below a root logs are looked for.
const DEPTH_MAX: usize = 12;

/// A directory in which an agent keeps its sessions, such as `~/.claude`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub agent: Agent,
    pub path: PathBuf,
    /// What the user calls it, where it is a copy from elsewhere.
    pub label: Option<String>,
}

/// A log found under a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub agent: Agent,
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: Option<SystemTime>,
    /// Whether it is a subagent's.
    pub is_subagent: bool,
}

/// What could not be looked at, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub path: PathBuf,
    pub reason: String,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// In order of path.
    pub logs: Vec<Log>,
    pub unread: Vec<Unread>,
}

/// Walks a root. A root that is not there holds nothing.
pub fn find(root: &Root) -> Found {
    let mut found = Found::default();
    let places: &[&str] = match root.agent {
        Agent::Claude => &["projects"],
        Agent::Codex => &["sessions", "archived_sessions"],
        Agent::Grok => &["sessions"],
    };
    for place in places {
        walk(root.agent, &root.path.join(place), &mut found);
    }
    found
}

/// Walks any directory for logs of one agent.
pub fn find_in(agent: Agent, directory: &Path) -> Found {
    let mut found = Found::default();
    walk(agent, directory, &mut found);
    found
}

fn walk(agent: Agent, directory: &Path, found: &mut Found) {
    if !directory.exists() {
        return;
    }
    // Links are not followed, so no loop can hold us; a linked root itself is.
    let walker = WalkDir::new(directory).max_depth(DEPTH_MAX).sort_by_file_name();
    for entry in walker {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(directory).to_owned();
                let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                found.unread.push(Unread { path, reason });
                continue;
            }
        };
        let name = entry.file_name().to_string_lossy();
        if !is_log(agent, &name) {
            continue;
        }
        let path = entry.into_path();
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                let is_subagent = agent == Agent::Claude && Origin::of(&path.to_string_lossy()).is_subagent;
                found.logs.push(Log {
                    agent,
                    path,
                    bytes: metadata.len(),
                    modified: metadata.modified().ok(),
                    is_subagent,
                });
            }
            Ok(_) => found.unread.push(Unread {
                path,
                reason: "not a regular file".to_owned(),
            }),
            Err(error) => found.unread.push(Unread {
                path,
                reason: error.to_string(),
            }),
        }
    }
}

/// Whether a file is named like a log of the agent.
fn is_log(agent: Agent, name: &str) -> bool {
    match agent {
        // The journal of a workflow tells which subagents ran; it is no transcript.
        Agent::Claude => name.ends_with(".jsonl") && name != "journal.jsonl",
        Agent::Codex => name.starts_with("rollout-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")),
        Agent::Grok => name == "updates.jsonl",
    }
}

/// The logs of a Claude session's subagents: in the directory named like the log, or flat beside it.
pub fn subagents_of(log: &Path, session_id: &str) -> Found {
    let mut found = Found::default();
    let Some(directory) = log.parent() else { return found };
    let stem = log.file_stem().unwrap_or_default();
    walk(Agent::Claude, &directory.join(stem).join("subagents"), &mut found);
    let Ok(entries) = std::fs::read_dir(directory) else {
        return found;
    };
    let mut flat: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_flat_subagent(path))
        .collect();
    flat.sort();
    for path in flat {
        if names_session(&path, session_id) {
            walk(Agent::Claude, &path, &mut found);
        }
    }
    found
}

fn is_flat_subagent(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("agent-") && name.ends_with(".jsonl")
}

/// Whether the head of a log carries the id of a session.
fn names_session(path: &Path, session_id: &str) -> bool {
    use std::io::Read;
    let Ok((file, _)) = crate::files::open(path) else {
        return false;
    };
    let mut head = Vec::new();
    let told = format!("\"{session_id}\"");
    file.take(64 << 10).read_to_end(&mut head).is_ok()
        && head.windows(told.len()).any(|window| window == told.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(found: &Found) -> Vec<String> {
        found
            .logs
            .iter()
            .map(|log| log.path.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn only_what_is_named_like_a_log_is_found() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-home-ada-app");
        let subagents = project.join("5e55/subagents");
        fs::create_dir_all(&subagents).unwrap();
        for (directory, name) in [
            (home.path(), ".credentials.json"),
            (home.path(), "history.jsonl"),
            (&project, "5e55.jsonl"),
            (&project, "sessions-index.json"),
            (&subagents, "agent-a1.jsonl"),
            (&subagents, "agent-a1.meta.json"),
            (&subagents, "journal.jsonl"),
        ] {
            fs::write(directory.join(name), "{}\n").unwrap();
        }
        fs::create_dir(project.join("directory.jsonl")).unwrap();
        let root = Root {
            agent: Agent::Claude,
            path: home.path().to_owned(),
            label: None,
        };
        let found = find(&root);
        assert_eq!(names(&found), ["agent-a1.jsonl", "5e55.jsonl"]);
        assert_eq!(found.unread.len(), 1, "{:?}", found.unread);
    }

    #[test]
    fn a_flat_subagent_belongs_to_the_session_its_records_name() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("s1.jsonl"), "").unwrap();
        fs::write(home.path().join("agent-a.jsonl"), r#"{"sessionId":"s1"}"#).unwrap();
        fs::write(home.path().join("agent-b.jsonl"), r#"{"sessionId":"s2"}"#).unwrap();
        assert_eq!(
            names(&subagents_of(&home.path().join("s1.jsonl"), "s1")),
            ["agent-a.jsonl"]
        );
    }
}
