//! `boswell prepare` beside `prompt-diary prepare` from PyPI, whole commands on the same logs, in one run.
//!
//! Both copy byte by byte. What is told is the best of some rounds, in which the two take turns, and the most memory that a
//! process had.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[allow(dead_code, reason = "each bench uses its part")]
mod process;
#[allow(dead_code, reason = "each bench uses its part")]
mod seeded;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use jiff::ToSpan;
use jiff::civil::{Date, date};
use testkit::corpus::{self, Shape};

use crate::seeded::{MEGABYTE, SEED, cache, files_below, kept, number};

/// The first day of the seeded corpus, and how many days it has.
const FIRST: Date = date(2026, 6, 3);
const DAYS: i64 = 120;

/// Runs a command and prints its seconds and the most kilobytes it had: the system tells them only to a parent.
const WATCH: &str = "import resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
took = time.perf_counter() - start
if done.returncode:
    sys.exit(done.stderr)
print(took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";

fn main() {
    let rival = match installed() {
        Ok(rival) => rival,
        Err(reason) => return println!("prompt-diary cannot be had: {reason}"),
    };
    let binary = seeded::binary();
    let month = squeezed(
        "prepare-month",
        &Shape::of_bytes(SEED, number("BOSWELL_BENCH_MB", 200) * MEGABYTE),
        30,
    );
    let day = squeezed(
        "prepare-day",
        &Shape {
            files: 700,
            ..Shape::of_bytes(SEED, 60 * MEGABYTE)
        },
        1,
    );
    println!("| logs | way | s | MB of memory | times as fast |");
    println!("|---|---|---:|---:|---:|");
    for (name, home) in [("30 days", &month), ("one day", &day)] {
        let mut files = Vec::new();
        files_below(home, &mut files);
        let bytes: u64 = files
            .iter()
            .map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()))
            .sum();
        let name = format!("{name}: {} files, {:.0} MB", files.len(), bytes as f64 / 1e6);
        compare(&name, home, &rival, &binary);
    }
}

fn compare(name: &str, home: &Path, rival: &Path, binary: &Path) {
    let date = if name.starts_with("one") {
        FIRST
    } else {
        FIRST.saturating_add(15.days())
    };
    let (mut theirs, mut ours) = (Took::default(), Took::default());
    for _ in 0..number("BOSWELL_BENCH_ROUNDS", 5) {
        let mut command = Command::new("python3");
        command.args(["-c", WATCH]).arg(rival).args(["prepare", "--quiet"]);
        command.env("PROMPT_DIARY_CODEX_SESSIONS", home.join(".codex/sessions"));
        command.env("PROMPT_DIARY_CLAUDE_PROJECTS", home.join(".claude/projects"));
        theirs.add(&run(&mut command, date));
        let mut command = Command::new("python3");
        command
            .args(["-c", WATCH])
            .arg(binary)
            .args(["prepare", "--quiet", "--verbatim"]);
        command
            .env("HOME", home)
            .env("BOSWELL_HOME", cache().join("prepare-no-memory"));
        command.env("XDG_CONFIG_HOME", cache().join("prepare-no-settings"));
        ours.add(&run(&mut command, date));
    }
    println!(
        "| {name} | `prompt-diary` 0.2.11 | {:.2} | {:.0} | |",
        theirs.seconds, theirs.megabytes
    );
    let times = theirs.seconds / ours.seconds;
    println!(
        "| | `boswell prepare` | {:.3} | {:.0} | {times:.0} |",
        ours.seconds, ours.megabytes
    );
}

/// The best of the rounds.
struct Took {
    seconds: f64,
    megabytes: f64,
}

impl Default for Took {
    fn default() -> Self {
        Self {
            seconds: f64::MAX,
            megabytes: 0.0,
        }
    }
}

impl Took {
    fn add(&mut self, told: &str) {
        let numbers: Vec<f64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [seconds, kilobytes] = numbers.as_slice() else {
            panic!("a command failed: {told}");
        };
        self.seconds = self.seconds.min(*seconds);
        self.megabytes = self.megabytes.max(kilobytes / 1e3);
    }
}

/// Prepares a day into an empty place.
fn run(command: &mut Command, date: Date) -> String {
    let place = cache().join("prepare-reports");
    _ = fs::remove_dir_all(&place);
    let date = date.to_string();
    command
        .args(["--date", &date, "--timezone", "UTC", "--reports-root"])
        .arg(&place);
    let output = command.output().expect("python3 is there");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// A corpus whose sessions lie within so many days.
fn squeezed(name: &str, shape: &Shape, days: i64) -> PathBuf {
    kept(name, |home| {
        corpus::write(home, shape).expect("the build directory can be written");
        let mut files = Vec::new();
        files_below(home, &mut files);
        let dates: Vec<(String, String)> = (0..DAYS)
            .map(|day| {
                (
                    FIRST.saturating_add(day.days()),
                    FIRST.saturating_add((day % days).days()),
                )
            })
            .map(|(from, to)| (from.to_string(), to.to_string()))
            .collect();
        for path in files
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        {
            let text = fs::read_to_string(path).expect("a made-up log is text");
            fs::write(path, moved(&text, &dates)).expect("the build directory can be written");
        }
    })
}

/// A text with other dates.
fn moved(text: &str, dates: &[(String, String)]) -> String {
    let mut moved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("2026-") {
        moved.push_str(&rest[..at]);
        let date = rest.get(at..at + 10).unwrap_or(&rest[at..at + 5]);
        let to = dates.iter().find(|(from, _)| from == date).map_or(date, |(_, to)| to);
        moved.push_str(to);
        rest = &rest[at + date.len()..];
    }
    moved + rest
}

/// The program in an environment of its own, which is kept between runs.
fn installed() -> Result<PathBuf, String> {
    if let Some(told) = env::var_os("BOSWELL_BENCH_RIVAL") {
        return Ok(told.into());
    }
    let place = cache().join("prompt-diary");
    let program = place.join("bin/prompt-diary");
    if !program.exists() {
        for command in [
            Command::new("python3").args(["-m", "venv"]).arg(&place),
            Command::new(place.join("bin/pip")).args(["install", "--quiet", "prompt-diary==0.2.11"]),
        ] {
            let done = command.status().map_err(|error| error.to_string())?;
            if !done.success() {
                return Err(format!("{command:?} failed"));
            }
        }
    }
    Ok(program)
}
