//! A session as the reader shows it: items in order, with what is known of each before its text is read. It does not
//! depend on the screen or the store.

use jiff::tz::TimeZone;
use transcript::{Actor, Kind, SessionEvent, Turn};

use crate::render::text::turn_facts;

/// The type of an item, which decides how it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// A message to the agent.
    Prompt,
    Answer,
    /// A tool call, with its result.
    Call,
    Thought,
    /// A message of the harness, an error, or a result without its call.
    Note,
}

impl ItemKind {
    /// Whether the whole text is shown instead of one line.
    pub(crate) fn is_prose(self) -> bool {
        matches!(self, Self::Prompt | Self::Answer)
    }
}

/// One item that the cursor can move to.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    pub(crate) event: SessionEvent,
    pub(crate) result: Option<SessionEvent>,
    /// The heading of the turn that begins here.
    pub(crate) heading: Option<TurnHeading>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnHeading {
    pub(crate) title: String,
    /// The start and the duration of the turn, and its counts.
    pub(crate) facts: String,
}

/// A session, ready to be read. Texts are escaped, except those in events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    pub(crate) session_uid: String,
    pub(crate) title: String,
    /// Agent, project and branch.
    pub(crate) about: String,
    /// The working directory of the session, as the log records it.
    pub(crate) directory: Option<String>,
    /// Why some of the session cannot be shown.
    pub(crate) notice: Option<String>,
    pub(crate) is_subagent: bool,
    pub(crate) items: Vec<Item>,
    pub(crate) turn_count: usize,
}

impl Document {
    /// Builds items from events. A call and its result become one item; lifecycle events become none.
    pub(crate) fn set_events(&mut self, events: Vec<SessionEvent>, turns: &[Turn], zone: &TimeZone) {
        let calls = render::calls_of_results(events.iter());
        let mut item_of = vec![None; events.len()];
        self.turn_count = turns.len();
        let mut turn = None;
        for (at, event) in events.into_iter().enumerate() {
            if let Some(item) = calls[at].and_then(|call| item_of[call]) {
                let item: &mut Item = &mut self.items[item];
                item.result = Some(event);
                continue;
            }
            let Some(kind) = kind_of(&event) else { continue };
            let event = self.with_short_paths(event, kind);
            let heading = (event.turn != turn || self.items.is_empty()).then(|| heading(turns, event.turn, zone));
            turn = event.turn;
            item_of[at] = Some(self.items.len());
            self.items.push(Item {
                kind,
                event,
                result: None,
                heading: heading.flatten(),
            });
        }
    }

    /// Returns a call with its paths relative to the working directory of the session.
    fn with_short_paths(&self, mut event: SessionEvent, kind: ItemKind) -> SessionEvent {
        let directory = self.directory.as_deref().filter(|directory| directory.len() > 1);
        if let Some(directory) = directory.filter(|_| kind == ItemKind::Call) {
            let below = format!("{}/", directory.trim_end_matches('/'));
            if event.summary.contains(&below) {
                event.summary = event.summary.replace(&below, "").into();
            }
        }
        event
    }

    /// Returns the first item of a turn or, without one, the item whose text is on a line of the log.
    pub(crate) fn find_item(&self, turn: Option<u32>, line: Option<u64>) -> Option<usize> {
        let is_on = |event: &SessionEvent| Some(event.text_line.unwrap_or(event.line)) == line;
        let is_it = |item: &Item| is_on(&item.event) || item.result.as_ref().is_some_and(is_on);
        let of_line = line.and_then(|_| self.items.iter().position(is_it));
        of_line.or_else(|| {
            self.items
                .iter()
                .position(|item| turn.is_some() && item.event.turn == turn)
        })
    }

    /// Returns the item at which the turn of an item begins.
    pub(crate) fn turn_start(&self, at: usize) -> usize {
        let before = self.items.iter().take(at + 1);
        before
            .enumerate()
            .rev()
            .find(|(_, item)| item.heading.is_some())
            .map_or(0, |(at, _)| at)
    }

    /// Returns the item at which the next turn begins.
    pub(crate) fn next_turn(&self, at: usize) -> Option<usize> {
        let behind = self.items.iter().enumerate().skip(at + 1);
        behind
            .filter(|(_, item)| item.heading.is_some())
            .map(|(at, _)| at)
            .next()
    }
}

fn heading(turns: &[Turn], turn: Option<u32>, zone: &TimeZone) -> Option<TurnHeading> {
    // A subagent has no turns, so it needs no heading.
    if turns.is_empty() {
        return None;
    }
    let Some(turn) = turn else {
        return Some(TurnHeading {
            title: "Before the first prompt".to_owned(),
            facts: String::new(),
        });
    };
    let known = turns
        .binary_search_by_key(&turn, |known| known.turn)
        .ok()
        .map(|at| &turns[at]);
    let rewound = known.filter(|turn| turn.rewound).map_or("", |_| " (rewound)");
    Some(TurnHeading {
        title: format!("Turn {turn}{rewound}"),
        facts: known.map(|turn| turn_facts(turn, zone).join(" · ")).unwrap_or_default(),
    })
}

/// Returns how an event is shown, or `None` if it is not shown.
fn kind_of(event: &SessionEvent) -> Option<ItemKind> {
    let is = |kind| event.kinds.has(kind);
    let is_human = event.trigger || (event.actor == Actor::Human && is(Kind::UserMsg));
    Some(match event.actor {
        _ if is(Kind::ToolCall) => ItemKind::Call,
        _ if is_human => ItemKind::Prompt,
        _ if is(Kind::AssistantMsg) => ItemKind::Answer,
        _ if is(Kind::Thinking) => ItemKind::Thought,
        Actor::OtherAgent | Actor::Agent if is(Kind::UserMsg) => ItemKind::Prompt,
        _ if matches!(event.kind(), Kind::Lifecycle | Kind::Completion) || event.summary.is_empty() => return None,
        _ => ItemKind::Note,
    })
}
