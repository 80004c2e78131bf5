//! Counts the instructions of the hot paths with callgrind. The counts are the same on a busy machine, and nearly the
//! same on another one.
//!
//! Gungraun runs callgrind and reads its counts. Gungraun's own baselines are in the build directory, which other
//! machines do not share, so this bench compares the counts itself.
//!
//! `./bench instructions` compares them with `benches/baseline.json` and fails if one is more than 5 % higher;
//! `--bless` writes that file. Another compiler or valgrind counts differently: then the bench prints the counts and
//! nothing fails.
//!
//! The bench uses the build of the tests, in which all libraries are slightly optimized, so that the checks need no
//! second build. It therefore also counts instructions that an optimizer would remove; `./bench` measures durations.
//!
//! Everything that could differ between two machines is fixed. Valgrind shows every program the same processor, with
//! AVX2 and nothing newer, if the real one has AVX2; if it does not, nothing is compared. Only one core is allowed, so
//! that one thread works. The logs come from a seed, the clock is fixed, and the environment is empty.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints its table")]

mod baseline;
mod counted;
#[allow(dead_code, reason = "each bench uses its part")]
mod process;
#[allow(dead_code, reason = "each bench uses its part")]
mod seeded;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use baseline::{Baseline, Verdict};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["path", name, log] => {
            counted::path(name, Path::new(log));
            ExitCode::SUCCESS
        }
        [] => compare(&count()),
        ["--bless"] => bless(&count()),
        _ => {
            eprintln!("error: unknown words: {words:?}\nHint: `./bench instructions [--bless]`");
            ExitCode::from(2)
        }
    }
}

/// Counts everything.
fn count() -> Baseline {
    Baseline {
        rustc: first_line(Command::new("rustc").arg("--version")),
        valgrind: first_line(Command::new("valgrind").arg("--version")),
        processor: processor().to_owned(),
        instructions: counted::count(),
    }
}

fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("baseline.json")
}

fn bless(now: &Baseline) -> ExitCode {
    let text = serde_json::to_string_pretty(now).expect("plain data");
    fs::write(kept(), text + "\n").expect("the repository can be written");
    println!("Written: {}", kept().display());
    ExitCode::SUCCESS
}

fn compare(now: &Baseline) -> ExitCode {
    let before: Baseline = fs::read(kept())
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let (table, verdict) = baseline::judge(now, &before);
    println!("{table}");
    match verdict {
        Verdict::Holds => ExitCode::SUCCESS,
        Verdict::NotJudged => {
            println!(
                "Not judged: counted with {}; the baseline with {}",
                now.tools(),
                before.tools()
            );
            ExitCode::SUCCESS
        }
        Verdict::Losses(losses) => {
            eprintln!(
                "error: {losses} of {} paths lose against the baseline",
                now.instructions.len()
            );
            eprintln!("Hint: find out why; if it has to be, `./bench instructions --bless`");
            ExitCode::FAILURE
        }
    }
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the feature of the processor by which libraries choose between implementations.
fn processor() -> &'static str {
    let known = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_avx2 = known
        .lines()
        .any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "avx2"));
    if has_avx2 {
        "x86-64 with AVX2"
    } else {
        "another processor"
    }
}
