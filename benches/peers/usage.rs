//! Counting tokens and costs, compared with ccusage on the same logs: one reads a memory, the other the logs each time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, CLAUDE, Entrant, size_below};
use crate::figures::Job;
use crate::seeded::cache;

pub fn job(bench: &mut Bench) -> Job {
    let corpus = bench.corpus(bench.size(300, 6));
    let claude = corpus.join(".claude");
    let logs = format!(
        "{:.0} MB of Claude Code's logs",
        size_below(&claude.join("projects")) as f64 / 1e6
    );
    let memory = bench.memory(&corpus, cache().join("peers-usage"), CLAUDE).swept();
    let nowhere = memory.data.join("none");
    let rival = bench.tool("ccusage");
    let theirs = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).env("CLAUDE_CONFIG_DIR", &claude);
        // Hides the logs of other agents, which ccusage would read, too.
        for name in ["HOME", "CODEX_HOME", "XDG_CONFIG_HOME"] {
            command.env(name, &nowhere);
        }
        command
    };
    let ours = memory.json(&["usage", "daily", "--no-sweep", "--json"]);
    let ours = tokens(
        &ours,
        &[
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
        ],
    );
    let their_tokens = rival.clone().map(|program| {
        let output = theirs(&program, &["daily", "--json", "--offline"]).output();
        let told = output
            .ok()
            .and_then(|output| serde_json::from_slice(&output.stdout).ok());
        let names = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"];
        tokens(&told.unwrap_or_default(), &names)
    });
    let rounds = bench.rounds(15);
    let daily = vec![
        Entrant::new("boswell usage daily", || {
            memory.command(&["usage", "daily", "--no-sweep"])
        })
        .note(ours),
        Entrant::new("boswell usage daily, with a look for new logs", || {
            memory.command(&["usage", "daily"])
        }),
        Entrant::of("ccusage daily --offline", &rival, |program| {
            theirs(program, &["daily", "--offline"])
        })
        .note(their_tokens.unwrap_or_default()),
    ];
    let mut contests = vec![bench.contest(
        "usage by day",
        &format!("Tokens and money by day, of {logs}"),
        daily,
        rounds,
    )];
    let input = state(&claude, &memory.data);
    let line = vec![
        Entrant::new("boswell statusline", || memory.command(&["statusline", "--no-sweep"])).input(&input),
        Entrant::of("ccusage statusline --offline", &rival, |program| {
            theirs(program, &["statusline", "--offline", "--no-cache"])
        })
        .input(&input),
    ];
    contests.push(bench.contest("status line", "The status line of a session", line, rounds));
    _ = fs::remove_dir_all(&memory.data);
    Job {
        contests,
        ..Job::default()
    }
}

fn tokens(told: &Value, names: &[&str]) -> String {
    let sum: u64 = names.iter().filter_map(|name| told["totals"][name].as_u64()).sum();
    format!("{sum} tokens")
}

/// Writes the JSON that Claude Code passes to a status line.
fn state(claude: &Path, place: &Path) -> PathBuf {
    let mut logs = Vec::new();
    crate::seeded::files_below(&claude.join("projects"), &mut logs);
    let is_log = |path: &&PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let log = logs.iter().find(is_log).expect("a corpus has logs");
    let state = serde_json::json!({
        "session_id": log.file_stem().unwrap_or_default().to_string_lossy(),
        "transcript_path": log,
        "cwd": "/home/ada/app",
        "model": { "id": "claude-opus-4-5", "display_name": "Opus" },
        "workspace": { "current_dir": "/home/ada/app", "project_dir": "/home/ada/app" },
        "version": "2.1.0",
        "cost": { "total_cost_usd": 0.5, "total_duration_ms": 60000, "total_api_duration_ms": 30000 },
    });
    let path = place.join("state.json");
    fs::write(&path, state.to_string()).expect("the build directory can be written");
    path
}
