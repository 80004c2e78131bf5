//! The default writer: arranges facts into projects and pieces of work, heaviest first, and writes the day.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::describe::{describe_actions, describe_prompts, describe_result, work_title};
use super::evicted::EvictedSession;
use super::excerpts::build_excerpts;
use super::facts::Facts;
use super::fields::{
    DayObservations, DayReport, PieceOfWork, REPORT_SCHEMA, ReportProject, Statement, TimelineSpan, Totals, WriterInfo,
};
use super::folds::fold_pieces;
use super::group::group_turns;
use super::judge::{WorkPiece, assess_piece, sum_turns};
use super::open::{describe_decisions, open_items};
use super::rank::{WEIGHT_MIN, WORKS_OF_DAY_MAX, WORKS_OF_PROJECT_MAX, piece_weight};
use super::whole::{lead_statements, summarize_day};
use super::workspace::{Workspace, WorkspaceMetadata};

/// Version of the default writer's output.
const VERSION: u32 = 1;

/// A piece of work with its description and weight.
struct RankedWork {
    piece: WorkPiece,
    work: PieceOfWork,
    weight: u64,
    project: usize,
}

/// Writes a day.
pub(super) fn write_day(workspace: &Workspace, facts: &Facts, evicted: Vec<EvictedSession>) -> DayReport {
    let metadata = &workspace.metadata;
    let as_of: Option<Timestamp> = metadata.prepared_at.parse().ok().filter(|_| metadata.is_partial());
    let mut ranked: Vec<RankedWork> = (0..facts.projects.len())
        .flat_map(|project| {
            group_turns(facts, project)
                .into_iter()
                .map(move |turns| (project, turns))
        })
        .map(|(project, turns)| rank_work(facts, project, assess_piece(facts, turns, as_of)))
        .collect();
    ranked.sort_by_key(|work| (Reverse(work.weight), work.piece.started_at, work.piece.turns[0]));
    let pieces: Vec<&WorkPiece> = ranked.iter().map(|work| &work.piece).collect();
    let mut day = empty_day(metadata);
    day.totals = day_totals(facts, &pieces);
    day.whole = summarize_day(facts, &pieces);
    let leading: Vec<_> = ranked
        .iter()
        .map(|work| (&work.work, &work.piece, work.weight))
        .collect();
    day.summary = lead_statements(&leading);
    day.spans = turn_spans(facts);
    day.projects = build_projects(facts, ranked);
    day.unread.clone_from(&facts.unread);
    day.excerpts = build_excerpts(facts, &day);
    super::evicted::add_evicted(&mut day, evicted, metadata.length_s());
    day
}

/// Returns a day without content.
pub(super) fn empty_day(metadata: &WorkspaceMetadata) -> DayReport {
    DayReport {
        schema: REPORT_SCHEMA.to_owned(),
        date: metadata.report_date.clone(),
        timezone: metadata.timezone.clone(),
        status: metadata.status.clone(),
        as_of: metadata.is_partial().then(|| metadata.prepared_at.clone()),
        report_window_local: metadata.report_window_local.clone(),
        report_window_utc: metadata.report_window_utc.clone(),
        written: WriterInfo {
            by: "default".to_owned(),
            version: VERSION,
        },
        totals: Totals::default(),
        summary: Vec::new(),
        projects: Vec::new(),
        whole: DayObservations::default(),
        spans: Vec::new(),
        excerpts: Vec::new(),
        unread: Vec::new(),
    }
}

/// Describes and weighs one piece of work.
fn rank_work(facts: &Facts, project: usize, piece: WorkPiece) -> RankedWork {
    let (open, decided) = (open_items(facts, &piece), describe_decisions(facts, &piece));
    let agents: BTreeSet<&str> = piece
        .turns
        .iter()
        .map(|turn| facts.session_of(*turn).agent.as_str())
        .collect();
    let judgement = &piece.judgement;
    let work = PieceOfWork {
        title: work_title(facts, &piece),
        outcome: judgement.outcome,
        reason: judgement.reason,
        confidence: judgement.confidence,
        from_digest: false,
        agents: agents.into_iter().map(str::to_owned).collect(),
        covers: facts.covered(&piece.turns),
        started_at: piece.started_at,
        ended_at: piece.ended_at,
        totals: piece.totals,
        asked: describe_prompts(facts, &piece),
        done: describe_actions(facts, &piece),
        came: describe_result(facts, &piece),
        open,
        decided,
    };
    RankedWork {
        weight: piece_weight(facts, &piece, work.open.len(), work.decided.len()),
        piece,
        work,
        project,
    }
}

/// Builds the projects of the day, and decides which of their pieces are described in full.
fn build_projects(facts: &Facts, ranked: Vec<RankedWork>) -> Vec<ReportProject> {
    let mut remaining = WORKS_OF_DAY_MAX;
    let mut projects: Vec<(u64, usize, Vec<RankedWork>, Vec<RankedWork>)> = Vec::new();
    for work in ranked {
        let at = projects.iter().position(|(_, project, ..)| *project == work.project);
        let at = at.unwrap_or_else(|| {
            projects.push((0, work.project, Vec::new(), Vec::new()));
            projects.len() - 1
        });
        let (sum, _, full, short) = &mut projects[at];
        *sum += work.weight;
        // The heaviest piece of each project is described in full even on a busy day.
        let has_room = full.len() < WORKS_OF_PROJECT_MAX && remaining > 0 && work.weight >= WEIGHT_MIN;
        if full.is_empty() && short.is_empty() || has_room {
            remaining = remaining.saturating_sub(1);
            full.push(work);
        } else {
            short.push(work);
        }
    }
    projects.sort_by_key(|(sum, project, ..)| (Reverse(*sum), *project));
    let make = |(_, project, full, short): (u64, usize, Vec<RankedWork>, Vec<RankedWork>)| {
        let all: Vec<&WorkPiece> = full.iter().chain(&short).map(|work| &work.piece).collect();
        let totals = sum_pieces(facts, &all);
        let short: Vec<(WorkPiece, Statement)> = short.into_iter().map(|work| (work.piece, work.work.title)).collect();
        ReportProject {
            project_key: facts.projects[project].key.clone(),
            project: facts.projects[project].name.clone(),
            totals,
            folded: fold_pieces(facts, &short),
            works: full.into_iter().map(|work| work.work).collect(),
        }
    };
    projects.into_iter().map(make).collect()
}

/// Returns the totals of some pieces.
pub(super) fn sum_pieces(facts: &Facts, pieces: &[&WorkPiece]) -> Totals {
    let turns: Vec<usize> = pieces.iter().flat_map(|piece| piece.turns.iter().copied()).collect();
    let mut totals = sum_turns(facts, &turns);
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

pub(super) fn day_totals(facts: &Facts, pieces: &[&WorkPiece]) -> Totals {
    Totals {
        projects: facts.projects.len() as u64,
        ..sum_pieces(facts, pieces)
    }
}

/// Returns the timeline of the day's turns.
pub(super) fn turn_spans(facts: &Facts) -> Vec<TimelineSpan> {
    let span = |turn: usize| {
        let own = &facts.turns[turn];
        Some(TimelineSpan {
            citation: facts.cite_turn(turn),
            agent: facts.session_of(turn).agent.as_str().to_owned(),
            started_at: own.started_at?,
            ended_at: own.ended_at?,
        })
    };
    let mut spans: Vec<TimelineSpan> = (0..facts.turns.len()).filter_map(span).collect();
    spans.sort_by(|a, b| (a.started_at, &a.citation).cmp(&(b.started_at, &b.citation)));
    spans
}
