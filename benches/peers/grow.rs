//! How costs grow with the logs: the first sweep, a search and usage, from few to many.

use std::fs;

use crate::bench::{ALL, Bench, fresh, size_below};
use crate::figures::{Curve, Job, median};
use crate::search::{Words, ours};
use crate::seeded::cache;

const SIZES: [(u64, u64); 4] = [(30, 3), (100, 6), (300, 12), (1_000, 24)];

pub fn job(bench: &mut Bench) -> Job {
    let names = [
        "first sweep",
        "search, rare word",
        "search, common word",
        "usage by day",
        "second sweep",
    ];
    let mut curves: Vec<Curve> = Vec::new();
    for name in names {
        curves.push(Curve {
            name: name.to_owned(),
            points: Vec::new(),
        });
    }
    for (whole, quick) in SIZES {
        let corpus = bench.corpus(bench.size(whole, quick));
        let megabytes = size_below(&corpus) as f64 / 1e6;
        let memory = bench.memory(&corpus, cache().join("peers-grow"), ALL);
        fresh(&memory.data);
        let sweep = memory.command(&["sweep", "--quiet"]);
        let first = bench.watch.run(&sweep).expect("the sweep succeeds").seconds;
        let words = Words::of(&memory);
        let commands = [
            ours(&memory, &[], &words.rare),
            ours(&memory, &["--limit", "20"], "self"),
            memory.command(&["usage", "daily", "--no-sweep"]),
            sweep,
        ];
        let rounds = bench.rounds(9);
        let mut seconds = vec![first];
        for command in &commands {
            let mut run = || bench.watch.run(command).expect("a question is answered").seconds;
            seconds.extend(median((0..rounds).map(|_| run()).collect()));
        }
        eprintln!("   {megabytes:.0} MB: {seconds:.3?} s");
        for (curve, seconds) in curves.iter_mut().zip(seconds) {
            curve.points.push((megabytes.round(), (seconds * 1e6).round() / 1e6));
        }
        _ = fs::remove_dir_all(&memory.data);
    }
    Job {
        curves,
        ..Job::default()
    }
}
