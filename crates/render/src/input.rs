//! The input of every renderer: plain structs that any program can fill.

use jiff::tz::TimeZone;
use serde::Serialize;
use transcript::{Image, Lineage, Outcome, Session, SessionEvent, Turn};

/// One session with everything that is rendered of it.
#[derive(Debug, Clone)]
pub struct Transcript {
    pub head: TranscriptHead,
    pub turns: Vec<Turn>,
    /// In display order.
    pub events: Vec<TranscriptEntry>,
    pub subagents: Vec<Subagent>,
}

/// The facts about a session besides its events.
#[derive(Debug, Clone)]
pub struct TranscriptHead {
    pub session: Session,
    /// The user's name for the session. It takes precedence over the agent's title.
    pub name: Option<String>,
    pub outcome: Outcome,
    /// The cost of all API calls, including those of subagents.
    pub money: Option<SessionCost>,
    /// The counts of the session's digest. `None` if there is no digest or only some turns are rendered; then the rendered steps are
    /// counted.
    pub numbers: Option<SessionNumbers>,
    /// `https://host/owner/name`, to which commits are linked.
    pub repository_url: Option<String>,
    /// Number of masked secrets.
    pub masked: u64,
    /// Number of places in the log that could not be parsed.
    pub faults: u64,
    /// The time zone of all displayed times.
    pub zone: TimeZone,
}

/// The counts of a session. They are passed in so that a page shows the same numbers as every other command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SessionNumbers {
    pub turns: u64,
    pub tool_calls: u64,
    /// Failed tool calls and other errors.
    pub errors: u64,
    pub wall_s: u64,
    pub active_s: u64,
    pub commits: u64,
    /// Number of edited files that the digest lists.
    pub files: u64,
}

/// The cost of a session at the prices of its date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCost {
    pub micros: u64,
    /// True if some of its calls have no known price.
    pub is_partial: bool,
}

/// An event with its full text and images.
#[derive(Debug, Clone)]
pub struct TranscriptEntry {
    pub event: SessionEvent,
    /// `None` if the text is no longer available. The summary is shown instead.
    pub text: Option<String>,
    pub images: Vec<Image>,
}

impl TranscriptEntry {
    /// Returns the full text, or the summary if the text is not available.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.event.summary)
    }
}

/// The session of a subagent.
#[derive(Debug, Clone)]
pub struct Subagent {
    /// The link to its parent, if known.
    pub link: Option<Lineage>,
    pub transcript: Transcript,
}
