//! How long an agent waits for a hook: whole calls of the binary one after another, process start included, beside a process
//! that does nothing; and how many instructions one takes, where valgrind can be had.
//!
//! The ingest that the first call starts runs on beside the others, as it does in life.

#![allow(clippy::print_stdout)]

#[allow(dead_code)] // Little of it is needed here.
mod process;
#[allow(dead_code)] // The same.
mod seeded;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const CALLS: u64 = 500;

fn main() {
    let binary = seeded::binary();
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let home = home.path();
    fs::create_dir_all(home.join(".claude/projects/a")).expect("a home of ours can be written");
    let installed = surround(&mut Command::new(&binary), home)
        .args(["hooks", "install", "claude"])
        .status();
    assert!(installed.is_ok_and(|status| status.success()), "hooks can be installed");
    let calls = seeded::number("BOSWELL_BENCH_CALLS", CALLS);
    println!("| what | p50, ms | p99, ms | instructions |");
    println!("|---|---:|---:|---:|");
    let hook = || {
        let mut command = Command::new(&binary);
        surround(&mut command, home);
        command.args(["hook", "claude", "--home"]).arg(home.join("memory"));
        command
    };
    tell("`boswell hook claude`", calls, &hook, home, instructions(hook(), home));
    let nothing = || Command::new("/bin/true");
    tell("`/bin/true`", calls, &nothing, home, instructions(nothing(), home));
}

fn surround<'c>(command: &'c mut Command, home: &Path) -> &'c mut Command {
    command
        .env_clear()
        .env("HOME", home)
        .env("BOSWELL_HOME", home.join("memory"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn payload(home: &Path, n: u64) -> String {
    let log = home.join(format!(".claude/projects/a/{n}.jsonl"));
    let log = log.display();
    format!(
        r#"{{"session_id":"{n}","transcript_path":"{log}","cwd":"/home/ada/app","hook_event_name":"SessionEnd","reason":"clear"}}"#
    )
}

fn call(mut command: Command, payload: &str) -> f64 {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it can be started");
    // What does nothing reads nothing.
    _ = child
        .stdin
        .take()
        .expect("it was asked for")
        .write_all(payload.as_bytes());
    child.wait().expect("a process of ours can be waited for");
    start.elapsed().as_secs_f64() * 1000.0
}

fn tell(name: &str, calls: u64, command: &dyn Fn() -> Command, home: &Path, instructions: Option<u64>) {
    let mut times: Vec<f64> = (0..calls).map(|n| call(command(), &payload(home, n))).collect();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    let instructions = instructions.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    println!("| {name} | {:.2} | {:.2} | {instructions} |", at(0.5), at(0.99));
}

/// Counted by valgrind, which is the same on a busy machine.
fn instructions(command: Command, home: &Path) -> Option<u64> {
    let out = home.join("counted");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--trace-children=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(command.get_program())
        .args(command.get_args());
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    valgrind.envs(variables).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = valgrind.stdin(Stdio::piped()).spawn().ok()?;
    _ = child.stdin.take()?.write_all(payload(home, 0).as_bytes());
    child.wait().ok()?;
    let told = fs::read_to_string(out).ok()?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")))?;
    line.split_whitespace().next()?.parse().ok()
}
