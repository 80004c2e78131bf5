//! Budget overrun: a session that took far more than others do. Asked when signals are, for it depends on all others.

use super::{Signal, SignalKind};
use crate::digest::Digest;

/// With fewer sessions nobody can say what is usual.
const SESSIONS_MIN: usize = 10;
/// The share of sessions that take less.
const PERCENTILE: usize = 90;

/// What nine of ten sessions stay below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usual {
    pub tokens: u64,
    pub active_s: u64,
    pub tool_calls: u64,
}

/// What is usual among digests; none where there are too few. Subagents are compared with each other only.
pub fn usual<'d>(digests: impl Iterator<Item = &'d Digest>, are_subagents: bool) -> Option<Usual> {
    let digests: Vec<&Digest> = digests.filter(|digest| digest.is_subagent == are_subagents).collect();
    if digests.len() < SESSIONS_MIN {
        return None;
    }
    let percentile = |of: fn(&Digest) -> u64| {
        let mut values: Vec<u64> = digests.iter().map(|digest| of(digest)).collect();
        values.sort_unstable();
        // The smallest value that so many of a hundred do not exceed.
        let rank = (values.len() * PERCENTILE).div_ceil(100).max(1);
        values[rank - 1]
    };
    Some(Usual {
        tokens: percentile(|digest| digest.tokens.total.total()),
        active_s: percentile(|digest| digest.time.active_s),
        tool_calls: percentile(|digest| digest.tool_calls),
    })
}

/// A number that a person reads: its thousands are marked.
fn marked(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The signal of a session that takes more than is usual.
pub fn overrun(digest: &Digest, usual: &Usual) -> Option<Signal> {
    let over = |took: u64, usual: u64, what: &str| {
        (took > usual).then(|| format!("{} {what} against {}", marked(took), marked(usual)))
    };
    let told: Vec<String> = [
        over(digest.tokens.total.total(), usual.tokens, "tokens"),
        over(digest.time.active_s, usual.active_s, "active seconds"),
        over(digest.tool_calls, usual.tool_calls, "tool calls"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!told.is_empty()).then(|| Signal {
        signal: SignalKind::BudgetOverrun,
        count: told.len() as u64,
        text: format!("more than nine of ten sessions: {}", told.join(", ")),
        evidence: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_marked() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(marked),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
