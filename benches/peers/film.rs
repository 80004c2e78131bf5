//! Films: the time to make one, compared with its length.

use std::fs;

use serde_json::json;
use testkit::logs::ClaudeLog;

use crate::bench::{Bench, Entrant, fresh};
use crate::figures::{Fact, Job, median};
use crate::seeded::cache;

pub fn job(bench: &mut Bench) -> Job {
    let place = cache().join("peers-film");
    fresh(&place);
    let log = place.join("session.jsonl");
    fs::write(&log, made_up(bench.size(60, 3))).expect("the build directory can be written");
    let memory = bench.memory(&place, place.join("data"), &[]);
    let film = |options: &[&str], name: &str| {
        let mut command = memory.command(&["render", "--no-sweep"]);
        command.arg(&log).args(options).arg("-o").arg(place.join(name));
        command
    };
    let forms = [
        ("MP4, 1280x720", "film.mp4"),
        ("GIF, 960x540", "film.gif"),
        ("cast", "film.cast"),
    ];
    let (mut contests, mut facts) = (Vec::new(), Vec::new());
    for (form, name) in forms {
        let told = film(&["--json"], name).output().expect("the program runs");
        let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        let seconds = told["film"]["duration_ms"].as_f64().unwrap_or(f64::NAN) / 1e3;
        let entrants = vec![Entrant::new("boswell render", || film(&[], name)).leaves(&place.join(name))];
        let rounds = bench.rounds(3);
        let contest = bench.contest(form, &format!("{form}: a film of {seconds:.0} s"), entrants, rounds);
        let took = median(contest.ways[0].rounds.iter().map(|cost| cost.seconds).collect());
        facts.push(Fact {
            what: format!("{form}: rendering speed relative to playback"),
            value: seconds / took.unwrap_or(f64::NAN),
            unit: "times".to_owned(),
        });
        contests.push(contest);
    }
    _ = fs::remove_dir_all(&place);
    Job {
        contests,
        facts,
        ..Job::default()
    }
}

/// Returns a log of prompts, tests with long outputs, edits and answers.
fn made_up(turns: u64) -> String {
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
