//! Facts about the session as a whole: id, directory, times, titles and links to other sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::meta::SubagentMeta;
use super::nodes::RecordGraph;
use super::record::ClaudeRecord;
use crate::agent::{Agent, Origin};
use crate::ids::uuid;
use crate::session::{Cost, Lineage, LineageKind, Outcome, SCHEMA_VERSION, Session, SessionUid, wall_clock_s};
use crate::turns::TurnTracker;
use crate::wording::{NAME_CHARS_MAX, cut};

/// Limits the links that one log can make us remember.
const LINKS_MAX: usize = 2_000;

/// A link to another session, by native id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SessionLink {
    kind: LineageKind,
    other: Box<str>,
    call_id: Option<Box<str>>,
    line: u64,
    label: Option<Box<str>>,
    is_child: bool,
}

/// Facts gathered so far.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClaudeFacts {
    origin: Origin,
    session_id: Option<String>,
    agent_id: Option<String>,
    /// True if the first message is a subagent's, whatever the file is called.
    begins_sidechain: Option<bool>,
    cwd: Option<String>,
    git_branch: Option<String>,
    version: Option<String>,
    entrypoint: Option<String>,
    model: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    custom_title: Option<String>,
    ai_title: Option<String>,
    summary: Option<String>,
    links: Vec<SessionLink>,
    pub(super) meta: SubagentMeta,
}

impl ClaudeFacts {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Records the facts that any record may carry.
    pub(super) fn note_record(&mut self, record: &ClaudeRecord<'_>, ts: Option<Timestamp>) {
        if let Some(ts) = ts {
            self.started_at = Some(self.started_at.map_or(ts, |known| known.min(ts)));
            self.ended_at = Some(self.ended_at.map_or(ts, |known| known.max(ts)));
        }
        keep_first(&mut self.session_id, record.session_id.get().map(name));
        keep_first(&mut self.cwd, record.cwd.get());
        keep_first(&mut self.entrypoint, record.entrypoint.get());
        keep_last(&mut self.git_branch, record.git_branch.get());
        keep_last(&mut self.version, record.version.get());
        if self.begins_sidechain.is_none() && matches!(record.kind.or_empty(), "user" | "assistant") {
            let agent_id = record.agent_id.get().filter(|_| record.is_sidechain.0);
            keep_first(&mut self.agent_id, agent_id.map(name));
            self.begins_sidechain = Some(agent_id.is_some());
        }
    }

    /// Records a title, by the type of its record.
    pub(super) fn read_title(&mut self, record: &ClaudeRecord<'_>, nodes: &RecordGraph) {
        keep_last(&mut self.custom_title, record.custom_title.get());
        keep_last(&mut self.ai_title, record.ai_title.get());
        // Summaries at the start of a log belong to other sessions. Only one that names a known record is ours.
        let ours = record.leaf_uuid.get().is_some_and(|leaf| nodes.seq(leaf).is_some());
        keep_last(&mut self.summary, record.summary.get().filter(|_| ours));
    }

    /// Records a title that the human set with `/rename`.
    pub(super) fn set_title(&mut self, title: &str) {
        keep_last(&mut self.custom_title, Some(title).filter(|title| !title.is_empty()));
    }

    /// Returns the last known agent version.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns `true` if `id` names the session whose directory holds the spilled results.
    pub(super) fn owns_spill_directory(&self, id: &str) -> bool {
        self.native_ids().0 == id
    }

    pub(super) fn set_model(&mut self, model: Option<&str>) {
        keep_last(&mut self.model, model);
    }

    /// Returns `true` if the whole log belongs to a subagent.
    pub(super) fn is_subagent(&self) -> bool {
        self.origin.is_subagent || self.begins_sidechain == Some(true)
    }

    /// Adds a session that this one started.
    pub(super) fn add_child(&mut self, kind: LineageKind, other: &str, call_id: &str, line: u64, label: Option<&str>) {
        let call_id = Some(call_id).filter(|id| !id.is_empty()).map(Into::into);
        self.add_link(SessionLink {
            kind,
            other: other.into(),
            call_id,
            line,
            label: label.map(Into::into),
            is_child: true,
        });
    }

    /// Adds a session that this one comes from.
    pub(super) fn add_parent(&mut self, kind: LineageKind, other: &str, line: u64) {
        self.add_link(SessionLink {
            kind,
            other: other.into(),
            call_id: None,
            line,
            label: None,
            is_child: false,
        });
    }

    fn add_link(&mut self, mut link: SessionLink) {
        link.other = name(&link.other).into();
        link.call_id = link.call_id.map(|id| name(&id).into());
        link.label = link.label.map(|label| name(&label).into());
        let same = |known: &SessionLink| known.other == link.other && known.is_child == link.is_child;
        match self.links.iter().rposition(same) {
            Some(at) => {
                let known = &mut self.links[at];
                known.call_id = known.call_id.take().or(link.call_id);
                known.label = known.label.take().or(link.label);
            }
            None if self.links.len() < LINKS_MAX => self.links.push(link),
            None => {}
        }
    }

    /// Returns the session as known so far.
    pub(super) fn session(&self, turns: &TurnTracker) -> Session {
        let (parent_id, native) = self.native_ids();
        let uid = SessionUid::new(Agent::Claude, &native);
        Session {
            lineage: self.lineage(&parent_id, &uid),
            session_uid: uid,
            flavor: Agent::Claude,
            native_session_id: native,
            repo: self.cwd.as_deref().and_then(last_component),
            domain: None,
            cwd: self.cwd.clone(),
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
            title: self
                .custom_title
                .clone()
                .or_else(|| self.ai_title.clone())
                .or_else(|| self.summary.clone()),
            is_subagent: self.is_subagent(),
            is_hidden: false,
            inherited: None,
            rate_limits: None,
        }
    }

    /// Returns `true` once the session's identity is fixed: later records cannot change it.
    pub(super) fn is_identified(&self) -> bool {
        self.session_id.is_some() && self.begins_sidechain.is_some()
    }

    /// Returns the id of the session the log belongs to, and the id of the log's own session. They differ for a
    /// subagent because its records carry its parent's id.
    fn native_ids(&self) -> (String, String) {
        let stem = self.origin.stem.as_str();
        if self.is_subagent() {
            let id = self.origin.parent_session.as_deref().or(self.session_id.as_deref());
            let parent = id.unwrap_or("unknown").to_owned();
            let named = stem.strip_prefix("agent-").map(str::to_owned);
            let agent = named
                .or_else(|| self.agent_id.clone())
                .unwrap_or_else(|| stem.to_owned());
            let native = format!("{parent}/{agent}");
            return (parent, native);
        }
        let id = match &self.session_id {
            Some(id) if uuid(stem).is_none() => id.clone(),
            _ => stem.to_owned(),
        };
        (id.clone(), id)
    }

    fn lineage(&self, parent_id: &str, uid: &SessionUid) -> Vec<Lineage> {
        let name = |native: &str| SessionUid::new(Agent::Claude, native);
        let parent_link = |kind, parent_uid| Lineage {
            kind,
            parent_uid,
            child_uid: uid.clone(),
            call_id: None,
            line: None,
            label: None,
        };
        let mut lineage = Vec::new();
        if self.is_subagent() {
            let label = self
                .meta
                .description
                .as_deref()
                .or(self.meta.agent_type.as_deref())
                .map(Into::into);
            let call_id = self.meta.call_id.as_deref().map(Into::into);
            lineage.push(Lineage {
                label,
                call_id,
                ..parent_link(LineageKind::Subagent, name(parent_id))
            });
        } else if let Some(id) = self.session_id.as_deref().filter(|id| *id != parent_id) {
            // Old versions resumed a session into a new file that keeps the previous session's id.
            lineage.push(parent_link(LineageKind::Resume, name(id)));
        }
        for link in &self.links {
            let other = match link.kind {
                LineageKind::Subagent => name(&format!("{parent_id}/{}", link.other)),
                // Claude Code runs Codex through its plugin.
                LineageKind::Companion => SessionUid::new(Agent::Codex, &link.other),
                _ => name(&link.other),
            };
            let (parent_uid, child_uid) = if link.is_child {
                (uid.clone(), other)
            } else {
                (other, uid.clone())
            };
            lineage.push(Lineage {
                kind: link.kind,
                parent_uid,
                child_uid,
                call_id: link.call_id.clone(),
                line: Some(link.line),
                label: link.label.clone(),
            });
        }
        lineage
    }
}

/// Shortens a name that is stored with every link.
fn name(text: &str) -> &str {
    cut(text, NAME_CHARS_MAX)
}

/// Sets `known` unless it is already set.
fn keep_first(known: &mut Option<String>, value: Option<&str>) {
    if known.is_none() {
        *known = value.map(str::to_owned);
    }
}

/// Replaces `known` if there is a new value.
fn keep_last(known: &mut Option<String>, value: Option<&str>) {
    if value.is_some() && known.as_deref() != value {
        *known = value.map(str::to_owned);
    }
}

fn last_component(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).find(|component| !component.is_empty())?;
    Some(name.to_owned())
}
