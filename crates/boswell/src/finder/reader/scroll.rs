//! Determines which part of the session is on the screen. Only items near it are laid out.

use super::{LinePlace, Reader};

impl Reader {
    /// Moves the top by lines, without going beyond the ends.
    pub(super) fn scroll(&mut self, lines: isize) {
        for _ in 0..lines.unsigned_abs() {
            if lines > 0 {
                self.top.line += 1;
                if self.top.line >= self.height(self.top.item) && self.top.item < self.last() {
                    self.top = LinePlace {
                        item: self.top.item + 1,
                        line: 0,
                    };
                }
            } else if self.top.line > 0 {
                self.top.line -= 1;
            } else if self.top.item > 0 {
                let item = self.top.item - 1;
                let line = self.height(item).saturating_sub(1);
                self.top = LinePlace { item, line };
            }
        }
        self.clamp();
    }

    /// Keeps the screen full: the last line is not above its end, unless everything fits.
    pub(super) fn clamp(&mut self) {
        self.top.item = self.top.item.min(self.last());
        self.cursor = self.cursor.min(self.last());
        let height = self.height(self.top.item);
        self.top.line = self.top.line.min(height.saturating_sub(1));
        let (mut below, mut at) = (height - self.top.line.min(height), self.top.item + 1);
        while below < self.rows && at < self.document.items.len() {
            below += self.height(at);
            at += 1;
        }
        let mut missing = self.rows.saturating_sub(below);
        while missing > 0 && self.top > LinePlace::default() {
            if self.top.line == 0 {
                self.top.item -= 1;
                self.top.line = self.height(self.top.item);
            }
            let step = missing.min(self.top.line);
            self.top.line -= step;
            missing -= step;
        }
    }

    /// Returns the rows on which an item begins and ends, counted from the top of the screen; they may be outside of it.
    pub(super) fn rows_of(&mut self, at: usize) -> (isize, isize) {
        let mut row = -(self.top.line.cast_signed());
        if at < self.top.item {
            for item in at..self.top.item {
                row -= self.height(item).cast_signed();
            }
        } else {
            // The exact row does not matter beyond the screen.
            for item in self.top.item..at {
                row += self.height(item).cast_signed();
                if row > self.rows.cast_signed() * 2 {
                    break;
                }
            }
        }
        (row, row + self.height(at).cast_signed())
    }

    /// Puts an item at the top of the screen.
    pub(super) fn jump(&mut self, at: usize) {
        self.cursor = at.min(self.last());
        self.top = LinePlace {
            item: self.cursor,
            line: 0,
        };
        // The empty line before a heading is not worth a row.
        if self
            .lines(self.cursor)
            .first()
            .is_some_and(|line| line.parts.is_empty())
        {
            self.top.line = 1;
        }
        self.clamp();
    }

    /// Moves the cursor to an item next to it, and the screen as far as is needed to see it.
    pub(super) fn step(&mut self, is_down: bool) {
        let (first, end) = self.rows_of(self.cursor);
        let rows = self.rows.cast_signed();
        // An item that is longer than the screen is scrolled to its end first.
        if is_down && end > rows {
            return self.scroll(1);
        }
        if !is_down && first < 0 {
            return self.scroll(-1);
        }
        let next = if is_down {
            self.cursor + 1
        } else {
            self.cursor.saturating_sub(1)
        };
        if next > self.last() || next == self.cursor {
            return;
        }
        self.cursor = next;
        let (first, end) = self.rows_of(next);
        if first < 0 {
            self.scroll(if end - first > rows { end - rows } else { first });
        } else if end > rows {
            self.scroll((end - rows).min(first));
        }
    }

    /// Moves by a part of the screen; the cursor goes to the first item that begins there.
    pub(super) fn page(&mut self, lines: isize) {
        let before = self.top;
        self.scroll(lines);
        if self.top == before {
            self.cursor = if lines > 0 { self.last() } else { 0 };
            return;
        }
        let is_begun = self.top.line > 1 && self.top.item < self.last();
        let (_, end) = self.rows_of(self.top.item);
        let is_long = end >= self.rows.cast_signed();
        self.cursor = self.top.item + usize::from(is_begun && !is_long);
    }
}
