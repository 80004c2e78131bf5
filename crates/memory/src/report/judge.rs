//! A piece of work, weighed up: its numbers, and how it came out by the ladder of outcomes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use transcript::GitCommit;

use super::facts::{Facts, Taken};
use super::fields::{Citation, Totals};
use super::group::files;
use crate::active::ActiveTime;
use crate::digest::Ran;
use crate::outcome::{Course, Evidence, Judgement, hands_in, made_commits, passed};
use crate::signals::{Intervention, corrects, intervention};
use crate::usage::Sum;

/// A piece of work and what is known of it.
pub(super) struct Piece {
    /// Places of its turns, in order of time.
    pub(super) turns: Vec<usize>,
    /// Edited files with the number of edits.
    pub(super) files: BTreeMap<String, u64>,
    pub(super) tests: Vec<Test>,
    /// Commits and pull requests, in order.
    pub(super) commits: Vec<Delivery>,
    /// Where the human stepped in.
    pub(super) stepped_in: Vec<SteppedIn>,
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
pub(super) struct Test {
    pub(super) turn: usize,
    pub(super) line: u64,
    pub(super) seq: u64,
    /// What runs the tests, in short.
    pub(super) name: String,
    pub(super) passed: Option<bool>,
}

/// How a human stepped in, and where.
pub(super) struct SteppedIn {
    pub(super) turn: usize,
    pub(super) line: u64,
    pub(super) how: How,
    pub(super) text: String,
}

/// The ways of stepping in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Corrected,
    Stopped,
    Refused,
    WentBack,
}

/// Weighs up some turns of a project.
pub(super) fn weigh(facts: &Facts, turns: Vec<usize>, as_of: Option<Timestamp>) -> Piece {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    let (mut tests, mut made, mut stepped_in) = (Vec::new(), Vec::new(), Vec::new());
    let mut course = Course::default();
    for (number, turn) in turns.iter().copied().enumerate() {
        let own = &facts.turns[turn];
        for (file, edits) in files(facts, turn) {
            *all.entry(file).or_default() += edits;
        }
        for taken in &own.steps {
            course.see(taken.step(), &facts.findings);
            match taken {
                Taken::Ran(ran) => {
                    tests.extend(test(facts, turn, ran));
                    made.extend(find_deliveries(facts, turn, ran));
                }
                Taken::Event(_) => {}
            }
        }
        // The first words of a piece correct nothing that is part of it.
        let may_correct = number > 0 || own.turn_ref != "T0001";
        stepped_in.extend(interventions(facts, turn, may_correct));
    }
    let last = turns.last().map(|turn| &facts.turns[*turn]);
    let reply = last
        .and_then(|turn| turn.reply.as_ref())
        .map(|reply| reply.text.as_str());
    let ended_at = turns.iter().filter_map(|turn| facts.turns[*turn].ended_at).max();
    let mut judgement = course.judge(reply);
    if let Some(now) = as_of {
        judgement = judgement.at(ended_at, now);
    }
    let mut totals = totals(facts, &turns);
    totals.files = all.len() as u64;
    totals.commits = made.iter().filter(|one| one.commit.is_some()).count() as u64;
    let lead_in = turns
        .iter()
        .flat_map(|turn| facts.turns[*turn].lead_in.iter().map(|ran| (*turn, ran)));
    let (mut early_tests, mut early_commits) = (Vec::new(), 0);
    for (turn, ran) in lead_in {
        early_tests.extend(test(facts, turn, ran));
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
    Piece {
        started_at: turns.iter().filter_map(|turn| facts.turns[*turn].started_at).min(),
        ended_at,
        files: all,
        tests,
        commits: made,
        stepped_in,
        judgement,
        totals,
        turns,
    }
}

/// Returns the commits that a step made, or else the pull request that it opened or merged.
fn find_deliveries(facts: &Facts, turn: usize, ran: &Ran) -> Vec<Delivery> {
    let one = |commit| Delivery {
        turn,
        seq: ran.seq,
        commit,
    };
    let commits = made_commits(ran, &facts.findings);
    match commits.is_empty() && hands_in(ran, &facts.findings) {
        true => vec![one(None)],
        false => commits.into_iter().map(|commit| one(Some(commit))).collect(),
    }
}

fn test(facts: &Facts, turn: usize, ran: &Ran) -> Option<Test> {
    use crate::digest::End;
    let is_run = ran.is_test && !matches!(ran.end, End::Denied | End::Stopped | End::Open);
    let named = || transcript::test_runner(&ran.wording).map(str::to_owned);
    is_run.then(|| Test {
        turn,
        line: ran.line,
        seq: ran.seq,
        name: named().unwrap_or_else(|| "a longer command".to_owned()),
        passed: passed(ran, &facts.findings),
    })
}

fn interventions(facts: &Facts, turn: usize, may_correct: bool) -> Vec<SteppedIn> {
    let own = &facts.turns[turn];
    let mut found = Vec::new();
    let mut add = |line: u64, how: How, text: &str| {
        found.push(SteppedIn {
            turn,
            line,
            how,
            text: text.to_owned(),
        });
    };
    if may_correct && corrects(&own.prompt.text) {
        add(own.prompt.line, How::Corrected, &own.prompt.text);
    }
    // Who refuses a call stops the agent by that.
    let mut is_stopped = own.ran().any(|ran| ran.end == crate::digest::End::Denied);
    for taken in &own.steps {
        match taken {
            Taken::Ran(ran) if ran.end == crate::digest::End::Denied => add(ran.line, How::Refused, &ran.wording),
            Taken::Ran(_) => {}
            Taken::Event(event) => match intervention(event) {
                // One key stroke may leave two records.
                Some(Intervention::Interrupt) if is_stopped => {}
                Some(Intervention::Interrupt) => {
                    is_stopped = true;
                    add(event.line, How::Stopped, &event.summary);
                }
                Some(Intervention::Rewind) => add(event.line, How::WentBack, &event.summary),
                _ => {}
            },
        }
    }
    found
}

/// The sums of some turns.
pub(super) fn totals(facts: &Facts, turns: &[usize]) -> Totals {
    let mut sessions: Vec<usize> = turns.iter().map(|turn| facts.turns[*turn].session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let mut sum = Sum::default();
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
    // Sessions that run at the same time count once.
    let active = turns.iter().map(|turn| &facts.turns[*turn].active);
    totals.active_s = ActiveTime::union(active).seconds();
    totals.tokens = sum.tokens.total();
    totals.cost_microusd = sum.micros().filter(|_| sum.calls > 0);
    totals.unpriced_calls = sum.unpriced_calls;
    totals
}

impl Facts {
    /// Where the evidence of a judgement stands.
    pub(super) fn cite_evidence<'e>(&'e self, evidence: &'e [Evidence]) -> impl Iterator<Item = Citation> + 'e {
        let cite = |one: &Evidence| Some(self.cite_line(one.turn? as usize, one.line));
        evidence.iter().filter_map(cite)
    }
}
