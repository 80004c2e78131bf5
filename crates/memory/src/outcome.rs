//! How a session came out, with the evidence for it. Nobody writes that down, so it is judged by a ladder: the first
//! rung that holds decides, and success needs evidence.
//!
//! Pure: what happened goes in, a judgement comes out. It knows no store and no clock.

use serde::{Deserialize, Serialize};
use transcript::Outcome;

/// An outcome, how sure it is, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    pub outcome: Outcome,
    /// The rung of the ladder that decided.
    pub reason: Reason,
    pub confidence: Confidence,
    pub evidence: Vec<Evidence>,
}

impl Default for Judgement {
    fn default() -> Self {
        Self {
            outcome: Outcome::Unknown,
            reason: Reason::Empty,
            confidence: Confidence::Low,
            evidence: Vec::new(),
        }
    }
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nothing happened that could be judged.
    Empty,
    /// Somebody may still be at work.
    Recent,
    /// The API or the agent's own machinery failed, and nothing came after it.
    ApiError,
    /// Tool calls failed to the end.
    FailedToolCalls,
    /// The last test run failed.
    FailingTests,
    /// The last prompt was not answered.
    UnansweredPrompt,
    /// A human stopped the agent, and nothing was finished after that.
    Interrupted,
    /// The log ends in the middle of the work.
    CutOff,
    /// The last test run passed, after the last edit.
    TestsPassed,
    /// The work was committed, or offered as a pull request.
    Committed,
    /// The agent's own goal was reached.
    GoalReached,
    /// The last turn came to its end, and nothing proves what it is worth.
    Completed,
}

impl Reason {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Recent => "recent",
            Self::ApiError => "api_error",
            Self::FailedToolCalls => "failed_tool_calls",
            Self::FailingTests => "failing_tests",
            Self::UnansweredPrompt => "unanswered_prompt",
            Self::Interrupted => "interrupted",
            Self::CutOff => "cut_off",
            Self::TestsPassed => "tests_passed",
            Self::Committed => "committed",
            Self::GoalReached => "goal_reached",
            Self::Completed => "completed",
        }
    }
}

/// How sure a judgement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A line of the log that a judgement or a signal stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub line: u64,
    pub turn: Option<u32>,
    pub text: String,
}
