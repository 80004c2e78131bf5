//! Edits: which files, and what came and went in them.

use super::run::{ending, output};
use super::{Manner, Told, lead, tool};
use crate::cells::{self, Wrap, of, wrap};
use crate::scene::{Ground, Ink, Style};
use render::diff::{self, Line};
use render::dress;
use render::escape::one_line;
use render::markdown::Depth;
use render::measure::plural;
use render::patch::{FileChange, What};
use render::steps::Step;
use render::tools::input;

pub(super) fn edit(told: &mut Told, step: &Step<'_>, manner: Manner<'_>) {
    let asked = step.told.text();
    let known = input(asked);
    let name = step.told.event.tool.as_deref().unwrap_or_default();
    match dress::changes(name, asked, known.as_ref()) {
        Some(files) => files_changed(told, step, &files, manner),
        None => tool(told, step, manner),
    }
}

pub(super) fn files_changed(told: &mut Told, step: &Step<'_>, files: &[FileChange<'_>], manner: Manner<'_>) {
    let rows_max = manner.rows(18);
    for file in files.iter().take(manner.rows(6)) {
        let (added, removed) = diff::counts(&file.lines);
        let mut cells = lead("✎ ", Style::of(Ink::Agent));
        cells::push(&mut cells, &manner.path(file.path), Style::PLAIN.bold());
        match file.what {
            What::Added => cells::push(&mut cells, " written", Style::DIM),
            What::Deleted => cells::push(&mut cells, " deleted", Style::of(Ink::Bad)),
            What::Moved(to) => cells::push(&mut cells, &format!(" → {}", manner.path(to)), Style::PLAIN.bold()),
            What::Changed => {}
        }
        if added > 0 {
            cells::push(&mut cells, &format!("  +{added}"), Style::of(Ink::Good));
        }
        if removed > 0 {
            cells::push(&mut cells, &format!("  −{removed}"), Style::of(Ink::Bad));
        }
        told.push(cells::cut(cells, manner.columns), Ground::Page, 80);
        if manner.depth < Depth::Tools {
            continue;
        }
        for line in file.lines.iter().take(rows_max) {
            difference(told, line, manner);
        }
        if file.lines.len() > rows_max {
            let more = plural((file.lines.len() - rows_max) as u64, "more line");
            told.push(of(&format!("    ⋯ {more}"), Style::of(Ink::Faint)), Ground::Page, 30);
        }
    }
    told.hold_ms = 500;
    if step.is_error() {
        if let Some(result) = step.result {
            output(told, result.text(), manner, 4);
        }
        return ending(told, step);
    }
    told.blank();
}

fn difference(told: &mut Told, line: &Line<'_>, manner: Manner<'_>) {
    let (mark, text, ink, ground) = match line {
        Line::Same(text) => ("    ", *text, Ink::Dim, Ground::Page),
        Line::Out(text) => ("  − ", *text, Ink::Bad, Ground::Removed),
        Line::In(text) => ("  + ", *text, Ink::Good, Ground::Added),
        Line::Gap(count) => {
            let gap = format!("    ⋯ {count} unchanged");
            return told.push(of(&gap, Style::of(Ink::Faint)), Ground::Page, 30);
        }
        Line::Place(place) => {
            let place = place.trim_matches(['@', ' ']);
            let place = format!("    ⋯ {}", one_line(place, 80));
            return told.push(of(place.trim_end(), Style::of(Ink::Faint)), Ground::Page, 30);
        }
    };
    let mut cells = lead(mark, Style::of(ink).bold());
    let body = if ground == Ground::Page {
        Style::DIM
    } else {
        Style::PLAIN
    };
    cells::push(&mut cells, text, body);
    let mut rows = wrap(&cells, manner.columns, Wrap::Anywhere, 4);
    rows.truncate(3);
    for cells in rows {
        told.push(cells, ground, 35);
    }
}
