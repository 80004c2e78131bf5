//! Scans one frame: which turns contain which terms, and the best text of each.
//!
//! A line is decoded only if the quick test says that it may match.

use std::collections::BTreeMap;

use transcript::{Field, LineBody, Role, Text, texts};

use super::glance::LinePrefilter;
use super::matching::{Matcher, TextContext, TextMatches};
use super::query::Query;
use super::score::Closeness;
use super::snippet::{Snippet, cut_snippet};
use super::{EventFacts, PartFormat, SearchPart};
use crate::packs;

/// A turn, or a run of lines that belongs to no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TurnOrGap {
    Turn(u32),
    /// Lines before, between or after the turns of a part: the index of the part, and the number of its turns that
    /// start earlier.
    Outside(usize, usize),
}

/// What was found in one turn so far.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnMatches {
    pub(super) terms: u32,
    /// The best field in which each term was found.
    pub(super) fields: BTreeMap<usize, Field>,
    /// Number of texts that contain a term.
    pub(super) texts: u32,
    pub(super) best: Option<BestText>,
}

/// The text that best shows why a turn matches.
#[derive(Debug, Clone)]
pub(super) struct BestText {
    pub(super) closeness: Closeness,
    pub(super) field: Field,
    pub(super) role: Role,
    pub(super) tool: Option<Box<str>>,
    pub(super) part: usize,
    pub(super) line: u64,
    pub(super) block: u32,
    pub(super) snippet: Snippet,
}

impl TurnMatches {
    /// Merges the matches of another frame. The order does not matter.
    pub(super) fn add(&mut self, other: Self) {
        self.terms |= other.terms;
        self.texts += other.texts;
        self.add_fields(other.fields.into_iter());
        if other
            .best
            .as_ref()
            .is_some_and(|best| best.is_better_than(self.best.as_ref()))
        {
            self.best = other.best;
        }
    }

    fn add_fields(&mut self, fields: impl Iterator<Item = (usize, Field)>) {
        for (term, field) in fields {
            let best = self.fields.entry(term).or_insert(field);
            *best = field.min(*best);
        }
    }
}

impl BestText {
    /// Compares by number of terms, then by field, then by the distance between the terms, then by position.
    fn is_better_than(&self, other: Option<&Self>) -> bool {
        let rank = |best: &Self| {
            let place = (best.part, best.line, best.block);
            (
                std::cmp::Reverse(best.closeness.terms),
                best.field,
                std::cmp::Reverse(best.closeness.negated_bytes),
                place,
            )
        };
        other.is_none_or(|other| rank(self) < rank(other))
    }
}

/// Scans frames for one query. Create one per thread.
pub(super) struct Scanner<'q> {
    query: &'q Query,
    matcher: Matcher<'q>,
    glance: LinePrefilter,
}

impl<'q> Scanner<'q> {
    /// `glance` must have been created for `query`.
    pub(super) fn new(query: &'q Query, glance: LinePrefilter) -> Self {
        Self {
            query,
            matcher: Matcher::new(query),
            glance,
        }
    }

    /// Scans the lines of a frame.
    pub(super) fn scan(
        &mut self,
        (number, part): (usize, &SearchPart),
        first_line: u64,
        lines: &[u8],
        facts: &[EventFacts],
    ) -> BTreeMap<TurnOrGap, TurnMatches> {
        let mut turns: BTreeMap<TurnOrGap, TurnMatches> = BTreeMap::new();
        let mut lines_to_decode: Vec<(u64, &[u8])> = Vec::new();
        self.glance.each_line(part.form, lines, &mut |at, line| {
            lines_to_decode.push((first_line + at, line));
            true
        });
        for (line_number, line) in lines_to_decode {
            for text in line_texts(part.form, line) {
                let fact = find_fact(facts, line_number, text.block);
                let Some(found) = self.find_terms(&text, fact) else {
                    continue;
                };
                let turn = turns.entry(part.place_of_line(number, line_number)).or_default();
                self.add_text((number, line_number), &text, fact, &found, turn);
            }
        }
        turns
    }

    fn find_terms<'t>(&mut self, text: &'t Text, fact: Option<&EventFacts>) -> Option<TextMatches<'t>> {
        let about = TextContext {
            field: text.field,
            role: text.role,
            tool: fact.and_then(|fact| fact.tool.as_deref()).or(text.tool.as_deref()),
            kinds: fact.map(|fact| fact.kinds),
        };
        self.matcher.find(&about, &text.text)
    }

    /// Adds the matches in a text to its turn.
    fn add_text(
        &self,
        (part, line): (usize, u64),
        text: &Text,
        fact: Option<&EventFacts>,
        found: &TextMatches<'_>,
        turn: &mut TurnMatches,
    ) {
        let wanted = self.query.wanted();
        turn.terms |= found.terms;
        turn.texts += u32::from(found.terms & wanted != 0 || wanted == 0);
        turn.add_fields(
            (0..32)
                .filter(|term| found.terms & 1 << term != 0)
                .map(|term| (term, text.field)),
        );
        let (closeness, focus) = Closeness::measure(&found.places, wanted);
        let mut best = BestText {
            closeness,
            field: text.field,
            role: text.role,
            tool: None,
            part,
            line,
            block: text.block,
            snippet: Snippet::default(),
        };
        if best.is_better_than(turn.best.as_ref()) {
            let marked = found.places.iter().filter(|(_, term)| wanted & 1 << term != 0);
            let places: Vec<_> = marked.map(|(place, _)| place.clone()).collect();
            best.snippet = cut_snippet(&found.text, focus, &places);
            best.tool = fact.and_then(|fact| fact.tool.clone()).or_else(|| text.tool.clone());
            turn.best = Some(best);
        }
    }
}

fn line_texts(form: PartFormat, line: &[u8]) -> Vec<Text> {
    match (form, packs::parse_body(line)) {
        (_, LineBody::Oversized { .. }) => Vec::new(),
        (PartFormat::Records(agent), LineBody::Bytes(line)) => texts(agent, line),
        (PartFormat::Plain, LineBody::Bytes(line)) => vec![Text {
            block: 0,
            field: Field::ToolOutput,
            role: Role::Tool,
            tool: None,
            text: String::from_utf8_lossy(line).into_owned(),
        }],
    }
}

/// Returns the facts of an event. `facts` must be sorted by line and block.
fn find_fact(facts: &[EventFacts], line: u64, block: u32) -> Option<&EventFacts> {
    let at = facts
        .binary_search_by_key(&(line, block), |fact| (fact.line, fact.block))
        .ok()?;
    facts.get(at)
}
