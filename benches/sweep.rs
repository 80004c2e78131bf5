//! Measures the speed of the first sweep of a home, compared with its lower bounds, and its use of memory and disk.
//!
//! `cargo bench -p boswell-benches --bench sweep`. The home is the seeded corpus of `BOSWELL_BENCH_MB` megabytes. The
//! roofline is the work that every sweep has to do: parse, mask and compress the same bytes on the same number of
//! threads, without a store and a disk. Each sweep runs in its own process, so that its peak memory can be measured.
//!
//! `-- roofline` and `-- sweep` run only one of the two, for a profiler.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod homes;
mod process;
#[allow(dead_code, reason = "each bench uses its part")]
mod roofline;
mod seeded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs, thread};

use jiff::Timestamp;
use memory::mask::{MaskKey, Masker, UserRules};
use memory::sources::LogRoot;
use memory::store::LockWait;
use memory::sweep::{Sweep, run};
use transcript::Agent;

use roofline::{Roofline, Stage};

const ROUNDS: u64 = 5;
const SESSION_MB: u64 = 2_000;
/// The promised limits.
const SHARE_OF_ROOFLINE_MIN: f64 = 1.0 / 3.0;
const PEAK_MB_MAX: f64 = 150.0;
const PEAK_MB_MAX_ONE_SESSION: f64 = 200.0;
const PACKS_MAX: f64 = 0.19;
const STORE_MAX: f64 = 0.26;

/// The numbers that a sweep in a child process printed.
type Told = BTreeMap<String, f64>;

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [word, home, store] = &words[..]
        && word == "child"
    {
        return child(Path::new(home), Path::new(store));
    }
    let word = words.first().map_or("", String::as_str);
    let (home, written) = seeded::corpus();
    println!(
        "Corpus: {} files, {} bytes{}",
        written.files,
        written.bytes,
        written.speed()
    );
    println!(
        "Machine: {} cores, {} {}; {} threads; MB = 1,000,000 bytes\n",
        cores(),
        env::consts::OS,
        env::consts::ARCH,
        threads()
    );
    let rounds = seeded::number("BOSWELL_BENCH_ROUNDS", ROUNDS).max(1);
    let mut table = Table::default();
    let roofline = (word != "sweep").then(|| Roofline::load(&home, masker(), threads()));
    let store = seeded::cache().join("sweep-store");
    for _ in 0..rounds {
        if let Some(roofline) = &roofline {
            table.stages(roofline);
        }
        if word != "roofline" {
            _ = fs::remove_dir_all(&store);
            table.first.push(in_child(&home, &store));
            table.second.push(in_child(&home, &store));
        }
    }
    table.print();
    if word.is_empty() {
        one_session();
        real();
    }
}

/// The measurements, round by round.
#[derive(Default)]
struct Table {
    stages: Vec<Vec<roofline::Times>>,
    first: Vec<Told>,
    second: Vec<Told>,
}

impl Table {
    fn stages(&mut self, roofline: &Roofline) {
        self.stages
            .push(Stage::ALL.iter().map(|stage| roofline.run(*stage)).collect());
    }

    fn print(&self) {
        println!("| what | MB/s, median | CPU seconds, median |");
        println!("|---|---:|---:|");
        for (at, stage) in Stage::ALL.iter().enumerate() {
            let of = |get: fn(&roofline::Times) -> f64| self.stages.iter().map(|round| get(&round[at])).collect();
            row(
                stage.name(),
                median(of(|times| times.speed())),
                median(of(|times| times.cpu_seconds)),
            );
        }
        let roofline: Vec<f64> = self.stages.iter().map(|round| speed_of_sum(round)).collect();
        let cpu = self
            .stages
            .iter()
            .map(|round| round.iter().map(|times| times.cpu_seconds).sum())
            .collect();
        row("roofline: one after the other", median(roofline.clone()), median(cpu));
        let sweeps: Vec<f64> = self
            .first
            .iter()
            .map(|told| told["bytes"] / 1e6 / told["seconds"])
            .collect();
        row(
            "first sweep",
            median(sweeps.clone()),
            median(column(&self.first, "cpu")),
        );
        if !roofline.is_empty() && !sweeps.is_empty() {
            println!();
            self.shares(&sweeps, &roofline);
        }
        if let (Some(first), Some(second)) = (self.first.first(), self.second.first()) {
            let peak = worst(&self.first, "peak") / 1e6;
            judge("peak memory, MB, worst", peak, PEAK_MB_MAX, Ordering::Below);
            sizes(first);
            let (bytes, seconds) = (worst(&self.second, "bytes"), median(column(&self.second, "seconds")));
            let unchanged = second["unchanged"];
            println!(
                "- second sweep: {bytes:.0} bytes read, {:.0} ms, {unchanged:.0} files unchanged",
                seconds * 1e3
            );
        }
    }

    /// Prints the ratio of the sweep to its roofline.
    fn shares(&self, sweeps: &[f64], roofline: &[f64]) {
        let shares: Vec<f64> = sweeps
            .iter()
            .zip(roofline)
            .map(|(sweep, roofline)| sweep / roofline)
            .collect();
        let told: Vec<String> = shares.iter().map(|share| format!("{share:.2}")).collect();
        let median_share = median(shares);
        judge(
            "share of the roofline, median",
            median_share,
            SHARE_OF_ROOFLINE_MIN,
            Ordering::AtLeast,
        );
        println!("  rounds: {}", told.join(", "));
        let spent = |round: &[roofline::Times]| round.iter().map(|times| times.cpu_seconds).sum::<f64>();
        let by_cpu = self
            .stages
            .iter()
            .zip(&self.first)
            .map(|(round, told)| spent(round) / told["cpu"]);
        println!(
            "  by CPU seconds, which neighbours disturb less: {:.2}",
            median(by_cpu.collect())
        );
    }
}

fn speed_of_sum(round: &[roofline::Times]) -> f64 {
    let seconds: f64 = round.iter().map(|times| times.seconds).sum();
    round[0].bytes as f64 / 1e6 / seconds
}

/// Checks that memory use does not grow with one very long session.
fn one_session() {
    let megabytes = seeded::number("BOSWELL_BENCH_SESSION_MB", SESSION_MB);
    let home = homes::one_session(megabytes);
    let store = seeded::cache().join("sweep-store-session");
    _ = fs::remove_dir_all(&store);
    let told = in_child(&home, &store);
    println!(
        "\nOne session of {megabytes} MB: {:.0} MB/s, {:.0} events",
        told["bytes"] / 1e6 / told["seconds"],
        told["events"]
    );
    judge(
        "peak memory, MB",
        told["peak"] / 1e6,
        PEAK_MB_MAX_ONE_SESSION,
        Ordering::Below,
    );
    sizes(&told);
    _ = fs::remove_dir_all(&store);
}

/// Prints the sizes for real logs, if there are any.
fn real() {
    let Some(home) = homes::real_home() else { return };
    let store = seeded::cache().join("sweep-store-real");
    _ = fs::remove_dir_all(&store);
    let told = in_child(&home, &store);
    println!(
        "\nReal logs: {:.0} files, {:.0} bytes, {:.0} MB/s",
        told["files"],
        told["bytes"],
        told["bytes"] / 1e6 / told["seconds"]
    );
    judge("peak memory, MB", told["peak"] / 1e6, PEAK_MB_MAX, Ordering::Below);
    judge(
        "packs, of the source",
        told["packs"] / told["bytes"],
        PACKS_MAX,
        Ordering::Below,
    );
    judge(
        "whole store, of the source",
        told["store"] / told["bytes"],
        STORE_MAX,
        Ordering::Below,
    );
    _ = fs::remove_dir_all(&store);
}

fn sizes(told: &Told) {
    println!("- packs, of the source: {:.3}", told["packs"] / told["bytes"]);
    println!("- whole store, of the source: {:.3}", told["store"] / told["bytes"]);
}

/// Runs a sweep in a child process.
fn in_child(home: &Path, store: &Path) -> Told {
    let program = env::current_exe().expect("the bench knows its own file");
    let output = Command::new(program)
        .arg("child")
        .arg(home)
        .arg(store)
        .output()
        .expect("the bench can run itself");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    told.lines().filter_map(pair).collect()
}

/// Runs in the child process: one sweep, whose costs it prints.
fn child(home: &Path, store: &Path) {
    let root = |agent: Agent| LogRoot {
        agent,
        path: home.join(format!(".{}", agent.as_str())),
        label: None,
    };
    let roots = Agent::ALL.map(root);
    let masker = masker();
    // Long after the last line, so that every log is quiet.
    let now = "2100-01-01T00:00:00Z".parse::<Timestamp>().expect("a literal time");
    let place = store.into();
    let sweep = Sweep {
        threads: threads(),
        ..Sweep::new(&place, &roots, &masker, now)
    };
    let start = Instant::now();
    let report = run(&sweep, LockWait::Wait(&|| {})).expect("the sweep succeeds");
    let seconds = start.elapsed().as_secs_f64();
    // Real logs contain copies that differ; nothing else may be skipped.
    let left_out = report
        .unread
        .iter()
        .find(|unread| !unread.reason.contains("of the same session"));
    assert!(left_out.is_none(), "{left_out:?}");
    println!("seconds {seconds}");
    println!("cpu {}", process::cpu_seconds().unwrap_or(f64::NAN));
    println!("peak {}", peak_bytes().map_or(f64::NAN, |bytes| bytes as f64));
    println!("bytes {}", report.bytes_read);
    println!("files {}", report.files_read);
    println!("unchanged {}", report.files_unchanged);
    println!("events {}", report.events);
    println!("packs {}", size_below(&store.join("packs")));
    println!("store {}", size_below(store));
}

/// Returns the peak memory of this process, in bytes.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1_024)
}

fn masker() -> Masker {
    Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules compile")
}

fn threads() -> usize {
    usize::try_from(seeded::number("BOSWELL_BENCH_THREADS", cores() as u64)).expect("a number of threads")
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn size_below(folder: &Path) -> u64 {
    let mut files = Vec::new();
    seeded::files_below(folder, &mut files);
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    files.iter().map(size).sum()
}

/// The side of a limit on which a value must be.
enum Ordering {
    AtLeast,
    Below,
}

fn judge(what: &str, value: f64, limit: f64, ordering: Ordering) {
    let (word, holds) = match ordering {
        Ordering::AtLeast => ("at least", value >= limit),
        Ordering::Below => ("below", value < limit),
    };
    let verdict = if holds { "holds" } else { "MISSED" };
    println!("- {what}: {value:.3} (promised: {word} {limit:.3}): {verdict}");
}

fn row(name: &str, speed: f64, cpu_seconds: f64) {
    println!("| {name} | {speed:.0} | {cpu_seconds:.2} |");
}

fn column(rounds: &[Told], name: &str) -> Vec<f64> {
    rounds.iter().map(|told| told[name]).collect()
}

fn worst(rounds: &[Told], name: &str) -> f64 {
    column(rounds, name).into_iter().fold(0.0, f64::max)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
