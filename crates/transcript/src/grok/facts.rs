//! Facts about the session as a whole: from the log's own rows, and from the small files beside it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::said::PromptSource;
use crate::agent::{Agent, Origin};
use crate::event::PartKind;
use crate::ids::uuid;
use crate::session::{
    Cost, Inherited, InheritedRule, Lineage, LineageKind, Outcome, SCHEMA_VERSION, Session, SessionUid, wall_clock_s,
};
use crate::turns::TurnTracker;
use crate::wire::{WireFlag, WireNumber, WireText, wire};

/// Limits the links that one log can make us remember.
const LINKS_MAX: usize = 2_000;

/// A session that this one started.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChildSession {
    id: Box<str>,
    /// From the log.
    line: Option<u64>,
    label: Option<Box<str>>,
    /// From the subagent's metadata file.
    file_label: Option<Box<str>>,
}

/// The contents of `summary.json`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SessionSummary {
    id: Option<String>,
    cwd: Option<String>,
    title: Option<String>,
    model: Option<String>,
    branch: Option<String>,
    kind: Option<String>,
    parent: Option<String>,
    created_at: Option<Timestamp>,
    last_active_at: Option<Timestamp>,
    forked_at: Option<Timestamp>,
    inherited_items: Option<u64>,
    is_hidden: bool,
}

/// Facts gathered so far.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GrokFacts {
    origin: Origin,
    session_id: Option<String>,
    model: Option<String>,
    /// The model from `events.jsonl`, if there is no log.
    model_beside: Option<String>,
    title: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    summary: SessionSummary,
    /// `is_non_interactive` of `prompt_context.json`.
    is_headless: bool,
    build: Option<String>,
    working_directory: Option<String>,
    primary_model: Option<String>,
    children: Vec<ChildSession>,
    /// The session whose rows were copied here, and the first copied line.
    forked_from: Option<(String, u64)>,
    inherited: Option<Inherited>,
}

impl GrokFacts {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Reads a file beside the log. Fields that cannot be parsed stay empty.
    pub(super) fn read_companion(&mut self, part: PartKind, bytes: &[u8]) {
        match part {
            PartKind::Summary => self.summary = SessionSummary::parse(bytes),
            PartKind::PromptContext => {
                let file: PromptContextFile<'_> = serde_json::from_slice(bytes).unwrap_or_default();
                self.is_headless = file.is_non_interactive.0;
                self.build = owned(&file.build);
                self.working_directory = owned(&file.working_directory);
            }
            PartKind::Signals => {
                let file: SignalsFile<'_> = serde_json::from_slice(bytes).unwrap_or_default();
                self.primary_model = owned(&file.primary_model);
            }
            PartKind::Meta => {
                let file: GrokSubagentFile<'_> = serde_json::from_slice(bytes).unwrap_or_default();
                if let Some(id) = file.child.get() {
                    let label = file.description.get().or(file.kind.get());
                    if let Some(child) = self.child_entry(id) {
                        child.file_label = label.map(Into::into);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns who writes the prompts of this session.
    pub(super) fn prompt_source(&self) -> PromptSource {
        if self.is_subagent() {
            PromptSource::Agent
        } else if self.is_headless {
            PromptSource::Program
        } else {
            PromptSource::Human
        }
    }

    /// Returns the facts from companions that decide how lines are read.
    pub(super) fn reading_conditions(&self) -> impl PartialEq + use<> {
        (self.prompt_source(), self.summary.forked_at, self.inherited_items())
    }

    pub(super) fn is_human(&self) -> bool {
        self.prompt_source() == PromptSource::Human
    }

    pub(super) fn is_subagent(&self) -> bool {
        self.summary
            .kind
            .as_deref()
            .is_some_and(|kind| kind.starts_with("subagent"))
    }

    pub(super) fn set_session_id(&mut self, value: Option<&str>) {
        if self.session_id.is_none() {
            self.session_id = value.map(str::to_owned);
        }
    }

    pub(super) fn set_model(&mut self, value: Option<&str>) {
        keep_last(&mut self.model, value);
    }

    pub(super) fn set_model_beside(&mut self, value: Option<&str>) {
        keep_last(&mut self.model_beside, value);
    }

    pub(super) fn known_model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn set_title(&mut self, value: Option<&str>) {
        keep_last(&mut self.title, value);
    }

    pub(super) fn note_time(&mut self, ts: Option<Timestamp>) {
        if let Some(ts) = ts {
            self.started_at = Some(self.started_at.map_or(ts, |known| known.min(ts)));
            self.ended_at = self.ended_at.max(Some(ts));
        }
    }

    /// Adds a session that this one started, as reported by a row of the log.
    pub(super) fn add_child(&mut self, id: &str, line: u64, label: Option<&str>) {
        if let Some(child) = self.child_entry(id) {
            child.line = child.line.or(Some(line));
            child.label = child.label.take().or(label.map(Into::into));
        }
    }

    /// Returns the session that this one started, adding it if needed. They are sorted by id because files and rows
    /// arrive in any order.
    fn child_entry(&mut self, id: &str) -> Option<&mut ChildSession> {
        let at = match self.children.binary_search_by(|known| (*known.id).cmp(id)) {
            Ok(at) => at,
            Err(at) if self.children.len() < LINKS_MAX => {
                let child = ChildSession {
                    id: id.into(),
                    ..ChildSession::default()
                };
                self.children.insert(at, child);
                at
            }
            Err(_) => return None,
        };
        self.children.get_mut(at)
    }

    /// Stores the session whose rows were copied here.
    pub(super) fn set_parent(&mut self, parent: &str, line: u64) {
        if self.forked_from.is_none() {
            self.forked_from = Some((parent.to_owned(), line));
        }
    }

    /// Returns `true` if `ts` is before this session was forked.
    pub(super) fn is_before_fork(&self, ts: Option<Timestamp>) -> bool {
        self.summary
            .forked_at
            .zip(ts)
            .is_some_and(|(forked_at, ts)| ts < forked_at)
    }

    /// Returns the number of items of the model's context that came from the parent.
    pub(super) fn inherited_items(&self) -> u64 {
        self.summary.inherited_items.unwrap_or_default()
    }

    /// Marks a line as copied and returns `true`. Copied lines are together at the start of a log.
    pub(super) fn mark_inherited(&mut self, rule: InheritedRule, line: u64) -> bool {
        match &mut self.inherited {
            Some(inherited) => inherited.last_line = line,
            None => {
                self.inherited = Some(Inherited {
                    rule,
                    first_line: line,
                    last_line: line,
                });
            }
        }
        true
    }

    /// Returns the session as known so far.
    pub(super) fn session(&self, turns: &TurnTracker) -> Session {
        let native = self.native_id();
        let uid = SessionUid::new(Agent::Grok, &native);
        let summary = &self.summary;
        let created = summary.created_at.or(self.started_at);
        let started_at = created.map(|ts| self.started_at.map_or(ts, |known| known.min(ts)));
        let ended_at = summary.last_active_at.max(self.ended_at);
        let cwd = self.cwd();
        Session {
            lineage: self.lineage(&uid),
            session_uid: uid,
            flavor: Agent::Grok,
            native_session_id: native,
            repo: cwd.as_deref().and_then(last_component),
            domain: None,
            cwd,
            git_branch: summary.branch.clone(),
            model: self
                .model_beside
                .clone()
                .or(self.model.clone())
                .or(summary.model.clone())
                .or(self.primary_model.clone()),
            started_at,
            ended_at,
            outcome: Outcome::Unknown,
            cost: Cost {
                wall_clock_s: wall_clock_s(started_at, ended_at),
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
            agent_version: self.build.clone(),
            entrypoint: self.is_headless.then(|| "headless".to_owned()),
            title: summary.title.clone().or(self.title.clone()),
            is_subagent: self.is_subagent(),
            // Grok does not list subagents.
            is_hidden: summary.is_hidden || self.is_subagent(),
            inherited: self.inherited,
            rate_limits: None,
        }
    }

    /// Returns the session's id. The directory is named after it, but a copy of a log may be in any directory.
    fn native_id(&self) -> String {
        let directory = self.origin.directory.as_deref();
        let id_in_records = self.session_id.as_deref().or(self.summary.id.as_deref());
        match directory {
            Some(directory) if uuid(directory).is_some() => directory,
            _ => id_in_records.or(directory).unwrap_or(&self.origin.stem),
        }
        .to_owned()
    }

    fn cwd(&self) -> Option<String> {
        let group = || self.origin.group.as_deref().and_then(decode_directory);
        self.summary
            .cwd
            .clone()
            .or_else(group)
            .or(self.working_directory.clone())
    }

    fn lineage(&self, uid: &SessionUid) -> Vec<Lineage> {
        let name = |native: &str| SessionUid::new(Agent::Grok, native);
        let kind = if self.is_subagent() {
            LineageKind::Subagent
        } else {
            LineageKind::Fork
        };
        let forked = self
            .forked_from
            .as_ref()
            .map(|(parent, line)| (parent.as_str(), Some(*line)));
        let parent_in_summary = self.summary.parent.as_deref().map(|parent| (parent, None));
        let mut lineage = Vec::new();
        if let Some((parent, line)) = parent_in_summary.or(forked) {
            lineage.push(Lineage {
                kind,
                parent_uid: name(parent),
                child_uid: uid.clone(),
                call_id: None,
                line,
                label: None,
            });
        }
        for child in &self.children {
            lineage.push(Lineage {
                kind: LineageKind::Subagent,
                parent_uid: uid.clone(),
                child_uid: name(&child.id),
                call_id: None,
                line: child.line,
                label: child.label.clone().or(child.file_label.clone()),
            });
        }
        lineage
    }
}

impl SessionSummary {
    fn parse(bytes: &[u8]) -> Self {
        let file: SummaryFile<'_> = serde_json::from_slice(bytes).unwrap_or_default();
        let time = |text: &WireText<'_>| text.get().and_then(|text| text.parse().ok());
        let first = |texts: &[&WireText<'_>]| texts.iter().find_map(|text| owned(text));
        Self {
            id: first(&[&file.info.id, &file.id]),
            cwd: first(&[&file.info.cwd, &file.cwd]),
            title: first(&[
                &file.generated_title,
                &file.generated_title_camel,
                &file.session_summary,
                &file.title,
            ]),
            model: first(&[&file.current_model_id, &file.current_model_id_camel]),
            branch: owned(&file.head_branch),
            kind: first(&[&file.session_kind, &file.session_kind_camel]),
            parent: first(&[&file.parent_session_id, &file.parent_session_id_camel]),
            created_at: time(&file.created_at).or(time(&file.created_at_camel)),
            last_active_at: [&file.last_active_at, &file.updated_at, &file.updated_at_camel]
                .into_iter()
                .find_map(time),
            forked_at: time(&file.forked_at),
            inherited_items: file.inherited_prefix_len.0,
            is_hidden: file.hidden.0,
        }
    }
}

fn owned(text: &WireText<'_>) -> Option<String> {
    text.get().map(str::to_owned)
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

/// Decodes the percent-encoded path in the name of a directory. Returns `None` for a path that was too long, because
/// then the name is only a hash.
pub(crate) fn decode_directory(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((plain, code)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(u8::from_str_radix(code.get(..2)?, 16).ok()?);
        rest = &code[2..];
    }
    if bytes.is_empty() {
        return None;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

wire! {
    struct SummaryFile<'a> {
        info: SummaryInfo<'a> = "info",
        id: WireText<'a> = "id",
        cwd: WireText<'a> = "cwd",
        session_summary: WireText<'a> = "session_summary",
        generated_title: WireText<'a> = "generated_title",
        generated_title_camel: WireText<'a> = "generatedTitle",
        title: WireText<'a> = "title",
        current_model_id: WireText<'a> = "current_model_id",
        current_model_id_camel: WireText<'a> = "currentModelId",
        head_branch: WireText<'a> = "head_branch",
        session_kind: WireText<'a> = "session_kind",
        session_kind_camel: WireText<'a> = "sessionKind",
        parent_session_id: WireText<'a> = "parent_session_id",
        parent_session_id_camel: WireText<'a> = "parentSessionId",
        created_at: WireText<'a> = "created_at",
        created_at_camel: WireText<'a> = "createdAt",
        updated_at: WireText<'a> = "updated_at",
        updated_at_camel: WireText<'a> = "updatedAt",
        last_active_at: WireText<'a> = "last_active_at",
        forked_at: WireText<'a> = "forked_at",
        inherited_prefix_len: WireNumber = "inherited_prefix_len",
        hidden: WireFlag = "hidden",
    }
}

wire! {
    struct SummaryInfo<'a> {
        id: WireText<'a> = "id",
        cwd: WireText<'a> = "cwd",
    }
}

wire! {
    struct PromptContextFile<'a> {
        is_non_interactive: WireFlag = "is_non_interactive",
        build: WireText<'a> = "build_timestamp_utc",
        working_directory: WireText<'a> = "working_directory",
    }
}

wire! {
    struct SignalsFile<'a> {
        primary_model: WireText<'a> = "primaryModelId",
    }
}

wire! {
    /// `subagents/<id>/meta.json`.
    struct GrokSubagentFile<'a> {
        child: WireText<'a> = "child_session_id",
        kind: WireText<'a> = "subagent_type",
        description: WireText<'a> = "description",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_name_decodes_to_its_path() {
        assert_eq!(decode_directory("%2Fsrv%2Fmy%20app").as_deref(), Some("/srv/my app"));
        assert_eq!(decode_directory("C%3A%5Capp").as_deref(), Some("C:\\app"));
        assert_eq!(decode_directory("srv-app-0123456789abcdef"), None);
        assert_eq!(decode_directory("%2"), None);
        assert_eq!(decode_directory("%é"), None);
    }

    #[test]
    fn a_summary_parses_nested_flat_and_damaged() {
        let nested =
            SessionSummary::parse(br#"{"info":{"id":"s","cwd":"/w"},"session_summary":"words","generated_title":""}"#);
        assert_eq!((nested.id.as_deref(), nested.cwd.as_deref()), (Some("s"), Some("/w")));
        assert_eq!(nested.title.as_deref(), Some("words"));
        let flat = SessionSummary::parse(
            br#"{"id":"s","cwd":"/w","createdAt":"2026-08-16T04:08:29Z","sessionKind":"subagent"}"#,
        );
        assert_eq!(
            (flat.cwd.as_deref(), flat.kind.as_deref()),
            (Some("/w"), Some("subagent"))
        );
        assert!(flat.created_at.is_some());
        assert_eq!(SessionSummary::parse(b"{\"info\":"), SessionSummary::default());
    }
}
