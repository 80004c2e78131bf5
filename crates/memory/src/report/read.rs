//! Reads the copied sessions of a workspace into facts. Each log is read twice: once for its events, and once for the
//! few texts that are needed in full. Texts are masked even if the copies are verbatim.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use transcript::{Actor, Agent, Call, Kind, LineageKind, PartKind, SessionEvent, SessionUid, counted, runs_commands};

use super::facts::{ChosenAnswer, Facts, LineText, ProjectFacts, SessionFacts, SubagentFacts, TurnFacts, TurnStep};
use super::fields::UnreadSession;
use super::lead_in::read_lead_in;
use super::words::prompt_text;
use super::workspace::{IndexRow, ProjectFolder, Workspace};
use super::{ReportRequest, lists};
use crate::active::ActiveTime;
use crate::digest::verdict;
use crate::findings::Findings;
use crate::logs::{self, LogReading};
use crate::steps::{Step, StepJoiner};
use crate::usage;

/// Each session gets its own range of event numbers, so that numbers are unique within a day.
const SEQS_PER_SESSION: u64 = 1 << 32;
/// Maximum number of bytes of a quoted text that are examined.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Reads all sessions of a workspace.
pub(super) fn read_facts(workspace: &Workspace, request: &ReportRequest<'_>) -> Facts {
    let mut facts = Facts::default();
    let names = workspace.names();
    let mut read: Vec<ReadSession> = Vec::new();
    for (project, (folder, name)) in workspace.projects.iter().zip(names).enumerate() {
        for row in &folder.rows {
            match read_session(folder, row, project, workspace.metadata.window(), request) {
                Ok(session) => read.push(session),
                Err(reason) => facts.unread.push(UnreadSession {
                    project: name.clone(),
                    session_ref: row.session_ref.clone(),
                    reason,
                }),
            }
        }
        facts.projects.push(ProjectFacts {
            key: folder.key.clone(),
            label: folder.label.clone(),
            name,
        });
    }
    let start = |session: &ReadSession| session.turns.first().and_then(|turn| turn.started_at);
    read.sort_by(|a, b| {
        let order = |session: &ReadSession| {
            (
                session.session.project,
                start(session),
                session.session.session_ref.clone(),
            )
        };
        order(a).cmp(&order(b))
    });
    price_turns(&mut read, request);
    for session in read {
        facts.add_session(session);
    }
    facts
}

/// A session whose turns and steps are numbered from 0.
struct ReadSession {
    session: SessionFacts,
    turns: Vec<TurnFacts>,
    findings: Findings,
    /// The calls of the session and its subagents, each with the index of its turn.
    calls: Vec<(usize, Call)>,
}

impl Facts {
    /// Adds a session, and renumbers its turns and steps.
    fn add_session(&mut self, read: ReadSession) {
        let (number, first) = (self.sessions.len(), self.turns.len());
        let seq = |seq: u64| number as u64 * SEQS_PER_SESSION + seq;
        for (at, mut turn) in read.turns.into_iter().enumerate() {
            turn.session = number;
            let place = u32::try_from(first + at).ok();
            for step in &mut turn.steps {
                let (own, of) = match step {
                    TurnStep::Ran(ran) => (&mut ran.seq, &mut ran.turn),
                    TurnStep::Event(event) => (&mut event.seq, &mut event.turn),
                };
                (*own, *of) = (seq(*own), place);
            }
            for ran in &mut turn.lead_in {
                ran.seq = seq(ran.seq);
            }
            self.turns.push(turn);
        }
        let findings = read.findings;
        self.findings
            .tests
            .extend(findings.tests.into_iter().map(|(at, passed)| (seq(at), passed)));
        let commits = findings.commits.into_iter();
        self.findings
            .commits
            .extend(commits.map(|(at, texts)| (seq(at), texts)));
        self.findings.offers.extend(findings.offers.into_iter().map(seq));
        self.sessions.push(read.session);
    }
}

/// Computes the cost of each turn. A call that occurs in several logs counts once.
fn price_turns(read: &mut [ReadSession], request: &ReportRequest<'_>) {
    let calls: Vec<&Call> = read
        .iter()
        .flat_map(|session| &session.calls)
        .map(|(_, call)| call)
        .collect();
    let counts = counted(&calls);
    let mut counts = counts.into_iter();
    for session in read {
        let own: Vec<_> = session
            .calls
            .iter()
            .filter(|_| counts.next().unwrap_or_default())
            .collect();
        for (at, turn) in session.turns.iter_mut().enumerate() {
            let calls = own.iter().filter(|(of, _)| *of == at).map(|(_, call)| call);
            turn.cost = usage::sum_calls(calls, request.prices);
        }
    }
}

fn read_session(
    folder: &ProjectFolder,
    row: &IndexRow,
    project: usize,
    window: Option<(Timestamp, Timestamp)>,
    request: &ReportRequest<'_>,
) -> Result<ReadSession, String> {
    let agent = row.agent().ok_or_else(|| "unknown agent".to_owned())?;
    let path = folder
        .file(&row.session_path)
        .ok_or_else(|| "its path points outside of the workspace".to_owned())?;
    let log = logs::read_log(&path, Some(agent), request.masker).map_err(|error| error.reason())?;
    let mut turns: Vec<TurnFacts> = row
        .turns
        .iter()
        .map(|turn| TurnFacts {
            turn_ref: turn.turn_ref.clone(),
            first_line: turn.turn_start_line,
            last_line: turn.turn_end_line,
            has_next: log
                .reading
                .turns
                .iter()
                .any(|other| other.start_line > turn.turn_end_line),
            is_rewound: log
                .reading
                .turns
                .iter()
                .any(|other| other.start_line == turn.turn_start_line && other.rewound),
            ..TurnFacts::default()
        })
        .collect();
    let main = log.parts.first().map_or(PartKind::Log, |part| part.kind);
    let own = log.reading.events.iter().filter(|event| event.part == main);
    assign_steps(own, &mut turns);
    share_active_time(&log, window, &mut turns);
    let lead_in = read_lead_in(&log, window, &turns);
    let mut calls: Vec<(usize, Call)> = lead_in.calls.into_iter().map(|call| (0, call)).collect();
    if let Some(first) = turns.first_mut() {
        first.lead_in = lead_in.ran;
    }
    for call in &log.reading.calls {
        if let Some(at) = turn_at(&turns, call.line) {
            calls.push((at, call.clone()));
        }
    }
    read_subagents(folder, row, request, &mut turns, &mut calls);
    let findings = read_texts(&log, request, &mut turns)?;
    Ok(ReadSession {
        session: session_facts(&log, row, agent, project),
        turns,
        findings,
        calls,
    })
}

fn session_facts(log: &LogReading, row: &IndexRow, agent: Agent, project: usize) -> SessionFacts {
    let uid = SessionUid::new(agent, &row.source_session_id).as_str().to_owned();
    let session = log.reading.session.as_ref();
    let continues_work =
        |kind: LineageKind| matches!(kind, LineageKind::Fork | LineageKind::Resume | LineageKind::Revert);
    let lineage = session.into_iter().flat_map(|session| &session.lineage);
    let parents = lineage
        .filter(|link| continues_work(link.kind) && link.child_uid.as_str() == uid)
        .map(|link| link.parent_uid.as_str().to_owned())
        .collect();
    SessionFacts {
        project,
        session_ref: row.session_ref.clone(),
        agent,
        id: row.source_session_id.clone(),
        uid,
        cwd: session.and_then(|session| session.cwd.clone()),
        title: session.and_then(|session| session.title.clone()),
        parents,
    }
}

/// Returns the index of the turn that contains a line.
fn turn_at(turns: &[TurnFacts], line: u64) -> Option<usize> {
    let after = turns.partition_point(|turn| turn.first_line <= line);
    let at = after.checked_sub(1)?;
    (line <= turns[at].last_line).then_some(at)
}

/// Assigns to each turn its steps and its start and end times.
fn assign_steps<'e>(events: impl Iterator<Item = &'e SessionEvent>, turns: &mut [TurnFacts]) {
    let mut steps = StepJoiner::default();
    let take = |turns: &mut [TurnFacts], step: Step<'_>| {
        let line = match step {
            Step::Call(ran) => ran.line,
            Step::Event(event) => event.line,
        };
        let Some(at) = turn_at(turns, line) else { return };
        match step {
            Step::Call(ran) if ran.is_sidechain => turns[at].sidechain_calls.push(ran.clone()),
            Step::Call(ran) => turns[at].steps.push(TurnStep::Ran(ran.clone())),
            Step::Event(event) if !event.is_sidechain && is_reportable(event) => {
                turns[at].steps.push(TurnStep::Event(Box::new(event.clone())));
            }
            Step::Event(_) => {}
        }
    };
    for event in events {
        if let (Some(at), Some(ts)) = (turn_at(turns, event.line), event.ts) {
            let turn = &mut turns[at];
            turn.started_at.get_or_insert(ts);
            // Lifecycle records are written when a log is opened again, so they do not extend the turn.
            if event.kinds.first() != Kind::Lifecycle || turn.ended_at.is_none() {
                turn.ended_at = Some(turn.ended_at.map_or(ts, |ended| ended.max(ts)));
            }
        }
        steps.take(event, &mut |step| take(turns, step));
    }
    steps.end(&mut |step| take(turns, step));
}

/// Splits the session's active time on this day between its turns. Each turn gets the time up to the next turn.
fn share_active_time(log: &LogReading, window: Option<(Timestamp, Timestamp)>, turns: &mut [TurnFacts]) {
    let inherited = log.reading.session.as_ref().and_then(|session| session.inherited);
    let mut events: Vec<&SessionEvent> = log.reading.events.iter().collect();
    events.sort_by_key(|event| event.seq);
    let active = ActiveTime::from_events(events, inherited);
    let active = window.map_or(active.clone(), |(start, end)| active.within(start, end));
    let starts: Vec<Option<Timestamp>> = turns.iter().map(|turn| turn.started_at).collect();
    for (turn, part) in turns.iter_mut().zip(active.split_at(&starts)) {
        turn.active = part;
    }
}

/// Thinking is not reported, and results are part of their calls.
fn is_reportable(event: &SessionEvent) -> bool {
    !event.kinds.has(Kind::Thinking) && !event.kinds.has(Kind::ToolResult)
}

/// Reads the subagents that have their own logs.
fn read_subagents(
    folder: &ProjectFolder,
    row: &IndexRow,
    request: &ReportRequest<'_>,
    turns: &mut [TurnFacts],
    calls: &mut Vec<(usize, Call)>,
) {
    let mut known = HashSet::new();
    for (at, turn) in row.turns.iter().enumerate() {
        for child in &turn.target_subagents {
            // A child that two turns name is only counted in the first one.
            if !known.insert(&child.session_file) {
                continue;
            }
            let lines = [child.parent_spawn_line, child.parent_result_line];
            let inside: BTreeSet<u64> = lines
                .into_iter()
                .flatten()
                .filter(|line| (turn.turn_start_line..=turn.turn_end_line).contains(line))
                .collect();
            let mut facts = SubagentFacts {
                role: child.agent_role.clone(),
                first_line: inside.first().copied().unwrap_or(turn.turn_start_line),
                last_line: inside.last().copied().unwrap_or(turn.turn_end_line),
                ..SubagentFacts::default()
            };
            let path = folder.file(&format!("{}/{}", row.subagent_path, child.session_file));
            let log = path.and_then(|path| logs::read_log(&path, None, request.masker).ok());
            if let Some(log) = log {
                facts.tool_calls = log
                    .reading
                    .events
                    .iter()
                    .filter(|event| event.kinds.has(Kind::ToolCall))
                    .count() as u64;
                let edits = log.reading.events.iter().filter(|event| event.success != Some(false));
                facts.files = edits.flat_map(|event| event.files.iter().cloned()).collect();
                facts.cwd = log.reading.session.as_ref().and_then(|session| session.cwd.clone());
                calls.extend(log.reading.calls.iter().map(|call| (at, call.clone())));
            }
            turns[at].subagents.push(facts);
        }
    }
}

/// Why the text of an event is needed.
enum WantedText {
    Prompt(usize),
    Reply(usize),
    Test(u64),
    Command(u64),
    Output(u64),
    List(usize),
    Question,
}

/// Reads the texts that are needed in full.
fn read_texts(log: &LogReading, request: &ReportRequest<'_>, turns: &mut [TurnFacts]) -> Result<Findings, String> {
    let wanted = collect_wanted(turns);
    let mut findings = Findings::default();
    let mut question: Option<String> = None;
    let main = log.parts.first().map_or(PartKind::Log, |part| part.kind);
    let is_wanted = |event: &SessionEvent| event.part == main && wanted.contains_key(&(event.line, event.block));
    let mut questions: HashMap<u64, String> = HashMap::new();
    let shown = logs::each_text(log, request.masker, is_wanted, |event, text| {
        let text = text.unwrap_or_default();
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX.min(text.len()))];
        for want in wanted.get(&(event.line, event.block)).into_iter().flatten() {
            match want {
                WantedText::Prompt(at) if event.trigger => {
                    turns[*at].prompt = LineText {
                        line: event.line,
                        text: prompt_text(&event.summary, text),
                    };
                }
                WantedText::Reply(at) if event.kinds.has(Kind::AssistantMsg) => {
                    turns[*at].reply = Some(LineText {
                        line: event.line,
                        text: text.to_owned(),
                    });
                }
                WantedText::Test(seq) if event.kinds.has(Kind::ToolResult) => {
                    findings.tests.extend(verdict(text).map(|passed| (*seq, passed)));
                }
                WantedText::Command(seq) if event.seq == *seq => findings.see_command(*seq, text),
                WantedText::Output(seq) if event.kinds.has(Kind::ToolResult) => findings.see_output(*seq, text),
                WantedText::List(at) if event.kinds.has(Kind::ToolCall) => {
                    turns[*at].list = lists::parse_list(event.line, text)
                }
                WantedText::Question if event.kinds.has(Kind::ToolCall) => question = lists::first_question(text),
                WantedText::Question => {
                    questions.extend(question.take().map(|question| (event.line, question)));
                }
                _ => {}
            }
        }
        Ok::<(), std::convert::Infallible>(())
    });
    shown
        .map_err(|error| error.reason())?
        .unwrap_or_else(|never| match never {});
    for turn in turns.iter_mut() {
        collect_choices(turn, &mut questions);
    }
    lists::follow_tasks(turns);
    findings.drop_repeated_commits();
    Ok(findings)
}

/// Returns the needed texts by their line and block.
fn collect_wanted(turns: &[TurnFacts]) -> HashMap<(u64, u32), Vec<WantedText>> {
    let mut wanted: HashMap<(u64, u32), Vec<WantedText>> = HashMap::new();
    let mut want = |line: u64, block: u32, what: WantedText| wanted.entry((line, block)).or_default().push(what);
    for (at, turn) in turns.iter().enumerate() {
        if let Some(prompt) = turn.events().find(|event| event.trigger) {
            want(prompt.line, prompt.block, WantedText::Prompt(at));
        }
        let is_reply = |event: &&SessionEvent| event.kinds.has(Kind::AssistantMsg) && event.actor == Actor::Agent;
        if let Some(reply) = turn.events().filter(is_reply).last() {
            want(reply.line, reply.block, WantedText::Reply(at));
        }
        let lists = turn.tool_calls().filter(|ran| lists::writes_list(ran));
        if let Some(last) = lists.last() {
            want(last.line, last.call_at.1, WantedText::List(at));
        }
        for ran in turn.tool_calls().chain(&turn.lead_in) {
            if let Some((_, line, block)) = ran.result_at {
                if ran.is_test {
                    want(line, block, WantedText::Test(ran.seq));
                }
                if &*ran.tool == "AskUserQuestion" {
                    want(ran.line, ran.call_at.1, WantedText::Question);
                    want(line, block, WantedText::Question);
                }
            }
            let may_commit = ["git", "gh pr"].iter().any(|word| ran.wording.contains(word));
            if runs_commands(&ran.tool) && (may_commit || ran.wording.chars().count() >= 120) {
                want(ran.line, ran.call_at.1, WantedText::Command(ran.seq));
                if let Some((_, line, block)) = ran.result_at {
                    want(line, block, WantedText::Output(ran.seq));
                }
            }
        }
    }
    wanted
}

/// Collects the user's answers to the agent's questions.
fn collect_choices(turn: &mut TurnFacts, questions: &mut HashMap<u64, String>) {
    let is_answer = |event: &&SessionEvent| {
        event.actor == Actor::Human
            && !event.trigger
            && event.kinds.has(Kind::UserMsg)
            && !event.kinds.has(Kind::HumanIntervention)
    };
    let asking: HashSet<u64> = turn
        .tool_calls()
        .filter(|ran| matches!(&*ran.tool, "AskUserQuestion" | "ExitPlanMode"))
        .filter_map(|ran| Some(ran.result_at?.1))
        .collect();
    let chosen = turn
        .events()
        .filter(is_answer)
        .filter(|event| asking.contains(&event.line))
        .map(|event| ChosenAnswer {
            line: event.line,
            question: questions.remove(&event.line),
            answer: event.summary.to_string(),
        })
        .collect();
    turn.choices = chosen;
}
