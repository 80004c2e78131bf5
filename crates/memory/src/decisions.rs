//! Decisions: choices that somebody wrote down, with or without a session. Masked before they are kept, like all text.

use jiff::Timestamp;
use thiserror::Error;

use crate::mask::{MASK_VERSION, Masker};
use crate::store::{Decision, Patience, Store, StoreError};

/// A decision is a paragraph, and no document.
const CHARS_MAX: usize = 4_000;

/// Why words cannot be kept as they are.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecisionError {
    #[error("a decision has words")]
    Empty,
    #[error("a decision has at most {CHARS_MAX} characters, and this one has {0}")]
    Long(usize),
}

/// The text of a decision that may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionText {
    masked: String,
    /// Secrets that were masked in it.
    pub redactions: u64,
}

impl DecisionText {
    /// Takes a text as people write it.
    pub fn new(text: &str, masker: &Masker) -> Result<Self, DecisionError> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars == 0 {
            return Err(DecisionError::Empty);
        }
        if chars > CHARS_MAX {
            return Err(DecisionError::Long(chars));
        }
        let mut found = Vec::new();
        let masked = masker.mask_str(text, &mut found).into_owned();
        Ok(Self {
            masked,
            redactions: found.len() as u64,
        })
    }
}

/// Writes a decision down.
pub fn decide(
    store: &mut Store,
    patience: Patience<'_>,
    at: Timestamp,
    session_uid: Option<&str>,
    text: &DecisionText,
) -> Result<Decision, StoreError> {
    let lock = store.lock(patience)?;
    store.write(&lock, at, "decide", |tx| {
        let decision = tx.add_decision(session_uid, &text.masked, at, MASK_VERSION)?;
        let sentence = match session_uid {
            Some(uid) => format!("wrote down a decision of {uid}"),
            None => "wrote down a decision".to_owned(),
        };
        Ok((decision, sentence))
    })
}
