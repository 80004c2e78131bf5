//! Sweeps: the first one, a second one, and one after a log grew; compared with `agentsview sync` on the same logs.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, CLAUDE, Entrant, copy_below, fresh, size_below};
use crate::figures::Job;
use crate::seeded::{cache, files_below};

pub fn job(bench: &mut Bench) -> Job {
    let corpus = bench.corpus(bench.size(300, 6));
    // Works on a copy, because one of the logs will grow.
    let home = cache().join("peers-home");
    copy_below(&corpus.join(".claude/projects"), &home.join(".claude/projects"));
    let source = size_below(&home.join(".claude/projects"));
    let logs = format!("{:.0} MB of Claude Code's logs", source as f64 / 1e6);
    let memory = bench.memory(&home, cache().join("peers-sweep"), CLAUDE);
    let theirs = cache().join("peers-agentsview");
    let rival = bench.tool("agentsview");
    let sync = |program: &Path| {
        let mut sync = Command::new(program);
        sync.arg("sync")
            .env("HOME", theirs.join("home"))
            .env("CLAUDE_PROJECTS_DIR", home.join(".claude/projects"))
            .env("AGENTSVIEW_NO_DAEMON", "1")
            .env("AGENTSVIEW_TELEMETRY_ENABLED", "0")
            .env("AGENTSVIEW_DATA_DIR", theirs.join("data"));
        sync
    };
    let kept = memory.data.join("memory");
    let sweep = || Entrant::new("boswell sweep", || memory.command(&["sweep"]));
    let rival_sync = || Entrant::of("agentsview sync", &rival, sync);
    let first = vec![
        sweep().before(|| fresh(&memory.data)).leaves(&kept),
        rival_sync()
            .before(|| {
                fresh(&theirs.join("home"));
                fresh(&theirs.join("data"));
            })
            .leaves(&theirs.join("data")),
    ];
    let rounds = bench.rounds(3);
    let mut contests = vec![bench.contest("first sweep", &format!("First sweep of {logs}"), first, rounds)];
    let again = vec![sweep(), rival_sync()];
    let rounds = bench.rounds(7);
    contests.push(bench.contest("second sweep", "A sweep when nothing is new", again, rounds));
    let (log, line) = (newest_log(&home), Cell::new(0));
    let grown = vec![
        sweep().before(|| {
            append(&log, line.get());
            line.set(line.get() + 1);
        }),
        rival_sync(),
    ];
    contests.push(bench.contest("one log grew", "A sweep after one log grew by one line", grown, rounds));
    for place in [&memory.data, &theirs, &home] {
        _ = fs::remove_dir_all(place);
    }
    Job {
        contests,
        ..Job::default()
    }
}

/// Returns the last log of a session that is not a subagent's.
fn newest_log(home: &Path) -> PathBuf {
    let mut files = Vec::new();
    files_below(&home.join(".claude/projects"), &mut files);
    let is_session = |path: &&PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        path.extension().is_some_and(|end| end == "jsonl") && name.len() == 36
    };
    files.iter().rfind(is_session).expect("a corpus has sessions").clone()
}

fn append(log: &Path, number: u64) {
    let session = log.file_stem().unwrap_or_default().to_string_lossy();
    let line = format!(
        "\n{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"go on, {number}\"}},\"uuid\":\"00000000-0000-4000-8000-{number:012}\",\"timestamp\":\"2026-10-01T00:00:{:02}.000Z\",\"sessionId\":\"{session}\",\"cwd\":\"/home/ada/app\",\"version\":\"2.1.0\"}}\n",
        number % 60
    );
    let file = OpenOptions::new().append(true).open(log);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the build directory can be written");
}
