//! Lets callgrind count the instructions of commands, through gungraun, which tells the counts as lines of JSON. Which commands,
//! stands in the file that `BOSWELL_COUNTED` names. Knows nothing of Boswell.

use std::path::PathBuf;
use std::{env, fs};

use gungraun::{Bench, BinaryBenchmark, BinaryBenchmarkConfig, Callgrind, EntryPoint, Stdin};
use gungraun::{binary_benchmark_group, main};
use serde::Deserialize;

/// One thing to be counted.
#[derive(Deserialize)]
struct Counted {
    id: String,
    program: PathBuf,
    words: Vec<String>,
    /// All of its environment.
    env: Vec<(String, String)>,
    /// What it reads on its standard input.
    input: Option<PathBuf>,
    /// The one function that counts, where not all of it does.
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
    // A command is counted without the programs that it starts. Caches are nothing that could be the same on two machines.
    let mut callgrind = Callgrind::with_args(["--cache-sim=no", "--trace-children=no"]);
    callgrind.entry_point(counted.only.map_or(EntryPoint::None, EntryPoint::Custom));
    let mut config = BinaryBenchmarkConfig::default();
    config.envs(counted.env).tool(callgrind);
    let mut bench = Bench::new("counted");
    bench.config(config).command(command);
    BinaryBenchmark::new(counted.id).bench(bench).clone()
}
