//! Errors that come again: the same words three times, and loops of the same command that fails, with how they ended.

use std::collections::HashMap;

use super::{Seen, Signal, SignalKind, times};
use crate::digest::{End, Ran, Step, one_line};
use crate::outcome::Evidence;

/// So often the same error, or the same command failing, is a pattern.
const PATTERN_MIN: u64 = 3;
/// So many errors and commands are told apart.
const APART_MAX: usize = 512;
/// Characters of an error that are compared.
const LIKE_CHARS_MAX: usize = 80;

/// Errors of a session, by what they say and by what failed.
#[derive(Debug, Default)]
pub(super) struct Watched {
    count: u64,
    alike: HashMap<String, (u64, Seen)>,
    loops: HashMap<String, Loop>,
    ended: Vec<(Seen, String, &'static str)>,
}

/// A command that fails.
#[derive(Debug, Default)]
struct Loop {
    failed: Seen,
    edited: bool,
    asked: bool,
}

impl Watched {
    /// How many errors there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn see(&mut self, step: Step<'_>) {
        match step {
            Step::Ran(ran) => self.ran(ran),
            Step::Event(event) if event.trigger => self.loops.values_mut().for_each(|one| one.asked = true),
            Step::Event(_) => {}
        }
    }

    fn ran(&mut self, ran: &Ran) {
        if ran.failed() {
            self.count += 1;
            let key = like(&ran.result);
            if ran.end == End::Failed
                && !key.is_empty()
                && (self.alike.len() < APART_MAX || self.alike.contains_key(&key))
            {
                let (first, seen) = self.alike.entry(key).or_default();
                *first = if seen.count == 0 { ran.seq } else { *first };
                seen.add(Evidence::new(ran.line, ran.turn, &ran.result));
            }
        }
        if !ran.files.is_empty() && !ran.failed() {
            self.loops.values_mut().for_each(|one| one.edited = true);
        }
        let key = ran.what();
        if ran.failed() {
            if self.loops.len() < APART_MAX || self.loops.contains_key(&key) {
                let one = self.loops.entry(key).or_default();
                (one.edited, one.asked) = (false, false);
                one.failed.add(Evidence::of_ran(ran));
            }
        } else if ran.success == Some(true)
            && let Some(one) = self.loops.remove(&key)
            && one.failed.count >= PATTERN_MIN
        {
            let how = match (one.asked, one.edited) {
                (true, _) => "worked after the human said more",
                (false, true) => "worked after an edit",
                (false, false) => "worked when tried another way",
            };
            self.ended.push((one.failed, key, how));
        }
    }

    pub(super) fn end(mut self) -> Vec<Signal> {
        let mut signals = Vec::new();
        let mut alike: Vec<(u64, Seen)> = self
            .alike
            .into_values()
            .filter(|(_, seen)| seen.count >= PATTERN_MIN)
            .collect();
        alike.sort_by_key(|(first, seen)| (std::cmp::Reverse(seen.count), *first));
        let different = alike.len();
        if let Some((_, most)) = alike.into_iter().next() {
            signals.extend(most.told(SignalKind::RepeatedError, |count| {
                let more = match different {
                    1 => String::new(),
                    _ => format!(", and {} more such", different - 1),
                };
                format!("{}{more}", times(count, "the same error came"))
            }));
        }
        let open = self
            .loops
            .into_iter()
            .filter(|(_, one)| one.failed.count >= PATTERN_MIN);
        self.ended
            .extend(open.map(|(key, one)| (one.failed, key, "never worked")));
        self.ended.sort_by_key(|(seen, key, _)| {
            (
                std::cmp::Reverse(seen.count),
                seen.evidence.first().map(|at| at.line),
                key.clone(),
            )
        });
        let count = self.ended.len() as u64;
        if let Some((worst, key, how)) = self.ended.into_iter().next() {
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

/// What an error says, without what differs each time: numbers, times, paths of temporary files.
pub(crate) fn like(text: &str) -> String {
    let mut like = String::new();
    let mut was_digit = false;
    for c in text.chars().take(LIKE_CHARS_MAX) {
        let is_digit = c.is_ascii_digit();
        match (is_digit, was_digit) {
            (true, true) => {}
            (true, false) => like.push('0'),
            (false, _) if c.is_whitespace() => like.push(' '),
            (false, _) => like.extend(c.to_lowercase()),
        }
        was_digit = is_digit;
    }
    like.trim().to_owned()
}
