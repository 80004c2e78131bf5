//! Tool and API calls before the first prompt of a log that begins in the middle of a turn. They belong to no turn, so
//! no sentence cites them. The digest of the session counts them, so the totals of the day must include them as well.

use jiff::Timestamp;
use transcript::{Call, PartKind};

use super::facts::TurnFacts;
use crate::logs::LogReading;
use crate::steps::{CallStep, Step, StepJoiner};

/// The calls of a log before its first prompt that were made on the day.
#[derive(Debug, Default)]
pub(super) struct LeadIn {
    pub(super) ran: Vec<CallStep>,
    pub(super) calls: Vec<Call>,
}

/// Returns the calls before the first prompt, or nothing if the first of `turns` is not the first turn of the log.
pub(super) fn read_lead_in(log: &LogReading, window: Option<(Timestamp, Timestamp)>, turns: &[TurnFacts]) -> LeadIn {
    let mut lead_in = LeadIn::default();
    let Some(first_line) = turns.first().map(|turn| turn.first_line) else {
        return lead_in;
    };
    if log.reading.turns.iter().any(|turn| turn.start_line < first_line) {
        return lead_in;
    }
    let inherited = log.reading.session.as_ref().and_then(|session| session.inherited);
    let is_own = |line: u64| line < first_line && !inherited.is_some_and(|copied| copied.covers(line));
    let is_on_day = |ts: Option<Timestamp>| window.zip(ts).is_none_or(|((start, end), ts)| start <= ts && ts < end);
    let main = log.parts.first().map_or(PartKind::Log, |part| part.kind);
    let mut steps = StepJoiner::default();
    let mut keep = |step: Step<'_>| {
        if let Step::Call(ran) = step
            && !ran.is_sidechain
        {
            lead_in.ran.push(ran.clone());
        }
    };
    for event in &log.reading.events {
        if event.part == main && is_own(event.line) && is_on_day(event.ts) {
            steps.take(event, &mut keep);
        }
    }
    steps.end(&mut keep);
    let calls = log.reading.calls.iter();
    lead_in.calls = calls
        .filter(|call| is_own(call.line) && is_on_day(call.ts))
        .cloned()
        .collect();
    lead_in
}
