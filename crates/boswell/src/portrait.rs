//! One session from the memory, for text and JSON output: its origin, time and state, its turns, and its subagents.

use jiff::tz::TimeZone;
use memory::kept;
use memory::session_text::{SessionTexts, SourceLog, SourceText, TextLocation};
use memory::store::{Annotations, Decision, SessionCounts, SessionFact, SessionStatus, Store};
use transcript::{Agent, Call, Outcome, Session, SessionEvent, SessionUid, Turn, counted, wall_clock_s};

use crate::answers::session::{FactRecord, PromptRecord, SessionPortrait, SubagentRecord};
use crate::answers::shared::DecisionRecord;
use crate::error::{CommandError, log_error};
use crate::render::text::{self, Head, date_time, plural, told_tokens};
use crate::session_arg::Named;
use crate::text_source::{describe_eviction, describe_problem};
use crate::ui::{FAINT, Ui, escape, in_one_line, measure};

/// Maximum number of characters of a summary in the store.
const SUMMARY_CHARS_MAX: usize = 120;

/// Everything about a session except its events.
pub(crate) struct Portrait {
    pub(crate) session: Session,
    pub(crate) status: SessionStatus,
    pub(crate) said: Annotations,
    pub(crate) turns: Vec<Turn>,
    pub(crate) subagents: Vec<Session>,
    counted: SessionCounts,
    lines: u64,
    faults: u64,
    decisions: Vec<Decision>,
    /// Events that hooks and wrapped commands reported, oldest first.
    facts: Vec<SessionFact>,
    calls: Vec<Call>,
    subagent_calls: Vec<Call>,
    /// Prompts from histories, oldest first.
    pub(crate) prompts: Vec<(Option<i64>, String)>,
    /// The location of its text.
    pub(crate) location: TextLocation,
    /// Why an evicted session cannot be read from its log, as a clause.
    source_problem: Option<String>,
}

impl Portrait {
    pub(crate) fn of(texts: &SessionTexts<'_>, named: &Named) -> Result<Self, CommandError> {
        let store = texts.store;
        let reads = store.reads();
        let uid = named.session_uid.as_str();
        let counted = reads.counted(uid)?;
        let view = reads.view(uid)?;
        let mut session = view.map_or_else(|| bare(store, uid), Ok)?;
        let calls = reads.calls_of(uid)?;
        let subagents = reads.subagents_of(uid)?;
        let mut subagent_calls = Vec::new();
        for child in &subagents {
            subagent_calls.extend(reads.calls_of(child.session_uid.as_str())?);
        }
        session.settle(that_count(&calls).into_iter());
        session.cost.wall_clock_s = wall_clock_s(session.started_at, session.ended_at);
        // The names of directories can contain secrets, too.
        let path = Some(reads.log_path(uid)?).filter(|path| !path.is_empty());
        session.source_path = path.map(|path| texts.masker.mask_str(&path, &mut Vec::new()).into_owned());
        session.source_bytes = counted.bytes;
        let of_log = reads.line_count(uid, "log")?;
        let location = texts.locate(uid)?;
        let source_problem = match &location {
            TextLocation::Evicted(_, problem) => Some(describe_problem(problem, texts.masker)),
            _ => None,
        };
        Ok(Self {
            status: named.status,
            said: reads.annotations_of(uid)?,
            decisions: reads.decisions_of(uid)?,
            facts: reads.facts_of(uid)?,
            turns: reads.turns(uid)?,
            lines: if of_log > 0 {
                of_log
            } else {
                reads.line_count(uid, "chat_history")?
            },
            faults: reads.fault_count(uid)?,
            prompts: reads.prompts_of(uid)?,
            location,
            source_problem,
            session,
            subagents,
            counted,
            calls,
            subagent_calls,
        })
    }

    /// Restores what an eviction removed by reading the session's own log.
    pub(crate) fn use_source(&mut self, source: &SourceText<'_>) -> Result<(), CommandError> {
        let read = source.reading().map_err(log_error)?;
        self.turns.clone_from(&read.reading.turns);
        source.fill_session(&mut self.session).map_err(log_error)
    }

    /// Returns a turn by its number.
    pub(crate) fn turn(&self, turn: Option<u32>) -> Option<&Turn> {
        let at = self.turns.binary_search_by_key(&turn?, |known| known.turn).ok()?;
        self.turns.get(at)
    }

    /// Returns an event with the part of its text that is known without reading its line. A summary that was cut ends
    /// with `…`.
    pub(crate) fn with_summary(&self, event: &SessionEvent) -> SessionEvent {
        let mut event = event.clone();
        let turn = self.turn(event.turn).filter(|turn| turn.trigger_seq == event.seq);
        if let Some(turn) = turn {
            event.summary = turn.prompt.clone();
        } else if event.summary.chars().count() >= SUMMARY_CHARS_MAX {
            event.summary = format!("{}…", event.summary).into();
        }
        event
    }

    /// Returns the lines above the turns.
    pub(crate) fn header(&self, ui: &Ui, zone: &TimeZone) -> Vec<String> {
        let mut told = self.session.clone();
        if let Some(name) = &self.said.name {
            told.title = Some(name.clone());
        }
        let mut tokens = vec![format!("tokens: {}", told_tokens(&that_count(&self.calls)))];
        if !self.subagents.is_empty() {
            let agents = plural(self.subagents.len() as u64, "subagent");
            let all: Vec<&Call> = self.calls.iter().chain(&self.subagent_calls).collect();
            let all: Vec<&Call> = all
                .iter()
                .zip(counted(&all))
                .filter(|(_, counts)| *counts)
                .map(|(call, _)| *call)
                .collect();
            let told = format!("with {agents}: {}", told_tokens(&all));
            tokens.push(ui.paint(FAINT, told).to_string());
        }
        let head = Head {
            told: &told,
            events: self.counted.events,
            lines: self.lines,
            tokens,
        };
        let mut lines = text::header(ui, &head, zone);
        if self.status == SessionStatus::PromptsOnly {
            // Nothing but prompts is known of such a session, so there are no other counts.
            lines.truncate(2);
            lines.push(format!("  {}", plural(self.counted.prompts, "prompt")));
        }
        lines.push(format!("  {}", self.state(zone)));
        lines.extend(self.source_state().map(|state| format!("  {state}")));
        lines.extend(self.facts.iter().filter_map(|fact| told_fact(fact, zone)));
        if !self.said.tags.is_empty() {
            let tags: Vec<String> = self.said.tags.iter().map(|tag| format!("#{}", escape(tag))).collect();
            lines.push(format!("  tags: {}", tags.join(" ")));
        }
        if let Some(note) = &self.said.note {
            let mut note = note.lines().map(escape);
            lines.push(format!("  note: {}", note.next().unwrap_or_default()));
            lines.extend(note.map(|line| format!("        {line}")));
        }
        for decision in &self.decisions {
            let words = decision.text.split_whitespace().collect::<Vec<_>>().join(" ");
            lines.push(format!("  decided: {}", escape(&words)));
        }
        lines
    }

    /// Returns the line about the state of the session's text.
    fn state(&self, zone: &TimeZone) -> String {
        let mut state = vec![match self.status {
            SessionStatus::Kept => format!("kept: {} of logs", measure::bytes(self.counted.bytes)),
            SessionStatus::Evicted => self.describe_evicted(zone),
            SessionStatus::PromptsOnly => "prompts only: its log was deleted before the first sweep".to_owned(),
        }];
        if self.faults > 0 {
            state.push(plural(self.faults, "fault"));
        }
        state.join(" · ")
    }

    /// Returns when and why the raw text was evicted.
    fn describe_evicted(&self, zone: &TimeZone) -> String {
        match &self.location {
            TextLocation::Source(SourceLog { eviction, .. }) | TextLocation::Evicted(eviction, _) => {
                format!("raw text {}", describe_eviction(eviction, zone))
            }
            TextLocation::Memory | TextLocation::PromptsOnly => "evicted".to_owned(),
        }
    }

    /// Returns whether the text of an evicted session is read from its log, or why it is not.
    fn source_state(&self) -> Option<String> {
        match &self.location {
            TextLocation::Source(_) => Some("its text is read from its log".to_owned()),
            TextLocation::Evicted(..) => self.source_problem.clone(),
            TextLocation::Memory | TextLocation::PromptsOnly => None,
        }
    }

    /// Returns the prompts of a session without a log, from an agent's history.
    pub(crate) fn told_prompts(&self, ui: &Ui, zone: &TimeZone) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, text) in &self.prompts {
            let at = at.and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
            let at = at.map(|at| date_time(at, zone)).unwrap_or_default();
            let mut words = text.lines().map(|line| escape(line).into_owned());
            let first = words.next().unwrap_or_default();
            lines.push(format!("{}  {first}", ui.paint(FAINT, format_args!("{at:19}"))));
            lines.extend(words.map(|line| format!("{:21}{line}", "")));
        }
        lines
    }

    /// Returns the lines about subagents, with the commands that show them.
    pub(crate) fn told_subagents(&self, ui: &Ui) -> Vec<String> {
        if self.subagents.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new(), ui.paint(crate::ui::HEADING, "Subagents").to_string()];
        for child in &self.subagents {
            let about = about(child).map(|about| in_one_line(&about)).unwrap_or_default();
            let line = format!("  boswell show {}", escape(child.session_uid.as_str()));
            let room = ui
                .columns()
                .map_or(usize::MAX, |all| all.saturating_sub(measure::width(&line) + 2));
            let about = ui.paint(FAINT, measure::fit(&about, room)).to_string();
            lines.push(format!("{line}  {about}").trim_end().to_owned());
        }
        lines
    }

    /// Returns the session for `--json`, with what is known besides its log.
    pub(crate) fn record(&self, outcome: Outcome) -> SessionPortrait<'_> {
        SessionPortrait {
            session: Session {
                outcome,
                ..self.session.clone()
            },
            status: self.status.as_str(),
            name: self.said.name.as_deref(),
            note: self.said.note.as_deref(),
            tags: &self.said.tags,
            decisions: self.decisions.iter().map(DecisionRecord::from).collect(),
            facts: self.facts.iter().map(FactRecord::from).collect(),
            lines: self.lines,
            events: self.counted.events,
            faults: self.faults,
            prompts: self.counted.prompts,
        }
    }

    pub(crate) fn subagent_records(&self) -> Vec<SubagentRecord<'_>> {
        let records = self.subagents.iter().map(|child| SubagentRecord {
            session_uid: child.session_uid.as_str(),
            about: about(child),
            started_at: child.started_at,
            ended_at: child.ended_at,
            turns: child.cost.turns,
            open: format!("boswell show {}", child.session_uid),
        });
        records.collect()
    }

    pub(crate) fn prompt_records(&self) -> Vec<PromptRecord<'_>> {
        let at = |at: Option<i64>| at.and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
        let prompts = self.prompts.iter();
        prompts
            .map(|(micros, text)| PromptRecord { at: at(*micros), text })
            .collect()
    }
}

/// Describes a reported event, or returns `None` if it only says that the session continued.
fn told_fact(fact: &SessionFact, zone: &TimeZone) -> Option<String> {
    let at = date_time(fact.at, zone);
    let words = fact.error.as_deref().or(fact.reason.as_deref());
    let words = words.map(|words| escape(words).replace('_', " "));
    let told = match (fact.event.as_str(), fact.exit_code) {
        ("exit", Some(code)) => format!("exit status {code}"),
        ("session_end", _) => format!("ended: {}", words.unwrap_or_else(|| "no reason given".to_owned())),
        ("stop_failure", _) => format!("failed: {}", words.unwrap_or_else(|| "no reason given".to_owned())),
        ("stop_cancelled", _) => format!("stopped: {}", words?),
        _ => return None,
    };
    Some(format!("  {told} ({at})"))
}

/// Returns the purpose of a subagent.
fn about(child: &Session) -> Option<String> {
    let own = child.lineage.iter().filter(|link| link.child_uid == child.session_uid);
    let label = own.filter_map(|link| link.label.as_deref()).next();
    child.title.clone().or_else(|| label.map(str::to_owned))
}

fn that_count(calls: &[Call]) -> Vec<&Call> {
    let calls: Vec<&Call> = calls.iter().collect();
    let counts = counted(&calls);
    calls
        .into_iter()
        .zip(counts)
        .filter(|(_, counts)| *counts)
        .map(|(call, _)| call)
        .collect()
}

/// Returns a session without a view, as the list of sessions knows it.
fn bare(store: &Store, uid: &str) -> Result<Session, CommandError> {
    let agent: Agent = kept::agent_of(uid)?;
    let listed = store.reads().listed()?;
    let listed = listed.into_iter().find(|session| session.session_uid == uid);
    let native = uid.split_once(':').map_or(uid, |(_, native)| native);
    let at = |micros: Option<i64>| micros.and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
    Ok(Session {
        session_uid: SessionUid::new(agent, native),
        flavor: agent,
        native_session_id: native.to_owned(),
        repo: listed
            .as_ref()
            .and_then(|session| session.repo.as_deref().map(str::to_owned)),
        domain: None,
        cwd: listed
            .as_ref()
            .and_then(|session| session.cwd.as_deref().map(str::to_owned)),
        git_branch: None,
        model: None,
        started_at: at(listed.as_ref().and_then(|session| session.started_micros)),
        ended_at: at(listed.as_ref().and_then(|session| session.ended_micros)),
        outcome: Outcome::Unknown,
        cost: transcript::Cost::default(),
        task_ref: None,
        source_path: None,
        source_bytes: 0,
        schema_version: transcript::SCHEMA_VERSION,
        ingested_at: None,
        analyzed_at: None,
        evicted_at: None,
        agent_version: None,
        entrypoint: None,
        title: listed.and_then(|session| session.title),
        is_subagent: false,
        is_hidden: false,
        lineage: Vec::new(),
        inherited: None,
        rate_limits: None,
    })
}
