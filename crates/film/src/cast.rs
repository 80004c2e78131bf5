//! A film as an asciicast of version 2: what a terminal is told, and when. Every escape in it is one of ours.

use std::io::{self, Write};

use serde_json::json;

use super::pace::Scene;
use super::scene::{Card, Cell, Ground, Ink, Row, Style};
use super::stage::Stage;
use super::theme::{Color, Theme};
use render::escape::{one_line, reveal};
use render::html_title;

/// Rows above and below the body: the bar and a line, the caption.
const ABOVE: usize = 2;
const BELOW: usize = 1;

/// A cast in the making.
pub(crate) struct Cast<'o> {
    out: &'o mut dyn Write,
    theme: Theme,
    agent: transcript::Agent,
    columns: usize,
    rows: usize,
    drawn: Vec<Option<Row>>,
    card: Option<Card>,
}

impl<'o> Cast<'o> {
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
            "title": one_line(&reveal(&html_title(scene.transcript)), 120),
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

    /// A chapter begins.
    pub(crate) fn marker(&mut self, at_ms: u64, title: &str) -> io::Result<()> {
        self.event(at_ms, "m", title)
    }

    /// What is seen from a time on.
    pub(crate) fn screen(&mut self, stage: &Stage<'_>, scrolled: usize, at_ms: u64) -> io::Result<()> {
        let mut codes = String::new();
        if at_ms == 0 || stage.card != self.card {
            // No cursor, nothing on the screen.
            codes.push_str("\u{1b}[?25l\u{1b}[r\u{1b}[0m\u{1b}[2J");
            self.drawn.fill(None);
            self.card.clone_from(&stage.card);
        }
        if let Some(card) = self.card.clone() {
            self.write_card(&mut codes, &card);
        } else {
            self.scroll(&mut codes, scrolled);
            self.write(&mut codes, 0, &stage.bar());
            for at in 0..self.rows {
                let (cells, ground) = stage.row(at);
                let row = Row {
                    cells: cells.to_vec(),
                    ground,
                };
                self.write(&mut codes, at + ABOVE, &row);
            }
            self.write(&mut codes, self.rows + ABOVE, &stage.caption());
        }
        match codes.is_empty() {
            true => Ok(()),
            false => self.event(at_ms, "o", &codes),
        }
    }

    pub(crate) fn finish(&mut self, at_ms: u64) -> io::Result<()> {
        self.event(at_ms, "o", "\u{1b}[r\u{1b}[0m\u{1b}[?25h")
    }

    fn event(&mut self, at_ms: u64, kind: &str, data: &str) -> io::Result<()> {
        let data = serde_json::Value::from(data);
        writeln!(self.out, "[{}.{:03}, \"{kind}\", {data}]", at_ms / 1_000, at_ms % 1_000)
    }

    /// Moves the body up, as the terminal can do by itself.
    fn scroll(&mut self, codes: &mut String, rows: usize) {
        if rows == 0 || rows >= self.rows {
            return;
        }
        let (first, last) = (ABOVE + 1, ABOVE + self.rows);
        codes.push_str(&format!("\u{1b}[{first};{last}r\u{1b}[0m\u{1b}[{rows}S\u{1b}[r"));
        let body = &mut self.drawn[ABOVE..ABOVE + self.rows];
        body.rotate_left(rows);
        let kept = body.len() - rows;
        body[kept..].fill(Some(Row::default()));
    }

    /// Writes a row, if it is another one than stands there.
    fn write(&mut self, codes: &mut String, at: usize, row: &Row) {
        let is_blank = self.drawn[at].is_none() && row.cells.is_empty() && row.ground == Ground::Page;
        if self.drawn[at].as_ref() == Some(row) || is_blank {
            return;
        }
        codes.push_str(&format!("\u{1b}[{};1H", at + 1));
        let mut pen = None;
        for cell in &row.cells {
            let ground = cell.style.ground.unwrap_or(row.ground);
            if pen != Some((cell.style, ground)) {
                pen = Some((cell.style, ground));
                self.push_pen(codes, cell.style, ground);
            }
            push_cell(codes, cell);
        }
        self.push_pen(codes, Style::PLAIN, row.ground);
        // The rest of the row, on its own ground.
        if row.columns() < self.columns {
            codes.push_str("\u{1b}[K");
        }
        self.drawn[at] = Some(row.clone());
    }

    fn push_pen(&self, codes: &mut String, style: Style, ground: Ground) {
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
        if style.ink != Ink::Plain || ground != Ground::Page {
            color(38, self.theme.ink(style.ink, self.agent));
        }
        if ground != Ground::Page {
            color(48, self.theme.ground(ground));
        }
        codes.push('m');
    }

    fn write_card(&mut self, codes: &mut String, card: &Card) {
        let lead = self.columns / 10;
        let rows: Vec<&Row> = card.title.iter().chain([&EMPTY]).chain(&card.facts).collect();
        let top = (self.drawn.len().saturating_sub(rows.len())) / 2;
        for (at, row) in rows.into_iter().enumerate().take(self.drawn.len() - top) {
            let mut cells = super::cells::of(&" ".repeat(lead), Style::PLAIN);
            cells.extend(super::cells::cut(row.cells.clone(), self.columns - lead));
            let row = Row {
                cells,
                ground: Ground::Page,
            };
            self.write(codes, top + at, &row);
        }
    }
}

static EMPTY: Row = Row {
    cells: Vec::new(),
    ground: Ground::Page,
};

/// A sign and its marks: never one that a terminal obeys.
fn push_cell(codes: &mut String, cell: &Cell) {
    let signs = std::iter::once(cell.sign).chain(cell.marks);
    codes.extend(signs.filter(|sign| !sign.is_control()));
}
