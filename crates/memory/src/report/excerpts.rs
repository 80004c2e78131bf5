//! The cited turns in small: the lines that statements stand on, the prompt, the beginning of the answer, some commands.
//! What is not shown is counted, so that a page stays small and hides nothing.

use std::collections::{BTreeMap, BTreeSet};

use transcript::{Actor, Kind};

use super::facts::{Facts, Taken};
use super::fields::{Citation, Day, Excerpt, ExcerptLine, LineKind, Statement};
use super::paths::in_command;
use super::words::quoted;

/// Characters of a prompt, of an answer, and of other lines. Where a day has many turns they are fewer.
const PROMPT_CHARS: usize = 1200;
const ANSWER_CHARS: usize = 900;
const LINE_CHARS: usize = 160;
/// So many lines of a turn are shown beside those that are cited.
const LINES_MAX: usize = 14;
/// With more turns than this, each is shown in less.
const MANY: usize = 60;

/// All citations of a day.
pub(super) fn citations(day: &Day) -> impl Iterator<Item = &Citation> {
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

/// Makes the excerpts of all turns that a day cites.
pub(super) fn excerpts(facts: &Facts, day: &Day) -> Vec<Excerpt> {
    let mut cited: BTreeMap<(&str, &str, &str), BTreeSet<u64>> = BTreeMap::new();
    for citation in citations(day) {
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
    let share = if cited.len() > MANY { 3 } else { 1 };
    let mut excerpts = Vec::new();
    for turn in 0..facts.turns.len() {
        let (own, session) = (&facts.turns[turn], facts.session_of(turn));
        let project = facts.projects[session.project].key.as_str();
        if let Some(lines) = cited.get(&(project, session.session_ref.as_str(), own.turn_ref.as_str())) {
            excerpts.push(excerpt(facts, turn, lines, share));
        }
    }
    excerpts
}

fn excerpt(facts: &Facts, turn: usize, cited: &BTreeSet<u64>, share: usize) -> Excerpt {
    let (own, session) = (&facts.turns[turn], facts.session_of(turn));
    let mut lines = lines(facts, turn, share);
    let answer = own.reply.as_ref().map(|reply| reply.line);
    let is_kept = |line: &ExcerptLine| {
        cited.contains(&line.line)
            || line.kind == LineKind::Prompt
            || Some(line.line) == answer
            || line.kind == LineKind::Human
    };
    // What is cited stays; of the rest the first ones, failures before others.
    let mut room = LINES_MAX / share;
    let all = lines.len();
    for kind in [LineKind::FailedTool, LineKind::Tool, LineKind::Notice, LineKind::Answer] {
        let mut at = 0;
        lines.retain(|line| {
            if line.kind != kind || is_kept(line) {
                return true;
            }
            at += 1;
            at <= room
        });
        room = room.saturating_sub(at.min(room));
    }
    Excerpt {
        citation: facts.cite_turn(turn),
        agent: session.agent.as_str().to_owned(),
        session_id: session.id.clone(),
        from_digest: false,
        started_at: own.started_at,
        left_out: (all - lines.len()) as u64,
        lines,
    }
}

/// Everything in a turn that can be shown, by line.
fn lines(facts: &Facts, turn: usize, share: usize) -> Vec<ExcerptLine> {
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
        quoted(&own.prompt.text, PROMPT_CHARS / share),
    );
    if let Some(reply) = &own.reply {
        add(reply.line, LineKind::Answer, quoted(&reply.text, ANSWER_CHARS / share));
    }
    for taken in &own.steps {
        match taken {
            Taken::Ran(ran) => {
                let kind = if ran.failed() {
                    LineKind::FailedTool
                } else {
                    LineKind::Tool
                };
                let text = format!("{} {}", ran.tool, in_command(&ran.wording, cwd));
                add(ran.line, kind, quoted(&text, LINE_CHARS));
            }
            Taken::Event(event) => {
                let kind = match event.actor {
                    _ if event.trigger => continue,
                    Actor::Human => LineKind::Human,
                    Actor::Agent if event.kinds.has(Kind::AssistantMsg) => LineKind::Answer,
                    _ if event.kinds.has(Kind::Error) => LineKind::Notice,
                    _ => continue,
                };
                add(event.line, kind, quoted(&event.summary, LINE_CHARS));
            }
        }
    }
    lines.into_values().collect()
}
