//! A user's annotations of a session: tags, a note and a name. They are masked before they are stored, like all text.

use jiff::Timestamp;
use thiserror::Error;

use crate::mask::{MASK_VERSION, Masker};
use crate::store::{AnnotationKind, Annotations, LockWait, Store, StoreError};

/// A tag is a single word.
const TAG_CHARS_MAX: usize = 64;
/// A name must fit into a line of a list.
const NAME_CHARS_MAX: usize = 200;
/// A note is about one page at most.
const NOTE_CHARS_MAX: usize = 20_000;

/// The reasons why a text cannot be stored as an annotation.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AnnotationError {
    #[error("a tag must be a single word: `{0}`")]
    NotAWord(String),
    #[error("a tag can have at most {TAG_CHARS_MAX} characters")]
    LongTag,
    #[error("a tag cannot contain a secret")]
    Secret,
    #[error("a {what} can have at most {max} characters, but this one has {chars}")]
    Long {
        what: &'static str,
        chars: usize,
        max: usize,
    },
}

/// A valid tag, in lower case and without a leading `#`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(String);

impl Tag {
    /// Validates a tag entered by a user.
    pub fn new(word: &str, masker: &Masker) -> Result<Self, AnnotationError> {
        let tag = normalize_tag(word);
        let is_word = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ',' | '#');
        if tag.is_empty() || !tag.chars().all(is_word) {
            return Err(AnnotationError::NotAWord(word.to_owned()));
        }
        if tag.chars().count() > TAG_CHARS_MAX {
            return Err(AnnotationError::LongTag);
        }
        let mut found = Vec::new();
        masker.mask_str(word, &mut found);
        masker.mask_str(&tag, &mut found);
        if found.is_empty() {
            Ok(Self(tag))
        } else {
            Err(AnnotationError::Secret)
        }
    }

    /// Returns the tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the normal form of a tag, by which tags are compared.
pub fn normalize_tag(word: &str) -> String {
    let word = word.trim();
    word.strip_prefix('#').unwrap_or(word).to_lowercase()
}

/// Whether tags are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagChange {
    Add,
    Remove,
}

/// Adds or removes tags. Returns the annotations of the session afterwards.
pub fn change_tags(
    store: &mut Store,
    patience: LockWait<'_>,
    at: Timestamp,
    session_uid: &str,
    tags: &[Tag],
    change: TagChange,
) -> Result<Annotations, StoreError> {
    let lock = store.lock(patience)?;
    store.write(&lock, at, "tag", |tx| {
        for tag in tags {
            match change {
                TagChange::Add => tx.add_tag(session_uid, tag.as_str(), at, MASK_VERSION)?,
                TagChange::Remove => tx.drop_tag(session_uid, tag.as_str())?,
            };
        }
        let words: Vec<&str> = tags.iter().map(Tag::as_str).collect();
        let words = words.join(", ");
        let sentence = match change {
            TagChange::Add => format!("tagged {session_uid}: {words}"),
            TagChange::Remove => format!("removed tags of {session_uid}: {words}"),
        };
        Ok((tx.reads().annotations_of(session_uid)?, sentence))
    })
}

/// The result of [`annotate`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationResult {
    pub annotations: Annotations,
    /// Number of secrets that were masked in the text.
    pub redactions: u64,
}

/// Sets the note or the name of a session. An empty text removes it.
pub fn annotate(
    store: &mut Store,
    patience: LockWait<'_>,
    at: Timestamp,
    session_uid: &str,
    kind: AnnotationKind,
    text: &AnnotationText,
) -> Result<AnnotationResult, StoreError> {
    let lock = store.lock(patience)?;
    store.write(&lock, at, kind.as_str(), |tx| {
        tx.annotate(session_uid, kind, &text.masked, at, MASK_VERSION)?;
        let sentence = match (kind, text.masked.is_empty()) {
            (AnnotationKind::Name, false) => format!("named {session_uid}: {}", text.masked),
            (AnnotationKind::Name, true) => format!("removed the name of {session_uid}"),
            (AnnotationKind::Note, false) => format!("set the note on {session_uid}"),
            (AnnotationKind::Note, true) => format!("removed the note on {session_uid}"),
        };
        let result = AnnotationResult {
            annotations: tx.reads().annotations_of(session_uid)?,
            redactions: text.redactions,
        };
        Ok((result, sentence))
    })
}

/// A masked text that is short enough for its kind of annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationText {
    masked: String,
    redactions: u64,
}

impl AnnotationText {
    /// Masks and validates a text entered by a user.
    pub fn new(kind: AnnotationKind, text: &str, masker: &Masker) -> Result<Self, AnnotationError> {
        let text = match kind {
            // A name is a single line.
            AnnotationKind::Name => text.split_whitespace().collect::<Vec<_>>().join(" "),
            AnnotationKind::Note => text.trim().to_owned(),
        };
        let max = match kind {
            AnnotationKind::Name => NAME_CHARS_MAX,
            AnnotationKind::Note => NOTE_CHARS_MAX,
        };
        let chars = text.chars().count();
        if chars > max {
            let what = kind.as_str();
            return Err(AnnotationError::Long { what, chars, max });
        }
        let mut found = Vec::new();
        let masked = masker.mask_str(&text, &mut found).into_owned();
        Ok(Self {
            masked,
            redactions: found.len() as u64,
        })
    }
}
