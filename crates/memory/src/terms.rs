//! Words and trigrams of texts, the filters built from them, and the marks of a frame. Search and the store share
//! them.
//!
//! Knows no store, no query and no packs.

pub mod filter;
pub mod fold;
pub mod vocabulary;
pub mod words;

/// What is stored for each frame so that search can find it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameMarks {
    /// Empty if the part is not searched.
    pub filter: Vec<u8>,
    /// Set if the database has its own index.
    pub words: Option<String>,
}

impl FrameMarks {
    /// Returns the size in memory.
    pub fn size(&self) -> usize {
        self.filter.len() + self.words.as_ref().map_or(0, String::len)
    }
}
