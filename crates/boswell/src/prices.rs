//! The price list: the user's own `prices.toml` first, then the compiled-in rows.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use memory::prices::{LongContextRates, ModelPrice, PriceTable, TokenRates};
use serde::Deserialize;

use crate::context::Context;
use crate::error::CommandError;

pub(crate) const EMBEDDED: &str = include_str!("prices.toml");
const FILE: &str = "prices.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    price: Vec<PriceRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    models: Vec<String>,
    from: Option<toml::value::Datetime>,
    to: Option<toml::value::Datetime>,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write_5m: Option<f64>,
    cache_write_1h: Option<f64>,
    fast: Option<f64>,
    flex: Option<f64>,
    long: Option<LongRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRow {
    above: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write_5m: Option<f64>,
    cache_write_1h: Option<f64>,
    #[serde(default)]
    marginal: bool,
}

/// Returns the path of the user's own rows, next to the configuration.
pub(crate) fn user_file(context: &Context) -> PathBuf {
    context.places.user_config.path.with_file_name(FILE)
}

/// Returns all rows that apply for this user.
pub(crate) fn load(user_file: Option<&Path>) -> Result<PriceTable, CommandError> {
    let mut rows = rows(EMBEDDED).map_err(CommandError::internal)?;
    let Some(path) = user_file else {
        return Ok(PriceTable::new(rows));
    };
    match fs::read_to_string(path) {
        Ok(text) => {
            let own = rows_of_user(&text, path)?;
            rows.extend(own);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(CommandError::usage(format!("cannot read {}: {error}", path.display()))),
    }
    Ok(PriceTable::new(rows))
}

fn rows_of_user(text: &str, path: &Path) -> Result<Vec<ModelPrice>, CommandError> {
    let hint = "see the rows that are built in: `boswell usage --prices`";
    rows(text).map_err(|reason| CommandError::usage(format!("{}: {reason}", path.display())).with_hint(hint))
}

fn rows(text: &str) -> Result<Vec<ModelPrice>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let mut prices = Vec::new();
    for row in file.price {
        let price = price(&row)?;
        prices.extend(row.models.iter().map(|model| ModelPrice {
            model: memory::prices::normalize_model(model),
            ..price.clone()
        }));
    }
    Ok(prices)
}

fn price(row: &PriceRow) -> Result<ModelPrice, String> {
    let read = row.cache_read.unwrap_or(row.input * 0.1);
    let write_5m = row.cache_write_5m.unwrap_or(row.input * 1.25);
    let write_1h = row.cache_write_1h.unwrap_or(row.input * 2.0);
    let rates = rates(row.input, row.output, [read, write_5m, write_1h])?;
    let long = |long: &LongRow| -> Result<LongContextRates, String> {
        let growth = long.input / row.input;
        let cache = [
            long.cache_read.unwrap_or(read * growth),
            long.cache_write_5m.unwrap_or(write_5m * growth),
            long.cache_write_1h.unwrap_or(write_1h * growth),
        ];
        Ok(LongContextRates {
            above_tokens: long.above,
            rates: self::rates(long.input, long.output, cache)?,
            whole_request: !long.marginal,
        })
    };
    Ok(ModelPrice {
        model: String::new(),
        from: row.from.as_ref().map(date).transpose()?,
        to: row.to.as_ref().map(date).transpose()?,
        rates,
        long_context: row.long.as_ref().map(long).transpose()?,
        fast_percent: hundredths(row.fast.unwrap_or(1.0))?,
        flex_percent: hundredths(row.flex.unwrap_or(0.5))?,
    })
}

fn rates(input: f64, output: f64, cache: [f64; 3]) -> Result<TokenRates, String> {
    let [read, write_5m, write_1h] = cache;
    Ok(TokenRates {
        input: micros(input)?,
        output: micros(output)?,
        cache_read: micros(read)?,
        cache_write_5m: micros(write_5m)?,
        cache_write_1h: micros(write_1h)?,
    })
}

/// Parses dollars into whole micro-dollars.
fn micros(dollars: f64) -> Result<u64, String> {
    whole(dollars * 1e6)
}

fn hundredths(times: f64) -> Result<u64, String> {
    whole(times * 100.0)
}

fn whole(number: f64) -> Result<u64, String> {
    if number.is_finite() && (0.0..1e15).contains(&number) {
        Ok(number.round() as u64)
    } else {
        Err(format!("{number} is no price"))
    }
}

fn date(day: &toml::value::Datetime) -> Result<Date, String> {
    let text = day.to_string();
    text.parse()
        .map_err(|_| format!("`{text}` is no day: write 2026-07-30"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use transcript::{Call, Tokens};

    use super::*;

    fn call(model: &str, at: &str, tokens: Tokens, speed: Option<&str>) -> Call {
        let ts: Option<Timestamp> = at.parse().ok();
        Call {
            key: 1,
            message: 1,
            request: None,
            seq: None,
            turn: None,
            line: 1,
            model: Some(model.into()),
            first_ts: ts,
            ts,
            tokens,
            speed: speed.map(Into::into),
            web_searches: 0,
            cost_usd_ticks: None,
            is_sidechain: false,
            is_echo: false,
        }
    }

    fn dollars(model: &str, at: &str, tokens: Tokens, speed: Option<&str>) -> Option<f64> {
        let prices = load(None).unwrap();
        let call = call(model, at, tokens, speed);
        let price = prices.find(model, call.ts)?;
        Some(price.cost(&call).micros() as f64 / 1e6)
    }

    const MILLION: Tokens = Tokens {
        input: 1_000_000,
        output: 0,
        cache_read: 0,
        cache_write_5m: 0,
        cache_write_1h: 0,
        reasoning: 0,
    };

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = Tokens {
            input: 1_000_000,
            output: 1_000_000,
            cache_read: 1_000_000,
            cache_write_5m: 1_000_000,
            cache_write_1h: 1_000_000,
            reasoning: 500_000,
        };
        let day = "2026-04-01T00:00:00Z";
        let of = |model| dollars(model, day, tokens, None);
        assert_eq!(of("claude-opus-4-6"), Some(5.0 + 25.0 + 0.5 + 6.25 + 10.0));
        assert_eq!(of("claude-fable-5-1"), Some(10.0 + 50.0 + 0.25 + 12.5 + 20.0));
        assert_eq!(of("a-model-of-tomorrow"), None);
    }

    #[test]
    fn prices_change_on_a_day() {
        let of = |at| {
            dollars(
                "gpt-5.6-terra",
                at,
                Tokens {
                    input: 100_000,
                    ..Tokens::default()
                },
                None,
            )
        };
        assert_eq!(of("2026-07-29T23:59:59Z"), Some(0.25));
        assert_eq!(of("2026-07-30T00:00:00Z"), Some(0.2));
        assert_eq!(of("no time"), Some(0.2));
    }

    #[test]
    fn long_requests_and_fast_ones_cost_more() {
        let day = "2026-06-01T00:00:00Z";
        let read = |count| Tokens {
            cache_read: count,
            ..Tokens::default()
        };
        // The whole request is charged at this rate, because of the size of its input.
        assert_eq!(dollars("gpt-5.5", day, MILLION, None), Some(10.0));
        assert_eq!(dollars("gpt-5.5", day, read(272_000), None), Some(0.136));
        assert_eq!(dollars("gpt-5.5", day, read(272_001), None), Some(0.272_001));
        // Only the part above the limit is charged at this rate.
        let tokens = Tokens {
            input: 300_000,
            ..Tokens::default()
        };
        assert_eq!(dollars("claude-sonnet-4-5", day, tokens, None), Some(1.2));
        let tokens = Tokens {
            input: 10_000,
            cache_read: 290_000,
            ..Tokens::default()
        };
        assert_eq!(dollars("claude-sonnet-4-5", day, tokens, None), Some(0.144));
        assert_eq!(dollars("claude-opus-4-6", day, MILLION, Some("fast")), Some(30.0));
        assert_eq!(dollars("claude-opus-4-6", day, MILLION, Some("standard")), Some(5.0));
        assert_eq!(dollars("gpt-5.5", day, read(1000), Some("flex")), Some(0.000_25));
    }

    #[test]
    fn rows_of_the_user_stand_first_and_bad_ones_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let check = |text: &str| {
            fs::write(&path, text).unwrap();
            load(Some(&path))
        };
        let own = "[[price]]\nmodels = [\"claude-opus-4-6\", \"my-model\"]\ninput = 1\noutput = 2\n";
        let prices = check(own).unwrap();
        assert_eq!(prices.find("claude-opus-4-6", None).unwrap().rates.input, 1_000_000);
        assert_eq!(prices.find("my-model", None).unwrap().rates.cache_read, 100_000);
        assert_eq!(prices.find("claude-opus-4-5", None).unwrap().rates.input, 5_000_000);
        for odd in [
            "price = 3",
            "[[price]]\nmodels = [\"a\"]\ninput = -1\noutput = 2\n",
            "[[price]]\nmodels = [\"a\"]\noutput = 2\n",
            "[[price]]\nmodels = [\"a\"]\ninput = 1\noutput = 2\nfrom = 10:00:00\n",
            "[[price]]\nmodels = [\"a\"]\ninput = 1\noutput = 2\ncache = 1\n",
            "[[price]]\nmodels = [\"a\"]\ninput = nan\noutput = 2\n",
        ] {
            assert!(check(odd).is_err(), "{odd}");
        }
    }
}
