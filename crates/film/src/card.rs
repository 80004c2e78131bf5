//! What a film begins and ends with: what the session was about, and what came of it.

use transcript::Outcome;

use super::cells::{self, Wrap, of, wrap};
use super::scene::{Card, Cell, Cuts, Ground, Ink, Row, Style};
use render::escape::{one_line, reveal};
use render::html_title;
use render::measure::{count, date_time, dollars, duration, plural};
use render::steps::{Look, Step, steps};
use render::transcript_in::Transcript;

/// Large letters take two columns each.
const LARGE_COLUMNS: usize = 2;
const TITLE_ROWS_MAX: usize = 3;

pub(crate) fn title(transcript: &Transcript, columns: usize) -> Card {
    let head = &transcript.head;
    let session = &head.session;
    let mut facts = Vec::new();
    let mut agent = session.flavor.title().to_owned();
    if let Some(model) = session.model.as_deref() {
        agent = format!("{agent} · {}", one_line(&reveal(model), 40));
    }
    facts.push(row(of(&agent, Style::of(Ink::Agent).bold())));
    let place = session.cwd.as_deref().map(|cwd| one_line(&reveal(cwd), 80));
    let branch = session
        .git_branch
        .as_deref()
        .map(|branch| one_line(&reveal(branch), 40));
    let places: Vec<String> = [place, branch].into_iter().flatten().collect();
    facts.push(row(of(&places.join(" · "), Style::DIM)));
    let took = session
        .started_at
        .zip(session.ended_at)
        .map(|(from, to)| to.duration_since(from).as_millis());
    let mut told: Vec<String> = Vec::new();
    told.extend(session.started_at.map(|at| date_time(at, &head.zone)));
    told.extend(took.and_then(|ms| u64::try_from(ms).ok()).map(duration));
    told.push(plural(transcript.turns.len() as u64, "turn"));
    facts.push(row(of(&told.join(" · "), Style::DIM)));
    facts.retain(|row| !row.cells.is_empty());
    Card {
        title: large(&html_title(transcript), columns),
        facts,
    }
}

pub(crate) fn end(transcript: &Transcript, cuts: &Cuts, columns: usize) -> Card {
    let head = &transcript.head;
    let mut facts = Vec::new();
    let outcome = match head.outcome {
        Outcome::Success => Some(("✓ ", Ink::Good, Ground::Good)),
        Outcome::Fail => Some(("✗ ", Ink::Bad, Ground::Bad)),
        Outcome::Abandoned => Some(("", Ink::Dim, Ground::Code)),
        Outcome::Unknown => None,
    };
    if let Some((mark, ink, ground)) = outcome {
        let word = format!(" {mark}{} ", head.outcome.as_str());
        facts.push(row(of(&word, Style::of(ink).bold().on(ground))));
        facts.push(Row::default());
    }
    let steps = steps(transcript);
    let of_look = |look: Look| steps.iter().filter(|step| step.look() == look).count() as u64;
    let failed = steps
        .iter()
        .filter(|step| step.look() == Look::Test && step.is_error())
        .count() as u64;
    let mut told = vec![plural(transcript.turns.len() as u64, "turn")];
    told.extend(some(of_look(Look::Shell) + of_look(Look::Test), "command"));
    told.extend(some(of_look(Look::Edit), "edit"));
    facts.push(row(of(&told.join(" · "), Style::PLAIN)));
    if let Some(last) = steps
        .iter()
        .rev()
        .find(|step| step.look() == Look::Test && step.result.is_some())
    {
        facts.push(row(tests(&steps, last, failed)));
    }
    let cost = &head.session.cost;
    let tokens = cost.input_tokens + cost.output_tokens + cost.cache_tokens;
    let mut told: Vec<String> = Vec::new();
    told.extend((tokens > 0).then(|| format!("{} tokens", count(tokens))));
    told.extend(head.money.map(|told| dollars(told.micros)));
    facts.push(row(of(&told.join(" · "), Style::DIM)));
    facts.push(row(of(&cut_words(cuts), Style::DIM)));
    let masked = some(head.masked, "secret").map(|secrets| format!("{secrets} masked"));
    facts.extend(masked.map(|masked| row(of(&masked, Style::of(Ink::Warn)))));
    facts.retain(|row| !row.cells.is_empty() || row.ground == Ground::Page);
    facts.dedup_by(|a, b| a.cells.is_empty() && b.cells.is_empty());
    Card {
        title: large(&html_title(transcript), columns),
        facts,
    }
}

fn tests(steps: &[Step<'_>], last: &Step<'_>, failed: u64) -> Vec<Cell> {
    let runs = steps.iter().filter(|step| step.look() == Look::Test).count() as u64;
    let mut cells = of(&format!("{}: ", plural(runs, "test run")), Style::PLAIN);
    cells::push(&mut cells, &format!("{failed} failed, "), Style::DIM);
    match last.is_error() {
        true => cells::push(&mut cells, "the last one failed", Style::of(Ink::Bad)),
        false => cells::push(&mut cells, "the last one passed", Style::of(Ink::Good)),
    }
    cells
}

/// What of the session's time is not in the film.
fn cut_words(cuts: &Cuts) -> String {
    let mut told = Vec::new();
    if cuts.waits_ms >= 1_000 {
        told.push(format!("{} of waiting cut", duration(cuts.waits_ms)));
    }
    told.extend(some(cuts.turns.len() as u64, "turn").map(|turns| format!("{turns} left out")));
    told.join(" · ")
}

fn some(number: u64, word: &str) -> Option<String> {
    (number > 0).then(|| plural(number, word))
}

fn row(cells: Vec<Cell>) -> Row {
    Row {
        cells,
        ground: Ground::Page,
    }
}

/// A title in large letters, on a few rows.
fn large(title: &str, columns: usize) -> Vec<Row> {
    let cells = of(&one_line(&reveal(title), 160), Style::PLAIN.bold());
    let mut rows = wrap(&cells, columns * 4 / 5 / LARGE_COLUMNS, Wrap::Words, 0);
    if rows.len() > TITLE_ROWS_MAX {
        rows.truncate(TITLE_ROWS_MAX);
        cells::push(&mut rows[TITLE_ROWS_MAX - 1], "…", Style::DIM);
    }
    rows.into_iter().map(row).collect()
}
