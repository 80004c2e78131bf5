//! Turns the input of an external writer into the same data as the default writer's day. The sentences are the
//! writer's; numbers, times and outcomes come from the logs, as they do for the default writer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::index::{Index, TurnCitation};
use super::progress::Writings;
use super::works::{CitedClaim, DispositionClaim, WorkItem, WorkKind};
use crate::report::evicted;
use crate::report::excerpts::build_excerpts;
use crate::report::facts::Facts;
use crate::report::fields::{
    Citation, DayObservations, DayReport, MinorWork, PieceOfWork, ReportProject, SentencePart, Statement, WriterInfo,
};
use crate::report::judge::{WorkPiece, assess_piece};
use crate::report::project::{day_totals, empty_day, sum_pieces, turn_spans};
use crate::report::rank::piece_weight;
use crate::report::words::number_secrets;
use crate::report::workspace::Workspace;
use crate::report::{ReportError, ReportRequest, read};

/// Version of the writers' input.
const VERSION: u32 = 1;

/// Builds a day from what a writer wrote. Returns `None` if parts are missing.
pub fn write_external(request: &ReportRequest<'_>) -> Result<Option<DayReport>, ReportError> {
    let root = request
        .workspace
        .canonicalize()
        .map_err(|error| ReportError::Workspace {
            path: request.workspace.to_owned(),
            reason: error.to_string(),
        })?;
    let workspace = Workspace::open(&root)?;
    let index = Index::from_workspace(&workspace, &root);
    let writings = Writings::read(&root, &index);
    let Some(synthesis) = &writings.day else {
        return Ok(None);
    };
    let facts = read::read_facts(&workspace, request);
    let metadata = &workspace.metadata;
    let as_of: Option<Timestamp> = metadata.prepared_at.parse().ok().filter(|_| metadata.is_partial());
    let builder = DayBuilder::new(&facts, as_of);
    let mut works: Vec<(usize, RankedWork)> = Vec::new();
    for own in &writings.projects {
        let Some(project) = facts.projects.iter().position(|project| project.key == own.key) else {
            continue;
        };
        let ranked = own.works.values().filter_map(|item| builder.build_work(&own.key, item));
        works.extend(ranked.map(|ranked| (project, ranked)));
    }
    let pieces: Vec<&WorkPiece> = works.iter().map(|(_, ranked)| &ranked.piece).collect();
    let mut day = empty_day(metadata);
    day.written = WriterInfo {
        by: writings.by.join(", "),
        version: VERSION,
    };
    day.totals = day_totals(&facts, &pieces);
    let claims = |claims: &[CitedClaim]| claims.iter().map(|claim| builder.statement(claim)).collect::<Vec<_>>();
    day.summary = vec![builder.statement(&synthesis.headline)];
    day.summary.extend(claims(&synthesis.summary));
    day.whole = DayObservations {
        corrected: claims(&synthesis.corrected),
        repeated: claims(&synthesis.repeated),
        worked: claims(&synthesis.worked),
    };
    day.spans = turn_spans(&facts);
    day.projects = build_projects(&facts, works);
    day.unread.clone_from(&facts.unread);
    day.excerpts = build_excerpts(&facts, &day);
    if let Some(store) = request.store {
        let evicted = evicted::find_evicted(store, &workspace, request)?;
        evicted::add_evicted(&mut day, evicted, workspace.metadata.length_s());
    }
    Ok(Some(number_secrets(day)))
}

/// A piece of work with its weight.
struct RankedWork {
    piece: WorkPiece,
    work: PieceOfWork,
    kind: WorkKind,
    weight: u64,
}

/// Combines a writer's sentences with the facts.
struct DayBuilder<'f> {
    facts: &'f Facts,
    as_of: Option<Timestamp>,
    /// Index of each turn by project, session and turn reference.
    turns: HashMap<(&'f str, &'f str, &'f str), usize>,
    names: HashMap<&'f str, &'f str>,
}

impl<'f> DayBuilder<'f> {
    fn new(facts: &'f Facts, as_of: Option<Timestamp>) -> Self {
        let name = |turn: usize| {
            let session = facts.session_of(turn);
            let project = facts.projects[session.project].key.as_str();
            (
                project,
                session.session_ref.as_str(),
                facts.turns[turn].turn_ref.as_str(),
            )
        };
        let projects = facts.projects.iter();
        Self {
            facts,
            as_of,
            turns: (0..facts.turns.len()).map(|turn| (name(turn), turn)).collect(),
            names: projects
                .map(|project| (project.key.as_str(), project.name.as_str()))
                .collect(),
        }
    }

    /// Builds one piece of work. Returns `None` if none of its turns could be read.
    fn build_work(&self, project: &str, item: &WorkItem) -> Option<RankedWork> {
        let find = |session: &str, turn: &str| self.turns.get(&(project, session, turn)).copied();
        let covered = item.covers.iter();
        let mut turns: Vec<usize> = covered
            .filter_map(|name| find(&name.session_ref, &name.turn_ref))
            .collect();
        turns.sort_by_key(|turn| (self.facts.turns[*turn].started_at, *turn));
        let first = *turns.first()?;
        let piece = assess_piece(self.facts, turns, self.as_of);
        let list = |claims: &[CitedClaim]| claims.iter().map(|claim| self.statement(claim)).collect::<Vec<_>>();
        let agents: BTreeSet<&str> = piece
            .turns
            .iter()
            .map(|turn| self.facts.session_of(*turn).agent.as_str())
            .collect();
        let line = self.facts.turns[first].prompt.line;
        let mut came: Vec<Statement> = item
            .disposition
            .iter()
            .map(|own| self.disposition_statement(own))
            .collect();
        came.extend(list(&item.came));
        let work = PieceOfWork {
            title: Statement {
                words: parse_words(&item.title),
                citations: vec![self.facts.cite_line(first, line)],
            },
            outcome: piece.judgement.outcome,
            reason: piece.judgement.reason,
            confidence: piece.judgement.confidence,
            from_digest: false,
            agents: agents.into_iter().map(str::to_owned).collect(),
            covers: self.facts.covered(&piece.turns),
            started_at: piece.started_at,
            ended_at: piece.ended_at,
            totals: piece.totals,
            asked: list(&item.asked),
            done: list(&item.done),
            came,
            open: list(&item.open),
            decided: list(&item.decided),
        };
        Some(RankedWork {
            weight: piece_weight(self.facts, &piece, work.open.len(), work.decided.len()),
            kind: item.kind,
            piece,
            work,
        })
    }

    /// Returns the writer's own assessment of a piece of work.
    fn disposition_statement(&self, own: &DispositionClaim) -> Statement {
        let mut words = vec![SentencePart::Say(format!("{}: ", own.kind.title()))];
        words.extend(parse_words(&own.text));
        let citations = own.citations.iter().map(|cited| self.citation(cited)).collect();
        Statement { words, citations }
    }

    fn statement(&self, claim: &CitedClaim) -> Statement {
        Statement {
            words: parse_words(&claim.text),
            citations: claim.citations.iter().map(|cited| self.citation(cited)).collect(),
        }
    }

    fn citation(&self, cited: &TurnCitation) -> Citation {
        let name = self.names.get(cited.project_key.as_str()).copied();
        Citation {
            project: name.unwrap_or(&cited.project_key).to_owned(),
            project_key: cited.project_key.clone(),
            session_ref: cited.session_ref.clone(),
            turn_ref: cited.turn_ref.clone(),
            first_line: cited.lines.first,
            last_line: cited.lines.last,
        }
    }
}

/// Builds the projects, heaviest first. Work that is not material is described in one line.
fn build_projects(facts: &Facts, mut works: Vec<(usize, RankedWork)>) -> Vec<ReportProject> {
    works.sort_by_key(|(_, ranked)| (Reverse(ranked.weight), ranked.piece.started_at, ranked.piece.turns[0]));
    let mut projects: Vec<(u64, usize, Vec<RankedWork>)> = Vec::new();
    for (project, ranked) in works {
        let at = projects.iter().position(|(_, other, _)| *other == project);
        let at = at.unwrap_or_else(|| {
            projects.push((0, project, Vec::new()));
            projects.len() - 1
        });
        projects[at].0 += ranked.weight;
        projects[at].2.push(ranked);
    }
    projects.sort_by_key(|(sum, project, _)| (Reverse(*sum), *project));
    let make = |(_, project, ranked): (u64, usize, Vec<RankedWork>)| {
        let pieces: Vec<&WorkPiece> = ranked.iter().map(|ranked| &ranked.piece).collect();
        let totals = sum_pieces(facts, &pieces);
        let (full, short): (Vec<RankedWork>, Vec<RankedWork>) =
            ranked.into_iter().partition(|ranked| ranked.kind == WorkKind::Material);
        let fold = |ranked: RankedWork| {
            let mut citations = ranked.work.title.citations;
            citations.extend(ranked.piece.turns.last().map(|turn| facts.cite_turn(*turn)));
            let mut words = ranked.work.title.words;
            if ranked.kind == WorkKind::Gap {
                words.push(SentencePart::Say(": the result is not in the logs".to_owned()));
            }
            MinorWork {
                statement: Statement { words, citations },
                covers: ranked.work.covers,
            }
        };
        ReportProject {
            project_key: facts.projects[project].key.clone(),
            project: facts.projects[project].name.clone(),
            totals,
            folded: short.into_iter().map(fold).collect(),
            works: full.into_iter().map(|ranked| ranked.work).collect(),
        }
    };
    projects.into_iter().map(make).collect()
}

/// Splits a writer's sentence: text between backticks is a name.
fn parse_words(text: &str) -> Vec<SentencePart> {
    let parts: Vec<&str> = text.split('`').collect();
    // With an odd number of backticks, they do not delimit names.
    if parts.len().is_multiple_of(2) {
        return vec![SentencePart::Say(text.to_owned())];
    }
    let word = |(at, part): (usize, &&str)| match (part.is_empty(), at % 2) {
        (true, _) => None,
        (false, 0) => Some(SentencePart::Say((*part).to_owned())),
        (false, _) => Some(SentencePart::Code((*part).to_owned())),
    };
    parts.iter().enumerate().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_between_backticks_is_a_name() {
        let say = |text: &str| SentencePart::Say(text.to_owned());
        let code = |text: &str| SentencePart::Code(text.to_owned());
        assert_eq!(
            parse_words("Ran `a b`, then `c`"),
            [say("Ran "), code("a b"), say(", then "), code("c")]
        );
        assert_eq!(parse_words("an odd ` one"), [say("an odd ` one")]);
        assert_eq!(parse_words("``"), []);
    }
}
