//! Repeated errors: the same text at least three times, and commands that keep failing, with how that ended.

use std::collections::HashMap;

use super::{Occurrences, Signal, SignalKind, count_times};
use crate::excerpt::one_line;
use crate::outcome::Evidence;
use crate::steps::{CallStatus, CallStep, Step};

/// Minimum number of occurrences of an error, or failures of a command.
const PATTERN_MIN: u64 = 3;
/// Maximum number of different errors and commands that are tracked.
const TRACKED_MAX: usize = 512;
/// Number of characters of an error that are compared.
const COMPARED_CHARS_MAX: usize = 80;

/// The errors of a session, by text and by command.
#[derive(Debug, Default)]
pub(super) struct ErrorSignals {
    count: u64,
    by_text: HashMap<String, (u64, Occurrences)>,
    loops: HashMap<String, FailingCommand>,
    finished_loops: Vec<(Occurrences, String, &'static str)>,
}

/// A command that keeps failing.
#[derive(Debug, Default)]
struct FailingCommand {
    failed: Occurrences,
    edited: bool,
    asked: bool,
}

impl ErrorSignals {
    /// Returns the number of errors.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn add_step(&mut self, step: Step<'_>) {
        match step {
            Step::Call(call) => self.add_call(call),
            Step::Event(event) if event.trigger => self.loops.values_mut().for_each(|one| one.asked = true),
            Step::Event(_) => {}
        }
    }

    fn add_call(&mut self, call: &CallStep) {
        if call.has_failed() {
            self.count += 1;
            let key = normalize_error(&call.result);
            if call.end == CallStatus::Failed
                && !key.is_empty()
                && (self.by_text.len() < TRACKED_MAX || self.by_text.contains_key(&key))
            {
                let (first, seen) = self.by_text.entry(key).or_default();
                *first = if seen.count == 0 { call.seq } else { *first };
                seen.add(Evidence::new(call.line, call.turn, &call.result));
            }
        }
        if !call.files.is_empty() && !call.has_failed() {
            self.loops.values_mut().for_each(|one| one.edited = true);
        }
        let key = call.describe_attempt();
        if call.has_failed() {
            if self.loops.len() < TRACKED_MAX || self.loops.contains_key(&key) {
                let one = self.loops.entry(key).or_default();
                (one.edited, one.asked) = (false, false);
                one.failed.add(Evidence::from_call(call));
            }
        } else if call.success == Some(true)
            && let Some(one) = self.loops.remove(&key)
            && one.failed.count >= PATTERN_MIN
        {
            let how = match (one.asked, one.edited) {
                (true, _) => "worked after another prompt by the user",
                (false, true) => "worked after an edit",
                (false, false) => "worked with another approach",
            };
            self.finished_loops.push((one.failed, key, how));
        }
    }

    pub(super) fn finish(mut self) -> Vec<Signal> {
        let mut signals = Vec::new();
        let mut by_text: Vec<(u64, Occurrences)> = self
            .by_text
            .into_values()
            .filter(|(_, seen)| seen.count >= PATTERN_MIN)
            .collect();
        by_text.sort_by_key(|(first, seen)| (std::cmp::Reverse(seen.count), *first));
        let different = by_text.len();
        if let Some((_, most)) = by_text.into_iter().next() {
            signals.extend(most.into_signal(SignalKind::RepeatedError, |count| {
                let more = match different {
                    1 => String::new(),
                    _ => format!(", and {} more repeated errors", different - 1),
                };
                format!("{}{more}", count_times(count, "the same error occurred"))
            }));
        }
        let open = self
            .loops
            .into_iter()
            .filter(|(_, one)| one.failed.count >= PATTERN_MIN);
        self.finished_loops
            .extend(open.map(|(key, one)| (one.failed, key, "never worked")));
        self.finished_loops.sort_by_key(|(seen, key, _)| {
            (
                std::cmp::Reverse(seen.count),
                seen.evidence.first().map(|at| at.line),
                key.clone(),
            )
        });
        let count = self.finished_loops.len() as u64;
        if let Some((worst, key, how)) = self.finished_loops.into_iter().next() {
            let text = format!("`{}` failed {} times and {how}", one_line(&key, 40), worst.count);
            signals.push(Signal {
                signal: SignalKind::ErrorLoop,
                count,
                text,
                evidence: worst.evidence,
            });
        }
        signals
    }
}

/// Normalizes an error for comparison: lower case, and without what differs in each run, such as numbers and times.
pub(crate) fn normalize_error(text: &str) -> String {
    let mut normalized = String::new();
    let mut was_digit = false;
    for c in text.chars().take(COMPARED_CHARS_MAX) {
        let is_digit = c.is_ascii_digit();
        match (is_digit, was_digit) {
            (true, true) => {}
            (true, false) => normalized.push('0'),
            (false, _) if c.is_whitespace() => normalized.push(' '),
            (false, _) => normalized.extend(c.to_lowercase()),
        }
        was_digit = is_digit;
    }
    normalized.trim().to_owned()
}
