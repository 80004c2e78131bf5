//! What is seen at a given time: the rows that came until then, the bar above them, the line below.
//!
//! Time only goes on. Whoever draws asks for the next moment, and is told by how many rows the screen scrolled.

use std::collections::VecDeque;
use std::iter::Peekable;

use jiff::tz::TimeZone;

use super::cells::{self, between, of};
use super::pace::Scene;
use super::scene::{Beat, Card, Cell, Ground, Ink, Row, Style, Timed};
use render::escape::{one_line, reveal};
use render::measure::clock;

/// A screen of so many rows.
pub(crate) struct Stage<'s> {
    columns: usize,
    rows: usize,
    beats: Peekable<Box<dyn Iterator<Item = Timed> + 's>>,
    /// The agent and where it works.
    about: Vec<Cell>,
    turns: usize,
    zone: TimeZone,
    body: VecDeque<Row>,
    /// The last row, as it is typed: since when, until when.
    typing: Option<(u64, u64)>,
    now_ms: u64,
    pub(crate) card: Option<Card>,
    turn: Option<u32>,
    asked: String,
    clock: String,
    caption: String,
}

impl<'s> Stage<'s> {
    pub(crate) fn new(scene: &'s Scene<'_>, columns: usize, rows: usize) -> Self {
        let session = &scene.transcript.head.session;
        let mut about = of(session.flavor.title(), Style::of(Ink::Agent).bold());
        let place = session.cwd.as_deref().map(short_path);
        let branch = session
            .git_branch
            .as_deref()
            .map(|branch| one_line(&reveal(branch), 30));
        for (text, style) in [(place, Style::PLAIN), (branch, Style::DIM)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                cells::push(&mut about, "   ", Style::PLAIN);
                cells::push(&mut about, &text, style);
            }
        }
        let beats: Box<dyn Iterator<Item = Timed> + 's> = Box::new(scene.play());
        Self {
            columns,
            rows,
            beats: beats.peekable(),
            about,
            turns: scene.transcript.turns.len(),
            zone: scene.transcript.head.zone.clone(),
            body: VecDeque::with_capacity(rows + 1),
            typing: None,
            now_ms: 0,
            card: None,
            turn: None,
            asked: String::new(),
            clock: String::new(),
            caption: String::new(),
        }
    }

    /// Goes on to a time; says by how many rows the screen scrolled meanwhile.
    pub(crate) fn advance(&mut self, now_ms: u64) -> usize {
        self.now_ms = now_ms;
        let mut scrolled = 0;
        while let Some(timed) = self.beats.next_if(|timed| timed.at_ms <= now_ms) {
            match timed.beat {
                Beat::Card(card) => self.card = Some(card),
                Beat::Turn(turn, asked) => {
                    self.turn = Some(turn);
                    self.asked = asked;
                }
                Beat::Clock(at) => self.clock = clock(at, &self.zone),
                Beat::Caption(caption) => self.caption = caption,
                Beat::Row(row) => scrolled += self.push(row, None),
                Beat::Typed(row, until_ms) => scrolled += self.push(row, Some((timed.at_ms, until_ms))),
            }
        }
        scrolled
    }

    fn push(&mut self, row: Row, typing: Option<(u64, u64)>) -> usize {
        self.card = None;
        self.typing = typing;
        // Two empty rows say no more than one.
        let is_blank = |row: &Row| row.cells.is_empty() && row.ground == Ground::Page;
        if is_blank(&row) && self.body.back().is_none_or(is_blank) {
            return 0;
        }
        self.body.push_back(row);
        if self.body.len() <= self.rows {
            return 0;
        }
        self.body.pop_front();
        1
    }

    /// The cells of a row of the body, as far as they came, and what it stands on.
    pub(crate) fn row(&self, at: usize) -> (&[Cell], Ground) {
        let Some(row) = self.body.get(at) else {
            return (&[], Ground::Page);
        };
        let typing = self.typing.filter(|_| at + 1 == self.body.len());
        let shown = match typing {
            Some((from, until)) if self.now_ms < until => {
                let (done, all) = (self.now_ms.saturating_sub(from), (until - from).max(1));
                usize::try_from(row.cells.len() as u64 * done / all).unwrap_or(0)
            }
            _ => row.cells.len(),
        };
        (&row.cells[..shown.min(row.cells.len())], row.ground)
    }

    /// The bar above: who works where, at which turn, at what time.
    pub(crate) fn bar(&self) -> Row {
        let mut right = Vec::new();
        if let Some(turn) = self.turn {
            cells::push(&mut right, &format!("turn {turn}"), Style::PLAIN);
            cells::push(
                &mut right,
                &format!(" of {}   ", self.turns.max(turn as usize)),
                Style::DIM,
            );
        }
        cells::push(&mut right, &self.clock, Style::PLAIN);
        between(self.about.clone(), right, self.columns, Ground::Bar)
    }

    /// The line below: what was asked, and what is cut.
    pub(crate) fn caption(&self) -> Row {
        let asked = of(&self.asked, Style::of(Ink::Faint));
        let caption = of(&self.caption, Style::of(Ink::Warn));
        between(asked, caption, self.columns, Ground::Page)
    }
}

/// The last two parts of a path, which tell a project.
fn short_path(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let last = &parts[parts.len().saturating_sub(2)..];
    one_line(&reveal(&last.join("/")), 40)
}
