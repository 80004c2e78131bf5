//! Converts a step to rows with their timing: typed prompts, commands with output, diffs, test results.

mod change;
mod run;

use serde_json::Value;
use transcript::{Actor, Kind};

use self::change::push_edit;
use self::run::{push_ending, push_output, push_shell};
use super::cells::{self, Wrap, text_cells, wrap};
use super::markdown_rows;
use super::scene::{Background, Cell, CellStyle, ScreenRow, TextColor};
use render::ansi;
use render::cards::is_hidden_by_default;
use render::escape::one_line;
use render::markdown::MarkdownDepth;
use render::measure::plural;
use render::steps::{Step, StepKind};
use render::tools::{ToolFamily, describe_call, first_text, parse_input, todo_list, tool_family};

/// The rows of a step.
#[derive(Debug, Default)]
pub(crate) struct StepRows {
    pub(crate) rows: Vec<TimedRow>,
    /// The pause before the next step.
    pub(crate) hold_ms: u64,
}

/// One row and the time until the next one.
#[derive(Debug)]
pub(crate) struct TimedRow {
    pub(crate) row: ScreenRow,
    pub(crate) duration_ms: u64,
    pub(crate) is_typed: bool,
}

/// How much is shown, and in which width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowOptions<'t> {
    pub(crate) depth: MarkdownDepth,
    pub(crate) columns: usize,
    /// The working directory of the session. Paths below it are shown relative to it.
    pub(crate) cwd: Option<&'t str>,
}

impl RowOptions<'_> {
    /// Returns the maximum number of rows of a text.
    fn rows(self, usual: usize) -> usize {
        if self.depth == MarkdownDepth::Full {
            usual * 10
        } else {
            usual
        }
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

impl StepRows {
    fn push(&mut self, cells: Vec<Cell>, background: Background, duration_ms: u64) {
        self.rows.push(TimedRow {
            row: ScreenRow { cells, background },
            duration_ms,
            is_typed: false,
        });
    }

    /// Appends rows that are typed within `all_ms`.
    fn push_typed(&mut self, rows: Vec<Vec<Cell>>, background: Background, all_ms: u64) {
        let characters = rows.iter().map(Vec::len).sum::<usize>().max(1) as u64;
        self.rows.extend(rows.into_iter().map(|cells| TimedRow {
            duration_ms: all_ms * cells.len() as u64 / characters,
            row: ScreenRow { cells, background },
            is_typed: true,
        }));
    }

    fn push_blank(&mut self) {
        self.push(Vec::new(), Background::Page, 0);
    }

    /// Returns the duration of the step.
    pub(crate) fn duration_ms(&self) -> u64 {
        self.rows.iter().map(|row| row.duration_ms).sum::<u64>() + self.hold_ms
    }
}

/// Whether a step is shown at this depth.
pub(crate) fn is_shown(depth: MarkdownDepth, step: &Step<'_>) -> bool {
    let kind = step.kind();
    match depth {
        MarkdownDepth::Prompts => step.is_human(),
        _ if is_hidden_by_default(step) => false,
        MarkdownDepth::Turns => !matches!(kind, StepKind::Thought | StepKind::Note) || step.is_error(),
        MarkdownDepth::Tools => {
            kind != StepKind::Note || step.is_error() || step.entry.event.kinds.has(Kind::HumanIntervention)
        }
        MarkdownDepth::Full => true,
    }
}

/// Renders one step.
pub(crate) fn step_rows(step: &Step<'_>, options: RowOptions<'_>) -> StepRows {
    let mut out = StepRows::default();
    match step.kind() {
        StepKind::Prompt => push_prompt(&mut out, step, options),
        StepKind::Answer => push_answer(&mut out, step, options),
        StepKind::Thought => push_thinking(&mut out, step, options),
        StepKind::Note => push_notice(&mut out, step, options),
        StepKind::Shell | StepKind::Test => push_shell(&mut out, step, options),
        StepKind::Edit => push_edit(&mut out, step, options),
        StepKind::Tool | StepKind::Agent => push_tool(&mut out, step, options),
    }
    out
}

fn mark_cells(mark: &str, style: CellStyle) -> Vec<Cell> {
    text_cells(mark, style)
}

fn push_prompt(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    out.push_blank();
    let is_other = matches!(step.entry.event.actor, Actor::OtherAgent | Actor::Agent);
    let mark = if is_other { "◆ " } else { "❯ " };
    let text = step.words().trim_end();
    let lines_max = options.rows(12);
    let mut rows = Vec::new();
    for line in text.lines() {
        let mark = if rows.is_empty() { mark } else { "  " };
        let mut cells = mark_cells(mark, CellStyle::new(TextColor::Human).bold());
        cells::push_text(&mut cells, line, CellStyle::PLAIN.bold());
        rows.extend(wrap(&cells, options.columns - 1, Wrap::Words, 2));
        if rows.len() > lines_max {
            break;
        }
    }
    let count = rows.len();
    rows.truncate(lines_max);
    if !step.entry.images.is_empty() {
        let pictures = plural(step.entry.images.len() as u64, "picture");
        rows.push(text_cells(&format!("  [{pictures}]"), CellStyle::DIM));
    }
    let characters: usize = rows.iter().map(Vec::len).sum();
    out.push_typed(rows, Background::Human, (characters as u64 * 22).clamp(400, 3_000));
    if count > lines_max {
        out.push(text_cells("  …", CellStyle::DIM), Background::Human, 0);
    }
    out.push_blank();
    out.hold_ms = 600;
}

fn push_answer(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    let text = step.words();
    let mut rows = markdown_rows::markdown_rows(text, options.columns, options.rows(24));
    if let Some((first, _)) = rows.first_mut() {
        let mark = mark_cells("● ", CellStyle::new(TextColor::Agent));
        first.splice(0..first.len().min(2), mark);
    }
    for (cells, background) in rows {
        out.push(cells, background, 80);
    }
    out.push_blank();
    out.hold_ms = (text.split_whitespace().count() as u64 * 60).clamp(500, 2_500);
}

fn push_thinking(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    let mut cells = mark_cells("✻ ", CellStyle::new(TextColor::Faint));
    let text = match options.depth {
        MarkdownDepth::Full => step.entry.text().trim().to_owned(),
        _ => one_line(step.entry.text(), 3 * options.columns),
    };
    // Some agents mark the headings of their thinking as bold.
    let text = text.replace('\n', " ").replace("**", "");
    cells::push_text(&mut cells, &text, CellStyle::new(TextColor::Faint));
    let mut rows = wrap(&cells, options.columns, Wrap::Words, 2);
    rows.truncate(options.rows(3));
    for cells in rows {
        out.push(cells, Background::Page, 60);
    }
    out.hold_ms = 250;
}

fn push_notice(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    let event = &step.entry.event;
    let (mark, style) = match event.kind() {
        Kind::HumanIntervention => ("■ ", CellStyle::new(TextColor::Human).bold()),
        Kind::Error => ("✗ ", CellStyle::new(TextColor::Bad)),
        _ => ("· ", CellStyle::DIM),
    };
    let mut cells = mark_cells(mark, style);
    cells::push_text(&mut cells, &one_line(&event.summary, 2 * options.columns), style);
    let mut rows = wrap(&cells, options.columns, Wrap::Words, 2);
    rows.truncate(2);
    for cells in rows {
        out.push(cells, Background::Page, 60);
    }
    out.hold_ms = 400;
}

fn push_tool(out: &mut StepRows, step: &Step<'_>, options: RowOptions<'_>) {
    let event = &step.entry.event;
    let name = event.tool.as_deref().unwrap_or("result");
    let family = tool_family(name);
    let asked = step.entry.text();
    let mark = if family == ToolFamily::Agent { "◆ " } else { "• " };
    let mut cells = mark_cells(mark, CellStyle::new(TextColor::Agent));
    let short = name.rsplit("__").next().unwrap_or(name);
    cells::push_text(&mut cells, &one_line(short, 30), CellStyle::PLAIN.bold());
    let words = describe_call(name, asked);
    let words = one_line(words.as_deref().unwrap_or(&event.summary), 2 * options.columns);
    // Some descriptions start with the name of the tool.
    let words = words.strip_prefix(name).map(str::trim_start).unwrap_or(&words);
    cells::push_text(&mut cells, "  ", CellStyle::PLAIN);
    cells::push_text(&mut cells, &options.path(words), CellStyle::DIM);
    out.push(cells::truncate(cells, options.columns), Background::Page, 120);
    if options.depth >= MarkdownDepth::Tools {
        let known = parse_input(asked);
        match family {
            ToolFamily::Todo => push_todo_list(out, known.as_ref(), options),
            ToolFamily::Plan => {
                let plan = known
                    .as_ref()
                    .and_then(|input| first_text(input, &["plan"]))
                    .unwrap_or_default();
                push_message(out, plan, options, 16);
            }
            _ => {}
        }
    }
    for subagent in &step.subagents {
        let session = &subagent.transcript.head.session;
        let about = session.title.as_deref().unwrap_or_default();
        let steps = plural(subagent.transcript.events.len() as u64, "event");
        let mut cells = text_cells("    ", CellStyle::PLAIN);
        cells::push_text(
            &mut cells,
            &format!("subagent · {steps} {}", one_line(about, 80)),
            CellStyle::new(TextColor::Faint),
        );
        out.push(cells::truncate(cells, options.columns), Background::Page, 60);
    }
    out.hold_ms = 150;
    let Some(result) = step.result else { return };
    if step.is_error() {
        push_output(out, result.text(), options, 4);
        return push_ending(out, step);
    }
    match (family, options.depth) {
        (ToolFamily::Agent | ToolFamily::Question, MarkdownDepth::Tools | MarkdownDepth::Full) => {
            push_message(out, &ansi::plain(result.text()), options, 8)
        }
        (ToolFamily::Todo | ToolFamily::Plan, _) => {}
        (_, MarkdownDepth::Full) => push_output(out, result.text(), options, 20),
        _ => {}
    }
}

fn push_message(out: &mut StepRows, text: &str, options: RowOptions<'_>, rows_max: usize) {
    for (cells, background) in markdown_rows::markdown_rows(text, options.columns, options.rows(rows_max)) {
        out.push(cells, background, 50);
    }
    out.push_blank();
    out.hold_ms += 600;
}

fn push_todo_list(out: &mut StepRows, input: Option<&Value>, options: RowOptions<'_>) {
    let Some(list) = input.and_then(todo_list) else { return };
    for one in list.iter().take(options.rows(14)) {
        let words = one
            .as_str()
            .or_else(|| first_text(one, &["content", "step", "subject", "text", "title"]));
        let (mark, color, style) = match first_text(one, &["status", "state"]).unwrap_or_default() {
            "completed" | "done" => ("✓", TextColor::Good, CellStyle::DIM),
            "in_progress" | "active" => ("◐", TextColor::Warn, CellStyle::PLAIN.bold()),
            "cancelled" | "canceled" => ("✗", TextColor::Bad, CellStyle::DIM),
            _ => ("○", TextColor::Dim, CellStyle::PLAIN),
        };
        let mut cells = text_cells(&format!("    {mark} "), CellStyle::new(color));
        cells::push_text(&mut cells, &one_line(words.unwrap_or_default(), 200), style);
        out.push(cells::truncate(cells, options.columns), Background::Page, 60);
    }
    out.push_blank();
    out.hold_ms += 400;
}
