//! How long films take to make, beside how long they take to watch.
//!
//! The cast is the scene alone, without a picture; what an MP4 takes beyond it is drawing and encoding. Sessions are made up, or
//! the largest ones below `BOSWELL_CORPUS`. One thread; the best of some rounds is told.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::env;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use render::{FilmOptions, Transcript, cast, gif, mp4};
use serde_json::json;
use testkit::logs::ClaudeLog;
use transcript::Agent;

const ROUNDS: usize = 3;

fn main() {
    println!("| session | form | film, s | made in, s | times as fast | MB |");
    println!("|---|---|---:|---:|---:|---:|");
    for turns in [3, 60] {
        let transcript = of_log(Agent::Claude, made_up(turns).as_bytes());
        measure(&format!("made up, {turns} turns"), &transcript);
    }
    let Some(corpus) = env::var_os("BOSWELL_CORPUS") else {
        return;
    };
    for agent in [Agent::Claude, Agent::Codex] {
        if let Some((path, _)) = largest(&Path::new(&corpus).join(agent.as_str())) {
            let bytes = fs::read(&path).expect("the log can be read");
            let name = format!("{agent:?}, {:.1} MB", bytes.len() as f64 / 1e6);
            measure(&name, &of_log(agent, &bytes));
        }
    }
}

fn of_log(agent: Agent, bytes: &[u8]) -> Transcript {
    let read = Transcript::of_log(agent, "log.jsonl", bytes, TimeZone::UTC);
    read.expect("memory can be read").expect("a session is in it")
}

/// Prompts, tests with long outputs, edits and answers.
fn made_up(turns: usize) -> String {
    let mut log = ClaudeLog::new("5e550000-0000-4000-8000-000000000001");
    let output = (0..80)
        .map(|line| format!("test parser::case_{line} ... ok\n"))
        .collect::<String>();
    for turn in 0..turns {
        log = log
            .wait_s(40)
            .prompt(&format!(
                "look at part {turn} of the parser and mend what is broken in it"
            ))
            .tool("Bash", json!({ "command": "cargo test -p parser" }), &output)
            .tool(
                "Edit",
                json!({
                    "file_path": "/home/ada/app/src/parser.rs",
                    "old_string": "let end = text.len();\nlet cut = end - 1;\n",
                    "new_string": "let end = text.len();\nlet cut = end.saturating_sub(1);\n",
                }),
                "done",
            )
            .reply(&"The parser took one character too few at the end of a line. ".repeat(6));
    }
    log.jsonl()
}

fn measure(name: &str, transcript: &Transcript) {
    let film = FilmOptions::default();
    let small = FilmOptions {
        width: 960,
        height: 540,
        fps: 10,
        max_duration_ms: 60_000,
        ..film
    };
    row(name, "cast", || {
        let mut out = Vec::new();
        let film = cast(transcript, &film, &mut out).expect("memory can be written");
        (film.duration_ms, out.len())
    });
    row(name, "mp4, 1280x720", || {
        let mut out = Cursor::new(Vec::new());
        let film = mp4(transcript, &film, &mut out, &mut |_, _| {}).expect("memory can be written");
        (film.duration_ms, out.into_inner().len())
    });
    row(name, "gif, 960x540", || {
        let mut out = Vec::new();
        let film = gif(transcript, &small, &mut out, &mut |_, _| {}).expect("memory can be written");
        (film.duration_ms, out.len())
    });
}

fn row(name: &str, form: &str, make: impl Fn() -> (u64, usize)) {
    let mut best = Duration::MAX;
    let mut made = (0, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        made = make();
        best = best.min(start.elapsed());
    }
    let (seconds, took) = (made.0 as f64 / 1e3, best.as_secs_f64());
    println!(
        "| {name} | {form} | {seconds:.0} | {took:.2} | {:.0} | {:.2} |",
        seconds / took,
        made.1 as f64 / 1e6
    );
}

/// The largest log below a directory.
fn largest(directory: &Path) -> Option<(PathBuf, u64)> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let sized = |path: PathBuf| match path.is_dir() {
        true => largest(&path),
        false => {
            let bytes = path.metadata().ok()?.len();
            path.extension()
                .is_some_and(|ending| ending == "jsonl")
                .then_some((path, bytes))
        }
    };
    entries
        .filter_map(|entry| sized(entry.path()))
        .max_by_key(|(_, bytes)| *bytes)
}
