//! A second, deliberately simple count of the generated files: all rows in one list, without index or state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Deserializer, Value};

use super::{Corpus, Tokens, Totals, claude, sum};

#[derive(Clone)]
struct Row {
    file: String,
    session: String,
    message: String,
    request: Option<String>,
    sidechain: bool,
    model: Option<String>,
    tokens: Tokens,
    day: String,
}

fn rows(files: &[(String, Vec<u8>)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (file, bytes) in files {
        for line in bytes.split(|byte| *byte == b'\n') {
            for record in Deserializer::from_slice(line)
                .into_iter::<Value>()
                .map_while(Result::ok)
            {
                let session = text(&record["sessionId"]).unwrap_or_default();
                let wrapped = record["type"] == "progress";
                let record = if wrapped { &record["data"]["message"] } else { &record };
                if record["type"] == "assistant" && record["message"]["usage"].is_object() {
                    read(record, wrapped, file, &session, &mut rows);
                }
            }
        }
    }
    rows
}

fn read(record: &Value, wrapped: bool, file: &str, session: &str, rows: &mut Vec<Row>) {
    let message = &record["message"];
    if message["model"] == "<synthetic>" {
        return;
    }
    let row = Row {
        file: file.to_owned(),
        session: session.to_owned(),
        message: text(&message["id"]).expect("all messages here have ids"),
        request: text(&record["requestId"]),
        sidechain: wrapped || record["isSidechain"] == true,
        model: text(&message["model"]),
        tokens: tokens(&message["usage"]),
        day: text(&record["timestamp"]).expect("all rows here have times")[..10].to_owned(),
    };
    let iterations = message["usage"]["iterations"].as_array().cloned().unwrap_or_default();
    for (index, iteration) in iterations.iter().enumerate() {
        if iteration["type"] == "advisor_message" {
            let message = format!("{}:advisor:{index}", row.message);
            let (model, tokens) = (text(&iteration["model"]), tokens(iteration));
            rows.push(Row {
                message,
                model,
                tokens,
                ..row.clone()
            });
        }
    }
    rows.push(row);
}

fn tokens(usage: &Value) -> Tokens {
    let mut tokens = Tokens {
        calls: 1,
        fast_calls: u64::from(usage["speed"] == "fast"),
        input: number(&usage["input_tokens"]),
        output: number(&usage["output_tokens"]),
        cache_read: number(&usage["cache_read_input_tokens"]),
        cache_write_5m: number(&usage["cache_creation_input_tokens"]),
        cache_write_1h: 0,
    };
    let split = &usage["cache_creation"];
    if split.is_object() {
        tokens.cache_write_5m = number(&split["ephemeral_5m_input_tokens"]);
        tokens.cache_write_1h = number(&split["ephemeral_1h_input_tokens"]);
    }
    tokens
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Parses an integer from 0 to 2^53 in any notation.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn number(value: &Value) -> u64 {
    const MAX: f64 = 9_007_199_254_740_992.0;
    value
        .as_f64()
        .filter(|n| (0.0..=MAX).contains(n) && n.fract() == 0.0)
        .map_or(0, |n| n as u64)
}

/// Returns the rows that count, each with the sessions that contain a copy of its call.
fn winners(rows: &[Row]) -> Vec<Row> {
    let mut winners = Vec::new();
    let messages: BTreeSet<_> = rows.iter().map(|row| &row.message).collect();
    for message in messages {
        let mut same: Vec<_> = rows.iter().filter(|row| row.message == *message).collect();
        if same.iter().any(|row| !row.sidechain) {
            same.retain(|row| !row.sidechain);
        }
        let mut requests: BTreeSet<_> = same.iter().filter_map(|row| row.request.as_ref()).map(Some).collect();
        if requests.is_empty() {
            requests.insert(None);
        }
        for request in requests {
            let copies = same
                .iter()
                .filter(|row| row.request.is_none() || row.request.as_ref() == request);
            let best = copies
                .max_by_key(|row| (row.tokens.output, total(&row.tokens)))
                .expect("a request has a row");
            winners.push((*best).clone());
        }
    }
    winners
}

fn total(tokens: &Tokens) -> u64 {
    tokens.input + tokens.output + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
}

fn totals(rows: &[Row]) -> Totals {
    let mut totals = Totals::new();
    for row in winners(rows) {
        *totals.entry(row.model).or_default() += row.tokens;
    }
    totals
}

fn per<K: Ord + Clone>(rows: &[Row], key: impl Fn(&Row) -> K) -> BTreeMap<K, Totals> {
    let keys: BTreeSet<K> = rows.iter().map(&key).collect();
    let of = |wanted: &K| {
        rows.iter()
            .filter(|row| key(row) == *wanted)
            .cloned()
            .collect::<Vec<_>>()
    };
    keys.iter()
        .map(|wanted| (wanted.clone(), totals(&of(wanted))))
        .collect()
}

fn check(seed: u64, sessions: usize) -> Corpus {
    let corpus = claude(seed, sessions);
    let rows = rows(&corpus.files);
    let mut truth = corpus.truth.clone();
    assert_eq!(truth.all, totals(&rows), "seed {seed}");
    assert_eq!(truth.alone, per(&rows, |row| row.session.clone()), "seed {seed}");
    truth.files.retain(|_, totals| !totals.is_empty());
    assert_eq!(truth.files, per(&rows, |row| row.file.clone()), "seed {seed}");
    let mut days = BTreeMap::<_, Tokens>::new();
    let mut sessions = BTreeMap::<_, Totals>::new();
    for row in winners(&rows) {
        *days.entry(row.day).or_default() += row.tokens;
        let first = rows
            .iter()
            .find(|copy| copy.message == row.message)
            .expect("the row itself is there");
        *sessions
            .entry(first.session.clone())
            .or_default()
            .entry(row.model)
            .or_default() += row.tokens;
    }
    assert_eq!(truth.days, days, "seed {seed}");
    assert_eq!(truth.sessions, sessions, "seed {seed}");
    corpus
}

#[test]
fn the_expected_counts_equal_a_simple_count_of_the_rows() {
    for seed in 0..24 {
        check(seed, 2 + seed as usize % 7);
    }
}

#[test]
fn every_trap_occurs_for_any_seed() {
    let kinds: BTreeSet<usize> = (0..24).map(|seed| claude(seed, 2).truth.traps.len()).collect();
    assert_eq!(kinds, BTreeSet::from([35]));
}

#[test]
fn only_the_same_seed_gives_the_same_bytes() {
    assert_eq!(claude(7, 4).files, claude(7, 4).files);
    assert_ne!(claude(7, 4).files, claude(8, 4).files);
}

#[test]
fn counting_every_row_would_be_far_off() {
    let corpus = check(1, 6);
    let (rows, calls) = (rows(&corpus.files).len() as u64, sum(&corpus.truth.all).calls);
    assert!(rows > calls * 5 / 4, "{rows} rows, {calls} calls");
}

#[test]
fn paths_are_unique() {
    let corpus = claude(3, 9);
    let paths: BTreeSet<_> = corpus.files.iter().map(|(path, _)| path).collect();
    assert_eq!(paths.len(), corpus.files.len());
    assert!(
        corpus
            .files
            .iter()
            .all(|(path, _)| corpus.truth.files.contains_key(path))
    );
}
