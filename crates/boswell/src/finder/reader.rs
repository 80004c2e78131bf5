//! The reader: one session on the whole screen. This is its state.
//!
//! Only items on the screen are laid out, and only their texts are read, so that a session of any length opens at once.
//! It knows no terminal and no store: texts come through [`ReadTexts`].

pub(super) mod document;
pub(super) mod draw;
mod keys;
mod layout;
pub(super) mod load;
mod scroll;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use transcript::SessionEvent;

use self::document::{Document, Item, ItemKind};
pub(super) use self::keys::update;
use self::layout::{Fold, ItemTexts, item_lines};
use self::search::Search;
use crate::error::CommandError;
use crate::ui::markdown::Ink;
use crate::ui::prose::StyledLine;

/// Reads the whole texts of events, by `seq`.
pub(super) type ReadTexts = Box<dyn FnMut(&[SessionEvent]) -> Result<HashMap<u64, String>, CommandError>>;

/// Texts of this many items are read together, because they are in the same frames.
const ITEMS_AT_ONCE: usize = 64;
/// Maximum number of laid-out items to keep; the others are laid out again when needed.
const LAID_OUT_MAX: usize = 4_096;

/// A position in the document: a line of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct LinePlace {
    item: usize,
    line: usize,
}

/// The action that the finder takes after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReaderAction {
    Nothing,
    /// Back to the list.
    Back,
    Leave,
    Copy(String),
    Resume,
    OpenPage,
    /// Ask which turns touched this file.
    Why(String),
}

/// Lines that are shown over the session until a key is pressed, such as the answer of `why`.
#[derive(Debug, Default)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<StyledLine>,
    pub(super) top: usize,
}

pub(super) struct Reader {
    pub(super) document: Document,
    read_texts: ReadTexts,
    texts: HashMap<u64, String>,
    open: HashSet<usize>,
    laid_out: HashMap<usize, Vec<StyledLine>>,
    /// The size that items are laid out for.
    columns: usize,
    rows: usize,
    ink: Ink,
    top: LinePlace,
    cursor: usize,
    pub(super) search: Search,
    pub(super) panel: Option<Panel>,
    pub(super) message: Option<String>,
    pub(super) is_help: bool,
    failed: Option<CommandError>,
}

impl Reader {
    pub(super) fn new(document: Document, read_texts: ReadTexts, ink: Ink) -> Self {
        Self {
            document,
            read_texts,
            texts: HashMap::new(),
            open: HashSet::new(),
            laid_out: HashMap::new(),
            columns: 80,
            rows: 24,
            ink,
            top: LinePlace::default(),
            cursor: 0,
            search: Search::default(),
            panel: None,
            message: None,
            is_help: false,
            failed: None,
        }
    }

    /// Takes the error of the last read.
    pub(super) fn take_error(&mut self) -> Option<CommandError> {
        self.failed.take()
    }

    /// Lays everything out for another size of the screen.
    pub(super) fn set_size(&mut self, columns: usize, rows: usize) {
        self.rows = rows.max(1);
        if self.columns != columns {
            self.columns = columns;
            self.laid_out.clear();
            self.top.line = 0;
        }
    }

    /// Moves to the item that contains a line of the log, or to the beginning of a turn. Opens the item if the text is
    /// in its details.
    pub(super) fn go_to(&mut self, turn: Option<u32>, line: Option<u64>, needle: Option<String>) {
        let at = self.document.find_item(turn, line).unwrap_or(0);
        self.search.needle = needle.filter(|needle| !needle.trim().is_empty());
        if self.search.needle.is_some() && line.is_some() {
            self.show_match(at);
        } else {
            self.jump(at);
        }
    }

    fn item(&self, at: usize) -> Option<&Item> {
        self.document.items.get(at)
    }

    fn last(&self) -> usize {
        self.document.items.len().saturating_sub(1)
    }

    /// Reads the texts of an item and, if they are shown, of its neighbours.
    fn load(&mut self, at: usize) {
        let Some(item) = self.document.items.get(at) else {
            return;
        };
        let is_missing = |event: &SessionEvent| !self.texts.contains_key(&event.seq);
        let wanted: Vec<SessionEvent> = if item.kind.is_prose() {
            if !is_missing(&item.event) {
                return;
            }
            let around = self.document.items.iter().skip(at.saturating_sub(ITEMS_AT_ONCE / 2));
            let around = around.take(ITEMS_AT_ONCE).filter(|item| item.kind.is_prose());
            around.map(|item| item.event.clone()).filter(is_missing).collect()
        } else {
            let both = std::iter::once(&item.event).chain(&item.result);
            both.filter(|event| is_missing(event)).cloned().collect()
        };
        if wanted.is_empty() {
            return;
        }
        match (self.read_texts)(&wanted) {
            Ok(mut texts) => {
                // An event without text is not read again.
                let text = |event: &SessionEvent| texts.remove(&event.seq).unwrap_or_else(|| event.summary.to_string());
                let read: Vec<(u64, String)> = wanted
                    .iter()
                    .map(text)
                    .zip(&wanted)
                    .map(|(text, event)| (event.seq, text))
                    .collect();
                self.texts.extend(read);
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Returns the lines of an item.
    fn lines(&mut self, at: usize) -> &[StyledLine] {
        if !self.laid_out.contains_key(&at) {
            if self.laid_out.len() > LAID_OUT_MAX {
                self.laid_out.clear();
                self.texts.clear();
            }
            let is_open = self.open.contains(&at);
            if is_open || self.item(at).is_some_and(|item| item.kind.is_prose()) {
                self.load(at);
            }
            let lines = self.lay_out(at, is_open);
            self.laid_out.insert(at, lines);
        }
        self.laid_out.get(&at).map(Vec::as_slice).unwrap_or_default()
    }

    fn lay_out(&self, at: usize, is_open: bool) -> Vec<StyledLine> {
        let Some(item) = self.item(at) else { return Vec::new() };
        let before = at
            .checked_sub(1)
            .and_then(|before| self.item(before))
            .map(|item| item.kind);
        let text = |event: &SessionEvent| self.texts.get(&event.seq).map(String::as_str);
        let texts = ItemTexts {
            text: text(&item.event),
            result: item.result.as_ref().and_then(text),
        };
        let fold = if is_open { Fold::Open } else { Fold::Closed };
        item_lines(item, before, texts, fold, self.columns, self.ink)
    }

    fn height(&mut self, at: usize) -> usize {
        self.lines(at).len()
    }

    /// Returns the lines on the screen, each with the item it belongs to.
    pub(super) fn visible(&mut self) -> Vec<(usize, StyledLine)> {
        self.clamp();
        let mut visible = Vec::with_capacity(self.rows);
        let (mut at, mut skip) = (self.top.item, self.top.line);
        while visible.len() < self.rows && at < self.document.items.len() {
            let room = self.rows - visible.len();
            let lines = self.lines(at).iter().skip(skip).take(room).cloned();
            visible.extend(lines.map(|line| (at, line)));
            (at, skip) = (at + 1, 0);
        }
        visible
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the turn that the cursor is in.
    pub(super) fn turn(&self) -> Option<u32> {
        self.item(self.cursor).and_then(|item| item.event.turn)
    }

    /// Returns how far the cursor is, in percent.
    pub(super) fn percent(&self) -> usize {
        (self.cursor + 1) * 100 / self.document.items.len().max(1)
    }

    /// Opens or closes the details of an item.
    fn toggle(&mut self, at: usize) {
        match self.item(at).map(|item| item.kind) {
            Some(ItemKind::Call | ItemKind::Thought | ItemKind::Note) => {}
            _ => {
                self.message = Some("Nothing to expand".to_owned());
                return;
            }
        }
        if !self.open.remove(&at) {
            self.open.insert(at);
        }
        self.laid_out.remove(&at);
        self.clamp();
        let (first, _) = self.rows_of(at);
        if first < 0 {
            self.scroll(first);
        }
    }

    /// Opens the details of all items of the turn, or closes them if one is open.
    fn toggle_turn(&mut self) {
        let from = self.document.turn_start(self.cursor);
        let to = self
            .document
            .next_turn(self.cursor)
            .unwrap_or(self.document.items.len());
        let is_any_open = (from..to).any(|at| self.open.contains(&at));
        for at in from..to {
            let is_foldable = self.item(at).is_some_and(|item| !item.kind.is_prose());
            if is_foldable && is_any_open {
                self.open.remove(&at);
            } else if is_foldable {
                self.open.insert(at);
            }
            self.laid_out.remove(&at);
        }
        self.top = LinePlace {
            item: self.cursor,
            line: 0,
        };
        self.clamp();
    }

    /// Returns the whole text of the item under the cursor: the message, or the call with its result.
    fn text_to_copy(&mut self) -> Option<String> {
        self.load(self.cursor);
        let item = self.item(self.cursor)?;
        let text = |event: &SessionEvent| {
            self.texts
                .get(&event.seq)
                .cloned()
                .unwrap_or_else(|| event.summary.to_string())
        };
        let mut copied = text(&item.event);
        if let Some(result) = &item.result {
            copied = format!("{copied}\n\n{}", text(result));
        }
        Some(copied)
    }

    /// Returns the path of the file that the item under the cursor is about.
    fn file(&mut self) -> Option<String> {
        self.load(self.cursor);
        let item = self.item(self.cursor)?;
        let named = item.event.files.first().map(|path| path.to_string());
        let path = named.or_else(|| {
            let input: Value = serde_json::from_str(self.texts.get(&item.event.seq)?).ok()?;
            let keys = ["file_path", "notebook_path", "path", "target_file"];
            keys.iter().find_map(|key| Some(input.get(key)?.as_str()?.to_owned()))
        })?;
        let directory = self.document.directory.as_deref().unwrap_or_default();
        Some(
            std::path::Path::new(directory)
                .join(path)
                .to_string_lossy()
                .into_owned(),
        )
    }
}
