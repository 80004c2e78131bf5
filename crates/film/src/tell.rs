//! Steps as rows that come one after the other: prompts typed, commands with their output, differences, tests green or red.

mod change;
mod run;

use serde_json::Value;
use transcript::{Actor, Kind};

use self::change::edit;
use self::run::{ending, output, shell};
use super::cells::{self, Wrap, of, wrap};
use super::scene::{Cell, Ground, Ink, Row, Style};
use super::words;
use render::ansi;
use render::cards::is_quiet;
use render::escape::one_line;
use render::markdown::Depth;
use render::measure::plural;
use render::steps::{Look, Step};
use render::tools::{Family, family, input, list_of, text_of, wording};

/// A step as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) rows: Vec<Shown>,
    /// How long it stands before the next one begins.
    pub(crate) hold_ms: u64,
}

/// One row, and how long it takes until the next one may come.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) row: Row,
    pub(crate) takes_ms: u64,
    pub(crate) is_typed: bool,
}

/// How much is told, and how wide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'t> {
    pub(crate) depth: Depth,
    pub(crate) columns: usize,
    /// Where the session works: paths below it are told from there.
    pub(crate) cwd: Option<&'t str>,
}

impl Manner<'_> {
    /// How many rows of a text are shown.
    fn rows(self, usual: usize) -> usize {
        if self.depth == Depth::Full { usual * 10 } else { usual }
    }

    fn path(self, path: &str) -> String {
        let below = self
            .cwd
            .filter(|cwd| cwd.len() > 1)
            .and_then(|cwd| path.strip_prefix(cwd));
        let below = below.and_then(|rest| rest.strip_prefix(['/', '\\']));
        one_line(below.unwrap_or(path), 2 * self.columns)
    }
}

impl Told {
    fn push(&mut self, cells: Vec<Cell>, ground: Ground, takes_ms: u64) {
        self.rows.push(Shown {
            row: Row { cells, ground },
            takes_ms,
            is_typed: false,
        });
    }

    /// Rows that somebody types, `all_ms` long.
    fn typed(&mut self, rows: Vec<Vec<Cell>>, ground: Ground, all_ms: u64) {
        let signs = rows.iter().map(Vec::len).sum::<usize>().max(1) as u64;
        self.rows.extend(rows.into_iter().map(|cells| Shown {
            takes_ms: all_ms * cells.len() as u64 / signs,
            row: Row { cells, ground },
            is_typed: true,
        }));
    }

    fn blank(&mut self) {
        self.push(Vec::new(), Ground::Page, 0);
    }

    /// How long all of it takes.
    pub(crate) fn takes_ms(&self) -> u64 {
        self.rows.iter().map(|row| row.takes_ms).sum::<u64>() + self.hold_ms
    }
}

/// Whether a step is shown at all.
pub(crate) fn takes(depth: Depth, step: &Step<'_>) -> bool {
    let look = step.look();
    match depth {
        Depth::Prompts => step.is_mine(),
        _ if is_quiet(step) => false,
        Depth::Turns => !matches!(look, Look::Thought | Look::Note) || step.is_error(),
        Depth::Tools => look != Look::Note || step.is_error() || step.told.event.kinds.has(Kind::HumanIntervention),
        Depth::Full => true,
    }
}

/// One step, told.
pub(crate) fn tell(step: &Step<'_>, manner: Manner<'_>) -> Told {
    let mut told = Told::default();
    match step.look() {
        Look::Prompt => prompt(&mut told, step, manner),
        Look::Answer => answer(&mut told, step, manner),
        Look::Thought => thought(&mut told, step, manner),
        Look::Note => note(&mut told, step, manner),
        Look::Shell | Look::Test => shell(&mut told, step, manner),
        Look::Edit => edit(&mut told, step, manner),
        Look::Tool | Look::Agent => tool(&mut told, step, manner),
    }
    told
}

fn lead(mark: &str, style: Style) -> Vec<Cell> {
    of(mark, style)
}

fn prompt(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    told.blank();
    let is_other = matches!(step.told.event.actor, Actor::OtherAgent | Actor::Agent);
    let mark = if is_other { "◆ " } else { "❯ " };
    let text = step.words().trim_end();
    let lines_max = manner.rows(12);
    let mut rows = Vec::new();
    for line in text.lines() {
        let mark = if rows.is_empty() { mark } else { "  " };
        let mut cells = lead(mark, Style::of(Ink::Human).bold());
        cells::push(&mut cells, line, Style::PLAIN.bold());
        rows.extend(wrap(&cells, manner.columns - 1, Wrap::Words, 2));
        if rows.len() > lines_max {
            break;
        }
    }
    let count = rows.len();
    rows.truncate(lines_max);
    if !step.told.images.is_empty() {
        let pictures = plural(step.told.images.len() as u64, "picture");
        rows.push(of(&format!("  [{pictures}]"), Style::DIM));
    }
    let signs: usize = rows.iter().map(Vec::len).sum();
    told.typed(rows, Ground::Human, (signs as u64 * 22).clamp(400, 3_000));
    if count > lines_max {
        told.push(of("  …", Style::DIM), Ground::Human, 0);
    }
    told.blank();
    told.hold_ms = 600;
}

fn answer(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    let text = step.words();
    let mut rows = words::rows(text, manner.columns, manner.rows(24));
    if let Some((first, _)) = rows.first_mut() {
        let mark = lead("● ", Style::of(Ink::Agent));
        first.splice(0..first.len().min(2), mark);
    }
    for (cells, ground) in rows {
        told.push(cells, ground, 80);
    }
    told.blank();
    told.hold_ms = (text.split_whitespace().count() as u64 * 60).clamp(500, 2_500);
}

fn thought(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    let mut cells = lead("✻ ", Style::of(Ink::Faint));
    let text = match manner.depth {
        Depth::Full => step.told.text().trim().to_owned(),
        _ => one_line(step.told.text(), 3 * manner.columns),
    };
    // Agents that think in headings mark them so.
    let text = text.replace('\n', " ").replace("**", "");
    cells::push(&mut cells, &text, Style::of(Ink::Faint));
    let mut rows = wrap(&cells, manner.columns, Wrap::Words, 2);
    rows.truncate(manner.rows(3));
    for cells in rows {
        told.push(cells, Ground::Page, 60);
    }
    told.hold_ms = 250;
}

fn note(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    let event = &step.told.event;
    let (mark, style) = match event.kind() {
        Kind::HumanIntervention => ("■ ", Style::of(Ink::Human).bold()),
        Kind::Error => ("✗ ", Style::of(Ink::Bad)),
        _ => ("· ", Style::DIM),
    };
    let mut cells = lead(mark, style);
    cells::push(&mut cells, &one_line(&event.summary, 2 * manner.columns), style);
    let mut rows = wrap(&cells, manner.columns, Wrap::Words, 2);
    rows.truncate(2);
    for cells in rows {
        told.push(cells, Ground::Page, 60);
    }
    told.hold_ms = 400;
}

fn tool(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    let event = &step.told.event;
    let name = event.tool.as_deref().unwrap_or("result");
    let family = family(name);
    let asked = step.told.text();
    let mark = if family == Family::Agent { "◆ " } else { "• " };
    let mut cells = lead(mark, Style::of(Ink::Agent));
    let short = name.rsplit("__").next().unwrap_or(name);
    cells::push(&mut cells, &one_line(short, 30), Style::PLAIN.bold());
    let words = wording(name, asked);
    let words = one_line(words.as_deref().unwrap_or(&event.summary), 2 * manner.columns);
    // Some wordings begin with the name itself.
    let words = words.strip_prefix(name).map(str::trim_start).unwrap_or(&words);
    cells::push(&mut cells, "  ", Style::PLAIN);
    cells::push(&mut cells, &manner.path(words), Style::DIM);
    told.push(cells::cut(cells, manner.columns), Ground::Page, 120);
    if manner.depth >= Depth::Tools {
        let known = input(asked);
        match family {
            Family::Todo => todo(told, known.as_ref(), manner),
            Family::Plan => {
                let plan = known
                    .as_ref()
                    .and_then(|input| text_of(input, &["plan"]))
                    .unwrap_or_default();
                said(told, plan, manner, 16);
            }
            _ => {}
        }
    }
    for subagent in &step.subagents {
        let session = &subagent.transcript.head.session;
        let about = session.title.as_deref().unwrap_or_default();
        let steps = plural(subagent.transcript.events.len() as u64, "event");
        let mut cells = of("    ", Style::PLAIN);
        cells::push(
            &mut cells,
            &format!("subagent · {steps} {}", one_line(about, 80)),
            Style::of(Ink::Faint),
        );
        told.push(cells::cut(cells, manner.columns), Ground::Page, 60);
    }
    told.hold_ms = 150;
    let Some(result) = step.result else { return };
    if step.is_error() {
        output(told, result.text(), manner, 4);
        return ending(told, step);
    }
    match (family, manner.depth) {
        (Family::Agent | Family::Question, Depth::Tools | Depth::Full) => {
            said(told, &ansi::plain(result.text()), manner, 8)
        }
        (Family::Todo | Family::Plan, _) => {}
        (_, Depth::Full) => output(told, result.text(), manner, 20),
        _ => {}
    }
}

fn said(told: &mut Told, text: &str, manner: Manner<'_>, rows_max: usize) {
    for (cells, ground) in words::rows(text, manner.columns, manner.rows(rows_max)) {
        told.push(cells, ground, 50);
    }
    told.blank();
    told.hold_ms += 600;
}

fn todo(told: &mut Told, input: Option<&Value>, manner: Manner<'_>) {
    let Some(list) = input.and_then(list_of) else { return };
    for one in list.iter().take(manner.rows(14)) {
        let words = one
            .as_str()
            .or_else(|| text_of(one, &["content", "step", "subject", "text", "title"]));
        let (mark, ink, style) = match text_of(one, &["status", "state"]).unwrap_or_default() {
            "completed" | "done" => ("✓", Ink::Good, Style::DIM),
            "in_progress" | "active" => ("◐", Ink::Warn, Style::PLAIN.bold()),
            "cancelled" | "canceled" => ("✗", Ink::Bad, Style::DIM),
            _ => ("○", Ink::Dim, Style::PLAIN),
        };
        let mut cells = of(&format!("    {mark} "), Style::of(ink));
        cells::push(&mut cells, &one_line(words.unwrap_or_default(), 200), style);
        told.push(cells::cut(cells, manner.columns), Ground::Page, 60);
    }
    told.blank();
    told.hold_ms += 400;
}
