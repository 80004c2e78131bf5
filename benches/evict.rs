//! Measures how long it takes to evict a tenth of a large memory, and whether readers can continue meanwhile.
//!
//! `cargo bench -p boswell-benches --bench evict`. The memory has `BOSWELL_BENCH_SESSIONS` small sessions, 10,000 by
//! default. While the bench evicts a tenth of them, a reader runs queries on its own connection.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use memory::digest;
use memory::mask::{MaskKey, Masker, UserRules};
use memory::retention::{self, EvictionCommand, EvictionSummary, Retention, RetentionPolicy};
use memory::sources::LogRoot;
use memory::store::{LockWait, Store};
use memory::sweep::{Sweep, run};
use regex::Regex;
use testkit::logs::ClaudeLog;
use transcript::Agent;

const WAIT: LockWait<'static> = LockWait::Wait(&|| {});
/// The promised maximum, in seconds for a tenth of 10,000 sessions.
const SECONDS_MAX: f64 = 10.0;

fn main() {
    let told = env::var("BOSWELL_BENCH_SESSIONS").ok();
    let sessions = told.and_then(|told| told.parse().ok()).unwrap_or(10_000);
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    write_logs(home.path(), sessions);
    let directory = home.path().join("store");
    let now: Timestamp = "2026-06-01T12:00:00Z".parse().expect("a literal time");
    let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("no rules are added");
    let task_pattern = Regex::new("T-[0-9]+").expect("a literal expression");
    let digests = digest::DigestSettings {
        now,
        task_pattern: &task_pattern,
    };
    let mut policy = RetentionPolicy {
        raw_soft_cap_bytes: u64::MAX,
        raw_hard_cap_bytes: u64::MAX,
        raw_max_age_days: None,
        distilled_cap_bytes: u64::MAX,
        today_began: now,
    };
    let roots = [LogRoot {
        agent: Agent::Claude,
        path: home.path().join(".claude"),
        label: None,
    }];
    let start = Instant::now();
    let place = (&directory).into();
    let sweep = Sweep {
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        digests: Some(digests),
        retention: Some(Retention { policy, digests }),
        ..Sweep::new(&place, &roots, &masker, now)
    };
    let report = run(&sweep, WAIT).expect("a sweep of made-up logs");
    println!(
        "Memory: {} sessions, {} digests, {} MB of raw text, swept in {:.1} s",
        report.sessions_new,
        report.digested.len(),
        report.tier1_bytes / 1_000_000,
        start.elapsed().as_secs_f64()
    );
    let mut store = Store::open(&directory).expect("the store that was just made");
    let usage = store.reads().raw_cache_bytes().expect("a sum");
    policy.raw_soft_cap_bytes = usage - usage / 10;
    let plan = retention::plan_evictions(&store.reads(), &policy, now).expect("a plan");
    let before = disk_bytes(&directory);
    let is_over = AtomicBool::new(false);
    let (done, took, waits) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| ask(&directory, &is_over));
        let start = Instant::now();
        let command = EvictionCommand {
            name: "evict",
            sentence: &EvictionSummary::sentence,
        };
        let mut done = EvictionSummary::default();
        let retention = Retention { policy, digests };
        retention::enforce_policy(&mut store, WAIT, &retention, &command, &|_| false, &mut done).expect("an eviction");
        let marked = start.elapsed();
        retention::finish_evictions(&mut store, WAIT, now, &command, &mut done).expect("its end");
        let took = (marked, start.elapsed());
        is_over.store(true, Ordering::Relaxed);
        (done, took, reader.join().expect("the reader goes on"))
    });
    show(
        &done,
        took,
        &waits,
        plan.bytes_freed(),
        before.saturating_sub(disk_bytes(&directory)),
    );
}

/// Writes small sessions, about a hundred for each day.
fn write_logs(home: &Path, sessions: u64) {
    let first: Timestamp = "2026-01-01T08:00:00Z".parse().expect("a literal time");
    let directory = home.join(".claude/projects/-home-ada-app");
    fs::create_dir_all(&directory).expect("a directory in a temporary one");
    for number in 0..sessions {
        let at = first + SignedDuration::from_mins(i64::try_from(number * 14).unwrap_or_default());
        let id = format!("5e550000-0000-4000-8000-{number:012}");
        let mut log = ClaudeLog::new(&id).at(&at.to_string());
        for turn in 0..4 {
            let output: String = (0..60)
                .map(|line| format!("{number} {turn} line {line} of what a tool said\n"))
                .collect();
            log = log
                .prompt(&format!("prompt {turn} of session {number}"))
                .tool("Bash", serde_json::json!({"command": "cargo test"}), &output)
                .reply("Done.");
        }
        let path = directory.join(format!("{id}.jsonl"));
        fs::write(&path, log.jsonl()).expect("a file in a temporary directory");
        let file = fs::File::options()
            .write(true)
            .open(&path)
            .expect("the file just written");
        file.set_modified(at.into()).expect("its time can be set");
    }
}

/// Runs queries until `is_over` is set. Returns the duration of each.
fn ask(directory: &Path, is_over: &AtomicBool) -> Vec<Duration> {
    let store = Store::open_existing(directory)
        .expect("a store")
        .expect("that is there");
    let mut waits = Vec::new();
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        let start = Instant::now();
        let uid = format!("claude:5e550000-0000-4000-8000-{:012}", number % 10_000);
        store.reads().counted(&uid).expect("a reader goes on");
        store.reads().turns(&uid).expect("a reader goes on");
        waits.push(start.elapsed());
        number += 7;
    }
    waits
}

fn disk_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn show(done: &EvictionSummary, took: (Duration, Duration), waits: &[Duration], promised: u64, fell: u64) {
    let seconds = took.1.as_secs_f64();
    let longest = waits.iter().max().copied().unwrap_or_default();
    let verdict = if seconds <= SECONDS_MAX { "holds" } else { "**missed**" };
    println!("\n| what | measured | promised | |\n|---|---:|---:|---|");
    println!("| sessions let go | {} | | |", done.drops.len());
    println!(
        "| until rows and packs are gone, seconds | {:.2} | | |",
        took.0.as_secs_f64()
    );
    println!("| until nothing of them is on the disk, seconds | {seconds:.2} | below {SECONDS_MAX} | {verdict} |");
    println!("| questions answered meanwhile | {} | | |", waits.len());
    println!(
        "| the longest of them, ms | {:.1} | | |",
        longest.as_secs_f64() * 1000.0
    );
    println!(
        "| bytes the disk has back | {fell} | {promised} | {} |",
        if fell >= promised { "holds" } else { "**missed**" }
    );
}
