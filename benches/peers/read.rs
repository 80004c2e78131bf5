//! The lower bounds of a sweep, each alone and on all cores: reading, parsing, masking and compressing the same bytes;
//! compared with the sweep. jq is the baseline for parsing such logs at all.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use memory::mask::{MaskKey, Masker, UserRules};

use crate::bench::{ALL, Bench, Entrant, fresh, size_below};
use crate::figures::{Contest, Fact, Job, median};
use crate::roofline::{Roofline, Stage};
use crate::seeded::{cache, files_below};

pub fn job(bench: &mut Bench) -> Job {
    let corpus = bench.corpus(bench.size(300, 6));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules compile");
    let roofline = Roofline::load(&corpus, masker, threads);
    let memory = bench.memory(&corpus, cache().join("peers-read"), ALL);
    let stages = [Stage::Read].into_iter().chain(Stage::ALL);
    let mut speeds: Vec<(&str, Vec<f64>)> = stages.clone().map(|stage| (stage.name(), Vec::new())).collect();
    speeds.push(("the first sweep, all of them and the store", Vec::new()));
    for _ in 0..bench.rounds(5) {
        let mut bytes = 0;
        for (stage, (_, speeds)) in stages.clone().zip(&mut speeds) {
            let times = roofline.run(stage);
            bytes = times.bytes;
            speeds.push(times.speed());
        }
        fresh(&memory.data);
        let cost = bench
            .watch
            .run(&memory.command(&["sweep", "--quiet"]))
            .expect("the sweep succeeds");
        speeds[stages.clone().count()].1.push(bytes as f64 / 1e6 / cost.seconds);
    }
    _ = fs::remove_dir_all(&memory.data);
    let facts = speeds.into_iter().map(|(name, speeds)| Fact {
        what: name.to_owned(),
        value: median(speeds).unwrap_or(f64::NAN),
        unit: "MB/s".to_owned(),
    });
    let facts = facts.collect();
    Job {
        facts,
        contests: vec![parse(bench)],
        ..Job::default()
    }
}

/// Parses logs and prints JSON.
fn parse(bench: &mut Bench) -> Contest {
    let corpus = bench.corpus(bench.size(30, 6));
    let mut logs = Vec::new();
    files_below(&corpus.join(".claude/projects"), &mut logs);
    logs.retain(|path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl"));
    let megabytes = logs.iter().map(|path| size_below(path)).sum::<u64>() as f64 / 1e6;
    let jq = bench.system("jq");
    let memory = bench.memory(&corpus, cache().join("peers-read"), ALL);
    let over = |mut command: Command| {
        command.args(&logs);
        command
    };
    let entrants = vec![
        Entrant::new("boswell read --json", || over(memory.command(&["read", "--json"]))),
        Entrant::of("jq -R 'fromjson?'", &jq, |program| {
            let mut command = Command::new(program);
            // Parses line by line, because some lines are torn, as in real logs.
            command.args(["-c", "-R", "fromjson?"]);
            over(command)
        }),
        Entrant::new("wc -l", || {
            let mut command = Command::new("wc");
            command.arg("-l");
            over(command)
        }),
    ];
    let rounds = bench.rounds(5);
    let what = format!("{megabytes:.0} MB of Claude Code's logs read and printed as JSON, on one core");
    bench.contest("logs to JSON", &what, entrants, rounds)
}
