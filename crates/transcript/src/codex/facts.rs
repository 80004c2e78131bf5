//! Facts about the thread as a whole: id, directory, times, and links to other threads.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::inherit::InheritanceTracker;
use super::record::{CodexPayload, SubagentSource, ThreadSource, word_in};
use crate::agent::{Agent, Origin};
use crate::ids::{hash, uuid};
use crate::session::{
    Cost, Lineage, LineageKind, Outcome, RateLimits, SCHEMA_VERSION, Session, SessionUid, wall_clock_s,
};
use crate::turns::TurnTracker;

/// Limits the links that one log can make us remember.
const LINKS_MAX: usize = 2_000;

/// Who gives a thread its prompts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum PromptAuthor {
    #[default]
    Human,
    /// The thread that started this one.
    Thread,
    /// Another agent, through a plugin.
    OtherAgent,
    /// A program.
    Program,
}

/// A thread that this one started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChildThread {
    id: Box<str>,
    call_id: Option<Box<str>>,
    line: u64,
    label: Option<Box<str>>,
}

/// Facts gathered so far.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CodexFacts {
    origin: Origin,
    pub(super) id: Option<String>,
    /// The oldest thread whose history this log contains.
    root: Option<String>,
    pub(super) prompt_author: PromptAuthor,
    is_subagent: bool,
    /// True if finished items are in the log.
    pub(super) is_paginated: bool,
    parent: Option<(LineageKind, String)>,
    /// The rollout that this one continues.
    base: Option<String>,
    label: Option<String>,
    cwd: Option<String>,
    /// The directory from the context of a turn, used if nothing better is known.
    context_cwd: Option<String>,
    git_branch: Option<String>,
    pub(super) version: Option<String>,
    entrypoint: Option<String>,
    pub(super) model: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    title: Option<String>,
    pub(super) rate_limits: Option<RateLimits>,
    /// The names of threads, from the list of all threads.
    index: Vec<(u64, Box<str>)>,
    children: Vec<ChildThread>,
}

impl CodexFacts {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Reads the first header of the thread. Later headers are copies, or belong to another thread.
    pub(super) fn read_header(&mut self, head: &CodexPayload<'_>) {
        self.id = head.id.get().map(str::to_owned);
        self.cwd = head.cwd.get().map(str::to_owned).or(self.cwd.take());
        self.version = head.cli_version.get().map(str::to_owned);
        self.entrypoint = head.originator.get().map(str::to_owned);
        self.git_branch = head.git.0.as_ref().and_then(|git| git.branch.get()).map(str::to_owned);
        self.base = head
            .history_base
            .0
            .as_ref()
            .and_then(|base| base.thread_id.get())
            .map(str::to_owned);
        self.is_paginated = head.history_mode.or_empty() == "paginated";
        self.root = head.forked_from_id.get().map(str::to_owned);
        let source: ThreadSource<'_> = serde_json::from_str(head.source.json()).unwrap_or_default();
        let subagent: SubagentSource<'_> = serde_json::from_str(source.subagent.json()).unwrap_or_default();
        let spawn = subagent.spawn.0.as_ref();
        let by_source = source.subagent.0.is_some() || source.internal.0.is_some();
        let thread_source = head.thread_source.get();
        self.is_subagent = by_source
            || head.parent_thread_id.get().is_some()
            || matches!(thread_source, Some("subagent" | "memory_consolidation"));
        let parent = head.parent_thread_id.get();
        let parent = parent.or_else(|| spawn.and_then(|spawn| spawn.parent_thread_id.get()));
        let kind = if self.is_subagent {
            LineageKind::Subagent
        } else {
            LineageKind::Fork
        };
        let parent = parent.or(head.forked_from_id.get());
        self.parent = parent.map(|parent| (kind, parent.to_owned()));
        let nickname = head
            .agent_nickname
            .get()
            .or_else(|| spawn.and_then(|spawn| spawn.agent_nickname.get()));
        let role = head
            .agent_role
            .get()
            .or_else(|| spawn.and_then(|spawn| spawn.agent_role.get()));
        self.label = role.or(nickname).map(str::to_owned);
        self.label = self
            .label
            .take()
            .or_else(|| word_in(source.subagent))
            .or_else(|| word_in(source.internal));
        self.prompt_author = match head.originator.or_empty() {
            _ if self.is_subagent => PromptAuthor::Thread,
            "Claude Code" => PromptAuthor::OtherAgent,
            _ if !matches!(thread_source, None | Some("user" | "cli" | "vscode" | "exec")) => PromptAuthor::Program,
            originator if is_program(originator) => PromptAuthor::Program,
            _ => PromptAuthor::Human,
        };
        self.drop_other_names();
    }

    /// Updates the facts from a later header of the same thread.
    pub(super) fn update_from_header(&mut self, head: &CodexPayload<'_>) {
        let branch = head.git.0.as_ref().and_then(|git| git.branch.get());
        for (known, newer) in [
            (&mut self.version, head.cli_version.get()),
            (&mut self.git_branch, branch),
        ] {
            if newer.is_some() {
                *known = newer.map(str::to_owned);
            }
        }
    }

    /// Returns `true` if the header names a thread that this one comes from.
    pub(super) fn has_parent(&self) -> bool {
        self.parent.is_some()
    }

    /// Reads the header of another thread whose history was copied into this log.
    pub(super) fn read_foreign_header(&mut self, head: &CodexPayload<'_>) {
        let Some(id) = head.id.get() else { return };
        self.root = Some(id.to_owned());
        if self.parent.is_none() {
            self.parent = Some((LineageKind::Fork, id.to_owned()));
        }
    }

    /// Records the time of a record.
    pub(super) fn note_time(&mut self, ts: Option<Timestamp>) {
        if let Some(ts) = ts {
            self.started_at = Some(self.started_at.map_or(ts, |known| known.min(ts)));
            self.ended_at = Some(self.ended_at.map_or(ts, |known| known.max(ts)));
        }
    }

    pub(super) fn set_cwd(&mut self, cwd: Option<&str>) {
        if self.cwd.is_none() {
            self.cwd = cwd.map(str::to_owned);
        }
    }

    pub(super) fn set_context_cwd(&mut self, cwd: Option<&str>) {
        if self.cwd.is_none() && self.context_cwd.is_none() {
            self.context_cwd = cwd.map(str::to_owned);
        }
    }

    pub(super) fn set_title(&mut self, title: Option<&str>) {
        if let Some(title) = title {
            self.title = Some(title.to_owned());
        }
    }

    /// Stores the list of thread names. One file lists all threads, and only the newest name of each counts.
    pub(super) fn set_index(&mut self, names: Vec<(u64, Box<str>)>) {
        self.index = names;
        self.drop_other_names();
    }

    /// Drops the names of other threads once the thread's own id is known.
    fn drop_other_names(&mut self) {
        if let Some(id) = &self.id {
            let own = hash(id);
            self.index.retain(|(known, _)| *known == own);
        }
    }

    /// Adds a thread that this one started.
    pub(super) fn add_child(&mut self, id: &str, call_id: Option<&str>, line: u64, label: Option<&str>) {
        match self.children.iter().position(|child| &*child.id == id) {
            Some(at) => {
                let child = &mut self.children[at];
                child.call_id = child.call_id.take().or(call_id.map(Into::into));
                child.label = child.label.take().or(label.map(Into::into));
            }
            None if self.children.len() < LINKS_MAX => self.children.push(ChildThread {
                id: id.into(),
                call_id: call_id.map(Into::into),
                line,
                label: label.map(Into::into),
            }),
            None => {}
        }
    }

    /// Returns a hash of the thread from which all copies of this log's history descend.
    pub(super) fn root(&self) -> u64 {
        match &self.root {
            Some(root) => hash(root),
            None => hash(&self.thread_id()),
        }
    }

    /// Returns the id of the thread: from the log, or else from the file name.
    fn thread_id(&self) -> String {
        match &self.id {
            Some(id) => id.clone(),
            None => parse_file_name(&self.origin.stem).0.to_owned(),
        }
    }

    /// Returns the session as known so far.
    pub(super) fn session(&self, turns: &TurnTracker, inheritance: &InheritanceTracker) -> Session {
        let thread = self.thread_id();
        // A revert continues in another file under the same thread id.
        let rollout = parse_file_name(&self.origin.stem).1.filter(|_| self.id.is_some());
        let native = match rollout {
            Some(rollout) => format!("{thread}_{rollout}"),
            None => thread.clone(),
        };
        let uid = SessionUid::new(Agent::Codex, &native);
        let cwd = self.cwd.as_ref().or(self.context_cwd.as_ref());
        let listed = self.index.iter().find(|(id, _)| *id == hash(&thread));
        Session {
            lineage: self.lineage(&uid, &thread, rollout.is_some()),
            session_uid: uid,
            flavor: Agent::Codex,
            native_session_id: native,
            repo: cwd.and_then(|cwd| last_component(cwd)),
            domain: None,
            cwd: cwd.cloned(),
            git_branch: self.git_branch.clone(),
            model: self.model.clone(),
            started_at: self.started_at,
            ended_at: self.ended_at,
            outcome: Outcome::Unknown,
            cost: Cost {
                wall_clock_s: wall_clock_s(self.started_at, self.ended_at),
                turns: turns.count(),
                retries: turns.retries,
                ..Cost::default()
            },
            task_ref: None,
            source_path: None,
            source_bytes: 0,
            schema_version: SCHEMA_VERSION,
            ingested_at: None,
            analyzed_at: None,
            evicted_at: None,
            agent_version: self.version.clone(),
            entrypoint: self.entrypoint.clone(),
            title: listed.map(|(_, name)| name.to_string()).or_else(|| self.title.clone()),
            is_subagent: self.is_subagent,
            is_hidden: false,
            inherited: inheritance.lines(),
            rate_limits: self.rate_limits.clone(),
        }
    }

    fn lineage(&self, uid: &SessionUid, thread: &str, reverted: bool) -> Vec<Lineage> {
        let name = |native: &str| SessionUid::new(Agent::Codex, native);
        let link = |kind, parent_uid, child_uid| Lineage {
            kind,
            parent_uid,
            child_uid,
            call_id: None,
            line: None,
            label: None,
        };
        let mut lineage = Vec::new();
        if reverted {
            let before = match self.base.as_deref() {
                Some(base) if base != thread => name(&format!("{thread}_{base}")),
                _ => name(thread),
            };
            lineage.push(link(LineageKind::Revert, before, uid.clone()));
        }
        if let Some((kind, parent)) = &self.parent {
            lineage.push(Lineage {
                label: self.label.as_deref().map(Into::into),
                line: Some(1),
                ..link(*kind, name(parent), uid.clone())
            });
        }
        for child in &self.children {
            lineage.push(Lineage {
                call_id: child.call_id.clone(),
                line: Some(child.line),
                label: child.label.clone(),
                ..link(LineageKind::Subagent, uid.clone(), name(&child.id))
            });
        }
        lineage
    }
}

/// Returns the thread and, after a revert, the rollout that a file name contains.
fn parse_file_name(stem: &str) -> (&str, Option<&str>) {
    let stem = stem.strip_suffix(".json").unwrap_or(stem);
    let ends_in_id = |text: &str| {
        let at = text.len().checked_sub(36)?;
        let id = text.get(at..)?;
        uuid(id).map(|_| at)
    };
    let (before, rollout) = match stem.rsplit_once('_') {
        Some((before, rollout)) if ends_in_id(before).is_some() => (before, Some(rollout)),
        _ => (stem, None),
    };
    match ends_in_id(before) {
        Some(at) => (&before[at..], rollout),
        None => (stem, None),
    }
}

/// Returns `true` if this originator is a program, not a person.
fn is_program(originator: &str) -> bool {
    let name = originator.to_ascii_lowercase();
    name.contains("sdk") || name == "prompt_diary"
}

fn last_component(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).find(|component| !component.is_empty())?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse_file_name;

    #[test]
    fn a_file_name_contains_the_thread_and_the_rollout() {
        let id = "019d7e3d-0164-79d1-af76-e4ee6689b94f";
        assert_eq!(
            parse_file_name(&format!("rollout-2026-04-11T20-30-20-{id}")),
            (id, None)
        );
        assert_eq!(
            parse_file_name(&format!("rollout-2026-04-11T20-30-20-{id}_r2")),
            (id, Some("r2"))
        );
        assert_eq!(parse_file_name("full"), ("full", None));
        assert_eq!(parse_file_name("my_log"), ("my_log", None));
    }
}
