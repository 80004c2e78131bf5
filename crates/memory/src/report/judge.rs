//! Assesses a piece of work: its totals, and its outcome by the same ladder as for sessions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use transcript::GitCommit;

use super::facts::{Facts, TurnStep};
use super::fields::{Citation, Totals};
use super::group::edited_files;
use crate::active::ActiveTime;
use crate::outcome::{Evidence, Judgement, OutcomeTracker, delivers_work, made_commits, test_passed};
use crate::signals::{Intervention, find_intervention, is_correction};
use crate::steps::CallStep;
use crate::usage::UsageSum;

/// A piece of work with its assessment.
pub(super) struct WorkPiece {
    /// Indices of its turns, ordered by time.
    pub(super) turns: Vec<usize>,
    /// Edited files with the number of edits.
    pub(super) files: BTreeMap<String, u64>,
    pub(super) tests: Vec<TestRun>,
    /// Commits and pull requests, in order.
    pub(super) commits: Vec<Delivery>,
    /// Interventions of the user.
    pub(super) interventions: Vec<PieceIntervention>,
    pub(super) judgement: Judgement,
    pub(super) totals: Totals,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
}

/// A commit or pull request, and the step that made it.
pub(super) struct Delivery {
    pub(super) turn: usize,
    pub(super) seq: u64,
    /// `None` for a pull request.
    pub(super) commit: Option<GitCommit>,
}

/// One run of tests.
pub(super) struct TestRun {
    pub(super) turn: usize,
    pub(super) line: u64,
    pub(super) seq: u64,
    /// Short name of the test runner.
    pub(super) name: String,
    pub(super) passed: Option<bool>,
}

/// An intervention of the user in a piece of work.
pub(super) struct PieceIntervention {
    pub(super) turn: usize,
    pub(super) line: u64,
    pub(super) kind: InterventionKind,
    pub(super) text: String,
}

/// The kinds of intervention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterventionKind {
    Corrected,
    Stopped,
    Refused,
    Rewound,
}

/// Assesses some turns of a project as one piece of work.
pub(super) fn assess_piece(facts: &Facts, turns: Vec<usize>, as_of: Option<Timestamp>) -> WorkPiece {
    let mut all_files: BTreeMap<String, u64> = BTreeMap::new();
    let (mut tests, mut deliveries, mut interventions) = (Vec::new(), Vec::new(), Vec::new());
    let mut course = OutcomeTracker::default();
    for (number, turn) in turns.iter().copied().enumerate() {
        let own = &facts.turns[turn];
        for (file, edits) in edited_files(facts, turn) {
            *all_files.entry(file).or_default() += edits;
        }
        for step in &own.steps {
            course.add_step(step.step(), &facts.findings);
            match step {
                TurnStep::Ran(ran) => {
                    tests.extend(test_run(facts, turn, ran));
                    deliveries.extend(find_deliveries(facts, turn, ran));
                }
                TurnStep::Event(_) => {}
            }
        }
        // The first prompt of a session cannot correct an earlier part of this piece.
        let may_correct = number > 0 || own.turn_ref != "T0001";
        interventions.extend(find_interventions(facts, turn, may_correct));
    }
    let last = turns.last().map(|turn| &facts.turns[*turn]);
    let reply = last
        .and_then(|turn| turn.reply.as_ref())
        .map(|reply| reply.text.as_str());
    let ended_at = turns.iter().filter_map(|turn| facts.turns[*turn].ended_at).max();
    let mut judgement = course.judge(reply);
    if let Some(now) = as_of {
        judgement = judgement.as_of(ended_at, now);
    }
    let mut totals = sum_turns(facts, &turns);
    totals.files = all_files.len() as u64;
    totals.commits = deliveries.iter().filter(|delivery| delivery.commit.is_some()).count() as u64;
    let lead_in = turns
        .iter()
        .flat_map(|turn| facts.turns[*turn].lead_in.iter().map(|ran| (*turn, ran)));
    let (mut early_tests, mut early_commits) = (Vec::new(), 0);
    for (turn, ran) in lead_in {
        early_tests.extend(test_run(facts, turn, ran));
        early_commits += made_commits(ran, &facts.findings).len() as u64;
    }
    totals.commits += early_commits;
    for test in tests.iter().chain(&early_tests) {
        match test.passed {
            Some(true) => totals.tests_passed += 1,
            Some(false) => totals.tests_failed += 1,
            None => totals.tests_unclear += 1,
        }
    }
    WorkPiece {
        started_at: turns.iter().filter_map(|turn| facts.turns[*turn].started_at).min(),
        ended_at,
        files: all_files,
        tests,
        commits: deliveries,
        interventions,
        judgement,
        totals,
        turns,
    }
}

/// Returns the commits that a step made, or else the pull request that it opened or merged.
fn find_deliveries(facts: &Facts, turn: usize, ran: &CallStep) -> Vec<Delivery> {
    let delivery = |commit| Delivery {
        turn,
        seq: ran.seq,
        commit,
    };
    let commits = made_commits(ran, &facts.findings);
    match commits.is_empty() && delivers_work(ran, &facts.findings) {
        true => vec![delivery(None)],
        false => commits.into_iter().map(|commit| delivery(Some(commit))).collect(),
    }
}

fn test_run(facts: &Facts, turn: usize, ran: &CallStep) -> Option<TestRun> {
    use crate::steps::CallStatus;
    let is_run = ran.is_test && !matches!(ran.end, CallStatus::Denied | CallStatus::Stopped | CallStatus::Open);
    let runner = || transcript::test_runner(&ran.wording).map(str::to_owned);
    is_run.then(|| TestRun {
        turn,
        line: ran.line,
        seq: ran.seq,
        name: runner().unwrap_or_else(|| "a longer command".to_owned()),
        passed: test_passed(ran, &facts.findings),
    })
}

fn find_interventions(facts: &Facts, turn: usize, may_correct: bool) -> Vec<PieceIntervention> {
    let own = &facts.turns[turn];
    let mut found = Vec::new();
    let mut add = |line: u64, kind: InterventionKind, text: &str| {
        found.push(PieceIntervention {
            turn,
            line,
            kind,
            text: text.to_owned(),
        });
    };
    if may_correct && is_correction(&own.prompt.text) {
        add(own.prompt.line, InterventionKind::Corrected, &own.prompt.text);
    }
    // Denying a call also stops the agent, which is recorded as an interrupt of its own.
    let mut is_stopped = own.tool_calls().any(|ran| ran.end == crate::steps::CallStatus::Denied);
    for step in &own.steps {
        match step {
            TurnStep::Ran(ran) if ran.end == crate::steps::CallStatus::Denied => {
                add(ran.line, InterventionKind::Refused, &ran.wording)
            }
            TurnStep::Ran(_) => {}
            TurnStep::Event(event) => match find_intervention(event) {
                // A single key press may be recorded twice.
                Some(Intervention::Interrupt) if is_stopped => {}
                Some(Intervention::Interrupt) => {
                    is_stopped = true;
                    add(event.line, InterventionKind::Stopped, &event.summary);
                }
                Some(Intervention::Rewind) => add(event.line, InterventionKind::Rewound, &event.summary),
                _ => {}
            },
        }
    }
    found
}

/// Returns the totals of some turns.
pub(super) fn sum_turns(facts: &Facts, turns: &[usize]) -> Totals {
    let mut sessions: Vec<usize> = turns.iter().map(|turn| facts.turns[*turn].session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let mut sum = UsageSum::default();
    let mut totals = Totals {
        projects: 1,
        sessions: sessions.len() as u64,
        turns: turns.len() as u64,
        ..Totals::default()
    };
    for turn in turns.iter().map(|turn| &facts.turns[*turn]) {
        sum.merge(&turn.cost);
        totals.subagents += turn.subagents.len() as u64;
    }
    // Time in which several sessions were active counts once.
    let active = turns.iter().map(|turn| &facts.turns[*turn].active);
    totals.active_s = ActiveTime::union(active).seconds();
    totals.tokens = sum.tokens.total();
    totals.cost_microusd = sum.micros().filter(|_| sum.calls > 0);
    totals.unpriced_calls = sum.unpriced_calls;
    totals
}

impl Facts {
    /// Returns citations of the evidence of a judgement.
    pub(super) fn cite_evidence<'e>(&'e self, evidence: &'e [Evidence]) -> impl Iterator<Item = Citation> + 'e {
        let cite = |item: &Evidence| Some(self.cite_line(item.turn? as usize, item.line));
        evidence.iter().filter_map(cite)
    }
}
