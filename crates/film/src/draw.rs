//! Draws the screen as pixels: bar, rows, caption, progress, cards. Only what changed is drawn again.

use std::ops::Range;

use transcript::Agent;

use super::font::{CellSize, Fonts};
use super::h264::{self, Plane};
use super::scene::{Background, Cell, Chapter, ScreenRow, TextColor, TitleCard};
use super::screen::ScreenState;
use super::theme::{Color, Theme, emoji_color};

/// The positions of all parts of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    pub(crate) width: usize,
    pub(crate) height: usize,
    cell: CellSize,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    margin: usize,
    top: usize,
}

impl FrameLayout {
    /// Frames of the same aspect ratio have the same number of columns, unless the text would become too small to read.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let cell_height = (height / 30 / 2 * 2).max(12);
        let cell = CellSize {
            width: (cell_height * 11 + 12) / 24,
            height: cell_height,
        };
        let margin = (width / 46).max(6);
        // The body starts at a macroblock boundary, so that scrolling moves whole macroblocks and is cheap to encode.
        let top = (cell_height * 5 / 2).next_multiple_of(16);
        Self {
            width,
            height,
            cell,
            columns: ((width - 2 * margin) / cell.width).max(20),
            rows: (height.saturating_sub(top + cell_height * 2) / cell_height).max(2),
            margin,
            top,
        }
    }

    fn bar_height(self) -> usize {
        self.cell.height * 2
    }

    fn caption_top(self) -> usize {
        self.height - self.cell.height * 7 / 4
    }

    /// Returns the pixel lines of the progress bar.
    fn progress_lines(self) -> Range<usize> {
        let thickness = (self.cell.height / 6).max(2);
        let bottom = self.height - self.cell.height / 3;
        bottom - thickness..bottom
    }

    fn row_top(self, at: usize) -> usize {
        self.top + at * self.cell.height
    }
}

/// A frame buffer and what is drawn in it.
pub(crate) struct FrameCanvas {
    pub(crate) layout: FrameLayout,
    theme: Theme,
    agent: Agent,
    fonts: Fonts,
    pub(crate) pixels: Vec<Color>,
    pub(crate) planes: [Plane; 3],
    /// What is currently drawn.
    rows: Vec<ScreenRow>,
    bar: ScreenRow,
    caption: ScreenRow,
    card: Option<TitleCard>,
    reached: usize,
    /// The pixel lines that changed since the planes were last updated.
    changed: Vec<bool>,
    is_new: bool,
}

impl FrameCanvas {
    pub(crate) fn new(layout: FrameLayout, theme: Theme, agent: Agent) -> Self {
        Self {
            layout,
            theme,
            agent,
            fonts: Fonts::new(),
            pixels: vec![[0; 3]; layout.width * layout.height],
            planes: h264::blank_planes(layout.width, layout.height),
            rows: vec![ScreenRow::default(); layout.rows],
            bar: ScreenRow::default(),
            caption: ScreenRow::default(),
            card: None,
            reached: 0,
            changed: vec![true; layout.height],
            is_new: true,
        }
    }

    /// Draws the current state of the screen. Returns by how many lines the rows moved up, or `None` if nothing changed.
    pub(crate) fn draw(
        &mut self,
        screen: &ScreenState<'_>,
        scrolled: usize,
        done: (u64, u64),
        chapters: &[Chapter],
    ) -> Option<usize> {
        let layout = self.layout;
        let mut moved = 0;
        // A card covers the whole frame, so everything is redrawn when it appears or disappears.
        if self.is_new || self.card != screen.card {
            self.card.clone_from(&screen.card);
            self.draw_all(screen, done, chapters);
            self.is_new = false;
        } else if self.card.is_none() {
            if scrolled > 0 && scrolled < layout.rows {
                self.scroll(scrolled);
                moved = scrolled * layout.cell.height;
            }
            self.draw_body(screen, false);
            self.draw_bar_and_caption(screen, false);
        }
        self.draw_progress(done, chapters, false);
        let has_changed = self.update_planes();
        (has_changed || moved > 0).then_some(moved)
    }

    /// Draws everything from scratch.
    fn draw_all(&mut self, screen: &ScreenState<'_>, done: (u64, u64), chapters: &[Chapter]) {
        let layout = self.layout;
        let page = self.theme.background_color(Background::Page);
        self.fill(0..layout.width, 0..layout.height, page);
        match self.card.clone() {
            Some(card) => self.draw_card(&card),
            None => {
                let bar = self.theme.background_color(Background::Bar);
                self.fill(0..layout.width, 0..layout.bar_height(), bar);
                let accent = self.theme.text_color(TextColor::Agent, self.agent);
                let edge = (layout.cell.height / 12).max(1);
                self.fill(0..layout.width, layout.bar_height() - edge..layout.bar_height(), accent);
                self.draw_body(screen, true);
                self.draw_bar_and_caption(screen, true);
            }
        }
        self.draw_progress(done, chapters, true);
    }

    fn draw_body(&mut self, screen: &ScreenState<'_>, is_forced: bool) {
        for at in 0..self.layout.rows {
            let (cells, background) = screen.row(at);
            let drawn = &self.rows[at];
            if is_forced || drawn.cells != cells || drawn.background != background {
                let row = ScreenRow {
                    cells: cells.to_vec(),
                    background,
                };
                self.draw_row(&row, self.layout.row_top(at));
                self.rows[at] = row;
            }
        }
    }

    /// Draws the bar and the caption if they changed.
    fn draw_bar_and_caption(&mut self, screen: &ScreenState<'_>, is_forced: bool) {
        let layout = self.layout;
        let bar = screen.bar();
        if is_forced || self.bar != bar {
            self.draw_row(&bar, layout.cell.height * 5 / 12);
            self.bar = bar;
        }
        let caption = screen.caption();
        if is_forced || self.caption != caption {
            self.draw_row(&caption, layout.caption_top());
            self.caption = caption;
        }
    }

    fn draw_row(&mut self, row: &ScreenRow, top: usize) {
        let layout = self.layout;
        let background = self.theme.background_color(row.background);
        let edge = layout.margin / 3;
        let right = (layout.margin + layout.columns * layout.cell.width + edge).min(layout.width);
        self.fill(layout.margin - edge..right, top..top + layout.cell.height, background);
        if row.background == Background::Human {
            let accent = self.theme.text_color(TextColor::Human, self.agent);
            self.fill(
                layout.margin - edge..layout.margin - edge / 2,
                top..top + layout.cell.height,
                accent,
            );
        }
        self.draw_cells(
            &row.cells,
            (layout.margin, top),
            layout.cell,
            row.background,
            layout.columns,
        );
    }

    fn draw_cells(
        &mut self,
        cells: &[Cell],
        (left, top): (usize, usize),
        size: CellSize,
        background: Background,
        columns: usize,
    ) {
        let mut column = 0;
        for cell in cells {
            let wide = usize::from(cell.columns);
            if column + wide > columns {
                break;
            }
            let x = left + column * size.width;
            let background = cell.style.background.unwrap_or(background);
            if cell.style.background.is_some() {
                let color = self.theme.background_color(background);
                self.fill(x..x + wide * size.width, top..top + size.height, color);
            }
            let is_usual = matches!(cell.style.color, TextColor::Plain | TextColor::Dim);
            let meaning = emoji_color(cell.character)
                .filter(|_| is_usual && cell.columns == 2)
                .unwrap_or(cell.style.color);
            let color = self.theme.text_color(meaning, self.agent);
            for character in std::iter::once(cell.character)
                .chain(cell.marks)
                .filter(|character| *character != '\0')
            {
                self.draw_character(character, cell, (x, top), size, color);
            }
            if cell.style.is_underlined {
                let line = top + size.height * 7 / 8;
                self.fill(x..x + wide * size.width, line..line + (size.height / 20).max(1), color);
            }
            column += wide;
        }
    }

    fn draw_character(&mut self, character: char, cell: &Cell, (x, y): (usize, usize), size: CellSize, color: Color) {
        let glyph = self.fonts.glyph(character, cell.style.is_bold, cell.columns, size);
        if glyph.width == 0 {
            return;
        }
        let (left, top) = (x as i64 + i64::from(glyph.left), y as i64 + i64::from(glyph.top));
        // Clip characters that are taller than their cell, because the row above is not redrawn.
        let inside = y as i64..(y + size.height) as i64;
        let lines = (top..)
            .zip(glyph.shades.chunks(glyph.width))
            .filter(|(line, _)| inside.contains(line));
        for (line, shades) in lines {
            let Some(start) = usize::try_from(line).ok().filter(|line| *line < self.layout.height) else {
                continue;
            };
            for (at, shade) in (left..).zip(shades) {
                let Some(at) = usize::try_from(at).ok().filter(|at| *at < self.layout.width) else {
                    continue;
                };
                let pixel = &mut self.pixels[start * self.layout.width + at];
                *pixel = blend(*pixel, color, *shade);
            }
        }
    }

    /// Draws a card: the title in large characters, facts below.
    fn draw_card(&mut self, card: &TitleCard) {
        let layout = self.layout;
        let large = CellSize {
            width: layout.cell.width * 2,
            height: layout.cell.height * 2,
        };
        let left = layout.width / 10;
        let height = card.title.len() * large.height + (card.facts.len() + 1) * layout.cell.height * 4 / 3;
        let mut top = layout.height.saturating_sub(height + layout.cell.height) / 2;
        let accent = self.theme.text_color(TextColor::Agent, self.agent);
        let thickness = (layout.cell.width / 2).max(2);
        let bar = left.saturating_sub(layout.cell.width * 3);
        self.fill(bar..bar + thickness, top..(top + height).min(layout.height), accent);
        let room = layout.width.saturating_sub(left);
        for row in &card.title {
            self.draw_cells(&row.cells, (left, top), large, Background::Page, room / large.width);
            top += large.height;
        }
        top += layout.cell.height * 2 / 3;
        for row in &card.facts {
            if top + layout.cell.height <= layout.height {
                self.draw_cells(
                    &row.cells,
                    (left, top),
                    layout.cell,
                    Background::Page,
                    room / layout.cell.width,
                );
            }
            top += layout.cell.height * 4 / 3;
        }
    }

    /// Draws the progress bar, with a notch at each chapter.
    fn draw_progress(&mut self, (now, all): (u64, u64), chapters: &[Chapter], is_forced: bool) {
        let layout = self.layout;
        let wide = layout.width - 2 * layout.margin;
        let place = |ms: u64| usize::try_from(ms * wide as u64 / all.max(1)).unwrap_or(wide).min(wide);
        let reached = place(now);
        if !is_forced && reached == self.reached {
            return;
        }
        let lines = layout.progress_lines();
        let from = if is_forced || reached < self.reached {
            0
        } else {
            self.reached
        };
        let (done, track) = (
            self.theme.text_color(TextColor::Agent, self.agent),
            self.theme.track_color(),
        );
        self.fill(layout.margin + from..layout.margin + reached, lines.clone(), done);
        if is_forced {
            self.fill(layout.margin + reached..layout.margin + wide, lines.clone(), track);
        }
        let page = self.theme.background_color(Background::Page);
        let notch = (layout.cell.width / 5).max(1);
        for chapter in chapters.iter().skip(1) {
            let at = place(chapter.at_ms);
            if at >= from {
                self.fill(
                    layout.margin + at..layout.margin + (at + notch).min(wide),
                    lines.clone(),
                    page,
                );
            }
        }
        self.reached = reached;
    }

    fn fill(&mut self, x: Range<usize>, y: Range<usize>, color: Color) {
        let x = x.start..x.end.min(self.layout.width);
        for line in y.start..y.end.min(self.layout.height) {
            if x.start < x.end {
                let start = line * self.layout.width;
                self.pixels[start + x.start..start + x.end].fill(color);
                self.changed[line] = true;
            }
        }
    }

    /// Moves the pixels of the body up by some rows.
    fn scroll(&mut self, rows: usize) {
        let layout = self.layout;
        let lines = rows * layout.cell.height;
        let (from, to) = (layout.top + lines, layout.row_top(layout.rows));
        self.pixels
            .copy_within(from * layout.width..to * layout.width, layout.top * layout.width);
        for (at, plane) in self.planes.iter_mut().enumerate() {
            let half = if at == 0 { 1 } else { 2 };
            let wide = plane.width;
            plane
                .bytes
                .copy_within(from / half * wide..to / half * wide, layout.top / half * wide);
        }
        self.rows.rotate_left(rows);
        for at in layout.rows - rows..layout.rows {
            // The rows that scrolled in are drawn as empty now and with their content later.
            let empty = ScreenRow::default();
            self.draw_row(&empty, layout.row_top(at));
            self.rows[at] = empty;
        }
    }

    /// Updates the planes from the changed pixel lines. Returns whether any line had changed.
    fn update_planes(&mut self) -> bool {
        let mut has_changed = false;
        for pair in 0..self.layout.height / 2 {
            let lines = pair * 2..pair * 2 + 2;
            if !self.changed[lines.clone()].contains(&true) {
                continue;
            }
            has_changed = true;
            self.changed[lines].fill(false);
            self.convert_line_pair(pair);
        }
        if has_changed {
            self.extend_edges();
        }
        has_changed
    }

    /// Converts two lines, which share their chroma, to BT.709 in the limited range.
    fn convert_line_pair(&mut self, pair: usize) {
        let width = self.layout.width;
        let [y, u, v] = &mut self.planes;
        for column in 0..width / 2 {
            let mut sum = [0_i32; 3];
            for (line, at) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let x = column * 2 + at;
                let color = self.pixels[(pair * 2 + line) * width + x].map(i32::from);
                let shade = 11_966 * color[0] + 40_254 * color[1] + 4_064 * color[2];
                y.bytes[(pair * 2 + line) * y.width + x] = clamp_to_byte(16 + ((shade + 32_768) >> 16));
                sum.iter_mut().zip(color).for_each(|(sum, part)| *sum += part);
            }
            let blue = -6_596 * sum[0] - 22_189 * sum[1] + 28_784 * sum[2];
            let red = 28_784 * sum[0] - 26_145 * sum[1] - 2_639 * sum[2];
            let at = pair * u.width + column;
            u.bytes[at] = clamp_to_byte(128 + ((blue + 131_072) >> 18));
            v.bytes[at] = clamp_to_byte(128 + ((red + 131_072) >> 18));
        }
    }

    /// Extends the edge pixels to the next macroblock boundary.
    fn extend_edges(&mut self) {
        for (at, plane) in self.planes.iter_mut().enumerate() {
            let half = if at == 0 { 1 } else { 2 };
            let (width, height) = (self.layout.width / half, self.layout.height / half);
            let wide = plane.width;
            if wide > width {
                for line in plane.bytes.chunks_mut(wide) {
                    let edge = line[width - 1];
                    line[width..].fill(edge);
                }
            }
            let (inside, outside) = plane.bytes.split_at_mut(height * wide);
            let last = &inside[(height - 1) * wide..];
            outside.chunks_mut(wide).for_each(|line| line.copy_from_slice(last));
        }
    }
}

fn clamp_to_byte(number: i32) -> u8 {
    u8::try_from(number.clamp(0, 255)).unwrap_or(0)
}

/// Blends a text colour over a background. Medium shades are strengthened a little, so that thin strokes stay visible.
fn blend(under: Color, over: Color, shade: u8) -> Color {
    let shade = i32::from(shade);
    let shade = shade + shade * (255 - shade) / 1_020;
    std::array::from_fn(|at| {
        let (under, over) = (i32::from(under[at]), i32::from(over[at]));
        clamp_to_byte(under + ((over - under) * shade + 127) / 255)
    })
}
