//! Signals: patterns worth knowing in a session, each found by a pure function and told with its evidence.

use serde::{Deserialize, Serialize};

use crate::outcome::Evidence;

/// Which pattern was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    RetryStorm,
    RepeatedError,
    ErrorLoop,
    EditRevertChurn,
    FailingTestsLeft,
    HumanCorrection,
    Interruption,
    Denial,
    ContextCompaction,
    Abandoned,
    CleanPass,
    Recovery,
    LongIdle,
    SecretSeen,
    /// Found when asked, against all other sessions.
    BudgetOverrun,
}

/// A pattern that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub signal: SignalKind,
    /// How often.
    pub count: u64,
    /// What it is, in one line.
    pub text: String,
    /// The first lines it stands on.
    pub evidence: Vec<Evidence>,
}
