//! The cards at the start and at the end of a film: what the session was about, and its result.

use transcript::Outcome;

use super::cells::{self, Wrap, text_cells, wrap};
use super::scene::{Background, Cell, CellStyle, FilmCuts, ScreenRow, TextColor, TitleCard};
use render::escape::{one_line, show_invisible};
use render::html_title;
use render::input::Transcript;
use render::measure::{count, date_time, dollars, duration, plural};
use render::steps::{Step, StepKind, steps};

/// A large character takes two columns.
const LARGE_COLUMNS: usize = 2;
const TITLE_ROWS_MAX: usize = 3;

pub(crate) fn title_card(transcript: &Transcript, columns: usize) -> TitleCard {
    let head = &transcript.head;
    let session = &head.session;
    let mut facts = Vec::new();
    let mut agent = session.flavor.title().to_owned();
    if let Some(model) = session.model.as_deref() {
        agent = format!("{agent} · {}", one_line(&show_invisible(model), 40));
    }
    facts.push(page_row(text_cells(&agent, CellStyle::new(TextColor::Agent).bold())));
    let place = session.cwd.as_deref().map(|cwd| one_line(&show_invisible(cwd), 80));
    let branch = session
        .git_branch
        .as_deref()
        .map(|branch| one_line(&show_invisible(branch), 40));
    let places: Vec<String> = [place, branch].into_iter().flatten().collect();
    facts.push(page_row(text_cells(&places.join(" · "), CellStyle::DIM)));
    let took = session
        .started_at
        .zip(session.ended_at)
        .map(|(from, to)| to.duration_since(from).as_millis());
    let mut parts: Vec<String> = Vec::new();
    parts.extend(session.started_at.map(|at| date_time(at, &head.zone)));
    parts.extend(took.and_then(|ms| u64::try_from(ms).ok()).map(duration));
    parts.push(plural(transcript.turns.len() as u64, "turn"));
    facts.push(page_row(text_cells(&parts.join(" · "), CellStyle::DIM)));
    facts.retain(|row| !row.cells.is_empty());
    TitleCard {
        title: title_rows(&html_title(transcript), columns),
        facts,
    }
}

pub(crate) fn end_card(transcript: &Transcript, cuts: &FilmCuts, columns: usize) -> TitleCard {
    let head = &transcript.head;
    let mut facts = Vec::new();
    let outcome = match head.outcome {
        Outcome::Success => Some(("✓ ", TextColor::Good, Background::Good)),
        Outcome::Fail => Some(("✗ ", TextColor::Bad, Background::Bad)),
        Outcome::Abandoned => Some(("", TextColor::Dim, Background::Code)),
        Outcome::Unknown => None,
    };
    if let Some((mark, color, background)) = outcome {
        let word = format!(" {mark}{} ", head.outcome.as_str());
        facts.push(page_row(text_cells(&word, CellStyle::new(color).bold().on(background))));
        facts.push(ScreenRow::default());
    }
    let steps = steps(transcript);
    let count_kind = |kind: StepKind| steps.iter().filter(|step| step.kind() == kind).count() as u64;
    let failed = steps
        .iter()
        .filter(|step| step.kind() == StepKind::Test && step.is_error())
        .count() as u64;
    let mut parts = vec![plural(transcript.turns.len() as u64, "turn")];
    parts.extend(count_if_any(
        count_kind(StepKind::Shell) + count_kind(StepKind::Test),
        "command",
    ));
    parts.extend(count_if_any(count_kind(StepKind::Edit), "edit"));
    facts.push(page_row(text_cells(&parts.join(" · "), CellStyle::PLAIN)));
    if let Some(last) = steps
        .iter()
        .rev()
        .find(|step| step.kind() == StepKind::Test && step.result.is_some())
    {
        facts.push(page_row(test_cells(&steps, last, failed)));
    }
    let cost = &head.session.cost;
    let tokens = cost.input_tokens + cost.output_tokens + cost.cache_tokens;
    let mut parts: Vec<String> = Vec::new();
    parts.extend((tokens > 0).then(|| format!("{} tokens", count(tokens))));
    parts.extend(head.money.map(|cost| dollars(cost.micros)));
    facts.push(page_row(text_cells(&parts.join(" · "), CellStyle::DIM)));
    facts.push(page_row(text_cells(&describe_cuts(cuts), CellStyle::DIM)));
    let masked = count_if_any(head.masked, "secret").map(|secrets| format!("{secrets} masked"));
    facts.extend(masked.map(|masked| page_row(text_cells(&masked, CellStyle::new(TextColor::Warn)))));
    facts.retain(|row| !row.cells.is_empty() || row.background == Background::Page);
    facts.dedup_by(|a, b| a.cells.is_empty() && b.cells.is_empty());
    TitleCard {
        title: title_rows(&html_title(transcript), columns),
        facts,
    }
}

fn test_cells(steps: &[Step<'_>], last: &Step<'_>, failed: u64) -> Vec<Cell> {
    let runs = steps.iter().filter(|step| step.kind() == StepKind::Test).count() as u64;
    let mut cells = text_cells(&format!("{}: ", plural(runs, "test run")), CellStyle::PLAIN);
    cells::push_text(&mut cells, &format!("{failed} failed, "), CellStyle::DIM);
    match last.is_error() {
        true => cells::push_text(&mut cells, "the last one failed", CellStyle::new(TextColor::Bad)),
        false => cells::push_text(&mut cells, "the last one passed", CellStyle::new(TextColor::Good)),
    }
    cells
}

/// Describes what the film omits.
fn describe_cuts(cuts: &FilmCuts) -> String {
    let mut parts = Vec::new();
    if cuts.waits_ms >= 1_000 {
        parts.push(format!("{} of waiting cut", duration(cuts.waits_ms)));
    }
    parts.extend(count_if_any(cuts.turns.len() as u64, "turn").map(|turns| format!("{turns} left out")));
    parts.join(" · ")
}

fn count_if_any(number: u64, word: &str) -> Option<String> {
    (number > 0).then(|| plural(number, word))
}

fn page_row(cells: Vec<Cell>) -> ScreenRow {
    ScreenRow {
        cells,
        background: Background::Page,
    }
}

/// Wraps a title in large characters.
fn title_rows(title: &str, columns: usize) -> Vec<ScreenRow> {
    let cells = text_cells(&one_line(&show_invisible(title), 160), CellStyle::PLAIN.bold());
    let mut rows = wrap(&cells, columns * 4 / 5 / LARGE_COLUMNS, Wrap::Words, 0);
    if rows.len() > TITLE_ROWS_MAX {
        rows.truncate(TITLE_ROWS_MAX);
        cells::push_text(&mut rows[TITLE_ROWS_MAX - 1], "…", CellStyle::DIM);
    }
    rows.into_iter().map(page_row).collect()
}
