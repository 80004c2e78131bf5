//! Pages: of all sessions, of one long session, and the time until a browser has drawn them; compared with
//! claude-code-log and claude-code-transcripts on the same logs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, CLAUDE, Entrant, copy_below, fresh, size_below};
use crate::figures::{Contest, Job};
use crate::homes;
use crate::seeded::{cache, files_below};

pub fn job(bench: &mut Bench) -> Job {
    let mut contests = vec![all(bench)];
    let (page, view) = one(bench);
    contests.push(page);
    contests.extend(view);
    Job {
        contests,
        ..Job::default()
    }
}

fn places() -> [PathBuf; 3] {
    ["ours", "log", "transcripts"].map(|name| cache().join("peers-pages").join(name))
}

/// Renders all sessions of a home, starting without a memory.
fn all(bench: &mut Bench) -> Contest {
    let corpus = bench.corpus(bench.size(100, 6));
    let projects = corpus.join(".claude/projects");
    let megabytes = size_below(&projects) as f64 / 1e6;
    let memory = bench.memory(&corpus, cache().join("peers-render"), CLAUDE);
    let places = places();
    let [ours, log, transcripts] = &places;
    // One of the programs writes files beside the logs, so it gets a copy of them.
    let copy = cache().join("peers-render-copy");
    let (claude_code_log, claude_code_transcripts) =
        (bench.tool("claude-code-log"), bench.tool("claude-code-transcripts"));
    let binary = bench.binary.clone();
    let entrants = vec![
        Entrant::new("boswell sweep, then boswell render --all", || {
            let mut command = memory.command(&[]);
            let around: Vec<_> = command
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
                .collect();
            command = Command::new("sh");
            command
                .args([
                    "-c",
                    r#""$0" sweep --quiet && exec "$0" render --quiet --no-sweep --all --to html -o "$1""#,
                ])
                .arg(&binary)
                .arg(ours);
            for (name, value) in around {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            command
        })
        .before(|| {
            fresh(&memory.data);
            fresh(ours);
        })
        .leaves(ours),
        Entrant::of("claude-code-log --all-projects", &claude_code_log, |program| {
            let mut command = Command::new(program);
            command
                .args(["convert", "--all-projects"])
                .arg(&copy)
                .arg("-o")
                .arg(log);
            command.env("HOME", &memory.data);
            command
        })
        .before(|| {
            fresh(log);
            copy_below(&projects, &copy);
        })
        .leaves(log),
        Entrant::of("claude-code-transcripts all", &claude_code_transcripts, |program| {
            let mut command = Command::new(program);
            command
                .args(["all", "--include-agents", "--quiet", "-s"])
                .arg(&projects)
                .arg("-o")
                .arg(transcripts);
            command.env("HOME", &memory.data);
            command
        })
        .before(|| fresh(transcripts))
        .leaves(transcripts),
    ];
    let rounds = bench.size(2, 1);
    let contest = bench.contest(
        "pages of all sessions",
        &format!("Pages of all sessions in {megabytes:.0} MB of Claude Code's logs"),
        entrants,
        rounds,
    );
    for place in [&memory.data, &copy, ours, log, transcripts] {
        _ = fs::remove_dir_all(place);
    }
    contest
}

/// Renders one long session as a page, and draws the page in a browser.
fn one(bench: &mut Bench) -> (Contest, Option<Contest>) {
    let home = homes::one_session(bench.size(10, 1));
    let mut logs = Vec::new();
    files_below(&home, &mut logs);
    logs.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let log = &logs[0];
    let megabytes = size_below(log) as f64 / 1e6;
    let places = places();
    let [ours, theirs, transcripts] = &places;
    for place in &places {
        fresh(place);
    }
    let pages = [
        ours.join("page.html"),
        theirs.join("page.html"),
        transcripts.join("index.html"),
    ];
    let data = cache().join("peers-render");
    let memory = bench.memory(&data.join("none"), data.clone(), &[]);
    let (claude_code_log, claude_code_transcripts) =
        (bench.tool("claude-code-log"), bench.tool("claude-code-transcripts"));
    let entrants = vec![
        Entrant::new("boswell render", || {
            let mut command = memory.command(&["render", "--quiet", "--no-sweep"]);
            command.arg(log).arg("-o").arg(&pages[0]);
            command
        })
        .leaves(ours),
        Entrant::of("claude-code-log", &claude_code_log, |program| {
            let mut command = Command::new(program);
            command
                .args(["convert", "--no-cache"])
                .arg(log)
                .arg("-o")
                .arg(&pages[1])
                .env("HOME", &data);
            command
        })
        .leaves(theirs),
        Entrant::of("claude-code-transcripts json", &claude_code_transcripts, |program| {
            let mut command = Command::new(program);
            command
                .arg("json")
                .arg(log)
                .arg("-o")
                .arg(transcripts)
                .env("HOME", &data);
            command
        })
        .leaves(transcripts),
    ];
    let rounds = bench.rounds(3);
    let contest = bench.contest(
        "page of one session",
        &format!("A page of one session of {megabytes:.0} MB"),
        entrants,
        rounds,
    );
    (contest, view(bench, &pages, megabytes))
}

/// Measures the time from the start of a browser to a picture of the page, compared with an empty page.
fn view(bench: &mut Bench, pages: &[PathBuf; 3], megabytes: f64) -> Option<Contest> {
    let browser = bench.system("chromium");
    browser.as_ref().ok()?;
    let empty = cache().join("peers-pages/empty.html");
    fs::write(&empty, "<!doctype html><title>empty</title>").expect("the build directory can be written");
    let names = [
        "boswell",
        "claude-code-log",
        "claude-code-transcripts (its index)",
        "an empty page",
    ];
    let entrants = names
        .iter()
        .zip(pages.iter().chain([&empty]))
        .filter(|(_, page)| page.exists());
    let entrants = entrants
        .map(|(name, page)| Entrant::of(name, &browser, |program| shot(program, page)))
        .collect();
    let rounds = bench.rounds(5);
    let what = format!("The page of {megabytes:.0} MB of log in Chromium, from its start until it is drawn");
    Some(bench.contest("first view", &what, entrants, rounds))
}

fn shot(program: &Path, page: &Path) -> Command {
    let profile = cache().join("peers-pages/profile");
    let mut command = Command::new(program);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1280,800",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!(
            "--screenshot={}",
            cache().join("peers-pages/shot.png").display()
        ))
        .arg(format!("file://{}", page.display()));
    command
}
