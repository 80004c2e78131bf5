//! Budget overruns: sessions that used far more than others. They are computed when signals are queried, because they
//! depend on all sessions.

use crate::digest_fields::Digest;
use crate::plural::format_thousands;
use crate::signals::{Signal, SignalKind};

/// With fewer sessions, a percentile means nothing.
const SESSIONS_MIN: usize = 10;
/// A session above this percentile is an overrun.
const PERCENTILE: usize = 90;

/// The values that nine of ten sessions do not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualValues {
    pub tokens: u64,
    pub active_s: u64,
    pub tool_calls: u64,
}

/// Returns the usual values of some digests, or `None` if there are too few. Subagents are compared only with each
/// other.
pub fn compute_usual<'d>(digests: impl Iterator<Item = &'d Digest>, are_subagents: bool) -> Option<UsualValues> {
    let digests: Vec<&Digest> = digests.filter(|digest| digest.is_subagent == are_subagents).collect();
    if digests.len() < SESSIONS_MIN {
        return None;
    }
    let percentile = |of: fn(&Digest) -> u64| {
        let mut values: Vec<u64> = digests.iter().map(|digest| of(digest)).collect();
        values.sort_unstable();
        // Nearest-rank percentile: the smallest value that is at least as large as this share of all values.
        let rank = (values.len() * PERCENTILE).div_ceil(100).max(1);
        values[rank - 1]
    };
    Some(UsualValues {
        tokens: percentile(|digest| digest.tokens.total.total()),
        active_s: percentile(|digest| digest.time.active_s),
        tool_calls: percentile(|digest| digest.tool_calls),
    })
}

/// Formats seconds with the two largest units that people read, such as `8h 2m`.
fn format_duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// Returns the signal of a session that used more than usual, or `None`.
pub fn find_overrun(digest: &Digest, usual: &UsualValues) -> Option<Signal> {
    let over = |took: u64, usual: u64, what: &str, format: fn(u64) -> String| {
        (took > usual).then(|| format!("{what} {} (p{PERCENTILE} {})", format(took), format(usual)))
    };
    let parts: Vec<String> = [
        over(digest.tokens.total.total(), usual.tokens, "tokens", format_thousands),
        over(digest.time.active_s, usual.active_s, "active time", format_duration),
        over(digest.tool_calls, usual.tool_calls, "tool calls", format_thousands),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| Signal {
        signal: SignalKind::BudgetOverrun,
        count: parts.len() as u64,
        text: format!("above the {PERCENTILE}th percentile: {}", parts.join(", ")),
        evidence: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(format_thousands),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn durations_have_at_most_two_units() {
        assert_eq!([59, 125, 28_930].map(format_duration), ["59s", "2m 5s", "8h 2m"]);
    }
}
