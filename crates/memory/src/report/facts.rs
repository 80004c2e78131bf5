//! The facts of a day: sessions and turns of a workspace, each with what happened in it and on which line.

use jiff::Timestamp;
use transcript::{Agent, SessionEvent};

use super::fields::{Citation, Covered, Unread};
use crate::active::ActiveTime;
use crate::digest::{Findings, Ran, Step};
use crate::store::{Store, StoreError};
use crate::usage::Sum;

/// Everything that is known of a day.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) projects: Vec<ProjectFacts>,
    /// By project, then by time.
    pub(super) sessions: Vec<SessionFacts>,
    /// By session, then by line. Steps and findings name a turn by its place here.
    pub(super) turns: Vec<TurnFacts>,
    pub(super) findings: Findings,
    pub(super) unread: Vec<Unread>,
}

/// A project of the workspace.
#[derive(Debug, Clone)]
pub(super) struct ProjectFacts {
    pub(super) key: String,
    pub(super) label: String,
    /// What it is called in sentences.
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
    /// By the human, else by the agent.
    pub(super) title: Option<String>,
    /// The sessions that it goes on from.
    pub(super) parents: Vec<String>,
}

/// One turn of the index.
#[derive(Debug, Default)]
pub(super) struct TurnFacts {
    pub(super) session: usize,
    pub(super) turn_ref: String,
    pub(super) first_line: u64,
    pub(super) last_line: u64,
    /// The log goes on after it.
    pub(super) has_next: bool,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    /// Its part of the session's active time inside of the day.
    pub(super) active: ActiveTime,
    pub(super) prompt: Said,
    /// The last words of the agent.
    pub(super) reply: Option<Said>,
    pub(super) steps: Vec<Taken>,
    /// What subagents did whose work stands in the same log.
    pub(super) aside: Vec<Ran>,
    /// Calls before the first prompt of the log, if this is its first turn. They count in totals and are never cited.
    pub(super) lead_in: Vec<Ran>,
    pub(super) subagents: Vec<SubagentFacts>,
    /// The agent's own list as it stood last.
    pub(super) list: Option<List>,
    /// What the human chose when asked.
    pub(super) chosen: Vec<Chosen>,
    pub(super) decisions: Vec<String>,
    pub(super) is_rewound: bool,
    pub(super) cost: Sum,
}

/// Words, and where they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) line: u64,
    pub(super) text: String,
}

/// A step of a turn.
#[derive(Debug)]
pub(super) enum Taken {
    Ran(Ran),
    Event(Box<SessionEvent>),
}

impl Taken {
    pub(super) fn step(&self) -> Step<'_> {
        match self {
            Self::Ran(ran) => Step::Ran(ran),
            Self::Event(event) => Step::Event(event),
        }
    }
}

/// A subagent that a turn started or heard of.
#[derive(Debug, Default)]
pub(super) struct SubagentFacts {
    pub(super) role: Option<String>,
    /// Where the turn tells of it.
    pub(super) first_line: u64,
    pub(super) last_line: u64,
    /// Files it edited, as its log names them.
    pub(super) files: Vec<Box<str>>,
    pub(super) tool_calls: u64,
    pub(super) cwd: Option<String>,
}

/// The agent's own list of what is to be done.
#[derive(Debug)]
pub(super) struct List {
    pub(super) line: u64,
    pub(super) all: usize,
    pub(super) left: Vec<String>,
}

/// A question and what the human answered.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) line: u64,
    pub(super) question: Option<String>,
    pub(super) answer: String,
}

impl TurnFacts {
    /// The tool calls of the turn itself.
    pub(super) fn ran(&self) -> impl Iterator<Item = &Ran> {
        self.steps.iter().filter_map(|taken| match taken {
            Taken::Ran(ran) => Some(ran),
            Taken::Event(_) => None,
        })
    }

    /// What else happened in it.
    pub(super) fn events(&self) -> impl Iterator<Item = &SessionEvent> {
        self.steps.iter().filter_map(|taken| match taken {
            Taken::Event(event) => Some(&**event),
            Taken::Ran(_) => None,
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

    /// Lines of a turn.
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

    /// All of a turn.
    pub(super) fn cite_turn(&self, turn: usize) -> Citation {
        self.cite(turn, self.turns[turn].first_line, self.turns[turn].last_line)
    }

    pub(super) fn covered(&self, turns: &[usize]) -> Vec<Covered> {
        let covered = |turn: &usize| Covered {
            session_ref: self.session_of(*turn).session_ref.clone(),
            turn_ref: self.turns[*turn].turn_ref.clone(),
        };
        turns.iter().map(covered).collect()
    }

    /// What the human said right after a line, by which the next turn of the session begins.
    pub(super) fn next_words(&self, turn: usize, line: u64) -> Option<&str> {
        let own = &self.turns[turn];
        let next = self.turns.get(turn + 1).filter(|next| next.session == own.session)?;
        let is_near = next.first_line.saturating_sub(line) <= 3;
        Some(next.prompt.text.as_str()).filter(|words| is_near && !words.is_empty())
    }

    /// Adds what the user wrote down of these sessions: to the turn during which it was.
    pub(super) fn add_decisions(&mut self, store: &Store) -> Result<(), StoreError> {
        for at in 0..self.sessions.len() {
            for decision in store.reads().decisions_of(&self.sessions[at].uid)? {
                let Ok(made) = Timestamp::from_microsecond(decision.at_micros) else {
                    continue;
                };
                let own = self.turns.iter_mut().filter(|turn| turn.session == at);
                let begun = own.filter(|turn| turn.started_at.is_some_and(|start| start <= made));
                let Some(turn) = begun.last() else { continue };
                // What was decided after the log had gone on belongs to a later day.
                if !turn.has_next {
                    turn.decisions.push(decision.text);
                }
            }
        }
        Ok(())
    }
}
