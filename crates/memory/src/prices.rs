//! What tokens cost: dated price rows, which one a call falls under, and exact sums of money. Where the rows come
//! from is not known here, and no price is ever guessed: a call without a row has no price.

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use transcript::Call;

/// How many of our smallest units are one micro-dollar. A token's price per million in micro-dollars, times tokens, is
/// money in these units: sums are exact until they are shown.
const PER_MICRO: u128 = 1_000_000;
/// An agent's own unit: 10^-10 dollars.
const PER_TICK: u128 = 100;
const HUNDRED: u128 = 100;

/// Money, exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(u128);

impl Money {
    /// What an agent says in its own unit of 10^-10 dollars.
    pub fn from_ticks(ticks: u64) -> Self {
        Self(u128::from(ticks) * PER_TICK)
    }

    /// Rounded to the nearest micro-dollar.
    pub fn micros(self) -> u64 {
        u64::try_from((self.0 + PER_MICRO / 2) / PER_MICRO).unwrap_or(u64::MAX)
    }

    pub fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// Prices per million tokens, in micro-dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rates {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

/// What a request costs beyond a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongContext {
    /// Input and cache together, above which the other rates hold.
    pub above_tokens: u64,
    pub rates: Rates,
    /// Whether the whole request costs the other rates, or only what each kind has above the length.
    pub whole_request: bool,
}

/// What one model costs for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// The model without vendor, date and version of its delivery.
    pub model: String,
    /// The first day, in UTC; none where it always held.
    pub from: Option<Date>,
    /// The first day on which it no longer holds.
    pub to: Option<Date>,
    pub rates: Rates,
    pub long_context: Option<LongContext>,
    /// Of a fast call, in percent.
    pub fast_percent: u64,
    /// Of a call that may wait, in percent.
    pub flex_percent: u64,
}

/// All prices known.
#[derive(Debug, Clone, Default)]
pub struct Prices(Vec<Price>);

impl Prices {
    /// Rows given later stand before those given earlier.
    pub fn new(rows: impl IntoIterator<Item = Price>) -> Self {
        let mut rows: Vec<Price> = rows.into_iter().collect();
        rows.reverse();
        Self(rows)
    }

    /// The row that a model fell under at a time. A call that tells no time falls under the newest row.
    pub fn of(&self, model: &str, at: Option<Timestamp>) -> Option<&Price> {
        let model = plain_name(model);
        let day = at.map(|at| at.to_zoned(TimeZone::UTC).date());
        let holds = |price: &&Price| {
            let begun = price.from.zip(day).is_none_or(|(from, day)| from <= day);
            let ended = match (price.to, day) {
                (Some(to), Some(day)) => to <= day,
                (Some(_), None) => true,
                (None, _) => false,
            };
            price.model == model && begun && !ended
        };
        self.0.iter().find(holds)
    }
}

/// A model's name without who delivers it, when it was trained and how much it can read:
/// `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5[1m]` are `claude-sonnet-4-5`.
pub fn plain_name(model: &str) -> String {
    let mut name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    if let Some(at) = name.find("claude-").or_else(|| name.find("gpt-")) {
        name.drain(..at);
    }
    for end in ["[1m]", "[200k]", "-latest", ":latest"] {
        if let Some(cut) = name.strip_suffix(end) {
            name.truncate(cut.len());
        }
    }
    if let Some((before, version)) = name.rsplit_once("-v") {
        let is_version = version.chars().all(|c| c.is_ascii_digit() || c == ':') && version.contains(':');
        if is_version {
            name.truncate(before.len());
        }
    }
    let is_date = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((before, _)) = name.rsplit_once(['-', '@']).filter(|(_, date)| is_date(date)) {
        name.truncate(before.len());
    }
    // `gpt-5-2025-08-07`
    if let Some(at) = name.len().checked_sub(11).filter(|at| name.is_char_boundary(*at)) {
        let end = &name[at..];
        if end.starts_with('-') && end[1..].parse::<Date>().is_ok() {
            name.truncate(at);
        }
    }
    name
}

impl Price {
    /// What a call costs.
    pub fn cost(&self, call: &Call) -> Money {
        let tokens = &call.tokens;
        let kinds = [
            (tokens.input, self.rates.input),
            (tokens.output, self.rates.output),
            (tokens.cache_read, self.rates.cache_read),
            (tokens.cache_write_5m, self.rates.cache_write_5m),
            (tokens.cache_write_1h, self.rates.cache_write_1h),
        ];
        let mut sum = Money::default();
        match self.long_context {
            None => kinds.iter().for_each(|(count, rate)| sum.add(money(*count, *rate))),
            Some(long) => {
                let above = [
                    long.rates.input,
                    long.rates.output,
                    long.rates.cache_read,
                    long.rates.cache_write_5m,
                    long.rates.cache_write_1h,
                ];
                let context = tokens.input.saturating_add(tokens.cache());
                let is_long = context > long.above_tokens;
                for ((count, rate), above) in kinds.into_iter().zip(above) {
                    let beyond = match long.whole_request {
                        true if is_long => count,
                        true => 0,
                        false => count.saturating_sub(long.above_tokens),
                    };
                    sum.add(money(count - beyond, rate));
                    sum.add(money(beyond, above));
                }
            }
        }
        let percent = match call.speed.as_deref() {
            Some("fast" | "priority") => self.fast_percent,
            Some("flex") => self.flex_percent,
            _ => 100,
        };
        Money(sum.0.saturating_mul(u128::from(percent)) / HUNDRED)
    }
}

fn money(tokens: u64, rate: u64) -> Money {
    Money(u128::from(tokens) * u128::from(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_many_names() {
        let check = |name: &str| plain_name(name);
        for name in [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5@20250929",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic/claude-sonnet-4-5",
            "claude-sonnet-4-5[1m]",
        ] {
            assert_eq!(check(name), "claude-sonnet-4-5", "{name}");
        }
        assert_eq!(check("gpt-5-2025-08-07"), "gpt-5");
        assert_eq!(check("openai/gpt-5.1-codex"), "gpt-5.1-codex");
        assert_eq!(check("gpt-5.1-codex-max"), "gpt-5.1-codex-max");
        assert_eq!(check("grok-4.5"), "grok-4.5");
        assert_eq!(check(""), "");
        assert_eq!(check("modell-für-alle"), "modell-für-alle");
    }
}
