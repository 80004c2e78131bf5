//! What search and the store share: words and trigrams of texts, the filters made of them, and what is kept beside a frame.
//!
//! It knows no store, no query and no packs.

pub mod filter;
pub mod fold;
pub mod vocabulary;
pub mod words;

/// What is kept beside a frame so that it is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// Empty where the part is not searched.
    pub filter: Vec<u8>,
    /// For a database that has an index of its own.
    pub words: Option<String>,
}

impl Marks {
    /// What they take in memory.
    pub fn size(&self) -> usize {
        self.filter.len() + self.words.as_ref().map_or(0, String::len)
    }
}
