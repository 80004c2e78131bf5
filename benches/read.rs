//! Measures how fast one core reads and classifies logs of Claude Code, compared with a plain typed parse of the same
//! lines.
//!
//! `cargo bench -p boswell-benches --bench read`. The logs are those below `$BOSWELL_CORPUS/claude`, or synthetic ones.
//! `-- WORD` runs only the ways whose name contains the word, for a profiler.
//!
//! All logs are in memory. The ways alternate on each log, so that noise affects all alike. For each log and way the
//! best of many rounds counts, because a shared machine always disturbs a run over the whole corpus.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod bare;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use testkit::truth;
use transcript::{Agent, Lines, Origin, PartKind, Reading, State};

/// The number of rounds over all logs, unless `BOSWELL_BENCH_ROUNDS` is set.
const ROUNDS: usize = 15;
/// The size of the synthetic logs, if there are no real ones.
const MADE_UP_BYTES: usize = 30_000_000;

struct Log {
    path: String,
    bytes: Vec<u8>,
}

/// One way to read a log. `run` returns a number, so that the compiler cannot remove the work.
struct Way {
    name: &'static str,
    run: fn(&Log) -> u64,
}

const WAYS: [Way; 5] = [
    Way {
        name: "line breaks counted in memory (memchr)",
        run: |log| memchr::memchr_iter(b'\n', &log.bytes).count() as u64,
    },
    Way {
        name: "split into lines (`Lines`)",
        run: |log| split(&log.bytes),
    },
    Way {
        name: "bare typed parse (serde_json, derived)",
        run: |log| count_lines_which(log, |line| bare::parse(line).is_some()),
    },
    Way {
        name: "untyped parse (serde_json::Value)",
        run: |log| count_lines_which(log, |line| black_box(untyped(line)).is_ok()),
    },
    Way {
        name: "Boswell's reader",
        run: |log| black_box(reading(log)).events.len() as u64,
    },
];
const BARE: usize = 2;
const READER: usize = 4;

/// The measurements of one way.
#[derive(Clone, Default)]
struct Times {
    /// The best time of each log.
    best: Vec<Duration>,
    /// The sum of each round.
    rounds: Vec<Duration>,
}

impl Times {
    fn sum(&self) -> Duration {
        self.best
            .iter()
            .fold(Duration::ZERO, |sum, time| sum.saturating_add(*time))
    }
}

fn main() {
    let rounds = env::var("BOSWELL_BENCH_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(ROUNDS).max(1);
    // Cargo adds `--bench`.
    let word = env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"))
        .unwrap_or_default();
    let (logs, whence) = logs();
    let bytes: usize = logs.iter().map(|log| log.bytes.len()).sum();
    let lines: u64 = logs.iter().map(|log| split(&log.bytes)).sum();
    println!("Logs: {} {whence}, {bytes} bytes, {lines} lines", logs.len());
    println!("Machine: {}", machine());
    println!("Rounds: {rounds}, one thread; MB = 1,000,000 bytes\n");
    if word.is_empty() {
        tell_what_was_read(&logs, lines);
    }

    let mut times = vec![Times::default(); WAYS.len()];
    let mut wc_times = Vec::new();
    for _ in 0..rounds {
        if "wc".contains(&word) {
            let start = Instant::now();
            let done = wc(&logs);
            wc_times.extend(done.then(|| start.elapsed()));
        }
        round(&logs, &word, &mut times);
    }
    println!("| way | best, MB/s | median, MB/s | lines/s | of the bare parse |");
    println!("|---|---:|---:|---:|---:|");
    let wc_best: Vec<Duration> = wc_times.iter().min().copied().into_iter().collect();
    let wc = Times {
        best: wc_best,
        rounds: wc_times,
    };
    let bare = times[BARE].sum();
    row("`wc -l`, a process of its own", &wc, bytes, lines, bare);
    for (way, times) in WAYS.iter().zip(&times) {
        row(way.name, times, bytes, lines, bare);
    }
    if word.is_empty() {
        let ratio = 100.0 * bare.as_secs_f64() / times[READER].sum().as_secs_f64();
        println!("\nThe reader runs at {ratio:.1} % of the bare typed parse; the promise is 60 %");
        others(rounds);
    }
}

/// Reads each log once in each way.
fn round(logs: &[Log], word: &str, times: &mut [Times]) {
    for times in times.iter_mut() {
        times.rounds.push(Duration::ZERO);
        times.best.resize(logs.len(), Duration::MAX);
    }
    for (at, log) in logs.iter().enumerate() {
        for (way, times) in WAYS.iter().zip(times.iter_mut()) {
            if !way.name.contains(word) {
                continue;
            }
            let start = Instant::now();
            black_box((way.run)(black_box(log)));
            let time = start.elapsed();
            times.best[at] = times.best[at].min(time);
            *times.rounds.last_mut().expect("a round has begun") += time;
        }
    }
}

fn row(name: &str, times: &Times, bytes: usize, lines: u64, bare: Duration) {
    if times.best.first().is_none_or(|time| *time == Duration::MAX) {
        println!("| {name} | not run | | | |");
        return;
    }
    let best = times.sum();
    let mut rounds = times.rounds.clone();
    rounds.sort_unstable();
    let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "| {name} | {:.0} | {:.0} | {:.0} | {:.1} % |",
        speed(best),
        speed(rounds[rounds.len() / 2]),
        lines as f64 / best.as_secs_f64(),
        100.0 * bare.as_secs_f64() / best.as_secs_f64(),
    );
}

/// Prints once how much was read, because a reader could be fast by reading little.
fn tell_what_was_read(logs: &[Log], lines: u64) {
    let (mut events, mut turns, mut calls, mut faults) = (0, 0, 0, 0);
    for log in logs {
        let reading = reading(log);
        events += reading.events.len();
        turns += reading.turns.len();
        calls += reading.calls.len();
        faults += reading.faults.len();
    }
    println!("Reader: {events} events, {turns} turns, {calls} API calls, {faults} faults");
    let parsed: u64 = logs.iter().map(WAYS[BARE].run).sum();
    println!("Bare parse: {parsed} lines of {lines}; the rest are blank, glued, torn or of another shape\n");
}

/// Measures the other agents' readers in the same run, compared with an untyped parse of their lines.
fn others(rounds: usize) {
    println!("\n| reader | logs | bytes | best, MB/s | untyped parse, MB/s | of the untyped parse |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (agent, folder, name) in [
        (Agent::Codex, "codex", ".jsonl"),
        (Agent::Grok, "grok", "updates.jsonl"),
    ] {
        let mut logs = Vec::new();
        match env::var_os("BOSWELL_CORPUS") {
            Some(corpus) => below(&Path::new(&corpus).join(folder), &mut logs),
            None => logs.extend(made_up_by(agent)),
        }
        logs.retain(|log| log.path.ends_with(name));
        let bytes: usize = logs.iter().map(|log| log.bytes.len()).sum();
        let best = |run: &dyn Fn(&Log) -> u64| -> Duration {
            let of = |log: &Log| {
                let time = || {
                    let start = Instant::now();
                    black_box(run(black_box(log)));
                    start.elapsed()
                };
                (0..rounds).map(|_| time()).min().unwrap_or_default()
            };
            logs.iter().map(of).sum()
        };
        let untyped = best(&|log| count_lines_which(log, |line| black_box(untyped(line)).is_ok()));
        let reader = best(&|log| black_box(reading_by(agent, log)).events.len() as u64);
        let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
        let ratio = 100.0 * untyped.as_secs_f64() / reader.as_secs_f64();
        let (fast, bare) = (speed(reader), speed(untyped));
        println!(
            "| {} | {} | {bytes} | {fast:.0} | {bare:.0} | {ratio:.0} % |",
            agent.title(),
            logs.len()
        );
    }
}

/// Returns synthetic logs of an agent without a folder of real ones.
fn made_up_by(agent: Agent) -> Vec<Log> {
    let corpus = match agent {
        Agent::Grok => truth::grok(1, 200),
        _ => truth::codex(1, 100),
    };
    let log = |(path, bytes)| Log { path, bytes };
    corpus.files.into_iter().map(log).collect()
}

/// Returns events, classification, turns and tokens of one log.
fn reading(log: &Log) -> Reading {
    reading_by(Agent::Claude, log)
}

fn reading_by(agent: Agent, log: &Log) -> Reading {
    let mut state = State::new(agent, Origin::of(&log.path));
    let delta = state.read_unmasked(PartKind::Log, &mut Lines::new(&log.bytes[..]));
    let mut reading = Reading::default();
    reading.apply(delta.expect("bytes in memory can be read"));
    reading.settle();
    reading
}

fn split(bytes: &[u8]) -> u64 {
    let mut lines = Lines::new(bytes);
    let mut count = 0;
    while let Some(line) = lines.next().expect("bytes in memory can be read") {
        count = black_box(line).number;
    }
    count
}

fn untyped(line: &[u8]) -> serde_json::Result<serde_json::Value> {
    serde_json::from_slice(line)
}

fn count_lines_which(log: &Log, holds: fn(&[u8]) -> bool) -> u64 {
    let mut count = 0;
    let mut rest = &log.bytes[..];
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        count += u64::from(holds(&rest[..end]));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    count
}

/// Runs the real `wc` on the files. Returns whether it succeeded.
fn wc(logs: &[Log]) -> bool {
    let mut command = Command::new("wc");
    command.arg("-l").args(logs.iter().map(|log| &log.path));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Returns all logs in memory, and a description of them.
fn logs() -> (Vec<Log>, &'static str) {
    if let Some(corpus) = env::var_os("BOSWELL_CORPUS") {
        let mut logs = Vec::new();
        below(&Path::new(&corpus).join("claude"), &mut logs);
        logs.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(!logs.is_empty(), "no logs below `$BOSWELL_CORPUS/claude`");
        return (logs, "real logs");
    }
    (made_up(), "made-up logs")
}

/// Returns logs with every edge case, which are on disk as well for `wc`.
fn made_up() -> Vec<Log> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("read-bench");
    fs::create_dir_all(&folder).expect("the build directory can be written");
    let mut logs: Vec<Log> = Vec::new();
    let (mut seed, mut size) = (1, 0);
    while size < MADE_UP_BYTES {
        for (n, (_, bytes)) in truth::claude(seed, 40).files.into_iter().enumerate() {
            let path = folder.join(format!("{seed}-{n}.jsonl"));
            fs::write(&path, &bytes).expect("the build directory can be written");
            size += bytes.len();
            let path = path.to_string_lossy().into_owned();
            logs.push(Log { path, bytes });
        }
        seed += 1;
    }
    logs
}

fn below(folder: &Path, logs: &mut Vec<Log>) {
    for entry in fs::read_dir(folder).expect("the corpus can be listed") {
        let path = entry.expect("the corpus can be listed").path();
        if path.is_dir() {
            below(&path, logs);
        } else if path.to_string_lossy().contains(".jsonl") {
            let bytes = fs::read(&path).expect("a log can be read");
            let path = path.to_string_lossy().into_owned();
            logs.push(Log { path, bytes });
        }
    }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} cores, {} {}", env::consts::OS, env::consts::ARCH)
}
