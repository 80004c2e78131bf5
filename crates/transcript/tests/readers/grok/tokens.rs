//! Tokens of logs with known counts: each file alone, and all files together.

use std::collections::BTreeMap;

use testkit::truth::{self, Tokens, Totals};
use transcript::{Call, PartKind, Reading, counted};

use super::laws::{check, check_side_by_side};
use super::{Directory, fixture};
use crate::pieces::places;

/// Sums the calls that count, by model.
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
        .map(|(path, bytes)| {
            let mut directory = Directory::of_log(path, bytes);
            let beside = path.replace("updates.jsonl", "summary.json");
            let summaries = corpus.companions.iter().filter(|(name, _)| *name == beside);
            directory
                .companions
                .extend(summaries.map(|(_, bytes)| (PartKind::Summary, bytes.clone())));
            (path, directory)
        })
        .collect()
}

#[test]
fn every_file_alone_sums_to_its_known_count() {
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

/// The parent's bill includes a subagent's cost. If either log is missing, the sum is the amount spent in the other
/// logs.
#[test]
fn a_missing_log_loses_only_calls_that_no_other_log_has() {
    for seed in 1..=12 {
        let corpus = truth::grok(seed, 8);
        let readings: Vec<Reading> = directories(&corpus)
            .iter()
            .map(|(_, directory)| directory.read().0)
            .collect();
        let is_subagent = |reading: &&Reading| reading.session.as_ref().is_some_and(|session| session.is_subagent);
        let (mut without, mut held) = (Totals::new(), 0);
        for (session, totals) in &corpus.truth.sessions {
            let of_subagent = |reading: &&Reading| {
                let uid = &reading.session.as_ref().expect("a reading has a session").session_uid;
                is_subagent(reading) && uid.as_str() == format!("grok:{session}")
            };
            if !readings.iter().any(|reading| of_subagent(&reading)) {
                for (model, tokens) in totals {
                    *without.entry(model.clone()).or_default() += *tokens;
                }
            }
        }
        let main = readings.iter().filter(|reading| !is_subagent(reading));
        assert_eq!(
            totals(main.flat_map(|reading| &reading.calls)),
            without,
            "seed {seed}: no subagent's log is there"
        );
        for reading in readings.iter().filter(is_subagent) {
            let own = reading.session.as_ref().expect("a reading has a session");
            held += u64::from(!corpus.truth.sessions.contains_key(&own.native_session_id));
            assert_ne!(own.cost.output_tokens, 0, "seed {seed}: alone it counts");
        }
        assert_ne!(held, 0, "seed {seed}: some subagents are in their parent's bill");
    }
}

/// A prompt (11) is billed with the subagent that ended in it (12), which is billed with its own (13). Another one
/// (14) ended too late for any bill.
#[test]
fn a_subagent_counts_in_the_bill_that_includes_it_or_by_itself() {
    let readings = [11, 12, 13, 14].map(|number| fixture(number).read().0);
    let alone = readings
        .each_ref()
        .map(|reading| truth::sum(&totals(&reading.calls)).output);
    assert_eq!(alone, [80, 60, 40, 80]);
    let spent = |logs: &[usize]| {
        let calls = logs.iter().flat_map(|at| &readings[*at].calls);
        let all: Vec<&Call> = calls.clone().collect();
        let counted = all.iter().zip(counted(&all)).filter(|(_, counts)| *counts);
        let ticks: u64 = counted.filter_map(|(call, _)| call.cost_usd_ticks).sum();
        (truth::sum(&totals(calls)).output, ticks)
    };
    for (logs, output, ticks) in [
        (&[0, 1, 2, 3][..], 160, 176),
        (&[3, 2, 1, 0], 160, 176),
        (&[2, 0, 3, 1], 160, 176),
        (&[0, 1], 80, 88),
        (&[1, 2], 60, 66),
        (&[2, 1, 3], 140, 154),
        (&[2, 3], 120, 132),
        (&[0, 3], 160, 176),
    ] {
        assert_eq!(spent(logs), (output, ticks), "logs {logs:?}");
    }
}

#[test]
fn logs_with_every_trap_read_the_same_in_pieces() {
    let corpus = truth::grok(7, 8);
    for (n, (_, directory)) in directories(&corpus).into_iter().enumerate() {
        check(&directory, &|bytes| places(n as u64 + 1, 20, bytes.len()));
        check_side_by_side(&directory, 1..10);
    }
}
