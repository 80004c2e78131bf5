//! Turns: one human trigger and everything it caused, up to the line before the next one.

use serde::{Deserialize, Serialize};

use crate::event::{Kind, SessionEvent};
use crate::joins::CallJoiner;
use crate::reading::{Amendment, Delta};
use crate::session::Turn;

/// The turns of a log so far. Only the last one can still change.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TurnTracker {
    open: Option<Turn>,
    /// The trigger of each turn, to find the turns that a rewind affects.
    triggers: Vec<u64>,
    /// Set if the next trigger is a rewind: turns that started at this event or later are rewound.
    rewind_from: Option<u64>,
    pub(crate) retries: u32,
    line: u64,
    preparation: Option<TurnPreparation>,
    /// The turns that are not rewound, in order.
    kept: Vec<u32>,
}

/// Records that prepare the next turn. They belong to the open turn unless another one starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TurnPreparation {
    /// The open turn without them.
    before: Option<Turn>,
    first_seq: u64,
}

impl TurnTracker {
    /// Marks the next record, whose first event would be `seq`, as preparation of a turn.
    pub(crate) fn prepare_next(&mut self, seq: u64) {
        if self.preparation.is_none() {
            let before = self.open.clone();
            self.preparation = Some(TurnPreparation { before, first_seq: seq });
        }
    }

    /// Marks the next record as work of the open turn.
    pub(crate) fn continue_open(&mut self) {
        self.preparation = None;
    }

    /// Rewinds the last `count` turns that are not rewound yet.
    pub(crate) fn rewind_turns(&mut self, count: u64, delta: &mut Delta) {
        for _ in 0..count.min(self.kept.len() as u64) {
            self.rewind_last(delta);
        }
    }

    /// Rewinds the last turn that is not rewound yet.
    fn rewind_last(&mut self, delta: &mut Delta) {
        let Some(turn) = self.kept.pop() else { return };
        match &mut self.open {
            Some(open) if open.turn == turn => open.rewound = true,
            _ => delta.amend(Amendment::Rewound { turn }),
        }
    }

    /// Returns the number of the open turn.
    pub(crate) fn current(&self) -> Option<u32> {
        self.open.as_ref().map(|turn| turn.turn)
    }

    /// Returns the number of turns.
    pub(crate) fn count(&self) -> u32 {
        self.triggers.len() as u32
    }

    /// Notes that the next trigger rewinds to the start. Returns `false` if there is no turn to rewind.
    pub(crate) fn rewind_to_start(&mut self) -> bool {
        self.rewind_from = self.triggers.first().copied();
        self.rewind_from.is_some()
    }

    /// Notes that the next trigger follows `parent`. Returns `true` if that is before the last trigger.
    pub(crate) fn rewind_to(&mut self, parent: u64) -> bool {
        let goes_back = self.triggers.last().is_some_and(|last| parent < *last);
        self.rewind_from = goes_back.then_some(parent + 1);
        goes_back
    }

    /// Assigns the events of a record to a turn, and starts a new turn at a trigger.
    pub(crate) fn assign_turns(&mut self, first: usize, delta: &mut Delta, tools: &mut CallJoiner) {
        if let Some(at) = delta.events[first..].iter().position(|event| event.trigger) {
            for event in &mut delta.events[first + at + 1..] {
                event.trigger = false;
            }
            self.start_turn(first + at, delta);
            tools.start_turn();
        }
        let Some(turn) = &mut self.open else { return };
        for event in &mut delta.events[first..] {
            event.turn = Some(turn.turn);
            // A change of the session's state is no reaction to the prompt: it may come hours after the work ended.
            if event.kind() == Kind::Lifecycle {
                continue;
            }
            turn.events += 1;
            turn.tool_calls += u32::from(event.kinds.has(Kind::ToolCall));
            turn.errors += u32::from(event.kinds.has(Kind::Error));
            turn.ended_at = turn.ended_at.max(event.ts);
        }
    }

    /// Ends the open turn and starts the one of `delta.events[at]`.
    fn start_turn(&mut self, at: usize, delta: &mut Delta) {
        let preparation = self.preparation.take();
        let ended = self.open.take();
        delta.turns.extend(match &preparation {
            Some(preparation) => preparation.before.clone(),
            None => ended,
        });
        if let Some(from) = self.rewind_from.take() {
            let trigger_of = |turn: &u32| self.triggers[*turn as usize - 1];
            let left = self
                .kept
                .iter()
                .rev()
                .take_while(|turn| trigger_of(turn) >= from)
                .count();
            for _ in 0..left {
                self.rewind_last(delta);
            }
        }
        let trigger: &SessionEvent = &delta.events[at];
        self.triggers.push(trigger.seq);
        self.kept.push(self.triggers.len() as u32);
        self.open = Some(Turn {
            turn: self.triggers.len() as u32,
            trigger_seq: trigger.seq,
            start_line: trigger.line,
            end_line: trigger.line,
            started_at: trigger.ts,
            ended_at: trigger.ts,
            prompt: trigger.summary.clone(),
            events: 0,
            tool_calls: 0,
            errors: 0,
            rewound: false,
        });
        if let Some(preparation) = preparation {
            self.move_events(preparation.first_seq, delta.events[at].seq, delta);
        }
    }

    /// Moves the events from `first` up to the trigger to the turn that they prepared.
    fn move_events(&mut self, first: u64, trigger: u64, delta: &mut Delta) {
        let Some(turn) = &mut self.open else { return };
        for seq in first..trigger {
            let turn = turn.turn;
            delta.amend(Amendment::Turned { seq, turn });
        }
    }

    /// Notes that a line was read completely.
    pub(crate) fn finish_line(&mut self, line: u64) {
        self.line = line;
        if let Some(turn) = &mut self.open {
            turn.end_line = line;
        }
    }

    /// Adds the open turn to the delta.
    pub(crate) fn push_open_turn(&self, delta: &mut Delta) {
        delta.turns.extend(self.open.clone());
    }
}
