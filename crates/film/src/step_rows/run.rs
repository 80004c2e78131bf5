//! Renders commands: the command line, its output and its result.

use transcript::Kind;

use super::change::push_files;
use super::{RowOptions, StepRows, mark_cells};
use crate::cells::{self, Wrap, terminal_cells, text_cells, wrap};
use crate::scene::{Background, Cell, CellStyle, TextColor};
use render::markdown::MarkdownDepth;
use render::measure::{duration, plural};
use render::steps::{Step, StepKind};
use render::tool_body;
use render::tools::{parse_input, shell_command};

/// The longest time that a film waits for a command.
const COMMAND_MS_MAX: u64 = 1_200;

pub(super) fn push_shell(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    let asked = step.entry.text();
    let known = parse_input(asked);
    if let Some(files) = tool_body::file_changes(
        step.entry.event.tool.as_deref().unwrap_or_default(),
        asked,
        known.as_ref(),
    ) {
        return push_files(out, step, &files, options);
    }
    let command = known
        .as_ref()
        .and_then(shell_command)
        .unwrap_or_else(|| asked.to_owned());
    let mut rows = Vec::new();
    for line in command.trim().lines() {
        let mark = if rows.is_empty() { "$ " } else { "  " };
        let mut cells = mark_cells(mark, CellStyle::new(TextColor::Good).bold());
        cells::push_text(&mut cells, line, CellStyle::PLAIN);
        rows.extend(wrap(&cells, options.columns, Wrap::Anywhere, 2));
    }
    let lines_max = if options.depth < MarkdownDepth::Tools {
        1
    } else {
        options.rows(6)
    };
    let is_cut = rows.len() > lines_max;
    rows.truncate(lines_max);
    if let Some(last) = rows.last_mut().filter(|_| is_cut) {
        *last = cells::truncate(std::mem::take(last), options.columns - 2);
        cells::push_text(last, " …", CellStyle::DIM);
    }
    let characters: usize = rows.iter().map(Vec::len).sum();
    out.push_typed(rows, Background::Page, (characters as u64 * 8).clamp(150, 700));
    if let Some(last) = out.rows.last_mut() {
        last.duration_ms += step.duration_ms().unwrap_or(0).min(COMMAND_MS_MAX);
    }
    if let Some(result) = step.result.filter(|_| options.depth >= MarkdownDepth::Tools) {
        push_output(out, result.text(), options, options.rows(12));
    }
    push_ending(out, step);
}

/// Appends the output of a tool: its start, and its end, where test runners print their result.
pub(super) fn push_output(out: &mut StepRows, text: &str, options: RowOptions<'_>, rows_max: usize) {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return;
    }
    // Only the shown lines become cells, because an output can have millions of lines.
    let lines: Vec<&str> = text.split('\n').collect();
    let (head, tail) = match lines.len() > rows_max + 1 {
        true => (rows_max / 3, rows_max - rows_max / 3),
        false => (lines.len(), 0),
    };
    let mut push = |lines: &[&str]| {
        for line in terminal_cells(&lines.join("\n")) {
            let mut cells = mark_cells("  ", CellStyle::DIM);
            cells.extend(line);
            let mut rows = wrap(&cells, options.columns, Wrap::Anywhere, 2);
            if rows.len() > 3 && options.depth < MarkdownDepth::Full {
                rows.truncate(3);
                rows[2] = cells::truncate(std::mem::take(&mut rows[2]), options.columns - 1);
                cells::push_text(&mut rows[2], "…", CellStyle::DIM);
            }
            for row in rows {
                out.push(row, Background::Page, 30);
            }
        }
    };
    push(&lines[..head]);
    if tail > 0 {
        let count = plural((lines.len() - head - tail) as u64, "line");
        out.push(
            text_cells(&format!("  ⋯ {count}"), CellStyle::new(TextColor::Faint)),
            Background::Page,
            30,
        );
        let mut push = |lines: &[&str]| {
            for line in terminal_cells(&lines.join("\n")) {
                let mut cells = mark_cells("  ", CellStyle::DIM);
                cells.extend(line);
                out.push(cells::truncate(cells, options.columns), Background::Page, 30);
            }
        };
        push(&lines[lines.len() - tail..]);
    }
}

/// Appends how a step ended: passed, failed, or only its duration.
pub(super) fn push_ending(out: &mut StepRows, step: &Step<'_>) {
    let is_test = step.kind() == StepKind::Test;
    let took = step.duration_ms().filter(|ms| *ms >= 1_000).map(duration);
    let mut cells = text_cells("  ", CellStyle::PLAIN);
    let badge = |cells: &mut Vec<Cell>, text: &str, color, background| {
        cells::push_text(cells, text, CellStyle::new(color).bold().on(background));
    };
    let code = step.exit_code();
    if step.is_error() || code.is_some_and(|code| code != 0) {
        let exit = code
            .filter(|code| *code != 0)
            .map(|code| format!(" · exit {code}"))
            .unwrap_or_default();
        let word = if is_test { "tests failed" } else { "failed" };
        badge(
            &mut cells,
            &format!(" ✗ {word}{exit} "),
            TextColor::Bad,
            Background::Bad,
        );
        out.hold_ms += 800;
    } else if is_test && step.result.is_some() {
        badge(&mut cells, " ✓ tests passed ", TextColor::Good, Background::Good);
        out.hold_ms += 800;
    } else if step.result.is_none() && step.entry.event.kinds.has(Kind::ToolCall) {
        cells::push_text(&mut cells, "no result", CellStyle::new(TextColor::Faint));
    }
    if let Some(took) = took {
        let gap = if cells.len() > 2 { " " } else { "" };
        cells::push_text(&mut cells, &format!("{gap}{took}"), CellStyle::new(TextColor::Faint));
    }
    if cells.len() > 2 {
        out.push(cells, Background::Page, 40);
    }
    out.push_blank();
    out.hold_ms += 300;
}
