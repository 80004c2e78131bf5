//! How much of each turn is shown: the values of every `--depth`.

use clap::ValueEnum;
use transcript::{Actor, Kind, SessionEvent};

/// How much of each turn is shown.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only your prompts
    Prompts,
    /// Also whole answers, and each tool call in one line
    Turns,
    /// Also tool output and thinking, in one line each
    Tools,
    /// Everything, with whole texts
    Full,
}

impl Depth {
    /// Returns whether an event is shown.
    pub(crate) fn takes(self, event: &SessionEvent) -> bool {
        let is = |kind| event.kinds.has(kind);
        match self {
            Self::Prompts => event.trigger,
            Self::Turns if is(Kind::ToolResult) => event.trigger || is(Kind::HumanIntervention),
            Self::Turns => {
                let is_said = is(Kind::UserMsg) || is(Kind::AssistantMsg);
                event.trigger || is_said || is(Kind::ToolCall) || is(Kind::HumanIntervention) || is(Kind::Error)
            }
            Self::Tools => event.trigger || event.kind() != Kind::Lifecycle,
            Self::Full => true,
        }
    }

    /// Returns whether the whole text of an event is shown instead of one line.
    pub(crate) fn is_whole(self, event: &SessionEvent) -> bool {
        self == Self::Full || is_message(event)
    }
}

/// Returns whether an event is a prompt or an answer. Messages of the harness are neither.
pub(crate) fn is_message(event: &SessionEvent) -> bool {
    let is = |kind| event.kinds.has(kind);
    if is(Kind::ToolCall) || is(Kind::ToolResult) {
        return event.trigger;
    }
    let is_addressed = is(Kind::UserMsg) && !matches!(event.actor, Actor::Harness | Actor::Tool);
    event.trigger || is(Kind::AssistantMsg) || is_addressed
}
