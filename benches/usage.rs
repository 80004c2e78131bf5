//! How long the numbers of Claude Code's logs take from the shell, beside ccusage on the same logs in the same run: one reads a
//! memory, the other reads the logs each time.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod process;
mod seeded;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use serde_json::Value;

/// Another version may count or read otherwise.
const RIVAL: &str = "ccusage@20.0.24";

fn main() {
    let binary = seeded::binary();
    let (home, written) = seeded::corpus();
    println!("{} files, {} bytes{}", written.files, written.bytes, written.speed());
    let claude = home.join(".claude");
    let mut files = Vec::new();
    seeded::files_below(&claude.join("projects"), &mut files);
    let bytes: u64 = files
        .iter()
        .map(|path| fs::metadata(path).map_or(0, |known| known.len()))
        .sum();
    println!(
        "{:.0} MB of Claude Code's logs in {} files",
        bytes as f64 / 1e6,
        files.len()
    );
    let data = seeded::cache().join("usage-memory");
    _ = fs::remove_dir_all(&data);
    let own = |words: &[&str]| {
        let mut command = Command::new(&binary);
        command
            .args(words)
            .env("HOME", &data)
            .env("BOSWELL_HOME", &data)
            .env_remove("XDG_CONFIG_HOME")
            .env("CLAUDE_CONFIG_DIR", &claude)
            .env("CODEX_HOME", data.join("none"))
            .env("GROK_HOME", data.join("none"));
        command
    };
    assert!(runs(&mut own(&["sweep"])), "the sweep succeeds");
    let rival = installed();
    let theirs = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(words)
            .env("CLAUDE_CONFIG_DIR", &claude)
            // It would look for other agents' logs, too.
            .env("HOME", data.join("none"))
            .env("CODEX_HOME", data.join("none"))
            .env("XDG_CONFIG_HOME", data.join("none"));
        command
    };
    let rounds = seeded::number("BOSWELL_BENCH_ROUNDS", 30) as usize;
    println!();
    println!("| command | best, ms | median, ms | wanted, ms | | tokens counted |");
    println!("|---|---:|---:|---:|---|---:|");
    let counted = |output: Option<Value>, names: &[&str]| {
        let totals = output.map(|told| told["totals"].clone()).unwrap_or_default();
        names.iter().filter_map(|name| totals[name].as_u64()).sum::<u64>()
    };
    let ours = counted(
        told(&mut own(&["usage", "daily", "--no-sweep", "--json"])),
        &[
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
        ],
    );
    row(
        "`boswell usage daily --no-sweep`",
        Some(25.0),
        Some(ours),
        rounds,
        || own(&["usage", "daily", "--no-sweep"]),
    );
    row("`boswell statusline --no-sweep`", Some(15.0), None, rounds, || {
        own(&["statusline", "--no-sweep"])
    });
    match rival {
        Ok(program) => {
            let all = counted(
                told(&mut theirs(&program, &["daily", "--json", "--offline"])),
                &["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"],
            );
            let name = format!("`{RIVAL} daily --offline`");
            row(&name, None, Some(all), rounds.min(10), || {
                theirs(&program, &["daily", "--offline"])
            });
        }
        Err(reason) => println!("\n{RIVAL} cannot be had: {reason}"),
    }
}

/// Times a command so many times, and prints how it fared.
fn row(name: &str, wanted_ms: Option<f64>, tokens: Option<u64>, rounds: usize, command: impl Fn() -> Command) {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            assert!(runs(&mut command()), "{name} succeeds");
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    let wanted = wanted_ms.map(|wanted| format!("{wanted:.0}")).unwrap_or_default();
    let verdict = match wanted_ms {
        Some(wanted) if best <= wanted => "holds",
        Some(_) => "**missed**",
        None => "",
    };
    let tokens = tokens.map(|tokens| tokens.to_string()).unwrap_or_default();
    println!("| {name} | {best:.1} | {median:.1} | {wanted} | {verdict} | {tokens} |");
}

fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn told(command: &mut Command) -> Option<Value> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// The rival: `BOSWELL_BENCH_CCUSAGE`, or installed once into the build directory.
fn installed() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("BOSWELL_BENCH_CCUSAGE") {
        return Ok(named.into());
    }
    let place = seeded::cache().join("ccusage");
    let program = place.join("node_modules/.bin/ccusage");
    if !program.exists() {
        let output = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&place)
            .arg(RIVAL)
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(told.lines().last().unwrap_or_default().to_owned());
        }
    }
    Ok(program)
}
