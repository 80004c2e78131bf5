//! Builds the search data of lines from the texts that the reader finds while it parses them, so that no line is parsed
//! twice. If the reader did not pass on the texts of a line, the line is parsed again, with the same result.

use std::cell::RefCell;

use super::piece::Searched;
use crate::search::{FrameMarks, Vocabulary, each_text, filter::FilterBuilder};

thread_local! {
    /// Two megabytes that all frames of a worker share.
    static FREE_BUILDER: RefCell<Option<Box<MarksBuilder>>> = const { RefCell::new(None) };
}

/// Returns the search data of some lines, which is empty if the part is not searched.
pub(crate) fn marks_of(searched: Option<Searched>, lines: &[u8]) -> FrameMarks {
    Marking::new(searched).marks(lines)
}

/// Builds a filter and a vocabulary from texts.
#[derive(Default)]
pub(super) struct MarksBuilder {
    builder: FilterBuilder,
    words: Option<Vocabulary>,
}

impl MarksBuilder {
    pub(super) fn add(&mut self, text: &str) {
        self.builder.add(text);
        if let Some(words) = &mut self.words {
            words.add(text);
        }
    }
}

/// Builds the search data of the lines of one part, frame by frame.
pub(super) struct Marking {
    searched: Option<Searched>,
    /// `None` before the first text, because many parts are never searched.
    marks_builder: Option<Box<MarksBuilder>>,
    /// The length of the lines whose texts were added.
    bytes: usize,
    /// True if the reader passes on the texts of the next line.
    expects_texts: bool,
}

impl Marking {
    pub(super) fn new(searched: Option<Searched>) -> Self {
        Self {
            searched,
            marks_builder: None,
            bytes: 0,
            expects_texts: false,
        }
    }

    /// Returns the builder that receives the texts of the next line, or `None` if the part is not searched. `lines` are
    /// the lines before it.
    pub(super) fn next_line(&mut self, lines: &[u8]) -> Option<&mut MarksBuilder> {
        self.parse_skipped_lines(lines);
        self.expects_texts = self.searched.is_some();
        self.marks_builder.as_deref_mut()
    }

    /// Notes that the line was added: all lines together are now `bytes` long.
    pub(super) fn note_line(&mut self, bytes: usize) {
        if std::mem::take(&mut self.expects_texts) {
            self.bytes = bytes;
        }
    }

    /// Returns the search data of the lines.
    pub(super) fn marks(&mut self, lines: &[u8]) -> FrameMarks {
        if lines.is_empty() {
            return FrameMarks::default();
        }
        self.parse_skipped_lines(lines);
        let Some(marks_builder) = &self.marks_builder else {
            return FrameMarks::default();
        };
        FrameMarks {
            filter: marks_builder.builder.filter(),
            words: marks_builder.words.as_ref().map(Vocabulary::text),
        }
    }

    /// Starts the next frame with empty search data.
    pub(super) fn clear(&mut self) {
        if let Some(marks_builder) = &mut self.marks_builder {
            marks_builder.builder.clear();
            marks_builder.words.iter_mut().for_each(Vocabulary::clear);
        }
        (self.bytes, self.expects_texts) = (0, false);
    }

    /// Parses the lines whose texts the reader did not pass on.
    fn parse_skipped_lines(&mut self, lines: &[u8]) {
        let Some(Searched { form, with_words }) = self.searched else {
            return;
        };
        let marks_builder = self.marks_builder.get_or_insert_with(|| {
            // Whether words are indexed depends on the store, so an idle builder may have the other setting.
            let mut marks_builder = FREE_BUILDER.take().unwrap_or_default();
            marks_builder.words = with_words.then(Vocabulary::default);
            marks_builder
        });
        if self.bytes < lines.len() {
            each_text(form, &lines[self.bytes..], &mut |text| marks_builder.add(text));
            self.bytes = lines.len();
        }
    }
}

impl Drop for Marking {
    fn drop(&mut self) {
        self.clear();
        if let Some(marks_builder) = self.marks_builder.take() {
            FREE_BUILDER.set(Some(marks_builder));
        }
    }
}
