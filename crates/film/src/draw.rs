//! A screen as points: bar, rows, caption, progress, and cards over all of it. Only what changed is drawn again.

use std::ops::Range;

use transcript::Agent;

use super::font::{CellSize, Fonts};
use super::h264::{self, Plane};
use super::scene::{Card, Cell, Chapter, Ground, Ink, Row};
use super::stage::Stage;
use super::theme::{Color, Theme, tint};

/// Where everything stands in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) width: usize,
    pub(crate) height: usize,
    cell: CellSize,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    margin: usize,
    top: usize,
}

impl Layout {
    /// The same number of columns on every picture of the same form, until letters would be too small to be read.
    pub(crate) fn of(width: usize, height: usize) -> Self {
        let cell_height = (height / 30 / 2 * 2).max(12);
        let cell = CellSize {
            width: (cell_height * 11 + 12) / 24,
            height: cell_height,
        };
        let margin = (width / 46).max(6);
        // Whole macroblocks above the rows: what scrolls is then cheap to tell.
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

    /// The lines of the progress below.
    fn line(self) -> Range<usize> {
        let thickness = (self.cell.height / 6).max(2);
        let bottom = self.height - self.cell.height / 3;
        bottom - thickness..bottom
    }

    fn row_top(self, at: usize) -> usize {
        self.top + at * self.cell.height
    }
}

/// A picture in the making.
pub(crate) struct Canvas {
    pub(crate) layout: Layout,
    theme: Theme,
    agent: Agent,
    fonts: Fonts,
    pub(crate) points: Vec<Color>,
    pub(crate) planes: [Plane; 3],
    /// What is drawn: rows of the body, the bar, the caption, the card, how far the line goes.
    rows: Vec<Row>,
    bar: Row,
    caption: Row,
    card: Option<Card>,
    reached: usize,
    /// Which lines changed since they were last asked for.
    changed: Vec<bool>,
    is_new: bool,
}

impl Canvas {
    pub(crate) fn new(layout: Layout, theme: Theme, agent: Agent) -> Self {
        Self {
            layout,
            theme,
            agent,
            fonts: Fonts::new(),
            points: vec![[0; 3]; layout.width * layout.height],
            planes: h264::blank(layout.width, layout.height),
            rows: vec![Row::default(); layout.rows],
            bar: Row::default(),
            caption: Row::default(),
            card: None,
            reached: 0,
            changed: vec![true; layout.height],
            is_new: true,
        }
    }

    /// Draws what a stage shows now. Gives by how many lines the rows moved up; none where nothing changed.
    pub(crate) fn draw(
        &mut self,
        stage: &Stage<'_>,
        scrolled: usize,
        done: (u64, u64),
        chapters: &[Chapter],
    ) -> Option<usize> {
        let layout = self.layout;
        let mut moved = 0;
        if self.is_new || self.card != stage.card {
            self.card.clone_from(&stage.card);
            self.all(stage, done, chapters);
            self.is_new = false;
        } else if self.card.is_none() {
            if scrolled > 0 && scrolled < layout.rows {
                self.scroll(scrolled);
                moved = scrolled * layout.cell.height;
            }
            self.body(stage, false);
            self.frame(stage, false);
        }
        self.progress(done, chapters, false);
        let has_changed = self.convert();
        (has_changed || moved > 0).then_some(moved)
    }

    /// Everything anew.
    fn all(&mut self, stage: &Stage<'_>, done: (u64, u64), chapters: &[Chapter]) {
        let layout = self.layout;
        let page = self.theme.ground(Ground::Page);
        self.fill(0..layout.width, 0..layout.height, page);
        match self.card.clone() {
            Some(card) => self.card(&card),
            None => {
                let bar = self.theme.ground(Ground::Bar);
                self.fill(0..layout.width, 0..layout.bar_height(), bar);
                let accent = self.theme.ink(Ink::Agent, self.agent);
                let edge = (layout.cell.height / 12).max(1);
                self.fill(0..layout.width, layout.bar_height() - edge..layout.bar_height(), accent);
                self.body(stage, true);
                self.frame(stage, true);
            }
        }
        self.progress(done, chapters, true);
    }

    fn body(&mut self, stage: &Stage<'_>, is_forced: bool) {
        for at in 0..self.layout.rows {
            let (cells, ground) = stage.row(at);
            let drawn = &self.rows[at];
            if is_forced || drawn.cells != cells || drawn.ground != ground {
                let row = Row {
                    cells: cells.to_vec(),
                    ground,
                };
                self.row(&row, self.layout.row_top(at));
                self.rows[at] = row;
            }
        }
    }

    /// Bar and caption.
    fn frame(&mut self, stage: &Stage<'_>, is_forced: bool) {
        let layout = self.layout;
        let bar = stage.bar();
        if is_forced || self.bar != bar {
            self.row(&bar, layout.cell.height * 5 / 12);
            self.bar = bar;
        }
        let caption = stage.caption();
        if is_forced || self.caption != caption {
            self.row(&caption, layout.caption_top());
            self.caption = caption;
        }
    }

    fn row(&mut self, row: &Row, top: usize) {
        let layout = self.layout;
        let ground = self.theme.ground(row.ground);
        let edge = layout.margin / 3;
        let right = (layout.margin + layout.columns * layout.cell.width + edge).min(layout.width);
        self.fill(layout.margin - edge..right, top..top + layout.cell.height, ground);
        if row.ground == Ground::Human {
            let accent = self.theme.ink(Ink::Human, self.agent);
            self.fill(
                layout.margin - edge..layout.margin - edge / 2,
                top..top + layout.cell.height,
                accent,
            );
        }
        self.cells(
            &row.cells,
            (layout.margin, top),
            layout.cell,
            row.ground,
            layout.columns,
        );
    }

    fn cells(&mut self, cells: &[Cell], (left, top): (usize, usize), size: CellSize, ground: Ground, columns: usize) {
        let mut column = 0;
        for cell in cells {
            let wide = usize::from(cell.columns);
            if column + wide > columns {
                break;
            }
            let x = left + column * size.width;
            let ground = cell.style.ground.unwrap_or(ground);
            if cell.style.ground.is_some() {
                let color = self.theme.ground(ground);
                self.fill(x..x + wide * size.width, top..top + size.height, color);
            }
            let is_usual = matches!(cell.style.ink, Ink::Plain | Ink::Dim);
            let ink = tint(cell.sign)
                .filter(|_| is_usual && cell.columns == 2)
                .unwrap_or(cell.style.ink);
            let color = self.theme.ink(ink, self.agent);
            for sign in std::iter::once(cell.sign)
                .chain(cell.marks)
                .filter(|sign| *sign != '\0')
            {
                self.sign(sign, cell, (x, top), size, color);
            }
            if cell.style.is_underlined {
                let line = top + size.height * 7 / 8;
                self.fill(x..x + wide * size.width, line..line + (size.height / 20).max(1), color);
            }
            column += wide;
        }
    }

    fn sign(&mut self, sign: char, cell: &Cell, (x, y): (usize, usize), size: CellSize, color: Color) {
        let glyph = self.fonts.glyph(sign, cell.style.is_bold, cell.columns, size);
        if glyph.width == 0 {
            return;
        }
        let (left, top) = (x as i64 + i64::from(glyph.left), y as i64 + i64::from(glyph.top));
        // A sign that is taller than its cell stays inside of it: what stands above is not drawn again.
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
                let point = &mut self.points[start * self.layout.width + at];
                *point = blend(*point, color, *shade);
            }
        }
    }

    /// A card: what it is about in large letters, facts below.
    fn card(&mut self, card: &Card) {
        let layout = self.layout;
        let large = CellSize {
            width: layout.cell.width * 2,
            height: layout.cell.height * 2,
        };
        let left = layout.width / 10;
        let height = card.title.len() * large.height + (card.facts.len() + 1) * layout.cell.height * 4 / 3;
        let mut top = layout.height.saturating_sub(height + layout.cell.height) / 2;
        let accent = self.theme.ink(Ink::Agent, self.agent);
        let thickness = (layout.cell.width / 2).max(2);
        let bar = left.saturating_sub(layout.cell.width * 3);
        self.fill(bar..bar + thickness, top..(top + height).min(layout.height), accent);
        let room = layout.width.saturating_sub(left);
        for row in &card.title {
            self.cells(&row.cells, (left, top), large, Ground::Page, room / large.width);
            top += large.height;
        }
        top += layout.cell.height * 2 / 3;
        for row in &card.facts {
            if top + layout.cell.height <= layout.height {
                self.cells(
                    &row.cells,
                    (left, top),
                    layout.cell,
                    Ground::Page,
                    room / layout.cell.width,
                );
            }
            top += layout.cell.height * 4 / 3;
        }
    }

    /// How far the film is, with a notch where each chapter begins.
    fn progress(&mut self, (now, all): (u64, u64), chapters: &[Chapter], is_forced: bool) {
        let layout = self.layout;
        let wide = layout.width - 2 * layout.margin;
        let place = |ms: u64| usize::try_from(ms * wide as u64 / all.max(1)).unwrap_or(wide).min(wide);
        let reached = place(now);
        if !is_forced && reached == self.reached {
            return;
        }
        let lines = layout.line();
        let from = if is_forced || reached < self.reached {
            0
        } else {
            self.reached
        };
        let (done, track) = (self.theme.ink(Ink::Agent, self.agent), self.theme.track());
        self.fill(layout.margin + from..layout.margin + reached, lines.clone(), done);
        if is_forced {
            self.fill(layout.margin + reached..layout.margin + wide, lines.clone(), track);
        }
        let page = self.theme.ground(Ground::Page);
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
                self.points[start + x.start..start + x.end].fill(color);
                self.changed[line] = true;
            }
        }
    }

    /// Moves the body up by some rows, drawn as it is.
    fn scroll(&mut self, rows: usize) {
        let layout = self.layout;
        let lines = rows * layout.cell.height;
        let (from, to) = (layout.top + lines, layout.row_top(layout.rows));
        self.points
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
            // What scrolled in is not what is drawn there: it is drawn whatever it is.
            let empty = Row::default();
            self.row(&empty, layout.row_top(at));
            self.rows[at] = empty;
        }
    }

    /// Brings brightness and colours of changed lines up to date; says whether there were any.
    fn convert(&mut self) -> bool {
        let mut has_changed = false;
        for pair in 0..self.layout.height / 2 {
            let lines = pair * 2..pair * 2 + 2;
            if !self.changed[lines.clone()].contains(&true) {
                continue;
            }
            has_changed = true;
            self.changed[lines].fill(false);
            self.convert_pair(pair);
        }
        if has_changed {
            self.pad();
        }
        has_changed
    }

    /// Two lines, which share their colours. BT.709, of the narrow range.
    fn convert_pair(&mut self, pair: usize) {
        let width = self.layout.width;
        let [y, u, v] = &mut self.planes;
        for column in 0..width / 2 {
            let mut sum = [0_i32; 3];
            for (line, at) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let x = column * 2 + at;
                let color = self.points[(pair * 2 + line) * width + x].map(i32::from);
                let shade = 11_966 * color[0] + 40_254 * color[1] + 4_064 * color[2];
                y.bytes[(pair * 2 + line) * y.width + x] = byte(16 + ((shade + 32_768) >> 16));
                sum.iter_mut().zip(color).for_each(|(sum, part)| *sum += part);
            }
            let blue = -6_596 * sum[0] - 22_189 * sum[1] + 28_784 * sum[2];
            let red = 28_784 * sum[0] - 26_145 * sum[1] - 2_639 * sum[2];
            let at = pair * u.width + column;
            u.bytes[at] = byte(128 + ((blue + 131_072) >> 18));
            v.bytes[at] = byte(128 + ((red + 131_072) >> 18));
        }
    }

    /// What lies outside of the picture, to the next macroblock, is like its edge.
    fn pad(&mut self) {
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

fn byte(number: i32) -> u8 {
    u8::try_from(number.clamp(0, 255)).unwrap_or(0)
}

/// A colour over another one, as strong as the shade of a letter. Half-strong points are a little stronger than they are, so
/// that thin strokes stay.
fn blend(under: Color, over: Color, shade: u8) -> Color {
    let shade = i32::from(shade);
    let shade = shade + shade * (255 - shade) / 1_020;
    std::array::from_fn(|at| {
        let (under, over) = (i32::from(under[at]), i32::from(over[at]));
        byte(under + ((over - under) * shade + 127) / 255)
    })
}
