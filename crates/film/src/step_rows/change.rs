//! Renders edits: the changed files and their diffs.

use super::run::{push_ending, push_output};
use super::{RowOptions, StepRows, mark_cells, push_tool};
use crate::cells::{self, Wrap, text_cells, wrap};
use crate::scene::{Background, CellStyle, TextColor};
use render::diff::{self, DiffLine};
use render::escape::one_line;
use render::markdown::MarkdownDepth;
use render::measure::plural;
use render::patch::{FileChange, FileChangeKind};
use render::steps::Step;
use render::tool_body;
use render::tools::parse_input;

pub(super) fn push_edit(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    let asked = step.entry.text();
    let known = parse_input(asked);
    let name = step.entry.event.tool.as_deref().unwrap_or_default();
    match tool_body::file_changes(name, asked, known.as_ref()) {
        Some(files) => push_files(out, step, &files, options),
        None => push_tool(out, step, options),
    }
}

pub(super) fn push_files(out: &mut StepRows, step: &Step<'_>, files: &[FileChange<'_>], options: RowOptions<'_>) {
    let rows_max = options.rows(18);
    for file in files.iter().take(options.rows(6)) {
        let (added, removed) = diff::count_changes(&file.lines);
        let mut cells = mark_cells("✎ ", CellStyle::new(TextColor::Agent));
        cells::push_text(&mut cells, &options.path(file.path), CellStyle::PLAIN.bold());
        match file.kind {
            FileChangeKind::Added => cells::push_text(&mut cells, " written", CellStyle::DIM),
            FileChangeKind::Deleted => cells::push_text(&mut cells, " deleted", CellStyle::new(TextColor::Bad)),
            FileChangeKind::Moved(to) => {
                cells::push_text(&mut cells, &format!(" → {}", options.path(to)), CellStyle::PLAIN.bold())
            }
            FileChangeKind::Changed => {}
        }
        if added > 0 {
            cells::push_text(&mut cells, &format!("  +{added}"), CellStyle::new(TextColor::Good));
        }
        if removed > 0 {
            cells::push_text(&mut cells, &format!("  −{removed}"), CellStyle::new(TextColor::Bad));
        }
        out.push(cells::truncate(cells, options.columns), Background::Page, 80);
        if options.depth < MarkdownDepth::Tools {
            continue;
        }
        for line in file.lines.iter().take(rows_max) {
            push_diff_line(out, line, options);
        }
        if file.lines.len() > rows_max {
            let more = plural((file.lines.len() - rows_max) as u64, "more line");
            out.push(
                text_cells(&format!("    ⋯ {more}"), CellStyle::new(TextColor::Faint)),
                Background::Page,
                30,
            );
        }
    }
    out.hold_ms = 500;
    if step.is_error() {
        if let Some(result) = step.result {
            push_output(out, result.text(), options, 4);
        }
        return push_ending(out, step);
    }
    out.push_blank();
}

fn push_diff_line(out: &mut StepRows, line: &DiffLine<'_>, options: RowOptions<'_>) {
    let (mark, text, color, background) = match line {
        DiffLine::Same(text) => ("    ", *text, TextColor::Dim, Background::Page),
        DiffLine::Removed(text) => ("  − ", *text, TextColor::Bad, Background::Removed),
        DiffLine::Added(text) => ("  + ", *text, TextColor::Good, Background::Added),
        DiffLine::Unchanged(count) => {
            let gap = format!("    ⋯ {count} unchanged");
            return out.push(text_cells(&gap, CellStyle::new(TextColor::Faint)), Background::Page, 30);
        }
        DiffLine::HunkHeader(place) => {
            let place = place.trim_matches(['@', ' ']);
            let place = format!("    ⋯ {}", one_line(place, 80));
            return out.push(
                text_cells(place.trim_end(), CellStyle::new(TextColor::Faint)),
                Background::Page,
                30,
            );
        }
    };
    let mut cells = mark_cells(mark, CellStyle::new(color).bold());
    let body = if background == Background::Page {
        CellStyle::DIM
    } else {
        CellStyle::PLAIN
    };
    cells::push_text(&mut cells, text, body);
    let mut rows = wrap(&cells, options.columns, Wrap::Anywhere, 4);
    rows.truncate(3);
    for cells in rows {
        out.push(cells, background, 35);
    }
}
