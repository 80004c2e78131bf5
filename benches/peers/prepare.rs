//! Gathering a day for a diary, compared with `prompt-diary prepare`: both copy byte by byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::ToSpan;
use jiff::civil::{Date, date};
use testkit::corpus::{self, CorpusShape};

use crate::bench::{Bench, Entrant, fresh, size_below};
use crate::figures::{Contest, Job};
use crate::seeded::{MEGABYTE, SEED, cache, files_below, kept};

/// The first day of the seeded corpus, and its number of days.
const FIRST: Date = date(2026, 6, 3);
const DAYS: i64 = 120;

pub fn job(bench: &mut Bench) -> Job {
    let megabytes = bench.size(200, 8);
    let month = squeezed(
        &format!("prepare-month-{megabytes}"),
        &CorpusShape::with_bytes(SEED, megabytes * MEGABYTE),
        30,
    );
    let files = bench.size(700, 70);
    let day = CorpusShape {
        files: usize::try_from(files).expect("a number of files"),
        ..CorpusShape::with_bytes(SEED, bench.size(60, 6) * MEGABYTE)
    };
    let day = squeezed(&format!("prepare-day-{files}"), &day, 1);
    let contests = vec![
        compare(
            bench,
            "a day of a month",
            "One day of 30",
            &month,
            FIRST.saturating_add(15.days()),
        ),
        compare(bench, "a full day", "The only day there is", &day, FIRST),
    ];
    Job {
        contests,
        ..Job::default()
    }
}

fn compare(bench: &mut Bench, name: &str, what: &str, home: &Path, date: Date) -> Contest {
    let mut files = Vec::new();
    files_below(home, &mut files);
    let what = format!("{what}: {} files, {:.0} MB", files.len(), size_below(home) as f64 / 1e6);
    let place = cache().join("peers-reports");
    let nothing = cache().join("peers-nothing");
    let rival = bench.tool("prompt-diary");
    let binary = bench.binary.clone();
    let date = date.to_string();
    let words = ["--quiet", "--date", &date, "--timezone", "UTC", "--reports-root"];
    let ours = Entrant::new("boswell prepare --verbatim", || {
        let mut command = Command::new(&binary);
        command.args(["prepare", "--verbatim"]).args(words).arg(&place);
        command
            .env("HOME", home)
            .env("BOSWELL_HOME", nothing.join("memory"))
            .env("XDG_CONFIG_HOME", nothing.join("settings"));
        command
    });
    let theirs = Entrant::of("prompt-diary prepare", &rival, |program| {
        let mut command = Command::new(program);
        command.arg("prepare").args(words).arg(&place);
        command
            .env("PROMPT_DIARY_CODEX_SESSIONS", home.join(".codex/sessions"))
            .env("PROMPT_DIARY_CLAUDE_PROJECTS", home.join(".claude/projects"));
        command
    });
    let anew = || fresh(&place);
    let entrants = vec![ours.before(anew), theirs.before(anew)];
    let rounds = bench.rounds(5);
    bench.contest(name, &what, entrants, rounds)
}

/// Returns a corpus with all sessions moved into `days` days.
fn squeezed(name: &str, shape: &CorpusShape, days: i64) -> PathBuf {
    kept(name, |home| {
        corpus::write(home, shape).expect("the build directory can be written");
        let mut files = Vec::new();
        files_below(home, &mut files);
        let dates: Vec<(String, String)> = (0..DAYS)
            .map(|day| {
                (
                    FIRST.saturating_add(day.days()),
                    FIRST.saturating_add((day % days).days()),
                )
            })
            .map(|(from, to)| (from.to_string(), to.to_string()))
            .collect();
        for path in files
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        {
            let text = fs::read_to_string(path).expect("a made-up log is text");
            fs::write(path, moved(&text, &dates)).expect("the build directory can be written");
        }
    })
}

/// Returns a text with its dates replaced.
fn moved(text: &str, dates: &[(String, String)]) -> String {
    let mut moved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("2026-") {
        moved.push_str(&rest[..at]);
        let date = rest.get(at..at + 10).unwrap_or(&rest[at..at + 5]);
        let to = dates.iter().find(|(from, _)| from == date).map_or(date, |(_, to)| to);
        moved.push_str(to);
        rest = &rest[at + date.len()..];
    }
    moved + rest
}
