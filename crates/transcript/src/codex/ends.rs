//! Ends of tool calls that are separate from their output: events that report the exit code before the output, and
//! commands that continue in the background after it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::event::Kinds;
use crate::ids::{from_entries, hash, in_order};
use crate::joins::OpenCall;
use crate::reading::{Amendment, Delta};

/// Maximum number of background commands that are remembered.
const BACKGROUND_MAX: usize = 64;

/// What an event says about the end of a call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallEnd {
    pub(super) success: Option<bool>,
    pub(super) exit_code: Option<i32>,
    pub(super) duration_ms: Option<u64>,
    /// A human refused the call.
    pub(super) declined: bool,
}

/// A command that continues after the output of its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BackgroundCommand {
    number: u64,
    call: u64,
    open: OpenCall,
}

/// Known calls, and ends that wait for an output.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallEnds {
    calls: BTreeSet<u64>,
    #[serde(serialize_with = "in_order", deserialize_with = "from_entries")]
    reported: FxHashMap<u64, CallEnd>,
    background: Vec<BackgroundCommand>,
    /// Calls that poll a background command, with its number.
    polls: Vec<(u64, u64)>,
}

impl CallEnds {
    /// Adds a call.
    pub(super) fn add_call(&mut self, id: &str) {
        self.calls.insert(hash(id));
    }

    /// Returns `true` if the call `id` is in the log. Calls made by a program are not: only their ends are.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.contains(&hash(id))
    }

    /// Stores the end of a call whose output has not been read yet.
    pub(super) fn store_end(&mut self, id: &str, end: CallEnd) {
        self.reported.insert(hash(id), end);
    }

    /// Removes and returns what was stored for the call whose output is read now.
    pub(super) fn take_end(&mut self, id: &str) -> CallEnd {
        self.reported.remove(&hash(id)).unwrap_or_default()
    }

    /// Adds a background command under its number.
    pub(super) fn add_background(&mut self, number: u64, id: &str, open: OpenCall) {
        let call = hash(id);
        self.background.retain(|known| known.number != number);
        self.background.push(BackgroundCommand { number, call, open });
        if self.background.len() > BACKGROUND_MAX {
            self.background.remove(0);
        }
    }

    /// Adds a call that polls the command `number`.
    pub(super) fn add_poll(&mut self, id: &str, number: u64) {
        self.polls.push((hash(id), number));
        if self.polls.len() > BACKGROUND_MAX {
            self.polls.remove(0);
        }
    }

    /// Returns the number that the call `id` polled.
    pub(super) fn take_poll(&mut self, id: &str) -> Option<u64> {
        let call = hash(id);
        let at = self.polls.iter().position(|(known, _)| *known == call)?;
        Some(self.polls.remove(at).1)
    }

    /// Ends a background command, as reported by the output of another call. Returns the call that started it.
    pub(super) fn finish_background(
        &mut self,
        number: u64,
        end: CallEnd,
        ts: Option<Timestamp>,
        delta: &mut Delta,
    ) -> Option<OpenCall> {
        let at = self.background.iter().position(|known| known.number == number)?;
        Some(amend_finished(self.background.remove(at).open, end, ts, delta))
    }

    /// Like [`Self::over`], but reported by an event of the call itself.
    pub(super) fn finish_background_of(
        &mut self,
        id: &str,
        end: CallEnd,
        ts: Option<Timestamp>,
        delta: &mut Delta,
    ) -> Option<OpenCall> {
        let call = hash(id);
        let at = self.background.iter().position(|known| known.call == call)?;
        Some(amend_finished(self.background.remove(at).open, end, ts, delta))
    }
}

fn amend_finished(command: OpenCall, end: CallEnd, ts: Option<Timestamp>, delta: &mut Delta) -> OpenCall {
    let elapsed_ms = command
        .ts
        .zip(ts)
        .and_then(|(from, to)| u64::try_from(to.as_millisecond() - from.as_millisecond()).ok());
    delta.amend(Amendment::Joined {
        seq: command.seq,
        success: end.success,
        exit_code: end.exit_code,
        duration_ms: elapsed_ms.or(end.duration_ms),
        kinds: Kinds::default(),
    });
    command
}
