//! The default writer: puts facts into projects and pieces of work, the weightiest first, and tells the day.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::excerpts::excerpts;
use super::facts::Facts;
use super::fields::{Day, Project, SCHEMA, Span, Statement, Totals, Whole, Work, Written};
use super::folds::fold;
use super::gone::Gone;
use super::group::group;
use super::judge::{Piece, totals, weigh};
use super::open::{decided, open};
use super::rank::{WEIGHT_MIN, WORKS_OF_DAY_MAX, WORKS_OF_PROJECT_MAX, weight};
use super::tell::{asked, came, done, title_of};
use super::whole::{summary, whole};
use super::workspace::{Metadata, Workspace};

/// Of what this writer says and how.
const VERSION: u32 = 1;

/// A piece of work with everything that is told of it.
struct Told {
    piece: Piece,
    work: Work,
    weight: u64,
    project: usize,
}

/// Writes a day.
pub(super) fn write(workspace: &Workspace, facts: &Facts, gone: Vec<Gone>) -> Day {
    let metadata = &workspace.metadata;
    let as_of: Option<Timestamp> = metadata.prepared_at.parse().ok().filter(|_| metadata.is_partial());
    let mut told: Vec<Told> = (0..facts.projects.len())
        .flat_map(|project| group(facts, project).into_iter().map(move |turns| (project, turns)))
        .map(|(project, turns)| tell(facts, project, weigh(facts, turns, as_of)))
        .collect();
    told.sort_by_key(|one| (Reverse(one.weight), one.piece.started_at, one.piece.turns[0]));
    let pieces: Vec<&Piece> = told.iter().map(|one| &one.piece).collect();
    let mut day = empty(metadata);
    day.totals = day_totals(facts, &pieces);
    day.whole = whole(facts, &pieces);
    let leading: Vec<_> = told.iter().map(|one| (&one.work, &one.piece, one.weight)).collect();
    day.summary = summary(&leading);
    day.spans = spans(facts);
    day.projects = projects(facts, told);
    day.unread.clone_from(&facts.unread);
    day.excerpts = excerpts(facts, &day);
    super::gone::add(&mut day, gone, metadata.length_s());
    day
}

pub(super) fn empty(metadata: &Metadata) -> Day {
    Day {
        schema: SCHEMA.to_owned(),
        date: metadata.report_date.clone(),
        timezone: metadata.timezone.clone(),
        status: metadata.status.clone(),
        as_of: metadata.is_partial().then(|| metadata.prepared_at.clone()),
        report_window_local: metadata.report_window_local.clone(),
        report_window_utc: metadata.report_window_utc.clone(),
        written: Written {
            by: "default".to_owned(),
            version: VERSION,
        },
        totals: Totals::default(),
        summary: Vec::new(),
        projects: Vec::new(),
        whole: Whole::default(),
        spans: Vec::new(),
        excerpts: Vec::new(),
        unread: Vec::new(),
    }
}

fn tell(facts: &Facts, project: usize, piece: Piece) -> Told {
    let (open, decided) = (open(facts, &piece), decided(facts, &piece));
    let agents: BTreeSet<&str> = piece
        .turns
        .iter()
        .map(|turn| facts.session_of(*turn).agent.as_str())
        .collect();
    let judgement = &piece.judgement;
    let work = Work {
        title: title_of(facts, &piece),
        outcome: judgement.outcome,
        reason: judgement.reason,
        confidence: judgement.confidence,
        from_digest: false,
        agents: agents.into_iter().map(str::to_owned).collect(),
        covers: facts.covered(&piece.turns),
        started_at: piece.started_at,
        ended_at: piece.ended_at,
        totals: piece.totals,
        asked: asked(facts, &piece),
        done: done(facts, &piece),
        came: came(facts, &piece),
        open,
        decided,
    };
    Told {
        weight: weight(facts, &piece, work.open.len(), work.decided.len()),
        piece,
        work,
        project,
    }
}

/// The projects of the day, and how much of each is told in full.
fn projects(facts: &Facts, told: Vec<Told>) -> Vec<Project> {
    let mut room = WORKS_OF_DAY_MAX;
    let mut projects: Vec<(u64, usize, Vec<Told>, Vec<Told>)> = Vec::new();
    for one in told {
        let at = projects.iter().position(|(_, project, ..)| *project == one.project);
        let at = at.unwrap_or_else(|| {
            projects.push((0, one.project, Vec::new(), Vec::new()));
            projects.len() - 1
        });
        let (sum, _, full, short) = &mut projects[at];
        *sum += one.weight;
        // The best of a project is told even on a full day.
        let has_room = full.len() < WORKS_OF_PROJECT_MAX && room > 0 && one.weight >= WEIGHT_MIN;
        if full.is_empty() && short.is_empty() || has_room {
            room = room.saturating_sub(1);
            full.push(one);
        } else {
            short.push(one);
        }
    }
    projects.sort_by_key(|(sum, project, ..)| (Reverse(*sum), *project));
    let make = |(_, project, full, short): (u64, usize, Vec<Told>, Vec<Told>)| {
        let all: Vec<&Piece> = full.iter().chain(&short).map(|one| &one.piece).collect();
        let totals = sum(facts, &all);
        let short: Vec<(Piece, Statement)> = short.into_iter().map(|one| (one.piece, one.work.title)).collect();
        Project {
            project_key: facts.projects[project].key.clone(),
            project: facts.projects[project].name.clone(),
            totals,
            folded: fold(facts, &short),
            works: full.into_iter().map(|one| one.work).collect(),
        }
    };
    projects.into_iter().map(make).collect()
}

/// The sums of some pieces.
pub(super) fn sum(facts: &Facts, pieces: &[&Piece]) -> Totals {
    let turns: Vec<usize> = pieces.iter().flat_map(|piece| piece.turns.iter().copied()).collect();
    let mut totals = totals(facts, &turns);
    let files: BTreeSet<(usize, &String)> = pieces
        .iter()
        .flat_map(|piece| piece.files.keys().map(|file| (facts.project_of(piece.turns[0]), file)))
        .collect();
    totals.files = files.len() as u64;
    for piece in pieces {
        totals.commits += piece.totals.commits;
        totals.tests_passed += piece.totals.tests_passed;
        totals.tests_failed += piece.totals.tests_failed;
        totals.tests_unclear += piece.totals.tests_unclear;
    }
    totals
}

pub(super) fn day_totals(facts: &Facts, pieces: &[&Piece]) -> Totals {
    Totals {
        projects: facts.projects.len() as u64,
        ..sum(facts, pieces)
    }
}

/// When who was at work.
pub(super) fn spans(facts: &Facts) -> Vec<Span> {
    let span = |turn: usize| {
        let own = &facts.turns[turn];
        Some(Span {
            citation: facts.cite_turn(turn),
            agent: facts.session_of(turn).agent.as_str().to_owned(),
            started_at: own.started_at?,
            ended_at: own.ended_at?,
        })
    };
    let mut spans: Vec<Span> = (0..facts.turns.len()).filter_map(span).collect();
    spans.sort_by(|a, b| (a.started_at, &a.citation).cmp(&(b.started_at, &b.citation)));
    spans
}
