//! Counts the instructions of commands with callgrind, by gungraun, which prints the counts as lines of JSON. The file
//! in `BOSWELL_COUNTED` lists the commands. Knows nothing about Boswell.

use std::path::PathBuf;
use std::{env, fs};

use gungraun::{Bench, BinaryBenchmark, BinaryBenchmarkConfig, Callgrind, EntryPoint, Stdin};
use gungraun::{binary_benchmark_group, main};
use serde::Deserialize;

/// One command to count.
#[derive(Deserialize)]
struct Counted {
    id: String,
    program: PathBuf,
    words: Vec<String>,
    /// Its complete environment.
    env: Vec<(String, String)>,
    /// The file for its standard input.
    input: Option<PathBuf>,
    /// The only function that counts, or `None` to count the whole command.
    only: Option<String>,
}

binary_benchmark_group!(
    name = hot_paths,
    benchmarks = |group: &mut BinaryBenchmarkGroup| {
        group.binary_benchmarks(crate::asked_for().into_iter().map(crate::benchmark));
    }
);
main!(binary_benchmark_groups = hot_paths);

fn asked_for() -> Vec<Counted> {
    let list = env::var_os("BOSWELL_COUNTED").expect("a list is given");
    let list = fs::read(list).expect("the list can be read");
    serde_json::from_slice(&list).expect("the list is one of commands")
}

fn benchmark(counted: Counted) -> BinaryBenchmark {
    let mut command = gungraun::Command::new(counted.program);
    command
        .args(counted.words)
        .stdin(counted.input.map_or(Stdin::Null, Stdin::File))
        .stdout(gungraun::Stdio::Null);
    // Counts a command without the programs that it starts. The simulation of caches is off, because caches differ
    // between machines.
    let mut callgrind = Callgrind::with_args(["--cache-sim=no", "--trace-children=no"]);
    callgrind.entry_point(counted.only.map_or(EntryPoint::None, EntryPoint::Custom));
    let mut config = BinaryBenchmarkConfig::default();
    config.envs(counted.env).tool(callgrind);
    let mut bench = Bench::new("counted");
    bench.config(config).command(command);
    BinaryBenchmark::new(counted.id).bench(bench).clone()
}
