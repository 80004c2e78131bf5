//! Excerpts of the cited turns: the cited lines, the prompt, the start of the answer and some tool calls. Omitted lines
//! are counted, so a page stays small without hiding that there is more.

use std::collections::{BTreeMap, BTreeSet};

use transcript::{Actor, Kind};

use super::facts::{Facts, TurnStep};
use super::fields::{Citation, DayReport, ExcerptLine, LineKind, Statement, TurnExcerpt};
use super::paths::shorten_command;
use super::words::shorten_quote;

/// Maximum length of a prompt, of an answer and of other lines. Days with many turns use less.
const PROMPT_CHARS_MAX: usize = 1200;
const ANSWER_CHARS_MAX: usize = 900;
const LINE_CHARS_MAX: usize = 160;
/// Maximum number of lines shown in addition to the cited ones.
const LINES_MAX: usize = 14;
/// Above this number of turns, each excerpt is shortened.
const MANY_TURNS: usize = 60;

/// Returns all citations of a day.
pub(super) fn day_citations(day: &DayReport) -> impl Iterator<Item = &Citation> {
    let projects = day.projects.iter().flat_map(|project| {
        let works = project.works.iter().flat_map(|work| {
            let lists = [&work.asked, &work.done, &work.came, &work.open, &work.decided];
            std::iter::once(&work.title).chain(lists.into_iter().flatten())
        });
        works.chain(project.folded.iter().map(|folded| &folded.statement))
    });
    let whole = [&day.whole.corrected, &day.whole.repeated, &day.whole.worked];
    let statements = day.summary.iter().chain(projects).chain(whole.into_iter().flatten());
    statements.flat_map(|statement: &Statement| &statement.citations)
}

/// Builds the excerpts of all turns that a day cites.
pub(super) fn build_excerpts(facts: &Facts, day: &DayReport) -> Vec<TurnExcerpt> {
    let mut cited: BTreeMap<(&str, &str, &str), BTreeSet<u64>> = BTreeMap::new();
    for citation in day_citations(day) {
        let key = (
            citation.project_key.as_str(),
            citation.session_ref.as_str(),
            citation.turn_ref.as_str(),
        );
        cited
            .entry(key)
            .or_default()
            .extend([citation.first_line, citation.last_line]);
    }
    let share = if cited.len() > MANY_TURNS { 3 } else { 1 };
    let mut excerpts = Vec::new();
    for turn in 0..facts.turns.len() {
        let (own, session) = (&facts.turns[turn], facts.session_of(turn));
        let project = facts.projects[session.project].key.as_str();
        if let Some(lines) = cited.get(&(project, session.session_ref.as_str(), own.turn_ref.as_str())) {
            excerpts.push(build_excerpt(facts, turn, lines, share));
        }
    }
    excerpts
}

fn build_excerpt(facts: &Facts, turn: usize, cited: &BTreeSet<u64>, share: usize) -> TurnExcerpt {
    let (own, session) = (&facts.turns[turn], facts.session_of(turn));
    let mut lines = turn_lines(facts, turn, share);
    let answer = own.reply.as_ref().map(|reply| reply.line);
    let is_kept = |line: &ExcerptLine| {
        cited.contains(&line.line)
            || line.kind == LineKind::Prompt
            || Some(line.line) == answer
            || line.kind == LineKind::Human
    };
    // Cited lines are always kept. Of the other lines the first ones are kept, and failures take precedence.
    let mut remaining = LINES_MAX / share;
    let all = lines.len();
    for kind in [LineKind::FailedTool, LineKind::Tool, LineKind::Notice, LineKind::Answer] {
        let mut at = 0;
        lines.retain(|line| {
            if line.kind != kind || is_kept(line) {
                return true;
            }
            at += 1;
            at <= remaining
        });
        remaining = remaining.saturating_sub(at.min(remaining));
    }
    TurnExcerpt {
        citation: facts.cite_turn(turn),
        agent: session.agent.as_str().to_owned(),
        session_id: session.id.clone(),
        from_digest: false,
        started_at: own.started_at,
        left_out: (all - lines.len()) as u64,
        lines,
    }
}

/// Returns all lines of a turn that can be shown, in order.
fn turn_lines(facts: &Facts, turn: usize, share: usize) -> Vec<ExcerptLine> {
    let own = &facts.turns[turn];
    let cwd = facts.session_of(turn).cwd.as_deref();
    let mut lines: BTreeMap<(u64, LineKind), ExcerptLine> = BTreeMap::new();
    let mut add = |line: u64, kind: LineKind, text: String| {
        if !text.is_empty() {
            lines.entry((line, kind)).or_insert(ExcerptLine { line, kind, text });
        }
    };
    add(
        own.prompt.line,
        LineKind::Prompt,
        shorten_quote(&own.prompt.text, PROMPT_CHARS_MAX / share),
    );
    if let Some(reply) = &own.reply {
        add(
            reply.line,
            LineKind::Answer,
            shorten_quote(&reply.text, ANSWER_CHARS_MAX / share),
        );
    }
    for step in &own.steps {
        match step {
            TurnStep::Ran(ran) => {
                let kind = if ran.has_failed() {
                    LineKind::FailedTool
                } else {
                    LineKind::Tool
                };
                let text = format!("{} {}", ran.tool, shorten_command(&ran.wording, cwd));
                add(ran.line, kind, shorten_quote(&text, LINE_CHARS_MAX));
            }
            TurnStep::Event(event) => {
                let kind = match event.actor {
                    _ if event.trigger => continue,
                    Actor::Human => LineKind::Human,
                    Actor::Agent if event.kinds.has(Kind::AssistantMsg) => LineKind::Answer,
                    _ if event.kinds.has(Kind::Error) => LineKind::Notice,
                    _ => continue,
                };
                add(event.line, kind, shorten_quote(&event.summary, LINE_CHARS_MAX));
            }
        }
    }
    lines.into_values().collect()
}
