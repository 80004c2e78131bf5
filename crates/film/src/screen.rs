//! The state of the screen at a point in time: the rows shown so far, the bar above them, the caption below.
//!
//! Time only advances. The caller asks for the next point in time and learns by how many rows the screen scrolled.

use std::collections::VecDeque;
use std::iter::Peekable;

use jiff::tz::TimeZone;

use super::cells::{self, justify, text_cells};
use super::scene::{Background, Cell, CellStyle, SceneEvent, ScreenRow, TextColor, TimedEvent, TitleCard};
use super::scene_plan::Scene;
use render::escape::{one_line, show_invisible};
use render::measure::clock;

/// A screen of `columns` by `rows` cells.
pub(crate) struct ScreenState<'s> {
    columns: usize,
    rows: usize,
    events: Peekable<Box<dyn Iterator<Item = TimedEvent> + 's>>,
    /// The agent, its directory and branch.
    about: Vec<Cell>,
    turns: usize,
    zone: TimeZone,
    body: VecDeque<ScreenRow>,
    /// If the last row is being typed, when typing starts and ends.
    typing: Option<(u64, u64)>,
    now_ms: u64,
    pub(crate) card: Option<TitleCard>,
    turn: Option<u32>,
    prompt: String,
    clock: String,
    caption: String,
}

impl<'s> ScreenState<'s> {
    pub(crate) fn new(scene: &'s Scene<'_>, columns: usize, rows: usize) -> Self {
        let session = &scene.transcript.head.session;
        let mut about = text_cells(session.flavor.title(), CellStyle::new(TextColor::Agent).bold());
        let place = session.cwd.as_deref().map(short_path);
        let branch = session
            .git_branch
            .as_deref()
            .map(|branch| one_line(&show_invisible(branch), 30));
        for (text, style) in [(place, CellStyle::PLAIN), (branch, CellStyle::DIM)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                cells::push_text(&mut about, "   ", CellStyle::PLAIN);
                cells::push_text(&mut about, &text, style);
            }
        }
        let events: Box<dyn Iterator<Item = TimedEvent> + 's> = Box::new(scene.play());
        Self {
            columns,
            rows,
            events: events.peekable(),
            about,
            turns: scene.transcript.turns.len(),
            zone: scene.transcript.head.zone.clone(),
            body: VecDeque::with_capacity(rows + 1),
            typing: None,
            now_ms: 0,
            card: None,
            turn: None,
            prompt: String::new(),
            clock: String::new(),
            caption: String::new(),
        }
    }

    /// Advances to `now_ms` and returns by how many rows the screen scrolled.
    pub(crate) fn advance(&mut self, now_ms: u64) -> usize {
        self.now_ms = now_ms;
        let mut scrolled = 0;
        while let Some(timed) = self.events.next_if(|timed| timed.at_ms <= now_ms) {
            match timed.event {
                SceneEvent::Card(card) => self.card = Some(card),
                SceneEvent::Turn(turn, prompt) => {
                    self.turn = Some(turn);
                    self.prompt = prompt;
                }
                SceneEvent::Clock(at) => self.clock = clock(at, &self.zone),
                SceneEvent::Caption(caption) => self.caption = caption,
                SceneEvent::Row(row) => scrolled += self.push(row, None),
                SceneEvent::Typed(row, until_ms) => scrolled += self.push(row, Some((timed.at_ms, until_ms))),
            }
        }
        scrolled
    }

    fn push(&mut self, row: ScreenRow, typing: Option<(u64, u64)>) -> usize {
        self.card = None;
        self.typing = typing;
        // Consecutive empty rows are merged.
        let is_blank = |row: &ScreenRow| row.cells.is_empty() && row.background == Background::Page;
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

    /// Returns the visible cells of a body row and the row's background. A row that is being typed is only partly visible.
    pub(crate) fn row(&self, at: usize) -> (&[Cell], Background) {
        let Some(row) = self.body.get(at) else {
            return (&[], Background::Page);
        };
        let typing = self.typing.filter(|_| at + 1 == self.body.len());
        let shown = match typing {
            Some((from, until)) if self.now_ms < until => {
                let (done, all) = (self.now_ms.saturating_sub(from), (until - from).max(1));
                usize::try_from(row.cells.len() as u64 * done / all).unwrap_or(0)
            }
            _ => row.cells.len(),
        };
        (&row.cells[..shown.min(row.cells.len())], row.background)
    }

    /// Returns the bar: agent, directory, turn and time.
    pub(crate) fn bar(&self) -> ScreenRow {
        let mut right = Vec::new();
        if let Some(turn) = self.turn {
            cells::push_text(&mut right, &format!("turn {turn}"), CellStyle::PLAIN);
            cells::push_text(
                &mut right,
                &format!(" of {}   ", self.turns.max(turn as usize)),
                CellStyle::DIM,
            );
        }
        cells::push_text(&mut right, &self.clock, CellStyle::PLAIN);
        justify(self.about.clone(), right, self.columns, Background::Bar)
    }

    /// Returns the caption: the current prompt, and what is being skipped.
    pub(crate) fn caption(&self) -> ScreenRow {
        let prompt = text_cells(&self.prompt, CellStyle::new(TextColor::Faint));
        let caption = text_cells(&self.caption, CellStyle::new(TextColor::Warn));
        justify(prompt, caption, self.columns, Background::Page)
    }
}

/// Returns the last two parts of a path, which are enough to recognise a project.
fn short_path(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let last = &parts[parts.len().saturating_sub(2)..];
    one_line(&show_invisible(&last.join("/")), 40)
}
