//! Commands: what was run, what it printed, and how it ended.

use transcript::Kind;

use super::change::files_changed;
use super::{Manner, Told, lead};
use crate::cells::{self, Wrap, of, of_terminal, wrap};
use crate::scene::{Cell, Ground, Ink, Style};
use render::dress;
use render::markdown::Depth;
use render::measure::{duration, plural};
use render::steps::{Look, Step};
use render::tools::{command, input};

/// A command is waited for no longer than this.
const COMMAND_MS_MAX: u64 = 1_200;

pub(super) fn shell(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    let asked = step.told.text();
    let known = input(asked);
    if let Some(files) = dress::changes(
        step.told.event.tool.as_deref().unwrap_or_default(),
        asked,
        known.as_ref(),
    ) {
        return files_changed(told, step, &files, manner);
    }
    let command = known.as_ref().and_then(command).unwrap_or_else(|| asked.to_owned());
    let mut rows = Vec::new();
    for line in command.trim().lines() {
        let mark = if rows.is_empty() { "$ " } else { "  " };
        let mut cells = lead(mark, Style::of(Ink::Good).bold());
        cells::push(&mut cells, line, Style::PLAIN);
        rows.extend(wrap(&cells, manner.columns, Wrap::Anywhere, 2));
    }
    let lines_max = if manner.depth < Depth::Tools { 1 } else { manner.rows(6) };
    let is_cut = rows.len() > lines_max;
    rows.truncate(lines_max);
    if let Some(last) = rows.last_mut().filter(|_| is_cut) {
        *last = cells::cut(std::mem::take(last), manner.columns - 2);
        cells::push(last, " …", Style::DIM);
    }
    let signs: usize = rows.iter().map(Vec::len).sum();
    told.typed(rows, Ground::Page, (signs as u64 * 8).clamp(150, 700));
    if let Some(last) = told.rows.last_mut() {
        last.takes_ms += step.duration_ms().unwrap_or(0).min(COMMAND_MS_MAX);
    }
    if let Some(result) = step.result.filter(|_| manner.depth >= Depth::Tools) {
        output(told, result.text(), manner, manner.rows(12));
    }
    ending(told, step);
}

/// What a tool gave back: its beginning and its end, where the result of tests stands.
pub(super) fn output(told: &mut Told, text: &str, manner: Manner<'_>, rows_max: usize) {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return;
    }
    // Only the ends are looked at: outputs may be as long as a book.
    let lines: Vec<&str> = text.split('\n').collect();
    let (head, tail) = match lines.len() > rows_max + 1 {
        true => (rows_max / 3, rows_max - rows_max / 3),
        false => (lines.len(), 0),
    };
    let mut push = |lines: &[&str]| {
        for line in of_terminal(&lines.join("\n")) {
            let mut cells = lead("  ", Style::DIM);
            cells.extend(line);
            let mut rows = wrap(&cells, manner.columns, Wrap::Anywhere, 2);
            if rows.len() > 3 && manner.depth < Depth::Full {
                rows.truncate(3);
                rows[2] = cells::cut(std::mem::take(&mut rows[2]), manner.columns - 1);
                cells::push(&mut rows[2], "…", Style::DIM);
            }
            for row in rows {
                told.push(row, Ground::Page, 30);
            }
        }
    };
    push(&lines[..head]);
    if tail > 0 {
        let count = plural((lines.len() - head - tail) as u64, "line");
        told.push(of(&format!("  ⋯ {count}"), Style::of(Ink::Faint)), Ground::Page, 30);
        let mut push = |lines: &[&str]| {
            for line in of_terminal(&lines.join("\n")) {
                let mut cells = lead("  ", Style::DIM);
                cells.extend(line);
                told.push(cells::cut(cells, manner.columns), Ground::Page, 30);
            }
        };
        push(&lines[lines.len() - tail..]);
    }
}

/// How a step ended: green, red, or only how long it took.
pub(super) fn ending(told: &mut Told, step: &Step<'_>) {
    let is_test = step.look() == Look::Test;
    let took = step.duration_ms().filter(|ms| *ms >= 1_000).map(duration);
    let mut cells = of("  ", Style::PLAIN);
    let badge = |cells: &mut Vec<Cell>, text: &str, ink, ground| {
        cells::push(cells, text, Style::of(ink).bold().on(ground));
    };
    let code = step.exit_code();
    if step.is_error() || code.is_some_and(|code| code != 0) {
        let exit = code
            .filter(|code| *code != 0)
            .map(|code| format!(" · exit {code}"))
            .unwrap_or_default();
        let word = if is_test { "tests failed" } else { "failed" };
        badge(&mut cells, &format!(" ✗ {word}{exit} "), Ink::Bad, Ground::Bad);
        told.hold_ms += 800;
    } else if is_test && step.result.is_some() {
        badge(&mut cells, " ✓ tests passed ", Ink::Good, Ground::Good);
        told.hold_ms += 800;
    } else if step.result.is_none() && step.told.event.kinds.has(Kind::ToolCall) {
        cells::push(&mut cells, "no result", Style::of(Ink::Faint));
    }
    if let Some(took) = took {
        let gap = if cells.len() > 2 { " " } else { "" };
        cells::push(&mut cells, &format!("{gap}{took}"), Style::of(Ink::Faint));
    }
    if cells.len() > 2 {
        told.push(cells, Ground::Page, 40);
    }
    told.blank();
    told.hold_ms += 300;
}
