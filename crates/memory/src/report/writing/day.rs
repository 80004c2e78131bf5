//! A written day becomes the same plain data that every page is made of. The words are the writer's; numbers, times and
//! how a piece of work came out are what the logs show, as they are for the default writer.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::index::{Cited, Index};
use super::progress::Writings;
use super::works::{CitedClaim, Disposed, WorkItem, WorkKind};
use crate::report::excerpts::excerpts;
use crate::report::facts::Facts;
use crate::report::fields::{Citation, Day, Folded, Project, Statement, Whole, Word, Work, Written};
use crate::report::gone;
use crate::report::judge::{Piece, weigh};
use crate::report::project::{day_totals, empty, spans, sum};
use crate::report::rank::weight;
use crate::report::words::numbered;
use crate::report::workspace::Workspace;
use crate::report::{Ask, ReportError, read};

/// Of what writers hand in.
const VERSION: u32 = 1;

/// Makes a day of what a writer wrote; none where something is missing.
pub fn write_from(ask: &Ask<'_>) -> Result<Option<Day>, ReportError> {
    let root = ask.workspace.canonicalize().map_err(|error| ReportError::Workspace {
        path: ask.workspace.to_owned(),
        reason: error.to_string(),
    })?;
    let workspace = Workspace::open(&root)?;
    let index = Index::of(&workspace, &root);
    let writings = Writings::read(&root, &index);
    let Some(told) = &writings.day else {
        return Ok(None);
    };
    let facts = read::read(&workspace, ask);
    let metadata = &workspace.metadata;
    let as_of: Option<Timestamp> = metadata.prepared_at.parse().ok().filter(|_| metadata.is_partial());
    let teller = Teller::new(&facts, as_of);
    let mut works: Vec<(usize, Told)> = Vec::new();
    for own in &writings.projects {
        let Some(project) = facts.projects.iter().position(|project| project.key == own.key) else {
            continue;
        };
        let told = own.works.values().filter_map(|item| teller.tell(&own.key, item));
        works.extend(told.map(|told| (project, told)));
    }
    let pieces: Vec<&Piece> = works.iter().map(|(_, told)| &told.piece).collect();
    let mut day = empty(metadata);
    day.written = Written {
        by: writings.by.join(", "),
        version: VERSION,
    };
    day.totals = day_totals(&facts, &pieces);
    let claims = |claims: &[CitedClaim]| claims.iter().map(|claim| teller.statement(claim)).collect::<Vec<_>>();
    day.summary = vec![teller.statement(&told.headline)];
    day.summary.extend(claims(&told.summary));
    day.whole = Whole {
        corrected: claims(&told.corrected),
        repeated: claims(&told.repeated),
        worked: claims(&told.worked),
    };
    day.spans = spans(&facts);
    day.projects = projects(&facts, works);
    day.unread.clone_from(&facts.unread);
    day.excerpts = excerpts(&facts, &day);
    if let Some(store) = ask.store {
        let gone = gone::gone(store, &workspace, ask)?;
        gone::add(&mut day, gone, workspace.metadata.length_s());
    }
    Ok(Some(numbered(day)))
}

/// A piece of work with its numbers.
struct Told {
    piece: Piece,
    work: Work,
    kind: WorkKind,
    weight: u64,
}

/// Puts a writer's words and the facts together.
struct Teller<'f> {
    facts: &'f Facts,
    as_of: Option<Timestamp>,
    /// Turns by project, session and reference.
    turns: HashMap<(&'f str, &'f str, &'f str), usize>,
    names: HashMap<&'f str, &'f str>,
}

impl<'f> Teller<'f> {
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

    /// One piece of work; none where all of its turns are unreadable.
    fn tell(&self, project: &str, item: &WorkItem) -> Option<Told> {
        let find = |session: &str, turn: &str| self.turns.get(&(project, session, turn)).copied();
        let covered = item.covers.iter();
        let mut turns: Vec<usize> = covered
            .filter_map(|name| find(&name.session_ref, &name.turn_ref))
            .collect();
        turns.sort_by_key(|turn| (self.facts.turns[*turn].started_at, *turn));
        let first = *turns.first()?;
        let piece = weigh(self.facts, turns, self.as_of);
        let list = |claims: &[CitedClaim]| claims.iter().map(|claim| self.statement(claim)).collect::<Vec<_>>();
        let agents: BTreeSet<&str> = piece
            .turns
            .iter()
            .map(|turn| self.facts.session_of(*turn).agent.as_str())
            .collect();
        let line = self.facts.turns[first].prompt.line;
        let mut came: Vec<Statement> = item.disposition.iter().map(|own| self.disposed(own)).collect();
        came.extend(list(&item.came));
        let work = Work {
            title: Statement {
                words: words_of(&item.title),
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
        Some(Told {
            weight: weight(self.facts, &piece, work.open.len(), work.decided.len()),
            kind: item.kind,
            piece,
            work,
        })
    }

    /// How the writer judges a piece of work.
    fn disposed(&self, own: &Disposed) -> Statement {
        let mut words = vec![Word::Say(format!("{}: ", own.kind.title()))];
        words.extend(words_of(&own.text));
        let citations = own.citations.iter().map(|cited| self.citation(cited)).collect();
        Statement { words, citations }
    }

    fn statement(&self, claim: &CitedClaim) -> Statement {
        Statement {
            words: words_of(&claim.text),
            citations: claim.citations.iter().map(|cited| self.citation(cited)).collect(),
        }
    }

    fn citation(&self, cited: &Cited) -> Citation {
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

/// The projects, those with the most weight first; what is not material is told in one line.
fn projects(facts: &Facts, mut works: Vec<(usize, Told)>) -> Vec<Project> {
    works.sort_by_key(|(_, told)| (Reverse(told.weight), told.piece.started_at, told.piece.turns[0]));
    let mut projects: Vec<(u64, usize, Vec<Told>)> = Vec::new();
    for (project, told) in works {
        let at = projects.iter().position(|(_, other, _)| *other == project);
        let at = at.unwrap_or_else(|| {
            projects.push((0, project, Vec::new()));
            projects.len() - 1
        });
        projects[at].0 += told.weight;
        projects[at].2.push(told);
    }
    projects.sort_by_key(|(sum, project, _)| (Reverse(*sum), *project));
    let make = |(_, project, told): (u64, usize, Vec<Told>)| {
        let pieces: Vec<&Piece> = told.iter().map(|one| &one.piece).collect();
        let totals = sum(facts, &pieces);
        let (full, short): (Vec<Told>, Vec<Told>) = told.into_iter().partition(|told| told.kind == WorkKind::Material);
        let fold = |told: Told| {
            let mut citations = told.work.title.citations;
            citations.extend(told.piece.turns.last().map(|turn| facts.cite_turn(*turn)));
            let mut words = told.work.title.words;
            if told.kind == WorkKind::Gap {
                words.push(Word::Say(": what came of it is not in the logs".to_owned()));
            }
            Folded {
                statement: Statement { words, citations },
                covers: told.work.covers,
            }
        };
        Project {
            project_key: facts.projects[project].key.clone(),
            project: facts.projects[project].name.clone(),
            totals,
            folded: short.into_iter().map(fold).collect(),
            works: full.into_iter().map(|one| one.work).collect(),
        }
    };
    projects.into_iter().map(make).collect()
}

/// A writer's sentence: what stands between backticks is a name.
fn words_of(text: &str) -> Vec<Word> {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd one is no quotation mark.
    if parts.len().is_multiple_of(2) {
        return vec![Word::Say(text.to_owned())];
    }
    let word = |(at, part): (usize, &&str)| match (part.is_empty(), at % 2) {
        (true, _) => None,
        (false, 0) => Some(Word::Say((*part).to_owned())),
        (false, _) => Some(Word::Code((*part).to_owned())),
    };
    parts.iter().enumerate().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_between_backticks() {
        let say = |text: &str| Word::Say(text.to_owned());
        let code = |text: &str| Word::Code(text.to_owned());
        assert_eq!(
            words_of("Ran `a b`, then `c`"),
            [say("Ran "), code("a b"), say(", then "), code("c")]
        );
        assert_eq!(words_of("an odd ` one"), [say("an odd ` one")]);
        assert_eq!(words_of("``"), []);
    }
}
