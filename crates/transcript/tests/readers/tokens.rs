//! Tokens of logs with known counts: each file alone, and all files together.

use std::collections::BTreeMap;

use testkit::truth::{self, Tokens, Totals};
use transcript::{Agent, Call, counted};

use crate::read;

/// Sums the calls that count, by model.
fn totals<'a>(calls: impl IntoIterator<Item = &'a Call>) -> Totals {
    let calls: Vec<&Call> = calls.into_iter().collect();
    let mut totals: BTreeMap<Option<String>, Tokens> = BTreeMap::new();
    for (call, counts) in calls.iter().zip(counted(&calls)) {
        if counts {
            *totals.entry(call.model.as_deref().map(str::to_owned)).or_default() += Tokens {
                calls: 1,
                fast_calls: u64::from(call.speed.as_deref() == Some("fast")),
                input: call.tokens.input,
                output: call.tokens.output,
                cache_read: call.tokens.cache_read,
                cache_write_5m: call.tokens.cache_write_5m,
                cache_write_1h: call.tokens.cache_write_1h,
            };
        }
    }
    totals
}

#[test]
fn every_file_alone_sums_to_its_known_count() {
    for seed in 1..=8 {
        let corpus = truth::claude(seed, 10);
        for (path, bytes) in &corpus.files {
            let (reading, _) = read(Agent::Claude, path, bytes);
            let want = corpus.truth.files.get(path).cloned().unwrap_or_default();
            assert_eq!(totals(&reading.calls), want, "seed {seed}, {path}");
        }
    }
}

#[test]
fn all_files_together_count_each_call_once() {
    for seed in 1..=8 {
        let corpus = truth::claude(seed, 10);
        let readings: Vec<_> = corpus
            .files
            .iter()
            .map(|(path, bytes)| read(Agent::Claude, path, bytes).0)
            .collect();
        let calls = readings.iter().flat_map(|reading| &reading.calls);
        assert_eq!(totals(calls), corpus.truth.all, "seed {seed}");
    }
}

#[test]
fn the_order_of_files_changes_no_number() {
    let corpus = truth::claude(11, 10);
    let mut readings: Vec<_> = corpus
        .files
        .iter()
        .map(|(path, bytes)| read(Agent::Claude, path, bytes).0)
        .collect();
    readings.reverse();
    let calls = readings.iter().flat_map(|reading| &reading.calls);
    assert_eq!(totals(calls), corpus.truth.all);
}

#[test]
fn the_cost_block_and_the_events_have_the_same_tokens() {
    let corpus = truth::claude(5, 10);
    for (path, bytes) in &corpus.files {
        let (reading, _) = read(Agent::Claude, path, bytes);
        let cost = reading.session.as_ref().map(|session| session.cost).unwrap_or_default();
        let on_events: u64 = reading
            .events
            .iter()
            .filter_map(|event| event.tokens)
            .map(|tokens| tokens.output)
            .sum();
        let elsewhere: u64 = {
            let calls: Vec<&Call> = reading.calls.iter().collect();
            let counts = counted(&calls);
            calls
                .iter()
                .zip(counts)
                .filter(|(call, counts)| *counts && call.seq.is_none())
                .map(|(call, _)| call.tokens.output)
                .sum()
        };
        assert_eq!(cost.output_tokens, on_events + elsewhere, "{path}");
    }
}
