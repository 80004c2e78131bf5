//! Finds sessions on disk: walks an agent's root and returns its logs and their companions.
//!
//! Only file names are checked here. Credential files are never opened, because only files that are named like a log
//! or its companion are.

use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use transcript::{Agent, Origin, Part, PartKind, Source};
use walkdir::WalkDir;

use crate::files;

/// Maximum depth below a root at which logs are searched for.
const DEPTH_MAX: usize = 12;

/// A directory in which an agent keeps its sessions, such as `~/.claude`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRoot {
    pub agent: Agent,
    pub path: PathBuf,
    /// The user's name for the root if it is a copy from another machine.
    pub label: Option<String>,
}

/// A log that was found in a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    pub agent: Agent,
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: Option<Timestamp>,
    /// `true` if the log belongs to a subagent.
    pub is_subagent: bool,
}

/// A file or directory that could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadPath {
    pub path: PathBuf,
    pub reason: String,
}

/// The result of a walk.
#[derive(Debug, Default)]
pub struct FoundLogs {
    /// Sorted by path.
    pub logs: Vec<LogFile>,
    pub unread: Vec<UnreadPath>,
}

/// Walks a root. Returns nothing if the root does not exist.
pub fn find_logs(root: &LogRoot) -> FoundLogs {
    let mut found = FoundLogs::default();
    let places: &[&str] = match root.agent {
        Agent::Claude => &["projects"],
        Agent::Codex => &["sessions", "archived_sessions"],
        Agent::Grok => &["sessions"],
    };
    for place in places {
        walk_logs(root.agent, &root.path.join(place), &mut found);
    }
    found
}

/// Returns those of the named logs that are in a root, and the logs in the directories that belong to them. Nothing
/// else is searched.
pub fn find_named_logs(root: &LogRoot, named: &[PathBuf]) -> FoundLogs {
    let mut found = FoundLogs::default();
    for path in named {
        let Some(path) = path_in(root, path) else { continue };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_log(root.agent, &name) && files::resolve_inside(&root.path, &path).is_ok() {
            walk_logs(root.agent, &path, &mut found);
        }
        // Claude Code keeps the logs of subagents in a directory that is named like the session's log.
        let folder = path.with_extension("");
        if root.agent == Agent::Claude && files::resolve_inside(&root.path, &folder).is_ok() {
            walk_logs(root.agent, &folder, &mut found);
        }
    }
    found.logs.sort_by(|a, b| a.path.cmp(&b.path));
    found.logs.dedup();
    found
}

/// Returns `path` as a walk of `root` names it, or `None` if it is not below that root. If the root is a link, an agent may
/// name its logs by their real paths.
pub(crate) fn path_in(root: &LogRoot, path: &Path) -> Option<PathBuf> {
    if path.starts_with(&root.path) {
        return Some(path.to_owned());
    }
    let real = root.path.canonicalize().ok()?;
    path.strip_prefix(real).ok().map(|below| root.path.join(below))
}

/// Walks any directory for logs of one agent.
pub fn find_logs_in(agent: Agent, directory: &Path) -> FoundLogs {
    let mut found = FoundLogs::default();
    walk_logs(agent, directory, &mut found);
    found
}

fn walk_logs(agent: Agent, directory: &Path, found: &mut FoundLogs) {
    if !directory.exists() {
        return;
    }
    // Links are not followed, so no loop can occur. Only the root itself may be a link.
    let walker = WalkDir::new(directory).max_depth(DEPTH_MAX).sort_by_file_name();
    for entry in walker {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(directory).to_owned();
                let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                found.unread.push(UnreadPath { path, reason });
                continue;
            }
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_log(agent, &name) {
            continue;
        }
        let path = entry.into_path();
        if name == "chat_history.jsonl" && path.with_file_name("updates.jsonl").exists() {
            continue;
        }
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                let is_subagent = agent == Agent::Claude && Origin::of(&path.to_string_lossy()).is_subagent;
                found.logs.push(LogFile {
                    agent,
                    path,
                    bytes: metadata.len(),
                    modified: files::modified_at(&metadata),
                    is_subagent,
                });
            }
            Ok(_) => found.unread.push(UnreadPath {
                path,
                reason: "not a regular file".to_owned(),
            }),
            Err(error) => found.unread.push(UnreadPath {
                path,
                reason: error.to_string(),
            }),
        }
    }
}

/// Returns `true` if a file is named like a log of the agent.
fn is_log(agent: Agent, name: &str) -> bool {
    match agent {
        // The journal of a workflow lists which subagents ran. It is not a transcript.
        Agent::Claude => name.ends_with(".jsonl") && name != "journal.jsonl",
        // The oldest logs are one object in a `.json` file.
        Agent::Codex => {
            let ends = [".jsonl", ".jsonl.zst", ".json"];
            name.starts_with("rollout-") && ends.iter().any(|end| name.ends_with(end))
        }
        // A session is a directory. If it has both files, `updates.jsonl` is the log.
        Agent::Grok => matches!(name, "updates.jsonl" | "chat_history.jsonl"),
    }
}

/// Returns the real path of a log, because a path relative to the log's own directory does not identify the session.
/// An absolute path is returned unchanged: resolving it would cost a system call for each of its directories.
pub(crate) fn place_of(log: &Path) -> PathBuf {
    if log.is_absolute() && log.components().all(|part| !matches!(part, Component::ParentDir)) {
        return log.to_owned();
    }
    log.canonicalize().unwrap_or_else(|_| log.to_owned())
}

/// Returns the session of a log, with all companions of the log.
pub fn find_source(agent: Agent, log: &Path) -> Source {
    let place = place_of(log);
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = vec![Part {
        kind: part_kind(agent, &name),
        path: log.to_owned(),
    }];
    let beside = possible_companions(agent, &place, &name).into_iter();
    parts.extend(
        beside
            .filter(|(_, path)| is_plain_file(path))
            .map(|(kind, path)| Part { kind, path }),
    );
    Source::new(agent, &place.to_string_lossy(), parts)
}

/// Returns paths that are named like a companion of a log but are not regular files: pipes, directories, links.
pub fn find_irregular_companions(agent: Agent, log: &Path) -> Vec<UnreadPath> {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let beside = fixed_companions(agent, &place_of(log), &name).into_iter();
    let odd = beside.filter(|(_, path)| path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()));
    odd.map(|(_, path)| UnreadPath {
        path,
        reason: "not a regular file".to_owned(),
    })
    .collect()
}

/// Returns `true` if a path is a file itself and not a link to one. A link could expose any file.
fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Returns the possible companions of a log.
fn possible_companions(agent: Agent, place: &Path, name: &str) -> Vec<(PartKind, PathBuf)> {
    let mut companions = fixed_companions(agent, place, name);
    if agent == Agent::Claude {
        companions.extend(spilled_results(place).into_iter().map(|path| (PartKind::Spill, path)));
    }
    companions
}

/// Returns the possible companions of a log whose names are fixed.
fn fixed_companions(agent: Agent, place: &Path, name: &str) -> Vec<(PartKind, PathBuf)> {
    let directory = place.parent().unwrap_or(Path::new(""));
    match agent {
        Agent::Claude => vec![(PartKind::Meta, place.with_extension("meta.json"))],
        Agent::Codex => {
            let home = codex_home(place);
            home.map(|home| (PartKind::Index, home.join("session_index.jsonl")))
                .into_iter()
                .collect()
        }
        // A Grok session is a directory, and its log or chat history identifies it. A companion identifies only itself.
        Agent::Grok if matches!(part_kind(agent, name), PartKind::Log | PartKind::ChatHistory) => {
            let files = GROK_PARTS
                .iter()
                .filter(|(kind, _)| !matches!(kind, PartKind::Log | PartKind::ChatHistory))
                .map(|(kind, name)| (*kind, directory.join(name)));
            let children = std::fs::read_dir(directory.join("subagents"));
            let children = children.into_iter().flatten().flatten();
            let metas = children.map(|child| (PartKind::Meta, child.path().join("meta.json")));
            files.chain(metas).collect()
        }
        Agent::Grok => Vec::new(),
    }
}

/// Returns the results that were too large for the log, from the session's own directory. Links are skipped.
fn spilled_results(log: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(log.with_extension("").join("tool-results"));
    let files = entries.into_iter().flatten().flatten();
    let files = files.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The files of a Grok session that are read. Other files contain copies of the user's files.
pub(crate) const GROK_PARTS: &[(PartKind, &str)] = &[
    (PartKind::Log, "updates.jsonl"),
    (PartKind::ChatHistory, "chat_history.jsonl"),
    (PartKind::Events, "events.jsonl"),
    (PartKind::Summary, "summary.json"),
    (PartKind::PromptContext, "prompt_context.json"),
    (PartKind::Signals, "signals.json"),
    (PartKind::PlanMode, "plan_mode.json"),
];

/// Returns the kind of a file by its name. By default it is a log.
fn part_kind(agent: Agent, name: &str) -> PartKind {
    let known = GROK_PARTS
        .iter()
        .find(|(_, known)| agent == Agent::Grok && *known == name);
    known.map_or(PartKind::Log, |(kind, _)| *kind)
}

/// Returns the agent of a companion file by its name.
pub(crate) fn agent_of_companion(name: &str) -> Option<Agent> {
    let is_grok = GROK_PARTS.iter().any(|(_, known)| *known == name) || name == "rewind_points.jsonl";
    is_grok.then_some(Agent::Grok)
}

/// Returns `true` if a file is known and must not be read: the rewind points of Grok contain copies of the user's
/// files, and a prompt history is not a session.
pub(crate) fn is_ignored_file(agent: Agent, name: &str) -> bool {
    match agent {
        Agent::Grok => name == "rewind_points.jsonl",
        Agent::Claude | Agent::Codex => name == "history.jsonl",
    }
}

/// Returns the directory above `sessions` or `archived_sessions`.
fn codex_home(log: &Path) -> Option<&Path> {
    let sessions = log.ancestors().find(|path| {
        path.file_name()
            .is_some_and(|name| name == "sessions" || name == "archived_sessions")
    });
    sessions.and_then(Path::parent)
}

/// Returns the logs of a Claude session's subagents: in the directory that is named like the log, or directly beside
/// the log.
pub fn subagents_of(log: &Path, session_id: &str) -> FoundLogs {
    let mut found = FoundLogs::default();
    let log = place_of(log);
    let Some(directory) = log.parent() else { return found };
    let stem = log.file_stem().unwrap_or_default();
    walk_logs(Agent::Claude, &directory.join(stem).join("subagents"), &mut found);
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
        if contains_session_id(&path, session_id) {
            walk_logs(Agent::Claude, &path, &mut found);
        }
    }
    found
}

fn is_flat_subagent(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("agent-") && name.ends_with(".jsonl")
}

/// Returns `true` if the start of a log contains the id of a session.
fn contains_session_id(path: &Path, session_id: &str) -> bool {
    use std::io::Read;
    let Ok((file, _)) = files::open_regular(path) else {
        return false;
    };
    let mut head = Vec::new();
    let quoted_id = format!("\"{session_id}\"");
    file.take(64 << 10).read_to_end(&mut head).is_ok()
        && head
            .windows(quoted_id.len())
            .any(|window| window == quoted_id.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(found: &FoundLogs) -> Vec<String> {
        found
            .logs
            .iter()
            .map(|log| log.path.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn only_files_that_are_named_like_a_log_are_found() {
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
        let root = LogRoot {
            agent: Agent::Claude,
            path: home.path().to_owned(),
            label: None,
        };
        let found = find_logs(&root);
        assert_eq!(names(&found), ["agent-a1.jsonl", "5e55.jsonl"]);
        assert_eq!(found.unread.len(), 1, "{:?}", found.unread);
    }

    #[test]
    fn a_subagent_beside_the_log_belongs_to_the_session_that_its_records_name() {
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
