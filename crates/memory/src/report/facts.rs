//! The facts of a day: the sessions and turns of a workspace, each with its steps and their lines.

use jiff::Timestamp;
use transcript::{Agent, SessionEvent};

use super::fields::{Citation, CoveredTurn, UnreadSession};
use crate::active::ActiveTime;
use crate::findings::Findings;
use crate::steps::{CallStep, Step};
use crate::store::{Store, StoreError};
use crate::usage::UsageSum;

/// All facts of a day.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) projects: Vec<ProjectFacts>,
    /// Ordered by project, then by time.
    pub(super) sessions: Vec<SessionFacts>,
    /// Ordered by session, then by line. Steps and findings refer to a turn by its index here.
    pub(super) turns: Vec<TurnFacts>,
    pub(super) findings: Findings,
    pub(super) unread: Vec<UnreadSession>,
}

/// A project of the workspace.
#[derive(Debug, Clone)]
pub(super) struct ProjectFacts {
    pub(super) key: String,
    pub(super) label: String,
    /// The name used in sentences.
    pub(super) name: String,
}

/// A session of the index.
#[derive(Debug)]
pub(super) struct SessionFacts {
    pub(super) project: usize,
    pub(super) session_ref: String,
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) uid: String,
    pub(super) cwd: Option<String>,
    /// Set by the user, or else by the agent.
    pub(super) title: Option<String>,
    /// The uids of the sessions that this one continues.
    pub(super) parents: Vec<String>,
}

/// One turn of the index.
#[derive(Debug, Default)]
pub(super) struct TurnFacts {
    pub(super) session: usize,
    pub(super) turn_ref: String,
    pub(super) first_line: u64,
    pub(super) last_line: u64,
    /// True if the log continues after the turn.
    pub(super) has_next: bool,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    /// The turn's share of the session's active time on this day.
    pub(super) active: ActiveTime,
    pub(super) prompt: LineText,
    /// The last message of the agent.
    pub(super) reply: Option<LineText>,
    pub(super) steps: Vec<TurnStep>,
    /// Tool calls of subagents that are recorded in the same log.
    pub(super) sidechain_calls: Vec<CallStep>,
    /// Calls before the first prompt of the log, if this is its first turn. They count in totals but are never cited.
    pub(super) lead_in: Vec<CallStep>,
    pub(super) subagents: Vec<SubagentFacts>,
    /// The agent's task list at the end of the turn.
    pub(super) list: Option<TaskList>,
    /// The user's answers to the agent's questions.
    pub(super) choices: Vec<ChosenAnswer>,
    pub(super) decisions: Vec<String>,
    pub(super) is_rewound: bool,
    pub(super) cost: UsageSum,
}

/// A text with its line.
#[derive(Debug, Clone, Default)]
pub(super) struct LineText {
    pub(super) line: u64,
    pub(super) text: String,
}

/// A step of a turn.
#[derive(Debug)]
pub(super) enum TurnStep {
    Ran(CallStep),
    Event(Box<SessionEvent>),
}

impl TurnStep {
    pub(super) fn step(&self) -> Step<'_> {
        match self {
            Self::Ran(ran) => Step::Call(ran),
            Self::Event(event) => Step::Event(event),
        }
    }
}

/// A subagent that a turn started or whose result it received.
#[derive(Debug, Default)]
pub(super) struct SubagentFacts {
    pub(super) role: Option<String>,
    /// The lines of the turn that mention it.
    pub(super) first_line: u64,
    pub(super) last_line: u64,
    /// The files it edited, as named in its log.
    pub(super) files: Vec<Box<str>>,
    pub(super) tool_calls: u64,
    pub(super) cwd: Option<String>,
}

/// The agent's own task list.
#[derive(Debug)]
pub(super) struct TaskList {
    pub(super) line: u64,
    pub(super) all: usize,
    pub(super) left: Vec<String>,
}

/// A question of the agent and the user's answer.
#[derive(Debug)]
pub(super) struct ChosenAnswer {
    pub(super) line: u64,
    pub(super) question: Option<String>,
    pub(super) answer: String,
}

impl TurnFacts {
    /// Returns the tool calls of the turn itself.
    pub(super) fn tool_calls(&self) -> impl Iterator<Item = &CallStep> {
        self.steps.iter().filter_map(|step| match step {
            TurnStep::Ran(ran) => Some(ran),
            TurnStep::Event(_) => None,
        })
    }

    /// Returns the other events of the turn.
    pub(super) fn events(&self) -> impl Iterator<Item = &SessionEvent> {
        self.steps.iter().filter_map(|step| match step {
            TurnStep::Event(event) => Some(&**event),
            TurnStep::Ran(_) => None,
        })
    }
}

impl Facts {
    pub(super) fn session_of(&self, turn: usize) -> &SessionFacts {
        &self.sessions[self.turns[turn].session]
    }

    pub(super) fn project_of(&self, turn: usize) -> usize {
        self.session_of(turn).project
    }

    /// Returns a citation of some lines of a turn. Lines outside of the turn are moved to its nearest line, because a
    /// citation must be inside its turn.
    pub(super) fn cite(&self, turn: usize, first: u64, last: u64) -> Citation {
        let (facts, session) = (&self.turns[turn], self.session_of(turn));
        let project = &self.projects[session.project];
        let inside = |line: u64| line.clamp(facts.first_line, facts.last_line.max(facts.first_line));
        Citation {
            project_key: project.key.clone(),
            project: project.name.clone(),
            session_ref: session.session_ref.clone(),
            turn_ref: facts.turn_ref.clone(),
            first_line: inside(first),
            last_line: inside(last.max(first)),
        }
    }

    pub(super) fn cite_line(&self, turn: usize, line: u64) -> Citation {
        self.cite(turn, line, line)
    }

    /// Returns a citation of a whole turn.
    pub(super) fn cite_turn(&self, turn: usize) -> Citation {
        self.cite(turn, self.turns[turn].first_line, self.turns[turn].last_line)
    }

    pub(super) fn covered(&self, turns: &[usize]) -> Vec<CoveredTurn> {
        let covered = |turn: &usize| CoveredTurn {
            session_ref: self.session_of(*turn).session_ref.clone(),
            turn_ref: self.turns[*turn].turn_ref.clone(),
        };
        turns.iter().map(covered).collect()
    }

    /// Returns the prompt that directly follows a line, as the beginning of the session's next turn.
    pub(super) fn next_prompt(&self, turn: usize, line: u64) -> Option<&str> {
        let own = &self.turns[turn];
        let next = self.turns.get(turn + 1).filter(|next| next.session == own.session)?;
        let is_near = next.first_line.saturating_sub(line) <= 3;
        Some(next.prompt.text.as_str()).filter(|prompt| is_near && !prompt.is_empty())
    }

    /// Adds the user's recorded decisions to the turns during which they were recorded.
    pub(super) fn add_decisions(&mut self, store: &Store) -> Result<(), StoreError> {
        for at in 0..self.sessions.len() {
            for decision in store.reads().decisions_of(&self.sessions[at].uid)? {
                let Ok(recorded_at) = Timestamp::from_microsecond(decision.at_micros) else {
                    continue;
                };
                let turns = self.turns.iter_mut().filter(|turn| turn.session == at);
                let started = turns.filter(|turn| turn.started_at.is_some_and(|start| start <= recorded_at));
                let Some(turn) = started.last() else { continue };
                // A decision recorded after the last turn of the day belongs to a later day if the log continued.
                if !turn.has_next {
                    turn.decisions.push(decision.text);
                }
            }
        }
        Ok(())
    }
}
