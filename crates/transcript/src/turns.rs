//! Turns: one human trigger and everything it caused, up to the line before the next one.

use serde::{Deserialize, Serialize};

use crate::event::{Kind, SessionEvent};
use crate::joins::Tools;
use crate::reading::{Amendment, Delta};
use crate::session::Turn;

/// The turns of a log so far. Only the last one can still change.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turns {
    open: Option<Turn>,
    /// The trigger of each turn, to find the turns that a rewind affects.
    triggers: Vec<u64>,
    /// Set if the next trigger is a rewind: turns that started at this event or later are rewound.
    rewind_from: Option<u64>,
    pub(crate) retries: u32,
    line: u64,
    tail: Option<Tail>,
    /// The turns that are not rewound, in order.
    standing: Vec<u32>,
}

/// Records that prepare the next turn. They belong to the open turn unless another one starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tail {
    /// The open turn without them.
    before: Option<Turn>,
    first_seq: u64,
}

impl Turns {
    /// Marks the next record, whose first event would be `seq`, as preparation of a turn.
    pub(crate) fn set_up(&mut self, seq: u64) {
        if self.tail.is_none() {
            let before = self.open.clone();
            self.tail = Some(Tail { before, first_seq: seq });
        }
    }

    /// Marks the next record as work of the open turn.
    pub(crate) fn go_on(&mut self) {
        self.tail = None;
    }

    /// Rewinds the last `count` turns that are not rewound yet.
    pub(crate) fn roll_back(&mut self, count: u64, delta: &mut Delta) {
        for _ in 0..count.min(self.standing.len() as u64) {
            self.leave_last(delta);
        }
    }

    /// Rewinds the last turn that is not rewound yet.
    fn leave_last(&mut self, delta: &mut Delta) {
        let Some(turn) = self.standing.pop() else { return };
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
    pub(crate) fn rewind_to_the_beginning(&mut self) -> bool {
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
    pub(crate) fn seal(&mut self, first: usize, delta: &mut Delta, tools: &mut Tools) {
        if let Some(at) = delta.events[first..].iter().position(|event| event.trigger) {
            for event in &mut delta.events[first + at + 1..] {
                event.trigger = false;
            }
            self.begin(first + at, delta);
            tools.turn_over();
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
    fn begin(&mut self, at: usize, delta: &mut Delta) {
        let tail = self.tail.take();
        let ended = self.open.take();
        delta.turns.extend(match &tail {
            Some(tail) => tail.before.clone(),
            None => ended,
        });
        if let Some(from) = self.rewind_from.take() {
            let trigger_of = |turn: &u32| self.triggers[*turn as usize - 1];
            let left = self
                .standing
                .iter()
                .rev()
                .take_while(|turn| trigger_of(turn) >= from)
                .count();
            for _ in 0..left {
                self.leave_last(delta);
            }
        }
        let trigger: &SessionEvent = &delta.events[at];
        self.triggers.push(trigger.seq);
        self.standing.push(self.triggers.len() as u32);
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
        if let Some(tail) = tail {
            self.take_over(tail.first_seq, delta.events[at].seq, delta);
        }
    }

    /// Moves the events from `first` up to the trigger to the turn that they prepared.
    fn take_over(&mut self, first: u64, trigger: u64, delta: &mut Delta) {
        let Some(turn) = &mut self.open else { return };
        for seq in first..trigger {
            let turn = turn.turn;
            delta.amend(Amendment::Turned { seq, turn });
        }
    }

    /// Notes that a line was read completely.
    pub(crate) fn line_over(&mut self, line: u64) {
        self.line = line;
        if let Some(turn) = &mut self.open {
            turn.end_line = line;
        }
    }

    /// Adds the open turn to the delta.
    pub(crate) fn show(&self, delta: &mut Delta) {
        delta.turns.extend(self.open.clone());
    }
}
