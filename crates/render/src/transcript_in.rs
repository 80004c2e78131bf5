//! What is rendered: plain structs that any program can fill.

use jiff::tz::TimeZone;
use serde::Serialize;
use transcript::{Image, Lineage, Outcome, Session, SessionEvent, Turn};

/// One session with everything that is shown of it.
#[derive(Debug, Clone)]
pub struct Transcript {
    pub head: Head,
    pub turns: Vec<Turn>,
    /// In the order in which they are shown.
    pub events: Vec<Told>,
    pub subagents: Vec<Subagent>,
}

/// What is told of a session beside its events.
#[derive(Debug, Clone)]
pub struct Head {
    pub session: Session,
    /// What the human calls the session; it goes before the agent's own title.
    pub name: Option<String>,
    pub outcome: Outcome,
    /// Of all API calls, with those of subagents.
    pub money: Option<Money>,
    /// What the session's digest counted. `None` if there is no digest, or if only some turns are shown; then the shown steps are counted.
    pub numbers: Option<SessionNumbers>,
    /// `https://host/owner/name`, where commits can be looked at.
    pub repository_url: Option<String>,
    /// How many places of it are masked.
    pub masked: u64,
    /// What of its log could not be read.
    pub faults: u64,
    /// Times are told in this zone.
    pub zone: TimeZone,
}

/// The counts of a session, so that a page shows the same as every other command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SessionNumbers {
    pub turns: u64,
    pub tool_calls: u64,
    /// Failed tool calls and other errors.
    pub errors: u64,
    pub wall_s: u64,
    pub active_s: u64,
    pub commits: u64,
    /// Edited files, as far as they are listed.
    pub files: u64,
}

/// What a session cost, at dated prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    pub micros: u64,
    /// Whether some of it has no price.
    pub is_partial: bool,
}

/// An event with its whole text.
#[derive(Debug, Clone)]
pub struct Told {
    pub event: SessionEvent,
    /// None where its line is gone: the summary stands for it.
    pub text: Option<String>,
    pub images: Vec<Image>,
}

impl Told {
    /// The whole text, or as much of it as is known.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.event.summary)
    }
}

/// A session that worked for this one.
#[derive(Debug, Clone)]
pub struct Subagent {
    /// How it hangs on its parent.
    pub link: Option<Lineage>,
    pub transcript: Transcript,
}
