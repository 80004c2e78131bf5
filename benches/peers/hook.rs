//! The time an agent waits for a hook: whole calls one after another, compared with a process that does nothing.
//!
//! The ingest that the first call starts runs beside the other calls, as it does in practice.

use std::fs;
use std::process::{Command, Stdio};

use crate::bench::{Bench, CLAUDE, fresh};
use crate::figures::{Fact, Job};
use crate::seeded::cache;

pub fn job(bench: &mut Bench) -> Job {
    let place = cache().join("peers-hook");
    fresh(&place.join("home/.claude/projects/a"));
    let memory = bench.memory(&place.join("home"), place.clone(), CLAUDE);
    let installed = memory
        .command(&["hooks", "install", "claude"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(installed.is_ok_and(|status| status.success()), "hooks can be installed");
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    let input = place.join("payload.json");
    for number in 0..bench.size(500, 30) {
        let log = place.join(format!("home/.claude/projects/a/{number}.jsonl"));
        let payload = serde_json::json!({
            "session_id": number.to_string(),
            "transcript_path": log,
            "cwd": "/home/ada/app",
            "hook_event_name": "SessionEnd",
            "reason": "clear",
        });
        fs::write(&input, payload.to_string()).expect("the build directory can be written");
        let mut hook = memory.command(&["hook", "claude", "--home"]);
        hook.arg(place.join("memory"));
        let mut run = |command: &Command| {
            bench
                .watch
                .run_with(command, &input, 0)
                .expect("a hook never fails")
                .seconds
                * 1e3
        };
        ours.push(run(&hook));
        nothing.push(run(&Command::new("/bin/true")));
    }
    let facts = [("boswell hook claude", &mut ours), ("/bin/true", &mut nothing)];
    let facts = facts.into_iter().flat_map(|(name, times)| {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        [("p50", at(0.5)), ("p99", at(0.99))].map(|(part, value)| Fact {
            what: format!("{name}, {part} of {} calls", times.len()),
            value,
            unit: "ms".to_owned(),
        })
    });
    Job {
        facts: facts.collect(),
        ..Job::default()
    }
}
