//! Real kills at random moments of a large sweep.

use std::time::{Duration, Instant};

use testkit::faults::Running;

use crate::home::{Home, LIMIT, claude_log, story, takes_all, wrongs};

const KILLS: usize = 20;
const SEED: u64 = 0x5eed;

#[test]
fn twenty_kills_at_random_moments_of_a_large_sweep_lose_nothing() {
    let home = Home::empty();
    let sizes: &[usize] = if takes_all() { &[30_000, 9_000, 4_000, 1_000] } else { &[13_000, 3_000, 700] };
    for (at, prompts) in sizes.iter().enumerate() {
        let session = format!("5e550000-0000-4000-8000-{at:012}");
        home.write(&claude_log(&session), story(&session, *prompts).jsonl());
    }
    for file in home.files(".claude") {
        home.touch(&file, "2026-04-01T12:00:00Z");
    }
    let clean = home.copy();
    let start = Instant::now();
    let told = clean.sweep();
    let whole = start.elapsed();
    eprintln!("A sweep of {} bytes is killed {KILLS} times, seed {SEED:#x}", told["bytes_read"]);
    // One log has to need several commits, or there is nothing between them to die in.
    assert!(told["bytes_read"].as_u64() > Some(20 << 20), "{told}");
    let expected = clean.answers().unwrap();

    let mut dice = SEED;
    let mut killed = 0;
    let mut one = home.copy();
    while killed < KILLS {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = whole.mul_f64((dice >> 40) as f64 / (1u64 << 24) as f64 / 2.0) + Duration::from_millis(1);
        let mut running = Running::start(&mut one.command("sweep"));
        if running.ends_within(moment) {
            // It was quicker than we: begin anew.
            assert!(running.end(LIMIT).status.success());
            let told = wrongs(&one, &expected);
            assert!(told.is_empty(), "after {killed} kills: {}", told.join("\n"));
            one = home.copy();
            continue;
        }
        running.kill();
        killed += 1;
    }
    one.sweep();
    let told = wrongs(&one, &expected);
    assert!(told.is_empty(), "{}", told.join("\n"));
}
