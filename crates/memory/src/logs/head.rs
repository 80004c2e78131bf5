//! Reads the first lines of a log to find its agent and the directory in which the agent worked. It reads no more than
//! the head, so that checking many logs stays cheap.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use transcript::{Agent, Origin, PartKind, State, detect};

use super::{LogError, failed, session_tree};
use crate::files;
use crate::ingest::{self, IdentifyBy};
use crate::sources;

/// Maximum number of bytes to read to detect the agent, and maximum length of a first line that is searched for a
/// directory.
const HEAD_BYTES: u64 = 1 << 20;
/// Number of bytes to read to find a directory in other cases. It is small because every sweep checks all logs.
const CWD_BYTES: u64 = 64 << 10;

/// Detects the agent of a log from its first lines.
pub fn agent_of_head(path: &Path) -> Result<Agent, LogError> {
    let head = head(path, HEAD_BYTES).map_err(|source| failed(path, source))?;
    told_agent(path, &head).ok_or_else(|| LogError::UnknownAgent { path: path.to_owned() })
}

/// Returns the first bytes of a log.
fn head(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let (file, _) = files::open_regular(path)?;
    let mut head = Vec::new();
    ingest::unpacked(path, file)?.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}

fn told_agent(path: &Path, head: &[u8]) -> Option<Agent> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // An empty log contains no evidence yet, so its agent is guessed from its name.
    let is_empty = head.iter().all(|byte| byte.is_ascii_whitespace());
    let told = sources::agent_of_companion(&name).or_else(|| detect(head));
    told.or_else(|| is_empty.then(|| by_place(&name)))
}

/// Guesses the agent of a log that is still empty.
fn by_place(name: &str) -> Agent {
    if name.starts_with("rollout-") {
        Agent::Codex
    } else {
        Agent::Claude
    }
}

/// Returns the directories in which a session worked according to its log: its own and, for a subagent, its parent's.
/// Returns an empty list if the head of the log contains none.
pub fn cwd_of_head(path: &Path) -> Vec<PathBuf> {
    let parent = session_log(path).filter(|parent| parent != path);
    let asked = std::iter::once(path.to_owned()).chain(parent);
    asked.filter_map(|path| own_cwd(&path)).map(PathBuf::from).collect()
}

/// Returns the log of the session that a subagent's log belongs to.
fn session_log(path: &Path) -> Option<PathBuf> {
    let is_subagent = path
        .ancestors()
        .any(|above| above.file_name().is_some_and(|name| name == "subagents"));
    let mut tree = session_tree(path).filter(|_| is_subagent)?.into_os_string();
    tree.push(".jsonl");
    Some(PathBuf::from(tree))
}

fn own_cwd(path: &Path) -> Option<String> {
    let mut head = head(path, CWD_BYTES).ok()?;
    if head.len() as u64 == CWD_BYTES && !head.contains(&b'\n') {
        // Codex's first line contains all its instructions.
        head = self::head(path, HEAD_BYTES).ok()?;
    }
    let agent = told_agent(path, &head)?;
    let source = sources::find_source(agent, path);
    let mut state = State::new(agent, Origin::of(&sources::place_of(path).to_string_lossy()));
    // Of all companions only Grok's summary names a directory.
    for part in source.parts.iter().filter(|part| part.kind == PartKind::Summary) {
        let tree = part.path.parent().unwrap_or(Path::new(""));
        if let Ok(bytes) = files::read_companion(tree, &part.path) {
            state.companion(part.kind, &bytes);
        }
    }
    let log = source.parts.iter().find(|part| part.kind.has_lines())?;
    ingest::identify(&mut state, log.kind, &head, IdentifyBy::Directory).cwd
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_directory_is_the_one_the_log_names_and_a_subagent_has_its_parents_too() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-home-ada-app");
        let subagents = project.join("5e55/subagents");
        fs::create_dir_all(&subagents).unwrap();
        let line = |cwd: &str| {
            format!(
                "{{\"type\":\"user\",\"sessionId\":\"5e55\",\"cwd\":\"{cwd}\",\"message\":{{\"content\":\"hi\"}}}}\n"
            )
        };
        let log = project.join("5e55.jsonl");
        fs::write(
            &log,
            format!("{{\"type\":\"mode\",\"mode\":\"x\"}}\n{}", line("/home/ada/app")),
        )
        .unwrap();
        fs::write(subagents.join("agent-a1.jsonl"), line("/home/ada/tree")).unwrap();
        assert_eq!(cwd_of_head(&log), [Path::new("/home/ada/app")]);
        assert_eq!(
            cwd_of_head(&subagents.join("agent-a1.jsonl")),
            [Path::new("/home/ada/tree"), Path::new("/home/ada/app")]
        );
        // Text far after the head is not searched.
        let far = format!(
            "{}{}",
            "{\"type\":\"mode\",\"mode\":\"x\"}\n".repeat(5000),
            line("/home/ada/app")
        );
        fs::write(&log, far).unwrap();
        assert_eq!(cwd_of_head(&log), Vec::<PathBuf>::new());
    }
}
