//! The marks beside lines, made of texts that are told while the lines are read: so no line is parsed once more for them.
//! What was not told is read again, and gives the same marks.

use std::cell::RefCell;

use super::piece::Searched;
use crate::search::{Marks, Vocabulary, each_text, filter::Builder};

thread_local! {
    /// Two megabytes that all frames of a worker share.
    static IDLE: RefCell<Option<Box<Makers>>> = const { RefCell::new(None) };
}

/// What is kept beside some lines; nothing where the part is not searched.
pub(crate) fn marks_of(searched: Option<Searched>, lines: &[u8]) -> Marks {
    Marking::new(searched).marks(lines)
}

/// What makes marks of texts.
#[derive(Default)]
pub(super) struct Makers {
    builder: Builder,
    words: Option<Vocabulary>,
}

impl Makers {
    pub(super) fn add(&mut self, text: &str) {
        self.builder.add(text);
        if let Some(words) = &mut self.words {
            words.add(text);
        }
    }
}

/// The marks of the lines of one part, frame by frame.
pub(super) struct Marking {
    searched: Option<Searched>,
    /// Taken for the first text.
    makers: Option<Box<Makers>>,
    /// Of how many bytes of the lines the texts were told.
    bytes: usize,
    /// Whether the texts of the next line are told.
    is_told: bool,
}

impl Marking {
    pub(super) fn new(searched: Option<Searched>) -> Self {
        Self {
            searched,
            makers: None,
            bytes: 0,
            is_told: false,
        }
    }

    /// Whom the texts of the line are told that comes behind these; nobody where the part is not searched.
    pub(super) fn next_line(&mut self, lines: &[u8]) -> Option<&mut Makers> {
        self.catch_up(lines);
        self.is_told = self.searched.is_some();
        self.makers.as_deref_mut()
    }

    /// The line was kept: the lines have so many bytes now.
    pub(super) fn line_over(&mut self, bytes: usize) {
        if std::mem::take(&mut self.is_told) {
            self.bytes = bytes;
        }
    }

    /// What is kept beside the lines.
    pub(super) fn marks(&mut self, lines: &[u8]) -> Marks {
        if lines.is_empty() {
            return Marks::default();
        }
        self.catch_up(lines);
        let Some(makers) = &self.makers else {
            return Marks::default();
        };
        Marks {
            filter: makers.builder.filter(),
            words: makers.words.as_ref().map(Vocabulary::text),
        }
    }

    /// The lines are a frame, and others begin.
    pub(super) fn clear(&mut self) {
        if let Some(makers) = &mut self.makers {
            makers.builder.clear();
            makers.words.iter_mut().for_each(Vocabulary::clear);
        }
        (self.bytes, self.is_told) = (0, false);
    }

    /// Reads what was not told.
    fn catch_up(&mut self, lines: &[u8]) {
        let Some(Searched { form, with_words }) = self.searched else {
            return;
        };
        let makers = self.makers.get_or_insert_with(|| {
            let mut makers = IDLE.take().unwrap_or_default();
            makers.words = with_words.then(Vocabulary::default);
            makers
        });
        if self.bytes < lines.len() {
            each_text(form, &lines[self.bytes..], &mut |text| makers.add(text));
            self.bytes = lines.len();
        }
    }
}

impl Drop for Marking {
    fn drop(&mut self) {
        self.clear();
        if let Some(makers) = self.makers.take() {
            IDLE.set(Some(makers));
        }
    }
}
