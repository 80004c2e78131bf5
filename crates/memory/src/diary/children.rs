//! The logs of sessions that work for others: found by their id among all logs, whatever day they are from.
//!
//! Heads are read only where a session names a child, and only as far as they are needed.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use transcript::{Agent, LineBody, Lines};

use super::probe::probe;
use crate::files;
use crate::logs;
use crate::sources::Log;

/// How much of a log is read to learn whose child it is: the head of a Codex thread carries its instructions.
const HEAD_BYTES_MAX: u64 = 4 << 20;
const HEAD_LINES_MAX: u64 = 50;

/// A log that belongs to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) path: PathBuf,
    pub(super) id: String,
    /// The session it works for, as far as it says.
    pub(super) parent: Option<String>,
    pub(super) role: Option<String>,
}

/// All logs, and what was learned of their heads.
pub(super) struct Children<'l> {
    logs: &'l [Log],
    claude: OnceLock<HashMap<String, Vec<Child>>>,
    codex: OnceLock<HashMap<String, Vec<Child>>>,
    grok: OnceLock<HashMap<String, Vec<Child>>>,
}

impl<'l> Children<'l> {
    pub(super) fn new(logs: &'l [Log]) -> Self {
        Self {
            logs,
            claude: OnceLock::new(),
            codex: OnceLock::new(),
            grok: OnceLock::new(),
        }
    }

    /// The child `id` of a session, where its log is there.
    pub(super) fn find(&self, agent: Agent, id: &str, parent: &str) -> Option<Child> {
        let named = self.logs.iter().filter(|log| log.agent == agent && is_named(log, id));
        let named: Vec<Child> = named.filter_map(|log| child(agent, &log.path)).collect();
        let of_id: Vec<Child> = named.into_iter().filter(|child| child.id == id).collect();
        choose(&of_id, parent).or_else(|| choose(self.all(agent).get(id)?, parent))
    }

    /// All children of an agent by id: for those whose names do not tell it.
    fn all(&self, agent: Agent) -> &HashMap<String, Vec<Child>> {
        let cell = match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
            Agent::Grok => &self.grok,
        };
        cell.get_or_init(|| {
            let mut all: HashMap<String, Vec<Child>> = HashMap::new();
            let own = self.logs.iter().filter(|log| log.agent == agent);
            for child in own.filter_map(|log| child(agent, &log.path)) {
                all.entry(child.id.clone()).or_default().push(child);
            }
            all
        })
    }
}

/// Of several logs with one id the one that names the parent, else the only one that may be its child.
fn choose(of_id: &[Child], parent: &str) -> Option<Child> {
    let own = of_id.iter().find(|child| child.parent.as_deref() == Some(parent));
    let mut others = of_id.iter().filter(|child| child.parent.is_none());
    let only = others.next().filter(|_| others.next().is_none());
    own.or(only).cloned()
}

fn is_named(log: &Log, id: &str) -> bool {
    // A Grok session is its directory.
    let path = match log.agent {
        Agent::Grok => log.path.parent(),
        Agent::Claude | Agent::Codex => Some(log.path.as_path()),
    };
    let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    name.contains(id)
}

/// What a log says of itself as a child; nothing where it is none.
fn child(agent: Agent, path: &Path) -> Option<Child> {
    match agent {
        Agent::Claude => claude_child(path),
        Agent::Codex => codex_child(path),
        Agent::Grok => grok_child(path),
    }
}

fn claude_child(path: &Path) -> Option<Child> {
    let mut found = None;
    each_head_line(path, |line| {
        let told = probe(Agent::Claude, line).and_then(|told| told.sidechain);
        found = told;
        found.is_none()
    })?;
    let names: Vec<String> = path
        .components()
        .map(|name| name.as_os_str().to_string_lossy().into_owned())
        .collect();
    let at = names.iter().rposition(|name| name == "subagents");
    let is_below = at.is_some();
    let sidechain = match found {
        Some(sidechain) => sidechain,
        None if is_below => Default::default(),
        None => return None,
    };
    let above = at.and_then(|at| at.checked_sub(1)).map(|at| names[at].clone());
    Some(Child {
        id: sidechain.agent_id.unwrap_or_else(|| stem(path)),
        parent: sidechain.session_id.or(above),
        role: sidechain.role,
        path: path.to_owned(),
    })
}

fn codex_child(path: &Path) -> Option<Child> {
    let mut head = None;
    each_head_line(path, |line| {
        head = probe(Agent::Codex, line).and_then(|told| told.head);
        head.is_none()
    })?;
    let head = head.filter(|head| head.is_child)?;
    Some(Child {
        id: head.id.unwrap_or_else(|| stem(path)),
        parent: head.parent,
        role: head.role,
        path: path.to_owned(),
    })
}

fn grok_child(path: &Path) -> Option<Child> {
    let directory = path.parent()?;
    let id = directory.file_name()?.to_string_lossy().into_owned();
    let bytes = files::read_companion(directory, &directory.join("summary.json")).ok()?;
    let summary: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let word = |names: [&str; 2]| names.iter().find_map(|name| summary[*name].as_str()).map(str::to_owned);
    let kind = word(["session_kind", "sessionKind"])?;
    kind.starts_with("subagent").then(|| Child {
        path: path.to_owned(),
        id,
        parent: word(["parent_session_id", "parentSessionId"]),
        role: None,
    })
}

/// The name of a log without what says how it is written.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".jsonl.zst", ".jsonl", ".json"];
    ends.iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name)
        .to_owned()
}

/// Gives the first lines of a log as long as `more` of them are wanted.
fn each_head_line(path: &Path, mut more: impl FnMut(&[u8]) -> bool) -> Option<()> {
    let (file, _) = files::open(path).ok()?;
    let head = logs::unpacked(path, file).ok()?.take(HEAD_BYTES_MAX);
    let mut lines = Lines::new(head);
    while let Ok(Some(line)) = lines.next() {
        let LineBody::Bytes(bytes) = line.body else { continue };
        if !more(bytes) || line.number == HEAD_LINES_MAX {
            break;
        }
    }
    Some(())
}
