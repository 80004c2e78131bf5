//! Tokens on logs whose truth is known: each file alone, and all files together.

use std::collections::BTreeMap;

use testkit::truth::{self, Tokens, Totals};
use transcript::{Call, counted};

use super::Directory;
use super::laws::check;
use crate::pieces::places;

/// Adds up the calls that count, by model.
fn totals<'a>(calls: impl IntoIterator<Item = &'a Call>) -> Totals {
    let calls: Vec<&Call> = calls.into_iter().collect();
    let mut totals: BTreeMap<Option<String>, Tokens> = BTreeMap::new();
    for (call, counts) in calls.iter().zip(counted(&calls)) {
        if counts {
            *totals.entry(call.model.as_deref().map(str::to_owned)).or_default() += Tokens {
                calls: 1,
                input: call.tokens.input,
                output: call.tokens.output,
                cache_read: call.tokens.cache_read,
                cache_write_5m: call.tokens.cache_write_5m,
                ..Tokens::default()
            };
        }
    }
    totals
}

fn directories(corpus: &truth::Corpus) -> Vec<(&String, Directory)> {
    corpus
        .files
        .iter()
        .map(|(path, bytes)| (path, Directory::of_log(path, bytes)))
        .collect()
}

#[test]
fn every_file_alone_adds_up_to_its_truth() {
    for seed in 1..=12 {
        let corpus = truth::grok(seed, 8);
        for (path, directory) in directories(&corpus) {
            let (reading, _) = directory.read();
            let want = corpus.truth.files.get(path).cloned().unwrap_or_default();
            assert_eq!(totals(&reading.calls), want, "seed {seed}, {path}");
            let cost = reading.session.expect("a reading has a session").cost;
            let on_events: u64 = reading
                .events
                .iter()
                .filter_map(|event| event.tokens)
                .map(|tokens| tokens.output)
                .sum();
            assert_eq!(cost.output_tokens, on_events, "seed {seed}, {path}");
        }
    }
}

#[test]
fn all_files_together_count_each_prompt_once_in_any_order() {
    for seed in 1..=12 {
        let corpus = truth::grok(seed, 8);
        let mut readings: Vec<_> = directories(&corpus)
            .iter()
            .map(|(_, directory)| directory.read().0)
            .collect();
        assert_eq!(
            totals(readings.iter().flat_map(|reading| &reading.calls)),
            corpus.truth.all,
            "seed {seed}"
        );
        readings.reverse();
        assert_eq!(
            totals(readings.iter().flat_map(|reading| &reading.calls)),
            corpus.truth.all,
            "seed {seed}"
        );
    }
}

#[test]
fn logs_with_every_trap_read_the_same_in_pieces() {
    let corpus = truth::grok(7, 8);
    for (n, (_, directory)) in directories(&corpus).into_iter().enumerate() {
        check(&directory, &|bytes| places(n as u64 + 1, 20, bytes.len()));
    }
}
