//! Large sweeps, killed at random moments and between two commits of one log.

use std::time::{Duration, Instant};

use testkit::faults::{Fault, Running};
use testkit::logs::ClaudeLog;

use crate::home::{Home, LIMIT, SESSION, claude_log, none, takes_all, wrongs};

const KILLS: usize = 20;
const SEED: u64 = 0x5eed;
/// More than a sweep commits at once.
const LARGE_BYTES: usize = 20 << 20;

/// Returns a log of about `bytes` bytes, with long tool results as in real logs.
fn large_log(session: &str, bytes: usize) -> String {
    let words: String = (0..3_000).map(|n| format!("line {n} of the answer\n")).collect();
    let mut log = ClaudeLog::new(session).at("2026-04-02T08:00:00Z");
    // A record contains its tool result twice.
    for n in 0..bytes / words.len() / 2 {
        let command = serde_json::json!({"command": format!("cat {n}.txt")});
        log = log.prompt(&format!("show {n}")).tool("Bash", command, &words);
    }
    log.jsonl()
}

#[test]
fn twenty_kills_at_random_moments_of_a_large_sweep_lose_nothing() {
    let home = Home::on_disk();
    let large = if takes_all() { LARGE_BYTES * 2 } else { LARGE_BYTES };
    for (at, bytes) in [large, LARGE_BYTES / 4, 1 << 20, 1 << 18].into_iter().enumerate() {
        let session = format!("5e550000-0000-4000-8000-{at:012}");
        home.write(&claude_log(&session), large_log(&session, bytes));
    }
    for file in home.files(".claude") {
        home.touch(&file, "2026-04-01T12:00:00Z");
    }
    let clean = home.copy();
    let start = Instant::now();
    let told = clean.sweep();
    let whole = start.elapsed();
    eprintln!(
        "A sweep of {} bytes is killed {KILLS} times, seed {SEED:#x}",
        told["bytes_read"]
    );
    let expected = clean.answers().unwrap();

    let mut dice = SEED;
    let mut killed = 0;
    let mut one = home.copy();
    while killed < KILLS {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let moment = whole.mul_f64((dice >> 40) as f64 / (1u64 << 24) as f64) + Duration::from_millis(1);
        let mut running = Running::start(&mut one.command("sweep"));
        if running.ends_within(moment) {
            // The sweep ended before it was killed: start again with a new copy.
            assert!(running.end(LIMIT).status.success());
            none(&wrongs(&one, &expected));
            one = home.copy();
            continue;
        }
        running.kill();
        killed += 1;
    }
    one.sweep();
    none(&wrongs(&one, &expected));
}

/// Kills a sweep right after its first commits of one large log, which needs several. After the next sweep the answers
/// equal those of a memory whose sweep was never killed.
fn die_between_commits(home: &Home) {
    let clean = home.copy();
    let (ended, calls) = clean.run_with("sweep", &Fault::None);
    assert!(ended.status.success(), "{ended:?}");
    let expected = clean.answers().unwrap();
    let commits = calls
        .iter()
        .filter(|call| call.name == "fsync" && call.path.ends_with("-wal"));
    let commits: Vec<u64> = commits.filter_map(|call| call.number).collect();
    let mut unfinished = 0;
    assert!(commits.len() > 3, "the log was kept in one piece: {commits:?}");
    for n in &commits[1..] {
        let home = home.copy();
        home.run_with("sweep", &Fault::AbortAt(n + 1));
        unfinished += usize::from(home.answers().unwrap() != expected);
        home.sweep();
        none(&wrongs(&home, &expected));
    }
    assert!(unfinished > 1, "no crash came in time: {commits:?}");
}

#[test]
fn a_large_log_that_was_kept_by_half_goes_on_with_the_next_sweep() {
    let home = Home::on_disk();
    home.write(&claude_log(SESSION), large_log(SESSION, LARGE_BYTES));
    home.touch(&home.path.join(claude_log(SESSION)), "2026-04-01T12:00:00Z");
    die_between_commits(&home);
}

#[test]
fn a_large_log_of_a_running_session_that_was_kept_by_half_goes_on_at_once() {
    let home = Home::on_disk();
    home.write(&claude_log(SESSION), large_log(SESSION, LARGE_BYTES));
    home.touch(&home.path.join(claude_log(SESSION)), "2026-04-02T08:59:00Z");
    die_between_commits(&home);
}

#[test]
fn a_large_compressed_log_that_was_kept_by_half_goes_on_with_the_next_sweep() {
    let home = Home::on_disk();
    let id = "019d4700-0000-7000-8000-00000000c0de";
    let name = format!(".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-{id}.jsonl.zst");
    let meta = format!(
        r#"{{"timestamp":"2026-04-01T10:00:00Z","type":"session_meta","payload":{{"id":"{id}","cwd":"/home/ada/app"}}}}"#
    );
    let words = "some more words ".repeat(1_000);
    let line = |n: usize| {
        format!(
            r#"{{"timestamp":"2026-04-01T10:00:01Z","type":"event_msg","payload":{{"type":"user_message","message":"{n} {words}"}}}}"#
        )
    };
    let lines = (0..LARGE_BYTES / words.len()).map(line);
    let log: String = [meta].into_iter().chain(lines).map(|line| line + "\n").collect();
    home.write(&name, zstd::encode_all(log.as_bytes(), 1).unwrap());
    home.touch(&home.path.join(&name), "2026-04-01T12:00:00Z");
    die_between_commits(&home);
}
