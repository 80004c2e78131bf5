//! `/` in the reader: finds text in the session, ignoring case. A few items are searched at a time, so that the screen
//! stays responsive and a key stops the search.

use crossterm::event::KeyCode;
use transcript::SessionEvent;
use unicode_segmentation::UnicodeSegmentation;

use super::{LinePlace, Reader};

/// Number of items that are searched before the keyboard is polled again.
const ITEMS_AT_ONCE: usize = 200;
/// Maximum length of the text; a longer one was pasted by mistake.
const NEEDLE_BYTES_MAX: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// The state of a search: the text, and how far the search is.
#[derive(Debug, Default)]
pub(in crate::finder) struct Search {
    /// The text while it is being typed.
    pub(in crate::finder) typed: Option<String>,
    /// The text that is marked on the screen.
    pub(in crate::finder) needle: Option<String>,
    running: Option<RunningSearch>,
}

#[derive(Debug)]
struct RunningSearch {
    direction: Direction,
    /// The item that is searched next.
    next: usize,
    left: usize,
}

impl Search {
    pub(super) fn begin(&mut self) {
        self.typed = Some(String::new());
    }

    pub(super) fn is_typing(&self) -> bool {
        self.typed.is_some()
    }

    pub(in crate::finder) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(super) fn stop(&mut self) {
        self.running = None;
    }
}

pub(super) fn type_key(reader: &mut Reader, code: KeyCode, is_control: bool) {
    let Some(typed) = &mut reader.search.typed else { return };
    match code {
        KeyCode::Esc => reader.search.typed = None,
        KeyCode::Char('u') if is_control => typed.clear(),
        KeyCode::Char(_) if is_control => {}
        KeyCode::Char(c) if typed.len() < NEEDLE_BYTES_MAX => typed.push(c),
        KeyCode::Backspace => match typed.grapheme_indices(true).next_back() {
            Some((at, _)) => typed.truncate(at),
            None => reader.search.typed = None,
        },
        KeyCode::Enter => {
            let typed = reader.search.typed.take().unwrap_or_default();
            if !typed.trim().is_empty() {
                reader.search.needle = Some(typed);
            }
            start(reader, Direction::Forward);
        }
        _ => {}
    }
}

/// Searches for the next match. Further lines of the item under the cursor come first.
pub(super) fn start(reader: &mut Reader, direction: Direction) {
    let Some(needle) = reader.search.needle.as_deref().map(str::to_lowercase) else {
        reader.message = Some("Nothing to search for; press `/` first".to_owned());
        return;
    };
    let at = reader.cursor;
    let shown = if reader.top.item == at { reader.top.line } else { 0 };
    let lines = reader.lines(at);
    let is_match = |line: &usize| {
        lines
            .get(*line)
            .is_some_and(|line| line.text().to_lowercase().contains(&needle))
    };
    // A match that is in view is not the next one.
    let further = match direction {
        Direction::Forward => (shown + 1..lines.len()).find(is_match),
        Direction::Backward => (0..shown).rev().find(is_match),
    };
    let is_inside = further.is_some_and(|line| line > shown + reader.rows / 2 || line < shown);
    if let Some(line) = further.filter(|_| is_inside) {
        reader.top = LinePlace {
            item: at,
            line: line.saturating_sub(2),
        };
        return;
    }
    let count = reader.document.items.len();
    reader.search.running = Some(RunningSearch {
        direction,
        next: next_of(at, direction, count),
        left: count,
    });
}

fn next_of(at: usize, direction: Direction, count: usize) -> usize {
    match direction {
        Direction::Forward => (at + 1) % count.max(1),
        Direction::Backward => (at + count.max(1) - 1) % count.max(1),
    }
}

impl Reader {
    /// Continues a search; returns `true` if the screen has to be drawn again.
    pub(in crate::finder) fn go_on(&mut self) -> bool {
        let (Some(mut running), Some(needle)) = (self.search.running.take(), &self.search.needle) else {
            return false;
        };
        let needle = needle.to_lowercase();
        let count = self.document.items.len();
        let mut looked_at = Vec::new();
        while looked_at.len() < ITEMS_AT_ONCE && running.left > 0 {
            looked_at.push(running.next);
            running.left -= 1;
            running.next = next_of(running.next, running.direction, count);
        }
        match self.first_match(&looked_at, &needle) {
            Some(at) => self.show_match(at),
            None if running.left > 0 => self.search.running = Some(running),
            None => self.message = Some(format!("Not found: {}", crate::ui::escape(&needle))),
        }
        true
    }

    /// Returns the first of some items whose texts contain the needle.
    fn first_match(&mut self, items: &[usize], needle: &str) -> Option<usize> {
        let events: Vec<SessionEvent> = items
            .iter()
            .filter_map(|at| self.document.items.get(*at))
            .flat_map(|item| std::iter::once(&item.event).chain(&item.result))
            .filter(|event| !self.texts.contains_key(&event.seq))
            .cloned()
            .collect();
        // The texts are not cached, because most of these items will never be shown.
        let read = match (self.read_texts)(&events) {
            Ok(read) => read,
            Err(error) => {
                self.failed = Some(error);
                return None;
            }
        };
        let has = |event: &SessionEvent| {
            let text = self.texts.get(&event.seq).or_else(|| read.get(&event.seq));
            let is_in = |text: &str| text.to_lowercase().contains(needle);
            text.is_some_and(|text| is_in(text)) || is_in(&event.summary)
        };
        items.iter().copied().find(|at| {
            let item = self.document.items.get(*at);
            item.is_some_and(|item| has(&item.event) || item.result.as_ref().is_some_and(has))
        })
    }

    /// Moves to the match in an item, and opens the item if the match is in its details.
    pub(super) fn show_match(&mut self, at: usize) {
        let needle = self.search.needle.as_deref().unwrap_or_default().to_lowercase();
        let is_match = |lines: &[crate::ui::prose::StyledLine]| {
            lines
                .iter()
                .position(|line| line.text().to_lowercase().contains(&needle))
        };
        let mut line = is_match(self.lines(at));
        if line.is_none() && self.document.items.get(at).is_some_and(|item| !item.kind.is_prose()) {
            self.open.insert(at);
            self.laid_out.remove(&at);
            line = is_match(self.lines(at));
        }
        self.jump(at);
        let line = line.unwrap_or(0);
        if line + 2 >= self.rows {
            self.top = LinePlace {
                item: at,
                line: line.saturating_sub(self.rows / 3),
            };
            self.clamp();
        } else if at > 0 && self.document.items[at].heading.is_none() {
            // A few lines before the match stay visible as context.
            self.scroll(-(self.rows / 3).cast_signed());
        }
    }
}
