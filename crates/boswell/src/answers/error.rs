//! The error object that every verb prints with `--json`.

use schemars::JsonSchema;
use serde::Serialize;

/// An error.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorAnswer<'a> {
    pub(crate) error: ErrorRecord<'a>,
}

/// What failed, and what to do about it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorRecord<'a> {
    /// A word that keeps its meaning.
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
    pub(crate) hint: Option<&'a str>,
    /// Whether the same command may succeed later with nothing changed by hand.
    pub(crate) retryable: bool,
}
