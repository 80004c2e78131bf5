//! Tokens of invented logs with known counts: each file alone, and all files together.

use std::collections::BTreeMap;

use testkit::truth::{self, Tokens, Totals};
use transcript::{Agent, Call, counted};

use crate::pieces::{check, places};
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
    for seed in 1..=12 {
        let corpus = truth::codex(seed, 6);
        for (path, bytes) in &corpus.files {
            let (reading, _) = read(Agent::Codex, path, bytes);
            let want = corpus.truth.files.get(path).cloned().unwrap_or_default();
            assert_eq!(totals(&reading.calls), want, "seed {seed}, {path}");
        }
    }
}

#[test]
fn all_files_together_count_each_call_once_in_any_order() {
    for seed in 1..=12 {
        let corpus = truth::codex(seed, 6);
        let read = |(path, bytes): &(String, Vec<u8>)| read(Agent::Codex, path, bytes).0;
        let mut readings: Vec<_> = corpus.files.iter().map(read).collect();
        for _ in 0..2 {
            let calls = readings.iter().flat_map(|reading| &reading.calls);
            assert_eq!(totals(calls), corpus.truth.all, "seed {seed}");
            readings.reverse();
        }
    }
}

#[test]
fn a_copy_that_no_rule_recognizes_is_dropped_by_its_counters() {
    let corpus = truth::codex(3, 2);
    let (path, bytes) = &corpus.files[3];
    let whole = read(Agent::Codex, path, bytes).0;
    // The same thread under another name, as in a copy of the whole file.
    let copy = read(Agent::Codex, "copy.jsonl", bytes).0;
    let calls = whole.calls.iter().chain(&copy.calls);
    assert_eq!(totals(calls), totals(&whole.calls));
}

#[test]
fn the_cost_block_and_the_events_have_the_same_tokens() {
    let corpus = truth::codex(5, 6);
    for (path, bytes) in &corpus.files {
        let (reading, _) = read(Agent::Codex, path, bytes);
        let cost = reading.session.as_ref().map(|session| session.cost).unwrap_or_default();
        let on_events: u64 = reading
            .events
            .iter()
            .filter_map(|event| event.tokens)
            .map(|tokens| tokens.output)
            .sum();
        let elsewhere: u64 = reading
            .calls
            .iter()
            .filter(|call| call.seq.is_none())
            .map(|call| call.tokens.output)
            .sum();
        assert_eq!(cost.output_tokens, on_events + elsewhere, "{path}");
    }
}

#[test]
fn logs_with_every_trap_read_the_same_in_pieces() {
    let corpus = truth::codex(7, 4);
    for (n, (path, bytes)) in corpus.files.iter().enumerate() {
        check(Agent::Codex, path, bytes, &places(n as u64 + 1, 20, bytes.len()));
    }
}
