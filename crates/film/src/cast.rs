//! Writes an asciicast, version 2: terminal output with timestamps. Every escape sequence in it is our own.

use std::io::{self, Write};

use serde_json::json;

use super::scene::{Background, Cell, CellStyle, ScreenRow, TextColor, TitleCard};
use super::scene_plan::Scene;
use super::screen::ScreenState;
use super::theme::{Color, Theme};
use render::escape::{one_line, show_invisible};
use render::html_title;

/// Rows above the body, for the bar and an empty row, and below it, for the caption.
const ABOVE: usize = 2;
const BELOW: usize = 1;

/// Writes a cast.
pub(crate) struct CastWriter<'o> {
    out: &'o mut dyn Write,
    theme: Theme,
    agent: transcript::Agent,
    columns: usize,
    rows: usize,
    drawn: Vec<Option<ScreenRow>>,
    card: Option<TitleCard>,
}

impl<'o> CastWriter<'o> {
    pub(crate) fn new(
        out: &'o mut dyn Write,
        scene: &Scene<'_>,
        theme: Theme,
        columns: usize,
        rows: usize,
    ) -> io::Result<Self> {
        let session = &scene.transcript.head.session;
        let mut head = json!({
            "version": 2,
            "width": columns,
            "height": rows + ABOVE + BELOW,
            "title": one_line(&show_invisible(&html_title(scene.transcript)), 120),
        });
        if let Some(at) = session.started_at {
            head["timestamp"] = json!(at.as_second());
        }
        writeln!(out, "{head}")?;
        Ok(Self {
            out,
            theme,
            agent: session.flavor,
            columns,
            rows,
            drawn: vec![None; rows + ABOVE + BELOW],
            card: None,
        })
    }

    /// Writes a marker, which players show as a chapter.
    pub(crate) fn write_marker(&mut self, at_ms: u64, title: &str) -> io::Result<()> {
        self.write_event(at_ms, "m", title)
    }

    /// Writes the changes of the screen at `at_ms`.
    pub(crate) fn write_screen(&mut self, screen: &ScreenState<'_>, scrolled: usize, at_ms: u64) -> io::Result<()> {
        let mut codes = String::new();
        if at_ms == 0 || screen.card != self.card {
            // Hide the cursor and clear the screen.
            codes.push_str("\u{1b}[?25l\u{1b}[r\u{1b}[0m\u{1b}[2J");
            self.drawn.fill(None);
            self.card.clone_from(&screen.card);
        }
        if let Some(card) = self.card.clone() {
            self.write_card(&mut codes, &card);
        } else {
            self.scroll(&mut codes, scrolled);
            self.write_row(&mut codes, 0, &screen.bar());
            for at in 0..self.rows {
                let (cells, background) = screen.row(at);
                let row = ScreenRow {
                    cells: cells.to_vec(),
                    background,
                };
                self.write_row(&mut codes, at + ABOVE, &row);
            }
            self.write_row(&mut codes, self.rows + ABOVE, &screen.caption());
        }
        match codes.is_empty() {
            true => Ok(()),
            false => self.write_event(at_ms, "o", &codes),
        }
    }

    pub(crate) fn finish(&mut self, at_ms: u64) -> io::Result<()> {
        self.write_event(at_ms, "o", "\u{1b}[r\u{1b}[0m\u{1b}[?25h")
    }

    fn write_event(&mut self, at_ms: u64, kind: &str, data: &str) -> io::Result<()> {
        let data = serde_json::Value::from(data);
        writeln!(self.out, "[{}.{:03}, \"{kind}\", {data}]", at_ms / 1_000, at_ms % 1_000)
    }

    /// Scrolls the body with a terminal command, which is shorter than writing the rows again.
    fn scroll(&mut self, codes: &mut String, rows: usize) {
        if rows == 0 || rows >= self.rows {
            return;
        }
        let (first, last) = (ABOVE + 1, ABOVE + self.rows);
        // Limit scrolling to the body, scroll, and reset the limit.
        codes.push_str(&format!("\u{1b}[{first};{last}r\u{1b}[0m\u{1b}[{rows}S\u{1b}[r"));
        let body = &mut self.drawn[ABOVE..ABOVE + self.rows];
        body.rotate_left(rows);
        let kept = body.len() - rows;
        body[kept..].fill(Some(ScreenRow::default()));
    }

    /// Writes a row if it differs from the one on the screen.
    fn write_row(&mut self, codes: &mut String, at: usize, row: &ScreenRow) {
        let is_blank = self.drawn[at].is_none() && row.cells.is_empty() && row.background == Background::Page;
        if self.drawn[at].as_ref() == Some(row) || is_blank {
            return;
        }
        codes.push_str(&format!("\u{1b}[{};1H", at + 1));
        let mut style = None;
        for cell in &row.cells {
            let background = cell.style.background.unwrap_or(row.background);
            if style != Some((cell.style, background)) {
                style = Some((cell.style, background));
                self.push_style(codes, cell.style, background);
            }
            push_cell(codes, cell);
        }
        self.push_style(codes, CellStyle::PLAIN, row.background);
        // Fill the rest of the row with its background.
        if row.columns() < self.columns {
            codes.push_str("\u{1b}[K");
        }
        self.drawn[at] = Some(row.clone());
    }

    fn push_style(&self, codes: &mut String, style: CellStyle, background: Background) {
        codes.push_str("\u{1b}[0");
        if style.is_bold {
            codes.push_str(";1");
        }
        if style.is_underlined {
            codes.push_str(";4");
        }
        let mut color = |code: u8, [red, green, blue]: Color| {
            codes.push_str(&format!(";{code};2;{red};{green};{blue}"));
        };
        if style.color != TextColor::Plain || background != Background::Page {
            color(38, self.theme.text_color(style.color, self.agent));
        }
        if background != Background::Page {
            color(48, self.theme.background_color(background));
        }
        codes.push('m');
    }

    fn write_card(&mut self, codes: &mut String, card: &TitleCard) {
        let lead = self.columns / 10;
        let rows: Vec<&ScreenRow> = card.title.iter().chain([&EMPTY]).chain(&card.facts).collect();
        let top = (self.drawn.len().saturating_sub(rows.len())) / 2;
        for (at, row) in rows.into_iter().enumerate().take(self.drawn.len() - top) {
            let mut cells = super::cells::text_cells(&" ".repeat(lead), CellStyle::PLAIN);
            cells.extend(super::cells::truncate(row.cells.clone(), self.columns - lead));
            let row = ScreenRow {
                cells,
                background: Background::Page,
            };
            self.write_row(codes, top + at, &row);
        }
    }
}

static EMPTY: ScreenRow = ScreenRow {
    cells: Vec::new(),
    background: Background::Page,
};

/// Appends a character and its marks, but never a control character.
fn push_cell(codes: &mut String, cell: &Cell) {
    let characters = std::iter::once(cell.character).chain(cell.marks);
    codes.extend(characters.filter(|character| !character.is_control()));
}
