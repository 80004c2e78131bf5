//! Decisions: choices that a user or an agent recorded, with or without a session. They are masked before they are
//! stored, like all text.

use jiff::Timestamp;
use thiserror::Error;

use crate::mask::{MASK_VERSION, Masker};
use crate::store::{Decision, LockWait, Store, StoreError};

/// A decision is a paragraph, not a document.
const CHARS_MAX: usize = 4_000;

/// The reasons why a text cannot be stored as a decision.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecisionError {
    #[error("a decision cannot be empty")]
    Empty,
    #[error("a decision can have at most {CHARS_MAX} characters, but this one has {0}")]
    Long(usize),
}

/// The masked text of a decision, ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionText {
    masked: String,
    /// Number of secrets that were masked.
    pub redactions: u64,
}

impl DecisionText {
    /// Masks and validates a text entered by a user. Returns an error if it is empty or too long.
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

/// Stores a decision.
pub fn record_decision(
    store: &mut Store,
    patience: LockWait<'_>,
    at: Timestamp,
    session_uid: Option<&str>,
    text: &DecisionText,
) -> Result<Decision, StoreError> {
    let lock = store.lock(patience)?;
    store.write(&lock, at, "decide", |tx| {
        let decision = tx.add_decision(session_uid, &text.masked, at, MASK_VERSION)?;
        let sentence = match session_uid {
            Some(uid) => format!("recorded a decision of {uid}"),
            None => "recorded a decision".to_owned(),
        };
        Ok((decision, sentence))
    })
}
