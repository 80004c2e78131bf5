//! Finds the logs of subagents by their id among all logs, regardless of their day.
//!
//! The head of a log is read only if a session names a child, and only until the id is known.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use transcript::Agent;

use super::probe::probe;
use crate::files;
use crate::ingest::{self, Disclosure, LineForm};
use crate::sources::LogFile;

/// Number of bytes read to find the parent of a log. The head of a Codex thread contains its instructions, so it can be
/// long.
const HEAD_BYTES_MAX: u64 = 4 << 20;
const HEAD_LINES_MAX: u64 = 50;

/// The log of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChildLog {
    pub(super) path: PathBuf,
    pub(super) id: String,
    /// The parent session, if the log names it.
    pub(super) parent: Option<String>,
    pub(super) role: Option<String>,
}

/// All logs, with what is known from the heads that were read.
pub(super) struct ChildLogs<'l> {
    logs: &'l [LogFile],
    disclosure: Disclosure<'l>,
    claude: OnceLock<HashMap<String, Vec<ChildLog>>>,
    codex: OnceLock<HashMap<String, Vec<ChildLog>>>,
    grok: OnceLock<HashMap<String, Vec<ChildLog>>>,
}

impl<'l> ChildLogs<'l> {
    pub(super) fn new(logs: &'l [LogFile], disclosure: Disclosure<'l>) -> Self {
        Self {
            logs,
            disclosure,
            claude: OnceLock::new(),
            codex: OnceLock::new(),
            grok: OnceLock::new(),
        }
    }

    /// Returns the log of the child `id` of a session, if it exists.
    pub(super) fn find(&self, agent: Agent, id: &str, parent: &str) -> Option<ChildLog> {
        let named = self.logs.iter().filter(|log| log.agent == agent && is_named(log, id));
        let named: Vec<ChildLog> = named
            .filter_map(|log| read_child(agent, &log.path, self.disclosure))
            .collect();
        let same_id: Vec<ChildLog> = named.into_iter().filter(|child| child.id == id).collect();
        choose_child(&same_id, parent).or_else(|| choose_child(self.all(agent).get(id)?, parent))
    }

    /// Returns all children of an agent by id. Needed for logs whose file names do not contain the id.
    fn all(&self, agent: Agent) -> &HashMap<String, Vec<ChildLog>> {
        let cell = match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
            Agent::Grok => &self.grok,
        };
        cell.get_or_init(|| {
            let mut all: HashMap<String, Vec<ChildLog>> = HashMap::new();
            let own = self.logs.iter().filter(|log| log.agent == agent);
            for child in own.filter_map(|log| read_child(agent, &log.path, self.disclosure)) {
                all.entry(child.id.clone()).or_default().push(child);
            }
            all
        })
    }
}

/// Chooses between logs with the same id: the one that names the parent, or else the only one that names no parent.
fn choose_child(same_id: &[ChildLog], parent: &str) -> Option<ChildLog> {
    let own = same_id.iter().find(|child| child.parent.as_deref() == Some(parent));
    let mut others = same_id.iter().filter(|child| child.parent.is_none());
    let only = others.next().filter(|_| others.next().is_none());
    own.or(only).cloned()
}

fn is_named(log: &LogFile, id: &str) -> bool {
    // A Grok session is identified by its directory.
    let path = match log.agent {
        Agent::Grok => log.path.parent(),
        Agent::Claude | Agent::Codex => Some(log.path.as_path()),
    };
    let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    name.contains(id)
}

/// Reads the head of a log. Returns `None` if the log does not belong to a child.
fn read_child(agent: Agent, path: &Path, disclosure: Disclosure<'_>) -> Option<ChildLog> {
    match agent {
        Agent::Claude => claude_child(path, disclosure),
        Agent::Codex => codex_child(path, disclosure),
        Agent::Grok => grok_child(path),
    }
}

fn claude_child(path: &Path, disclosure: Disclosure<'_>) -> Option<ChildLog> {
    let mut found = None;
    each_head_line(path, Agent::Claude, disclosure, |line| {
        let facts = probe(Agent::Claude, line).and_then(|facts| facts.sidechain);
        found = facts;
        found.is_none()
    })?;
    let names: Vec<String> = path
        .components()
        .map(|name| name.as_os_str().to_string_lossy().into_owned())
        .collect();
    let at = names.iter().rposition(|name| name == "subagents");
    let is_in_subagents = at.is_some();
    let sidechain = match found {
        Some(sidechain) => sidechain,
        None if is_in_subagents => Default::default(),
        None => return None,
    };
    let parent_directory = at.and_then(|at| at.checked_sub(1)).map(|at| names[at].clone());
    Some(ChildLog {
        id: sidechain.agent_id.unwrap_or_else(|| file_stem(path)),
        parent: sidechain.session_id.or(parent_directory),
        role: sidechain.role,
        path: path.to_owned(),
    })
}

fn codex_child(path: &Path, disclosure: Disclosure<'_>) -> Option<ChildLog> {
    let mut head = None;
    each_head_line(path, Agent::Codex, disclosure, |line| {
        head = probe(Agent::Codex, line).and_then(|facts| facts.head);
        head.is_none()
    })?;
    let head = head.filter(|head| head.is_child)?;
    Some(ChildLog {
        id: head.id.unwrap_or_else(|| file_stem(path)),
        parent: head.parent,
        role: head.role,
        path: path.to_owned(),
    })
}

fn grok_child(path: &Path) -> Option<ChildLog> {
    let directory = path.parent()?;
    let id = directory.file_name()?.to_string_lossy().into_owned();
    let bytes = files::read_companion(directory, &directory.join("summary.json")).ok()?;
    let summary: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let word = |names: [&str; 2]| names.iter().find_map(|name| summary[*name].as_str()).map(str::to_owned);
    let kind = word(["session_kind", "sessionKind"])?;
    kind.starts_with("subagent").then(|| ChildLog {
        path: path.to_owned(),
        id,
        parent: word(["parent_session_id", "parentSessionId"]),
        role: None,
    })
}

/// Returns the file name of a log without its extensions.
pub(super) fn file_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".jsonl.zst", ".jsonl", ".json"];
    ends.iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name)
        .to_owned()
}

/// Calls `more` with the first lines of a log until it returns `false`.
fn each_head_line(
    path: &Path,
    agent: Agent,
    disclosure: Disclosure<'_>,
    mut more: impl FnMut(&[u8]) -> bool,
) -> Option<()> {
    let (file, _) = files::open_regular(path).ok()?;
    let head = ingest::unpacked(path, file).ok()?.take(HEAD_BYTES_MAX);
    let mut lines = ingest::masked_lines(head, disclosure, LineForm::Mixed(Some(agent)));
    while let Ok(Some(line)) = lines.next() {
        let line = line.mask(&mut Vec::new());
        let Some(bytes) = line.bytes() else { continue };
        if !more(bytes) || line.number() == HEAD_LINES_MAX {
            break;
        }
    }
    Some(())
}
