//! Prices of tokens: dated rows, the row that applies to a call, and exact sums of money. This module does not know
//! where the rows come from. It never guesses a price: a call without a row has none.

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use transcript::Call;

/// Our units per micro-dollar. Multiplying a price per million tokens, in micro-dollars, by tokens yields these units,
/// so sums are exact until they are displayed.
const PER_MICRO: u128 = 1_000_000;
/// Our units per tick, in which agents report costs: 10^-10 dollars.
const PER_TICK: u128 = 100;
const HUNDRED: u128 = 100;

/// An exact amount of money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(u128);

impl Money {
    /// Converts a cost that an agent reported in units of 10^-10 dollars.
    pub fn from_ticks(ticks: u64) -> Self {
        Self(u128::from(ticks) * PER_TICK)
    }

    /// Returns the amount, rounded to the nearest micro-dollar.
    pub fn micros(self) -> u64 {
        u64::try_from((self.0 + PER_MICRO / 2) / PER_MICRO).unwrap_or(u64::MAX)
    }

    pub fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// Prices per million tokens, in micro-dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenRates {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

/// Different prices for requests with a long context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongContextRates {
    /// The other rates apply if input and cache together exceed this.
    pub above_tokens: u64,
    pub rates: TokenRates,
    /// True if the other rates apply to the whole request. Otherwise they apply only to the tokens of each kind above
    /// the limit.
    pub whole_request: bool,
}

/// The prices of one model for a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPrice {
    /// The name of the model without vendor, date and version.
    pub model: String,
    /// The first day in UTC; `None` if there is no earlier price.
    pub from: Option<Date>,
    /// The first day on which the prices no longer apply.
    pub to: Option<Date>,
    pub rates: TokenRates,
    pub long_context: Option<LongContextRates>,
    /// Percentage of the price for calls in fast mode.
    pub fast_percent: u64,
    /// Percentage of the price for calls with flexible timing.
    pub flex_percent: u64,
}

/// All known prices.
#[derive(Debug, Clone, Default)]
pub struct PriceTable(Vec<ModelPrice>);

impl PriceTable {
    /// If several rows apply to a call, the one that was added last is used.
    pub fn new(rows: impl IntoIterator<Item = ModelPrice>) -> Self {
        let mut rows: Vec<ModelPrice> = rows.into_iter().collect();
        rows.reverse();
        Self(rows)
    }

    /// Returns the row that applies to a model at a time. A call without a time gets the current row.
    pub fn find(&self, model: &str, at: Option<Timestamp>) -> Option<&ModelPrice> {
        let model = normalize_model(model);
        let day = at.map(|at| at.to_zoned(TimeZone::UTC).date());
        let applies = |price: &&ModelPrice| {
            let has_begun = price.from.zip(day).is_none_or(|(from, day)| from <= day);
            let has_ended = match (price.to, day) {
                (Some(to), Some(day)) => to <= day,
                (Some(_), None) => true,
                (None, _) => false,
            };
            price.model == model && has_begun && !has_ended
        };
        self.0.iter().find(applies)
    }
}

/// Returns the name of a model without vendor, training date and context size:
/// `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5[1m]` are both `claude-sonnet-4-5`.
pub fn normalize_model(model: &str) -> String {
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

impl ModelPrice {
    /// Returns the cost of a call.
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
            None => kinds
                .iter()
                .for_each(|(count, rate)| sum.add(token_cost(*count, *rate))),
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
                    sum.add(token_cost(count - beyond, rate));
                    sum.add(token_cost(beyond, above));
                }
            }
        }
        let percent = match call.speed.as_deref() {
            Some("fast" | "priority") => self.fast_percent,
            Some("flex") => self.flex_percent,
            _ => 100,
        };
        // Last, because the division may round.
        Money(sum.0.saturating_mul(u128::from(percent)) / HUNDRED)
    }
}

fn token_cost(tokens: u64, rate: u64) -> Money {
    Money(u128::from(tokens) * u128::from(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_many_names() {
        let check = |name: &str| normalize_model(name);
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
